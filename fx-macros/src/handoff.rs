//! The macros' side of the hand-off: what the build script left in `OUT_DIR` for this item.

use std::path::Path;

use fx_front::{
    handoff::{Item, Items, PATH},
    key::Key,
};
use fx_ir::Place;
use proc_macro2::Span;

/// The reason why there is nothing for an item, and what to do.
#[derive(Debug)]
pub(crate) struct Missing {
    pub(crate) message: String,
    pub(crate) help: String,
}

fn missing<T>(message: impl Into<String>, help: impl Into<String>) -> Result<T, Missing> {
    Err(Missing { message: message.into(), help: help.into() })
}

/// The list of the crate that is being compiled.
pub(crate) fn items() -> Result<Items, Missing> {
    // No build script, no OUT_DIR: Cargo sets it for the compiler of a crate that has one.
    items_in(std::env::var_os("OUT_DIR").as_deref().map(Path::new))
}

fn items_in(out_dir: Option<&Path>) -> Result<Items, Missing> {
    const CALL: &str = "fn main() { fx_passes::Build::new().run() }";
    let Some(out_dir) = out_dir else {
        let version = env!("CARGO_PKG_VERSION");
        return missing(
            "this crate has no build script, so nothing was traced",
            format!("add `fx-passes = \"{version}\"` to [build-dependencies] and a build.rs with `{CALL}`"),
        );
    };
    let Ok(text) = std::fs::read_to_string(out_dir.join(PATH)) else {
        return missing(
            "the build script of this crate did not run `fx_passes::Build`, so nothing was traced",
            format!("call it in build.rs: `{CALL}`"),
        );
    };
    Items::parse(&text).or_else(|unusable| {
        missing(unusable.to_string(), "give both the same version: `cargo update -p fx-passes -p fx-runtime`")
    })
}

/// The entry of the list for an item.
pub(crate) enum Found<'a> {
    /// This very item.
    Same(&'a Item),
    /// The item as it was before the user typed; only in an editor, which hands over what is not yet saved.
    Edited(&'a Item),
}

/// The item of that key, whose entry's name is at `name`.
pub(crate) fn find<'a>(items: &'a Items, key: &Key, name: Span) -> Result<Found<'a>, Missing> {
    let place = Place { file: name.file(), line: name.start().line };
    if let Some(item) = items.find(key, &place) {
        return Ok(Found::Same(item));
    }
    match items.find_edited(key, &place) {
        Some(edited) if is_editor() => Ok(Found::Edited(edited)),
        Some(edited) => missing(
            format!("the build script saw another `{}` than this one, at {}", key.name, edited.place),
            "an item inside a function or made by a macro is not traced; if it is neither, build again",
        ),
        None => missing(
            format!("the build script did not see `{}`", key.name),
            "it follows `mod` lines from the crate's root; an item inside a function, made by a macro or under \
             `#[cfg(test)]` is not traced",
        ),
    }
}

/// Returns whether an editor expands this, not the compiler.
pub(crate) fn is_editor() -> bool {
    let program = std::env::current_exe().ok();
    let name = program.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    name.is_some_and(|name| name.starts_with("rust-analyzer"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_missing() {
        let message = |out_dir: Option<&Path>| items_in(out_dir).map(|_| ()).expect_err("nothing there").message;
        assert!(message(None).contains("has no build script"));
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(dir.path().join("fx")).expect("a folder");
        assert!(message(Some(dir.path())).contains("did not run"));
        std::fs::write(dir.path().join(PATH), "fx-items 99\n").expect("a file");
        assert!(message(Some(dir.path())).contains("version 99"));
    }
}
