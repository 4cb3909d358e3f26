//! CUDA graphs in libtorch's memory, through the small C++ library that [`crate::cuda`] finds.
//!
//! libtorch has no C entry points for its pools of memory, and they cannot be called without C++: they throw.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::{self, NonNull};

/// The functions' version that the types below were written for.
const VERSION: c_int = 3;

type Raw = *mut c_void;
type Told = (*mut c_char, usize);
type MakePool = unsafe extern "C" fn(c_int, *mut Raw, *mut c_char, usize) -> c_int;
type Enter = unsafe extern "C" fn(Raw, *mut Raw, *mut c_char, usize) -> c_int;
type Free = unsafe extern "C" fn(Raw);
type OnGraph = unsafe extern "C" fn(Raw, *mut c_char, usize) -> c_int;

/// The library's functions.
#[derive(Debug)]
pub(crate) struct Shim {
    pool: MakePool,
    free_pool: Free,
    enter: Enter,
    begin: OnGraph,
    end: OnGraph,
    leave: OnGraph,
    wait: OnGraph,
    replay: OnGraph,
    used: OnGraph,
    free: Free,
}

impl Shim {
    /// Opens the library; `Err` says why it cannot be used.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let library = super::library::open(path)?;
        // SAFETY: the function of this name takes nothing and returns an int in every version of the library.
        let version: extern "C" fn() -> c_int = unsafe { library.function(c"fx_shim_version")? };
        let found = version();
        if found != VERSION {
            return Err(format!("it is of version {found}, not {VERSION}"));
        }
        // SAFETY: these are the functions of the version that was just checked, and have the declarations that the
        // fields have (`cpp/cuda_graph.cpp`).
        unsafe {
            Ok(Self {
                pool: library.function(c"fx_pool_new")?,
                free_pool: library.function(c"fx_pool_free")?,
                enter: library.function(c"fx_graph_enter")?,
                begin: library.function(c"fx_graph_begin")?,
                end: library.function(c"fx_graph_end")?,
                leave: library.function(c"fx_graph_leave")?,
                wait: library.function(c"fx_graph_wait")?,
                replay: library.function(c"fx_graph_replay")?,
                used: library.function(c"fx_graph_used")?,
                free: library.function(c"fx_graph_free")?,
            })
        }
    }

    /// A pool of memory that graphs may share as long as no two of them run at a time.
    pub(crate) fn pool(&'static self, device: usize) -> Result<Pool, String> {
        let device = c_int::try_from(device).map_err(|_| format!("there is no device {device}"))?;
        let mut raw = ptr::null_mut();
        // SAFETY: the callee writes a new pool to `raw` or fails.
        told(|(why, room)| unsafe { (self.pool)(device, &raw mut raw, why, room) })?;
        Ok(Pool { raw: NonNull::new(raw).ok_or("no pool was made")?, shim: self })
    }
}

/// A pool of memory, which lasts as long as this value and the graphs that were recorded into it.
#[derive(Debug)]
pub(crate) struct Pool {
    raw: NonNull<c_void>,
    shim: &'static Shim,
}

// SAFETY: the C++ object is a name that nobody writes to once it is made.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: the pool is alive and nobody else has it.
        unsafe { (self.shim.free_pool)(self.raw.as_ptr()) };
    }
}

/// A graph: what was recorded, and the memory that it works in.
#[derive(Debug)]
pub(crate) struct DeviceGraph {
    raw: NonNull<c_void>,
    shim: &'static Shim,
}

// SAFETY: the C++ object is used by one thread at a time (all methods take `&mut self`), and what it holds (handles of
// CUDA, which any thread may use, and libtorch's own counters, which are atomic) is not bound to the thread that made it.
unsafe impl Send for DeviceGraph {}

impl DeviceGraph {
    /// A graph without content; this thread is on the pool's stream until [`Self::leave`], alone.
    pub(crate) fn enter(pool: &Pool) -> Result<Self, String> {
        let shim = pool.shim;
        let mut raw = ptr::null_mut();
        // SAFETY: the pool is alive; the callee writes a new graph to `raw` or fails.
        told(|(why, room)| unsafe { (shim.enter)(pool.raw.as_ptr(), &raw mut raw, why, room) })?;
        let raw = NonNull::new(raw).ok_or("no graph was made")?;
        Ok(Self { raw, shim })
    }

    /// Begins to record what this thread gives to the device.
    pub(crate) fn begin(&mut self) -> Result<(), String> {
        self.call(self.shim.begin)
    }

    /// Ends the recording.
    pub(crate) fn end(&mut self) -> Result<(), String> {
        self.call(self.shim.end)
    }

    /// Back to the stream that was left.
    pub(crate) fn leave(&mut self) -> Result<(), String> {
        self.call(self.shim.leave)
    }

    /// Lets the present stream wait until the graph's buffers are free.
    pub(crate) fn wait(&mut self) -> Result<(), String> {
        self.call(self.shim.wait)
    }

    /// Runs what was recorded.
    pub(crate) fn replay(&mut self) -> Result<(), String> {
        self.call(self.shim.replay)
    }

    /// The graph's buffers are in use up to here.
    pub(crate) fn used(&mut self) -> Result<(), String> {
        self.call(self.shim.used)
    }

    fn call(&mut self, function: OnGraph) -> Result<(), String> {
        // SAFETY: the graph is alive, and the function is one of those that take a graph.
        told(|(why, room)| unsafe { function(self.raw.as_ptr(), why, room) })
    }
}

impl Drop for DeviceGraph {
    fn drop(&mut self) {
        // SAFETY: the graph is alive and nobody else has it.
        unsafe { (self.shim.free)(self.raw.as_ptr()) };
    }
}

/// Calls a function that writes a reason where it fails.
fn told(call: impl FnOnce(Told) -> c_int) -> Result<(), String> {
    let mut why = [0_u8; 1024];
    if call((why.as_mut_ptr().cast(), why.len())) == 0 {
        return Ok(());
    }
    let text = CStr::from_bytes_until_nul(&why).map(CStr::to_string_lossy).unwrap_or_default();
    Err(text.lines().next().unwrap_or("unknown").to_owned())
}
