//! The crates that bodies are compiled in: some as Rust alone sees them, some that are traced.
//!
//! Their names stay from package to package and from run to run, so that what they depend on is built once: in a target
//! folder of their own, or in that of the workspace, where it is built already.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use super::fault::{Fault, Kind};
use crate::failure::{Failure, Result};
use crate::libtorch::Libtorch;
use crate::progress::Progress;
use crate::workspace::Workspace;

/// Bodies by number.
pub(super) type Bodies = BTreeMap<usize, String>;

/// What became of each body.
pub(super) type Faults = BTreeMap<usize, Fault>;

const RUNNER: &str = include_str!("runner.rs");

/// How many crates of each form there are: cargo builds them side by side.
pub(super) const CRATES: usize = 2;

/// Where the crates lie, and what builds them.
pub(super) struct Packages<'a> {
    workspace: &'a Workspace,
    libtorch: &'a Libtorch,
    /// The folder that cargo builds into.
    pub(super) target: PathBuf,
    pub(super) folder: PathBuf,
    /// Whether `target` is that of the workspace.
    is_shared: bool,
}

/// What a crate is to bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Without fx's attributes.
    Plain,
    /// With them, only looked at by the compiler.
    Checked,
    Traced,
}

impl<'a> Packages<'a> {
    pub(super) fn new(workspace: &'a Workspace, libtorch: &'a Libtorch, is_shared: bool) -> Result<Self> {
        let metadata = workspace.metadata(&["--no-deps"])?;
        let target = metadata["target_directory"].as_str().map_or_else(|| workspace.root.join("target"), PathBuf::from);
        let folder = target.join("fuzz");
        let target = if is_shared { target } else { folder.join("target") };
        let packages = Self { workspace, libtorch, target, folder, is_shared };
        let passes = workspace.root.join("fx-passes");
        let build = format!("\n[build-dependencies]\nfx-passes = {{ path = '{}' }}\n", passes.display());
        for at in 0..CRATES {
            let (plain, traced) = (Form::Plain.name(at), Form::Traced.name(at));
            packages.write(&format!("{plain}/Cargo.toml"), &packages.manifest(&plain, ""))?;
            packages.write(&format!("{traced}/Cargo.toml"), &packages.manifest(&traced, &build))?;
            packages.write(&format!("{traced}/build.rs"), "fn main() { fx_passes::Build::new().run() }\n")?;
        }
        packages.write("Cargo.toml", MANIFEST)?;
        for form in [Form::Plain, Form::Traced] {
            packages.write_sources(form, &Bodies::new())?;
        }
        let lock = workspace.root.join("Cargo.lock");
        let lock = fs::read_to_string(&lock).map_err(|error| Failure::file("read", &lock, &error))?;
        if !packages.folder.join("Cargo.lock").exists() {
            packages.write("Cargo.lock", &lock)?;
        }
        Ok(packages)
    }

    fn manifest(&self, name: &str, more: &str) -> String {
        let runtime = self.workspace.root.join("fx-runtime");
        format!(
            "[package]\nname = \"fuzz-{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             [dependencies]\nfx-runtime = {{ path = '{}' }}\ntch = \"=0.24.0\"\n{more}",
            runtime.display()
        )
    }

    /// Writes a file where it is another than before.
    fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.folder.join(name);
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            return Ok(());
        }
        let folder = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder).map_err(|error| Failure::file("make", folder, &error))?;
        fs::write(&path, text).map_err(|error| Failure::file("write", &path, &error))
    }

    /// Takes those out of `bodies` that are no Rust, and says what is wrong with each.
    pub(super) fn drop_broken(&self, bodies: &mut Bodies) -> Result<Faults> {
        self.built(Form::Plain, bodies)
    }

    /// Which of the bodies, all of them Rust, do not compile traced.
    pub(super) fn uncompiled(&self, bodies: &Bodies) -> Result<Faults> {
        self.built(Form::Checked, &mut bodies.clone())
    }

    /// Builds and runs bodies that are Rust: what fails, and how.
    pub(super) fn faults(&self, bodies: &Bodies) -> Result<Faults> {
        let mut left = bodies.clone();
        let mut faults = self.built(Form::Traced, &mut left)?;
        faults.extend(self.run(&left)?);
        Ok(faults)
    }

    /// Builds as many of the bodies as can be, takes out those that cannot, and says why.
    fn built(&self, form: Form, bodies: &mut Bodies) -> Result<Faults> {
        let mut faults = Faults::new();
        while !bodies.is_empty() {
            self.write_sources(form, bodies)?;
            let output = self.cargo(form)?;
            if output.status.success() {
                faults.extend(bugs(&output, bodies));
                break;
            }
            let mut found = blamed(&output, bodies);
            if found.is_empty() {
                found = self.searched(form, &output, bodies)?;
            }
            bodies.retain(|number, _| !found.contains_key(number));
            faults.extend(found);
        }
        Ok(faults)
    }

    /// The bodies that are to blame where nothing that cargo said names one, by building fewer.
    fn searched(&self, form: Form, output: &Output, bodies: &Bodies) -> Result<Faults> {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        self.write_sources(form, &Bodies::new())?;
        if !self.cargo(form)?.status.success() {
            let lines = said.lines().map(str::to_owned).collect::<Vec<_>>();
            return Err(Failure::new("the crates of bodies cannot be built, even without any body in them")
                .looked_all(lines.into_iter().rev().take(40).rev()));
        }
        if bodies.len() == 1 {
            let kind = Kind::Builds("the build fails".to_owned());
            return Ok(bodies
                .keys()
                .map(|number| (*number, Fault { kind: kind.clone(), said: said.clone() }))
                .collect());
        }
        let mut first = bodies.clone();
        let mut second = bodies.keys().nth(bodies.len() / 2).map(|middle| first.split_off(middle)).unwrap_or_default();
        let mut faults = self.built(form, &mut first)?;
        faults.extend(self.built(form, &mut second)?);
        Ok(faults)
    }

    /// Writes the sources of bodies in both forms.
    pub(super) fn write_all(&self, bodies: &Bodies) -> Result<()> {
        self.write_sources(Form::Plain, bodies)?;
        self.write_sources(Form::Traced, bodies)
    }

    fn write_sources(&self, form: Form, bodies: &Bodies) -> Result<()> {
        for at in 0..CRATES {
            let bodies = bodies.iter().filter(|(number, _)| **number % CRATES == at);
            self.write_crate(form, at, &bodies.collect())?;
        }
        Ok(())
    }

    fn write_crate(&self, form: Form, at: usize, bodies: &BTreeMap<&usize, &String>) -> Result<()> {
        let folder = format!("{}/src", form.name(at));
        for (number, body) in bodies {
            let text = if form == Form::Plain { plain(body) } else { (*body).clone() };
            self.write(&format!("{folder}/b{number}.rs"), &text)?;
        }
        let mut list = String::new();
        for number in bodies.keys() {
            let _ = writeln!(list, "mod b{number};");
        }
        let main = if form == Form::Plain {
            format!(
                "#![allow(warnings)]\nmacro_rules! nothing {{ ($($any:tt)*) => {{}} }}\npub(crate) use {{nothing as body, nothing as lent, nothing as parts, nothing as stateful}};\n{list}fn main() {{}}\n"
            )
        } else {
            let rows = bodies.keys().map(|number| format!("({number}, b{number}::eager, b{number}::frozen), "));
            let rows: String = rows.collect();
            let check = self.workspace.root.join("tests/bodies/src/check/compare.rs");
            let runner = RUNNER.replace("CHECK", &check.to_string_lossy());
            format!("{runner}\n{list}static BODIES: &[(usize, fn(), fn())] = &[{rows}];\n")
        };
        self.write(&format!("{folder}/main.rs"), &main)
    }

    fn cargo(&self, form: Form) -> Result<Output> {
        let mut cargo = self.libtorch.cargo(self.workspace, &[if form == Form::Traced { "build" } else { "check" }]);
        cargo.args((0..CRATES).flat_map(|at| ["-p".to_owned(), format!("fuzz-{}", form.name(at))]));
        // What is wrong in one crate keeps nobody from hearing what is wrong in another.
        cargo.args(["--keep-going", "--message-format=json", "--color=never", "--manifest-path"]);
        cargo.arg(self.folder.join("Cargo.toml"));
        // No source is compiled twice.
        cargo.env("CARGO_TARGET_DIR", &self.target).env("CARGO_INCREMENTAL", "0");
        if !self.is_shared {
            cargo.env("CARGO_PROFILE_DEV_DEBUG", "false");
        }
        let _spinner = Progress::spinner("fuzz: compiling");
        cargo.output().map_err(|error| Failure::new("cannot start cargo").looked(error.to_string()))
    }

    /// fx's reports on the bodies that were built last.
    pub(super) fn reports(&self) -> String {
        (0..CRATES).filter_map(|at| self.report(at)).collect()
    }

    fn report(&self, at: usize) -> Option<String> {
        let prefix = format!("fuzz-{}-", Form::Traced.name(at));
        let is_its = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix));
        let folders = fs::read_dir(self.target.join("debug/build")).ok()?.flatten().map(|one| one.path());
        let reports = folders.filter(is_its).map(|path| path.join("out/fx/report.txt"));
        let newest = reports.filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path))).max()?;
        fs::read_to_string(newest.1).ok()
    }
}

impl Form {
    /// What the crate of that number is called.
    pub(super) fn name(self, at: usize) -> String {
        format!("{}{at}", if self == Form::Plain { "plain" } else { "traced" })
    }
}

/// A body as Rust alone sees it, whether it is laid out or not.
fn plain(body: &str) -> String {
    let pairs = [
        ("#[traceable]", ""),
        ("# [traceable]", ""),
        ("#[module(skip)]", ""),
        ("# [module (skip)]", ""),
        ("#[derive(Module)]", ""),
        ("# [derive (Module)]", ""),
        ("Debug, Module)", "Debug)"),
        ("Debug , Module)", "Debug)"),
        ("Copy, Module)", "Copy)"),
        ("Copy , Module)", "Copy)"),
    ];
    pairs.iter().fold(body.to_owned(), |body, (from, to)| body.replace(from, to))
}

/// The bodies that errors of the compiler or of the build script lie in.
fn blamed(output: &Output, bodies: &Bodies) -> Faults {
    let mut faults = Faults::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let message = &message["message"];
        if message["level"] != "error" {
            continue;
        }
        let code = message["code"]["code"].as_str().unwrap_or_default();
        let kind = Kind::of_error(code, message);
        let said = message["rendered"].as_str().unwrap_or_default().to_owned();
        if let Some(number) = message["spans"].as_array().into_iter().flatten().find_map(body_of_span) {
            faults.entry(number).or_insert(Fault { kind, said });
        }
    }
    if faults.is_empty() {
        faults = bugs(output, bodies);
        let said = String::from_utf8_lossy(&output.stderr);
        for line in said.lines().filter(|line| line.contains("error")) {
            if let Some(number) = number_in(line).filter(|number| bodies.contains_key(number)) {
                faults.entry(number).or_insert(Fault { kind: Kind::Builds(String::new()), said: line.to_owned() });
            }
        }
    }
    faults
}

/// The body whose file a line names.
fn number_in(line: &str) -> Option<usize> {
    line.split("src/b").skip(1).find_map(|rest| rest.split('.').next()?.parse().ok())
}

/// The bodies that fx printed as what is no Rust, or could not optimise, which its build script tells cargo.
fn bugs(output: &Output, bodies: &Bodies) -> Faults {
    let said = String::from_utf8_lossy(&output.stderr);
    let lines = said.lines().filter(|line| line.contains("a bug of fx"));
    let found = lines.filter_map(|line| {
        let (name, bug) = line.split_once("`B")?.1.split_once('`')?;
        let number = name.trim_end_matches(".rs").parse().ok()?;
        Some((number, Fault { kind: Kind::of_bug(bug), said: line.to_owned() }))
    });
    found.filter(|(number, _)| bodies.contains_key(number)).collect()
}

/// The body that a span, or the code around the macro that wrote it, lies in.
fn body_of_span(span: &Value) -> Option<usize> {
    let name = Path::new(span["file_name"].as_str()?).file_stem()?.to_string_lossy().into_owned();
    let digits: String =
        name.strip_prefix(['b', 'B']).unwrap_or_default().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().or_else(|| body_of_span(&span["expansion"]["span"]))
}

const MANIFEST: &str = r#"[workspace]
resolver = "3"
members = ["plain*", "traced*"]

[profile.dev]
debug = "line-tables-only"
[profile.dev.package.fx-runtime]
opt-level = 1
[profile.dev.build-override]
opt-level = 1
"#;
