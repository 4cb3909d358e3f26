//! Arguments without what only says how Rust hands them over.

use fx_ir::{Arg, HostOp, host::ELEMENT};

/// An operand of a call as a value: how it is handed over is no part of the graph.
pub(super) fn bare(arg: &Arg) -> Arg {
    match arg {
        Arg::Expr(expr) => match (&expr.op, expr.args.as_slice()) {
            (HostOp::Ref | HostOp::Handle | HostOp::BorrowTensor | HostOp::BorrowOption | HostOp::Use, [inner]) => {
                bare(inner)
            }
            (HostOp::MapOption | HostOp::MapList, [inner, each]) if is_copy(each, &element()) => bare(inner),
            _ => arg.clone(),
        },
        _ => arg.clone(),
    }
}

/// What stands for the element in what is done to each element of an option or a list.
fn element() -> Arg {
    Arg::Path(ELEMENT.to_owned())
}

/// Whether the value is the other one, or is made anew from handles on all its parts.
fn is_copy(arg: &Arg, of: &Arg) -> bool {
    let part = |name: &str| HostOp::Field(name.to_owned()).on(of.clone());
    match arg {
        Arg::Expr(expr) => match (&expr.op, expr.args.as_slice()) {
            (HostOp::Handle | HostOp::Use, [inner]) => is_copy(inner, of),
            (HostOp::MapOption | HostOp::MapList, [inner, each]) => is_copy(inner, of) && is_copy(each, &element()),
            (HostOp::Struct((_, fields)), parts) => {
                fields.iter().zip(parts).all(|(field, arg)| is_copy(arg, &part(field)))
            }
            (HostOp::Tuple, parts) => parts.iter().zip(0..).all(|(arg, at)| is_copy(arg, &part(&at.to_string()))),
            _ => arg == of,
        },
        _ => arg == of,
    }
}
