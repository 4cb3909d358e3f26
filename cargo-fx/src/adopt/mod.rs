//! What a crate of tch models needs for fx, as edits of its files: the manifest, the build script, `use` lines, attributes.
//!
//! Everything is edited in memory first ([`plan`]), and written only if all of it can be ([`Plan::write`]). Rust is edited by
//! the places of its tokens and TOML by its own editor, so that comments and formatting stay. What is there already is left
//! as it is.

mod annotate;
mod build_script;
mod constructors;
mod declared;
mod edit;
mod elsewhere;
mod exports;
mod fault;
mod imports;
mod manifest;
mod models;
mod source;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use fx_front::diag::Diagnostics;
use fx_front::index::Index;
use fx_front::scan;

use annotate::{Marks, Site, has_derive, sites};
use constructors::constructors;
use declared::TypeName;
use edit::Edits;
pub(crate) use fault::Fault;
use manifest::{Manifest, Wishes};
use models::Models;
use source::Source;

/// How a crate is to be adopted.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    /// The package's manifest; by default the nearest one.
    pub(crate) manifest: Option<&'a Path>,
    /// A checkout of fx to depend on in place of the registry.
    pub(crate) checkout: Option<&'a Path>,
    /// Whether the requirement of another version of tch is rewritten.
    pub(crate) upgrade_tch: bool,
}

/// A file that changes.
pub(crate) struct Change {
    pub(crate) path: PathBuf,
    /// Its path from the package's folder on.
    pub(crate) name: String,
    /// Empty where the file is new.
    pub(crate) before: String,
    pub(crate) after: String,
    /// What was done, for people.
    pub(crate) summary: String,
}

impl Change {
    /// Returns whether there was no such file.
    pub(crate) fn is_new(&self) -> bool {
        self.before.is_empty()
    }
}

/// All changes of a package.
pub(crate) struct Plan {
    pub(crate) changes: Vec<Change>,
    /// The models that are made traceable now, each with its file and line.
    pub(crate) models: Vec<(String, String)>,
    /// The types with layers of which nothing says what a program calls, each with its file and line.
    pub(crate) without_forward: BTreeSet<(String, String)>,
}

/// The changes that a package needs.
///
/// # Errors
/// What cannot be read, parsed or adopted, with its file and line.
pub(crate) fn plan(request: Request<'_>) -> Result<Plan, Fault> {
    let manifest = Manifest::read(request.manifest)?;
    let root = manifest.folder().to_owned();
    let script = manifest.build_script()?;
    let mut plan = Plan { changes: Vec::new(), models: Vec::new(), without_forward: BTreeSet::new() };
    let wishes = Wishes { checkout: request.checkout, upgrade: request.upgrade_tch };
    for (path, before, after) in manifest.adopted(wishes)? {
        let name = shown(&root, &path);
        plan.add(Change { path, name, before, after, summary: "dependencies".to_owned() });
    }
    let (before, after) = build_script::adopted(&root, &script)?;
    plan.add(Change {
        path: root.join(&script),
        name: script,
        before,
        after,
        summary: "the build's call of fx".to_owned(),
    });
    sources(&root, &mut plan)?;
    Ok(plan)
}

/// The path from the package's folder on.
fn shown(root: &Path, path: &Path) -> String {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let above = root.ancestors().enumerate().find_map(|(up, above)| Some((up, path.strip_prefix(above).ok()?)));
    above.map_or_else(|| path.display().to_string(), |(up, rest)| format!("{}{}", "../".repeat(up), rest.display()))
}

impl Plan {
    fn add(&mut self, change: Change) {
        if change.before != change.after {
            self.changes.push(change);
        }
    }
}

/// Adds the changes of the package's sources.
fn sources(root: &Path, plan: &mut Plan) -> Result<(), Fault> {
    let crates = scan::roots(root);
    let scanned = |entry| scan::krate(root, std::slice::from_ref(entry), &Diagnostics::new());
    let indexes: Vec<(Index, bool)> = crates.iter().map(|entry| (scanned(entry), has_models(entry))).collect();
    let names: BTreeSet<&String> = indexes.iter().flat_map(|(index, _)| &index.files).collect();
    let sources: BTreeMap<&str, Source> =
        names.into_iter().map(|name| Ok((name.as_str(), Source::read(root, name)?))).collect::<Result<_, Fault>>()?;
    let mut marks: BTreeMap<&str, Marks> = BTreeMap::new();
    let mut frozen: Vec<(&Index, BTreeSet<TypeName>)> = Vec::new();
    for (index, _) in indexes.iter().filter(|(_, has_models)| *has_models) {
        let marked = mark(index, &sources, &mut marks);
        plan.without_forward.extend(marked.without_forward);
        frozen.push((index, marked.frozen));
    }
    for (name, source) in &sources {
        let mut edits = Edits::default();
        let uses = imports::edit(source, &mut edits);
        let added = marks.get(name).map(|marks| annotate::edit(source, marks, &mut edits)).unwrap_or_default();
        let exports = frozen.iter().find_map(|(index, frozen)| Some((index, module_of(index, name)?, frozen)));
        let exported =
            exports.map_or(0, |(index, module, frozen)| exports::edit(source, (index, module), frozen, &mut edits));
        if edits.is_empty() {
            continue;
        }
        let after = edits.applied(&source.text);
        // A fault of the edits themselves is found here, before anything is written.
        Source::parse(source.path.clone(), name, after.clone())?;
        let counts = [
            (uses, "`tch::nn`"),
            (added.derives, "`Module`"),
            (added.shown, "`pub(crate)`"),
            (exported, "`pub use`"),
            (added.traceable.len(), "`#[traceable]`"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} × {what}"));
        let summary = counts.collect::<Vec<String>>().join(", ");
        plan.models.extend(added.traceable.into_iter().map(|(model, line)| (model, format!("{name}:{line}"))));
        let (path, name, before) = (source.path.clone(), source.name.clone(), source.text.clone());
        plan.add(Change { path, name, before, after, summary });
    }
    Ok(())
}

/// Returns whether models of that crate are for others to use: tests and benches only call them.
fn has_models(entry: &Path) -> bool {
    !entry.starts_with("tests") && !entry.starts_with("benches")
}

/// What the marks of one crate leave to say.
struct Marked {
    /// The types with layers but without a forward, each with its file and line.
    without_forward: Vec<(String, String)>,
    /// The models whose frozen type has a name of its own.
    frozen: BTreeSet<TypeName>,
}

/// Marks what gets attributes in the files of one crate of the package.
fn mark<'s>(index: &Index, sources: &BTreeMap<&'s str, Source>, marks: &mut BTreeMap<&'s str, Marks>) -> Marked {
    let all = sources.iter().flat_map(|(name, source)| {
        let mut found = Vec::new();
        if let Some(module) = module_of(index, name) {
            sites(&source.file.items, module, &mut found);
        }
        found.into_iter().map(move |site| (*name, site))
    });
    let all: Vec<(&str, Site<'_>)> = all.collect();
    let written: BTreeMap<&TypeName, bool> = all
        .iter()
        .filter_map(|(_, site)| match site {
            Site::Type { name, attrs, .. } => Some((name, has_derive(attrs, "Clone"))),
            Site::Module { .. } | Site::Code { .. } => None,
        })
        .collect();
    let models = Models::of(index, &written);
    for (file, site) in &all {
        if let Site::Type { name, at, .. } = site
            && models.modules.contains(name)
        {
            let marks = marks.entry(file).or_default();
            marks.modules.insert(*at);
            if models.named_elsewhere.contains(name) {
                marks.shown.insert(*at);
            }
        }
    }
    for (file, site) in &all {
        if let Site::Module { path, at, .. } = site
            && models.shown.contains(path)
        {
            marks.entry(file).or_default().shown.insert(*at);
        }
    }
    let constructors = constructors(index, &models.modules);
    for ((file, line, column), name) in models.forwards.into_iter().chain(models.builders).chain(constructors) {
        if let Some((file, _)) = sources.get_key_value(file.as_str()) {
            marks.entry(file).or_default().functions.insert((line, column), name);
        }
    }
    let idle = all.iter().filter_map(|(file, site)| match site {
        Site::Type { name, at, .. } if models.without_forward.contains(name) => {
            Some((name.1.clone(), format!("{file}:{}", at.0)))
        }
        _ => None,
    });
    Marked { without_forward: idle.collect(), frozen: models.frozen }
}

/// The module that is the file.
fn module_of<'i>(index: &'i Index, file: &str) -> Option<&'i str> {
    let modules = index.modules.iter().filter(|(_, module)| module.file == file);
    modules.map(|(path, _)| path.as_str()).min_by_key(|path| path.len())
}
