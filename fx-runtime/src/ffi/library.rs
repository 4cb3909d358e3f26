//! Shared libraries that are opened by path or name while the program runs, and never closed.

use std::ffi::{CStr, c_void};
use std::path::Path;

/// A library in this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Library(#[cfg_attr(not(unix), allow(dead_code))] *mut c_void);

// SAFETY: a handle of the dynamic loader may be used by any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

/// Opens a library; `Err` holds the loader's reason. A path without a folder is looked for as the loader does.
#[cfg(unix)]
pub(crate) fn open(path: &Path) -> Result<Library, String> {
    use std::os::unix::ffi::OsStrExt as _;

    let name = std::ffi::CString::new(path.as_os_str().as_bytes()).map_err(|_| "the path has a NUL byte".to_owned())?;
    // SAFETY: the name ends in NUL. Opening runs the library's initialisers; the libraries opened here (CUDA's and the
    // project's own) are written to be opened at any time.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() { Err(super::cuda::loader_error()) } else { Ok(Library(handle)) }
}

#[cfg(not(unix))]
pub(crate) fn open(path: &Path) -> Result<Library, String> {
    Err(format!("{} cannot be opened on this platform", path.display()))
}

impl Library {
    /// The address of a symbol.
    #[cfg(unix)]
    pub(super) fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the library is open for good, and the name ends in NUL.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }

    #[cfg(not(unix))]
    pub(super) fn symbol(&self, _: &CStr) -> Option<*mut c_void> {
        None
    }
}
