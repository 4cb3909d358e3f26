//! Gathers the chapters as modules of one source, and traces its models as a user's build script does.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let variable = |name| env::var_os(name).map(PathBuf::from).ok_or_else(|| io::Error::other(format!("no {name}")));
    let (package, out) = (variable("CARGO_MANIFEST_DIR")?, variable("OUT_DIR")?);
    let repository = package.join("../..");
    println!("cargo::rerun-if-changed={}", repository.join("docs/src").display());
    let mut source = String::new();
    for (name, path) in chapters(&repository)? {
        println!("cargo::rerun-if-changed={}", path.display());
        source += &module(&name, &path, &fs::read_to_string(&path)?);
    }
    let root = out.join("book");
    fs::create_dir_all(root.join("src"))?;
    fs::write(root.join("src/lib.rs"), source)?;
    for line in fx_passes::Build::new().generate(&root, &out) {
        println!("{line}");
    }
    println!("cargo::rustc-check-cfg=cfg(fx_optimized)");
    if let Ok(lib) = env::var("DEP_FX_RUNTIME_LIBTORCH_LIB") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{lib}");
    }
    Ok(())
}

/// The chapters, and the README, by the names of their modules.
fn chapters(repository: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut all = vec![("readme".to_owned(), repository.join("README.md"))];
    for entry in fs::read_dir(repository.join("docs/src"))? {
        let path = entry?.path();
        if let (Some("md"), Some(stem)) = (extension(&path), path.file_stem()) {
            all.push((stem.to_string_lossy().replace('-', "_").to_lowercase(), path));
        }
    }
    all.sort();
    Ok(all)
}

fn extension(path: &Path) -> Option<&str> {
    path.extension()?.to_str()
}

/// A module with the items of a chapter, whose documentation in doc tests is the chapter.
fn module(name: &str, path: &Path, text: &str) -> String {
    let mut module = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(module, "#[cfg_attr(doctest, doc = include_str!({path:?}))]\npub mod {name} {{");
    let mut is_listing = false;
    for line in text.lines() {
        match line {
            "```rust,ignore" => is_listing = true,
            "```" => is_listing = false,
            _ if is_listing => module += &format!("{line}\n"),
            _ => {}
        }
    }
    module + "}\n\n"
}
