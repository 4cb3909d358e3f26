//! The model's weights on the frame's device and in its dtype: copies, and what belongs to the model alone.

use tch::{Kind, Tensor};

use super::Frame;
use crate::Error;
use crate::ffi::Param;

impl Frame {
    /// A copy of a weight for operators that are not packed: on the frame's device and, if floating-point, in its dtype.
    ///
    /// While the model is frozen a tensor is copied once, whatever number of names it has.
    pub fn param(&self, tensor: &Tensor) -> Result<Param, Error> {
        self.copies.once(tensor, |tensor| {
            let placed = self.place(tensor)?;
            Ok(if placed.data_ptr() == tensor.data_ptr() { Param::copied(&placed)? } else { Param::new(placed) })
        })
    }

    /// A copy of a tensor for opaque code; of one that was never made a handle.
    pub fn copied(&self, tensor: &Tensor) -> Result<Tensor, Error> {
        if tensor.defined() { Ok(self.param(tensor)?.shallow_clone()) } else { Ok(tensor.shallow_clone()) }
    }

    /// The copy of a tensor that another part of the model holds already.
    pub(crate) fn copy_of(&self, tensor: &Tensor) -> Option<Param> {
        self.copies.of(tensor)
    }

    /// Takes over a tensor that is in place and belongs to nobody else.
    pub(crate) fn adopt(&self, tensor: Tensor) -> Param {
        let copy = Param::new(tensor);
        self.copies.add(&copy, &copy);
        copy
    }

    /// A tensor that is no weight: on the frame's device, of the dtype that it has.
    pub fn constant(&self, tensor: &Tensor) -> Result<Param, Error> {
        let _no_grad = tch::no_grad_guard();
        Ok(Param::copied(&tensor.f_to_device(self.target.device)?)?)
    }

    /// A copy of a tensor that calls replace or write to: on the frame's device and, if floating-point, in its dtype.
    pub(crate) fn own(&self, tensor: &Tensor) -> Result<Tensor, Error> {
        if !tensor.defined() {
            return Ok(tensor.shallow_clone());
        }
        let copy = tensor.f_detach_copy()?.f_to_device(self.target.device)?;
        Ok(if copy.is_floating_point() { copy.f_to_kind(self.kind_of(tensor)?)? } else { copy })
    }

    /// The dtype that a tensor has in the frozen model: its own, unless another was chosen for the model.
    fn kind_of(&self, tensor: &Tensor) -> Result<Kind, Error> {
        Ok(match self.chosen {
            Some(chosen) => chosen,
            None => tensor.f_kind()?,
        })
    }

    /// Moves and casts a weight, and notes whether it is finite.
    pub(crate) fn place(&self, tensor: &Tensor) -> Result<Tensor, Error> {
        let _no_grad = tch::no_grad_guard();
        if !tensor.defined() {
            let what = format!("an undefined weight in `{}`", self.model);
            return Err(Error::Unsupported { what, help: "initialise every weight before freezing".to_owned() });
        }
        if !tensor.is_floating_point() {
            return Ok(tensor.f_to_device(self.target.device)?);
        }
        let placed = tensor.f_to_device(self.target.device)?.f_to_kind(self.kind_of(tensor)?)?;
        // The sum is not finite if an element is not. A sum that overflows without one only costs a fused relu.
        if !placed.f_sum(Kind::Float)?.f_double_value(&[])?.is_finite() {
            self.non_finite.set();
        }
        Ok(placed)
    }
}
