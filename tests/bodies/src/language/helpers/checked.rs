//! Functions that check what they are given, in a file whose names the model's file does not have.

use fx_runtime::{Tensor, nn};

use super::super::checks::Refusal;

const WIDTH: i64 = 4;

/// Its own word for a shape.
#[derive(Debug)]
struct Shape(Vec<i64>);

/// By assertions, with every kind of message.
pub(crate) fn asserted(xs: &Tensor, fc: &nn::Linear) -> Tensor {
    let (rows, width) = xs.size2().unwrap();
    assert!(xs.dim() == 2);
    assert!(rows > 0, "no rows in {:?}", xs.size());
    assert_eq!(width, WIDTH);
    assert_eq!(xs.size(), [rows, WIDTH], "{rows} rows of {w}, not {0}", WIDTH, w = width);
    assert_ne!(rows, 3, "never three: {:?}", Shape(xs.size()));
    xs.apply(fc)
}

/// By a panic in an arm that yields a tuple.
pub(crate) fn parted(xs: &Tensor) -> (Tensor, i64) {
    match xs.size().as_slice() {
        [rows, _] => (xs.shallow_clone(), *rows),
        [_, rows, width] => {
            assert!(*width == WIDTH, "a width of {width}");
            (xs.view([-1, *width]), *rows)
        }
        [] => unreachable!(),
        other => panic!("{} dimensions", other.len()),
    }
}

/// By errors.
pub(crate) fn refused(xs: &Tensor) -> Result<(Tensor, i64), Refusal> {
    let (ys, rows) = match xs.dim() {
        2 => (xs.shallow_clone(), xs.size()[0]),
        3 => (xs.flatten(0, 1), xs.size()[1]),
        rank => return Err(Refusal::Rank(rank)),
    };
    if ys.size()[1] != WIDTH {
        return Err(Refusal::Width { found: ys.size()[1] });
    }
    Ok((ys, rows))
}

/// Looks at one size as an option, and at all of them in builds with debug assertions.
pub fn looked_at(xs: &Tensor) -> Tensor {
    assert_eq!(xs.size().get(1).copied(), Some(WIDTH));
    debug_assert!(xs.dim() == 2, "two dimensions");
    xs.relu()
}
