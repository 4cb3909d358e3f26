//! A closure as a layer. Clones share it, and since it is `Send` but need not be `Sync`, calls take turns.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tch::{TchError, Tensor};

use super::layer::sealed::Freezable;
use super::{Func, FuncT, Layer, Module as _, ModuleT};
use crate::Error;
use crate::module::{Module, Place, Visitor};
use crate::saved::{Loader, Saver, State};

/// A closure as a layer of a [`Sequential`](super::Sequential).
#[derive(Clone)]
pub struct Closure {
    run: Arc<Mutex<ForwardFn>>,
    /// Where it was added, as far as that is known: `31:18`.
    pub(super) place: Arc<str>,
}

type ForwardFn = dyn Fn(&Tensor, bool) -> Tensor + Send;

impl Closure {
    pub(super) fn new(f: impl Fn(&Tensor, bool) -> Tensor + Send + 'static) -> Self {
        Self { run: Arc::new(Mutex::new(f)), place: Arc::from("") }
    }

    /// The same closure, known to be added at that place of the source.
    pub(super) fn added_at(self, place: &str) -> Self {
        Self { place: Arc::from(place), ..self }
    }

    /// tch's own closure layers as one of ours, which clones can share.
    pub(super) fn of(layer: &mut dyn Any) -> Option<Self> {
        if let Some(f) = layer.downcast_mut::<Option<FuncT<'static>>>().and_then(Option::take) {
            return Some(Self::new(move |xs, train| f.forward_t(xs, train)));
        }
        let f = layer.downcast_mut::<Option<Func<'static>>>().and_then(Option::take)?;
        Some(Self::new(move |xs, _train| f.forward(xs)))
    }
}

impl fmt::Debug for Closure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("closure")
    }
}

impl ModuleT for Closure {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        // A closure that panicked before is no worse than it was: it has no state that the lock guards.
        let closure = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        closure(xs, train)
    }
}

impl Module for Closure {
    fn type_name(&self) -> &'static str {
        "closure"
    }

    fn visit<'a>(&'a self, _visitor: &mut dyn Visitor<'a>) {}

    fn placed(&self, _place: &mut Place<'_>) -> Result<Self, Error> {
        Ok(self.clone())
    }
}

impl Layer for Closure {
    fn f_forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        Ok(self.forward_t(xs, false))
    }

    fn f_forward_t(&self, xs: &Tensor, train: bool) -> Result<Tensor, TchError> {
        Ok(self.forward_t(xs, train))
    }
}

impl Freezable for Closure {
    type Held = Mutex<Self>;
}

impl State for Closure {
    fn save(&self, to: &mut Saver) -> Result<(), Error> {
        to.refuse("closure");
        Ok(())
    }

    fn load(_from: &mut Loader) -> Result<Self, Error> {
        Err(Error::Unsupported {
            what: "loading a closure".to_owned(),
            help: "freeze the model anew where it is used".to_owned(),
        })
    }
}

crate::nn::layer_entry::register_layer!(Closure);
