//! One complete event of a trace (`"ph": "X"`): what ran, where, when and for how long.

use crate::symbols::Symbol;

/// An event with a duration. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Position in the file's `traceEvents`, where those without a duration are counted too.
    pub index: u32,
    /// `name`.
    pub name: Symbol,
    /// `cat`.
    pub category: Symbol,
    /// The thread or stream that it ran on.
    pub track: Track,
    /// Begin, in nanoseconds of the trace's own clock.
    pub begin: i64,
    /// Duration in nanoseconds.
    pub duration: i64,
    /// `args.stream`; -1 on the CPU.
    pub stream: i64,
    /// `args.correlation`, which a launch and its kernel share; -1 without one.
    pub correlation: i64,
    /// Which processor it ran on.
    pub device: Device,
}

impl Event {
    /// The end in nanoseconds.
    pub fn end(&self) -> i64 {
        self.begin.saturating_add(self.duration)
    }
}

/// A thread of a process, or a stream of a device: a row of the trace viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Track {
    /// `pid`: of a GPU's events the number of the device.
    pub process: Id,
    /// `tid`: of a GPU's events the number of the stream.
    pub thread: Id,
}

/// `pid` and `tid` are numbers mostly; Kineto's own rows (`"Spans"`, `"Traces"`) have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id {
    /// A number.
    Number(i64),
    /// A name.
    Name(Symbol),
    /// None is given.
    Absent,
}

/// Where an event ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Device {
    /// The processor: operators, annotations, calls of the driver.
    Cpu,
    /// A graphics card: kernels, copies, and annotations of these.
    Gpu,
}

impl Device {
    /// `cpu` or `gpu`.
    pub fn name(self) -> &'static str {
        match self {
            Device::Cpu => "cpu",
            Device::Gpu => "gpu",
        }
    }

    /// The device of an event, by its category where that says so, and else by its stream. Streams of CPU operators
    /// (Triton writes 0) say where their kernels go.
    pub(crate) fn of(category: &str, stream: i64) -> Self {
        match category {
            "kernel" | "gpu_memcpy" | "gpu_memset" | "gpu_user_annotation" | "cuda_sync" => Device::Gpu,
            "cpu_op" | "user_annotation" | "python_function" | "cuda_runtime" | "cuda_driver" => Device::Cpu,
            _ if stream >= 0 => Device::Gpu,
            _ => Device::Cpu,
        }
    }
}
