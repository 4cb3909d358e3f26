//! The parts of a statement as text: op, argument, name, origin.

use super::word::{Backticked, Percent, Word, is_bare, is_ident, print_code};
use crate::{Arg, Code, CodeForm, CodeVariable, Effect, Graph, Host, HostOp, Meta, Node, NodeId, Op, Origin};

/// The node as a reader writes it: a parameter's name is bare, any other has a `%`.
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
        Arg::Expr(expr) => {
            let args: Vec<_> = expr.args.iter().map(|arg| arg_text(graph, arg)).collect();
            format!("{}({})", host_text(&expr.op, &[]), args.join(", "))
        }
    }
}

/// A host operation with what it carries, and flags.
fn host_text(op: &HostOp, flags: &[String]) -> String {
    let words = op.words().into_iter().map(|word| format!("{word:?}"));
    let parts: Vec<String> = words.chain(flags.iter().cloned()).collect();
    let name = op.name();
    if parts.is_empty() { format!("host.{name}") } else { format!("host.{name}[{}]", parts.join(", ")) }
}

/// A named argument.
pub(super) fn kwarg_text(graph: &Graph, key: &str, arg: &Arg) -> String {
    keyed(key, &arg_text(graph, arg))
}

fn keyed(key: &str, value: &str) -> String {
    if !key.is_empty() && key.chars().all(is_ident) { format!("{key}={value}") } else { format!("{key:?}={value}") }
}

/// What the user noted on a node, with the space before it; nothing if there is nothing.
pub(super) fn meta_text(meta: &Meta) -> String {
    if meta.is_empty() {
        return String::new();
    }
    let notes: Vec<_> = meta.iter().map(|(key, value)| keyed(key, &value.to_string())).collect();
    format!(" $({})", notes.join(", "))
}

/// Whether it is a yield whose name is but `output` or `yield` and a number. Nobody reads a yield, so the text leaves
/// that out.
pub(super) fn is_unnamed(node: &Node) -> bool {
    let rest = node.name.strip_prefix("output").or_else(|| node.name.strip_prefix("yield"));
    let number = |rest: &str| rest.strip_prefix('_').is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    node.op == Op::Yield && rest.is_some_and(|rest| rest.is_empty() || number(rest))
}

impl Node {
    /// Its operation as the text form has it, without the arguments; [`Op::parse`] reads it back.
    pub fn op_text(&self) -> String {
        op_text(self)
    }
}

/// The op of a node, without its arguments.
pub(crate) fn op_text(node: &Node) -> String {
    match &node.op {
        Op::Placeholder => "placeholder".to_owned(),
        Op::GetAttr(field) => format!("get_attr[{}]", Word(field)),
        Op::CallModule(kind) => format!("call_module[{}]", Word(&kind.0)),
        Op::Call(id) => id.to_string(),
        Op::Host(host) => host_text(&host.op, &flags(host)),
        Op::Rust(code) if *code == print_code(node.args.len()) => "print".to_owned(),
        Op::Rust(code) => code_text(code),
        Op::TupleGet(index) => format!("tuple_get[{index}]"),
        Op::If => "if".to_owned(),
        Op::Match(_) => "match".to_owned(),
        Op::For(head) => format!("for[{}]", Word(&head.to_string())),
        Op::While => "while".to_owned(),
        Op::Yield => "yield".to_owned(),
    }
}

/// What the text says of a host operation beside its row.
fn flags(host: &Host) -> Vec<String> {
    let differs = host.fallible != host.op.is_fallible();
    effect_word(host.effect).into_iter().chain(differs.then(|| "fallible".to_owned())).collect()
}

/// The word for an effect; none for [`Effect::Pure`].
fn effect_word(effect: Effect) -> Option<String> {
    match effect {
        Effect::Pure => None,
        Effect::Random => Some("random".to_owned()),
        Effect::InPlace(position) => Some(format!("in_place({position})")),
        Effect::State => Some("state".to_owned()),
        Effect::Io => Some("io".to_owned()),
    }
}

fn code_text(code: &Code) -> String {
    let mut parts = vec![format!("{:?}", code.template)];
    match &code.form {
        CodeForm::Value => {}
        CodeForm::Reference => parts.push("reference".to_owned()),
        CodeForm::Block(scope) => {
            parts.push("block".to_owned());
            parts.extend(scope.uses.iter().map(|item| format!("use {item:?}")));
            parts.extend(scope.variables.iter().map(|CodeVariable { name, is_mutable, value }| {
                format!("let {}{} = {value:?}", if *is_mutable { "mut " } else { "" }, Word(name))
            }));
        }
    }
    parts.extend(effect_word(code.effect));
    if code.fallible {
        parts.push("fallible".to_owned());
    }
    if let Some(reason) = &code.opaque {
        parts.push(format!("opaque({reason:?})"));
    }
    format!("rust[{}]", parts.join(", "))
}

/// The origin of a node, with the space before it; nothing if nothing is known.
pub(crate) fn origin_text(origin: &Origin) -> String {
    if *origin == Origin::default() {
        return String::new();
    }
    let places = origin.places.iter().map(|place| format!("{}:{}", Word(&place.file), place.line));
    let labels = origin.labels.iter().map(|label| Word(label).to_string());
    let passes = origin.passes.iter().map(|pass| Word(pass).to_string());
    let modules = origin.nn_module_stack.iter().map(|module| match module.path.as_str() {
        "" => Word(&module.ty).to_string(),
        path => format!("{}[{}]", Word(&module.ty), Word(path)),
    });
    format!("  @{}{}{}{}", sum("", places), sum(" as", labels), sum(" in", modules), sum(" by", passes))
}

fn sum(head: &str, items: impl Iterator<Item = String>) -> String {
    let items: Vec<_> = items.collect();
    if items.is_empty() { String::new() } else { format!("{head} {}", items.join(" + ")) }
}
