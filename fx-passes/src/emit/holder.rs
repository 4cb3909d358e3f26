//! How a field of a frozen type holds a value that is known when the model is frozen.

use fx_ir::{Node, Op, Type, scalar};

/// How a field holds a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// A kernel or another type of the runtime, as it is.
    Plain(String),
    /// A number or a truth value.
    Copied(String),
    /// A list of numbers.
    Numbers(String),
    /// A text that is read as a `&str`.
    Text,
    /// A tensor, moved to the frozen device and kind.
    Param,
    /// A tensor that the source alone decides, moved to the frozen device; its kind is what the source says.
    Constant,
    /// A tensor that may be absent.
    OptionalParam,
    /// A value of the user's, kept for code that reads it.
    Captured(String),
}

/// How generated code names types.
pub(super) trait Names {
    /// A type of the crate by its full path, if generated code can name it.
    fn named(&self, path: &str) -> Option<String>;

    /// The type of the field that the node reads, as it is declared.
    fn declared(&self, node: &Node) -> Option<String>;
}

impl Holder {
    /// How a field could hold the value of the node; `None` where no type for the field is known.
    pub(super) fn of(node: &Node, home: &dyn Names) -> Option<Holder> {
        let (ty, op, named) = (&node.ty, &node.op, &|name: &str| home.named(name));
        // What it is may lie behind a pointer.
        let declared = || home.declared(node).filter(|_| matches!(op, Op::GetAttr(_)));
        match ty {
            Type::Tensor(_) => Some(Holder::Param),
            Type::Option(inner) if inner.is_tensor() => Some(Holder::OptionalParam),
            Type::Option(inner) => match &**inner {
                Type::Rust(name) if is_number(inner) => Some(Holder::Copied(format!("Option<{}>", number(name)))),
                _ => None,
            },
            Type::Module(name) if name.contains("::") => declared().or_else(|| named(name)).map(Holder::Captured),
            Type::Module(name) => Some(Holder::Captured(format!("::fx_runtime::nn::{name}"))),
            Type::Rust(name) if name.starts_with("::fx_runtime::frozen::") => Some(Holder::Plain(name.clone())),
            Type::Rust(name) if is_number(ty) => Some(Holder::Copied(number(name))),
            Type::Rust(name) if ["&str", "str"].contains(&name.as_str()) => Some(Holder::Text),
            Type::Rust(name) if scalar::is_of_tch(name) => Some(Holder::Copied(name.clone())),
            Type::Rust(name) if name.starts_with("crate::") && matches!(op, Op::GetAttr(_) | Op::Placeholder) => {
                declared().or_else(|| named(name)).map(Holder::Captured)
            }
            Type::List(inner) => match &**inner {
                Type::Rust(name) if is_number(inner) => Some(Holder::Numbers(number(name))),
                Type::Module(_) if matches!(op, Op::GetAttr(_)) => home.declared(node).map(Holder::Captured),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Whether it is a number, a truth value or a character.
pub(super) fn is_number(ty: &Type) -> bool {
    matches!(ty, Type::Rust(name) if scalar::is_scalar(name) || ["integer", "float"].contains(&name.as_str()))
}

fn number(name: &str) -> String {
    match name {
        "integer" => "i64".to_owned(),
        "float" => "f64".to_owned(),
        name => name.to_owned(),
    }
}
