//! What a node does: torch.fx's six opcodes, opaque Rust code, and control flow that owns regions.

use std::fmt;

use crate::host::{Host, HostOp};
use crate::ops::OpId;
use crate::{ForLoop, LayerRow, Pattern, layers};

/// What a [`Node`](crate::Node) does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// An input of the graph, or a parameter of a region (a loop's element, what an arm of a `match` binds).
    Placeholder,
    /// A field of `args[0]`: `self.conv1`, `block.bn2.running_mean`.
    GetAttr(String),
    /// The forward of the module `args[0]` on the remaining arguments.
    CallModule(ModuleKind),
    /// An op of the table or of the catalog. torch.fx's `call_function` and `call_method` are one op here.
    Call(OpId),
    /// A host computation: on sizes, numbers, options, lists, state, and calls of the runtime.
    Host(Host),
    /// Rust as the user wrote it: code that the tracer did not understand, or that runs for its effect.
    Rust(Code),
    /// The `index`-th part of the tuple `args[0]`.
    TupleGet(usize),
    /// `if args[0] { regions[0] } else { regions[1] }`.
    If,
    /// `match args[0]`: one pattern a region; what a pattern binds are the region's parameters, in order.
    Match(Vec<Pattern>),
    /// `for element in args[0]`: `args[1..]` are the carried values' first values; the region's parameters are what the
    /// pattern binds, and then the carried values; it yields the carried values' next ones.
    For(ForLoop),
    /// `while regions[0] { regions[1] }`: both regions take the carried values; the first yields a bool.
    While,
    /// The end of a region: hands over `args` (several make a tuple).
    Yield,
}

/// The module type that a `call_module` calls: a layer of the runtime's `nn`, by its type name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModuleKind(pub String);

impl ModuleKind {
    /// Whether nothing is known of what a layer of that kind computes: a closure, or a chain whose constructor could not be
    /// read.
    pub fn is_opaque(&self) -> bool {
        self.0 == layers::CLOSURE.name || LayerRow::of_type(&self.0).is_some_and(|row| row.is_chain)
    }
}

/// A piece of Rust in which `$0`, `$1`, ... stand for the node's arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Code {
    /// The expression, with `$n` for the n-th argument and `$$` for a dollar sign.
    pub template: String,
    /// What the expression is.
    pub form: CodeForm,
    /// Whether it may be moved, merged or dropped.
    pub effect: Effect,
    /// Whether it evaluates to a `Result`, of which the value is the `Ok`.
    pub fallible: bool,
    /// Why the tracer did not understand it; `None` when it did.
    pub opaque: Option<String>,
}

/// What a piece of Rust is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum CodeForm {
    /// An expression that stands where a value may.
    #[default]
    Value,
    /// An expression that is a reference, `&..`.
    Reference,
    /// A block: what is opened, and then the expression.
    Block(CodeScope),
}

/// What a block declares for the expression at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CodeScope {
    /// `use` items, each on a line.
    pub uses: Vec<String>,
    /// Variables, in order.
    pub variables: Vec<CodeVariable>,
}

/// A variable of a block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CodeVariable {
    /// Its name.
    pub name: String,
    /// Whether it is `mut`.
    pub is_mutable: bool,
    /// What it is bound to, with `$n` for the n-th argument.
    pub value: String,
}

/// What an op does beside yielding a value. Nothing but `Pure` is ever merged, moved or deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Nothing.
    Pure,
    /// Draws random numbers.
    Random,
    /// Writes to the argument of that position.
    InPlace(usize),
    /// Reads or writes what the model keeps between calls. It happens in its place, and writes to no tensor.
    State,
    /// Anything else: prints, asserts, returns early, or is not known.
    Io,
}

impl Code {
    /// A host computation that the tracer understands: no effect, the same result for the same arguments.
    pub fn pure(template: impl Into<String>) -> Code {
        Code { template: template.into(), form: CodeForm::Value, effect: Effect::Pure, fallible: false, opaque: None }
    }

    /// The same as [`Code::pure`], for an expression that is a `Result`.
    pub fn fallible(template: impl Into<String>) -> Code {
        Code { fallible: true, ..Code::pure(template) }
    }

    /// Code that is carried as the user wrote it because of `reason`.
    pub fn opaque(template: impl Into<String>, reason: impl Into<String>) -> Code {
        Code { effect: Effect::Io, opaque: Some(reason.into()), ..Code::pure(template) }
    }

    /// The same code, which is of that form.
    #[must_use]
    pub fn of_form(self, form: CodeForm) -> Code {
        Code { form, ..self }
    }

    /// A block with the same declarations, whose expression is what `wrap` makes of this one's.
    #[must_use]
    pub fn wrapped(self, wrap: impl FnOnce(&str) -> String) -> Code {
        let scope = match self.form {
            CodeForm::Block(scope) => scope,
            _ => CodeScope::default(),
        };
        Code { template: wrap(&self.template), form: CodeForm::Block(scope), ..self }
    }

    /// The whole of it: the block with what it declares, or the expression.
    pub fn text(&self) -> String {
        let CodeForm::Block(CodeScope { uses, variables }) = &self.form else { return self.template.clone() };
        if uses.is_empty() && variables.is_empty() {
            return self.template.clone();
        }
        let uses = uses.iter().map(|item| format!("{item}\n"));
        let variables = variables.iter().map(|variable| format!("{variable}\n"));
        let lines: String = uses.chain(variables).collect();
        format!("{{\n{lines}{}\n}}", self.template)
    }

    /// Whether it calls one of these methods, as far as its text tells: of opaque code nothing else is known.
    pub fn mentions(&self, methods: &[&str]) -> bool {
        let whole = self.text();
        methods.iter().any(|method| whole.contains(&format!(".{method}(")))
    }
}

impl CodeVariable {
    /// `let name = value;`.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> CodeVariable {
        CodeVariable { name: name.into(), is_mutable: false, value: value.into() }
    }

    /// `let mut name = value;`.
    pub fn mutable(name: impl Into<String>, value: impl Into<String>) -> CodeVariable {
        CodeVariable { is_mutable: true, ..CodeVariable::new(name, value) }
    }
}

impl fmt::Display for CodeVariable {
    /// Writes the `let`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "let {}{} = {};", if self.is_mutable { "mut " } else { "" }, self.name, self.value)
    }
}

impl Op {
    /// The opcode under which torch.fx files it; control flow has its own words. A host operation is a `call_method` where
    /// it calls a method, and else a `call_function`, as opaque code is.
    pub fn opcode(&self) -> &'static str {
        match self {
            Op::Placeholder => "placeholder",
            Op::GetAttr(_) => "get_attr",
            Op::CallModule(_) => "call_module",
            Op::Call(id) if id.is_function() => "call_function",
            Op::Call(_) => "call_method",
            Op::Host(host) => host.op.callee().0,
            Op::Rust(_) | Op::TupleGet(_) => "call_function",
            Op::If => "if",
            Op::Match(_) => "match",
            Op::For(_) => "for",
            Op::While => "while",
            Op::Yield => "output",
        }
    }

    /// What it does beside yielding a value; control flow answers for its regions elsewhere.
    pub fn effect(&self) -> Effect {
        match self {
            Op::Call(id) => id.effect(),
            Op::Host(host) => host.effect,
            Op::Rust(code) => code.effect,
            _ => Effect::Pure,
        }
    }

    /// Whether generated code takes its value out of a `Result`.
    pub fn is_fallible(&self) -> bool {
        match self {
            Op::Host(host) => host.fallible,
            Op::Rust(code) => code.fallible,
            _ => false,
        }
    }

    /// The host operation, if it is one.
    pub fn host(&self) -> Option<&HostOp> {
        match self {
            Op::Host(host) => Some(&host.op),
            _ => None,
        }
    }

    /// Whether it runs on the host: an operation, or code that is not understood.
    pub fn is_host(&self) -> bool {
        matches!(self, Op::Host(_) | Op::Rust(_))
    }

    /// Whether the result is a tensor of its own: new, and no view of an argument or the argument itself.
    pub fn makes_own_tensor(&self) -> bool {
        match self {
            Op::Call(op) => !op.is_view() && op.effect() == Effect::Pure,
            Op::CallModule(kind) => !kind.passes_input(),
            _ => false,
        }
    }

    /// Returns whether the node owns regions.
    pub fn is_control_flow(&self) -> bool {
        matches!(self, Op::If | Op::Match(_) | Op::For(_) | Op::While)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_of_ops_follow_their_receiver() {
        let opcode = |name: &str| OpId::lookup(name).map(|id| Op::Call(id).opcode());
        assert_eq!(opcode("relu"), Some("call_method"));
        assert_eq!(opcode("add"), Some("call_function"));
        // Without a row of their own.
        assert_eq!(OpId::lookup("hamming_window").map(|id| id.row().is_some()), Some(false));
        assert_eq!(opcode("hamming_window"), Some("call_function"));
        assert_eq!(OpId::lookup("bincount").map(|id| id.row().is_some()), Some(false));
        assert_eq!(opcode("bincount"), Some("call_method"));
    }
}
