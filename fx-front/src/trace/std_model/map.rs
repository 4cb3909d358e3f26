//! Maps of tensors that a forward is handed: `inputs["mask"]`, `inputs.get(name)`, `inputs.contains_key(name)`.

use fx_ir::{Arg, HostOp, scalar};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::index::is_text as is_text_type;
use crate::trace::{RefKind, Result, Tracer, Ty, Val, tensor::operator, unsupported};

impl Tracer<'_> {
    /// A method that looks into a map; `None` where it is none that is known here, or the map is not only borrowed.
    pub(in crate::trace) fn map_method(
        &mut self,
        map: &Val,
        key: &Ty,
        call: &syn::ExprMethodCall,
    ) -> Option<Result<Val>> {
        let (Val::Node(_, Ty::Map { value, .. }, RefKind::Ref), 1) = (map, call.args.len()) else { return None };
        let of = call.args.first()?;
        let name = call.method.to_string();
        let (ty, form) = match name.as_str() {
            "get" => (Ty::Option(value.clone()), RefKind::Ref),
            "contains_key" => (Ty::Rust("bool".to_owned()), RefKind::Value),
            _ => return None,
        };
        Some(self.map_key(of, key).and_then(|of| {
            let args = vec![self.operand(map, call.span())?, of];
            Ok(self.host_node(HostOp::Method(name.clone()), args, &name, ty, call.span()).with_ref_kind(form))
        }))
    }

    /// `map[key]`, a reference to what the map holds.
    pub(in crate::trace) fn map_item(&mut self, map: &Val, at: &syn::Expr, span: Span) -> Result<Val> {
        let Val::Node(_, Ty::Map { key, value, .. }, RefKind::Ref) = map else {
            return unsupported(span, "a map that is not only borrowed");
        };
        let args = vec![self.operand(map, span)?, self.map_key(at, key)?];
        let item = self.host_node(HostOp::ItemRef, args, "item", (**value).clone(), span);
        Ok(item.with_ref_kind(RefKind::Ref))
    }

    /// A key as a map takes it, by reference: a text as a `&str`.
    fn map_key(&mut self, at: &syn::Expr, key: &Ty) -> Result<Arg> {
        let (value, span) = (self.expr(at)?.behind(), at.span());
        let is_text = matches!(value.ty(), Ty::Rust(ty) if matches!(ty.trim_start_matches('&'), "str" | "String"));
        match (&value, key) {
            (Val::Lit(text @ Arg::Str(_), _), Ty::Rust(key)) if is_text_type(key) => Ok(text.clone()),
            (Val::Node(..), Ty::Rust(key)) if is_text_type(key) && is_text => {
                Ok(HostOp::Slice("..".to_owned()).on(self.operand(&value, span)?))
            }
            (value, Ty::Rust(name)) if scalar::is_integer(name) && operator::is_number(value) => {
                let value = match value {
                    Val::Lit(..) => self.of_written_type(value.clone(), key),
                    value if value.ty() == *key => value.clone(),
                    // The number of an iteration, of which only this would say the type.
                    _ => return unsupported(span, "a key of a type that is not known"),
                };
                Ok(HostOp::Ref.on(self.operand(&value, span)?))
            }
            _ => unsupported(span, "a key of this form"),
        }
    }
}
