//! Functions that build a model out of closures, as tch's own vision models are written.
//!
//! ```text
//! fn block(p: nn::Path) -> impl ModuleT {          struct Block { conv: nn::Conv2D }
//!     let conv = nn::conv2d(..);             =>    Block::new(p) { let conv = nn::conv2d(..); Block { conv } }
//!     nn::func_t(move |xs, _| xs.apply(&conv))     Block::forward_t(&self, xs, _) { xs.apply(&self.conv) }
//! }
//! ```
//!
//! What a closure captures cannot be reached from outside of it, so its value cannot be frozen. The struct on the right
//! can: its fields are what the closure captures, its constructor is the function with a struct literal in place of the
//! closure, its `forward` the closure's body. `#[traceable]` on the function writes this struct (and those of the
//! functions it calls in its module), and from there on it is a struct like any other: the tracer knows of no closures.
//! A function that returns what such a function makes becomes a constructor of its own name, `Block::wide(p)`; one that
//! returns a `Sequential` gets a struct around it.

mod calls;
pub(crate) mod captures;
mod chain_closures;
mod chosen;
mod constructors;
mod delegate;
mod elements;
mod in_place;
mod infer;
mod kinds;
mod locals;
mod source;
mod type_facts;

use std::collections::BTreeMap;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{parse_quote, spanned::Spanned};

use self::{
    calls::Calls,
    chosen::chosen,
    locals::Locals,
    source::{forward_sig, struct_source},
    type_facts::is_complete,
};
pub use self::{
    constructors::{captures_in_chain, has_chain_closure},
    kinds::{makes_model, may_construct, returns_chain, returns_module},
    source::argument,
};
pub(crate) use self::{
    in_place::in_place,
    kinds::{CLOSURE_HELP, returns_opaque, yields_closure},
};
use crate::syntax::path_text;
use crate::{
    attrs::FnOptions,
    diag::{Code, Diagnostic, Diagnostics, Severity},
    index::{Builder, Field, Function, Index, Name, Resolved, Struct, Ty},
};

/// Writes the structs of every `#[traceable]` function that returns a module.
pub(crate) fn lower(index: &mut Index, diags: &Diagnostics) {
    let is_builder = |function: &Function| function.key.is_some() && function.owner.is_none();
    let marked: Vec<usize> =
        (0..index.fns.len()).filter(|&id| is_builder(&index.fns[id]) && returns_module(&index.fns[id].sig)).collect();
    let mut lowering =
        Lowering { index, made: BTreeMap::new(), doing: Vec::new(), built: BTreeMap::new(), reason: None };
    for &id in &marked {
        lowering.built.insert(id, Builder::default());
    }
    for id in marked {
        lowering.reason = None;
        let done = lowering.lowered(id, id).and_then(|made| lowering.freezable(id, &made));
        if let Err(reason) = done {
            report(&lowering.index.fns[id], &reason, diags);
        }
    }
    lowering.constructors();
    for function in lowering.index.fns.iter().filter(|function| function.constructor.is_some()) {
        if function.owner.is_none() && yields_closure(lowering.index, function) {
            report(function, "it yields a closure, into which a frozen type cannot look", diags);
        }
    }
    let built = lowering.built;
    index.builders = built;
}

fn report(function: &Function, reason: &str, diags: &Diagnostics) {
    let span = function.sig.ident.span();
    diags.push(Diagnostic {
        code: Code::Opaque,
        severity: Severity::Warning,
        span,
        place: function.place(span),
        home: function.key.as_ref().map(ToString::to_string),
        message: format!("`{}` gets no type that can be frozen: {reason}", function.sig.ident),
        help: CLOSURE_HELP.to_owned(),
    });
}

/// What a builder function is lowered to.
#[derive(Clone, Debug)]
struct Made {
    /// The type of what it makes, by its full path.
    ty: String,
    /// The path by which the module of the function calls it.
    call: String,
    /// The struct, if it is one.
    structure: Option<usize>,
}

struct Lowering<'a> {
    index: &'a mut Index,
    made: BTreeMap<usize, Made>,
    /// The functions that are being lowered, outermost first.
    doing: Vec<usize>,
    /// What is written for each marked function.
    built: BTreeMap<usize, Builder>,
    /// Why the last function could not be lowered.
    reason: Option<String>,
}

/// The function that is being lowered.
struct Site<'s> {
    id: usize,
    /// The marked function for which this is written.
    root: usize,
    module: String,
    sig: &'s syn::Signature,
}

type Result<T> = std::result::Result<T, String>;

impl Lowering<'_> {
    /// Lowers the function, for the marked function `root`.
    fn lowered(&mut self, id: usize, root: usize) -> Result<Made> {
        if let Some(made) = self.made.get(&id) {
            return Ok(made.clone());
        }
        let function = &self.index.fns[id];
        let name = function.sig.ident.to_string();
        let root = if self.built.contains_key(&id) { id } else { root };
        if function.module != self.index.fns[root].module {
            return Err(format!("`{name}` lies in another module and is not `#[traceable]`"));
        }
        if self.doing.contains(&id) {
            return Err(format!("`{name}` calls itself"));
        }
        let (sig, block, module) = (function.sig.clone(), function.block.clone(), function.module.clone());
        self.doing.push(id);
        let made = self.function(&Site { id, root, module, sig: &sig }, &block);
        self.doing.pop();
        let made = made?;
        self.made.insert(id, made.clone());
        Ok(made)
    }

    /// The type of what a builder function makes, where it is called.
    fn lowered_type(&mut self, id: usize, site: &Site<'_>) -> Option<syn::Type> {
        match self.lowered(id, site.root) {
            Ok(made) => syn::parse_str(&made.ty).ok(),
            Err(reason) => {
                self.reason = Some(reason);
                None
            }
        }
    }

    fn function(&mut self, site: &Site<'_>, block: &syn::Block) -> Result<Made> {
        let Some((syn::Stmt::Expr(tail, None), stmts)) = block.stmts.split_last() else {
            return Err("it does not end in the module that it makes".to_owned());
        };
        let locals = self.locals(site, stmts);
        let one = chosen(tail);
        let tail = one.as_ref().unwrap_or(tail);
        match self.closure_of(site, tail) {
            Some((closure, entry)) => self.structure(site, stmts, closure, entry, &locals),
            None => self.delegate(site, block, tail, &locals),
        }
    }

    /// `nn::func_t(closure)`, and the name of the forward that it stands for.
    fn closure_of<'e>(&self, site: &Site<'_>, tail: &'e syn::Expr) -> Option<(&'e syn::ExprClosure, &'static str)> {
        let syn::Expr::Call(call) = tail else { return None };
        let (syn::Expr::Path(path), Some(syn::Expr::Closure(closure))) = (&*call.func, call.args.first()) else {
            return self.boxed(site, call);
        };
        match self.index.resolve(&site.module, &path_text(&path.path)) {
            Resolved::External(full) if full.ends_with("nn::func_t") => Some((closure, "forward_t")),
            Resolved::External(full) if full.ends_with("nn::func") => Some((closure, "forward")),
            _ => None,
        }
    }

    /// `Box::new(nn::func_t(closure))`.
    fn boxed<'e>(&self, site: &Site<'_>, call: &'e syn::ExprCall) -> Option<(&'e syn::ExprClosure, &'static str)> {
        let syn::Expr::Path(path) = &*call.func else { return None };
        let inner = call.args.first().filter(|_| path_text(&path.path) == "Box::new")?;
        self.closure_of(site, inner)
    }

    /// The struct of a closure.
    fn structure(
        &mut self,
        site: &Site<'_>,
        stmts: &[syn::Stmt],
        closure: &syn::ExprClosure,
        entry: &str,
        locals: &Locals,
    ) -> Result<Made> {
        let (body, captured) = captures::rewritten(closure, &locals.names())
            .map_err(|name| format!("its closure captures `{name}` in a macro"))?;
        let mut fields = Vec::new();
        for name in captured {
            let Some(ty) = locals.ty(&name).filter(is_complete) else {
                let why = self.reason.take().map(|reason| format!(": {reason}")).unwrap_or_default();
                return Err(format!("the type of `{name}`, which its closure captures, is not known{why}"));
            };
            fields.push((format_ident!("{name}"), ty));
        }
        let names = fields.iter().map(|(name, _)| name);
        let literal = quote!({ #(#names),* });
        self.write(site, &fields, (stmts, &literal), (closure, &body, entry))
    }

    /// Writes a struct with these fields, whose constructor ends in `literal` and whose forward is the closure.
    fn write(
        &mut self,
        site: &Site<'_>,
        fields: &[(Ident, syn::Type)],
        (stmts, literal): (&[syn::Stmt], &TokenStream),
        (closure, body, entry): (&syn::ExprClosure, &syn::Expr, &str),
    ) -> Result<Made> {
        let name = self.free_name(&site.module, &fx_ir::camel(&site.sig.ident.to_string()), "Net");
        let ident = format_ident!("{name}", span = site.sig.ident.span());
        let (stmts, _) = self.lowered_stmts(site, stmts)?;
        let mut new = site.sig.clone();
        new.ident = format_ident!("new", span = site.sig.ident.span());
        new.output = parse_quote!(-> #ident);
        let entry = format_ident!("{entry}", span = closure.or1_token.span());
        let forward = forward_sig(closure, &entry)?;
        let body = match body {
            syn::Expr::Block(block) => block.block.clone(),
            body => parse_quote!({ #body }),
        };
        let block: syn::Block = parse_quote!({ #(#stmts)* #ident #literal });
        self.source(
            site.root,
            &struct_source(&site.sig.ident, &ident, fields, Some((&new, &block)), (&forward, &body)),
        );
        let structure = self.declare(site, &name, fields);
        let owner: syn::Type = parse_quote!(#ident);
        self.add_fn(site, Some(owner.clone()), new, block);
        self.add_fn(site, Some(owner), forward, body);
        Ok(Made {
            ty: format!("{}::{name}", site.module),
            call: format!("{}::{name}::new", site.module),
            structure: Some(structure),
        })
    }

    /// Gives the marked function the forward that is to be frozen.
    fn freezable(&mut self, id: usize, made: &Made) -> Result<()> {
        let structure = match made.structure {
            Some(structure) => structure,
            None => self.around_chain(id, made)?,
        };
        let entry = ["forward_t", "forward"]
            .into_iter()
            .find_map(|name| self.index.method(&Ty::Struct(structure), name))
            .filter(|&entry| self.built.values().all(|builder| builder.entry != Some(entry)));
        if let Some(builder) = self.built.get_mut(&id) {
            builder.entry = entry;
        }
        Ok(())
    }

    /// The statements with every call of a builder function as one of what that is lowered to, and whether any of them makes
    /// other layers than before.
    fn lowered_stmts(&mut self, site: &Site<'_>, stmts: &[syn::Stmt]) -> Result<(Vec<syn::Stmt>, bool)> {
        let (mut stmts, locals) = (stmts.to_vec(), self.locals(site, &[]));
        let mut calls = Calls { lowering: self, site, locals, fault: None, is_other: false };
        calls.stmts(&mut stmts);
        match calls.fault {
            Some(fault) => Err(fault),
            None => Ok((stmts, calls.is_other)),
        }
    }

    fn source(&mut self, root: usize, tokens: &TokenStream) {
        if let Some(builder) = self.built.get_mut(&root) {
            builder.source.extend(tokens.clone());
        }
    }

    /// A name that the module does not have yet: `wanted`, or that with the ending and, from the third on, a number.
    fn free_name(&self, module: &str, wanted: &str, ending: &str) -> String {
        let taken = |name: &str| self.index.modules.get(module).is_some_and(|module| module.names.contains_key(name));
        let numbered = (2..).map(|n| format!("{wanted}{ending}{n}"));
        let mut names = [wanted.to_owned(), format!("{wanted}{ending}")].into_iter().chain(numbered);
        names.find(|name| !taken(name)).unwrap_or_default()
    }

    fn declare(&mut self, site: &Site<'_>, name: &str, fields: &[(Ident, syn::Type)]) -> usize {
        let fields = fields.iter().map(|(name, ty)| Field {
            name: name.to_string(),
            label: name.to_string(),
            ty: ty.clone(),
            scope: Some(site.module.clone()),
            fx: FnOptions::default(),
        });
        self.index.structs.push(Struct {
            name: name.to_owned(),
            module: site.module.clone(),
            fields: fields.collect(),
            is_module: true,
            generics: syn::Generics::default(),
            instance: None,
        });
        let id = self.index.structs.len() - 1;
        let module = self.index.modules.entry(site.module.clone()).or_default();
        module.names.insert(name.to_owned(), Name::Struct(id));
        id
    }

    fn add_fn(&mut self, site: &Site<'_>, owner: Option<syn::Type>, sig: syn::Signature, block: syn::Block) -> usize {
        let written = &self.index.fns[site.id];
        let is_forward = sig.receiver().is_some();
        let function = Function {
            module: site.module.clone(),
            file: written.file.clone(),
            owner,
            of_trait: None,
            fx: FnOptions::default(),
            traceable: self.index.fns[site.root].traceable.clone().filter(|_| is_forward),
            sig,
            block,
            key: self.index.fns[site.root].key.clone().filter(|_| is_forward),
            scope: None,
            is_derived: true,
            constructor: None,
            generics: syn::Generics::default(),
            instances: Vec::new(),
        };
        self.index.fns.push(function);
        self.index.fns.len() - 1
    }
}
