//! Options and truth values that the caller of a part knows: what they decide is decided when the graph is listed.
//!
//! A part of a model lists its nodes for any arguments. Where it is handed `None` or `Some(x)` itself, it asks for what is
//! known, and a graph that is written for this one call would not ask.

use fx_ir::{Arg, HostOp, Op, Pattern, pattern::Literal, scalar};

/// What a pattern says of a value that may not be known whole.
enum Matched {
    /// It takes the value, and binds these parts of it, by number.
    Yes(Vec<(usize, Arg)>),
    No,
    Unknown,
}

/// The region that control flow takes, and what its parameters are, where the subject tells.
pub(super) fn decided(op: &Op, subject: &Arg) -> Option<(usize, Vec<Arg>)> {
    match (op, subject) {
        (Op::If, Arg::Bool(condition)) => Some((usize::from(!condition), Vec::new())),
        (Op::Match(patterns), subject) => {
            for (position, pattern) in patterns.iter().enumerate() {
                match matched(pattern, subject) {
                    Matched::Yes(mut bound) => {
                        bound.sort_by_key(|(number, _)| *number);
                        return Some((position, bound.into_iter().map(|(_, value)| value).collect()));
                    }
                    Matched::No => {}
                    Matched::Unknown => return None,
                }
            }
            None
        }
        _ => None,
    }
}

fn matched(pattern: &Pattern, value: &Arg) -> Matched {
    match (pattern, value) {
        (Pattern::Wild, _) => Matched::Yes(Vec::new()),
        (Pattern::Bind(number), value) => Matched::Yes(vec![(*number, value.clone())]),
        (Pattern::Reference(inner), value) => matched(inner, value),
        (Pattern::Literal(Literal::Bool(wanted)), Arg::Bool(is)) if wanted == is => Matched::Yes(Vec::new()),
        (Pattern::Literal(Literal::Bool(_)), Arg::Bool(_)) => Matched::No,
        (Pattern::None | Pattern::Some(_), value) => match (pattern, Held::by(value)) {
            (_, None) => Matched::Unknown,
            (Pattern::Some(inner), Some(Held::Value(held))) => matched(inner, held),
            (Pattern::None, Some(Held::Nothing)) => Matched::Yes(Vec::new()),
            _ => Matched::No,
        },
        (Pattern::Tuple(elements), Arg::Expr(expr)) if expr.op == HostOp::Tuple && elements.rest.is_none() => {
            let mut bound = Vec::new();
            let mut is_known = true;
            for (pattern, part) in elements.items.iter().zip(&expr.args) {
                match matched(pattern, part) {
                    Matched::Yes(parts) => bound.extend(parts),
                    Matched::No => return Matched::No,
                    Matched::Unknown => is_known = false,
                }
            }
            if is_known { Matched::Yes(bound) } else { Matched::Unknown }
        }
        _ => Matched::Unknown,
    }
}

/// What an option holds.
enum Held<'a> {
    Nothing,
    Value(&'a Arg),
}

impl<'a> Held<'a> {
    /// What the option holds; `None` where that is not known.
    fn by(option: &'a Arg) -> Option<Held<'a>> {
        match option {
            Arg::None => Some(Held::Nothing),
            Arg::Expr(expr) => match (&expr.op, expr.args.as_slice()) {
                (HostOp::Some, [held]) => Some(Held::Value(held)),
                (HostOp::NoneOf(_), _) => Some(Held::Nothing),
                _ => None,
            },
            _ => None,
        }
    }

    /// The value, or the other where there is none.
    fn or(self, other: &'a Arg) -> &'a Arg {
        match self {
            Held::Value(held) => held,
            Held::Nothing => other,
        }
    }
}

/// Whether it is known whether the option holds something.
pub(super) fn is_known(value: &Arg) -> bool {
    Held::by(value).is_some()
}

/// The value of a host operation that computes with known numbers, takes a known element of a list, or asks an option, known
/// as it is, what it holds.
pub(super) fn answer(op: &HostOp, args: &[Arg]) -> Option<Arg> {
    match (op, args) {
        (HostOp::Not, [Arg::Bool(value)]) => return Some(Arg::Bool(!value)),
        (HostOp::Binary(sign), [Arg::Int(a), Arg::Int(b)]) => return scalar::fold(sign, *a, *b),
        (HostOp::ItemRef | HostOp::Item, [Arg::List(items), Arg::Int(at)]) => {
            return usize::try_from(*at).ok().and_then(|at| items.get(at)).cloned();
        }
        _ => {}
    }
    let held = Held::by(args.first()?)?;
    match (op, &args[1..]) {
        (HostOp::Method(name), []) if name == "is_some" => Some(Arg::Bool(matches!(held, Held::Value(_)))),
        (HostOp::Method(name), []) if name == "is_none" => Some(Arg::Bool(matches!(held, Held::Nothing))),
        (HostOp::Method(name), [other]) if name == "unwrap_or" => Some(held.or(other).clone()),
        (HostOp::HandleOr, [other]) => Some(held.or(other).clone()),
        (HostOp::Unwrap(_) | HostOp::UnwrapRef(_) | HostOp::UnwrapLoan(_), []) => match held {
            Held::Value(held) => Some(held.clone()),
            Held::Nothing => None,
        },
        (HostOp::MapOption | HostOp::MapLoan, _) if matches!(held, Held::Nothing) => Some(Arg::None),
        _ => None,
    }
}

/// The value of a host operation that hands on an option, known as it is.
pub(super) fn handed_on(op: &HostOp, args: &[Arg]) -> Option<Arg> {
    let [option] = args else { return None };
    let hands_on = match op {
        HostOp::Copied | HostOp::BorrowOption | HostOp::Use | HostOp::Ref => true,
        HostOp::Method(name) => matches!(name.as_str(), "as_ref" | "as_deref" | "copied" | "cloned"),
        _ => false,
    };
    (hands_on && is_known(option)).then(|| option.clone())
}
