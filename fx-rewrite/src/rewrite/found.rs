//! A match as Rust sees it: guards and computed arguments are Rust over this.

use fx_ir::{Arg, Binding, Graph, HostOp, NodeId, Type};

use super::facts::Facts;
use super::{Kind, Rule};

/// The place where a rule's pattern was found, with what its captures are bound to.
pub struct Found<'a> {
    pub(super) graph: &'a Graph,
    pub(super) facts: &'a Facts,
    pub(super) rule: &'a Rule,
    pub(super) bound: &'a Bound,
}

/// The values that a pattern is bound to.
#[derive(Clone, Default)]
pub(super) struct Bound {
    /// By capture.
    pub(super) slots: Vec<Option<Arg>>,
    /// The nodes that the replacement takes the place of, the outputs among them.
    pub(super) nodes: Vec<NodeId>,
    /// Reads of fields, which others may share.
    pub(super) fields: Vec<NodeId>,
    /// The node in which a capture of a layer is called.
    pub(super) calls: Vec<(usize, NodeId)>,
    /// Whether the control flow was passed that is [looked through](super::Through).
    pub(super) is_through: bool,
}

/// The value that one capture is bound to, as guards see it.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    graph: &'a Graph,
    facts: &'a Facts,
    arg: &'a Arg,
    /// The value that its readers read: for a layer the result of its call.
    result: Option<NodeId>,
}

impl<'a> Found<'a> {
    /// The value that the capture of that number is bound to.
    pub fn value(&self, capture: usize) -> Value<'a> {
        let arg = self.bound.slots.get(capture).and_then(Option::as_ref).unwrap_or(&Arg::None);
        let call = self.bound.calls.iter().find(|(called, _)| *called == capture).map(|&(_, id)| id);
        let is_module = self.rule.captures.get(capture).is_some_and(|one| matches!(one.kind, Kind::Module(_)));
        let result = if is_module { call } else { arg.node() };
        Value { graph: self.graph, facts: self.facts, arg, result }
    }

    /// The value that the capture of that name is bound to.
    pub fn named(&self, name: &str) -> Option<Value<'a>> {
        self.rule.captures.iter().position(|capture| capture.name == name).map(|capture| self.value(capture))
    }

    /// The number that a capture of type `f64` is bound to.
    pub fn float(&self, capture: usize) -> f64 {
        self.value(capture).as_float().unwrap_or(f64::NAN)
    }

    /// The number that a capture of type `i64` is bound to.
    pub fn int(&self, capture: usize) -> i64 {
        self.value(capture).as_int().unwrap_or_default()
    }

    /// The truth value that a capture of type `bool` is bound to.
    pub fn bool(&self, capture: usize) -> bool {
        *self.value(capture).arg == Arg::Bool(true)
    }

    /// The numbers that a capture of type `[i64]` is bound to.
    pub fn ints(&self, capture: usize) -> Vec<i64> {
        ints(self.value(capture).arg).unwrap_or_default()
    }

    /// The items of the list that a capture of type `[Tensor]` is bound to.
    pub fn values(&self, capture: usize) -> Vec<Value<'a>> {
        let Some(Some(Arg::List(items))) = self.bound.slots.get(capture) else { return Vec::new() };
        let value = |arg: &'a Arg| Value { graph: self.graph, facts: self.facts, arg, result: arg.node() };
        items.iter().map(value).collect()
    }
}

impl<'a> Value<'a> {
    /// The number of nodes that read it; of a layer, its result.
    pub fn users(self) -> usize {
        self.result.map_or(0, |id| self.graph.users(id).len())
    }

    /// The number of nodes that call the layer in the whole graph.
    pub fn calls(self) -> usize {
        self.arg.node().map_or(0, |layer| self.facts.calls(self.graph, layer))
    }

    /// Returns whether the value is known once the live model is there.
    pub fn is_freeze_time(self) -> bool {
        self.facts.time(self.arg) <= Binding::Freeze
    }

    /// Returns whether the value is a literal.
    pub fn is_literal(self) -> bool {
        self.arg.node().is_none()
    }

    /// Returns whether the value is `None`.
    pub fn is_none(self) -> bool {
        *self.arg == Arg::None
    }

    /// Its element type in torch's short form (`f32`), where the source tells.
    pub fn dtype(self) -> Option<&'a str> {
        match self.ty()? {
            Type::Tensor(ty) => ty.dtype.as_deref(),
            _ => None,
        }
    }

    /// Returns whether the elements are floating-point numbers for certain.
    pub fn is_float(self) -> bool {
        self.arg.node().is_some_and(|id| super::dtype::is_float(self.graph, id))
    }

    /// Its number of axes, where the source tells.
    pub fn rank(self) -> Option<usize> {
        let rank = self.facts.rank(self.arg);
        rank.most.filter(|&most| most == rank.least)
    }

    /// The size of an axis, where it is known; a negative axis counts from the last.
    pub fn dim(self, axis: i64) -> Option<i64> {
        let Some(Type::Tensor(ty)) = self.ty() else { return None };
        let shape = ty.shape.as_ref()?;
        let axis = if axis < 0 { axis + i64::try_from(shape.len()).ok()? } else { axis };
        shape.get(usize::try_from(axis).ok()?)?.parse().ok()
    }

    /// The number, if it is one that is written in the source: as a literal, or by the name that Rust's library has for
    /// it (`f32::MIN`, `std::f64::consts::PI`).
    pub fn as_float(self) -> Option<f64> {
        number(self.graph, self.arg)
    }

    /// Returns whether the value is a number above zero for certain: a literal, a square root, or one over such a
    /// number.
    pub fn is_positive(self) -> bool {
        is_positive(self.graph, self.arg)
    }

    /// The integer, if it is one that is written in the source.
    pub fn as_int(self) -> Option<i64> {
        match self.arg {
            Arg::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The argument itself.
    pub fn arg(self) -> &'a Arg {
        self.arg
    }

    /// Its type, if it is a node.
    pub fn ty(self) -> Option<&'a Type> {
        self.arg.node().map(|id| &self.graph.node(id).ty)
    }
}

/// The number that an argument is known to be.
fn number(graph: &Graph, arg: &Arg) -> Option<f64> {
    #[allow(clippy::cast_precision_loss, reason = "Rust's own conversion of a literal")]
    match arg {
        Arg::Int(number) => Some(*number as f64),
        Arg::Float(number) => Some(*number),
        Arg::Path(path) => constant(path),
        _ => match graph.host_value(arg)? {
            (HostOp::Use | HostOp::Ascribe(_) | HostOp::Literal(_), [inner]) => number(graph, inner),
            (HostOp::Cast(ty) | HostOp::From(ty), [inner]) if ty == "f64" => number(graph, inner),
            (HostOp::Function(path), [inner]) if path == "f64::from" => number(graph, inner),
            _ => None,
        },
    }
}

/// A number that has a name in Rust's library, by the last two segments of its path.
pub(super) fn constant(path: &str) -> Option<f64> {
    use std::f64::consts;
    let segments: Vec<&str> = path.split("::").map(str::trim).collect();
    Some(match segments[segments.len().saturating_sub(2)..] {
        ["f64" | "f32", "NEG_INFINITY"] => f64::NEG_INFINITY,
        ["f64" | "f32", "INFINITY"] => f64::INFINITY,
        ["f64", "MIN"] => f64::MIN,
        ["f64", "MAX"] => f64::MAX,
        ["f32", "MIN"] => f64::from(f32::MIN),
        ["f32", "MAX"] => f64::from(f32::MAX),
        ["consts", "PI"] => consts::PI,
        ["consts", "E"] => consts::E,
        ["consts", "SQRT_2"] => consts::SQRT_2,
        ["consts", "FRAC_1_SQRT_2"] => consts::FRAC_1_SQRT_2,
        ["consts", "FRAC_2_SQRT_PI"] => consts::FRAC_2_SQRT_PI,
        ["consts", "FRAC_2_PI"] => consts::FRAC_2_PI,
        ["consts", "LN_2"] => consts::LN_2,
        _ => return None,
    })
}

/// Whether the number is above zero for certain: a literal, a root, or a product or quotient of such numbers.
fn is_positive(graph: &Graph, arg: &Arg) -> bool {
    if let Some(number) = number(graph, arg) {
        return number > 0.0;
    }
    match graph.host_value(arg) {
        Some((HostOp::Method(name), [_])) => name == "sqrt",
        Some((HostOp::Function(path), [_])) => matches!(path.rsplit_once("::"), Some((_, "sqrt"))),
        Some((HostOp::Method(name), [_, exponent])) => name == "powf" && matches!(exponent, Arg::Float(0.5 | -0.5)),
        Some((HostOp::Binary(sign), factors)) => {
            matches!(sign.as_str(), "*" | "/") && factors.iter().all(|factor| is_positive(graph, factor))
        }
        Some((HostOp::Use | HostOp::Ascribe(_), [inner])) => is_positive(graph, inner),
        _ => false,
    }
}

pub(super) fn ints(arg: &Arg) -> Option<Vec<i64>> {
    let Arg::List(items) = arg else { return None };
    let int = |item: &Arg| match item {
        Arg::Int(number) => Some(*number),
        _ => None,
    };
    items.iter().map(int).collect()
}
