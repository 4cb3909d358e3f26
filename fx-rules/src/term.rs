//! A rule after its names are resolved: what the checks look at and what is printed.

use fx_ir::{HostOp, OpId, Operator};
use proc_macro2::Ident;

use fx_ir::layers::FieldType;

/// The kinds of values that a capture can be bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No type is declared, and nothing but operators use it.
    Value,
    Tensor,
    Float,
    Int,
    Bool,
    Ints,
    /// A list of tensors.
    Tensors,
    Module(String),
}

/// A capture, or a name given by `let`.
pub(crate) struct Capture {
    pub(crate) name: Ident,
    pub(crate) kind: Kind,
    /// Whether its type is written down.
    pub(crate) is_typed: bool,
    pub(crate) is_let: bool,
    /// The number of times that the pattern mentions it.
    pub(crate) bound: usize,
    /// The number of times that replacement and guards mention it.
    pub(crate) used: usize,
}

/// A literal of either side.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Int(i64),
    Float(f64),
    Bool(bool),
    Str(String),
    Absent,
    Path(String),
}

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Pat {
    Any,
    Capture(usize),
    Optional(usize),
    Literal(Literal),
    List(Vec<Pat>),
    /// `..rest`: the items of a list that are left.
    Rest(Option<usize>),
    /// `part..`: one item after the other.
    Repeat(Box<Pat>),
    /// A capture in a repeated part, which gathers what it is bound to in each.
    Collect(usize),
    Call(OpId, Vec<(usize, &'static str, Pat)>),
    Operator(Operator, Box<[Pat; 2]>),
    Module(usize, Vec<Pat>),
    Field(usize, Vec<String>),
    Either(Vec<Pat>),
    Named(usize, Box<Pat>),
}

/// A part of a replacement.
#[derive(Clone)]
pub(crate) enum Tmpl {
    Capture(usize),
    Let(usize),
    Part(usize, usize),
    Literal(Literal),
    List(Vec<Tmpl>),
    /// The items of a captured list, in a list.
    Splice(usize),
    Call(OpId, Vec<Tmpl>),
    Operator(Operator, Box<[Tmpl; 2]>),
    Neg(Box<Tmpl>),
    Module(usize, Vec<Tmpl>),
    Field(usize, Vec<(&'static str, FieldType)>),
    Or(Box<[Tmpl; 2]>),
    Computed(usize),
    /// A host operation in the argument of another.
    Expr(HostOp, Vec<Tmpl>),
    Rust {
        code: Embedded,
        args: Vec<Tmpl>,
        fallible: bool,
        tensors: usize,
        ty: Option<String>,
    },
}

/// The content of `rust!(..)`.
#[derive(Clone)]
pub(crate) enum Embedded {
    /// An operation on the arguments.
    Op(HostOp),
    /// Any other code as text, with `$n` for the n-th argument; the name of its form in `fx_rewrite::rewrite::RustForm`.
    Text(String, &'static str),
}

/// The type of a template's result, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Yields {
    Unknown,
    Tensor,
    OptTensor,
    Number,
    Bool,
    Str,
    List,
    Nothing,
    Layer,
    Tuple(usize),
}

impl Yields {
    /// In words.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Yields::Unknown => "a value",
            Yields::Tensor => "a tensor",
            Yields::OptTensor => "a tensor that may be absent",
            Yields::Number => "a number",
            Yields::Bool => "a truth value",
            Yields::Str => "a string",
            Yields::List => "a list",
            Yields::Nothing => "`None`",
            Yields::Layer => "a layer",
            Yields::Tuple(_) => "a tuple",
        }
    }

    /// Returns whether it fits a parameter of this kind.
    pub(crate) fn fits(self, kind: fx_ir::catalog::Kind) -> bool {
        use fx_ir::catalog::Kind as K;
        match self {
            Yields::Unknown => true,
            Yields::Tensor => matches!(kind, K::Tensor | K::OptTensor),
            Yields::OptTensor => matches!(kind, K::OptTensor),
            Yields::Number => matches!(
                kind,
                K::Int
                    | K::Usize
                    | K::OptInt
                    | K::IntList
                    | K::OptIntList
                    | K::Float
                    | K::OptFloat
                    | K::FloatList
                    | K::Scalar
                    | K::Shape
                    | K::Other
            ),
            Yields::Bool => matches!(kind, K::Bool | K::Scalar),
            Yields::Str => matches!(kind, K::Str),
            Yields::List => {
                matches!(kind, K::IntList | K::OptIntList | K::FloatList | K::TensorList | K::OptTensorList | K::Shape)
            }
            Yields::Nothing => matches!(
                kind,
                K::OptTensor
                    | K::OptInt
                    | K::OptFloat
                    | K::OptIntList
                    | K::OptElementKind
                    | K::OptLayout
                    | K::Scalar
                    | K::OptTensorList
            ),
            Yields::Layer | Yields::Tuple(_) => false,
        }
    }
}

/// The type of a parameter, in words.
pub(crate) fn kind_name(kind: fx_ir::catalog::Kind) -> &'static str {
    use fx_ir::catalog::Kind as K;
    match kind {
        K::Tensor => "a tensor",
        K::OptTensor => "a tensor or `None`",
        K::TensorList | K::OptTensorList => "a list of tensors",
        K::Int | K::Usize | K::OptInt => "an integer",
        K::IntList | K::OptIntList | K::Shape => "a list of integers",
        K::Float | K::OptFloat | K::Scalar => "a number",
        K::FloatList => "a list of numbers",
        K::Bool => "a truth value",
        K::Str => "a string",
        K::ElementKind | K::OptElementKind => "an element type",
        _ => "a value of another type",
    }
}
