//! The parts of a statement as text: op, argument, name, origin.

use super::word::{Backticked, Percent, Word, is_bare, is_ident, print_code};
use crate::{Arg, Code, Effect, Graph, Node, NodeId, Op, Origin};

/// How a reader of the node writes it: a parameter's name is bare, any other has a `%`.
pub(crate) fn name_text(graph: &Graph, id: NodeId) -> String {
    if !graph.is_alive(id) {
        return format!("%\"erased {id:?}\"");
    }
    let node = graph.node(id);
    if node.op == Op::Placeholder && is_bare(&node.name) { node.name.clone() } else { Percent(&node.name).to_string() }
}

/// An argument.
pub(crate) fn arg_text(graph: &Graph, arg: &Arg) -> String {
    match arg {
        Arg::Node(id) => name_text(graph, *id),
        Arg::Int(value) => value.to_string(),
        Arg::Float(value) if value.is_nan() => "nan".to_owned(),
        Arg::Float(value) => format!("{value:?}"),
        Arg::Bool(value) => value.to_string(),
        Arg::Str(value) => format!("{value:?}"),
        Arg::None => "none".to_owned(),
        Arg::Path(path) => Backticked(path).to_string(),
        Arg::List(items) => {
            let items: Vec<_> = items.iter().map(|item| arg_text(graph, item)).collect();
            format!("[{}]", items.join(", "))
        }
    }
}

/// A named argument.
pub(super) fn kwarg_text(graph: &Graph, key: &str, arg: &Arg) -> String {
    let value = arg_text(graph, arg);
    if !key.is_empty() && key.chars().all(is_ident) { format!("{key}={value}") } else { format!("{key:?}={value}") }
}

/// What a yield is called that the text gives no name: torch.fx's word where it ends the graph.
pub(super) fn yield_name(ends_graph: bool) -> &'static str {
    if ends_graph { "output" } else { "yield" }
}

/// What a node does, without its arguments.
pub(crate) fn op_text(node: &Node) -> String {
    match &node.op {
        Op::Placeholder => "placeholder".to_owned(),
        Op::GetAttr(field) => format!("get_attr[{}]", Word(field)),
        Op::CallModule(kind) => format!("call_module[{}]", Word(&kind.0)),
        Op::Call(id) => id.to_string(),
        Op::Rust(code) if *code == print_code(node.args.len()) => "print".to_owned(),
        Op::Rust(code) => code_text(code),
        Op::TupleGet(index) => format!("tuple_get[{index}]"),
        Op::If => "if".to_owned(),
        Op::Match(_) => "match".to_owned(),
        Op::For(pattern) => format!("for[{}]", Word(pattern)),
        Op::While => "while".to_owned(),
        Op::Yield => "yield".to_owned(),
    }
}

fn code_text(code: &Code) -> String {
    let mut out = format!("rust[{:?}", code.template);
    match code.effect {
        Effect::Pure => {}
        Effect::Random => out.push_str(", random"),
        Effect::InPlace(position) => out.push_str(&format!(", in_place({position})")),
        Effect::Io => out.push_str(", io"),
    }
    if code.fallible {
        out.push_str(", fallible");
    }
    if let Some(reason) = &code.opaque {
        out.push_str(&format!(", opaque({reason:?})"));
    }
    out + "]"
}

/// Where a node comes from, with the space before it; nothing if nothing is known.
pub(crate) fn origin_text(origin: &Origin) -> String {
    if *origin == Origin::default() {
        return String::new();
    }
    let mut out = "  @".to_owned();
    let places = origin.places.iter().map(|place| format!("{}:{}", Word(&place.file), place.line));
    push_list(&mut out, "", places);
    push_list(&mut out, " as", origin.labels.iter().map(|label| Word(label).to_string()));
    push_list(&mut out, " by", origin.passes.iter().map(|pass| Word(pass).to_string()));
    out
}

fn push_list(out: &mut String, head: &str, items: impl Iterator<Item = String>) {
    let items: Vec<_> = items.collect();
    if !items.is_empty() {
        out.push_str(&format!("{head} {}", items.join(" + ")));
    }
}
