//! The door: a user's build script calls it, and it does it all.
//!
//! The phases are scan, trace, pipeline, outline and emit. The sources of a crate are scanned once ([`items`]); then each
//! item is [traced](tracing) and [optimised](optimized), the parts that are [calls](outlined) are found, and each item is
//! [printed](generated). What a phase finds wrong is gathered in the [`run`].

mod coverage;
mod directives;
mod generated;
mod items;
mod lists;
mod optimized;
mod outlined;
mod run;
mod skipped;
mod tracing;
mod why;

use std::{collections::BTreeMap, env, path::Path};

pub use self::coverage::{Coverage, Opaque};

use fx_front::{diag::Diagnostics, index::Index, scan, trace::Traced};

use self::{
    generated::{Generated, Graphs, generated},
    items::{Content, Item, items},
    outlined::{called_by, in_both_modes, in_training, listed, listing_part, part_of},
    run::Run,
    tracing::{traced, traced_opaque},
};
use crate::{
    emit::{self, PartNames},
    pipeline::Pipeline,
};

/// The environment variable that names passes to leave out.
const WITHOUT: &str = "FX_WITHOUT";

/// The environment variable that names the rule that `cargo fx why` asks about.
const WHY: &str = "FX_WHY";

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
    /// The rule or pass that `cargo fx why` asks about.
    why: Option<String>,
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
        Build {
            pipeline: Pipeline::inference(),
            models: Vec::new(),
            explain: Vec::new(),
            why: None,
            tells_silent_rules: false,
        }
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

    /// Writes to `OUT_DIR/fx/why.txt` where the rule or pass of that name applied, and where and why it did not, for
    /// `cargo fx why` to read. [`run`](Build::run) does so where the environment variable `FX_WHY` names one.
    #[must_use]
    pub fn why(self, name: impl Into<String>) -> Build {
        Build { why: Some(name.into()), ..self }
    }

    /// Lists in `OUT_DIR/fx/report.txt` the rules that applied nowhere in this build.
    #[must_use]
    pub fn tell_silent_rules(self) -> Build {
        Build { tells_silent_rules: true, ..self }
    }

    /// Does it all, and tells Cargo what was read and what is wrong.
    ///
    /// A fault in a `#[traceable]` item is shown by that item; a fault without such a home fails the build here.
    ///
    /// Passes that the environment variable `FX_WITHOUT` names, with commas between them, are left out of every list: to
    /// find the one that a difference comes from, or to see what it is worth. An unknown name fails the build.
    pub fn run(mut self) {
        let mut directives = [WITHOUT, WHY].map(|name| format!("cargo::rerun-if-env-changed={name}")).to_vec();
        self.why = env::var(WHY).ok().filter(|name| !name.is_empty()).or(self.why);
        directives.extend(match (env::var_os("CARGO_MANIFEST_DIR"), env::var_os("OUT_DIR")) {
            (Some(root), Some(out)) => match self.leave_out(&env::var(WITHOUT).unwrap_or_default()) {
                Ok(()) => self.generate(Path::new(&root), Path::new(&out)),
                Err(fault) => vec![format!("cargo::error={WITHOUT}: {fault}")],
            },
            _ => vec![
                "cargo::error=fx runs inside a build script: call `fx_passes::Build::new().run()` from build.rs"
                    .to_owned(),
            ],
        });
        // Generated loops ask for it.
        directives.push("cargo::rustc-check-cfg=cfg(fx_optimized)".to_owned());
        if env::var("OPT_LEVEL").is_ok_and(|level| level != "0") {
            directives.push("cargo::rustc-cfg=fx_optimized".to_owned());
        }
        let libtorch = env::var("DEP_FX_RUNTIME_LIBTORCH_LIB");
        directives.extend(libtorch.map(|lib| format!("cargo::rustc-link-arg=-Wl,-rpath,{lib}")));
        let oldest = env::var("CARGO_PKG_RUST_VERSION").ok().as_deref().and_then(directives::minor_version);
        if directives::print(&directives, oldest) {
            std::process::exit(1);
        }
    }

    /// The same outside a build script: reads the package in the folder `root`, writes below `out` (`out/fx/Net.rs` and
    /// so on), and yields the directives that a build script prints for Cargo, faults among them as `cargo::error=`.
    ///
    /// The output depends on the package's sources alone, not on where they lie.
    ///
    /// ```no_run
    /// use std::path::Path;
    ///
    /// for line in fx_passes::Build::new().generate(Path::new("net"), Path::new("generated")) {
    ///     assert!(!line.starts_with("cargo::error="), "{line}");
    /// }
    /// ```
    pub fn generate(&self, root: &Path, out: &Path) -> Vec<String> {
        let mut run = Run::of(root);
        run.directives.extend(self.idle_constraints().into_iter().map(|line| format!("cargo::warning={line}")));
        let faults = self.faults();
        if !faults.is_empty() {
            run.directives.extend(faults.into_iter().map(|fault| format!("cargo::error={fault}")));
            return run.directives;
        }
        for entry in scan::roots(root) {
            self.generate_crate(root, &entry, out, &mut run);
        }
        self.check_models(&mut run);
        run.finish(out, self.tells_silent_rules)
    }

    /// One crate of the package.
    fn generate_crate(&self, root: &Path, entry: &Path, out: &Path, run: &mut Run) {
        let diags = Diagnostics::new();
        let mut index = scan::krate(root, &[entry.to_path_buf()], &diags);
        index.externs.clone_from(&run.externs);
        run.watch(&index.files);
        let items = items(&index, run);
        let mut graphs: Vec<Prepared> = items.iter().map(|item| self.prepare(&index, item, run, &diags)).collect();
        let parts = self.outline(&index, &mut graphs);
        let items_with_graphs = items.iter().zip(graphs);
        let mut generated: Vec<_> = items_with_graphs
            .map(|(item, graphs)| self.generate_item(&index, item, (graphs, &parts), run, &diags))
            .collect();
        skipped::add_types(&index, &items, &mut generated);
        let broken = run.distribute(diags.into_sorted());
        for (item, generated) in items.iter().zip(generated) {
            run.store(out, &item.file, generated.map(|generated| (!broken).then_some(generated)));
        }
        scan::add_library(&mut run.externs, root, entry, index);
    }

    /// Trace and pipeline: the graphs of one item.
    fn prepare(&self, index: &Index, item: &Item, run: &mut Run, diags: &Diagnostics) -> Prepared {
        let traced = match &item.content {
            Content::Frozen(functions) => traced(index, functions, run, diags),
            Content::Built { entry: Some(entry), .. } => traced(index, &[*entry], run, diags),
            Content::Built { entry: None, .. } => return Prepared::NotFrozen(Generated::frozen_alone(String::new())),
            Content::Elsewhere(name) => return Prepared::NotFrozen(Generated::elsewhere(name)),
            Content::Skipped(diagnostic) => return Prepared::NotFrozen(run.skip_item(diagnostic.clone(), diags)),
        };
        match traced {
            Err(skipped) => Prepared::NotFrozen(skipped),
            Ok(traced) => match self.optimized(index, &traced, run) {
                Ok(optimized) => Prepared::Graphs(Graphs::inlined(traced, optimized)),
                Err(bug) => Prepared::Bug(traced, bug),
            },
        }
    }

    /// Decides for all items which parts of each are calls; returns the parts that list their own graphs.
    fn outline(&self, index: &Index, all: &mut [Prepared]) -> PartNames {
        let listing: BTreeMap<usize, (String, String)> =
            all.iter().filter_map(|one| listing_part(index, &one.graphs()?.traced)).collect();
        let parts =
            all.iter().filter_map(|one| part_of(index, &one.graphs()?.traced, &one.graphs()?.optimized)).collect();
        for one in all.iter_mut() {
            if let Prepared::Graphs(graphs) = one {
                graphs.outlined = self.outlined(index, (&graphs.traced, &graphs.optimized), &parts);
            }
        }
        let graphs: Vec<&mut Graphs> = all.iter_mut().filter_map(Prepared::graphs_mut).collect();
        let read: Vec<&Graphs> = graphs.iter().map(|graphs| &**graphs).collect();
        let mut both = in_both_modes(index, &read, &listing);
        for (at, of) in graphs.into_iter().enumerate() {
            if let Some((listed, modes)) = both.remove(&at) {
                (of.listed, of.modes) = (listed, Some(modes));
            } else {
                of.listed = listed(index, &of.traced, &listing, false);
                of.in_training = in_training(index, &of.traced);
            }
        }
        let called =
            all.iter().filter_map(Prepared::graphs).flat_map(|graphs| graphs.listed.as_ref().unwrap_or(&graphs.traced));
        let called: PartNames = called.flat_map(|traced| called_by(&traced.graph)).collect();
        listing.into_values().filter(|name| called.contains(name)).collect()
    }

    /// Emit: the source of one item; `Err` holds code that was generated wrongly, which is our bug.
    fn generate_item(
        &self,
        index: &Index,
        item: &Item,
        graphs: (Prepared, &PartNames),
        run: &mut Run,
        diags: &Diagnostics,
    ) -> Result<Generated, String> {
        let generated = self.freeze(index, graphs, &item.file, run, diags)?;
        match &item.content {
            Content::Built { source, .. } => {
                Ok(Generated { frozen: [emit::source(source)?, generated.frozen].concat(), ..generated })
            }
            Content::Frozen(_) | Content::Elsewhere(_) | Content::Skipped(_) => Ok(generated),
        }
    }

    /// The source of one type. Where that fails, which is a bug of ours, its functions are frozen as one opaque call each.
    fn freeze(
        &self,
        index: &Index,
        (graphs, parts): (Prepared, &PartNames),
        file: &str,
        run: &mut Run,
        diags: &Diagnostics,
    ) -> Result<Generated, String> {
        let (all, bug) = match graphs {
            Prepared::NotFrozen(generated) => return Ok(generated),
            Prepared::Bug(traced, bug) => (traced, bug),
            Prepared::Graphs(graphs) => match generated(index, &graphs, parts, file) {
                Ok(generated) => return Ok(generated),
                Err(bug) => (graphs.traced, bug),
            },
        };
        run.warn_of_bug(file, &bug);
        match traced_opaque(index, &all, run, diags) {
            Ok(traced) => {
                let optimized = self.optimized(index, &traced, run)?;
                generated(index, &Graphs::inlined(traced, optimized), parts, file)
            }
            Err(skipped) => Ok(skipped),
        }
    }
}

/// An item between the phases.
enum Prepared {
    /// Its graphs.
    Graphs(Graphs),
    /// The graphs as traced, and the bug of ours in optimising them.
    Bug(Vec<Traced>, String),
    /// An item without a graph.
    NotFrozen(Generated),
}

impl Prepared {
    fn graphs(&self) -> Option<&Graphs> {
        match self {
            Prepared::Graphs(graphs) => Some(graphs),
            Prepared::Bug(..) | Prepared::NotFrozen(_) => None,
        }
    }

    fn graphs_mut(&mut self) -> Option<&mut Graphs> {
        match self {
            Prepared::Graphs(graphs) => Some(graphs),
            Prepared::Bug(..) | Prepared::NotFrozen(_) => None,
        }
    }
}
