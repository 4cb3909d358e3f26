//! Operands and targets as Python spells them, for what is read beside torch.fx: the listing and the table.

use std::borrow::Cow;

use crate::ops::Scalar;
use crate::text::{arg_text, name_text};
use crate::{Arg, Graph, HostOp, Node, NodeId, Op, OpId, ops};

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// As `str(graph)` of torch.fx: `%x`, and strings as they are.
    Listing,
    /// As its `print_tabular`: `x`, and strings in quotes.
    Table,
}

/// The nodes of a graph as Python has them.
#[derive(Clone, Copy)]
pub(crate) struct Python<'g> {
    pub(crate) graph: &'g Graph,
    pub(crate) style: Style,
}

impl Python<'_> {
    /// The positional arguments of a node as a tuple. The path of a live module is the target and none of them.
    pub(crate) fn args(&self, node: &Node) -> String {
        let args = node.args.get(usize::from(module_path(node).is_some())..).unwrap_or_default();
        let mut items: Vec<String> = args.iter().map(|arg| self.value(arg)).collect();
        match &node.op {
            Op::Host(host) => items.extend(self.carried(&host.op)),
            Op::TupleGet(index) => items.push(index.to_string()),
            Op::Yield if items.len() > 1 => items = vec![tuple(&items)],
            _ => {}
        }
        tuple(&items)
    }

    /// The named arguments of a node as a dict.
    pub(crate) fn kwargs(&self, node: &Node) -> String {
        let named = node.kwargs.iter().map(|(key, arg)| format!("{}: {}", self.string(key), self.value(arg)));
        format!("{{{}}}", named.collect::<Vec<_>>().join(", "))
    }

    pub(crate) fn value(&self, arg: &Arg) -> String {
        match arg {
            Arg::Node(id) if self.style == Style::Listing => format!("%{}", self.name(*id)),
            Arg::Node(id) => self.name(*id).into_owned(),
            Arg::Float(value) => float(*value),
            Arg::Bool(true) => "True".to_owned(),
            Arg::Bool(false) => "False".to_owned(),
            Arg::Str(text) => self.string(text),
            Arg::None => "None".to_owned(),
            Arg::Path(path) => torch_name(path).to_owned(),
            Arg::List(items) => {
                format!("[{}]", items.iter().map(|item| self.value(item)).collect::<Vec<_>>().join(", "))
            }
            Arg::Expr(expr) if expr.op == HostOp::Tuple => {
                tuple(&expr.args.iter().map(|arg| self.value(arg)).collect::<Vec<_>>())
            }
            // Nested applications read as calls: `size(x)`.
            Arg::Expr(expr) => {
                let args = expr.args.iter().map(|arg| self.value(arg)).chain(self.carried(&expr.op));
                format!("{}({})", expr.op.callee().1, args.collect::<Vec<_>>().join(", "))
            }
            Arg::Int(_) => arg_text(self.graph, arg),
        }
    }

    fn name(&self, id: NodeId) -> Cow<'_, str> {
        if self.graph.is_alive(id) {
            Cow::Borrowed(&self.graph.node(id).name)
        } else {
            Cow::Owned(name_text(self.graph, id).replace(['%', '"'], ""))
        }
    }

    fn string(&self, text: &str) -> String {
        match self.style {
            Style::Listing => text.to_owned(),
            Style::Table if text.contains('\'') && !text.contains('"') => format!("{text:?}"),
            Style::Table => format!("'{}'", text.escape_debug()),
        }
    }

    /// What a host operation carries beside its target and its arguments, as further arguments.
    fn carried(&self, op: &HostOp) -> Vec<String> {
        op.callee().2.iter().map(|word| self.string(word)).collect()
    }
}

impl Graph {
    /// What the node calls or reads, as torch.fx files it under `target`.
    pub fn target(&self, id: NodeId) -> String {
        let node = self.node(id);
        match &node.op {
            Op::Placeholder => self.base_name(id).to_owned(),
            Op::GetAttr(field) => field.clone(),
            Op::For(head) => one_line(&head.to_string()),
            Op::CallModule(kind) => module_path(node).unwrap_or(&kind.0).to_owned(),
            Op::Rust(code) => one_line(&code.text()),
            Op::TupleGet(_) => "getitem".to_owned(),
            Op::Yield => "output".to_owned(),
            Op::Host(host) => host.op.callee().1.to_owned(),
            Op::Call(op) => op.to_string(),
            Op::If | Op::Match(_) | Op::While => node.op.opcode().to_owned(),
        }
    }

    /// The target with the module of Python that a function lies in: `operator.add`, `torch.flatten`.
    pub(crate) fn qualified_target(&self, id: NodeId) -> String {
        match &self.node(id).op {
            Op::Call(op) if op.is_function() => python_function(*op),
            Op::Call(op) => without_overload(*op).to_owned(),
            Op::TupleGet(_) => "operator.getitem".to_owned(),
            _ => self.target(id),
        }
    }
}

/// The path of the live module that the node calls.
fn module_path(node: &Node) -> Option<&str> {
    match (&node.op, node.args.first()) {
        (Op::CallModule(_), Some(Arg::Str(path))) => Some(path),
        _ => None,
    }
}

/// A function of Python that computes the op.
fn python_function(op: OpId) -> String {
    let name = without_overload(op);
    let row = op.row();
    let is_operator = row.is_some_and(|row| matches!(row.scalar, Some(Scalar::Infix(_))));
    match name {
        name if name == ops::DIV.name() => "operator.truediv".to_owned(),
        name if is_operator => format!("operator.{name}"),
        name => format!("{}.{name}", row.map_or("torch", |row| row.python)),
    }
}

/// The name without what tells overloads apart, of which Python knows nothing.
fn without_overload(op: OpId) -> &'static str {
    op.name().split('.').next().unwrap_or_default()
}

fn tuple(items: &[String]) -> String {
    match items {
        [one] => format!("({one},)"),
        items => format!("({})", items.join(", ")),
    }
}

/// As Python's `repr`: an exponent has a sign and two digits.
fn float(value: f64) -> String {
    let text = format!("{value:?}").to_lowercase();
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, number) = exponent.strip_prefix('-').map_or(('+', exponent), |number| ('-', number));
            format!("{}e{sign}{number:0>2}", digits.trim_end_matches(".0"))
        }
        None => text,
    }
}

/// A dtype or a device by torch's name; another path as it is.
fn torch_name(path: &str) -> &str {
    match path {
        "Kind::Uint8" => "torch.uint8",
        "Kind::QUInt8" => "torch.quint8",
        "Kind::QInt8" => "torch.qint8",
        "Kind::QInt32" => "torch.qint32",
        "Kind::Int8" => "torch.int8",
        "Kind::Int16" => "torch.int16",
        "Kind::Int" => "torch.int32",
        "Kind::Int64" => "torch.int64",
        "Kind::Half" => "torch.float16",
        "Kind::Float" => "torch.float32",
        "Kind::Double" => "torch.float64",
        "Kind::Bool" => "torch.bool",
        "Kind::BFloat16" => "torch.bfloat16",
        "Device::Cpu" => "cpu",
        other => other,
    }
}

/// Rust as it is written, lines after one another: a row is one line.
fn one_line(code: &str) -> String {
    if code.contains(char::is_control) {
        code.split_whitespace().collect::<Vec<_>>().join(" ")
    } else {
        code.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Python's `repr` of the same numbers.
    #[test]
    fn floats_are_spelled_as_in_python() {
        let numbers = [0.5, 1.0, -2.0, 1e-5, 1e-4, 1.5e-7, 1e15, 1e16, 1.25e300, f64::INFINITY, f64::NAN];
        let want = [
            "0.5",
            "1.0",
            "-2.0",
            "1e-05",
            "0.0001",
            "1.5e-07",
            "1000000000000000.0",
            "1e+16",
            "1.25e+300",
            "inf",
            "nan",
        ];
        assert_eq!(numbers.map(float), want);
    }

    #[test]
    fn functions_lie_in_modules_of_python() {
        let known = [
            ("add", "operator.add"),
            ("div.Scalar", "operator.truediv"),
            ("flatten", "torch.flatten"),
            ("adaptive_avg_pool2d", "torch.nn.functional.adaptive_avg_pool2d"),
            ("hamming_window", "torch.hamming_window"),
        ];
        for (op, function) in known {
            assert_eq!(OpId::lookup(op).map(python_function).as_deref(), Some(function));
        }
    }
}
