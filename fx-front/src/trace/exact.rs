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
            _ => unknown(span, "code that mentions a value whose type is not known for sure"),
        }
    }

    /// Is it what a tensor says of itself, a `Vec` for sure?
    fn is_vec(&self, id: NodeId) -> bool {
        matches!(&self.graph.node(id).op, Op::Rust(code) if [".size()", ".stride()", ".to_vec()"].iter().any(|end| code.template.ends_with(end)))
    }
}

/// A second value like the one that is there, made of second handles on its tensors.
fn copy_of(ty: &Ty, place: &str) -> Option<String> {
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
