//! `f64::try_from(tensor)` and `Vec::<f64>::try_from(tensor)`: the numbers that a tensor holds; `half::f16::MAX.to_f64()`.

use fx_ir::{Arg, HostOp};
use syn::{Expr, spanned::Spanned};

use crate::index::Resolved;
use crate::trace::{Result, Tracer, Ty, Val, tensor::const_fold};

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
