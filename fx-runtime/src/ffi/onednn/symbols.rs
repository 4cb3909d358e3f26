//! Addresses of functions that a loaded library has but does not export.
//!
//! The dynamic loader knows exported names alone. The static symbol table (`.symtab`) of the library's file has the
//! others as well, unless the file was stripped; it is mapped and read once.

use std::ffi::{CStr, OsStr, c_void};
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;

use memmap2::Mmap;
use object::LittleEndian;
use object::elf::{self, FileHeader64, Sym64};
use object::read::elf::{FileHeader as _, SectionHeader as _};

/// The functions of one loaded library.
pub(super) struct Library {
    /// In memory, read as it is looked at.
    file: Mmap,
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
        let file = File::open(OsStr::from_bytes(path.to_bytes())).ok()?;
        // SAFETY: whoever rewrites the file of a loaded library pulls the rug from under the program's own code as well,
        // which is mapped from the same file.
        let file = unsafe { Mmap::map(&file) }.ok()?;
        Some(Self { file, base: info.dli_fbase.addr() })
    }

    /// The addresses of local functions whose names start with `prefix`, in the order of `names`; none for a name that
    /// the file lacks or has twice. `anchor` is an exported function of known address: nothing at all is found unless
    /// the file has it where the process has it, that is unless the file is the one that was loaded.
    ///
    /// Half a million symbols are looked at, so that cheap questions come first: a name is read only where the rest fits.
    pub(super) fn functions(&self, prefix: &str, names: &[&str], anchor: (&str, usize)) -> Option<Vec<Option<usize>>> {
        let (data, endian) = (&*self.file, LittleEndian);
        let sections = FileHeader64::<LittleEndian>::parse(data).ok()?.sections(endian, data).ok()?;
        let symbols = sections.symbols(endian, data, elf::SHT_SYMTAB).ok()?;
        let strings = sections.section(symbols.string_section()).ok()?.data(endian, data).ok()?;
        // The rest of the table from the symbol's name on, which ends at the first NUL.
        let rest_of = |symbol: &Sym64<LittleEndian>| strings.get(usize::try_from(symbol.st_name.get(endian)).ok()?..);
        let is_called = |symbol, name: &str| {
            let after = rest_of(symbol).and_then(|rest| rest.strip_prefix(name.as_bytes()));
            after.is_some_and(|after| after.first() == Some(&0))
        };
        let has_prefix = |symbol| rest_of(symbol).is_some_and(|rest| rest.starts_with(prefix.as_bytes()));
        let anchor_value = u64::try_from(anchor.1.wrapping_sub(self.base)).ok()?;
        let mut found = vec![Found::Nowhere; names.len()];
        let mut is_same_file = false;
        for symbol in symbols.symbols() {
            if symbol.st_info == LOCAL_FUNCTION && has_prefix(symbol) {
                let index = names.iter().position(|name| is_called(symbol, name));
                if let (Some(index), Ok(value)) = (index, usize::try_from(symbol.st_value.get(endian))) {
                    found[index] = found[index].and(self.base.wrapping_add(value));
                }
            } else if symbol.st_info == GLOBAL_FUNCTION && symbol.st_value.get(endian) == anchor_value {
                is_same_file |= is_called(symbol, anchor.0);
            }
        }
        is_same_file.then(|| found.into_iter().map(Found::once).collect())
    }
}

const LOCAL_FUNCTION: u8 = elf::STB_LOCAL << 4 | elf::STT_FUNC;
const GLOBAL_FUNCTION: u8 = elf::STB_GLOBAL << 4 | elf::STT_FUNC;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::entry;

    #[test]
    fn hidden_functions_are_found_where_the_loader_put_them() {
        let (name, anchor) = entry::anchor().unwrap();
        let library = Library::around(anchor).unwrap();
        let found = library.functions("dnnl_", &["dnnl_version", "dnnl_no_such"], (name, anchor.addr())).unwrap();
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
