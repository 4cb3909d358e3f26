//! The tables of host operations, of their arities and of methods, row by row.

use std::collections::HashSet;

use super::eval::call::Call;
use super::eval::{FloatType, IntType, Range, Refusal, Value};
use super::methods::{METHODS, Receiver, method};
use super::{Adaptor, HostOp, Yields};
use crate::{Arg, Effect, Graph, Host, Op, Origin, Type};

/// Words of which an operation may be made, for each kind of what operations carry.
const WORDS: [&[&str]; 5] =
    [&["skip(2)", "rev()"], &[], &["crate::Path<i64>"], &["crate::Path", "field"], &["\"a \\ word\""]];

/// Every operation, with every kind of words that it takes.
fn operations() -> Vec<HostOp> {
    let words = WORDS.map(|words| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
    let of = |name: &&'static str| words.iter().filter_map(|words| HostOp::parse(name, words)).collect::<Vec<_>>();
    let found: Vec<Vec<HostOp>> = HostOp::NAMES.iter().map(of).collect();
    assert!(found.iter().all(|ops| !ops.is_empty()), "each operation takes one of the samples");
    found.concat()
}

#[test]
fn every_operation_reads_back_from_its_text() -> Result<(), crate::ParseError> {
    let flags = [(Effect::Pure, false), (Effect::Io, true), (Effect::State, false), (Effect::InPlace(1), true)];
    for op in operations() {
        assert_eq!(HostOp::parse(op.name(), &op.words()), Some(op.clone()), "{op:?}");
        for (effect, flipped) in flags {
            let mut graph: Graph = "graph f(x, y) { yield x }".parse()?;
            let body = graph.body();
            let args: Vec<Arg> = graph.region(body).params.iter().map(|&id| Arg::Node(id)).collect();
            let host = Host { fallible: op.is_fallible() != flipped, effect, op: op.clone() };
            // Once as a node and once within the argument of one.
            let nested = HostOp::Use.on(op.clone().of(args.clone()));
            graph.push(body, Op::Host(host.clone()), args, "one", Type::Unknown, Origin::default());
            graph.push(body, Op::Host(HostOp::Ref.into()), vec![nested], "two", Type::Unknown, Origin::default());
            let again: Graph = graph.to_string().parse()?;
            let nodes = again.region(body).nodes.iter().map(|&id| again.node(id));
            let found = nodes.clone().find_map(|node| match (&node.op, node.name.as_str()) {
                (Op::Host(host), "one") => Some(host.clone()),
                _ => None,
            });
            assert_eq!(found, Some(host), "{graph}");
            assert_eq!(again.to_string(), graph.to_string());
            // The ids of two graphs differ.
            let nested =
                |graph: &Graph| graph.region(body).nodes.iter().map(|&id| format!("{:?}", graph.node(id).args)).nth(2);
            assert_eq!(nested(&again), nested(&graph));
        }
    }
    Ok(())
}

#[test]
fn names_of_operations_are_unique() {
    let names: HashSet<&str> = HostOp::NAMES.iter().copied().collect();
    assert_eq!(names.len(), HostOp::NAMES.len());
    assert_eq!(HostOp::parse("no_such", &[]), None);
    assert_eq!(HostOp::parse("handle", &["word".to_owned()]), None, "it carries nothing");
}

#[test]
fn an_operation_takes_what_it_needs() {
    for op in operations() {
        let arity = op.arity();
        assert!(arity.start() <= arity.end(), "{op:?}");
        assert!(op.yields() != Yields::Place || *arity.start() > 0, "a place has a base: {op:?}");
    }
    assert_eq!(HostOp::Exchange("take".to_owned()).arity(), 1..=1);
    assert_eq!(HostOp::Struct(("S".to_owned(), vec!["a".to_owned()])).arity(), 1..=1);
}

#[test]
fn adaptors_read_back() {
    use Adaptor::{Clone, Copied, Enumerate, Iter, Rev, Skip, Take};
    for adaptor in [Iter, Clone, Copied, Enumerate, Rev, Skip(0), Skip(7), Take(3)] {
        assert_eq!(adaptor.to_string().parse(), Ok(adaptor));
    }
    for text in ["iter", "iter(1)", "skip()", "skip(n)", "map(f)", "take(2", ""] {
        assert_eq!(text.parse::<Adaptor>(), Err(format!("`{text}` is no adaptor of a loop")));
    }
}

#[test]
fn a_method_is_one_row() {
    let mut seen = HashSet::new();
    for row in METHODS {
        assert!(seen.insert((row.receiver, row.name)), "{} of {}", row.name, row.receiver.noun());
    }
}

#[test]
fn methods_tell_type_and_effect() {
    let numbers = Type::List(Box::new(Type::rust("i64")));
    let of = |name: &str, ty: &Type, args: &[Type]| {
        let row = Receiver::of_type(ty).and_then(|receiver| method(name, receiver))?;
        Some((row.type_of(ty, args).to_string(), row.mutates, row.may_panic))
    };
    let row = |ty: &str, mutates, panics| Some((ty.to_owned(), mutates, panics));
    assert_eq!(of("pop", &numbers, &[]), row("option<rust<i64>>", true, false));
    assert_eq!(of("remove", &numbers, &[Type::rust("usize")]), row("rust<i64>", true, true));
    assert_eq!(of("len", &numbers, &[]), row("rust<usize>", false, false));
    assert_eq!(of("sqrt", &Type::rust("f32"), &[]), row("rust<f32>", false, false));
    assert_eq!(of("abs_diff", &Type::rust("i32"), &[]), row("rust<u32>", false, false));
    assert_eq!(of("size", &Type::TENSOR, &[]), row("list<rust<i64>>", false, false));
    assert_eq!(of("clone", &Type::rust("bool"), &[]), row("rust<bool>", false, false));
    let held = Type::Option(Box::new(Type::TENSOR));
    assert_eq!(of("zip", &held, std::slice::from_ref(&held)), row("option<(tensor, tensor)>", false, false));
    assert_eq!(of("sqrt", &Type::rust("i64"), &[]), None);
    assert!(method("get", Receiver::List).is_some_and(super::methods::Method::yields_loan));
}

/// A value of a kind, and its type.
fn sample(receiver: Receiver) -> Option<(Value<()>, Type)> {
    let number = |number| Value::Int(number, IntType::I64);
    let text = |text: &str| Value::Str(text.to_owned());
    Some(match receiver {
        Receiver::Float => (Value::Float(0.5, FloatType::F32), Type::rust("f32")),
        Receiver::Int => (number(1), Type::rust("i64")),
        Receiver::Bool => (Value::Bool(true), Type::rust("bool")),
        Receiver::Str => (text("words"), Type::rust("String")),
        Receiver::List => (Value::List(vec![number(1), number(2)]), Type::List(Box::new(Type::rust("i64")))),
        Receiver::Option => (Value::option(Some(number(1))), Type::Option(Box::new(Type::rust("i64")))),
        Receiver::Range => {
            let range = Range { start: Some(number(0)), end: Some(number(2)), inclusive: false };
            (Value::Range(Box::new(range)), Type::rust("::std::ops::Range<i64>"))
        }
        Receiver::Any => (Value::Unit, Type::Tuple(Vec::new())),
        Receiver::Tensor => return None,
    })
}

fn type_of(value: &Value<()>) -> Type {
    match value {
        Value::Unit => Type::Tuple(Vec::new()),
        Value::Bool(_) => Type::rust("bool"),
        Value::Int(_, ty) => Type::rust(ty.name()),
        Value::Float(_, ty) => Type::rust(ty.name()),
        Value::Str(_) => Type::rust("String"),
        Value::List(items) => Type::List(Box::new(items.first().map_or(Type::Unknown, type_of))),
        Value::Option(held) => Type::Option(Box::new(held.as_deref().map_or(Type::Unknown, type_of))),
        Value::Tuple(parts) => Type::Tuple(parts.iter().map(type_of).collect()),
        _ => Type::Unknown,
    }
}

#[test]
fn every_method_computes_what_its_row_says() {
    let kinds = [Receiver::Int, Receiver::Float, Receiver::Str, Receiver::List, Receiver::Option];
    let literal = (Value::Int(1, IntType::Untyped), Type::rust("integer"));
    let samples: Vec<_> = kinds.into_iter().filter_map(sample).chain([literal]).collect();
    for row in METHODS {
        let Some((receiver, ty)) = sample(row.receiver) else { continue };
        let mut computed = 0;
        for (first, first_ty) in &samples {
            for (second, second_ty) in &samples {
                let mut args = vec![first.clone(), second.clone()];
                let mut types = vec![first_ty.clone(), second_ty.clone()];
                args.truncate(row.arity);
                types.truncate(row.arity);
                let mut changed = receiver.clone();
                let mut call = Call { name: row.name, receiver: &mut changed, args, fits: row.receiver.noun() };
                match super::methods::call(row, &mut call) {
                    Err(Refusal::Operands(_)) => continue,
                    Err(Refusal::Panics(message)) => assert!(row.may_panic, "`{}` panics: {message}", row.name),
                    Ok(value) => {
                        let wanted = row.type_of(&ty, &types);
                        assert!(wanted.fits(&type_of(&value)), "`{}` yields {value}, not {wanted}", row.name);
                    }
                }
                computed += 1;
            }
        }
        assert!(computed > 0, "`{}` of {} takes none of the samples", row.name, row.receiver.noun());
    }
}
