//! A field of the program's own type that calls write to: its cell holds a clone.

/// What [`state_cell!`](crate::state_cell) chooses with; nothing to call by hand.
pub mod probe {
    use crate::Error;
    use crate::frame::Frame;
    use crate::frame::state_cell::{Foreign, StateCell};

    /// Wraps a field, so that the choice below depends on its type.
    #[derive(Debug)]
    pub struct Own<'a, T>(pub &'a T);

    /// First choice: a value that can be cloned and sent.
    pub trait ViaClone<T> {
        /// The cell.
        fn cell(&self, frame: &Frame, name: &str) -> Result<StateCell<T, Foreign>, Error>;
    }

    impl<T: Clone + Send + 'static> ViaClone<T> for &Own<'_, T> {
        fn cell(&self, frame: &Frame, _name: &str) -> Result<StateCell<T, Foreign>, Error> {
            StateCell::shared(frame, self.0, |value, _| Ok(value.clone()))
        }
    }

    /// Otherwise it is refused.
    pub trait Refused<T> {
        /// Refuses.
        fn cell(&self, frame: &Frame, name: &str) -> Result<StateCell<T, Foreign>, Error>;
    }

    impl<T> Refused<T> for Own<'_, T> {
        fn cell(&self, frame: &Frame, name: &str) -> Result<StateCell<T, Foreign>, Error> {
            Err(Error::Unsupported {
                what: format!("keeping `{name}` of `{}`, to which the forward writes", frame.model()),
                help: "make its type `Clone` and `Send`, or write to its fields one by one".to_owned(),
            })
        }
    }
}

/// The cell of a field whose type is the program's own: a clone of it, an error for what cannot be cloned and sent.
#[doc(hidden)]
#[macro_export]
macro_rules! state_cell {
    ($frame:expr, $field:expr, $name:expr, $type:ty) => {{
        #[allow(unused_imports)]
        use $crate::frozen::cells::{Own, Refused as _, ViaClone as _};
        let field: &$type = $field;
        (&&Own(field)).cell($frame, $name)
    }};
}
