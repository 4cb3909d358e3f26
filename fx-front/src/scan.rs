//! Reads a crate's sources, following `mod` lines from its root files, into an [`Index`].

mod associated;
mod attributes;
mod body_items;
mod canonical;
mod default;
mod dependencies;
mod imports;
mod initializers;
mod macros;
mod provided;
mod roots;
mod scopes;
mod written;

use std::path::{Path, PathBuf};

use darling::FromField;
use fx_ir::Place;
use proc_macro2::Span;
use syn::spanned::Spanned;

pub use self::dependencies::{add_library, dependencies};
pub use self::roots::{FOLDERS, roots};
use self::{
    associated::Associated,
    attributes::{attributes, derives, is_test, path_attribute},
    macros::Declared,
    provided::Implemented,
    written::variant,
};
use crate::{
    attrs::{FnOptions, ModuleField, TraceableOptions},
    cfg, closure_conversion,
    diag::{Code, Diagnostic, Diagnostics, Severity},
    index::{self, Field, Function, Index, Module, Name, Struct},
    key::Key,
    monomorphize,
};

/// Reads the crate whose manifest lies in `root`, from each of `entries` (`src/lib.rs`, `src/main.rs`) on.
pub fn krate(root: &Path, entries: &[PathBuf], diags: &Diagnostics) -> Index {
    whole(root, diags, &|scan| {
        for entry in entries {
            let file = root.join(entry);
            let folder = file.parent().map(Path::to_path_buf).unwrap_or_default();
            // Two roots (lib.rs and main.rs) may declare the same modules; each is read once.
            scan.read_file(&file, &folder, "crate");
            scan.macros.leave(0);
        }
    })
}

/// Reads one source text as if it were a whole crate; for tests and for tools.
pub fn text(source: &str, diags: &Diagnostics) -> Index {
    whole(Path::new(""), diags, &|scan| scan.source(source, "src/lib.rs", Path::new("src"), "crate"))
}

/// The index of what `read` reads, which is read twice where code calls macros that are declared behind it.
fn whole(root: &Path, diags: &Diagnostics, read: &dyn Fn(&mut Scan<'_>)) -> Index {
    let mut scan = Scan::new(root, diags);
    read(&mut scan);
    if let Some(macros) = scan.macros.for_another_scan() {
        scan = Scan { macros, ..Scan::new(root, diags) };
        read(&mut scan);
    }
    scan.finish()
}

struct Scan<'a> {
    root: &'a Path,
    index: Index,
    diags: &'a Diagnostics,
    /// The traits of the crate, whose methods may have bodies.
    defaults: Vec<(String, syn::ItemTrait)>,
    /// Which types implement traits, of the crate's or others.
    impls: Vec<Implemented>,
    /// The macros of the crate.
    macros: Declared,
}

impl<'a> Scan<'a> {
    fn new(root: &'a Path, diags: &'a Diagnostics) -> Scan<'a> {
        let (index, macros) = (Index::default(), Declared::default());
        Scan { root, index, diags, defaults: Vec::new(), impls: Vec::new(), macros }
    }
}

impl Scan<'_> {
    /// The index of all that has been read.
    fn finish(mut self) -> Index {
        self.provided();
        self.imports_of_bodies();
        self.index.spell_prelude();
        self.index.mark_constants();
        self.index.lower_variables();
        monomorphize::add(&mut self.index);
        closure_conversion::lower(&mut self.index, self.diags);
        self.index
    }

    fn read_file(&mut self, file: &Path, folder: &Path, module: &str) {
        let shown = file.strip_prefix(self.root).unwrap_or(file).to_string_lossy().replace('\\', "/");
        if self.index.files.contains(&shown) {
            return;
        }
        match std::fs::read_to_string(file) {
            Ok(source) => self.source(&source, &shown, folder, module),
            Err(error) => self.unreadable(&shown, 1, format!("cannot read `{shown}`: {error}")),
        }
    }

    fn source(&mut self, source: &str, shown: &str, folder: &Path, module: &str) {
        self.index.files.push(shown.to_owned());
        match syn::parse_file(source) {
            Ok(file) => self.items(&file.items, shown, folder, module),
            Err(error) => {
                let line = error.span().start().line;
                self.unreadable(shown, line, format!("cannot parse `{shown}`: {error}"));
            }
        }
    }

    /// rustc reports the same fault with more to say, so this only warns.
    fn unreadable(&self, file: &str, line: usize, message: String) {
        self.diags.push(Diagnostic {
            code: Code::Unreadable,
            severity: Severity::Warning,
            span: Span::call_site(),
            place: Place { file: file.to_owned(), line },
            home: None,
            message,
            help: "the `#[traceable]` items in it are not seen".to_owned(),
        });
    }

    fn items(&mut self, items: &[syn::Item], file: &str, folder: &Path, module: &str) {
        let here = self.index.modules.entry(module.to_owned()).or_default();
        if here.file.is_empty() {
            file.clone_into(&mut here.file);
        }
        for item in items.iter().filter(|item| cfg::is_active(attributes(item)) != Some(false)) {
            self.item(item, file, folder, module);
        }
    }

    fn item(&mut self, item: &syn::Item, file: &str, folder: &Path, module: &str) {
        if !is_test(attributes(item)) {
            self.index.initializers.extend(initializers::of(item, module));
        }
        match item {
            syn::Item::Struct(item) if !is_test(&item.attrs) => self.structure(item, file, module),
            syn::Item::Impl(item) if !is_test(&item.attrs) => self.implementation(item, file, module),
            syn::Item::Fn(item) if !is_test(&item.attrs) => self.function(item, file, module),
            syn::Item::Mod(item) if !is_test(&item.attrs) => self.module(item, file, folder, module),
            syn::Item::Macro(item) if item.mac.path.is_ident("macro_rules") => {
                let is_one = crate::syntax::effects::returns_by(item.mac.tokens.clone());
                let name = item.ident.as_ref().map(ToString::to_string).filter(|_| is_one);
                self.index.returning_macros.extend(name);
                self.macros.declare(item);
            }
            syn::Item::Use(item) => self.imports(&item.tree, "", &item.vis, module),
            syn::Item::Type(item) => self.declare(module, &item.ident, &item.vis, Name::Alias(Box::new(item.clone()))),
            syn::Item::Const(item) => {
                self.declare(
                    module,
                    &item.ident,
                    &item.vis,
                    Name::Const(crate::syntax::literal(&item.expr), item.ty.clone()),
                );
            }
            syn::Item::Static(item) => {
                self.declare(module, &item.ident, &item.vis, Name::Const(None, item.ty.clone()));
            }
            syn::Item::Trait(item) => {
                self.declare(module, &item.ident, &item.vis, Name::Other);
                let mut item = self.provided_without_macros(item, module);
                self.provided_bodies(&mut item, file, module);
                self.defaults.push((module.to_owned(), item));
            }
            syn::Item::Enum(item) => {
                let variants = item.variants.iter().map(variant);
                self.declare(module, &item.ident, &item.vis, Name::Enum(variants.collect()));
            }
            _ => {}
        }
    }

    fn here(&mut self, module: &str) -> &mut Module {
        self.index.modules.entry(module.to_owned()).or_default()
    }

    /// The name under which what is called `name` here is known where it comes from.
    fn renamed(&self, name: &str, module: &str) -> String {
        match self.index.modules.get(module).and_then(|module| module.names.get(name)) {
            Some(Name::Use(path)) => path.rsplit("::").next().unwrap_or(name).to_owned(),
            _ => name.to_owned(),
        }
    }

    fn declare(&mut self, module: &str, name: &impl ToString, visibility: &syn::Visibility, meaning: Name) {
        // A macro of another crate may bear the name of a function: the two do not get in each other's way.
        let of_crate = |path: &str| ["crate", "self", "super"].contains(&path.split("::").next().unwrap_or(path));
        let is_foreign = matches!(&meaning, Name::Use(path) if !of_crate(path));
        let known = self.here(module).names.get(&name.to_string());
        if is_foreign && known.is_some_and(|known| !matches!(known, Name::Use(path) if !of_crate(path))) {
            return;
        }
        if let Some(scope) = index::scope_of(visibility, module) {
            self.here(module).scopes.insert(name.to_string(), scope);
        }
        self.here(module).names.insert(name.to_string(), meaning);
    }

    fn structure(&mut self, item: &syn::ItemStruct, file: &str, module: &str) {
        let compiled = item.fields.iter().filter(|field| cfg::is_active(&field.attrs) != Some(false));
        let fields = compiled.enumerate().map(|(position, field)| {
            let name = field.ident.as_ref().map_or_else(|| position.to_string(), ToString::to_string);
            let label = ModuleField::from_field(field).ok().and_then(|options| options.name);
            Field {
                label: label.map_or_else(|| name.clone(), |label| label.as_ref().clone()),
                name,
                ty: field.ty.clone(),
                scope: index::scope_of(&field.vis, module),
                fx: FnOptions::of(&field.attrs),
            }
        });
        self.index.structs.push(Struct {
            name: item.ident.to_string(),
            module: module.to_owned(),
            fields: fields.collect(),
            is_module: derives(&item.attrs, "Module", &|name| self.renamed(name, module)),
            generics: item.generics.clone(),
            instance: None,
        });
        self.declare(module, &item.ident, &item.vis, Name::Struct(self.index.structs.len() - 1));
        let is_derived = derives(&item.attrs, "Default", &|name| self.renamed(name, module));
        if let Some(written) = default::derived(item).filter(|_| is_derived) {
            self.implementation(&written, file, module);
        }
    }

    fn implementation(&mut self, item: &syn::ItemImpl, file: &str, module: &str) {
        let options = TraceableOptions::of(&self.attributes(&item.attrs, module));
        let of_trait = item.trait_.as_ref().map(|(_, path, _)| crate::syntax::path_text(path));
        self.impls.extend(of_trait.clone().map(|name| Implemented {
            module: module.to_owned(),
            file: file.to_owned(),
            name,
            owner: (*item.self_ty).clone(),
            generics: item.generics.clone(),
        }));
        let entries = options.as_ref().map(|options| options.entry_fns(item)).unwrap_or_default();
        let mut associated = Associated::of(item);
        self.index.associated.extend(associated.listed(module, &item.self_ty));
        self.index.associated_constants.extend(associated::constants(item, module));
        for inner in &item.items {
            let syn::ImplItem::Fn(method) = inner else { continue };
            if cfg::is_active(&method.attrs) == Some(false) {
                continue;
            }
            let (mut sig, mut block) = (method.sig.clone(), method.block.clone());
            cfg::strip(&mut block);
            self.without_macros(&sig, &mut block, module);
            self.body(&mut block, file, module);
            associated.put_in(&mut sig, &mut block);
            let is_entry = entries.iter().any(|entry| entry.sig.ident == method.sig.ident);
            let may_construct = closure_conversion::may_construct(&sig) && !is_entry;
            let is_constructor = options.is_some() && of_trait.is_none() && may_construct;
            self.index.fns.push(Function {
                module: module.to_owned(),
                file: file.to_owned(),
                owner: Some((*item.self_ty).clone()),
                of_trait: of_trait.clone(),
                fx: FnOptions::of(&method.attrs),
                sig,
                block,
                traceable: options.clone(),
                constructor: is_constructor.then(|| Key::of_constructor(&item.self_ty, &method.sig, &method.block)),
                key: is_entry.then(|| Key::of_method(&item.self_ty, &method.sig, &method.block)),
                scope: if of_trait.is_some() { None } else { index::scope_of(&method.vis, module) },
                is_derived: false,
                generics: item.generics.clone(),
                instances: Vec::new(),
            });
        }
    }

    fn function(&mut self, item: &syn::ItemFn, file: &str, module: &str) {
        let options = TraceableOptions::of(&self.attributes(&item.attrs, module));
        let mut block = (*item.block).clone();
        cfg::strip(&mut block);
        self.without_macros(&item.sig, &mut block, module);
        self.body(&mut block, file, module);
        let key = options.is_some().then(|| Key::of_fn(&item.sig, &item.block));
        let (constructor, key) = if closure_conversion::makes_model(&item.sig) { (key, None) } else { (None, key) };
        self.index.fns.push(Function {
            module: module.to_owned(),
            file: file.to_owned(),
            owner: None,
            of_trait: None,
            fx: FnOptions::of(&item.attrs),
            sig: item.sig.clone(),
            block,
            constructor,
            key,
            traceable: options,
            scope: index::scope_of(&item.vis, module),
            is_derived: false,
            generics: syn::Generics::default(),
            instances: Vec::new(),
        });
        self.declare(module, &item.sig.ident, &item.vis, Name::Fn(self.index.fns.len() - 1));
    }

    /// A module, behind which only `#[macro_use]` leaves its macros in scope.
    fn module(&mut self, item: &syn::ItemMod, file: &str, folder: &Path, module: &str) {
        let scope = self.macros.scope();
        self.inner_module(item, file, folder, module);
        if !item.attrs.iter().any(|attr| attr.path().is_ident("macro_use")) {
            self.macros.leave(scope);
        }
    }

    fn inner_module(&mut self, item: &syn::ItemMod, file: &str, folder: &Path, module: &str) {
        let name = item.ident.to_string();
        let inner = format!("{module}::{name}");
        let name = name.trim_start_matches("r#");
        self.declare(module, &item.ident, &item.vis, Name::Other);
        if let Some((_, items)) = &item.content {
            return self.items(items, file, &folder.join(name), &inner);
        }
        let written = path_attribute(&item.attrs);
        let beside = written.map(|path| self.root.join(file).parent().map(|dir| dir.join(path)).unwrap_or_default());
        let flat = folder.join(format!("{name}.rs"));
        let nested = folder.join(name).join("mod.rs");
        let found = beside.unwrap_or_else(|| if flat.exists() { flat } else { nested });
        let inside = if found.ends_with("mod.rs") { found.parent().map(Path::to_path_buf) } else { None };
        if found.exists() {
            self.read_file(&found, &inside.unwrap_or_else(|| folder.join(name)), &inner);
        } else if !item.attrs.iter().any(|attr| attr.path().is_ident("cfg")) {
            self.unreadable(file, item.span().start().line, format!("found no file for `mod {name}`"));
        }
    }
}
