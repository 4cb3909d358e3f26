//! Methods of lists, options and ranges.

use super::call::Call;
use super::number;
use super::value::{Refusal, Value};
use crate::number_type::IntType;

type Outcome<T> = Result<Value<T>, Refusal>;

/// The value itself.
#[allow(clippy::unnecessary_wraps, reason = "methods have one signature")]
pub(crate) fn same<T: Clone>(call: &mut Call<'_, T>) -> Outcome<T> {
    Ok(call.receiver.clone())
}

/// A property of a list.
pub(crate) fn of_items<T>(of: fn(&[Value<T>]) -> Value<T>) -> impl FnOnce(&mut Call<'_, T>) -> Outcome<T> {
    move |call| call.items().map(|items| of(items))
}

/// A change of a list that neither takes nor gives anything.
pub(crate) fn change<T>(change: fn(&mut Vec<Value<T>>)) -> impl FnOnce(&mut Call<'_, T>) -> Outcome<T> {
    move |call| {
        call.items().map(change)?;
        Ok(Value::Unit)
    }
}

/// A change of a list that takes a position of it, which may be as far as `beyond` its last.
pub(crate) fn at<T>(
    beyond: usize,
    change: fn(&mut Vec<Value<T>>, usize) -> Value<T>,
) -> impl FnOnce(&mut Call<'_, T>) -> Outcome<T> {
    move |call| {
        let (position, name) = (call.count_arg(0)?, call.name);
        let items = call.items()?;
        if position < items.len() + beyond {
            return Ok(change(items, position));
        }
        Err(outside(name, position, items.len()))
    }
}

fn outside(name: &str, position: usize, length: usize) -> Refusal {
    Refusal::Panics(format!("{name}: the index is {position} but the length is {length}"))
}

/// `list.contains(&item)`.
pub(crate) fn has_item<T: Clone>(call: &mut Call<'_, T>) -> Outcome<T> {
    let refused = call.refused();
    let item = call.take_arg(0)?;
    let mut found = false;
    for other in call.items()? {
        found |= item.clone().alike(other)?.equals(other).ok_or_else(|| refused.clone())?;
    }
    Ok(Value::Bool(found))
}

/// `list.starts_with(&[..])`, or `ends_with`.
pub(crate) fn edge<T: Clone>(at_end: bool) -> impl FnOnce(&mut Call<'_, T>) -> Outcome<T> {
    move |call| {
        let refused = call.refused();
        let part = call.take_arg(0)?;
        let (items, Value::List(part)) = (call.items()?, part) else { return Err(refused) };
        let Some(rest) = items.len().checked_sub(part.len()) else { return Ok(Value::Bool(false)) };
        let edge = if at_end { &items[rest..] } else { &items[..part.len()] };
        let mut same = true;
        for (item, other) in part.iter().zip(edge) {
            same &= item.clone().alike(other)?.equals(other).ok_or_else(|| refused.clone())?;
        }
        Ok(Value::Bool(same))
    }
}

/// `list.get(at)`.
pub(crate) fn item_at<T: Clone>(call: &mut Call<'_, T>) -> Outcome<T> {
    let position = call.count_arg(0)?;
    call.items().map(|items| Value::option(items.get(position).cloned()))
}

/// `list.push(item)`.
pub(crate) fn push_item<T>(call: &mut Call<'_, T>) -> Outcome<T> {
    let item = call.take_arg(0)?;
    let items = call.items()?;
    let item = like_first(item, items)?;
    items.push(item);
    Ok(Value::Unit)
}

fn like_first<T>(item: Value<T>, items: &[Value<T>]) -> Outcome<T> {
    items.first().map_or(Ok(None), |first| Ok(Some(first))).and_then(|first| match first {
        Some(first) => item.alike(first),
        None => Ok(item),
    })
}

/// `list.insert(at, item)`.
pub(crate) fn insert_item<T>(call: &mut Call<'_, T>) -> Outcome<T> {
    let (position, item, name) = (call.count_arg(0)?, call.take_arg(1)?, call.name);
    let items = call.items()?;
    if position > items.len() {
        return Err(outside(name, position, items.len()));
    }
    let item = like_first(item, items)?;
    items.insert(position, item);
    Ok(Value::Unit)
}

/// `list.extend(others)`.
pub(crate) fn extend_by<T>(call: &mut Call<'_, T>) -> Outcome<T> {
    let refused = call.refused();
    match call.take_arg(0)? {
        Value::List(more) => {
            let items = call.items()?;
            for item in more {
                let item = like_first(item, items)?;
                items.push(item);
            }
            Ok(Value::Unit)
        }
        _ => Err(refused),
    }
}

/// `list.truncate(length)`.
pub(crate) fn truncate_to<T>(call: &mut Call<'_, T>) -> Outcome<T> {
    let length = call.count_arg(0)?;
    call.items()?.truncate(length);
    Ok(Value::Unit)
}

/// `list.swap(a, b)`.
pub(crate) fn swap_items<T>(call: &mut Call<'_, T>) -> Outcome<T> {
    let (a, b, name) = (call.count_arg(0)?, call.count_arg(1)?, call.name);
    let items = call.items()?;
    if a.max(b) >= items.len() {
        return Err(outside(name, a.max(b), items.len()));
    }
    items.swap(a, b);
    Ok(Value::Unit)
}

/// `list.resize(length, item)`.
pub(crate) fn resize_to<T: Clone>(call: &mut Call<'_, T>) -> Outcome<T> {
    let (length, item) = (call.count_arg(0)?, call.take_arg(1)?);
    let items = call.items()?;
    let item = like_first(item, items)?;
    items.resize(length, item);
    Ok(Value::Unit)
}

/// `list.fill(item)`.
pub(crate) fn fill_with_item<T: Clone>(call: &mut Call<'_, T>) -> Outcome<T> {
    let item = call.take_arg(0)?;
    let items = call.items()?;
    let item = like_first(item, items)?;
    items.fill(item);
    Ok(Value::Unit)
}

/// `list.sort()`, of what has a total order.
pub(crate) fn sort_items<T>(call: &mut Call<'_, T>) -> Outcome<T> {
    let refused = call.refused();
    let items = call.items()?;
    let ordered = items
        .windows(2)
        .all(|pair| !matches!(pair[0], Value::Float(..)) && number::order(&pair[0], &pair[1]).flatten().is_some());
    if !ordered {
        return Err(refused);
    }
    items.sort_by(|a, b| number::order(a, b).flatten().unwrap_or(std::cmp::Ordering::Equal));
    Ok(Value::Unit)
}

/// `list.dedup()`.
pub(crate) fn dedup_items<T>(call: &mut Call<'_, T>) -> Outcome<T> {
    let refused = call.refused();
    let items = call.items()?;
    if items.windows(2).any(|pair| pair[0].equals(&pair[1]).is_none()) {
        return Err(refused);
    }
    items.dedup_by(|a, b| a.equals(b) == Some(true));
    Ok(Value::Unit)
}

/// Whether an option holds something, or nothing.
pub(crate) fn holds<T>(wanted: bool) -> impl FnOnce(&mut Call<'_, T>) -> Outcome<T> {
    move |call| call.held().map(|held| Value::Bool(held.is_some() == wanted))
}

/// `option.unwrap_or(other)`.
pub(crate) fn held_or<T>(call: &mut Call<'_, T>) -> Outcome<T> {
    let other = call.take_arg(0)?;
    Ok(call.held()?.take().map_or(other, |held| *held))
}

/// `option.or(other)`.
pub(crate) fn or_other<T>(call: &mut Call<'_, T>) -> Outcome<T> {
    let other = call.take_arg(0)?;
    match call.held()?.take() {
        Some(held) => Ok(Value::Option(Some(held))),
        None => Ok(other),
    }
}

/// `option.unwrap()`, or `expect` with a message.
pub(crate) fn unwrapped<T>(call: &mut Call<'_, T>) -> Outcome<T> {
    let message = match call.args.pop() {
        Some(Value::Str(message)) => message,
        _ => "called `Option::unwrap()` on a `None` value".to_owned(),
    };
    call.held()?.take().map(|held| *held).ok_or(Refusal::Panics(message))
}

/// `option.take()`: what it held; it is empty now.
pub(crate) fn taken<T>(call: &mut Call<'_, T>) -> Outcome<T> {
    Ok(Value::Option(call.held()?.take()))
}

/// `option.replace(value)`: what it held before.
pub(crate) fn replaced<T>(call: &mut Call<'_, T>) -> Outcome<T> {
    let value = call.take_arg(0)?;
    let held = call.held()?;
    let value = match held.as_deref() {
        Some(before) => value.alike(before)?,
        None => value,
    };
    Ok(Value::Option(held.replace(Box::new(value))))
}

/// `option.zip(other)`.
pub(crate) fn zipped<T>(call: &mut Call<'_, T>) -> Outcome<T> {
    let refused = call.refused();
    match (call.take_arg(0)?, call.held()?.take()) {
        (Value::Option(Some(other)), Some(held)) => Ok(Value::option(Some(Value::Tuple(vec![*held, *other])))),
        (Value::Option(_), _) => Ok(Value::Option(None)),
        _ => Err(refused),
    }
}

/// The numbers of a range, whose ends are whole; `None` where it is another's or open.
pub(crate) fn numbers<T>(value: &Value<T>) -> Option<(std::ops::Range<i128>, IntType)> {
    match value {
        Value::Range(range) => match (&range.start, &range.end) {
            (Some(Value::Int(start, of)), Some(Value::Int(end, and))) => {
                Some((*start..end + i128::from(range.inclusive), of.joined(*and)?))
            }
            _ => None,
        },
        _ => None,
    }
}

/// `range.contains(&number)`.
pub(crate) fn range_contains<T>(call: &mut Call<'_, T>) -> Outcome<T> {
    let refused = call.refused();
    let item = call.take_arg(0)?;
    let Value::Range(range) = &*call.receiver else { return Err(refused) };
    let order = |end: &Option<Value<T>>| {
        end.as_ref().map(|end| number::order(&item, end).flatten().ok_or_else(|| refused.clone())).transpose()
    };
    let (start, end) = (order(&range.start)?, order(&range.end)?);
    let before = |order: std::cmp::Ordering| order.is_lt() || range.inclusive && order.is_eq();
    Ok(Value::Bool(start.is_none_or(std::cmp::Ordering::is_ge) && end.is_none_or(before)))
}

/// How many numbers a range has.
pub(crate) fn range_len<T>(call: &mut Call<'_, T>) -> Outcome<T> {
    let (range, _) = numbers(&*call.receiver).ok_or_else(|| call.refused())?;
    let count = usize::try_from((range.end - range.start).max(0)).map_err(|_| call.refused())?;
    Ok(Value::count(count))
}

/// Whether a range has no numbers.
pub(crate) fn range_is_empty<T>(call: &mut Call<'_, T>) -> Outcome<T> {
    numbers(&*call.receiver).map(|(range, _)| Value::Bool(range.is_empty())).ok_or_else(|| call.refused())
}
