//! One call of a frozen model: what comes in is looked at, and what goes out is as the caller expects it.

use std::cell::Cell;

use tch::Tensor;

use super::Frame;
use crate::ffi::{Autograd, Input, NoGrad, is_channels_last};
use crate::{Backend, Error};

/// One forward of a frozen model; dropping it restores gradient tracking.
///
/// It stays on its thread:
///
/// ```compile_fail
/// fn send<T: Send>() {}
/// send::<fx_runtime::frozen::Scope<'static>>();
/// ```
#[must_use = "gradients are tracked again as soon as the scope is dropped"]
pub struct Scope<'f> {
    frame: &'f Frame,
    keeps_channels_last: Cell<bool>,
    _no_grad: NoGrad,
}

impl<'f> Scope<'f> {
    /// The caller has made all ready for it.
    pub(super) fn begin(frame: &'f Frame, autograd: Autograd) -> Self {
        Self { frame, keeps_channels_last: Cell::new(false), _no_grad: NoGrad::begin(autograd) }
    }

    /// Which kernels the forward may use.
    pub(crate) fn backend(&self) -> Backend {
        self.frame.target().backend
    }

    /// A second handle on an input, after a look at its device and dtype; integers only have to be on the device.
    ///
    /// # Errors
    ///
    /// [`Error::Device`] or [`Error::Kind`], with the name of the parameter.
    pub fn input(&self, name: &str, tensor: &Tensor) -> Result<Tensor, Error> {
        let (input, expected) = (self.defined(name, tensor)?, self.frame.device());
        if input.is_of(expected, self.frame.known_kind()) {
            return Ok(input.tensor);
        }
        let found = tensor.device();
        if found != expected {
            return Err(Error::Device { name: name.to_owned(), expected, found });
        }
        let found = tensor.f_kind()?;
        if let Some(expected) = self.frame.known_kind()
            && found != expected
            && tensor.is_floating_point()
        {
            return Err(Error::Kind { name: name.to_owned(), expected, found });
        }
        Ok(input.tensor)
    }

    /// The same of an input that the user's code brings to the model's device and dtype.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if it is undefined.
    pub fn input_of_any_type(&self, name: &str, tensor: &Tensor) -> Result<Tensor, Error> {
        Ok(self.defined(name, tensor)?.tensor)
    }

    /// The input, of which it is noted in which order its axes lie.
    fn defined(&self, name: &str, tensor: &Tensor) -> Result<Input, Error> {
        let Some(input) = Input::of(tensor) else {
            let what = format!("an undefined tensor as `{name}`");
            return Err(Error::Unsupported { what, help: "give a tensor with a shape".to_owned() });
        };
        if input.is_channels_last {
            self.keeps_channels_last.set(true);
        }
        Ok(input)
    }

    /// Refuses a call in training mode; `name` is the parameter that asks for one.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if `train`.
    pub fn inference_only(&self, name: &str, train: bool) -> Result<(), Error> {
        if !train {
            return Ok(());
        }
        Err(Error::Unsupported {
            what: format!("training (`{name}` is true) of the frozen `{}`", self.frame.model()),
            help: "train the model it was frozen from".to_owned(),
        })
    }

    /// Refuses a call with another value of a parameter than the one the frozen type knows.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] unless `holds`.
    pub fn specialized(&self, name: &str, holds: bool, known: &str) -> Result<(), Error> {
        if holds {
            return Ok(());
        }
        Err(Error::Unsupported {
            what: format!("`{name}` other than {known}, for which `{}` was frozen", self.frame.model()),
            help: "call the model itself, or take the parameter out of `specialize(..)`".to_owned(),
        })
    }

    /// A result as the caller expects it: in the default order of axes, unless an input came in `channels_last`.
    pub fn output(&self, tensor: Tensor) -> Result<Tensor, Error> {
        if self.keeps_channels_last.get() || !is_channels_last(&tensor) {
            return Ok(tensor);
        }
        Ok(tensor.f_contiguous()?)
    }
}
