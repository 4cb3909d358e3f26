//! Opens `libtorch_cuda.so` where it lies beside `libtorch_cpu.so`.
//!
//! A binary that was linked against libtorch without CUDA, or whose linker dropped a library that it saw no use of, can
//! use CUDA all the same: opening the library registers its kernels with the dispatcher. libtorch asks for CUDA's hooks
//! once, so this has to come before the first question whether CUDA is there; [`open`] is called by everything in this
//! crate that may ask.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What became of the attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Opened {
    /// The library is in this process.
    At(PathBuf),
    /// There is no such library beside libtorch: a build for the CPU alone.
    Absent,
    /// It is there and could not be opened, for instance because CUDA's own libraries are missing.
    Failed {
        /// The library.
        path: PathBuf,
        /// The dynamic loader's reason.
        reason: String,
    },
}

/// Opens the library at the first call; later calls answer from memory.
pub(crate) fn open() -> &'static Opened {
    static OPENED: OnceLock<Opened> = OnceLock::new();
    OPENED.get_or_init(|| match library_folder() {
        Some(folder) => open_in(&folder),
        None => Opened::Absent,
    })
}

/// True when CUDA can be computed on: its library is open and a device is there.
pub(crate) fn is_available() -> bool {
    matches!(open(), Opened::At(_)) && tch::Cuda::is_available()
}

/// The first GPU; where there is none, a test says so and skips.
#[cfg(test)]
pub(crate) fn gpu_or_skip(test: &str) -> Option<tch::Device> {
    use std::io::Write as _;

    let is_there = is_available();
    if !is_there {
        // Where what tests print is hidden, too.
        let _ = writeln!(std::io::stderr(), "{test} is skipped: there is no GPU");
    }
    is_there.then_some(tch::Device::Cuda(0))
}

/// The stream that libtorch gives its work to on this thread; none where there is no CUDA.
#[cfg(unix)]
pub(super) fn current_stream(device: usize) -> Option<*mut std::ffi::c_void> {
    type Current = unsafe extern "C" fn(i32, *mut *mut std::ffi::c_void) -> i32;
    static CURRENT: OnceLock<Option<Current>> = OnceLock::new();
    if !is_available() {
        return None;
    }
    let current = CURRENT.get_or_init(|| {
        super::entry::symbol(c"aoti_torch_get_current_cuda_stream").map(|address| {
            // SAFETY: the function of this name has this declaration (`aoti_torch/c/shim.h`).
            unsafe { std::mem::transmute::<*mut std::ffi::c_void, Current>(address) }
        })
    });
    let mut stream = std::ptr::null_mut();
    let device = i32::try_from(device).ok()?;
    // SAFETY: the callee writes one pointer; null is a stream as well, the default one.
    let status = unsafe { (*current)?(device, &raw mut stream) };
    (status == 0).then_some(stream)
}

#[cfg(not(unix))]
pub(super) fn current_stream(_: usize) -> Option<*mut std::ffi::c_void> {
    None
}

#[cfg(unix)]
fn open_in(folder: &Path) -> Opened {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

    let path = folder.join(format!("libtorch_cuda{}", std::env::consts::DLL_SUFFIX));
    if !path.exists() {
        return Opened::Absent;
    }
    // SAFETY: opening runs the library's initialisers, which are written to be run at any time (Python's torch opens it the
    // same way); it is never closed. It finds libc10_cuda.so and CUDA's libraries by the run paths that it was built with.
    match unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) } {
        Ok(library) => {
            std::mem::forget(library);
            Opened::At(path)
        }
        Err(error) => Opened::Failed { path, reason: error.to_string() },
    }
}

/// The folder of the `libtorch_cpu.so` in this process.
#[cfg(unix)]
pub(crate) fn library_folder() -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;

    let (_, symbol) = super::entry::anchor()?;
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `dladdr` reads the address and fills `info`, whose zeroed state is valid; the file name it points at lives
    // as long as the library, which is never unloaded.
    let path = unsafe {
        if libc::dladdr(symbol, info.as_mut_ptr()) == 0 || (*info.as_ptr()).dli_fname.is_null() {
            return None;
        }
        std::ffi::CStr::from_ptr((*info.as_ptr()).dli_fname)
    };
    let path = Path::new(std::ffi::OsStr::from_bytes(path.to_bytes()));
    std::fs::canonicalize(path).ok()?.parent().map(Path::to_owned)
}

#[cfg(not(unix))]
fn open_in(_: &Path) -> Opened {
    Opened::Absent
}

#[cfg(not(unix))]
pub(crate) fn library_folder() -> Option<PathBuf> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libtorch_is_found() {
        let folder = library_folder().unwrap();
        assert!(folder.join(format!("libtorch_cpu{}", std::env::consts::DLL_SUFFIX)).exists(), "{folder:?}");
    }

    #[test]
    fn a_folder_without_the_library_is_no_error() {
        assert_eq!(open_in(Path::new("/")), Opened::Absent);
    }

    #[test]
    fn a_library_that_cannot_be_opened_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("libtorch_cuda{}", std::env::consts::DLL_SUFFIX));
        std::fs::write(&path, "not a library").unwrap();
        let opened = open_in(folder.path());
        assert!(matches!(opened, Opened::Failed { reason, .. } if reason.contains("libtorch_cuda")));
    }
}
