//! The library's functions, looked up in the process, and its handle on a device.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::ffi::cuda;
use crate::ffi::driver::{Driver, driver};
use crate::ffi::entry::symbol;

pub(super) type Status = c_int;
pub(super) type Raw = *mut c_void;

macro_rules! functions {
    ($($field:ident = $symbol:literal: fn($($arg:ty),*);)*) => {
        /// The library's functions; their declarations have been the same since CUDA 11.
        pub(super) struct Functions {
            $(pub(super) $field: unsafe extern "C" fn($($arg),*) -> Status,)*
        }

        impl Functions {
            fn look_up() -> Option<Self> {
                Some(Self {
                    $($field: {
                        let address = symbol($symbol)?;
                        // SAFETY: the function of this name has this declaration (`cublasLt.h`).
                        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) -> Status>(address) }
                    },)*
                })
            }
        }
    };
}

functions! {
    create = c"cublasLtCreate": fn(*mut Raw);
    new_product = c"cublasLtMatmulDescCreate": fn(*mut Raw, c_int, c_int);
    set_product = c"cublasLtMatmulDescSetAttribute": fn(Raw, c_int, *const c_void, usize);
    free_product = c"cublasLtMatmulDescDestroy": fn(Raw);
    new_layout = c"cublasLtMatrixLayoutCreate": fn(*mut Raw, c_int, u64, u64, i64);
    free_layout = c"cublasLtMatrixLayoutDestroy": fn(Raw);
    new_preference = c"cublasLtMatmulPreferenceCreate": fn(*mut Raw);
    set_preference = c"cublasLtMatmulPreferenceSetAttribute": fn(Raw, c_int, *const c_void, usize);
    free_preference = c"cublasLtMatmulPreferenceDestroy": fn(Raw);
    heuristics = c"cublasLtMatmulAlgoGetHeuristic": fn(Raw, Raw, Raw, Raw, Raw, Raw, Raw, c_int, *mut Found, *mut c_int);
    multiply = c"cublasLtMatmul": fn(
        Raw, Raw, *const c_void, *const c_void, Raw, *const c_void, Raw, *const c_void, *const c_void, Raw, Raw, Raw,
        *const Algorithm, Raw, usize, Raw);
}

/// `cublasLtMatmulAlgo_t`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Algorithm([u64; 8]);

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Found {
    pub(super) algorithm: Algorithm,
    pub(super) workspace: usize,
    pub(super) status: Status,
    waves: f32,
    reserved: [c_int; 4],
}

/// The library on one device.
pub(super) struct Lt {
    pub(super) device: usize,
    pub(super) functions: Functions,
    pub(super) driver: &'static Driver,
    /// The device's primary context.
    pub(super) context: Raw,
    pub(super) handle: Raw,
}

// SAFETY: handle and context may be used by any thread at any time: cuBLASLt keeps no state between calls.
unsafe impl Send for Lt {}
// SAFETY: as above.
unsafe impl Sync for Lt {}

/// Made once for each device; none where the library is not in the process.
pub(super) fn lt(device: usize) -> Option<Arc<Lt>> {
    static ALL: Mutex<BTreeMap<usize, Option<Arc<Lt>>>> = Mutex::new(BTreeMap::new());
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    all.entry(device).or_insert_with(|| Lt::new(device).map(Arc::new)).clone()
}

impl Lt {
    fn new(device: usize) -> Option<Self> {
        if !cuda::is_available() {
            return None;
        }
        let (functions, driver) = (Functions::look_up()?, driver().ok()?);
        let context = driver.primary_context(device).ok()?;
        let mut handle = ptr::null_mut();
        // SAFETY: the callee writes one handle, which is kept for good.
        let made = driver.within(context, || told(unsafe { (functions.create)(&raw mut handle) }));
        made.ok().map(|()| Self { device, functions, driver, context, handle })
    }
}

pub(super) fn told(status: Status) -> Result<(), String> {
    if status == 0 { Ok(()) } else { Err(format!("cuBLASLt refused it (status {status})")) }
}
