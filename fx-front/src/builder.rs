//! What a `Sequential` holds, read from the constructor that builds it.
//!
//! A `Sequential` says at run time only that it holds modules. Which ones, its builder says in the source:
//! `nn::seq().add(nn::batch_norm2d(..)).add(nn::conv2d(..))`. What is read here is checked again when a model is
//! frozen, so a builder that is misread is an error with both types named, never a wrong result.

mod choices;
mod made;
mod read;
mod syntax;

use quote::ToTokens;

use crate::index::{Index, Ty};
use crate::syntax::path_text;

/// One step of a chain of layers.
#[derive(Clone, Debug, PartialEq)]
pub enum Layer {
    /// A module of this type.
    Module(Ty),
    /// A closure that needs nothing but its input, and the place in the source at which it is added.
    Closure(Box<syn::ExprClosure>, String),
    /// One layer that is a chain itself, of this type and of these layers.
    Chain(&'static str, Vec<Layer>),
    /// These layers, any number of times.
    Repeat(Vec<Layer>),
    /// These layers, or none.
    Optional(Vec<Layer>),
    /// The first or the second.
    Either(Vec<Layer>, Vec<Layer>),
}

impl Layer {
    /// Whether it is one layer, however the chain was built.
    pub fn is_one(&self) -> bool {
        matches!(self, Layer::Module(_) | Layer::Closure(..) | Layer::Chain(..))
    }
}

/// The layers of the field `field` of a struct, if every constructor can be read.
pub fn layers(index: &Index, owner: usize, field: &str) -> Option<Vec<Layer>> {
    let mut found: Option<Vec<Layer>> = None;
    for function in &index.fns {
        let reader = read::Reader::of(index, function);
        let makes = |path: &syn::Path| {
            let text = path_text(path);
            let ty = syn::parse_str::<syn::Type>(&text).ok();
            ty.is_some_and(|ty| index.ty(&function.module, function.owner.as_ref(), &ty) == Ty::Struct(owner))
        };
        for value in values(&function.block, field, &makes) {
            let chain = reader.chain(&value?, &reader.lets(&function.block), 16)?;
            found = Some(match found {
                Some(known) if known != chain => choices::either(known, chain),
                _ => chain,
            });
        }
    }
    found
}

/// What the function puts into the field where it makes a struct that `makes` accepts; none where it does not say so.
fn values(block: &syn::Block, field: &str, makes: &dyn Fn(&syn::Path) -> bool) -> Vec<Option<syn::Expr>> {
    struct Find<'m> {
        field: &'m str,
        makes: &'m dyn Fn(&syn::Path) -> bool,
        found: Vec<Option<syn::Expr>>,
    }
    impl<'ast> syn::visit::Visit<'ast> for Find<'_> {
        fn visit_expr_struct(&mut self, literal: &'ast syn::ExprStruct) {
            if (self.makes)(&literal.path) {
                let mut fields = literal.fields.iter();
                let value = fields.find(|value| value.member.to_token_stream().to_string() == self.field);
                self.found.push(value.map(|value| value.expr.clone()));
            }
            syn::visit::visit_expr_struct(self, literal);
        }
        fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
            if let (Ok(at), syn::Expr::Path(path)) = (self.field.parse::<usize>(), &*call.func)
                && (self.makes)(&path.path)
            {
                self.found.push(call.args.get(at).cloned());
            }
            syn::visit::visit_expr_call(self, call);
        }
    }
    let mut find = Find { field, makes, found: Vec::new() };
    syn::visit::Visit::visit_block(&mut find, block);
    find.found
}
