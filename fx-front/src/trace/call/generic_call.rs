//! Functions of open types: what code in them that is not understood means, only a call says.

use crate::index::{Function, Ty};
use crate::syntax::written_types::{names_trait, typed_params};
use crate::trace::{Result, Tracer, Val, unsupported};

/// Traits by which a value becomes one of another type, which generated code would have to name.
const CONVERSIONS: [&str; 7] = ["Into", "From", "TryInto", "TryFrom", "Default", "FromStr", "AsRef"];

impl Tracer<'_> {
    /// Refuses to trace a function of open types in place that holds code which is not understood: so many pieces of it were
    /// told of before.
    pub(in crate::trace) fn keeps_types(&self, callee: &Function, told: usize) -> Result<()> {
        match self.opaque.get(told).filter(|_| is_open(callee) || self.is_counted(callee)) {
            Some(piece) => unsupported(piece.diagnostic.span, piece.reason.clone()),
            None => Ok(()),
        }
    }

    /// The constant parameters of the function with what the call puts in for them: `twice::<2>(&xs)`.
    pub(in crate::trace) fn constant_arguments(&mut self, callee: &Function, called: &syn::Expr) -> Vec<(String, Val)> {
        let syn::Expr::Path(path) = called else { return Vec::new() };
        let Some(syn::PathArguments::AngleBracketed(list)) = path.path.segments.last().map(|last| &last.arguments)
        else {
            return Vec::new();
        };
        let is_lifetime = |one: &&syn::GenericArgument| matches!(one, syn::GenericArgument::Lifetime(_));
        let params = callee.sig.generics.params.iter().filter(|param| !matches!(param, syn::GenericParam::Lifetime(_)));
        let mut constants = Vec::new();
        for (param, given) in params.zip(list.args.iter().filter(|one| !is_lifetime(one))) {
            let syn::GenericParam::Const(param) = param else { continue };
            let value = match given {
                syn::GenericArgument::Const(value) => self.expr(value).ok(),
                // A constant parameter of the caller's, or a constant.
                syn::GenericArgument::Type(syn::Type::Path(name)) => self
                    .expr(&syn::Expr::Path(syn::ExprPath { attrs: Vec::new(), qself: None, path: name.path.clone() }))
                    .ok(),
                _ => None,
            };
            let ty = self.index.ty(&callee.module, None, &param.ty);
            if let Some(Val::Lit(value, _)) = value {
                constants.push((param.ident.to_string(), Val::Lit(value, ty)));
            }
        }
        constants
    }

    /// Whether the function is one of a type with constant parameters, for which something is put in.
    fn is_counted(&self, callee: &Function) -> bool {
        let owner = callee.owner.as_ref().map(|owner| self.index.ty(&callee.module, None, owner));
        let Some(Ty::Struct(id)) = owner else { return false };
        let of = self.index.structs[id].instance.as_ref().map(|instance| &self.index.structs[instance.of]);
        of.is_some_and(|generic| generic.generics.const_params().next().is_some())
    }
}

/// Whether a parameter of the function, or of its type, is a constant or something that is converted.
fn is_open(callee: &Function) -> bool {
    let params = callee.sig.generics.params.iter().chain(&callee.generics.params);
    let bounds =
        |bounds: &syn::punctuated::Punctuated<syn::TypeParamBound, syn::Token![+]>| bounds.iter().any(converts);
    let by_argument =
        typed_params(&callee.sig).any(|typed| matches!(&*typed.ty, syn::Type::ImplTrait(of) if bounds(&of.bounds)));
    let clauses = [&callee.sig.generics.where_clause, &callee.generics.where_clause];
    let by_clause =
        clauses.into_iter().flatten().flat_map(|clause| &clause.predicates).any(|predicate| match predicate {
            syn::WherePredicate::Type(of) => bounds(&of.bounds),
            _ => false,
        });
    let by_param = params.into_iter().any(|param| match param {
        syn::GenericParam::Type(param) => bounds(&param.bounds),
        syn::GenericParam::Const(_) => true,
        syn::GenericParam::Lifetime(_) => false,
    });
    by_argument || by_clause || by_param
}

fn converts(bound: &syn::TypeParamBound) -> bool {
    CONVERSIONS.iter().any(|name| names_trait(bound, name))
}
