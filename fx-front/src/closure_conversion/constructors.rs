//! Constructors in a `#[traceable]` impl, or `#[traceable]` themselves, that give a chain closures which capture variables.
//!
//! ```text
//! impl Net {                                            fn new(p: &Path) -> Net { Net::fx_new(p) }
//!     fn new(p: &Path, rate: f64) -> Net {         =>   struct NetClosure { rate: f64 }
//!         nn::seq().add_fn(move |xs| xs * rate)         fn fx_new(..) -> Net { nn::seq().add(NetClosure { rate }) }
//! ```
//!
//! The constructor that is written beside the user's makes the same model of layers that can be frozen and saved.

use proc_macro2::Span;
use quote::{format_ident, quote};
use syn::{spanned::Spanned, visit::Visit};

use super::{
    Lowering, Made, Result, Site,
    captures::rewritten,
    in_place::{self, in_place, is_func},
    kinds::{may_construct, returns_chain, returns_module, returns_opaque},
    source::argument,
};
use crate::index::{Builder, Function, Name, Resolved};
use crate::syntax::{mentions, path_text};
use fx_ir::catalog::ChainMethod;

impl Lowering<'_> {
    /// Writes the constructors that need it.
    pub(super) fn constructors(&mut self) {
        for id in 0..self.index.fns.len() {
            if is_constructor(&self.index.fns[id]) {
                self.replaced(id);
            } else if !may_construct(&self.index.fns[id].sig) {
                self.note_of_method(id);
            }
        }
    }

    /// Notes why no layer is made of the closures that a method gives a chain.
    fn note_of_method(&mut self, id: usize) {
        let closures: Vec<Span> =
            chain_closures(&self.index.fns[id].block).iter().map(|one| one.or1_token.span).collect();
        for at in closures {
            let why = "the method takes `self` and returns more than a chain; one that returns a chain, in a `#[traceable]` impl, can be read";
            self.index.note_unconverted(id, at, why.to_owned());
        }
    }

    /// Writes what stands in for the constructor, if it makes anything of other layers.
    fn replaced(&mut self, id: usize) {
        let function = &self.index.fns[id];
        let (sig, block, module) = (function.sig.clone(), function.block.clone(), function.module.clone());
        let owner = function.owner.clone();
        let known = self.made.clone();
        self.built.insert(id, Builder::default());
        let stmts = self.lowered_stmts(&Site { id, root: id, module, sig: &sig }, &block.stmts);
        let Ok((stmts, true)) = stmts else {
            self.built.remove(&id);
            self.made = known;
            return;
        };
        let mut written = sig.clone();
        written.ident = format_ident!("fx_{}", sig.ident);
        let doc = format!(" What `{}` makes, of layers that can be frozen.", sig.ident);
        let allowed = quote!(#[allow(dead_code, private_interfaces, clippy::all, clippy::pedantic)]);
        let made = quote!(#[doc = #doc] #written { #(#stmts)* });
        let source = owner.map_or_else(|| quote!(#allowed #made), |owner| quote!(#allowed impl #owner { #made }));
        self.source(id, &source);
        self.index.fns[id].block.stmts = stmts;
        if let Some(builder) = self.built.get_mut(&id) {
            builder.constructor = Some((written.ident.to_string(), block));
        }
    }

    /// The builder function that the call is of, and where its name stands.
    pub(super) fn builder_called(&self, site: &Site<'_>, call: &syn::ExprCall) -> Option<(usize, Span)> {
        let syn::Expr::Path(path) = &*call.func else { return None };
        let (text, at) = (path_text(&path.path), path.span());
        if let Resolved::Item(_, _, Name::Fn(id)) = self.index.resolve(&site.module, &text) {
            return returns_module(&self.index.fns[id].sig).then_some((id, at));
        }
        let (owner, name) = text.rsplit_once("::")?;
        let owner = syn::parse_str::<syn::Type>(owner).ok()?;
        let owner = self.index.ty(&site.module, self.index.fns[site.id].owner.as_ref(), &owner);
        let found = self.index.method(&owner, name).filter(|&id| is_separate_builder(&self.index.fns[id]));
        found.map(|id| (id, at))
    }

    /// What a call of a builder function is to call. In a constructor the types that its source names stay, and where what
    /// is to be called cannot be written the call stays as it is.
    pub(super) fn called(&mut self, (id, at): (usize, Span), site: &Site<'_>, as_what: Use) -> Result<Option<Made>> {
        if !is_constructor(&self.index.fns[site.root]) {
            return self.lowered(id, site.root).map(Some);
        }
        let sig = &self.index.fns[id].sig;
        if self.built.contains_key(&id) && returns_chain(sig) {
            return Ok(None);
        }
        let is_free = as_what == Use::Layer || returns_opaque(sig);
        let (source, known) = (self.built.get(&site.root).map(|builder| builder.source.clone()), self.made.clone());
        let made = match self.lowered(id, site.root) {
            Ok(made) => Some(made).filter(|made| is_free || made.structure.is_none()),
            Err(why) => {
                self.index.note_unconverted(site.id, at, why);
                None
            }
        };
        if let (None, Some(builder), Some(source)) = (&made, self.built.get_mut(&site.root), source) {
            (builder.source, self.made) = (source, known);
        }
        Ok(made)
    }

    /// The type of what a builder function makes, where it is called.
    pub(super) fn called_type(&mut self, (id, at): (usize, Span), site: &Site<'_>, as_what: Use) -> Option<syn::Type> {
        if !is_constructor(&self.index.fns[site.root]) {
            return self.lowered_type(id, site);
        }
        if returns_chain(&self.index.fns[id].sig) {
            return self.declared(site, id);
        }
        let made = self.called((id, at), site, as_what).ok()??;
        syn::parse_str(&made.ty).ok()
    }
}

/// Whether it is an associated function that returns a module and means the same outside its impl. One that returns a chain
/// is a constructor itself.
fn is_separate_builder(function: &Function) -> bool {
    let (sig, own) = (&function.sig, format_ident!("Self"));
    let names_own = mentions(&function.block, &own) || mentions(sig, &own);
    let is_plain = sig.receiver().is_none() && function.generics.params.is_empty();
    returns_module(sig) && !returns_chain(sig) && is_plain && !names_own
}

/// What becomes of the value of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Anything, so that its type stays.
    Value,
    /// It is run, or added to a chain, whatever module it is.
    Layer,
}

/// What becomes of the variable that the `let` binds, before the statements of `rest`.
pub(super) fn use_of(local: &syn::Local, rest: &[syn::Stmt]) -> Use {
    struct Find<'n>(&'n syn::Ident, usize);
    impl Find<'_> {
        fn count(&mut self, expr: Option<&syn::Expr>) {
            self.1 += usize::from(matches!(expr, Some(syn::Expr::Path(path)) if path.path.is_ident(self.0)));
        }
    }
    impl<'ast> Visit<'ast> for Find<'_> {
        fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
            match (call.method.to_string().as_str(), call.args.first()) {
                ("add", arg) => self.count(arg),
                ("apply" | "apply_t", Some(syn::Expr::Reference(arg))) => self.count(Some(&arg.expr)),
                ("forward" | "forward_t", _) => self.count(Some(&call.receiver)),
                _ => {}
            }
            syn::visit::visit_expr_method_call(self, call);
        }
    }
    let syn::Pat::Ident(name) = &local.pat else { return Use::Value };
    let mut find = Find(&name.ident, 0);
    let block = syn::Block { brace_token: syn::token::Brace::default(), stmts: rest.to_vec() };
    find.visit_block(&block);
    if find.1 == in_place::mentions(&block, &name.ident) { Use::Layer } else { Use::Value }
}

/// Whether it is a constructor that may be replaced: a function of a `#[traceable]` impl that is of no trait and has no
/// parameters, without receiver or with a chain as its result, or a `#[traceable]` function that makes a model.
fn is_constructor(function: &Function) -> bool {
    let is_named = |input: &syn::FnArg| matches!(input, syn::FnArg::Receiver(_)) || argument(input).is_some();
    let names_all = function.sig.inputs.iter().all(is_named);
    let is_plain = function.generics.params.is_empty() && function.sig.generics.params.is_empty();
    function.constructor.is_some() && names_all && is_plain
}

/// Whether the code gives a chain a closure.
pub fn has_chain_closure(block: &syn::Block) -> bool {
    let mut block = block.clone();
    in_place(&mut block);
    !chain_closures(&block).is_empty()
}

/// Whether the function gives a chain a closure that captures variables of it.
pub fn captures_in_chain(sig: &syn::Signature, block: &syn::Block) -> bool {
    let params = sig.inputs.iter().flat_map(|input| match input {
        syn::FnArg::Typed(typed) => crate::pattern::bound(&typed.pat),
        syn::FnArg::Receiver(_) => Vec::new(),
    });
    let names: Vec<String> = params.chain(crate::pattern::bound_within(block)).collect();
    let captures =
        |closure: &&syn::ExprClosure| rewritten(closure, &names).map_or(true, |(_, found)| !found.is_empty());
    chain_closures(block).iter().any(captures)
}

/// The closures that the code gives to chains, by themselves or within `nn::func(..)`.
fn chain_closures(block: &syn::Block) -> Vec<&syn::ExprClosure> {
    struct Find<'b>(Vec<&'b syn::ExprClosure>);
    impl<'b> Visit<'b> for Find<'b> {
        fn visit_expr_method_call(&mut self, call: &'b syn::ExprMethodCall) {
            let closure = match (ChainMethod::of_name(&call.method.to_string()), call.args.first()) {
                (Some(ChainMethod::AddFn | ChainMethod::AddFnT), Some(syn::Expr::Closure(closure))) => Some(closure),
                (Some(ChainMethod::Add), Some(syn::Expr::Call(made))) => closure_layer(made),
                _ => None,
            };
            self.0.extend(closure);
            syn::visit::visit_expr_method_call(self, call);
        }
    }
    let mut find = Find(Vec::new());
    find.visit_block(block);
    find.0
}

/// The closure of `nn::func(|xs| ..)` and of `nn::func_t(..)`, as the call is written.
fn closure_layer(call: &syn::ExprCall) -> Option<&syn::ExprClosure> {
    let syn::Expr::Path(path) = &*call.func else { return None };
    match call.args.first() {
        Some(syn::Expr::Closure(closure)) if is_func(&path.path) => Some(closure),
        _ => None,
    }
}
