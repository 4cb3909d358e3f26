//! Shared libraries that are opened by path or name while the program runs, and never closed.

use std::ffi::CStr;
use std::mem::ManuallyDrop;
use std::path::Path;

/// A library in this process.
#[derive(Debug)]
pub(crate) struct Library(ManuallyDrop<libloading::Library>);

/// Opens a library; `Err` holds the loader's reason. A path without a folder is looked for as the loader does.
pub(crate) fn open(path: &Path) -> Result<Library, String> {
    #[cfg(unix)]
    // SAFETY: opening runs the library's initialisers; the libraries opened here (CUDA's and the project's own) are
    // written to be opened at any time.
    let opened = unsafe { unix::Library::open(Some(path), unix::RTLD_NOW | unix::RTLD_LOCAL) }.map(Into::into);
    #[cfg(not(unix))]
    // SAFETY: as above.
    let opened = unsafe { libloading::Library::new(path) };
    opened.map(|library| Library(ManuallyDrop::new(library))).map_err(|error| error.to_string())
}

#[cfg(unix)]
use libloading::os::unix;

impl Library {
    /// The function of that name.
    ///
    /// # Safety
    ///
    /// `F` is a function pointer with the declaration that the function has in the library.
    pub(super) unsafe fn function<F: Copy>(&self, name: &CStr) -> Result<F, String> {
        // SAFETY: by the contract of this function; the library is open for good.
        let found = unsafe { self.0.get::<F>(name.to_bytes_with_nul()) };
        found.map(|function| *function).map_err(|_| format!("it has no {}", name.to_string_lossy()))
    }
}
