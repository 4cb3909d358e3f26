//! A graph of a live model as a crate of readable Rust: [`GraphModule::to_folder`].

mod rust;
mod spelling;

use std::path::Path;
use std::{fs, io};

use self::rust::Source;
use super::GraphModule;
use crate::Result;

/// The name of the file of the layers and tensors.
const WEIGHTS: &str = "weights.safetensors";

impl GraphModule {
    /// Writes a crate that computes what this graph computes: `src/lib.rs` with a struct called `name` of the layers and
    /// tensors, its loader and its forward, a line a node; `weights.safetensors`, which [`GraphModule::save`] writes; a
    /// `Cargo.toml`, and the `build.rs` that tells the linker where libtorch lies.
    ///
    /// ```
    /// use fx_runtime::{Device, instance::Tracer, nn};
    ///
    /// let vs = nn::VarStore::new(Device::Cpu);
    /// let fc = nn::linear(vs.root(), 4, 3, nn::LinearConfig::default());
    /// let mut t = Tracer::new("net");
    /// let xs = t.input("xs", true);
    /// let ys = t.module("fc", &fc, &[&xs], 1);
    /// let ys = t.call("relu", &[&ys], 2);
    ///
    /// let folder = std::env::temp_dir().join(format!("classifier-{}", std::process::id()));
    /// t.finish(&[&ys])?.to_folder(&folder, "Classifier")?;
    /// let source = std::fs::read_to_string(folder.join("src/lib.rs")).unwrap();
    /// # std::fs::remove_dir_all(&folder).ok();
    /// assert!(source.contains("let fc = self.fc.f_forward(xs)?;\n        let relu = fc.f_relu()?;\n        Ok(relu)"));
    /// # Ok::<(), fx_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`GraphModule::save`]; [`Error::At`](crate::Error::At) with the node that cannot be written: code that was not understood, a
    /// function of the user's, a loop or a `match` that an input decides, an input of a type that the graph does not know;
    /// [`Error::Graph`](crate::Error::Graph) if `name` is no name of a type or the folder cannot be written.
    pub fn to_folder(&self, folder: impl AsRef<Path>, name: &str) -> Result<()> {
        let folder = folder.as_ref();
        let starts_well = name.starts_with(|first: char| first.is_ascii_uppercase());
        if !starts_well || fx_print::names::identifier(name) != name {
            return Err(self.fault(format!("cannot be called `{name}`, which is no name of a type")));
        }
        let source = Source::of(self, name)?;
        let unwritten = |error: io::Error| self.fault(format!("cannot be written to `{}`: {error}", folder.display()));
        fs::create_dir_all(folder.join("src")).map_err(unwritten)?;
        self.save(folder.join(WEIGHTS))?;
        fs::write(folder.join("Cargo.toml"), manifest(name)).map_err(unwritten)?;
        fs::write(folder.join("build.rs"), BUILD_SCRIPT).map_err(unwritten)?;
        fs::write(folder.join("src/lib.rs"), source.text()).map_err(unwritten)
    }
}

/// The build script of the crate.
const BUILD_SCRIPT: &str = "fn main() {\n    fx_passes::Build::new().run()\n}\n";

/// The manifest of the crate.
fn manifest(name: &str) -> String {
    let mut package = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !package.is_empty() && !package.ends_with('_') {
            package.push('_');
        }
        package.push(letter.to_ascii_lowercase());
    }
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "[package]\nname = \"{package}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nfx-runtime = \"{version}\"\n\n[build-dependencies]\nfx-passes = \"{version}\"\n"
    )
}

#[cfg(test)]
mod tests;
