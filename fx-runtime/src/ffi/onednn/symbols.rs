//! Addresses of functions that a loaded library has but does not export.
//!
//! The dynamic loader knows exported names alone. The static symbol table (`.symtab`) of the library's file has the
//! others as well, unless the file was stripped; it is mapped and read once.

use std::ffi::{CStr, OsStr, c_void};
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::ptr;

use object::elf::{FileHeader64, SHT_SYMTAB, STB_GLOBAL, STT_FUNC};
use object::read::elf::{FileHeader as _, Sym as _};
use object::{Endianness, elf};

/// The functions of one loaded library.
pub(super) struct Library {
    file: Mapped,
    /// What the loader added to the addresses in the file.
    base: usize,
}

impl Library {
    /// The library that holds `address`.
    pub(super) fn around(address: *const c_void) -> Option<Self> {
        let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: `dladdr` reads the address and fills `info`, whose zeroed state is valid.
        let info = unsafe { (libc::dladdr(address, info.as_mut_ptr()) != 0).then(|| info.assume_init())? };
        if info.dli_fname.is_null() {
            return None;
        }
        // SAFETY: the loader keeps the name, which ends in NUL, as long as the library, which is never unloaded.
        let path = unsafe { CStr::from_ptr(info.dli_fname) };
        let file = Mapped::open(OsStr::from_bytes(path.to_bytes()))?;
        Some(Self { file, base: info.dli_fbase.addr() })
    }

    /// The addresses of functions whose names start with `prefix`, in the order of `names`; none for a name that the
    /// file lacks or has twice. `anchor` is an exported function of known address: nothing at all is found unless the
    /// file has it where the process has it, that is unless the file is the one that was loaded.
    pub(super) fn functions(&self, prefix: &str, names: &[&str], anchor: (&str, usize)) -> Option<Vec<Option<usize>>> {
        let data = self.file.bytes();
        let header = FileHeader64::<Endianness>::parse(data).ok()?;
        let endian = header.endian().ok()?;
        let symbols = header.sections(endian, data).ok()?.symbols(endian, data, SHT_SYMTAB).ok()?;
        let mut found = vec![Found::Nowhere; names.len()];
        let mut is_same_file = false;
        for symbol in symbols.iter() {
            let is_function = symbol.st_type() == STT_FUNC && symbol.st_shndx(endian) != elf::SHN_UNDEF;
            let Ok(name) = symbol.name(endian, symbols.strings()) else { continue };
            if !is_function {
                continue;
            }
            let address = self.base.wrapping_add(usize::try_from(symbol.st_value(endian)).ok()?);
            if name.starts_with(prefix.as_bytes())
                && let Some(index) = names.iter().position(|wanted| wanted.as_bytes() == name)
            {
                found[index] = found[index].and(address);
            }
            is_same_file |= symbol.st_bind() == STB_GLOBAL && name == anchor.0.as_bytes() && address == anchor.1;
        }
        is_same_file.then(|| found.into_iter().map(Found::once).collect())
    }
}

#[derive(Clone, Copy)]
enum Found {
    Nowhere,
    At(usize),
    Twice,
}

impl Found {
    fn and(self, address: usize) -> Self {
        match self {
            Self::Nowhere => Self::At(address),
            Self::At(_) | Self::Twice => Self::Twice,
        }
    }

    fn once(self) -> Option<usize> {
        match self {
            Self::At(address) => Some(address),
            Self::Nowhere | Self::Twice => None,
        }
    }
}

/// A file in memory, read as it is looked at.
struct Mapped {
    start: *mut c_void,
    length: usize,
}

impl Mapped {
    fn open(path: &OsStr) -> Option<Self> {
        let file = File::open(path).ok()?;
        let length = usize::try_from(file.metadata().ok()?.len()).ok().filter(|&length| length > 0)?;
        // SAFETY: a new private read-only mapping of an open file; the address is the kernel's choice.
        let start =
            unsafe { libc::mmap(ptr::null_mut(), length, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0) };
        (start != libc::MAP_FAILED).then_some(Self { start, length })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is `length` readable bytes until `self` is dropped. Whoever rewrites the file of a loaded
        // library pulls the rug from under the program's own code as well, which is mapped from the same file.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.length) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping made by `open`, of which no slice outlives `self`.
        unsafe { libc::munmap(self.start, self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::entry;

    #[test]
    fn hidden_functions_are_found_where_the_loader_put_them() {
        let (name, anchor) = entry::anchor().unwrap();
        let start = std::time::Instant::now();
        let library = Library::around(anchor).unwrap();
        let found = library.functions("dnnl_", &["dnnl_version", "dnnl_no_such"], (name, anchor.addr())).unwrap();
        eprintln!("{:?}", start.elapsed());
        assert!(found[0].is_some_and(|address| address > library.base));
        assert_eq!(found[1], None);
        assert!(library.functions("dnnl_", &["dnnl_version"], (name, anchor.addr() + 1)).is_none(), "another file");
    }

    #[test]
    fn a_name_that_is_there_twice_is_not_trusted() {
        assert_eq!(Found::Nowhere.and(1).once(), Some(1));
        assert_eq!(Found::Nowhere.and(1).and(2).once(), None);
        assert_eq!(Found::Nowhere.once(), None);
    }
}
