//! A value of the user's that a frozen model keeps for code which the tracer did not understand.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Makes any `Send` value shareable by letting one thread at a time see it.
pub struct Captured<T>(Mutex<T>);

impl<T> Captured<T> {
    /// Keeps `value`.
    pub fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// The value, for as long as the guard lives.
    ///
    /// Locking a second time on the same thread while a guard lives never returns; take one guard a statement. A panic
    /// while the value was locked does not lock it forever.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a value under a name for messages, as a `Result`: a second handle on a module or tensor, a clone of anything
/// else, an error for what has neither.
///
/// `capture!(&self.dropout, "dropout")?`
#[doc(hidden)]
#[macro_export]
macro_rules! capture {
    ($value:expr, $name:expr) => {
        $crate::module::clone_field!($name, $value).map($crate::frozen::Captured::new)
    };
}

impl<T> fmt::Debug for Captured<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Captured({})", std::any::type_name::<T>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_value_that_is_not_sync_becomes_shareable() {
        let count = Captured::new(Cell::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let count = count.lock();
                    count.set(count.get() + 1);
                });
            }
        });
        assert_eq!(count.lock().get(), 8);
        assert!(format!("{count:?}").starts_with("Captured("));
    }

    #[test]
    fn captures_by_clone_or_says_what_cannot_be() {
        let words: Captured<Vec<&str>> = crate::capture!(&vec!["a", "b"], "words").unwrap();
        assert_eq!(words.lock().len(), 2);
        let error = crate::capture!(&Mutex::new(1), "lock").unwrap_err();
        assert!(error.to_string().contains("lock"), "{error}");
    }
}
