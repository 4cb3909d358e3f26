//! Errors get the node and the user's line, once; and the panicking door of a frozen model.

use std::any::Any;
use std::fmt;

use tch::TchError;

use super::iterations::with_positions;
use crate::Error;

/// Says where in the user's model an operation failed.
pub trait At<T> {
    /// Wraps an error in [`Error::At`] unless it has a place already.
    ///
    /// `node` is the name in the graph (`layer1_0_conv1`), `place` the user's lines
    /// (`src/model.rs:31,33`).
    fn at(self, node: &'static str, place: &'static str) -> Result<T, LocatedError>;
}

/// An error of the user's own keeps its message. Each operation of generated code calls this, which is compiled once for
/// each type of result.
impl<T, E: fmt::Display + 'static> At<T> for Result<T, E> {
    #[inline(never)]
    fn at(self, node: &'static str, place: &'static str) -> Result<T, LocatedError> {
        super::clock::ran(node, place);
        self.map_err(|error| failed_at(error, ToString::to_string, node, place))
    }
}

/// An error that names its place, as generated code hands it to its `?`: of the size of a pointer, so that the results of
/// operations stay small.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct LocatedError(Box<Error>);

impl From<LocatedError> for Error {
    #[cold]
    #[inline(never)]
    fn from(error: LocatedError) -> Error {
        *error.0
    }
}

/// What [`At::at`] does, for an error of any type: `at!(result, "node", "src/model.rs:31")?`. It is told by its
/// `Display`, else by its `Debug`, else by the name of its type.
#[doc(hidden)]
#[macro_export]
macro_rules! at {
    ($result:expr, $node:expr, $place:expr) => {
        match $result {
            ::core::result::Result::Ok(value) => {
                $crate::frozen::at::ran($node, $place);
                ::core::result::Result::Ok(value)
            }
            ::core::result::Result::Err(error) => {
                #[allow(unused_imports)]
                use $crate::frozen::at::{ByDebug as _, ByDisplay as _, ByName as _, Told};
                let text = (&&&Told(&error)).text();
                ::core::result::Result::Err($crate::frozen::at::failed_at(error, |_| text, $node, $place))
            }
        }
    };
}

/// Tells the clock that an operation has run.
#[inline]
pub fn ran(node: &'static str, place: &'static str) {
    super::clock::ran(node, place);
}

/// An error of any type, which [`at!`](crate::at) asks for its text.
#[derive(Debug)]
pub struct Told<'e, E>(pub &'e E);

/// By `Display`.
pub trait ByDisplay {
    /// What the error says.
    fn text(&self) -> String;
}

impl<E: fmt::Display> ByDisplay for &&Told<'_, E> {
    fn text(&self) -> String {
        self.0.to_string()
    }
}

/// By `Debug`.
pub trait ByDebug {
    /// What the error says.
    fn text(&self) -> String;
}

impl<E: fmt::Debug> ByDebug for &Told<'_, E> {
    fn text(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// By the name of its type.
pub trait ByName {
    /// What the error says.
    fn text(&self) -> String;
}

impl<E> ByName for Told<'_, E> {
    fn text(&self) -> String {
        format!("an error of the type `{}`", std::any::type_name::<E>())
    }
}

/// The error, which says that text, as one of ours that names its place.
#[cold]
pub fn failed_at<E: 'static>(error: E, text: impl FnOnce(&E) -> String, node: &str, place: &str) -> LocatedError {
    located(ours(error, text), node, place)
}

/// The error as one of ours.
fn ours<E: 'static>(error: E, text: impl FnOnce(&E) -> String) -> Error {
    let mut error = Some(error);
    let known = known(&mut error);
    known.unwrap_or_else(|| Error::Refused(error.as_ref().map(text).unwrap_or_default()))
}

/// The error in that option, where it is one of ours or of libtorch. It is compiled once, whatever the error.
fn known(error: &mut dyn Any) -> Option<Error> {
    if let Some(ours) = error.downcast_mut::<Option<Error>>() {
        return ours.take();
    }
    if let Some(located) = error.downcast_mut::<Option<LocatedError>>() {
        return located.take().map(Error::from);
    }
    error.downcast_mut::<Option<TchError>>().and_then(Option::take).map(Error::from)
}

#[cold]
fn located(error: Error, node: &str, place: &str) -> LocatedError {
    LocatedError(Box::new(match error {
        Error::At { .. } => error,
        source => Error::At { node: with_positions(node), place: place.to_owned(), source: Box::new(source) },
    }))
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

/// What a reference leads to, through all pointers in between: what a `match` asks of an enum is asked of the enum.
#[must_use]
#[inline]
pub fn behind<T: ?Sized>(value: &T) -> &T {
    value
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
    fn an_error_of_any_type_is_told() {
        #[derive(Debug)]
        struct Missing;
        struct Bare;
        let message = |error: LocatedError| error.to_string();
        let displayed: Result<(), _> = Err("no input");
        assert_eq!(crate::at!(displayed, "x", "a.rs:1").map_err(message), Err("at `x` (a.rs:1): no input".to_owned()));
        let debugged: Result<(), _> = Err(Missing);
        assert_eq!(crate::at!(debugged, "x", "a.rs:1").map_err(message), Err("at `x` (a.rs:1): Missing".to_owned()));
        let bare: Result<(), _> = Err(Bare);
        let text = crate::at!(bare, "x", "a.rs:1").map_err(message).unwrap_err();
        assert!(text.ends_with("::Bare`"), "{text}");
        let ours: Result<(), _> = Err(TchError::Shape("too small".into()));
        let error = Error::from(crate::at!(ours, "x", "a.rs:1").unwrap_err());
        assert!(matches!(&error, Error::At { source, .. } if !matches!(**source, Error::Refused(_))), "{error}");
    }

    #[test]
    #[should_panic(expected = "at `conv1` (src/model.rs:31)")]
    fn panics_with_the_message() {
        let failed = Err::<(), _>(TchError::Shape("too small".into())).at("conv1", "src/model.rs:31");
        or_panic(failed.map_err(Error::from));
    }
}
