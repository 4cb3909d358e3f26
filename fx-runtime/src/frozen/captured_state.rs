//! A value of the user's that a frozen model keeps for code which the tracer did not understand, and to which that code
//! may write behind a shared reference.

use std::fmt;
use std::ptr;
use std::sync::{Arc, MutexGuard};

use super::{Captured, Frame};
use crate::frame::cells::{Cell, Copy};
use crate::frame::state_cell::copied_tensor;
use crate::saved::own::OwnState;
use crate::saved::{Loader, Saver, State};
use crate::{Error, Result};

/// Makes any `Send` value shareable as [`Captured`] does, and keeps what it was when the model was frozen: `reset_state`
/// takes it back to that, and it is saved as that.
pub struct CapturedState<T>(Arc<Cell<T>>);

impl<T: Send + 'static> CapturedState<T> {
    /// Keeps a copy of `value`; the whole model, of which the functions of a frozen type have one together, is `shared`.
    ///
    /// # Errors
    /// Those of `place`, which makes the copy, and of `copy`.
    pub fn of(
        frame: &Frame,
        value: &T,
        shared: bool,
        place: impl FnOnce(&T) -> Result<T, Error>,
        copy: Copy<T>,
    ) -> Result<Self> {
        let address = Some(ptr::from_ref(value).addr()).filter(|_| shared && size_of::<T>() > 0);
        if let Some(known) = address.and_then(|address| frame.cells().find(address)) {
            return Ok(Self(known));
        }
        let now = place(value)?;
        let start = copy(&now, &mut copied_tensor)?;
        Ok(Self::new(frame, address, now, start, copy))
    }

    fn new(frame: &Frame, address: Option<usize>, now: T, start: T, copy: Copy<T>) -> Self {
        let cell = Arc::new(Cell::new(now, start, copy));
        frame.cells().add(address, &cell);
        Self(cell)
    }
}

impl<T> CapturedState<T> {
    /// The value, for as long as the guard lives; as [`Captured::lock`].
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.now()
    }
}

/// Saved as it was when the model was frozen.
impl<T: Send + 'static> State for CapturedState<T> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        if to.has(Arc::as_ptr(&self.0).addr()) {
            return Ok(());
        }
        Captured::save_value(&*self.0.start(), to)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        from.once(|from| {
            let now: T = Captured::load_value(from)?;
            let start = OwnState::copied(&now)?;
            Ok(Self::new(from.frame(), None, now, start, |value, _| OwnState::copied(value)))
        })
    }
}

impl<T> Clone for CapturedState<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for CapturedState<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CapturedState({})", std::any::type_name::<T>())
    }
}

/// Keeps a value of that type, to which calls may write, under a name for messages, as a `Result`.
#[doc(hidden)]
#[macro_export]
macro_rules! capture_state {
    ($frame:expr, $value:expr, $name:expr, $shared:expr, $type:ty) => {{
        #[allow(unused_imports)]
        use $crate::frozen::probe::{Bare as _, Behind as _, Peel};
        #[allow(unused_imports)]
        use $crate::module::probe::{
            CloneNothing as _, Probe, ViaClone as _, ViaField as _, ViaLock as _, VisitNothing as _,
        };
        let value: &$type = (&&Peel((&&Peel($value)).peel())).peel();
        $crate::frozen::CapturedState::<$type>::of(
            &$frame,
            value,
            $shared,
            |value| {
                let copy = (&&&Probe(value)).place_as($name, &mut |tensor| $frame.copied(tensor))?;
                (&&&Probe(&copy)).visit($name, &mut $crate::module::SetTraining(false));
                ::core::result::Result::Ok(copy)
            },
            |value, tensor| (&&&Probe(value)).place_as($name, tensor),
        )
    }};
}

/// That there are no copies of a type.
///
/// # Errors
/// Always.
#[doc(hidden)]
pub fn no_copy<T>(name: &str) -> Result<T> {
    Err(Error::NotCloneable { what: name.to_owned() })
}
