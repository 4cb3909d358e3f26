//! `cargo xtask corpus DIR`: crates of tch models as they are found, adopted, built, and run frozen against eager.
//!
//! Whatever goes wrong is a row of the table and never the end of the run. A crate lies in the folder, or is fetched
//! (`source.rs`) and prepared (`prepare.rs`) by its recipe (`recipe.rs`). It is copied below the target folder (`mirror.rs`),
//! `cargo fx adopt` edits the copy, a program with one binary a model is written around it (`package.rs`) and built (`build.rs`),
//! and each binary runs with one thread and with two (`runner.rs`), in processes of their own.

mod build;
mod counted;
mod list;
mod mirror;
mod package;
mod prepare;
mod recipe;
mod row;
mod source;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use fx_passes::{Build, Coverage};

use build::{Builder, Built};
use list::{Crate, Model, Origin};
use mirror::{detach, mirror};
use package::{Package, library};
use prepare::prepare;
use row::{Row, table};

use crate::failure::{Failure, Result};
use crate::libtorch::{self, Variant};
use crate::workspace::{Workspace, output};

/// The numbers of threads that every model is run with.
const THREADS: [usize; 2] = [1, 2];

/// What `corpus` can be told.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The folder of the recipes, or one of crates, with a `corpus.toml` that names models, constructors and inputs.
    folder: PathBuf,
    /// Only the crates of these names, with commas between them.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    /// The profile to build with.
    #[arg(long, default_value = "release", value_name = "NAME")]
    profile: String,
    /// Count what is understood, and build and run nothing.
    #[arg(long)]
    count: bool,
    /// Write the rows as JSON to this file too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let crates = chosen(list::read(&options.folder)?, &options.only)?;
    let libtorch = libtorch::ensure(workspace, Variant::Cpu)?;
    let metadata = workspace.metadata(&["--no-deps"])?;
    let target = metadata["target_directory"].as_str().map_or_else(|| workspace.root.join("target"), PathBuf::from);
    let builder = Builder { workspace, libtorch: &libtorch, target, profile: &options.profile };
    output(&mut workspace.cargo(&["build", "--quiet", "-p", "cargo-fx"]))?;
    let corpus = Corpus {
        adopt: builder.target.join("debug").join(format!("cargo-fx{}", std::env::consts::EXE_SUFFIX)),
        builder,
        count: options.count,
    };
    let mut rows = Vec::new();
    for krate in &crates {
        eprintln!("corpus: {}", krate.name);
        rows.extend(corpus.rows(krate)?);
    }
    if let Some(path) = &options.json {
        let text = serde_json::to_string_pretty(&rows)
            .map_err(|error| Failure::new("cannot write the rows as JSON").looked(error.to_string()))?;
        fs::write(path, text).map_err(|error| Failure::file("write", path, &error))?;
    }
    let opaque =
        rows.iter().flat_map(|row| row.opaque.iter().map(move |why| format!("{} {}: {why}\n", row.krate, row.model)));
    let text = format!("{}\n{}", table(&rows), opaque.collect::<String>());
    write!(std::io::stdout(), "{text}").map_err(|error| Failure::new("cannot print").looked(error.to_string()))
}

/// The crates of these names, or all where none are named.
fn chosen(mut crates: Vec<Crate>, only: &[String]) -> Result<Vec<Crate>> {
    if let Some(missing) = only.iter().find(|name| crates.iter().all(|krate| krate.name != **name)) {
        let names: Vec<&str> = crates.iter().map(|krate| krate.name.as_str()).collect();
        return Err(Failure::new(format!("there is no crate `{missing}`"))
            .looked(format!("crates: {}", names.join(", ")))
            .help("`--only` takes the names of recipes, or of folders, with commas between them"));
    }
    crates.retain(|krate| only.is_empty() || only.contains(&krate.name));
    Ok(crates)
}

struct Corpus<'a> {
    builder: Builder<'a>,
    /// The program of `cargo fx`.
    adopt: PathBuf,
    /// Whether nothing is built.
    count: bool,
}

impl Corpus<'_> {
    /// The rows of a crate: of its models, or one of its own where none is named or it cannot be adopted.
    fn rows(&self, krate: &Crate) -> Result<Vec<Row>> {
        let mut rows: Vec<Row> = krate.models.iter().map(|model| row(krate, model.within())).collect();
        if rows.is_empty() {
            rows.push(row(krate, ""));
        }
        let home = self.builder.target.join("corpus").join(&krate.name);
        let (found, adopted) = (home.join("found"), home.join("adopted"));
        let within =
            |folder: &Path| krate.settings.package.as_ref().map_or(folder.to_owned(), |path| folder.join(path));
        let fail = |rows: &mut Vec<Row>, said: &str| rows.iter_mut().for_each(|row| row.fail(said));
        let folder = match self.folder(krate, &home) {
            Ok(folder) => folder,
            Err(failure) => {
                eprintln!("{failure}");
                fail(&mut rows, &failure.to_string().replacen("error", "prepare", 1));
                return Ok(rows);
            }
        };
        mirror(&folder, &found)?;
        detach(&found, &within(&found))?;
        if let Err(said) = self.adopt(&folder, &home, &within) {
            fail(&mut rows, &format!("adopt: {said}"));
            return Ok(rows);
        }
        let package = Package { folder: home.join("program"), adopted: within(&adopted) };
        let coverage = Build::new().report(&package.adopted);
        for (at, row) in rows.iter_mut().enumerate() {
            understood(row, krate.models.get(at), &coverage);
        }
        if self.count {
            return Ok(rows);
        }
        match library(self.builder.workspace, &package.adopted) {
            Err(said) => fail(&mut rows, &said),
            Ok(name) => {
                package.write(self.builder.workspace, krate, &name)?;
                let built = self.builder.build(&package, krate)?;
                if let Some(report) = &built.report {
                    recount(&mut rows, krate, &counted::counted(report));
                }
                if let Some(fault) = &built.fault {
                    let before = self.builder.check(&within(&found))?;
                    let whose = before.map_or("the build breaks", |_| "it does not compile as it was found either");
                    fail(&mut rows, &format!("{whose}: {fault}"));
                }
                run_all(&mut rows, &built);
            }
        }
        Ok(rows)
    }

    /// Where the crate lies that is to be adopted.
    fn folder(&self, krate: &Crate, home: &Path) -> Result<PathBuf> {
        match &krate.origin {
            Origin::Folder(folder) => Ok(folder.clone()),
            Origin::Recipe(recipe) => prepare(self.builder.workspace, &krate.name, recipe, home),
        }
    }

    /// Adopts a fresh copy, and brings what it became to its place.
    fn adopt(&self, from: &Path, home: &Path, within: &dyn Fn(&Path) -> PathBuf) -> std::result::Result<(), String> {
        let copy = home.join("adopting");
        let told = |failure: Failure| failure.to_string();
        mirror(from, &copy).map_err(told)?;
        detach(&copy, &within(&copy)).map_err(told)?;
        let mut command = Command::new(&self.adopt);
        command.args(["fx", "adopt", "--fx-path"]).arg(&self.builder.workspace.root);
        command.arg("--manifest-path").arg(within(&copy).join("Cargo.toml"));
        let output = command.output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim_start_matches("error: ").to_owned());
        }
        mirror(&copy, &home.join("adopted")).map_err(told)
    }
}

fn row(krate: &Crate, model: &str) -> Row {
    let source = krate.settings.source.clone().unwrap_or_else(|| krate.name.clone());
    Row { krate: source, model: model.to_owned(), ..Row::default() }
}

/// Adds what the build understands of the model, all its entries together; of a crate without named models all of them.
fn understood(row: &mut Row, model: Option<&Model>, coverage: &[Coverage]) {
    let Some(model) = model else { return coverage.iter().for_each(|one| add(row, one)) };
    let is_of = |one: &&Coverage| one.name.split("::").next() == Some(model.name());
    // One name may be that of several types: the file is the module's.
    let modules: Vec<&str> = model.path.split("::").skip(1).filter(|name| *name != model.name()).collect();
    let is_there =
        |one: &Coverage| modules.iter().all(|name| one.place.file.split(['/', '.']).any(|part| part == *name));
    let named: Vec<&Coverage> = coverage.iter().filter(is_of).collect();
    let has_file = named.iter().any(|one| is_there(one));
    named.into_iter().filter(|one| !has_file || is_there(one)).for_each(|one| add(row, one));
}

/// Puts what the build counted in place of what was counted from outside.
fn recount(rows: &mut [Row], krate: &Crate, coverage: &[Coverage]) {
    for (at, row) in rows.iter_mut().enumerate() {
        let mut counted = Row::default();
        understood(&mut counted, krate.models.get(at), coverage);
        if counted.understood.is_some() {
            row.understood = counted.understood;
        }
        if row.understood.is_some_and(|(known, all)| known == all) {
            row.opaque.clear();
        }
    }
}

fn add(row: &mut Row, one: &Coverage) {
    let (known, all) = row.understood.unwrap_or_default();
    row.understood = Some((known + one.known, all + one.known + one.carried));
    row.opaque.extend(one.opaque.iter().map(|why| format!("{}: {}", why.place, why.reason)));
}

fn run_one(program: &Path, threads: usize, libraries: &[PathBuf]) -> std::io::Result<std::process::Output> {
    // Where libtorch lies, build scripts have said.
    let variable = if cfg!(target_os = "macos") { "DYLD_LIBRARY_PATH" } else { "LD_LIBRARY_PATH" };
    let known = std::env::var_os(variable).unwrap_or_default();
    let paths = libraries.iter().cloned().chain(std::env::split_paths(&known));
    let mut command = Command::new(program);
    if let Ok(paths) = std::env::join_paths(paths) {
        command.env(variable, paths);
    }
    command.arg(threads.to_string()).env("OMP_NUM_THREADS", threads.to_string()).output()
}

/// Runs what was built, with each number of threads.
fn run_all(rows: &mut [Row], built: &Built) {
    for (at, row) in rows.iter_mut().enumerate() {
        if let Some(said) = built.broken.get(&at) {
            row.fail(&format!("the program does not compile: {said}"));
        }
        let Some(program) = built.programs.get(&at) else { continue };
        for threads in THREADS {
            match run_one(program, threads, &built.libraries) {
                Err(error) => row.fail(&format!("the program cannot be started: {error}")),
                Ok(output) => {
                    row.told(threads, &String::from_utf8_lossy(&output.stdout));
                    if !output.status.success() {
                        row.fail(&format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)));
                    }
                }
            }
        }
    }
}
