//! What host operations take and yield, as far as types tell.

use crate::host::methods::{self, Receiver};
use crate::host::{Expr, Yields};
use crate::{Arg, Graph, HostOp, Type, scalar};

/// What a value is, where its type tells for certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Tensor,
    List,
    Option,
    Tuple,
    Int,
    Float,
    Bool,
}

impl Kind {
    /// `None` where the type may be anything: a struct's or a name's that may be an alias.
    pub(super) fn of(ty: &Type) -> Option<Kind> {
        match ty {
            Type::Tensor(_) => Some(Kind::Tensor),
            Type::List(_) => Some(Kind::List),
            Type::Option(_) => Some(Kind::Option),
            Type::Tuple(_) => Some(Kind::Tuple),
            Type::Rust(_) => match Receiver::of_type(ty) {
                Some(Receiver::Int) => Some(Kind::Int),
                Some(Receiver::Float) => Some(Kind::Float),
                Some(Receiver::Bool) => Some(Kind::Bool),
                _ => None,
            },
            Type::Unknown | Type::Module(_) => None,
        }
    }
}

/// Whether a type is certainly of none of the kinds that fit.
fn is_none_of(ty: &Type, fitting: &[Kind]) -> bool {
    Kind::of(ty).is_some_and(|kind| !fitting.contains(&kind))
}

/// What the first operand has to be, and how a message says it; `None` for an operation that takes anything there.
fn wanted(op: &HostOp) -> Option<(&'static [Kind], &'static str)> {
    use Kind::{Bool, Float, Int, List, Option, Tensor};
    Some(match op {
        HostOp::Handle | HostOp::BorrowTensor | HostOp::Index | HostOp::LstmState | HostOp::GruState => {
            (&[Tensor], "a tensor")
        }
        HostOp::Convert(_) | HostOp::ConvertOr(_) => (&[Int], "a whole number"),
        HostOp::TryFrom(_) => (&[Tensor, Int, Float], "a tensor"),
        HostOp::UnwrapMut(_)
        | HostOp::UnwrapBorrow
        | HostOp::Unwrap(_)
        | HostOp::UnwrapRef(_)
        | HostOp::UnwrapLoan(_)
        | HostOp::BorrowOption
        | HostOp::HandleOr
        | HostOp::MapOption
        | HostOp::MapLoan => (&[Option], "an option"),
        HostOp::Item
        | HostOp::ItemRef
        | HostOp::Slice(_)
        | HostOp::MutSlice
        | HostOp::EndMut(_)
        | HostOp::ResizeWith => (&[List], "a list"),
        // An option has an iterator too.
        HostOp::CopiedElements
        | HostOp::HandleElements
        | HostOp::CopyList
        | HostOp::HandlesOfList
        | HostOp::MapList
        | HostOp::Sum(_)
        | HostOp::Product(_)
        | HostOp::Extremum(_)
        | HostOp::Collect(_)
        | HostOp::Count(_) => (&[List, Option], "a list"),
        HostOp::Neg => (&[Int, Float], "a number"),
        HostOp::Not => (&[Int, Bool], "a truth value or a whole number"),
        HostOp::Cast(_) | HostOp::Number(_) | HostOp::Scalar => (&[Int, Float, Bool], "a number"),
        _ => return None,
    })
}

/// What is wrong with operands of these types, in a phrase that goes on from the operation's name.
pub(super) fn misfit(op: &HostOp, types: &[Type]) -> Option<String> {
    match (op, types) {
        (HostOp::Binary(sign), [a, b]) => return binary_misfit(sign, a, b),
        (HostOp::Field(name), [of]) => return field_misfit(name, of),
        _ => {}
    }
    let (kinds, noun) = wanted(op)?;
    let first = types.first()?;
    is_none_of(first, kinds).then(|| format!("which takes {noun}, on {first}"))
}

/// Numbers of one type, or truth values; whatever is compared holds no tensor.
fn binary_misfit(sign: &str, a: &Type, b: &Type) -> Option<String> {
    let (fitting, noun): (&[Kind], _) = match sign {
        "==" | "!=" => (
            &[Kind::List, Kind::Option, Kind::Tuple, Kind::Int, Kind::Float, Kind::Bool],
            "two values of one type without tensors",
        ),
        "<" | "<=" | ">" | ">=" => {
            (&[Kind::List, Kind::Option, Kind::Tuple, Kind::Int, Kind::Float, Kind::Bool], "two numbers of one type")
        }
        "&&" | "||" => (&[Kind::Bool], "two truth values"),
        "<<" | ">>" => (&[Kind::Int], "two whole numbers"),
        "&" | "|" | "^" => (&[Kind::Int, Kind::Bool], "two whole numbers or truth values"),
        _ => (&[Kind::Int, Kind::Float], "two numbers of one type"),
    };
    let known = |ty: &Type| match ty {
        Type::Rust(name) if scalar::is_scalar(name) => Some(name.clone()),
        _ => None,
    };
    let differ = !matches!(sign, "<<" | ">>") && matches!((known(a), known(b)), (Some(a), Some(b)) if a != b);
    let wrong = differ || is_none_of(a, fitting) || is_none_of(b, fitting);
    wrong.then(|| format!("which takes {noun}, on {a} and {b}"))
}

fn field_misfit(name: &str, of: &Type) -> Option<String> {
    match of {
        Type::Tuple(parts) => {
            let has = name.parse().is_ok_and(|at: usize| at < parts.len());
            (!has).then(|| format!("which a tuple of {} does not have", parts.len()))
        }
        other => is_none_of(other, &[]).then(|| format!("which takes a struct or a tuple, on {other}")),
    }
}

/// The type of what an operation yields on operands of these types; unknown where no rule tells.
pub(super) fn result(op: &HostOp, types: &[Type]) -> Type {
    let first = || types.first().cloned().unwrap_or_default();
    let rust = |name: &str| if scalar::is_scalar(name) { Type::rust(name) } else { Type::Unknown };
    match op {
        HostOp::Use
        | HostOp::Clone
        | HostOp::ToVec
        | HostOp::Copied
        | HostOp::Ref
        | HostOp::RefMut
        | HostOp::BorrowTensor
        | HostOp::BorrowOption
        | HostOp::Handle
        | HostOp::Deref
        | HostOp::MutSlice
        | HostOp::Neg
        | HostOp::Not
        | HostOp::CopyList => first(),
        HostOp::Literal(ty)
        | HostOp::Ascribe(ty)
        | HostOp::Cast(ty)
        | HostOp::From(ty)
        | HostOp::Convert(ty)
        | HostOp::ConvertOr(ty)
        | HostOp::Sum(ty)
        | HostOp::Product(ty) => rust(ty),
        HostOp::Tuple => Type::Tuple(types.to_vec()),
        HostOp::Array | HostOp::Vec | HostOp::Repeat | HostOp::Filled(_) => list_of(first()),
        HostOp::EmptyVec(ty) => list_of(rust(ty)),
        HostOp::Some => Type::Option(Box::new(first())),
        HostOp::NoneOf(ty) => Type::Option(Box::new(rust(ty))),
        HostOp::Binary(sign) => match sign.as_str() {
            "==" | "!=" | "<" | "<=" | ">" | ">=" | "&&" | "||" => Type::rust("bool"),
            _ => types
                .iter()
                .find(|ty| matches!(ty, Type::Rust(name) if scalar::is_scalar(name)))
                .cloned()
                .unwrap_or_default(),
        },
        HostOp::Method(name) | HostOp::Mutate(name) => {
            let receiver = first();
            let row = Receiver::of_type(&receiver).and_then(|kind| methods::method(name, kind));
            row.map_or(Type::Unknown, |row| row.type_of(&receiver, types.get(1..).unwrap_or_default()))
        }
        HostOp::Count(_) => Type::rust("usize"),
        HostOp::TensorOf | HostOp::Index | HostOp::HandleOr => Type::TENSOR,
        op if op.yields() == Yields::Never => Type::rust("!"),
        op => projected(op, types),
    }
}

/// The type of a projection of the first operand.
fn projected(op: &HostOp, types: &[Type]) -> Type {
    let first = || types.first().cloned().unwrap_or_default();
    match op {
        HostOp::Field(name) => match first() {
            Type::Tuple(parts) => name.parse().ok().and_then(|at: usize| parts.get(at).cloned()).unwrap_or_default(),
            _ => Type::Unknown,
        },
        HostOp::Item | HostOp::ItemRef => match (first(), types.get(1).and_then(Kind::of)) {
            (Type::List(element), Some(Kind::Int)) => *element,
            _ => Type::Unknown,
        },
        HostOp::EndMut(_) => match first() {
            Type::List(element) => *element,
            _ => Type::Unknown,
        },
        HostOp::UnwrapMut(_)
        | HostOp::UnwrapBorrow
        | HostOp::Unwrap(_)
        | HostOp::UnwrapRef(_)
        | HostOp::UnwrapLoan(_) => match first() {
            Type::Option(held) => *held,
            _ => Type::Unknown,
        },
        _ => Type::Unknown,
    }
}

/// A list of elements of that type; what a literal's is, the code around it tells.
fn list_of(element: Type) -> Type {
    let is_literal = matches!(&element, Type::Rust(name) if name == "integer" || name == "float");
    Type::List(Box::new(if is_literal { Type::Unknown } else { element }))
}

/// The type of what lies at a place.
pub(super) fn place_type(graph: &Graph, expr: &Expr) -> Type {
    let ty = |arg: &Arg| match arg {
        Arg::Node(id) => graph.node(*id).ty.clone(),
        Arg::Int(_) => Type::rust("integer"),
        Arg::Expr(expr) => place_type(graph, expr),
        _ => Type::Unknown,
    };
    result(&expr.op, &expr.args.iter().map(ty).collect::<Vec<_>>())
}
