//! Arguments of nodes, as the code that lists them writes them.

use fx_ir::{Arg, NodeId, Type};

use super::super::host::literal;
use super::{Walk, bare::bare};

impl Walk<'_, '_> {
    pub(super) fn args(&mut self, args: &[Arg]) -> String {
        let args: Vec<String> = args.iter().map(|arg| self.arg(arg)).collect();
        args.join(", ")
    }

    /// The arguments as values, which `node!` borrows.
    pub(super) fn values(&mut self, args: &[Arg]) -> String {
        let value = |arg: String| arg.strip_prefix('&').map_or(arg.clone(), ToOwned::to_owned);
        let args: Vec<String> = args.iter().map(|arg| value(self.arg(arg))).collect();
        args.join(", ")
    }

    /// The same of the arguments of an op, which may be the mode.
    pub(super) fn values_of(&mut self, id: NodeId, args: &[Arg]) -> String {
        let Some(modes) = self.modes else { return self.values(args) };
        let value = |(position, arg): (usize, &Arg)| {
            let is_mode = modes.args.contains(&(id, position));
            if is_mode { "t.mode()".to_owned() } else { self.values(std::slice::from_ref(arg)) }
        };
        args.iter().enumerate().map(value).collect::<Vec<String>>().join(", ")
    }

    /// The same of the operands of an operation on the host.
    pub(super) fn host_values(&mut self, args: &[Arg]) -> String {
        let outer = std::mem::replace(&mut self.is_on_host, true);
        let args = self.values(args);
        self.is_on_host = outer;
        args
    }

    /// The operands of an operation on the host, to which an option is one.
    pub(super) fn host_args(&mut self, args: &[Arg]) -> String {
        let outer = std::mem::replace(&mut self.is_on_host, true);
        let args = self.args(args);
        self.is_on_host = outer;
        args
    }

    /// An argument as a graph has it, borrowed; a live tensor becomes a `get_attr`.
    pub(super) fn arg(&mut self, arg: &Arg) -> String {
        match arg {
            Arg::Node(id) if !self.is_live(*id) => format!("&{}", self.writer.read(*id).text),
            Arg::Node(id) => self.live(*id),
            Arg::Int(number) => format!("&Arg::Int({number})"),
            Arg::Float(_) => format!("&Arg::Float({})", literal(arg, &|id| self.writer.read(id))),
            Arg::Bool(known) => format!("&Arg::Bool({known})"),
            Arg::Str(text) => format!("&Arg::Str({text:?}.to_owned())"),
            Arg::None => "&Arg::None".to_owned(),
            Arg::Path(path) if is_constant(path) => format!("&(&Probe(&{path})).{}({path:?})", self.literal_method()),
            Arg::Path(path) => format!("&Arg::Path({path:?}.to_owned())"),
            Arg::List(items) => match ints(items) {
                Some(numbers) => format!("&Arg::ints(&{numbers:?})"),
                None => format!("&Arg::list(&[{}])", self.args(items)),
            },
            Arg::Expr(_) if bare(arg) != *arg => self.arg(&bare(arg)),
            Arg::Expr(expr) => {
                let args = self.host_args(&expr.args);
                format!("&t.expr({:?}, &{:?}, &[{args}])", expr.op.name(), expr.op.words())
            }
        }
    }

    fn live(&mut self, id: NodeId) -> String {
        let node = self.writer.graph().node(id);
        let value = self.writer.read(id);
        let label = node.origin.labels.first().cloned().unwrap_or_else(|| node.name.clone());
        match &node.ty {
            Type::Tensor(_) => {
                let name = self.writer.names.fresh("attr");
                let path = self.path(&label);
                self.writer.line(format!("let {name} = t.tensor({path}, {});", value.borrowed()));
                format!("&{name}")
            }
            // A layer of `nn`, which an input chooses.
            ty if ty.layer().is_some() => {
                let path = self.path(&label);
                let name = self.writer.names.fresh("layer");
                self.writer.line(format!("let {name} = t.layer({path}, {});", value.borrowed()));
                format!("&{name}")
            }
            Type::List(inner) if inner.layer().is_some() => {
                let (path, list, kind) = (self.path(&label), value.text, inner.layer().unwrap_or_default());
                let name = self.writer.names.fresh("layers");
                let each = format!("{list}.iter().map(|layer| -> &::fx_runtime::nn::{kind} {{ layer }})");
                self.writer.line(format!("let {name} = t.layers({path}, {each});"));
                format!("&{name}")
            }
            Type::List(inner) if inner.is_tensor() => {
                let name = self.writer.names.fresh("attr");
                let path = self.path(&label);
                self.writer.line(format!("let {name} = t.tensors({path}, {}.iter());", value.text));
                format!("&{name}")
            }
            Type::Option(inner) if inner.is_tensor() => {
                let name = self.writer.names.fresh("attr");
                let path = self.path(&label);
                let some = if self.is_on_host {
                    "let one = t.tensor(PATH, tensor); t.expr(\"some\", &[], &[&one])"
                } else {
                    "t.tensor(PATH, tensor)"
                };
                let some = some.replace("PATH", &path);
                let read = value.borrowed();
                self.writer
                    .line(format!("let {name} = match {read} {{ Some(tensor) => {{ {some} }} None => Arg::None }};"));
                format!("&{name}")
            }
            _ => format!("&(&Probe({})).{}({:?})", value.borrowed(), self.literal_method(), value.text),
        }
    }

    /// How a live value says its literal.
    fn literal_method(&self) -> &'static str {
        if self.is_on_host { "host_arg" } else { "arg" }
    }
}

/// The numbers of a list that holds nothing else.
fn ints(items: &[Arg]) -> Option<Vec<i64>> {
    items.iter().map(|item| if let Arg::Int(number) = item { Some(*number) } else { None }).collect()
}

/// Whether a path is that of a constant, by the way in which Rust's constants are written.
fn is_constant(path: &str) -> bool {
    let name = path.rsplit("::").next().unwrap_or(path);
    path.len() > 1 && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}
