//! The table of oneDNN's C functions: one row a function, with the types of `oneapi/dnnl/dnnl.h`.

use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

#[cfg(target_os = "linux")]
use super::super::entry;
#[cfg(target_os = "linux")]
use super::symbols::Library;

/// The release whose headers the types below were taken from, as `(major, minor)`.
const HEADERS: (c_int, c_int) = (3, 10);

/// 0 is success.
pub(super) type Status = c_int;
/// A handle of oneDNN; null is none.
pub(super) type Handle = *mut c_void;
/// `dnnl_dims_t`: lengths, strides or paddings, only as many as there are axes are read.
pub(super) type Dims = [i64; 12];

/// `dnnl_exec_arg_t`: which argument, and the memory for it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Argument {
    pub(super) which: c_int,
    pub(super) memory: Handle,
}

#[repr(C)]
struct Version {
    major: c_int,
    minor: c_int,
    patch: c_int,
    hash: *const c_char,
    cpu_runtime: u32,
    gpu_runtime: u32,
}

/// Values of the enums and macros of `dnnl_types.h` and `dnnl_common_types.h`.
pub(super) mod value {
    use std::ffi::c_int;

    pub(in super::super) const ENGINE_CPU: c_int = 1;
    pub(in super::super) const STREAM_IN_ORDER: u32 = 1;
    pub(in super::super) const FORMAT_ANY: c_int = 1;
    pub(in super::super) const FORWARD_INFERENCE: c_int = 96;
    pub(in super::super) const CONVOLUTION_DIRECT: c_int = 1;
    pub(in super::super) const BINARY_ADD: c_int = 0x1fff0;
    pub(in super::super) const SCRATCHPAD_USER: c_int = 1;

    pub(in super::super) const QUERY_WEIGHTS: c_int = 131;
    pub(in super::super) const QUERY_SCRATCHPAD: c_int = 136;

    pub(in super::super) const ARG_SRC: c_int = 1;
    pub(in super::super) const ARG_SRC_1: c_int = 2;
    pub(in super::super) const ARG_DST: c_int = 17;
    pub(in super::super) const ARG_WEIGHTS: c_int = 33;
    pub(in super::super) const ARG_BIAS: c_int = 41;
    pub(in super::super) const ARG_SCRATCHPAD: c_int = 80;
    /// `DNNL_ARG_ATTR_MULTIPLE_POST_OP(0)`.
    pub(in super::super) const ARG_FIRST_POST_OP: c_int = 32768;
    /// `DNNL_ARG_ATTR_SCALES`, to be joined with the argument that is scaled.
    pub(in super::super) const ARG_SCALES: c_int = 4096;
    /// `DNNL_ARG_ATTR_ZERO_POINTS`, likewise.
    pub(in super::super) const ARG_ZERO_POINTS: c_int = 8192;

    /// The instructions that sum products of bytes in 32 bits, among those of `dnnl_cpu_isa_t`: what `avx2_vnni` has beyond
    /// `avx2`, and `avx512_core_vnni` beyond `avx512_core`.
    pub(super) const ISA_VNNI: c_int = 0x48;

    /// Element types; none of a sum is the result's.
    pub(in super::super) const AS_RESULT: c_int = 0;
    pub(in super::super) const F16: c_int = 1;
    pub(in super::super) const BF16: c_int = 2;
    pub(in super::super) const F32: c_int = 3;
    pub(in super::super) const S32: c_int = 4;
    pub(in super::super) const S8: c_int = 5;
    pub(in super::super) const U8: c_int = 6;

    /// `DNNL_RUNTIME_OMP`.
    pub(super) const RUNTIME_OPENMP: u32 = 2;
}

macro_rules! functions {
    ($($field:ident = $symbol:ident: fn($($arg:ty),* $(,)?) -> $ret:ty;)*) => {
        /// The functions, all of them found in the release that the types were taken from.
        #[derive(Debug)]
        pub(super) struct Api {
            $(pub(super) $field: unsafe extern "C-unwind" fn($($arg),*) -> $ret,)*
        }

        const NAMES: &[&str] = &[$(stringify!($symbol)),*];

        impl Api {
            /// # Safety
            ///
            /// The addresses are those of the functions called `NAMES`, in this order, in oneDNN of the release HEADERS.
            unsafe fn at(addresses: &[usize]) -> Option<Self> {
                let mut addresses = addresses.iter().map(|&address| std::ptr::with_exposed_provenance_mut(address));
                Some(Self {
                    // SAFETY: by this function's contract it is the function of this name, whose declaration in the
                    // headers has exactly these argument and result types.
                    $($field: unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn($($arg),*) -> $ret>(
                            addresses.next()?,
                        )
                    },)*
                })
            }
        }
    };
}

functions! {
    effective_cpu_isa = dnnl_get_effective_cpu_isa: fn() -> c_int;
    engine_create = dnnl_engine_create: fn(*mut Handle, c_int, usize) -> Status;
    stream_create = dnnl_stream_create: fn(*mut Handle, Handle, u32) -> Status;
    stream_wait = dnnl_stream_wait: fn(Handle) -> Status;
    stream_destroy = dnnl_stream_destroy: fn(Handle) -> Status;
    layout_with_strides = dnnl_memory_desc_create_with_strides:
        fn(*mut Handle, c_int, *const Dims, c_int, *const Dims) -> Status;
    layout_with_tag = dnnl_memory_desc_create_with_tag: fn(*mut Handle, c_int, *const Dims, c_int, c_int) -> Status;
    layout_clone = dnnl_memory_desc_clone: fn(*mut Handle, Handle) -> Status;
    layout_equal = dnnl_memory_desc_equal: fn(Handle, Handle) -> c_int;
    layout_size = dnnl_memory_desc_get_size: fn(Handle) -> usize;
    layout_destroy = dnnl_memory_desc_destroy: fn(Handle) -> Status;
    memory_create = dnnl_memory_create: fn(*mut Handle, Handle, Handle, *mut c_void) -> Status;
    memory_set = dnnl_memory_set_data_handle: fn(Handle, *mut c_void) -> Status;
    memory_destroy = dnnl_memory_destroy: fn(Handle) -> Status;
    post_ops_create = dnnl_post_ops_create: fn(*mut Handle) -> Status;
    post_ops_eltwise = dnnl_post_ops_append_eltwise: fn(Handle, c_int, f32, f32) -> Status;
    post_ops_sum = dnnl_post_ops_append_sum: fn(Handle, f32, i32, c_int) -> Status;
    post_ops_binary = dnnl_post_ops_append_binary: fn(Handle, c_int, Handle) -> Status;
    post_ops_destroy = dnnl_post_ops_destroy: fn(Handle) -> Status;
    attributes_create = dnnl_primitive_attr_create: fn(*mut Handle) -> Status;
    attributes_post_ops = dnnl_primitive_attr_set_post_ops: fn(Handle, Handle) -> Status;
    attributes_scratchpad = dnnl_primitive_attr_set_scratchpad_mode: fn(Handle, c_int) -> Status;
    attributes_scales = dnnl_primitive_attr_set_scales_mask: fn(Handle, c_int, c_int) -> Status;
    attributes_zero_points = dnnl_primitive_attr_set_zero_points_mask: fn(Handle, c_int, c_int) -> Status;
    attributes_destroy = dnnl_primitive_attr_destroy: fn(Handle) -> Status;
    convolution = dnnl_convolution_forward_primitive_desc_create: fn(
        *mut Handle, Handle, c_int, c_int, Handle, Handle, Handle, Handle,
        *const Dims, *const Dims, *const Dims, *const Dims, Handle) -> Status;
    reorder = dnnl_reorder_primitive_desc_create: fn(*mut Handle, Handle, Handle, Handle, Handle, Handle) -> Status;
    description_query = dnnl_primitive_desc_query_md: fn(Handle, c_int, c_int) -> Handle;
    description_destroy = dnnl_primitive_desc_destroy: fn(Handle) -> Status;
    primitive_create = dnnl_primitive_create: fn(*mut Handle, Handle) -> Status;
    primitive_execute = dnnl_primitive_execute: fn(Handle, Handle, c_int, *const Argument) -> Status;
    primitive_destroy = dnnl_primitive_destroy: fn(Handle) -> Status;
}

/// What became of the search.
#[derive(Debug)]
pub(super) enum Found {
    Release(&'static Api, (c_int, c_int, c_int)),
    /// Why not.
    Not(&'static str),
}

/// The functions of this process's oneDNN; the first call takes some milliseconds.
pub(super) fn found() -> &'static Found {
    static FOUND: OnceLock<Found> = OnceLock::new();
    FOUND.get_or_init(|| look_up().unwrap_or_else(Found::Not))
}

/// The functions, if they were found.
pub(super) fn api() -> Option<&'static Api> {
    match found() {
        Found::Release(api, _) => Some(api),
        Found::Not(_) => None,
    }
}

/// Whether products of bytes are summed in 32 bits. Other CPUs sum pairs of them in 16, which overflow.
pub(super) fn has_vnni(api: &Api) -> bool {
    // SAFETY: it takes nothing and returns a number.
    unsafe { (api.effective_cpu_isa)() & value::ISA_VNNI != 0 }
}

fn look_up() -> Result<Found, &'static str> {
    let addresses = addresses()?;
    let (&version, functions) = addresses.split_first().ok_or("libtorch has no oneDNN")?;
    // SAFETY: in every release of oneDNN this function takes nothing and returns a pointer to a constant that starts
    // with the fields of `Version`.
    let version = unsafe {
        std::mem::transmute::<*mut c_void, extern "C-unwind" fn() -> *const Version>(
            std::ptr::with_exposed_provenance_mut(version),
        )()
        .as_ref()
    };
    let version = version.ok_or("oneDNN does not tell its version")?;
    if (version.major, version.minor) != HEADERS {
        return Err("oneDNN is another release");
    }
    if version.cpu_runtime != value::RUNTIME_OPENMP {
        return Err("oneDNN was built for other threads than OpenMP's");
    }
    // SAFETY: the addresses were found by name in the file that was loaded, and the release is the one known.
    let api = unsafe { Api::at(functions) }.ok_or("libtorch lacks one of the functions")?;
    Ok(Found::Release(Box::leak(Box::new(api)), (version.major, version.minor, version.patch)))
}

/// Of `dnnl_version`, then of [`NAMES`].
#[cfg(target_os = "linux")]
fn addresses() -> Result<Vec<usize>, &'static str> {
    let (name, anchor) = entry::anchor().ok_or("libtorch does not say where it lies")?;
    let library = Library::around(anchor).ok_or("the file of libtorch cannot be read")?;
    let names: Vec<&str> = std::iter::once("dnnl_version").chain(NAMES.iter().copied()).collect();
    let found = library.functions("dnnl_", &names, (name, anchor.addr())).ok_or("the file of libtorch is stripped")?;
    found.into_iter().collect::<Option<_>>().ok_or("libtorch lacks one of the functions")
}

#[cfg(not(target_os = "linux"))]
fn addresses() -> Result<Vec<usize>, &'static str> {
    Err("this is not Linux")
}
