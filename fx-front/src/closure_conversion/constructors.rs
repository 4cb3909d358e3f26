//! Constructors in a `#[traceable]` impl that give a chain closures which capture variables.
//!
//! ```text
//! impl Net {                                            fn new(p: &Path) -> Net { Net::fx_new(p) }
//!     fn new(p: &Path, rate: f64) -> Net {         =>   struct NetClosure { rate: f64 }
//!         nn::seq().add_fn(move |xs| xs * rate)         fn fx_new(..) -> Net { nn::seq().add(NetClosure { rate }) }
//! ```
//!
//! The constructor that is written beside the user's makes the same model of layers that can be frozen and saved.

use quote::{format_ident, quote};
use syn::visit::Visit;

use super::{Lowering, Made, Result, Site, captures::rewritten, delegate::argument};
use crate::index::{Builder, Function};
use fx_ir::catalog::ChainMethod;

impl Lowering<'_> {
    /// Writes the constructors of every `#[traceable]` impl that need it.
    pub(super) fn constructors(&mut self) {
        for id in 0..self.index.fns.len() {
            if is_constructor(&self.index.fns[id]) {
                self.replaced(id);
            }
        }
    }

    /// Writes what stands in for the constructor, if it makes anything of other layers.
    fn replaced(&mut self, id: usize) {
        let function = &self.index.fns[id];
        let (sig, block, module) = (function.sig.clone(), function.block.clone(), function.module.clone());
        let Some(owner) = function.owner.clone() else { return };
        self.built.insert(id, Builder::default());
        let stmts = self.lowered_stmts(&Site { id, root: id, module, sig: &sig }, &block.stmts);
        let is_changed = self.built.get(&id).is_some_and(|builder| !builder.source.is_empty());
        let (Ok(stmts), true) = (stmts, is_changed) else {
            self.built.remove(&id);
            return;
        };
        let mut written = sig.clone();
        written.ident = format_ident!("fx_{}", sig.ident);
        let doc = format!(" What `{}` makes, of layers that can be frozen.", sig.ident);
        let source = quote! {
            #[allow(dead_code, private_interfaces, clippy::all, clippy::pedantic)]
            impl #owner {
                #[doc = #doc]
                #written { #(#stmts)* }
            }
        };
        self.source(id, &source);
        self.index.fns[id].block.stmts = stmts;
        if let Some(builder) = self.built.get_mut(&id) {
            builder.constructor = Some((written.ident.to_string(), block));
        }
    }

    /// What a call of a builder function is to call. In a constructor it is what makes a chain alone, so that all types stay,
    /// and where that cannot be written the call stays as it is.
    pub(super) fn called(&mut self, id: usize, site: &Site<'_>) -> Result<Option<Made>> {
        if !is_constructor(&self.index.fns[site.root]) {
            return self.lowered(id, site.root).map(Some);
        }
        if self.built.contains_key(&id) {
            return Ok(None);
        }
        let before = self.built.get(&site.root).map(|builder| builder.source.clone());
        let made = self.lowered(id, site.root).ok().filter(|made| made.structure.is_none());
        if let (None, Some(builder), Some(before)) = (&made, self.built.get_mut(&site.root), before) {
            builder.source = before;
        }
        Ok(made)
    }
}

/// Whether it is a constructor that may be replaced: a function without receiver of a `#[traceable]` impl that is of no
/// trait and has no parameters.
fn is_constructor(function: &Function) -> bool {
    let names_all = function.sig.inputs.iter().all(|input| argument(input).is_some());
    let is_plain = function.generics.params.is_empty() && function.sig.generics.params.is_empty();
    function.constructor.is_some() && names_all && is_plain
}

/// Whether the code gives a chain a closure.
pub fn has_chain_closure(block: &syn::Block) -> bool {
    !chain_closures(block).is_empty()
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
    let last = path.path.segments.last()?;
    match call.args.first() {
        Some(syn::Expr::Closure(closure)) if last.ident == "func" || last.ident == "func_t" => Some(closure),
        _ => None,
    }
}
