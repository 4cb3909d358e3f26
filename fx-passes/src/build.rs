//! The door: what a user's build script calls.

use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use fx_front::{
    diag::{Code, Diagnostic, Diagnostics, Severity},
    handoff::{self, Items},
    index::{Function, Index, Ty},
    scan,
    trace::{self, Traced},
};

use crate::{
    emit::{self, Printed},
    out,
    pass::PassContext,
    pipeline::{Pipeline, Report, never_applied},
};

/// Traces a crate at build time and generates the frozen types of its `#[traceable]` items.
///
/// A build script's whole body is `fx_passes::Build::new().run()`.
///
/// Sources are read from the package's own roots (`src/lib.rs`, `src/main.rs`, `src/bin`, `examples`, `tests`,
/// `benches`) along their `mod` lines; output goes to `OUT_DIR/fx`, where `#[traceable]` finds it.
#[derive(Debug)]
pub struct Build {
    pipeline: Pipeline,
    explain: Option<String>,
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
        Build { pipeline: Pipeline::inference(), explain: None, tells_silent_rules: false }
    }

    /// The same with another list of passes.
    #[must_use]
    pub fn pipeline(self, pipeline: Pipeline) -> Build {
        Build { pipeline, ..self }
    }

    /// Tells, as warnings and in `OUT_DIR/fx/report.txt`, why a rule did not apply wherever it could have begun: the
    /// first condition that failed. The name is that of a pass (`FoldConvBn` or `fold-conv-bn`) or of one of its rules.
    #[must_use]
    pub fn explain(self, name: impl Into<String>) -> Build {
        Build { explain: Some(name.into()), ..self }
    }

    /// Lists in `OUT_DIR/fx/report.txt` the rules that applied nowhere in this build.
    #[must_use]
    pub fn tell_silent_rules(self) -> Build {
        Build { tells_silent_rules: true, ..self }
    }

    /// Does it all, and tells Cargo what it read and what is wrong.
    ///
    /// A fault in a `#[traceable]` item is shown by that item; a fault without such a home fails the build here.
    pub fn run(self) {
        let told = match (env::var_os("CARGO_MANIFEST_DIR"), env::var_os("OUT_DIR")) {
            (Some(root), Some(out)) => self.generate(Path::new(&root), Path::new(&out)),
            _ => vec![
                "cargo::error=fx runs inside a build script: call `fx_passes::Build::new().run()` from build.rs"
                    .to_owned(),
            ],
        };
        let search_path =
            env::var("DEP_FX_RUNTIME_LIBTORCH_LIB").map(|lib| format!("cargo::rustc-link-arg=-Wl,-rpath,{lib}"));
        for line in told.into_iter().chain(search_path) {
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
        let mut run =
            Run { items: Items::default(), seen: Vec::new(), report: String::new(), told, applied: Vec::new() };
        for entry in roots(root) {
            self.krate(root, &entry, out, &mut run);
        }
        if self.tells_silent_rules {
            for rule in never_applied(&run.applied) {
                let _ = writeln!(run.report, "`{rule}` applied nowhere");
            }
        }
        let written = [(handoff::PATH, run.items.to_text()), ("fx/report.txt", run.report)];
        for (path, text) in written {
            if let Err(error) = out::write(&out.join(path), &text) {
                run.told.push(format!("cargo::error=cannot write `{path}` below OUT_DIR: {error}"));
            }
        }
        run.told
    }

    /// One crate of the package: scan, trace, transform, print.
    fn krate(&self, root: &Path, entry: &Path, out: &Path, run: &mut Run) {
        let diags = Diagnostics::new();
        let index = scan::krate(root, &[entry.to_path_buf()], &diags);
        run.watch(&index.files);
        let mut files = Vec::new();
        check_names(&index, &diags);
        for (item, function) in index.fns.iter().enumerate() {
            let Some(key) = &function.key else { continue };
            let place = function.place(function.sig.ident.span());
            if run.seen.contains(&(key.to_string(), place.clone())) {
                continue;
            }
            run.seen.push((key.to_string(), place));
            let file = run.items.add(key, &function.sig, &function.block, &function.file);
            let printed = self.item(&index, item, &file, run, &diags);
            files.push((file, printed));
        }
        let broken = run.distribute(diags.into_sorted());
        for (file, printed) in files {
            match printed {
                Ok(_) if broken => run.items.withhold(&file),
                Ok(printed) => {
                    run.write(out, &graph_file(&file), &printed.graph);
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

    /// Traces, transforms and prints one item; where that fails, which is a bug of ours, the item is carried along whole.
    fn item(
        &self,
        index: &Index,
        item: usize,
        file: &str,
        run: &mut Run,
        diags: &Diagnostics,
    ) -> Result<Printed, String> {
        self.printed(index, &trace::item(index, item, diags), file, run).or_else(|bug| {
            let first = bug.lines().next().unwrap_or_default();
            let name = file.trim_end_matches(".rs");
            run.told.push(format!("cargo::warning=a bug of fx: `{name}` is frozen without being optimised: {first}"));
            let reason = "a bug of fx keeps it from being understood";
            self.printed(index, &trace::carried(index, item, diags, reason), file, run)
        })
    }

    fn printed(&self, index: &Index, traced: &Traced, file: &str, run: &mut Run) -> Result<Printed, String> {
        let mut graph = traced.graph.clone();
        let context = PassContext::new(traced.signature.has_receiver);
        let report = self.pipeline.run(&mut graph, &context).map_err(|fault| fault.to_string())?;
        for pass in report.exhausted() {
            let name = &graph.name;
            run.told.push(format!("cargo::warning=the rules of `{pass}` go on for ever in `{name}` and were stopped"));
        }
        run.applied.push(report);
        let answer = self.explain.as_ref().map(|name| self.pipeline.explain(name, &traced.graph, &context));
        match answer {
            Some(Ok(reasons)) => reasons.iter().for_each(|why| run.tell(&format!("in `{}`, {why}", graph.name))),
            Some(Err(unknown)) => run.told.push(format!("cargo::error={unknown}")),
            None => {}
        }
        emit::item(index, traced, &graph, &graph_file(file))
    }
}

/// The file of the instance graph beside the file of the frozen type.
fn graph_file(file: &str) -> String {
    format!("{}_graph.rs", file.trim_end_matches(".rs"))
}

/// The folders that hold the roots of a package's crates.
const FOLDERS: [&str; 4] = ["src", "examples", "tests", "benches"];

/// What one run gathers.
struct Run {
    items: Items,
    seen: Vec<(String, fx_ir::Place)>,
    report: String,
    told: Vec<String>,
    applied: Vec<Report>,
}

impl Run {
    /// A line for the report and for the user's eyes.
    fn tell(&mut self, line: &str) {
        let _ = writeln!(self.report, "{line}");
        self.told.push(format!("cargo::warning={line}"));
    }

    fn write(&mut self, out: &Path, file: &str, text: &str) {
        if let Err(error) = out::write(&out.join("fx").join(file), text) {
            self.told.push(format!("cargo::error=cannot write `fx/{file}` below OUT_DIR: {error}"));
        }
    }

    /// Names the files that lie outside the folders that are watched whole, where a `#[path]` leads.
    fn watch(&mut self, files: &[String]) {
        let inside =
            |file: &str| FOLDERS.iter().any(|folder| Path::new(file).starts_with(folder)) && !file.contains("..");
        for file in files.iter().filter(|file| !inside(file)) {
            let line = format!("cargo::rerun-if-changed={file}");
            if !self.told.contains(&line) {
                self.told.push(line);
            }
        }
    }

    /// Sends each diagnostic where it is shown; is there one that stops the build?
    fn distribute(&mut self, diagnostics: Vec<Diagnostic>) -> bool {
        let mut broken = false;
        for diagnostic in diagnostics {
            let _ = writeln!(self.report, "{diagnostic}");
            broken |= diagnostic.severity == Severity::Error;
            if diagnostic.severity == Severity::Note || self.items.report(&diagnostic) {
                continue;
            }
            let level = if diagnostic.severity == Severity::Error { "error" } else { "warning" };
            self.told.push(format!("cargo::{level}={}", diagnostic.to_string().replace('\n', " ")));
        }
        broken
    }
}

/// Two entries of one type would both be called `NetFrozen`.
fn check_names(index: &Index, diags: &Diagnostics) {
    let mut seen: Vec<(Ty, &Function)> = Vec::new();
    for function in index.fns.iter().filter(|function| function.key.is_some()) {
        let Some(owner) = &function.owner else { continue };
        let ty = index.ty(&function.module, None, owner);
        let first = seen.iter().find(|(known, _)| *known == ty).map(|(_, first)| *first);
        if let Some(first) = first {
            let span = function.sig.ident.span();
            let name = quote::ToTokens::to_token_stream(owner).to_string();
            diags.push(Diagnostic {
                code: Code::DuplicateName,
                severity: Severity::Error,
                span,
                place: function.place(span),
                home: function.key.as_ref().map(ToString::to_string),
                message: format!("`{name}` is frozen twice: `{}` and `{}`", first.sig.ident, function.sig.ident),
                help: "keep `#[traceable]` on the one that is to be frozen; the other is inlined where it is called"
                    .to_owned(),
            });
        }
        seen.push((ty, function));
    }
}

/// The root files of the package's crates, in a fixed order.
fn roots(root: &Path) -> Vec<PathBuf> {
    let fixed = ["src/lib.rs", "src/main.rs"].into_iter().map(PathBuf::from).filter(|path| root.join(path).is_file());
    let mut all: Vec<PathBuf> = fixed.collect();
    for folder in ["src/bin", "examples", "tests", "benches"] {
        let Ok(entries) = fs::read_dir(root.join(folder)) else { continue };
        let mut found: Vec<PathBuf> = entries
            .filter_map(|entry| Some(PathBuf::from(folder).join(entry.ok()?.file_name())))
            .filter_map(|path| {
                let is_source = path.extension().is_some_and(|extension| extension == "rs");
                let nested = path.join("main.rs");
                if is_source { Some(path) } else { root.join(&nested).is_file().then_some(nested) }
            })
            .collect();
        found.sort();
        all.extend(found);
    }
    all
}

#[allow(clippy::print_stdout, reason = "it is how a build script speaks to Cargo")]
fn tell_cargo(line: &str) {
    println!("{line}");
}
