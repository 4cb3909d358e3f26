//! The folder of the user's that keeps what is built while a program runs.
//!
//! A file is called after a hash of all that it was built from, so that nothing in it is ever out of date; it appears
//! under its name when it is complete, so that several processes may build the same thing.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::whole_file::write_whole;

/// `$FX_CACHE`, else `fx` in the user's cache folder; none where neither is known.
pub(super) fn folder() -> Option<PathBuf> {
    let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    named("FX_CACHE")
        .or_else(|| named("XDG_CACHE_HOME").map(|folder| folder.join("fx")))
        .or_else(|| named("HOME").map(|home| home.join(".cache/fx")))
}

/// `name-0123456789abcdef…`: two FNV-1a hashes of the parts, 128 bits together.
pub(super) fn key<P: AsRef<[u8]>>(name: &str, parts: &[P]) -> String {
    let hash = |seed: u8| {
        let bytes = parts.iter().flat_map(|part| part.as_ref().iter().copied().chain([0]));
        std::iter::once(seed)
            .chain(bytes)
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
    };
    format!("{name}-{:016x}{:016x}", hash(0), hash(1))
}

/// Lets `write` make a file, which then appears under its name.
pub(super) fn write_with(path: &Path, write: impl FnOnce(&Path) -> Result<(), String>) -> Result<(), String> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|error| format!("cannot make `{}`: {error}", folder.display()))?;
    write_whole(path, write, |error| format!("cannot write `{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_apart_what_they_are_of() {
        let keys = [key("a", &["x", "y"]), key("a", &["xy"]), key("a", &["x", "y", ""]), key("b", &["x", "y"])];
        for (position, one) in keys.iter().enumerate() {
            assert!(keys[position + 1..].iter().all(|other| other != one), "{one}");
        }
        assert_eq!(key("a", &["x", "y"]), keys[0]);
        assert_eq!(keys[0].len(), "a-".len() + 32);
    }

    #[test]
    fn a_failure_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/file");
        assert_eq!(write_with(&path, |_| Err("no".to_owned())), Err("no".to_owned()));
        let half = |partial: &Path| fs::write(partial, "half").map_err(|error| error.to_string());
        assert!(write_with(&path, |partial| half(partial).and(Err("no".to_owned()))).is_err());
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
        write_with(&path, half).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "half");
    }
}
