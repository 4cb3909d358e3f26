//! Opaque code that leaves the user's function with an error: it becomes a closure of its own, out of whose `Result` the
//! value is taken.

use quote::ToTokens;

use crate::syntax::effects::{calls_macro, escape, leaves_with_errors};
use crate::syntax::mentions;
use crate::trace::opaque::template::value_name;
use crate::trace::{Result, Tracer, Ty, Unsupported, unsupported};

/// What a closure around opaque code returns, as the user's function does.
#[derive(Clone, Debug)]
pub(in crate::trace) struct FailingCode {
    /// `anyhow::Result<_>`: of any value, with the error of the user's function.
    result: String,
}

impl FailingCode {
    /// A call of a closure with this code.
    pub(in crate::trace) fn closure(&self, code: &str) -> String {
        format!("(|| -> {} {{ ::std::result::Result::Ok({code}) }})()", self.result)
    }

    /// The same, which hands over the variables behind the value; with the type of the value where the user writes it.
    pub(in crate::trace) fn template(&self, code: &str, ty: &str, written: &[String]) -> String {
        let value = value_name(written);
        let whole = format!("({value}, {},)", written.join(", "));
        format!("(|| -> {} {{\nlet {value}{ty} = {code};\n::std::result::Result::Ok({whole})\n}})()", self.result)
    }
}

impl Tracer<'_> {
    /// What a closure around the code returns, where the code leaves the function with an error; none where it stays. A
    /// fault where it leaves in any other way.
    pub(in crate::trace) fn failing(&self, expr: &syn::Expr, fault: &Unsupported) -> Result<Option<FailingCode>> {
        let of_crate = calls_macro(expr, &self.index.returning_macros);
        let Some(leaves) = escape(expr).or(of_crate) else { return Ok(None) };
        if matches!(expr, syn::Expr::Return(_) | syn::Expr::Break(_) | syn::Expr::Continue(_)) {
            return unsupported(fault.span, fault.reason.clone());
        }
        // Where code around a call may look at its error, the error must not leave the frozen model.
        let is_error = of_crate.is_none() && leaves_with_errors(expr) && self.errors_propagate();
        match self.result_of_function().filter(|_| is_error) {
            Some(result) => Ok(Some(FailingCode { result })),
            None => unsupported(leaves, fault.reason.clone()),
        }
    }

    /// The type that the function returns, with any value in it: `Result<_, MyError>`. None where it is no `Result`, or where
    /// its error is a parameter of the function.
    fn result_of_function(&self) -> Option<String> {
        let function = self.function();
        let syn::ReturnType::Type(_, output) = &function.sig.output else { return None };
        let (syn::Type::Path(path), Ty::Result(_)) = (&**output, self.index.ty(self.module(), None, output)) else {
            return None;
        };
        let mut path = path.clone();
        let last = path.path.segments.last_mut()?;
        let syn::PathArguments::AngleBracketed(list) = &mut last.arguments else { return None };
        let value = list.args.first_mut().filter(|first| matches!(first, syn::GenericArgument::Type(_)))?;
        *value = syn::GenericArgument::Type(syn::parse_quote!(_));
        let own = syn::Ident::new("Self", proc_macro2::Span::call_site());
        let params = function.sig.generics.type_params().map(|param| &param.ident).chain([&own]);
        let is_open = params.into_iter().any(|name| mentions(&path, name));
        let result = self.requalified_type(&syn::Type::Path(path)).ok().filter(|_| !is_open)?;
        Some(result.to_token_stream().to_string())
    }
}
