//! Values and literals as Rust source.

use fx_ir::{Arg, Op, scalar};
use proc_macro2::Span;

use super::{Form, Result, Tracer, Ty, Val, expr::is_copy, signature::is_vec, unknown};

impl Tracer<'_> {
    /// How the type is written in generated code; `None` where that cannot name it.
    pub(super) fn spelling(&self, ty: &Ty) -> Option<String> {
        self.index.named_from(self.home(), &self.index.spelling(ty)?)
    }

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
            Val::Fields(..) => self.spell_fields(value, args, span),
            Val::Closure(..) | Val::Iter(..) | Val::Lent(..) | Val::Place(_) | Val::Never => {
                unknown(span, "a value that cannot be written down")
            }
        }
    }

    /// Spells a value as the user's code passes it on: a reference where it is one, else an own handle.
    pub(super) fn spell_owned(&mut self, value: &Val, args: &mut Vec<Arg>, span: Span) -> Result<String> {
        let text = self.spell(value, args, span)?;
        Ok(match value {
            Val::Node(_, _, Form::Ref | Form::Deep) => format!("&{text}"),
            Val::Node(_, Ty::Tensor, Form::Owned) => format!("{text}.shallow_clone()"),
            Val::Node(_, ty @ Ty::List(element), Form::Owned) if !is_copy(element) => {
                self.copy_of(ty, &text).unwrap_or_else(|| format!("{text}.clone()"))
            }
            Val::Node(_, Ty::List(_), Form::Owned) => format!("{text}.clone()"),
            _ => text,
        })
    }

    /// The value where the user's code says of which type it is: a number without a suffix is of that type.
    pub(super) fn of_written_type(&mut self, value: Val, ty: &Ty) -> Val {
        if let (Val::List(items), Ty::List(element)) = (&value, ty) {
            return Val::List(items.iter().map(|item| self.of_written_type(item.clone(), element)).collect());
        }
        let Ty::Rust(name) = ty else { return value };
        let is_float = scalar::is_float(name);
        if !is_untyped(&value.ty()) || !(is_float || scalar::is_integer(name)) {
            return value;
        }
        match value {
            Val::Lit(Arg::Float(number), _) if is_float => Val::Lit(Arg::Float(rounded(number, name)), ty.clone()),
            Val::Lit(arg @ Arg::Int(_), _) if !is_float => Val::Lit(arg, ty.clone()),
            Val::Node(id, _, form) => {
                let node = self.graph.node_mut(id);
                match &mut node.op {
                    Op::Rust(code) if code.opaque.is_none() && !code.fallible => {
                        code.template = format!("{{ let typed: {name} = {}; typed }}", code.template);
                        node.ty = self.index.ir_type(ty);
                    }
                    // The number of a turn, which is of the type that its reader says.
                    Op::Placeholder => {
                        let (template, span) = (format!("{{ let typed: {name} = $0; typed }}"), Span::call_site());
                        return self.host(&template, vec![id.into()], "number", ty.clone(), span);
                    }
                    _ => {}
                }
                Val::Node(id, ty.clone(), form)
            }
            other => other,
        }
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

/// A float with the suffix of its type, where that is known.
fn spell_float(number: f64, ty: &Ty) -> String {
    match ty {
        Ty::Rust(suffix) if suffix == "f32" => {
            #[allow(clippy::cast_possible_truncation, reason = "a literal of that type was rounded when it was read")]
            let single = number as f32;
            format!("{single:?}_f32")
        }
        Ty::Rust(suffix) if suffix == "f64" => format!("{number:?}_f64"),
        _ => format!("{number:?}"),
    }
}

/// Is it the type of a literal without a suffix, which the code around it decides?
pub(super) fn is_untyped(ty: &Ty) -> bool {
    matches!(ty, Ty::Rust(name) if name == "integer" || name == "float")
}

/// The float that Rust reads in a literal of that type.
pub(super) fn rounded(number: f64, ty: &str) -> f64 {
    #[allow(clippy::cast_possible_truncation, reason = "it is what rustc does with the literal")]
    let single = number as f32;
    if ty == "f32" { f64::from(single) } else { number }
}

/// A literal as Rust source.
pub(super) fn spell_literal(arg: &Arg, ty: &Ty) -> Option<String> {
    Some(match arg {
        Arg::Int(number) => match ty {
            Ty::Rust(suffix) if scalar::is_integer(suffix) => {
                if *number < 0 {
                    format!("({number}{suffix})")
                } else {
                    format!("{number}{suffix}")
                }
            }
            _ if *number < 0 => format!("({number})"),
            _ => number.to_string(),
        },
        Arg::Float(number) => {
            let text = spell_float(*number, ty);
            if number.is_sign_negative() { format!("({text})") } else { text }
        }
        Arg::Bool(value) => value.to_string(),
        Arg::Str(text) => format!("{text:?}"),
        Arg::None => "None".to_owned(),
        Arg::Path(path) => path.clone(),
        Arg::List(items) => {
            let items: Option<Vec<String>> = items.iter().map(|item| spell_literal(item, &Ty::Unknown)).collect();
            format!("[{}]", items?.join(", "))
        }
        Arg::Node(_) | Arg::Expr(_) => return None,
    })
}
