//! One form for what can be written in several: what the tracer makes of the same operators.
//!
//! `1 - x` is `-x + 1` and `2 / x` is the reciprocal of `x / 2`, since ops take the number last. What two tensors spell in
//! two ways without a difference to the last bit, `a - b` and `a + -b`, a pattern matches in both.

use fx_ir::{OpId, Operator, ops};

use crate::term::{Literal, Pat};

/// The operator on two parts of a pattern; `is_number` says of each whether it is a number.
pub(crate) fn operator(operator: Operator, [a, b]: [Pat; 2], is_number: [bool; 2]) -> Pat {
    let plain = |operator: Operator, a: Pat, b: Pat| Pat::Operator(operator, Box::new([a, b]));
    match (operator, is_number) {
        (Operator::Add | Operator::Mul, [true, _]) => plain(operator, b, a),
        (Operator::Sub, [true, _]) => plain(Operator::Add, unary(ops::NEG, b), a),
        (Operator::Div, [true, _]) => quotient(&a, b),
        (Operator::Sub, [false, true]) => match negative(&b) {
            Some(number) => either(plain(Operator::Sub, a.clone(), b), plain(Operator::Add, a, number)),
            None => plain(operator, a, b),
        },
        (Operator::Add, [false, true]) => match negative(&b) {
            Some(number) => either(plain(Operator::Add, a.clone(), b), plain(Operator::Sub, a, number)),
            None => plain(operator, a, b),
        },
        (Operator::Sub, [false, false]) => {
            let negated = unary(ops::NEG, b.clone());
            either(plain(Operator::Sub, a.clone(), b), plain(Operator::Add, a, negated))
        }
        (Operator::Add, [false, false]) => match (negated(&a), negated(&b)) {
            (Some(inner), None) => either(plain(Operator::Add, a, b.clone()), plain(Operator::Sub, b, inner)),
            (None, Some(inner)) => either(plain(Operator::Add, a.clone(), b), plain(Operator::Sub, a, inner)),
            _ => plain(operator, a, b),
        },
        _ => plain(operator, a, b),
    }
}

/// A number over a tensor.
fn quotient(number: &Pat, tensor: Pat) -> Pat {
    let divided = Pat::Operator(Operator::Div, Box::new([tensor.clone(), number.clone()]));
    let inverse = unary(ops::RECIPROCAL, divided);
    let is_one = matches!(number, Pat::Literal(Literal::Int(1))) || *number == Pat::Literal(Literal::Float(1.0));
    if is_one { either(inverse, unary(ops::RECIPROCAL, tensor)) } else { inverse }
}

fn either(first: Pat, second: Pat) -> Pat {
    Pat::Either(vec![first, second])
}

fn unary(op: OpId, part: Pat) -> Pat {
    Pat::Call(op, vec![(0, "self", part)])
}

/// What is negated, where the part is a negation.
fn negated(pat: &Pat) -> Option<Pat> {
    match pat {
        Pat::Call(op, params) if *op == ops::NEG => params.first().map(|(.., inner)| inner.clone()),
        _ => None,
    }
}

/// The negative of a number other than zero: adding a zero and taking one away differ in the sign of zero.
fn negative(pat: &Pat) -> Option<Pat> {
    match pat {
        Pat::Literal(Literal::Int(0)) => None,
        Pat::Literal(Literal::Float(number)) if *number == 0.0 => None,
        Pat::Literal(Literal::Int(number)) => Some(Pat::Literal(Literal::Int(-number))),
        Pat::Literal(Literal::Float(number)) => Some(Pat::Literal(Literal::Float(-number))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBER: Pat = Pat::Literal(Literal::Int(2));

    #[test]
    fn a_number_comes_last() {
        let x = || Pat::Capture(0);
        let sum = operator(Operator::Add, [NUMBER, x()], [true, false]);
        assert_eq!(sum, Pat::Operator(Operator::Add, Box::new([x(), NUMBER])));
        let Pat::Operator(Operator::Add, parts) = operator(Operator::Sub, [NUMBER, x()], [true, false]) else {
            panic!("2 - x is -x + 2")
        };
        assert_eq!((negated(&parts[0]), &parts[1]), (Some(x()), &NUMBER));
    }

    #[test]
    fn what_is_spelled_in_two_ways_matches_in_both() {
        let both = operator(Operator::Sub, [Pat::Capture(0), NUMBER], [false, true]);
        assert!(matches!(both, Pat::Either(parts) if parts.len() == 2));
        let zero = operator(Operator::Sub, [Pat::Capture(0), Pat::Literal(Literal::Int(0))], [false, true]);
        assert!(matches!(zero, Pat::Operator(Operator::Sub, _)), "a zero has a sign");
    }
}
