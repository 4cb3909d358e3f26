//! `f64::try_from(tensor)` and `Vec::<f64>::try_from(tensor)`: the numbers that a tensor holds; `half::f16::MAX.to_f64()`.

use fx_ir::{Arg, HostOp};
use syn::{Expr, parse_quote_spanned, spanned::Spanned};

use crate::index::Resolved;
use crate::trace::{
    Result, Tracer, Ty, Val,
    std_model::convert::{by_try_from, is_conversion},
    tensor::const_fold,
    types::expectation::Expectation,
};

/// What a tensor of one element is read as.
const NUMBERS: [&str; 8] = ["bool", "f64", "f32", "i64", "i32", "i16", "i8", "u8"];

impl Tracer<'_> {
    /// `half::f16::MAX.to_f64()`; `None` for a method of anything else.
    pub(in crate::trace) fn number_of_half(&self, receiver: &Val, method: &str) -> Option<Val> {
        let Val::Lit(Arg::Path(path), _) = receiver else { return None };
        match self.index.resolve(self.module(), path) {
            Resolved::External(full) => const_fold::half(&full, method),
            Resolved::Item(..) => None,
        }
    }

    /// `value.try_into().unwrap()` whose type is known, as a call of `try_from`; `None` for anything else.
    pub(in crate::trace) fn by_try_from(
        &self,
        call: &syn::ExprMethodCall,
        expected: Option<&Expectation>,
    ) -> Option<syn::ExprMethodCall> {
        let ty = expected.map(|expected| self.expected_ty(expected));
        by_try_from(call, ty.as_ref()).or_else(|| self.tensor_by_try_from(call, expected))
    }

    /// The same of what a tensor holds.
    fn tensor_by_try_from(
        &self,
        call: &syn::ExprMethodCall,
        expected: Option<&Expectation>,
    ) -> Option<syn::ExprMethodCall> {
        let Expr::MethodCall(inner) = &*call.receiver else { return None };
        let (expected, tensor) = (expected.filter(|_| is_conversion(call))?, &inner.receiver);
        let (number, is_list) = match self.expected_ty(expected) {
            Ty::Rust(number) => (number, false),
            Ty::List(held) if expected.is_vec() => match *held {
                Ty::Rust(number) => (number, true),
                _ => return None,
            },
            _ => return None,
        };
        if !NUMBERS.contains(&number.as_str()) || self.infer_ty(tensor) != Ty::Tensor {
            return None;
        }
        let number = syn::Ident::new(&number, inner.method.span());
        let receiver = if is_list {
            parse_quote_spanned!(inner.span()=> ::std::vec::Vec::<#number>::try_from(#tensor))
        } else {
            parse_quote_spanned!(inner.span()=> #number::try_from(#tensor))
        };
        Some(syn::ExprMethodCall { receiver: Box::new(receiver), ..call.clone() })
    }

    /// `f64::try_from(tensor)` and `Vec::<f64>::try_from(tensor)`: what a tensor holds; `None` for any other call.
    pub(in crate::trace) fn number_of_tensor(
        &mut self,
        full: &str,
        call: &syn::ExprCall,
        args: &[&Expr],
    ) -> Result<Option<Val>> {
        let (Some(of), [tensor]) = (full.strip_suffix("::try_from"), args) else { return Ok(None) };
        let (number, is_list) = match of {
            "Vec" | "std::vec::Vec" => (element(&call.func), true),
            number => (Some(number.to_owned()), false),
        };
        let Some(number) = number.filter(|number| NUMBERS.contains(&number.as_str())) else { return Ok(None) };
        let mark = self.checkpoint();
        let value = self.expr(tensor)?;
        let (true, Some(id)) = (value.is_tensor(), value.node()) else {
            self.rollback(mark);
            return Ok(None);
        };
        let number_ty = Ty::Rust(number.clone());
        let (of, ty) = if is_list {
            (format!("::std::vec::Vec::<{number}>"), Ty::List(Box::new(number_ty)))
        } else {
            (number, number_ty)
        };
        let ty = Ty::Result(Box::new(ty));
        Ok(Some(self.host_node(HostOp::TryFrom(of), vec![Arg::Node(id)], "number", ty, call.span())))
    }
}

/// The type of the elements in `Vec::<f64>::try_from`.
fn element(function: &Expr) -> Option<String> {
    let Expr::Path(path) = function else { return None };
    let last = path.path.segments.iter().rev().nth(1)?;
    let syn::PathArguments::AngleBracketed(list) = &last.arguments else { return None };
    let Some(syn::GenericArgument::Type(syn::Type::Path(number))) = list.args.first() else { return None };
    number.path.get_ident().map(ToString::to_string)
}
