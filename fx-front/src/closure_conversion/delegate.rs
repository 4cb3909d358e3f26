//! Builder functions without a closure of their own: they return what another one makes, or a chain of layers.

use proc_macro2::{Ident, Span};
use quote::{format_ident, quote};
use syn::{parse_quote, parse_quote_spanned};

use super::{Lowering, Made, Result, Site, kinds::returns_chain, locals::Locals, source::argument};
use crate::index::{Name, Ty};

impl Lowering<'_> {
    /// A function that returns what another one makes, or a chain of layers.
    pub(super) fn delegate(
        &mut self,
        site: &Site<'_>,
        block: &syn::Block,
        tail: &syn::Expr,
        locals: &Locals,
    ) -> Result<Made> {
        let Some(ty) = self.infer(site, tail, locals) else {
            let why = self.reason.take().unwrap_or_else(|| "what it returns is not known".to_owned());
            return Err(why);
        };
        let known = self.index.ty(&site.module, None, &ty);
        let (stmts, _) = self.lowered_stmts(site, &block.stmts)?;
        let block: syn::Block = parse_quote!({ #(#stmts)* });
        match known {
            Ty::Struct(id) if self.made.values().any(|made| made.structure == Some(id)) => {
                let owner = syn::Ident::new(&self.index.structs[id].name.clone(), Span::call_site());
                self.constructor(site, block, &owner, id)
            }
            Ty::Struct(id) => {
                let name = &self.index.structs[id].name;
                Err(format!("it makes a `{name}`; put `#[traceable]` on the impl of that"))
            }
            Ty::Leaf(kind) => Ok(self.chain(site, block, kind)),
            _ => Err("what it returns is not known".to_owned()),
        }
    }

    fn constructor(&mut self, site: &Site<'_>, block: syn::Block, owner: &Ident, id: usize) -> Result<Made> {
        let mut sig = site.sig.clone();
        let path: syn::Type =
            syn::parse_str(&format!("{}::{}", self.index.structs[id].module, owner)).map_err(|e| e.to_string())?;
        sig.output = parse_quote!(-> #path);
        let doc = format!(" What `{}` makes, as a type that can be frozen.", sig.ident);
        self.source(
            site.root,
            &quote! {
                #[allow(dead_code, private_interfaces, clippy::all, clippy::pedantic)]
                impl #path {
                    #[doc = #doc]
                    pub #sig #block
                }
            },
        );
        let call = format!("{}::{owner}::{}", self.index.structs[id].module, sig.ident);
        let ty = format!("{}::{owner}", self.index.structs[id].module);
        self.add_fn(site, Some(parse_quote!(#path)), sig, block);
        Ok(Made { ty, call, structure: Some(id) })
    }

    /// A function that makes a chain of lowered layers; of a marked one, a struct around it too.
    fn chain(&mut self, site: &Site<'_>, block: syn::Block, kind: &str) -> Made {
        let mut sig = site.sig.clone();
        sig.ident = format_ident!("fx_{}", site.sig.ident);
        let leaf = format_ident!("{kind}");
        sig.output = parse_quote!(-> ::fx_runtime::nn::#leaf);
        let doc = format!(" What `{}` makes, of layers that can be frozen.", site.sig.ident);
        self.source(
            site.root,
            &quote! {
                #[doc = #doc]
                #[allow(dead_code, private_interfaces, clippy::all, clippy::pedantic)]
                pub #sig #block
            },
        );
        let name = sig.ident.to_string();
        let takes_names = sig.inputs.iter().all(|input| argument(input).is_some());
        let id = self.add_fn(site, None, sig, block);
        if let Some(builder) = self.built.get_mut(&site.id).filter(|_| takes_names && returns_chain(site.sig)) {
            builder.chain = Some(id);
        }
        if let Some(module) = self.index.modules.get_mut(&site.module) {
            module.names.insert(name.clone(), Name::Fn(id));
        }
        Made { ty: format!("::fx_runtime::nn::{kind}"), call: format!("{}::{name}", site.module), structure: None }
    }

    /// `struct Net { layers: nn::SequentialT }` around the chain that a marked function makes.
    pub(super) fn around_chain(&mut self, id: usize, made: &Made) -> Result<usize> {
        let (sig, module) = (self.index.fns[id].sig.clone(), self.index.fns[id].module.clone());
        let site = Site { id, root: id, module, sig: &sig };
        let args: Vec<Ident> = sig
            .inputs
            .iter()
            .flat_map(|input| match input {
                syn::FnArg::Typed(typed) => crate::pattern::bound(&typed.pat),
                syn::FnArg::Receiver(_) => Vec::new(),
            })
            .map(|name| format_ident!("{name}"))
            .collect();
        let (call, ty): (syn::Path, syn::Type) = (parsed(&made.call)?, parsed(&made.ty)?);
        let with_mode = made.ty.ends_with('T');
        let span = sig.ident.span();
        let (closure, body, entry): (syn::ExprClosure, syn::Expr, _) = if with_mode {
            let closure = parse_quote_spanned!(span=> |xs, train| xs);
            (closure, parse_quote_spanned!(span=> self.layers.forward_t(xs, train)), "forward_t")
        } else {
            (parse_quote_spanned!(span=> |xs| xs), parse_quote_spanned!(span=> self.layers.forward(xs)), "forward")
        };
        let fields = [(format_ident!("layers"), ty)];
        let literal = quote!({ layers: #call(#(#args),*) });
        let made = self.write(&site, &fields, (&[], &literal), (&closure, &body, entry))?;
        made.structure.ok_or_else(|| "its struct is not known".to_owned())
    }
}

fn parsed<T: syn::parse::Parse>(text: &str) -> Result<T> {
    syn::parse_str(text).map_err(|error| error.to_string())
}
