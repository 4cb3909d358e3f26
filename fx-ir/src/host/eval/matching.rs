//! Which pattern a value matches, and what it binds.
//!
//! The parts of a value are values, since a shared reference is a copy. The parts of what is behind a mutable reference
//! are places, and what is bound to them are mutable references.

use super::place::Access;
use super::value::{Location, Refusal, Step, Value};
use super::{EvalError, Evaluator, Failure, Machine, Tensor, Variables, number};
use crate::Arg;
use crate::pattern::{Elements, Literal, Pattern, RangePattern, StructPattern};

/// The arm of a `match` that a value takes.
#[derive(Clone, Debug)]
pub struct Taken<T> {
    /// Its position among the arms.
    pub arm: usize,
    /// What its pattern binds: the values of the region's parameters.
    pub bound: Vec<Value<T>>,
}

/// Evaluates an argument and finds the first pattern that it matches; `None` where there is none such.
///
/// # Errors
/// If the argument cannot be evaluated, as [`eval_arg`](super::eval_arg)'s, and if a pattern is one of another type.
pub fn eval_match<M: Machine>(
    patterns: &[Pattern],
    subject: &Arg,
    variables: &mut Variables<M::Tensor>,
    machine: &mut M,
) -> Result<Option<Taken<M::Tensor>>, Failure<M>> {
    let mut evaluator = Evaluator { variables, machine, elements: Vec::new() };
    let subject = evaluator.value(subject)?;
    for (arm, pattern) in patterns.iter().enumerate() {
        if let Some(bound) = evaluator.bound_by(pattern, subject.clone())? {
            return Ok(Some(Taken { arm, bound }));
        }
    }
    Ok(None)
}

/// Matches a value, such as the element of a loop; returns what the pattern binds, or `None` where it does not match.
///
/// # Errors
/// If the pattern is one of another type.
pub fn eval_pattern<M: Machine>(
    pattern: &Pattern,
    value: Value<M::Tensor>,
    variables: &mut Variables<M::Tensor>,
    machine: &mut M,
) -> Result<Matched<M>, Failure<M>> {
    Evaluator { variables, machine, elements: Vec::new() }.bound_by(pattern, value)
}

/// What a pattern binds in order of its numbers, where it matches.
pub type Matched<M> = Option<Vec<Value<Tensor<M>>>>;

/// What a pattern is asked about: a value, and where it lies if that can be written to.
struct Part<T> {
    value: Value<T>,
    place: Option<Location<T>>,
}

/// What has been bound so far, by number.
type Bound<T> = Vec<Option<Value<T>>>;

impl<T: Clone> Part<T> {
    /// A part of it.
    fn inner(&self, value: Value<T>, step: Step) -> Part<T> {
        Part { value, place: self.place.clone().map(|place| place.then(step)) }
    }

    /// Its parts by position.
    fn items(&self, items: &[Value<T>], elements: &Elements, step: fn(usize) -> Step) -> Option<Vec<Part<T>>> {
        let positions = elements.positions(items.len())?;
        Some(positions.map(|(at, _)| self.inner(items[at].clone(), step(at))).collect())
    }
}

impl<M: Machine> Evaluator<'_, M> {
    fn bound_by(&mut self, pattern: &Pattern, value: Value<Tensor<M>>) -> Result<Matched<M>, Failure<M>> {
        let mut bound = vec![None; pattern.binds()];
        if !self.is_matched(pattern, Part { value, place: None }, &mut bound)? {
            return Ok(None);
        }
        let unbound = || EvalError::Operands(format!("the pattern {pattern} does not bind all of its values"));
        bound.into_iter().collect::<Option<Vec<_>>>().map(Some).ok_or_else(unbound)
    }

    fn is_matched(
        &mut self,
        pattern: &Pattern,
        part: Part<Tensor<M>>,
        bound: &mut Bound<Tensor<M>>,
    ) -> Result<bool, Failure<M>> {
        match pattern {
            Pattern::Wild => return Ok(true),
            Pattern::Bind(number) => {
                bound[*number] = Some(match part.place {
                    Some(place) => Value::Reference(Box::new(place)),
                    None => part.value,
                });
                return Ok(true);
            }
            Pattern::Or(cases) => return self.any_matches(cases, &part, bound),
            _ => {}
        }
        let part = self.opened(part)?;
        let refused = || unfit(pattern, &part.value);
        match (pattern, &part.value) {
            // What is behind it is copied.
            (Pattern::Reference(inner), value) => {
                self.is_matched(inner, Part { value: value.clone(), place: None }, bound)
            }
            (Pattern::None, Value::Option(held)) => Ok(held.is_none()),
            (Pattern::Some(_), Value::Option(None)) => Ok(false),
            (Pattern::Some(inner), Value::Option(Some(held))) => {
                self.is_matched(inner, part.inner((**held).clone(), Step::Unwrap(None)), bound)
            }
            (Pattern::Literal(literal), value) => self.equals(literal, value),
            (Pattern::Range(range), value) => self.is_within(range, value),
            (Pattern::Tuple(elements), Value::Unit) => Ok(elements.items.is_empty()),
            (Pattern::Tuple(elements), Value::Tuple(parts)) => {
                let parts = part.items(parts, elements, |at| Step::Field(at.to_string()));
                self.all_match(elements, parts.ok_or_else(refused)?, bound)
            }
            (Pattern::Slice(elements), Value::List(items)) => {
                let item = |at| Step::Item(i128::try_from(at).unwrap_or(i128::MAX));
                match part.items(items, elements, item) {
                    Some(items) => self.all_match(elements, items, bound),
                    None => Ok(false),
                }
            }
            (Pattern::TupleStruct(path, elements), _) => {
                self.fields_match((path, named_by_position(elements, &part.value)), &part, pattern, bound)
            }
            (Pattern::Struct(StructPattern { path, fields, .. }), _) => {
                let fields = fields.iter().map(|(name, field)| (name.clone(), field)).collect();
                self.fields_match((path, Some(fields)), &part, pattern, bound)
            }
            _ => Err(refused()),
        }
    }

    fn any_matches(
        &mut self,
        cases: &[Pattern],
        part: &Part<Tensor<M>>,
        bound: &mut Bound<Tensor<M>>,
    ) -> Result<bool, Failure<M>> {
        for case in cases {
            let part = Part { value: part.value.clone(), place: part.place.clone() };
            if self.is_matched(case, part, bound)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What is behind a mutable reference, where it lies; any other value as it is.
    fn opened(&mut self, part: Part<Tensor<M>>) -> Result<Part<Tensor<M>>, Failure<M>> {
        let Value::Reference(at) = part.value else { return Ok(part) };
        let place = at.then(Step::Deref);
        let value = self.visit(place.clone(), Access::Read, |value| Ok(value.clone()))?;
        self.opened(Part { value, place: Some(place) })
    }

    fn all_match(
        &mut self,
        elements: &Elements,
        parts: Vec<Part<Tensor<M>>>,
        bound: &mut Bound<Tensor<M>>,
    ) -> Result<bool, Failure<M>> {
        for (pattern, part) in elements.items.iter().zip(parts) {
            if !self.is_matched(pattern, part, bound)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a value is the struct or the variant of that path, and its fields are as the patterns ask. What the machine
    /// keeps is a struct, since an enum of the live model's is known by its variant.
    fn fields_match(
        &mut self,
        (path, fields): (&str, Option<Vec<(String, &Pattern)>>),
        part: &Part<Tensor<M>>,
        pattern: &Pattern,
        bound: &mut Bound<Tensor<M>>,
    ) -> Result<bool, Failure<M>> {
        let known = match &part.value {
            Value::Struct(of, _) | Value::Path(of) if !is_same_item(of, path) => return Ok(false),
            Value::Struct(_, known) => known.as_slice(),
            Value::Path(_) | Value::Handle(_) => &[],
            other => return Err(unfit(pattern, other)),
        };
        for (name, field) in fields.ok_or_else(|| unfit(pattern, &part.value))? {
            let value = match (&part.value, known.iter().find(|(known, _)| *known == name)) {
                (_, Some((_, value))) => value.clone(),
                (Value::Handle(of), None) => self.machine.field(*of, &name).map_err(EvalError::Machine)?,
                (other, None) => return Err(unfit(pattern, other)),
            };
            if !self.is_matched(field, part.inner(value, Step::Field(name)), bound)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn equals(&mut self, literal: &Literal, value: &Value<Tensor<M>>) -> Result<bool, Failure<M>> {
        let constant = match literal {
            // A variant with fields is none without.
            Literal::Path(path) if matches!(value, Value::Struct(of, _) if !is_same_item(of, path)) => {
                return Ok(false);
            }
            Literal::Path(path) if matches!(value, Value::Path(of) if is_same_item(of, path)) => return Ok(true),
            literal => self.constant(literal)?,
        };
        let refused = || EvalError::Operands(format!("{value} cannot be compared with {literal}"));
        match (&constant, value) {
            (Value::Path(a), Value::Path(b)) => Ok(is_same_item(a, b)),
            (constant, value) => constant.equals(value).ok_or_else(refused),
        }
    }

    fn is_within(&mut self, range: &RangePattern, value: &Value<Tensor<M>>) -> Result<bool, Failure<M>> {
        let mut order = |end: &Option<Literal>| {
            let Some(end) = end else { return Ok(None) };
            let end = self.constant(end)?;
            let refused = || EvalError::Operands(format!("{value} cannot be compared with {end}"));
            number::order(value, &end).ok_or_else(refused).map(Some)
        };
        // Of what is no number nothing is within a range.
        let (start, end) = (order(&range.start)?, order(&range.end)?);
        let from = start.is_none_or(|order| order.is_some_and(std::cmp::Ordering::is_ge));
        let below = |order: std::cmp::Ordering| order.is_lt() || range.inclusive && order.is_eq();
        Ok(from && end.is_none_or(|order| order.is_some_and(below)))
    }

    fn constant(&mut self, literal: &Literal) -> Result<Value<Tensor<M>>, Failure<M>> {
        Ok(match literal {
            Literal::Bool(value) => Value::Bool(*value),
            Literal::Int(number, ty) => Value::Int(*number, *ty),
            Literal::Float(bits, ty) => Value::Float(f64::from_bits(*bits), *ty),
            Literal::Str(text) => Value::Str(text.clone()),
            Literal::Char(_) => return Err(EvalError::Operands("no value is a character".to_owned())),
            Literal::Path(path) => self.path(path)?,
        })
    }
}

/// The fields of a tuple struct that the patterns stand for; `None` where the value has too few or too many of them. How
/// many it has of which the machine keeps the value is not known.
fn named_by_position<'p, T>(elements: &'p Elements, value: &Value<T>) -> Option<Vec<(String, &'p Pattern)>> {
    let own = elements.items.len();
    let count = match value {
        Value::Struct(_, fields) => fields.len(),
        _ if elements.rest.is_some_and(|before| before < own) => return None,
        _ => own,
    };
    Some(elements.positions(count)?.map(|(at, item)| (at.to_string(), item)).collect())
}

/// Returns whether two paths name the same variant or struct, given that they name ones of the same type: a `use` and the
/// place where it stands shorten a path from the front.
fn is_same_item(a: &str, b: &str) -> bool {
    a.rsplit("::").next() == b.rsplit("::").next()
}

fn unfit<T, E>(pattern: &Pattern, value: &Value<T>) -> EvalError<T, E> {
    Refusal::Operands(format!("the pattern {pattern} does not fit {value}")).into()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::tests::{Shapes, shown};
    use super::super::{FloatType, Handle, IntType, Value, eval_arg};
    use super::*;
    use crate::{Graph, HostOp, NodeId, Type};

    /// What each of the arms says to the value, with what it binds.
    fn check(value: &Value<<Shapes as Machine>::Tensor>, arms: &[&str], expected: &Expect) {
        let patterns: Vec<Pattern> = arms.iter().map(|arm| arm.parse().unwrap()).collect();
        let (mut variables, mut machine) = (Variables::default(), Shapes::default());
        let said: Vec<String> = patterns
            .iter()
            .map(|pattern| match eval_pattern(pattern, value.clone(), &mut variables, &mut machine) {
                Ok(Some(bound)) => format!("{pattern}: ({})", bound.iter().map(shown).collect::<Vec<_>>().join(", ")),
                Ok(None) => format!("{pattern} does not match"),
                Err(error) => format!("{pattern}: {error}"),
            })
            .collect();
        expected.assert_eq(&said.join("\n"));
    }

    fn int(number: i128) -> Value<<Shapes as Machine>::Tensor> {
        Value::Int(number, IntType::I64)
    }

    #[test]
    fn options_and_tuples_are_taken_apart() {
        let pair = Value::option(Some(Value::Tuple(vec![int(3), Value::Option(None)])));
        check(
            &pair,
            &["None", "Some(_)", "Some((%0, None))", "Some((%0, Some(%1)))", "Some((4, _))"],
            &expect![[r#"
            None does not match
            Some(_): ()
            Some((%0, None)): (3i64)
            Some((%0, Some(%1))) does not match
            Some((4, _)) does not match"#]],
        );
    }

    #[test]
    fn numbers_are_compared() {
        check(
            &int(5),
            &["5", "5i64", "5u8", "(1 | 3..=5)", "..5", "6..", "crate::EPS"],
            &expect![[r#"
            5: ()
            5i64: ()
            5u8: i64 cannot be compared with 5u8
            (1 | 3..=5): ()
            ..5 does not match
            6.. does not match
            crate::EPS: i64 cannot be compared with crate::EPS"#]],
        );
        let half = Value::Float(0.5, FloatType::F32);
        check(
            &half,
            &["0.5", "0.0..1.0", "0.6.."],
            &expect![[r#"
            0.5: ()
            0.0..1.0: ()
            0.6.. does not match"#]],
        );
    }

    #[test]
    fn lists_are_matched_by_their_length() {
        let list = Value::List(vec![int(1), int(2), int(3)]);
        check(
            &list,
            &["[%0, %1]", "[%0, .., %1]", "[.., 3]", "[]", "[..]"],
            &expect![[r#"
            [%0, %1] does not match
            [%0, .., %1]: (1i64, 3i64)
            [.., 3]: ()
            [] does not match
            [..]: ()"#]],
        );
    }

    #[test]
    fn variants_are_known_by_name() {
        let scaled = Value::Struct("crate::Mode::Scaled".to_owned(), vec![("by".to_owned(), int(2))]);
        check(
            &scaled,
            &["Mode::Plain", "Mode::Scaled { by: %0, .. }", "Mode::Named(%0)", "Mode::Scaled(%0)"],
            &expect![[r#"
                Mode::Plain does not match
                Mode::Scaled { by: %0, .. }: (2i64)
                Mode::Named(%0) does not match
                Mode::Scaled(%0): the pattern Mode::Scaled(%0) does not fit crate::Mode::Scaled"#]],
        );
        let pair = Value::Struct("Pair".to_owned(), vec![("0".to_owned(), int(1)), ("1".to_owned(), int(2))]);
        check(
            &pair,
            &["Pair(%0, %1)", "Pair(.., %0)", "Pair(%0)"],
            &expect![[r#"
                Pair(%0, %1): (1i64, 2i64)
                Pair(.., %0): (2i64)
                Pair(%0): the pattern Pair(%0) does not fit Pair"#]],
        );
        let plain = Value::Path("crate::Mode::Plain".to_owned());
        check(
            &plain,
            &["Mode::Plain", "Mode::Scaled { by: %0 }", "Mode::Named(_)"],
            &expect![[r#"
            Mode::Plain: ()
            Mode::Scaled { by: %0 } does not match
            Mode::Named(_) does not match"#]],
        );
        check(
            &Value::Handle(Handle(0)),
            &["Net { width: %0, .. }", "Net { depth: %0, .. }"],
            &expect![[r#"
            Net { width: %0, .. }: (64i64)
            Net { depth: %0, .. }: no field `depth`"#]],
        );
    }

    #[test]
    fn what_is_behind_a_mutable_reference_is_bound_by_it() {
        let mut graph = Graph::new("f");
        let body = graph.body();
        let id: NodeId = graph.add_param(body, "x", Type::Unknown, crate::Origin::default());
        let (mut variables, mut machine) = (Variables::default(), Shapes::default());
        variables.set(id, Value::option(Some(Value::Tuple(vec![int(3), int(4)]))));
        let patterns = ["None", "Some((3, %0))"].map(|pattern| pattern.parse().unwrap());
        let subject = HostOp::RefMut.on(id);
        let Ok(Some(taken)) = eval_match(&patterns, &subject, &mut variables, &mut machine) else { panic!("no arm") };
        assert_eq!(taken.arm, 1);
        variables.set(id, Value::option(Some(Value::Tuple(vec![int(3), int(5)]))));
        let place = taken.bound.into_iter().next().unwrap();
        assert!(matches!(place, Value::Reference(_)));
        let other = graph.add_param(body, "y", Type::Unknown, crate::Origin::default());
        variables.set(other, place);
        let read = eval_arg(&HostOp::Deref.on(other), &mut variables, &mut machine).unwrap();
        assert!(matches!(read, Value::Int(5, IntType::I64)), "{read:?}");
    }
}
