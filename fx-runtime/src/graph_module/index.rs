//! tch's indexing, `tensor.i(..)`, by values.

use std::ops::Bound;

use tch::{IndexOp as _, Tensor, TensorIndexer};

use super::Value;
use super::dispatch::int;
use crate::{Error, Result};

/// `tensor.i(index)`: a number, a range, a list, a tensor, `NewAxis`, or a tuple of such.
pub(super) fn index(tensor: &Tensor, index: &Value) -> Result<Tensor> {
    let parts: &[Value] = match index {
        Value::Tuple(parts) => parts,
        one => std::slice::from_ref(one),
    };
    let refused = |part: &Value| Error::Refused(format!("a tensor cannot be indexed with {part}"));
    let parts: Vec<TensorIndexer> =
        parts.iter().map(|part| indexer(part).ok_or_else(|| refused(part))).collect::<Result<_>>()?;
    let count = parts.len();
    let mut parts = parts.into_iter();
    let mut next = || parts.next().unwrap_or(TensorIndexer::Narrow(Bound::Unbounded, Bound::Unbounded));
    Ok(match count {
        1 => tensor.f_i(next())?,
        2 => tensor.f_i((next(), next()))?,
        3 => tensor.f_i((next(), next(), next()))?,
        4 => tensor.f_i((next(), next(), next(), next()))?,
        5 => tensor.f_i((next(), next(), next(), next(), next()))?,
        6 => tensor.f_i((next(), next(), next(), next(), next(), next()))?,
        7 => tensor.f_i((next(), next(), next(), next(), next(), next(), next()))?,
        _ => return Err(Error::Refused(format!("a tensor cannot be indexed by {count} positions at once"))),
    })
}

fn indexer(value: &Value) -> Option<TensorIndexer> {
    Some(match value {
        Value::Int(..) => TensorIndexer::Select(int(value)?),
        Value::Range(range) => {
            let end = |end: &Option<Value>| match end {
                Some(end) => int(end).map(Some),
                None => Some(None),
            };
            let start = end(&range.start)?.map_or(Bound::Unbounded, Bound::Included);
            let stop = end(&range.end)?.map_or(Bound::Unbounded, |stop| {
                if range.inclusive { Bound::Included(stop) } else { Bound::Excluded(stop) }
            });
            TensorIndexer::Narrow(start, stop)
        }
        Value::List(items) => {
            let numbers: Vec<i64> = items.iter().map(int).collect::<Option<_>>()?;
            TensorIndexer::IndexSelect(Tensor::from_slice(&numbers))
        }
        Value::Tensor(positions) => TensorIndexer::IndexSelect(positions.shallow_clone()),
        Value::Path(path) if path.rsplit("::").next() == Some("NewAxis") => TensorIndexer::InsertNewAxis,
        _ => return None,
    })
}
