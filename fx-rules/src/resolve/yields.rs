//! The types of the parts of a rule, as far as is known: tensors, numbers, lists.

use fx_ir::{OpId, catalog};

use super::Resolver;
use crate::term::{Kind, Literal, Pat, Tmpl, Yields};
use fx_ir::LayerRow;
use fx_ir::layers::FieldType;

impl Resolver<'_> {
    /// The type of a part of a pattern.
    pub(crate) fn pat_yields(&self, pat: &Pat) -> Yields {
        match pat {
            Pat::Any | Pat::Optional(_) | Pat::Rest(_) => Yields::Unknown,
            Pat::Collect(slot) if self.captures[*slot].kind == Kind::Tensors => Yields::Tensor,
            Pat::Collect(_) => Yields::Number,
            Pat::Capture(slot) => yields_of(&self.captures[*slot].kind),
            Pat::Literal(literal) => literal_yields(literal),
            Pat::List(_) => Yields::List,
            Pat::Call(op, _) => op_yields(*op),
            Pat::Operator(..) | Pat::Module(..) => Yields::Tensor,
            Pat::Field(slot, path) => self.field_yields(*slot, path),
            Pat::Either(parts) => parts.first().map_or(Yields::Unknown, |first| self.pat_yields(first)),
            Pat::Named(_, inner) | Pat::Repeat(inner) => self.pat_yields(inner),
        }
    }

    fn field_yields(&self, slot: usize, path: &[String]) -> Yields {
        let Kind::Module(kind) = &self.captures[slot].kind else { return Yields::Unknown };
        let mut fields = LayerRow::of_type(kind).map_or(&[][..], |row| row.fields);
        let mut last = Yields::Unknown;
        for name in path {
            let Some(field) = fields.iter().find(|field| field.name == name) else { return Yields::Unknown };
            last = match field.ty {
                FieldType::Tensor => Yields::Tensor,
                FieldType::OptTensor => Yields::OptTensor,
                FieldType::Rust("f64" | "i64") => Yields::Number,
                FieldType::Rust(_) => Yields::Unknown,
                FieldType::Config(inner) => {
                    fields = inner.fields;
                    Yields::Unknown
                }
            };
        }
        last
    }

    /// The type of a part of a replacement.
    pub(crate) fn yields(&self, tmpl: &Tmpl) -> Yields {
        match tmpl {
            Tmpl::Capture(slot) if self.captures[*slot].is_typed || self.captures[*slot].kind != Kind::Value => {
                yields_of(&self.captures[*slot].kind)
            }
            Tmpl::Let(at) => self.lets.get(*at).map_or(Yields::Unknown, |(_, value)| self.yields(value)),
            Tmpl::Literal(literal) => literal_yields(literal),
            Tmpl::List(_) => Yields::List,
            Tmpl::Call(op, _) => op_yields(*op),
            Tmpl::Operator(_, parts) => match [self.yields(&parts[0]), self.yields(&parts[1])] {
                [Yields::Number, Yields::Number] => Yields::Number,
                [Yields::Tensor, _] | [_, Yields::Tensor] => Yields::Tensor,
                _ => Yields::Unknown,
            },
            Tmpl::Neg(inner) => self.yields(inner),
            Tmpl::Field(_, path) => match path.last().map(|(_, ty)| *ty) {
                Some(FieldType::Tensor) => Yields::Tensor,
                Some(FieldType::OptTensor) => Yields::OptTensor,
                Some(FieldType::Rust("f64" | "i64")) => Yields::Number,
                _ => Yields::Unknown,
            },
            Tmpl::Rust { tensors, .. } if *tensors > 1 => Yields::Tuple(*tensors),
            Tmpl::Rust { ty: Some(ty), .. } => match ty.as_str() {
                "f64" | "i64" | "usize" => Yields::Number,
                _ => Yields::Unknown,
            },
            Tmpl::Rust { .. } | Tmpl::Module(..) | Tmpl::Part(..) | Tmpl::Or(_) => Yields::Tensor,
            Tmpl::Capture(_) | Tmpl::Computed(_) | Tmpl::Splice(_) | Tmpl::Expr(..) => Yields::Unknown,
        }
    }
}

fn yields_of(kind: &Kind) -> Yields {
    match kind {
        Kind::Value => Yields::Unknown,
        Kind::Tensor => Yields::Tensor,
        Kind::Float | Kind::Int => Yields::Number,
        Kind::Bool => Yields::Bool,
        Kind::Ints | Kind::Tensors => Yields::List,
        Kind::Module(_) => Yields::Layer,
    }
}

fn literal_yields(literal: &Literal) -> Yields {
    match literal {
        Literal::Int(_) | Literal::Float(_) => Yields::Number,
        Literal::Bool(_) => Yields::Bool,
        Literal::Str(_) => Yields::Str,
        Literal::Absent => Yields::Nothing,
        Literal::Path(_) => Yields::Unknown,
    }
}

fn op_yields(op: OpId) -> Yields {
    use catalog::Results;
    match op.entry().map(|entry| entry.results) {
        Some(Results::Tensor) | None => Yields::Tensor,
        Some(Results::Tensors(count)) => Yields::Tuple(usize::from(count)),
        Some(Results::TensorList | Results::IntList) => Yields::List,
        Some(Results::Int | Results::Usize | Results::Float) => Yields::Number,
        Some(Results::Bool) => Yields::Bool,
        _ => Yields::Unknown,
    }
}
