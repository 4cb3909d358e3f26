//! The door: what a user's build script calls.

mod left;
mod lists;
mod printed;
mod roots;
mod run;
mod understood;

use std::{env, fmt::Write as _, path::Path};

pub use self::understood::{Opaque, Understood};

use fx_front::{
    closures::Builder,
    diag::Diagnostics,
    frozen, handoff,
    index::{Function, Index},
    scan,
    trace::{self, Traced},
};

use self::{
    left::left,
    printed::Printed,
    roots::{FOLDERS, roots},
    run::Run,
};
use crate::{
    emit, out,
    pipeline::{Pipeline, never_applied},
};

/// The environment variable that names passes to leave out.
const WITHOUT: &str = "FX_WITHOUT";

/// Traces a crate at build time and generates the frozen types of its `#[traceable]` items.
///
/// A build script's whole body is `fx_passes::Build::new().run()`.
///
/// Sources are read from the package's own roots (`src/lib.rs`, `src/main.rs`, `src/bin`, `examples`, `tests`,
/// `benches`) along their `mod` lines; output goes to `OUT_DIR/fx`, where `#[traceable]` finds it.
#[derive(Debug)]
pub struct Build {
    pipeline: Pipeline,
    /// The models that have a list of passes of their own.
    models: Vec<(String, Pipeline)>,
    /// The rules and passes that are to be explained.
    explain: Vec<String>,
    tells_silent_rules: bool,
}

impl Default for Build {
    fn default() -> Build {
        Build::new()
    }
}

impl Build {
    /// A build with the passes for inference.
    pub fn new() -> Build {
        Build { pipeline: Pipeline::inference(), models: Vec::new(), explain: Vec::new(), tells_silent_rules: false }
    }

    /// The same with another list of passes, for all models that have none of their own.
    #[must_use]
    pub fn pipeline(self, pipeline: Pipeline) -> Build {
        Build { pipeline, ..self }
    }

    /// Gives one model a list of passes of its own: the type of that name, or the free function.
    ///
    /// ```
    /// use fx_passes::{Build, pipeline::Pipeline};
    ///
    /// let build = Build::new().model("Net", Pipeline::inference().without("fold-batch-norm"));
    /// ```
    #[must_use]
    pub fn model(mut self, name: impl Into<String>, pipeline: Pipeline) -> Build {
        self.models.push((name.into(), pipeline));
        self
    }

    /// Tells, as warnings and in `OUT_DIR/fx/report.txt`, why a rule did not apply wherever it could have begun: the
    /// first condition that failed. The name is that of a pass (`FoldConvBn` or `fold-conv-bn`) or of one of its rules;
    /// several are asked for one after the other.
    #[must_use]
    pub fn explain(mut self, name: impl Into<String>) -> Build {
        self.explain.push(name.into());
        self
    }

    /// Lists in `OUT_DIR/fx/report.txt` the rules that applied nowhere in this build.
    #[must_use]
    pub fn tell_silent_rules(self) -> Build {
        Build { tells_silent_rules: true, ..self }
    }

    /// Does it all, and tells Cargo what it read and what is wrong.
    ///
    /// A fault in a `#[traceable]` item is shown by that item; a fault without such a home fails the build here.
    ///
    /// Passes that the environment variable `FX_WITHOUT` names, with commas between them, are left out of every list: to
    /// find the one that a difference comes from, or to see what it is worth. An unknown name fails the build.
    pub fn run(mut self) {
        let mut told = vec![format!("cargo::rerun-if-env-changed={WITHOUT}")];
        told.extend(match (env::var_os("CARGO_MANIFEST_DIR"), env::var_os("OUT_DIR")) {
            (Some(root), Some(out)) => match self.leave_out(&env::var(WITHOUT).unwrap_or_default()) {
                Ok(()) => self.generate(Path::new(&root), Path::new(&out)),
                Err(fault) => vec![format!("cargo::error={WITHOUT}: {fault}")],
            },
            _ => vec![
                "cargo::error=fx runs inside a build script: call `fx_passes::Build::new().run()` from build.rs"
                    .to_owned(),
            ],
        });
        let search_path =
            env::var("DEP_FX_RUNTIME_LIBTORCH_LIB").map(|lib| format!("cargo::rustc-link-arg=-Wl,-rpath,{lib}"));
        // Generated loops ask for it.
        let mut optimized = vec!["cargo::rustc-check-cfg=cfg(fx_optimized)".to_owned()];
        if env::var("OPT_LEVEL").is_ok_and(|level| level != "0") {
            optimized.push("cargo::rustc-cfg=fx_optimized".to_owned());
        }
        for line in told.into_iter().chain(optimized).chain(search_path) {
            tell_cargo(&line);
        }
    }

    /// The same outside a build script: reads the package in the folder `root`, writes below `out` (`out/fx/Net.rs` and
    /// so on), and yields the lines that a build script tells Cargo, faults among them as `cargo::error=`.
    ///
    /// What is written depends on the package's sources alone, not on where they lie.
    ///
    /// ```no_run
    /// use std::path::Path;
    ///
    /// for line in fx_passes::Build::new().generate(Path::new("net"), Path::new("generated")) {
    ///     assert!(!line.starts_with("cargo::error="), "{line}");
    /// }
    /// ```
    pub fn generate(&self, root: &Path, out: &Path) -> Vec<String> {
        let mut told = vec!["cargo::rerun-if-changed=build.rs".to_owned()];
        let folders = FOLDERS.into_iter().filter(|folder| root.join(folder).is_dir());
        told.extend(folders.map(|folder| format!("cargo::rerun-if-changed={folder}")));
        told.extend(self.idle_constraints().into_iter().map(|line| format!("cargo::warning={line}")));
        let faults = self.faults();
        if !faults.is_empty() {
            told.extend(faults.into_iter().map(|fault| format!("cargo::error={fault}")));
            return told;
        }
        let mut run = Run { told, ..Run::default() };
        for entry in roots(root) {
            self.krate(root, &entry, out, &mut run);
        }
        self.check_models(&mut run);
        for item in &run.understood {
            let _ = writeln!(run.report, "{}", item.to_string().lines().next().unwrap_or_default());
        }
        if self.tells_silent_rules {
            for rule in never_applied(&run.applied) {
                let _ = writeln!(run.report, "`{rule}` applied nowhere");
            }
        }
        let (items, report) = (run.items.to_text(), std::mem::take(&mut run.report));
        for (path, text) in [(handoff::PATH, items), ("fx/report.txt", report)] {
            run.write(out, path.trim_start_matches("fx/"), &text);
        }
        // What an earlier build wrote for an item that is gone, or has another name now, would be read as this one's.
        if let Err(error) = out::keep(&out.join("fx"), &run.written) {
            run.told.push(format!("cargo::error=cannot tidy `fx` below OUT_DIR: {error}"));
        }
        run.told
    }

    /// One crate of the package: scan, trace, transform, print.
    fn krate(&self, root: &Path, entry: &Path, out: &Path, run: &mut Run) {
        let diags = Diagnostics::new();
        let index = scan::krate(root, &[entry.to_path_buf()], &diags);
        run.watch(&index.files);
        let mut files = Vec::new();
        for (item, function) in index.fns.iter().enumerate() {
            let Some(key) = function.key.as_ref().filter(|_| frozen::is_entry(function)) else { continue };
            let place = function.place(function.sig.ident.span());
            if run.seen.contains(&(key.to_string(), place.clone())) {
                continue;
            }
            run.seen.push((key.to_string(), place));
            let file = run.items.add(key, &function.sig, &function.block, &function.file);
            let printed = match index.builders.get(&item) {
                Some(builder) => self.builder(&index, builder, &file, run, &diags),
                None => match frozen::entries(&index, item) {
                    Ok(entries) if leader(&entries) == Some(item) => self.items(&index, &entries, &file, run, &diags),
                    Ok(_) => Ok(Printed::elsewhere(key)),
                    Err(why) => Ok(left(why, function, run, &diags)),
                },
            };
            files.push((file, printed));
        }
        let broken = run.distribute(diags.into_sorted());
        for (file, printed) in files {
            match printed {
                Ok(_) if broken => run.items.withhold(&file),
                Ok(printed) => {
                    if !printed.graph.is_empty() {
                        run.write(out, &graph_file(&file), &printed.graph);
                    }
                    printed.told.iter().for_each(|line| run.report += line);
                    run.write(out, &file, &printed.frozen);
                }
                Err(bug) => {
                    run.items.withhold(&file);
                    let kept = format!("{file}.bug.txt");
                    run.write(out, &kept, &bug);
                    let first = bug.lines().next().unwrap_or_default();
                    run.told.push(format!(
                        "cargo::error=fx generated `{file}` wrongly, which is a bug of fx, not of yours: {first} (see {})",
                        out.join("fx").join(&kept).display()
                    ));
                }
            }
        }
    }

    /// Traces, transforms and prints the items of one type; where that fails, which is a bug of ours, they are carried
    /// along whole.
    fn items(
        &self,
        index: &Index,
        entries: &[frozen::Entry],
        file: &str,
        run: &mut Run,
        diags: &Diagnostics,
    ) -> Result<Printed, String> {
        let functions: Vec<usize> = entries.iter().map(|entry| entry.function).collect();
        let kept = |all: Vec<Traced>, run: &mut Run| left::apart(index, all, run, diags);
        let traced = match kept(trace::items(index, &functions, diags), run) {
            Ok(traced) => traced,
            Err(left) => return Ok(left),
        };
        self.printed(index, &traced, file, run).or_else(|bug| {
            let first = bug.lines().next().unwrap_or_default();
            let name = file.trim_end_matches(".rs");
            run.told.push(format!("cargo::warning=a bug of fx: `{name}` is frozen without being optimised: {first}"));
            let reason = "a bug of fx keeps it from being understood";
            let functions: Vec<usize> = traced.iter().map(|traced| traced.item).collect();
            match kept(trace::carried(index, &functions, diags, reason), run) {
                Ok(carried) => self.printed(index, &carried, file, run),
                Err(left) => Ok(left),
            }
        })
    }

    /// A function that builds a model out of closures: the structs that stand in for it, and the first of them frozen.
    fn builder(
        &self,
        index: &Index,
        builder: &Builder,
        file: &str,
        run: &mut Run,
        diags: &Diagnostics,
    ) -> Result<Printed, String> {
        let source = emit::source(&builder.source)?;
        let Some(entry) = builder.entry else {
            return Ok(Printed::only(source));
        };
        let printed = self.items(index, &[frozen::Entry { item: entry, function: entry }], file, run, diags)?;
        Ok(Printed { frozen: [source, printed.frozen].concat(), ..printed })
    }

    /// How much of each item of the package in the folder `root` is understood, and what is carried along and why.
    ///
    /// Nothing is written; a build writes the same, and all faults, to `OUT_DIR/fx/report.txt`.
    ///
    /// ```no_run
    /// for item in fx_passes::Build::new().report(std::path::Path::new("net")) {
    ///     assert!(item.share() > 0.95, "{item}");
    /// }
    /// ```
    pub fn report(&self, root: &Path) -> Vec<Understood> {
        let mut all: Vec<Understood> = Vec::new();
        for entry in roots(root) {
            let diags = Diagnostics::new();
            let index = scan::krate(root, &[entry], &diags);
            for (item, function) in index.fns.iter().enumerate() {
                let entries = match index.builders.get(&item) {
                    Some(builder) => builder.entry.map(|entry| Ok(vec![frozen::Entry { item, function: entry }])),
                    None => frozen::is_entry(function).then(|| frozen::entries(&index, item)),
                };
                let found = match entries {
                    None => continue,
                    Some(Err(left)) => vec![Understood::none(&left.diagnostic(function))],
                    Some(Ok(entries)) if leader(&entries) != Some(item) => continue,
                    Some(Ok(entries)) => understood(&index, &entries, &diags),
                };
                for one in found {
                    if !all.contains(&one) {
                        all.push(one);
                    }
                }
            }
        }
        all
    }
}

/// The item whose file holds the generated code of all that are frozen together.
fn leader(entries: &[frozen::Entry]) -> Option<usize> {
    entries.iter().map(|entry| entry.item).min()
}

/// How much of each item of a type is understood.
fn understood(index: &Index, entries: &[frozen::Entry], diags: &Diagnostics) -> Vec<Understood> {
    let functions: Vec<usize> = entries.iter().map(|entry| entry.function).collect();
    let all = trace::items(index, &functions, diags).into_iter().map(|traced| match traced {
        Traced { left: Some(left), item, .. } => Understood::none(&left.diagnostic(&index.fns[item])),
        traced => Understood::of(&traced, functions.len() > 1, place_of(&index.fns[traced.item])),
    });
    all.collect()
}

/// Where the function's name stands.
fn place_of(function: &Function) -> fx_ir::Place {
    function.place(function.sig.ident.span())
}

/// The file of the instance graph beside the file of the frozen type.
fn graph_file(file: &str) -> String {
    format!("{}_graph.rs", file.trim_end_matches(".rs"))
}

#[allow(clippy::print_stdout, reason = "it is how a build script speaks to Cargo")]
fn tell_cargo(line: &str) {
    println!("{line}");
}
