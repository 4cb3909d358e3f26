//! The table of C entry points: one row a function, found by name at first use.
//!
//! They are looked up with `dlsym` instead of linked, because builds of libtorch differ in what they export (oneDNN is
//! missing on some platforms), and a missing function must cost a fallback and not the start of the program.

use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

use torch_sys::C_tensor;

/// An `at::Tensor*`: borrowed as an argument, owned by the receiver as a result.
pub(super) type Handle = *mut C_tensor;
/// 0 is success; on anything else libtorch has written the reason to the standard error stream.
pub(super) type Status = i32;

/// The release that the types below were taken from, as `(major, minor)`.
const HEADERS: (u64, u64) = (2, 11);

macro_rules! entry_points {
    ($($(#[doc = $doc:literal])* $field:ident = $symbol:ident: fn($($arg:ty),* $(,)?) -> $ret:ty;)*) => {
        /// The entry points that this libtorch has.
        #[derive(Debug, Default)]
        pub(super) struct EntryPoints {
            $($(#[doc = $doc])* pub(super) $field: Option<unsafe extern "C" fn($($arg),*) -> $ret>,)*
        }

        impl EntryPoints {
            fn look_up() -> Self {
                Self {
                    $($field: exported(concat!(stringify!($symbol), "\0")).map(|address| {
                        // SAFETY: `address` is the function of this name in the release that HEADERS names (`table`
                        // checks it), whose C declaration has exactly these argument and result types.
                        unsafe {
                            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) -> $ret>(address)
                        }
                    }),)*
                }
            }

            fn presence(&self) -> Vec<Presence> {
                vec![$(Presence { name: stringify!($symbol), found: self.$field.is_some() },)*]
            }
        }
    };
}

entry_points! {
    /// Convolution with one fused activation.
    convolution = aoti_torch_cpu_mkldnn__convolution_pointwise: fn(
        Handle, Handle, *const Handle, *const i64, i64, *const i64, i64, *const i64, i64, i64,
        *const c_char, *const *const f64, i64, *const *const c_char, *mut Handle) -> Status;
    /// Convolution, plus a tensor, with one fused activation.
    convolution_binary = aoti_torch_cpu_mkldnn__convolution_pointwise_binary: fn(
        Handle, Handle, Handle, *const Handle, *const i64, i64, *const i64, i64, *const i64, i64, i64,
        *const c_char, *const f64, *const *const c_char, *const *const f64, i64, *const *const c_char,
        *mut Handle) -> Status;
    /// Transposed convolution with one fused activation.
    convolution_transpose = aoti_torch_cpu_mkldnn__convolution_transpose_pointwise: fn(
        Handle, Handle, *const Handle, *const i64, i64, *const i64, i64, *const i64, i64, *const i64, i64, i64,
        *const c_char, *const *const f64, i64, *const *const c_char, *mut Handle) -> Status;
    /// Matrix product and bias with one fused activation.
    linear = aoti_torch_cpu__linear_pointwise: fn(
        Handle, Handle, *const Handle, *const c_char, *const *const f64, i64, *const *const c_char,
        *mut Handle) -> Status;
    /// Matrix product and bias, plus a tensor.
    linear_binary = aoti_torch_cpu__linear_pointwise_binary: fn(
        Handle, Handle, Handle, *const Handle, *const c_char, *mut Handle) -> Status;
    /// Number of axes.
    dim = aoti_torch_get_dim: fn(Handle, *mut i64) -> Status;
    /// Lengths of the axes, borrowed from the tensor.
    sizes = aoti_torch_get_sizes: fn(Handle, *mut *const i64) -> Status;
    /// Steps between the elements of each axis, borrowed from the tensor.
    strides = aoti_torch_get_strides: fn(Handle, *mut *const i64) -> Status;
    /// The address of the first element.
    data = aoti_torch_get_data_ptr: fn(Handle, *mut *mut c_void) -> Status;
    /// A tensor of unwritten elements: rank, sizes, strides, dtype, device.
    empty = aoti_torch_empty_strided: fn(i64, *const i64, *const i64, i32, i32, i32, *mut Handle) -> Status;
    /// A tensor on memory of ours: address, rank, sizes, strides, offset, dtype, device, result, layout, metadata, and what
    /// is called with its last argument when the memory is not needed any more.
    from_blob = torch_from_blob: fn(
        *mut c_void, i64, *const i64, *const i64, i64, i32, i32, i32, *mut Handle, i32, *const u8, i64,
        Option<extern "C" fn(*mut c_void, *mut c_void)>, *mut c_void) -> Status;
    /// The dtype, as `c10::ScalarType` counts.
    dtype = aoti_torch_get_dtype: fn(Handle, *mut i32) -> Status;
    /// The kind of device.
    device_type = aoti_torch_get_device_type: fn(Handle, *mut i32) -> Status;
    /// Which of its kind.
    device_index = aoti_torch_get_device_index: fn(Handle, *mut i32) -> Status;
}

/// Whether one entry point was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Presence {
    /// Name of the C function.
    pub(crate) name: &'static str,
    /// False where this libtorch lacks it, or is another release.
    pub(crate) found: bool,
}

/// The entry points of this process's libtorch; none at all in a release other than the one known.
pub(super) fn table() -> &'static EntryPoints {
    static TABLE: OnceLock<EntryPoints> = OnceLock::new();
    TABLE.get_or_init(|| match libtorch_version() {
        Some((major, minor, _)) if (major, minor) == HEADERS => EntryPoints::look_up(),
        _ => EntryPoints::default(),
    })
}

/// Every entry point, in the order of the table.
pub(crate) fn presence() -> Vec<Presence> {
    table().presence()
}

/// `(major, minor, patch)` of the libtorch in this process.
pub(crate) fn libtorch_version() -> Option<(u64, u64, u64)> {
    let address = symbol(c"aoti_torch_abi_version")?;
    // SAFETY: since it exists (2.7) this function takes nothing and returns a u64; it only returns a constant.
    let version = unsafe { std::mem::transmute::<*mut c_void, extern "C" fn() -> u64>(address)() };
    // A byte each, from the top.
    Some((version >> 56, (version >> 48) & 0xff, (version >> 40) & 0xff))
}

/// The address of a symbol whose name ends in NUL.
fn exported(name: &'static str) -> Option<*mut c_void> {
    symbol(CStr::from_bytes_with_nul(name.as_bytes()).ok()?)
}

/// The address of a symbol in the libraries that are open to all of the process: those that were loaded when the program
/// started, and CUDA's.
#[cfg(unix)]
pub(super) fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: `name` ends in NUL, and RTLD_DEFAULT asks for the global search order.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

#[cfg(not(unix))]
pub(super) fn symbol(_: &CStr) -> Option<*mut c_void> {
    None
}

/// An exported function of `libtorch_cpu`: its name and its address.
pub(super) fn anchor() -> Option<(&'static str, *mut c_void)> {
    Some(("aoti_torch_abi_version", symbol(c"aoti_torch_abi_version")?))
}
