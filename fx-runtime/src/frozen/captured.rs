//! A value of the user's that a frozen model keeps for code which the tracer did not understand.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Result;
use crate::registry::Registration;
use crate::saved::own::OwnState;
use crate::saved::{Loader, Saver, State};

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

/// Keeps a value under a name for messages, as a `Result`: a copy of a tensor or of a module, on the frame's device, in its
/// dtype and in inference mode, a clone of anything else, an error for what has neither.
///
/// `capture!(&frame, &self.dropout, "dropout")?`; a reference to a reference is as good.
#[doc(hidden)]
#[macro_export]
macro_rules! capture {
    ($frame:expr, $value:expr, $name:expr) => {{
        #[allow(unused_imports)]
        use $crate::frozen::probe::{Bare as _, Behind as _, Peel};
        #[allow(unused_imports)]
        use $crate::module::probe::{
            CloneNothing as _, Probe, ViaClone as _, ViaField as _, ViaLock as _, VisitNothing as _,
        };
        (&&&Probe((&&Peel((&&Peel($value)).peel())).peel())).place_as($name, &mut |tensor| $frame.copied(tensor)).map(
            |copy| {
                (&&&Probe(&copy)).visit($name, &mut $crate::module::SetTraining(false));
                $crate::frozen::Captured::new(copy)
            },
        )
    }};
}

/// What [`capture!`](crate::capture) looks through references with; nothing to call by hand.
pub mod probe {
    /// Wraps a reference, so that the choice below depends on what it refers to.
    #[derive(Debug)]
    pub struct Peel<'a, T>(pub &'a T);

    /// First choice: it refers to a reference.
    pub trait Behind<'a, T> {
        /// The inner reference.
        fn peel(&self) -> &'a T;
    }

    impl<'a, T> Behind<'a, T> for &Peel<'a, &'a T> {
        fn peel(&self) -> &'a T {
            self.0
        }
    }

    /// Otherwise it is taken as it is.
    pub trait Bare<'a, T> {
        /// The reference.
        fn peel(&self) -> &'a T;
    }

    impl<'a, T> Bare<'a, T> for Peel<'a, T> {
        fn peel(&self) -> &'a T {
            self.0
        }
    }
}

/// A layer of the runtime's is saved, and a value of the program's own where its type has a state.
impl<T: 'static> State for Captured<T> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        Self::save_value(&self.lock(), to)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        Self::load_value(from).map(Self::new)
    }
}

impl<T: 'static> Captured<T> {
    /// Saves such a value; one without a state is told to the saver.
    pub(super) fn save_value(value: &T, to: &mut Saver) -> Result<()> {
        if let Some(saved) = OwnState::save(value, to) {
            return saved;
        }
        let saved = Registration::find(value).and_then(|registration| registration.save(value, to));
        saved.unwrap_or_else(|| {
            to.refuse(std::any::type_name::<T>());
            Ok(())
        })
    }

    /// Loads such a value.
    pub(super) fn load_value(from: &mut Loader) -> Result<T> {
        if let Some(own) = OwnState::load(from) {
            return own;
        }
        let layer = Registration::load(from)?.downcast::<T>();
        layer.map_or_else(|_| from.unknown_choice(), |layer| Ok(*layer))
    }
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

    use tch::{Device, Kind, Tensor};

    use super::super::{Frame, oracle};
    use crate::{Freeze, Module, nn};

    fn frame() -> Frame {
        oracle::frame(Freeze::new())
    }

    /// Neither a module nor `Clone`.
    struct Alone;

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
        let words: Captured<Vec<&str>> = crate::capture!(frame(), &vec!["a", "b"], "words").unwrap();
        assert_eq!(words.lock().len(), 2);
        let error = crate::capture!(frame(), &Mutex::new(Alone), "alone").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`alone` cannot be cloned; derive `fx_runtime::Module` or `Clone` for its type (a layer of `tch::nn` has its like in `fx_runtime::nn`), or keep it in an `Arc`, \
             and in a `Mutex` inside where it is not `Sync`"
        );
    }

    #[test]
    fn captures_a_place_a_reference_and_a_reference_to_one() {
        let numbers = vec![1, 2];
        let reference = &numbers;
        let (place, behind): (Captured<Vec<i32>>, Captured<Vec<i32>>) = (
            crate::capture!(frame(), reference, "numbers").unwrap(),
            crate::capture!(frame(), &reference, "numbers").unwrap(),
        );
        let deep: Captured<Vec<i32>> = crate::capture!(frame(), &&reference, "numbers").unwrap();
        assert_eq!((place.lock().len(), behind.lock().len(), deep.lock().len()), (2, 2, 2));
        let lock: Captured<Mutex<i32>> = crate::capture!(frame(), &Mutex::new(3), "lock").unwrap();
        assert_eq!(*lock.lock().lock().unwrap(), 3);
        assert!(
            crate::capture!(frame(), &&Alone, "alone").is_err(),
            "a reference to it could be cloned, but would not live on"
        );
    }

    #[test]
    fn captures_copies_of_modules_and_tensors_and_modules_in_inference() {
        let dropout = Some(nn::dropout(0.5));
        dropout.as_ref().unwrap().train();
        let kept: Captured<Option<nn::Dropout>> = crate::capture!(frame(), &dropout, "dropout").unwrap();
        let modes = [&*kept.lock(), &dropout].map(|layer| layer.as_ref().and_then(Module::training));
        assert_eq!(modes, [Some(false), Some(true)]);
        let tensor = Tensor::from_slice(&[1.0]);
        let kept: Captured<Tensor> = crate::capture!(frame(), &tensor, "tensor").unwrap();
        assert_ne!(kept.lock().data_ptr(), tensor.data_ptr(), "what the model does later does not reach it");
        let doubled = oracle::frame(Freeze::new().kind(Kind::Double));
        let layer = nn::linear(nn::VarStore::new(Device::Cpu).root(), 2, 3, nn::LinearConfig::default());
        let kept: Captured<nn::Linear> = crate::capture!(doubled, &layer, "layer").unwrap();
        let kept = kept.lock();
        assert_eq!((kept.ws.kind(), kept.ws.requires_grad()), (Kind::Double, false));
    }
}
