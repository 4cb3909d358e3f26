//! CUDA's driver: loading machine code and launching kernels on libtorch's stream.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;

use super::{cuda, library};

type Status = c_int;
type Pointer = *mut c_void;
type Launch = unsafe extern "C" fn(
    Pointer,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    Pointer,
    *mut Pointer,
    *mut Pointer,
) -> Status;

macro_rules! driver {
    ($($(#[doc = $doc:literal])* $field:ident = $symbol:literal: fn($($arg:ty),*);)*) => {
        /// The driver's functions; their declarations are part of its stable interface.
        #[derive(Debug)]
        pub(crate) struct Driver {
            $($(#[doc = $doc])* $field: unsafe extern "C" fn($($arg),*) -> Status,)*
            launch: Launch,
        }

        impl Driver {
            fn look_up(library: &library::Library) -> Result<Self, String> {
                // SAFETY: these are the driver's functions of these names, whose declarations the fields repeat.
                unsafe {
                    Ok(Self {
                        $($field: library.function($symbol)?,)*
                        launch: library.function(c"cuLaunchKernel")?,
                    })
                }
            }
        }
    };
}

driver! {
    /// Before all others.
    init = c"cuInit": fn(c_uint);
    /// What a status means.
    error = c"cuGetErrorString": fn(Status, *mut *const c_char);
    device = c"cuDeviceGet": fn(*mut c_int, c_int);
    attribute = c"cuDeviceGetAttribute": fn(*mut c_int, c_int, c_int);
    /// The context that libtorch works in as well.
    retain = c"cuDevicePrimaryCtxRetain": fn(*mut Pointer, c_int);
    push = c"cuCtxPushCurrent_v2": fn(Pointer);
    pop = c"cuCtxPopCurrent_v2": fn(*mut Pointer);
    load = c"cuModuleLoadData": fn(*mut Pointer, *const c_void);
    function = c"cuModuleGetFunction": fn(*mut Pointer, Pointer, *const c_char);
}

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `.._MINOR`.
const CAPABILITY: [c_int; 2] = [75, 76];

/// The driver, opened once; `Err` says why it cannot be used.
pub(crate) fn driver() -> Result<&'static Driver, String> {
    static DRIVER: OnceLock<Result<Driver, String>> = OnceLock::new();
    DRIVER.get_or_init(|| open(Path::new("libcuda.so.1"))).as_ref().map_err(Clone::clone)
}

fn open(path: &Path) -> Result<Driver, String> {
    let driver = Driver::look_up(&library::open(path)?)?;
    // SAFETY: it may be called any number of times.
    driver.check(unsafe { (driver.init)(0) })?;
    Ok(driver)
}

impl Driver {
    /// `sm_90`.
    pub(crate) fn architecture(&self, device: usize) -> Result<String, String> {
        let [major, minor] = self.capability(device)?;
        Ok(format!("sm_{major}{minor}"))
    }

    /// The compute capability, major and minor.
    pub(crate) fn capability(&self, device: usize) -> Result<[c_int; 2], String> {
        let device = self.handle(device)?;
        let mut capability = [0; 2];
        for (value, attribute) in capability.iter_mut().zip(CAPABILITY) {
            // SAFETY: the callee writes one integer.
            self.check(unsafe { (self.attribute)(&raw mut *value, attribute, device) })?;
        }
        Ok(capability)
    }

    fn handle(&self, device: usize) -> Result<c_int, String> {
        let index = c_int::try_from(device).map_err(|_| format!("there is no device {device}"))?;
        let mut handle = 0;
        // SAFETY: the callee writes one integer.
        self.check(unsafe { (self.device)(&raw mut handle, index) })?;
        Ok(handle)
    }

    /// The context that libtorch works in on a device, which is kept for good.
    pub(super) fn primary_context(&self, device: usize) -> Result<Pointer, String> {
        let mut context = ptr::null_mut();
        // SAFETY: the callee writes the context.
        self.check(unsafe { (self.retain)(&raw mut context, self.handle(device)?) })?;
        Ok(context)
    }

    /// Runs `f` in the context of a device.
    pub(super) fn within<R>(&self, context: Pointer, f: impl FnOnce() -> Result<R, String>) -> Result<R, String> {
        // SAFETY: the context is a primary one that is never released.
        self.check(unsafe { (self.push)(context) })?;
        let result = f();
        let mut popped = ptr::null_mut();
        // SAFETY: what was pushed above is on top of this thread's stack.
        self.check(unsafe { (self.pop)(&raw mut popped) })?;
        result
    }

    fn check(&self, status: Status) -> Result<(), String> {
        if status == 0 {
            return Ok(());
        }
        let mut text = ptr::null();
        // SAFETY: the callee writes a pointer to a string of its own, or null.
        unsafe { (self.error)(status, &raw mut text) };
        if text.is_null() {
            return Err(format!("CUDA status {status}"));
        }
        // SAFETY: the string ends in NUL and lives as long as the driver.
        Err(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }
}

/// A kernel that lies on a device for good: a recorded forward may launch it when this value is long gone.
#[derive(Debug)]
pub(crate) struct Loaded {
    driver: &'static Driver,
    device: usize,
    context: Pointer,
    function: Pointer,
}

// SAFETY: the pointers are handles of the driver, which any thread may use at any time.
unsafe impl Send for Loaded {}
// SAFETY: as above; launching changes nothing in the handles.
unsafe impl Sync for Loaded {}

impl Loaded {
    /// Loads the kernel `name` of a piece of machine code.
    pub(crate) fn new(device: usize, name: &str, cubin: &[u8]) -> Result<Self, String> {
        let driver = driver()?;
        let name = CString::new(name).map_err(|_| "the kernel's name has a NUL byte".to_owned())?;
        let context = driver.primary_context(device)?;
        driver.within(context, || {
            let (mut module, mut function) = (ptr::null_mut(), ptr::null_mut());
            // SAFETY: the bytes are alive during the call, and a piece of machine code says itself how long it is.
            driver.check(unsafe { (driver.load)(&raw mut module, cubin.as_ptr().cast()) })?;
            // SAFETY: the module was just loaded, and the name ends in NUL.
            driver.check(unsafe { (driver.function)(&raw mut function, module, name.as_ptr()) })?;
            Ok(Self { driver, device, context, function })
        })
    }

    /// Launches the kernel on libtorch's present stream.
    ///
    /// # Safety
    ///
    /// The kernel takes arguments of these sizes in this order, and with them writes to nothing but what the caller may
    /// write to, for as long as it runs.
    pub(crate) unsafe fn launch(
        &self,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u32,
        arguments: &[Word],
    ) -> Result<(), String> {
        let stream = cuda::current_stream(self.device).ok_or("libtorch does not tell its stream")?;
        let mut places: Vec<Pointer> = arguments.iter().map(Word::place).collect();
        self.driver.within(self.context, || {
            // SAFETY: the function and the stream are alive, the places point at the arguments, which the driver copies
            // before it returns; the rest is this function's contract.
            self.driver.check(unsafe {
                (self.driver.launch)(
                    self.function,
                    grid[0],
                    grid[1],
                    grid[2],
                    block[0],
                    block[1],
                    block[2],
                    shared_bytes,
                    stream,
                    places.as_mut_ptr(),
                    ptr::null_mut(),
                )
            })
        })
    }
}

/// One argument as the driver wants it: a place that holds its bits, aligned as they are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Word {
    Four(u32),
    Eight(u64),
}

impl Word {
    fn place(&self) -> Pointer {
        match self {
            Self::Four(bits) => ptr::from_ref(bits).cast_mut().cast(),
            Self::Eight(bits) => ptr::from_ref(bits).cast_mut().cast(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_that_is_not_there_is_an_error() {
        assert!(open(Path::new("no/such/libcuda.so.1")).is_err());
        if driver().is_err() {
            assert!(Loaded::new(0, "kernel", &[]).is_err());
        }
    }
}
