//! References to what derefs to a tensor, where a reference to a tensor is expected.

use fx_ir::{Code, Op};
use proc_macro2::Span;

use crate::trace::{RefKind, Result, Tracer, Ty, Unsupported, Val, asked::base, unsupported};

impl Tracer<'_> {
    /// The value as an argument for a `&Tensor`: where it is of a type of the crate that derefs to a tensor, that tensor.
    pub(in crate::trace) fn as_tensor(&mut self, value: Val, span: Span) -> Result<Val> {
        if !self.derefs(&value.ty()) {
            return Ok(value);
        }
        let mark = self.checkpoint();
        let name = self.fresh_name("held", span);
        let held = (name.to_string(), value.clone().with_ref_kind(RefKind::Value));
        let behind: syn::Expr = syn::parse_quote_spanned!(span=> *#name);
        match self.with_variables(&[held], |tracer| tracer.expr(base(&behind))) {
            Ok(behind) if behind.is_tensor() => Ok(behind),
            Ok(_) => unsupported(span, "a reference to what derefs to a tensor"),
            Err(fault) => {
                self.rollback(mark);
                self.opaque_deref(&value, &fault, span)
            }
        }
    }

    /// The tensor that a value derefs to by code that is not understood.
    fn opaque_deref(&mut self, value: &Val, fault: &Unsupported, span: Span) -> Result<Val> {
        let args = vec![self.operand(value, span)?];
        let code = Code::opaque("::fx_runtime::frozen::lent(&$0).shallow_clone()".to_owned(), fault.reason.clone());
        self.report_opaque(fault.span, &fault.reason, self.one_operation());
        Ok(self.push(Op::Rust(code), args, "behind", Ty::Tensor, span))
    }

    /// Whether a value of the type has a method of that name in the crate, or derefs to what may have it.
    pub(in crate::trace) fn has_method(&self, ty: &Ty, name: &str) -> bool {
        self.index.method(ty, name).is_some() || self.derefs(ty)
    }

    /// Whether the type is one of the crate's that implements `Deref`.
    pub(in crate::trace) fn derefs(&self, ty: &Ty) -> bool {
        let is_own = matches!(ty, Ty::Struct(_)) || self.index.is_enum(ty);
        is_own && self.index.method(ty, "deref").is_some()
    }
}
