//! What an op takes, and which expression is given for which parameter.

use fx_front::diag::Code;
use fx_ir::{Effect, OpId, catalog, catalog::Kind, nearest_op};
use proc_macro2::Ident;
use syn::Expr;

use crate::report::Faults;

/// An op with its parameters, the receiver among them.
#[derive(Clone)]
pub(super) struct Schema {
    pub(super) op: OpId,
    pub(super) params: Vec<ParamInfo>,
}

/// One parameter.
#[derive(Clone)]
pub(super) struct ParamInfo {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) default: Option<fx_ir::Arg>,
}

/// `(position, expression)` for every argument that is written.
pub(super) type Given<'e> = Vec<(usize, &'e Expr)>;

impl Schema {
    /// The op of that name, reported at `name` if there is none.
    pub(super) fn of(name: &Ident, text: &str, faults: &mut Faults) -> Option<Schema> {
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
        use super::term::Literal;
        let literal = super::pattern::literal(expr);
        match self.params.get(position).map(|param| param.name) {
            Some("train") => literal == Some(Literal::Bool(false)),
            Some("dropout_p") => matches!(literal, Some(Literal::Float(0.0) | Literal::Int(0))),
            _ => false,
        }
    }

    /// Which argument is given for which parameter; `receiver` is the first.
    pub(super) fn assign<'e>(
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

/// A field of a layer, and what it holds.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) ty: FieldType,
}

/// What a field of a layer holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldType {
    Tensor,
    OptTensor,
    Rust(&'static str),
    /// A struct with fields of its own.
    Config(&'static [Field]),
}

impl PartialEq for Field {
    fn eq(&self, other: &Field) -> bool {
        self.name == other.name
    }
}

impl Eq for Field {}

const fn field(name: &'static str, ty: FieldType) -> Field {
    Field { name, ty }
}

use FieldType::{Config, OptTensor, Rust, Tensor};

macro_rules! conv_fields {
    ($sizes:literal, $($more:literal)?) => {
        &[
            field("stride", Rust($sizes)),
            field("padding", Rust($sizes)),
            field("dilation", Rust($sizes)),
            $(field($more, Rust($sizes)),)?
            field("groups", Rust("i64")),
        ]
    };
}

const CONV1D: &[Field] = conv_fields!("i64",);
const CONV2D: &[Field] = conv_fields!("[i64; 2]",);
const CONV3D: &[Field] = conv_fields!("[i64; 3]",);
const CONV_TRANSPOSE1D: &[Field] = conv_fields!("i64", "output_padding");
const CONV_TRANSPOSE2D: &[Field] = conv_fields!("[i64; 2]", "output_padding");
const CONV_TRANSPOSE3D: &[Field] = conv_fields!("[i64; 3]", "output_padding");
const NORM: &[Field] = &[field("eps", Rust("f64"))];

const fn layer_of(config: &'static [Field]) -> [Field; 3] {
    [field("ws", Tensor), field("bs", OptTensor), field("config", Config(config))]
}

/// The fields of a layer type; none for a layer without any.
pub(super) fn fields_of(kind: &str) -> &'static [Field] {
    const LINEAR: &[Field] = &[field("ws", Tensor), field("bs", OptTensor)];
    const BATCH_NORM: &[Field] = &[
        field("ws", OptTensor),
        field("bs", OptTensor),
        field("running_mean", Tensor),
        field("running_var", Tensor),
        field("config", Config(NORM)),
    ];
    const LAYER_NORM: &[Field] = &[
        field("ws", OptTensor),
        field("bs", OptTensor),
        field("normalized_shape", Rust("Vec<i64>")),
        field("config", Config(NORM)),
    ];
    const GROUP_NORM: &[Field] = &[
        field("ws", OptTensor),
        field("bs", OptTensor),
        field("num_groups", Rust("i64")),
        field("num_channels", Rust("i64")),
        field("config", Config(NORM)),
    ];
    match kind {
        "Conv1D" => const { &layer_of(CONV1D) },
        "Conv2D" => const { &layer_of(CONV2D) },
        "Conv3D" => const { &layer_of(CONV3D) },
        "ConvTranspose1D" => const { &layer_of(CONV_TRANSPOSE1D) },
        "ConvTranspose2D" => const { &layer_of(CONV_TRANSPOSE2D) },
        "ConvTranspose3D" => const { &layer_of(CONV_TRANSPOSE3D) },
        "Linear" => LINEAR,
        "BatchNorm" => BATCH_NORM,
        "LayerNorm" => LAYER_NORM,
        "GroupNorm" => GROUP_NORM,
        "Embedding" => const { &[field("ws", Tensor)] },
        _ => &[],
    }
}
