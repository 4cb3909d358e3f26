//! Errors get the node and the user's line, once; and the panicking door of a frozen model.

use std::any::Any;
use std::fmt;

use tch::TchError;

use crate::Error;

/// Says where in the user's model an operation failed.
pub trait At<T> {
    /// Wraps an error in [`Error::At`] unless it has a place already.
    ///
    /// `node` is the name in the graph (`layer1_0_conv1`), `place` the user's lines
    /// (`src/model.rs:31,33`).
    fn at(self, node: &'static str, place: &'static str) -> Result<T, Error>;
}

/// An error of the user's own keeps its message.
impl<T, E: fmt::Display + 'static> At<T> for Result<T, E> {
    #[inline]
    fn at(self, node: &'static str, place: &'static str) -> Result<T, Error> {
        self.map_err(|error| located(ours(error), node, place))
    }
}

/// The error as one of ours.
#[cold]
fn ours<E: fmt::Display + 'static>(error: E) -> Error {
    let mut error = Some(error);
    let any: &mut dyn Any = &mut error;
    if let Some(ours) = any.downcast_mut::<Option<Error>>().and_then(Option::take) {
        return ours;
    }
    if let Some(torch) = any.downcast_mut::<Option<TchError>>().and_then(Option::take) {
        return torch.into();
    }
    Error::Refused(error.map(|error| error.to_string()).unwrap_or_default())
}

#[cold]
fn located(error: Error, node: &str, place: &str) -> Error {
    match error {
        Error::At { .. } => error,
        source => Error::At { node: node.to_owned(), place: place.to_owned(), source: Box::new(source) },
    }
}

/// The value, or a panic at the caller's line with the error's message.
///
/// # Panics
///
/// On an error; `try_forward` is the door without panics.
#[track_caller]
#[inline]
pub fn or_panic<T>(result: Result<T, Error>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => fail(&error),
    }
}

#[cold]
#[track_caller]
#[expect(clippy::panic, reason = "this is the panicking door, and its documentation says so")]
fn fail(error: &Error) -> ! {
    panic!("{error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_place_stays() {
        let inner: Result<(), TchError> = Err(TchError::Shape("too small".into()));
        let error = inner.at("conv1", "src/model.rs:31").at("block", "src/model.rs:40").unwrap_err();
        assert!(error.to_string().starts_with("at `conv1` (src/model.rs:31): "), "{error}");
    }

    #[test]
    #[should_panic(expected = "at `conv1` (src/model.rs:31)")]
    fn panics_with_the_message() {
        or_panic(Err::<(), _>(TchError::Shape("too small".into())).at("conv1", "src/model.rs:31"));
    }
}
