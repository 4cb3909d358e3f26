//! Values and literals as Rust source.

use fx_ir::Arg;
use proc_macro2::Span;

use super::{Form, Result, Tracer, Ty, Val, signature::is_vec, unknown};

impl Tracer<'_> {
    /// Spells a value in a template, by value.
    pub(super) fn spell(&mut self, value: &Val, args: &mut Vec<Arg>, span: Span) -> Result<String> {
        match value {
            Val::Node(id, ..) => {
                args.push(Arg::Node(*id));
                Ok(format!("${}", args.len() - 1))
            }
            Val::Lit(arg, ty) => spell_literal(arg, ty).map_or_else(|| unknown(span, "a literal of this form"), Ok),
            Val::Tuple(parts) => {
                let parts: Result<Vec<String>> = parts.iter().map(|part| self.spell_owned(part, args, span)).collect();
                Ok(format!("({},)", parts?.join(", ")))
            }
            Val::List(items) => {
                let items: Result<Vec<String>> = items.iter().map(|item| self.spell_owned(item, args, span)).collect();
                Ok(format!("[{}]", items?.join(", ")))
            }
            Val::Some(inner) => Ok(format!("Some({})", self.spell_owned(inner, args, span)?)),
            Val::Unit => Ok("()".to_owned()),
            Val::Closure(_) | Val::Never => unknown(span, "a value that cannot be written down"),
        }
    }

    /// Spells a value as the user's code passes it on: a reference where it is one, else an own handle.
    pub(super) fn spell_owned(&mut self, value: &Val, args: &mut Vec<Arg>, span: Span) -> Result<String> {
        let text = self.spell(value, args, span)?;
        Ok(match value {
            Val::Node(_, _, Form::Ref | Form::Deep) => format!("&{text}"),
            Val::Node(_, Ty::Tensor, Form::Owned) => format!("{text}.shallow_clone()"),
            Val::Node(_, Ty::List(_), Form::Owned) => format!("{text}.clone()"),
            _ => text,
        })
    }

    /// A list that the function hands over, as its type asks for it.
    pub(super) fn result_list(&mut self, items: &[Val], ty: Option<&syn::Type>, span: Span) -> Result<Arg> {
        let (open, is_known) = match ty {
            Some(syn::Type::Array(_)) => ("[", true),
            Some(ty) => ("vec![", is_vec(ty)),
            None => ("", false),
        };
        if !is_known {
            return unknown(span, "the result is built in a form that is not understood");
        }
        let mut args = Vec::new();
        let mut spelled = Vec::new();
        for item in items {
            let text = self.spell_exactly(item, &mut args, span)?;
            spelled.push(if item.is_tensor() { format!("scope.output({text})?") } else { text });
        }
        let whole = self.host(
            &format!("{open}{}]", spelled.join(", ")),
            args,
            "list",
            Ty::List(Box::new(items.first().map_or(Ty::Unknown, Val::ty))),
            span,
        );
        whole.arg().map_or_else(|| unknown(span, "a result of this form"), Ok)
    }
}

/// A literal as Rust source.
pub(super) fn spell_literal(arg: &Arg, ty: &Ty) -> Option<String> {
    Some(match arg {
        Arg::Int(number) => match ty {
            Ty::Rust(suffix) if matches!(suffix.as_str(), "usize" | "i64" | "i32" | "u64") => {
                if *number < 0 {
                    format!("({number}{suffix})")
                } else {
                    format!("{number}{suffix}")
                }
            }
            _ if *number < 0 => format!("({number})"),
            _ => number.to_string(),
        },
        Arg::Float(number) if *number < 0.0 => format!("({number:?})"),
        Arg::Float(number) => format!("{number:?}"),
        Arg::Bool(value) => value.to_string(),
        Arg::Str(text) => format!("{text:?}"),
        Arg::None => "None".to_owned(),
        Arg::Path(path) => path.clone(),
        Arg::List(items) => {
            let items: Option<Vec<String>> = items.iter().map(|item| spell_literal(item, &Ty::Unknown)).collect();
            format!("[{}]", items?.join(", "))
        }
        Arg::Node(_) => return None,
    })
}
