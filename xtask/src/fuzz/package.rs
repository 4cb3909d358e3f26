//! The crates that bodies are compiled in: one as Rust alone sees them, one that is traced.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

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

/// Where the crates lie, and what builds them.
pub(super) struct Packages<'a> {
    workspace: &'a Workspace,
    libtorch: &'a Libtorch,
    /// The folder that cargo builds into, which the workspace's own dependencies lie in already.
    target: PathBuf,
    pub(super) folder: PathBuf,
}

/// Which of the two crates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Without fx's attributes.
    Plain,
    /// With them, only looked at by the compiler.
    Checked,
    Traced,
}

impl<'a> Packages<'a> {
    pub(super) fn new(workspace: &'a Workspace, libtorch: &'a Libtorch) -> Result<Self> {
        let metadata = workspace.metadata(&["--no-deps"])?;
        let target = metadata["target_directory"].as_str().map_or_else(|| workspace.root.join("target"), PathBuf::from);
        let folder = target.join("fuzz");
        let packages = Self { workspace, libtorch, target, folder };
        packages.write("Cargo.toml", MANIFEST)?;
        packages.write("plain/Cargo.toml", &packages.manifest("plain", ""))?;
        let passes = workspace.root.join("fx-passes");
        let build = format!("\n[build-dependencies]\nfx-passes = {{ path = '{}' }}\n", passes.display());
        packages.write("traced/Cargo.toml", &packages.manifest("traced", &build))?;
        packages.write("traced/build.rs", "fn main() { fx_passes::Build::new().run() }\n")?;
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
        faults.extend(self.run(left.keys().copied().collect())?);
        Ok(faults)
    }

    /// Builds as many of the bodies as can be, takes out those that cannot, and says why.
    fn built(&self, form: Form, bodies: &mut Bodies) -> Result<Faults> {
        let mut faults = Faults::new();
        while !bodies.is_empty() {
            self.write_sources(form, bodies)?;
            let output = self.cargo(form)?;
            if output.status.success() {
                faults.extend(self.printed_wrongly(form, bodies));
                break;
            }
            let found = blamed(&output, bodies);
            if found.is_empty() {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                let said = said.lines().map(str::to_owned).collect::<Vec<_>>();
                return Err(Failure::new("the bodies cannot be built, and no body is named in what cargo said")
                    .looked_all(said.into_iter().rev().take(40).rev()));
            }
            bodies.retain(|number, _| !found.contains_key(number));
            faults.extend(found);
        }
        Ok(faults)
    }

    /// The bodies that fx printed as what is no Rust, and has carried along whole in its place.
    fn printed_wrongly(&self, form: Form, bodies: &Bodies) -> Faults {
        let report = self.report().filter(|_| form != Form::Plain).unwrap_or_default();
        let lines = report.lines().filter(|line| line.contains("a bug of fx"));
        let found = lines.filter_map(|line| Some((number_in(line)?, line.to_owned())));
        let found = found.filter(|(number, _)| bodies.contains_key(number));
        found.map(|(number, said)| (number, Fault { kind: Kind::Builds("a bug of fx".to_owned()), said })).collect()
    }

    fn write_sources(&self, form: Form, bodies: &Bodies) -> Result<()> {
        let folder = if form == Form::Plain { "plain" } else { "traced" };
        for (number, body) in bodies {
            let text = if form == Form::Plain { plain(body) } else { body.clone() };
            self.write(&format!("{folder}/src/b{number}.rs"), &text)?;
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
        self.write(&format!("{folder}/src/main.rs"), &main)
    }

    fn cargo(&self, form: Form) -> Result<Output> {
        let args = match form {
            Form::Plain => ["check", "-p", "fuzz-plain"],
            Form::Checked => ["check", "-p", "fuzz-traced"],
            Form::Traced => ["build", "-p", "fuzz-traced"],
        };
        let mut cargo = self.libtorch.cargo(self.workspace, &args);
        cargo.args(["--message-format=json", "--color=never", "--manifest-path"]).arg(self.folder.join("Cargo.toml"));
        cargo.env("CARGO_TARGET_DIR", &self.target);
        let _spinner = Progress::spinner("fuzz: compiling");
        cargo.output().map_err(|error| Failure::new("cannot start cargo").looked(error.to_string()))
    }

    /// Runs bodies to the last, again where one takes the others down with it.
    fn run(&self, mut wanted: Vec<usize>) -> Result<Faults> {
        let _spinner = Progress::spinner(format!("fuzz: running {} bodies", wanted.len()));
        let mut faults = Faults::new();
        while !wanted.is_empty() {
            let program = self.target.join("debug").join(format!("fuzz-traced{}", env::consts::EXE_SUFFIX));
            let mut command = Command::new(&program);
            command.args(wanted.iter().map(ToString::to_string));
            let output = command.output().map_err(|error| Failure::file("start", &program, &error))?;
            let mut running = None;
            for line in String::from_utf8_lossy(&output.stdout).lines() {
                let Some((number, told)) = line.split_once(' ') else { continue };
                let Ok(number) = number.parse::<usize>() else { continue };
                running = Some(number).filter(|_| told == "begins");
                wanted.retain(|one| *one != number);
                faults.extend(Fault::told(told).map(|fault| (number, fault)));
            }
            if let Some(number) = running {
                let said = format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
                faults.insert(number, Fault { kind: Kind::Crashes, said });
            }
        }
        Ok(faults)
    }

    /// The part of fx's report on what it left as Rust code.
    pub(super) fn report(&self) -> Option<String> {
        let folders = fs::read_dir(self.target.join("debug/build")).ok()?.flatten();
        let reports =
            folders.map(|one| one.path()).filter(|path| is_of_fuzz(path)).map(|path| path.join("out/fx/report.txt"));
        let newest = reports.filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path))).max()?;
        fs::read_to_string(newest.1).ok()
    }
}

fn is_of_fuzz(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("fuzz-traced-"))
}

/// A body as Rust alone sees it, whether it is laid out or not.
fn plain(body: &str) -> String {
    let pairs = [
        ("#[traceable]", ""),
        ("# [traceable]", ""),
        ("#[module(skip)]", ""),
        ("# [module (skip)]", ""),
        ("Debug, Module)", "Debug)"),
        ("Debug , Module)", "Debug)"),
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
        for line in String::from_utf8_lossy(&output.stderr).lines().filter(|line| line.contains("error")) {
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

/// The body that a span, or the code around the macro that wrote it, lies in.
fn body_of_span(span: &Value) -> Option<usize> {
    let name = Path::new(span["file_name"].as_str()?).file_stem()?.to_string_lossy().into_owned();
    let digits: String =
        name.strip_prefix(['b', 'B']).unwrap_or_default().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().or_else(|| body_of_span(&span["expansion"]["span"]))
}

const MANIFEST: &str = r#"[workspace]
resolver = "3"
members = ["plain", "traced"]

[profile.dev]
debug = "line-tables-only"
[profile.dev.package.fx-runtime]
opt-level = 1
[profile.dev.build-override]
opt-level = 1
"#;
