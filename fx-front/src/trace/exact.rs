//! A value as the user's variable holds it, of the very type: what carried code and the user's own structs are given.

use fx_ir::{Arg, NodeId, Op};
use proc_macro2::Span;

use super::{Form, Result, Tracer, Ty, Val, expr::is_copy, unknown};

impl Tracer<'_> {
    /// A value as the user's variable holds it; a fault where that is not known.
    pub(super) fn spell_exactly(&mut self, value: &Val, args: &mut Vec<Arg>, span: Span) -> Result<String> {
        match value {
            Val::Node(_, _, Form::Deep) => unknown(span, "code that mentions a reference to a reference"),
            Val::Node(_, ty, _) if *ty == Ty::Tensor || is_copy(ty) => self.spell_owned(value, args, span),
            Val::Lit(arg, ty) if *arg != Arg::None && *ty != Ty::Unknown => self.spell_owned(value, args, span),
            Val::Lit(Arg::Path(_), _) => self.spell_owned(value, args, span),
            Val::Tuple(parts) => {
                let parts: Result<Vec<String>> =
                    parts.iter().map(|part| self.spell_exactly(part, args, span)).collect();
                Ok(format!("({},)", parts?.join(", ")))
            }
            Val::Some(inner) => Ok(format!("Some({})", self.spell_exactly(inner, args, span)?)),
            Val::Node(id, Ty::List(element), _) if is_copy(element) && self.is_vec(*id) => {
                args.push(Arg::Node(*id));
                Ok(format!("${}.to_vec()", args.len() - 1))
            }
            Val::Node(id, ty, Form::Owned) if self.is_own_place(value) => {
                let Some(copy) = copy_of(ty, &format!("${}", args.len())) else {
                    return unknown(span, "code that mentions a value whose type is not known for sure");
                };
                args.push(Arg::Node(*id));
                Ok(copy)
            }
            Val::Node(id, ty, _) if self.is_made_field(*id) => {
                let Some(copy) = copy_of(ty, &format!("${}", args.len())) else {
                    return unknown(span, "code that mentions a value whose type is not known for sure");
                };
                args.push(Arg::Node(*id));
                Ok(copy)
            }
            _ => unknown(span, "code that mentions a value whose type is not known for sure"),
        }
    }

    /// Is it a field of a struct of the crate that the forward has made, of values of its own in `Vec`s and options?
    pub(super) fn is_made_field(&self, id: NodeId) -> bool {
        let node = self.graph.node(id);
        let Op::GetAttr(name) = &node.op else { return false };
        let Some(base) = node.input(0).filter(|base| !self.paths.contains_key(base)) else { return false };
        let fx_ir::Type::Module(owner) = &self.graph.node(base).ty else { return false };
        let owner = self.index.struct_at(owner);
        owner.and_then(|owner| self.index.field(owner, name)).is_some_and(|field| is_plain(&field.ty))
    }

    /// Is it what a tensor says of itself, a `Vec` for sure?
    pub(super) fn is_vec(&self, id: NodeId) -> bool {
        matches!(&self.graph.node(id).op, Op::Rust(code) if [".size()", ".stride()", ".to_vec()"].iter().any(|end| code.template.ends_with(end)))
    }
}

/// Is it written with `Vec`, `Option` and tuples alone around tensors and numbers?
fn is_plain(ty: &syn::Type) -> bool {
    match ty {
        syn::Type::Tuple(parts) => parts.elems.iter().all(is_plain),
        syn::Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return false };
            let name = last.ident.to_string();
            match &last.arguments {
                syn::PathArguments::AngleBracketed(list) if name == "Vec" || name == "Option" => {
                    list.args.iter().all(|arg| matches!(arg, syn::GenericArgument::Type(ty) if is_plain(ty)))
                }
                syn::PathArguments::None => name == "Tensor" || fx_ir::scalar::is_scalar(&name),
                _ => false,
            }
        }
        _ => false,
    }
}

/// A second value like the one that is there, made of second handles on its tensors.
pub(super) fn copy_of(ty: &Ty, place: &str) -> Option<String> {
    Some(match ty {
        Ty::Tensor => format!("{place}.shallow_clone()"),
        ty if is_copy(ty) => format!("{place}.clone()"),
        Ty::List(element) if is_copy(element) => format!("{place}.to_vec()"),
        Ty::List(element) => format!("{place}.iter().map(|one| {}).collect::<Vec<_>>()", copy_of(element, "one")?),
        Ty::Option(inner) => format!("{place}.as_ref().map(|one| {})", copy_of(inner, "one")?),
        Ty::Tuple(parts) => {
            let parts = parts.iter().enumerate().map(|(at, part)| copy_of(part, &format!("{place}.{at}")));
            format!("({},)", parts.collect::<Option<Vec<String>>>()?.join(", "))
        }
        _ => return None,
    })
}
