//! `value as f64`: literals are computed, numbers are cast, a variant of an enum is the number that stands for it.

use fx_ir::{Arg, HostOp};
use quote::{ToTokens, format_ident};
use syn::{parse_quote_spanned, spanned::Spanned};

use crate::syntax::written_types::type_args;
use crate::trace::types::ty::{is_untyped, rounded};
use crate::trace::{Result, Tracer, Ty, Val, tensor::operator, unsupported};

/// The variable that stands for what is cast.
const CAST: &str = "fx_cast";

impl Tracer<'_> {
    pub(in crate::trace) fn cast(&mut self, cast: &syn::ExprCast) -> Result<Val> {
        let value = self.expr(&cast.expr)?;
        let target = cast.ty.to_token_stream().to_string();
        match (value, target.as_str()) {
            (Val::Lit(Arg::Int(number), _), "f64" | "f32") => {
                #[allow(clippy::cast_precision_loss, reason = "it is what the user's `as` does")]
                let float = number as f64;
                Ok(Val::Lit(Arg::Float(rounded(float, &target)), Ty::Rust(target)))
            }
            (Val::Lit(Arg::Float(number), ty), "f64") if ty == Ty::Rust("f64".to_owned()) || is_untyped(&ty) => {
                Ok(Val::Lit(Arg::Float(number), Ty::Rust(target)))
            }
            (Val::Lit(arg @ Arg::Int(_), _), "i64") => Ok(Val::Lit(arg, Ty::Rust(target))),
            (value, "Tensor") if value.is_tensor() => Ok(value),
            // A function is the same behind a pointer.
            (value @ (Val::Lit(Arg::Path(_), _) | Val::Closure(..)), _) if self.is_function_type(&cast.ty) => Ok(value),
            (value @ (Val::Closure(..) | Val::Chosen(_)), _) if is_object(&cast.ty) => Ok(value),
            // `&[] as &[i64]`, which says of what an empty list is.
            (value @ Val::List(_), _) if matches!(&*cast.ty, syn::Type::Reference(_) | syn::Type::Array(_)) => {
                let ty = self.index.ty(self.module(), self.function().owner.as_ref(), &cast.ty);
                Ok(self.of_written_type(value, &ty))
            }
            (value, _) if !operator::is_number(&value) => match self.choice_of_number(&value.ty(), cast) {
                Some(choice) => self.with_variables(&[(CAST.to_owned(), value)], |tracer| tracer.expr(&choice)),
                None => unsupported(cast.span(), "a cast of a value whose type is not known"),
            },
            (value, _) => {
                let args = vec![self.operand(&value, cast.span())?];
                Ok(self.host_node(HostOp::Cast(target.clone()), args, "cast", Ty::Rust(target), cast.span()))
            }
        }
    }

    /// `match mode { Mode::A => Mode::A as i64, .. }` for the cast of an enum of the crate; `None` where a variant has fields, or
    /// the type is another.
    fn choice_of_number(&self, ty: &Ty, cast: &syn::ExprCast) -> Option<syn::Expr> {
        let (span, target, subject) = (cast.span(), &cast.ty, format_ident!("{CAST}", span = cast.span()));
        let (Ty::Rust(of), variants) = (ty, self.index.variants(ty)?) else { return None };
        let of: syn::Path = syn::parse_str(of).ok()?;
        let arms = variants.iter().map(|variant| {
            let name = variant.fields.is_empty().then(|| format_ident!("{}", variant.name, span = span))?;
            let arm: syn::Arm = parse_quote_spanned!(span=> #of::#name => #of::#name as #target,);
            Some(arm)
        });
        let arms = arms.collect::<Option<Vec<syn::Arm>>>()?;
        Some(parse_quote_spanned!(span=> match #subject { #(#arms)* }))
    }
}

/// Whether the type is one of trait objects, behind a reference or in a box.
fn is_object(ty: &syn::Type) -> bool {
    match ty {
        syn::Type::Reference(reference) => matches!(*reference.elem, syn::Type::TraitObject(_)),
        syn::Type::Path(path) => type_args(&path.path).any(|ty| matches!(ty, syn::Type::TraitObject(_))),
        _ => false,
    }
}
