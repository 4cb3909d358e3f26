//! The parameters of an op, and the expression that is given for each.

use fx_front::{diag::Code, report::Faults};
use fx_ir::{Effect, OpId, catalog, catalog::Kind, nearest_op};
use proc_macro2::Ident;
use syn::Expr;

/// An op with its parameters, the receiver among them.
#[derive(Clone)]
pub(crate) struct Schema {
    pub(crate) op: OpId,
    pub(crate) params: Vec<ParamInfo>,
}

/// One parameter.
#[derive(Clone)]
pub(crate) struct ParamInfo {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) default: Option<fx_ir::Arg>,
}

/// `(position, expression)` for every argument that is written.
pub(crate) type Given<'e> = Vec<(usize, &'e Expr)>;

impl Schema {
    /// The op of that name, reported at `name` if there is none.
    pub(crate) fn of(name: &Ident, text: &str, faults: &mut Faults) -> Option<Schema> {
        let Some(op) = OpId::lookup(text) else {
            let help = match nearest_op(text) {
                Some(near) => format!("the nearest is `{near}`"),
                None => "ops are named as in ATen or as the methods of `Tensor`".to_owned(),
            };
            faults.push(Code::UnknownOp, name, &format!("there is no op `{text}`"), &help);
            return None;
        };
        Some(Schema { op, params: params_of(op) })
    }

    /// Reports an op with an effect; one that draws random numbers has none where it is told not to.
    fn check_effect(&self, at: &Ident, given: &Given<'_>, faults: &mut Faults) -> Option<()> {
        let effect = match self.op.effect() {
            Effect::Pure => return Some(()),
            Effect::Random if given.iter().any(|&(position, expr)| self.silences(position, expr)) => return Some(()),
            Effect::Random => "draws random numbers",
            Effect::InPlace(_) => "writes to its operand",
            Effect::State | Effect::Io => "has an effect",
        };
        let functional = self.op.row().and_then(|row| row.functional);
        let help = functional.map_or_else(
            || "what has an effect is never moved, merged or dropped; a pass written in Rust can".to_owned(),
            |functional| format!("`{functional}` matches it wherever nobody can see the write"),
        );
        faults.push(Code::RuleEffect, at, &format!("`{}` {effect} and cannot stand in a rule", self.op), &help);
        None
    }

    /// `train = false` or `dropout_p = 0.0`
    fn silences(&self, position: usize, expr: &Expr) -> bool {
        use crate::term::Literal;
        let literal = super::literal::literal(expr);
        match self.params.get(position).map(|param| param.name) {
            Some("train") => literal == Some(Literal::Bool(false)),
            Some("dropout_p") => matches!(literal, Some(Literal::Float(0.0) | Literal::Int(0))),
            _ => false,
        }
    }

    /// The expression that is given for each parameter; `receiver` is the first.
    pub(crate) fn assign<'e>(
        &self,
        at: &Ident,
        receiver: Option<&'e Expr>,
        args: impl IntoIterator<Item = &'e Expr>,
        faults: &mut Faults,
    ) -> Option<Given<'e>> {
        let mut given: Given<'e> = Vec::new();
        let mut next = 0;
        for arg in receiver.into_iter().chain(args) {
            match arg {
                Expr::Assign(named) => given.push((self.named(&named.left, &given, faults)?, &named.right)),
                arg => {
                    given.push((next, arg));
                    next += 1;
                }
            }
        }
        let (most, op) = (self.params.len(), self.op);
        if next > most {
            let names: Vec<&str> = self.params.iter().map(|param| param.name).collect();
            let arguments = if most == 1 { "argument" } else { "arguments" };
            let message = format!("`{op}` takes {most} {arguments}, not {next}");
            faults.push(Code::RuleArity, at, &message, &format!("they are: {}", names.join(", ")));
            return None;
        }
        if let Some((position, expr)) = given.iter().enumerate().find_map(|(at, (position, expr))| {
            given[..at].iter().any(|(earlier, _)| earlier == position).then_some((*position, *expr))
        }) {
            let name = self.params[position].name;
            faults.push(
                Code::ParameterTwice,
                expr,
                &format!("`{name}` is given twice"),
                "by position or by name, not both",
            );
            return None;
        }
        let missing = self
            .params
            .iter()
            .enumerate()
            .find(|(position, param)| param.default.is_none() && !given.iter().any(|(given, _)| given == position));
        if let Some((_, param)) = missing {
            let message = format!("`{op}` is not given `{}`", param.name);
            faults.push(Code::RuleArity, at, &message, "`_` matches any argument");
            return None;
        }
        self.check_effect(at, &given, faults)?;
        Some(given)
    }

    fn named(&self, left: &Expr, given: &Given<'_>, faults: &mut Faults) -> Option<usize> {
        let name = match left {
            Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
            _ => None,
        };
        let position = name.as_deref().and_then(|name| self.params.iter().position(|param| param.name == name));
        if position.is_none() {
            let names: Vec<&str> = self
                .params
                .iter()
                .enumerate()
                .filter(|(at, _)| !given.iter().any(|(given, _)| given == at))
                .map(|(_, param)| param.name)
                .collect();
            let help = format!("it has: {}", names.join(", "));
            let name = name.unwrap_or_else(|| "this".to_owned());
            faults.push(Code::UnknownParameter, left, &format!("`{}` has no parameter `{name}`", self.op), &help);
        }
        position
    }
}

fn params_of(op: OpId) -> Vec<ParamInfo> {
    let tensor = |name| ParamInfo { name, kind: Kind::Tensor, default: None };
    let Some(entry) = op.entry() else {
        // The runtime's own convolution, the one op without a method.
        let bias = ParamInfo { name: "bias", kind: Kind::OptTensor, default: Some(fx_ir::Arg::None) };
        let params = ParamInfo { name: "params", kind: Kind::Other, default: None };
        return vec![tensor("input"), tensor("weight"), bias, params];
    };
    let receiver = (entry.receiver != catalog::Receiver::Free).then(|| tensor("self"));
    let rest =
        entry.params.iter().map(|param| ParamInfo { name: param.name, kind: param.kind, default: param.default_arg() });
    receiver.into_iter().chain(rest).collect()
}
