//! A convolution on the CPU: oneDNN's, and Winograd's algorithm where that is faster.

use tch::{Kind, TchError, Tensor};

use super::native::Native;
use super::tiled::Tiled;
use crate::ffi::{Geometry, PackedConv, Param};
use crate::frame::Target;
use crate::frame::non_finite::NonFinite;
use crate::frozen::Activation;
use crate::frozen::select::ConvChoice;

pub(super) struct CpuConv {
    weight: Weight,
    /// What small inputs of a transposed convolution go through.
    native: Option<Native>,
    non_finite: NonFinite,
    /// libtorch's fused sum of a grouped convolution has a relu in f32 alone.
    fuses_sum_and_relu: bool,
}

enum Weight {
    Direct(PackedConv),
    Tiled(Tiled),
}

impl CpuConv {
    /// Packs a weight with two or three spatial axes; none where this libtorch lacks an entry point that is needed.
    /// `by_tiles` for one that Winograd's algorithm may be used with.
    pub(super) fn pack(
        target: &Target,
        non_finite: &NonFinite,
        weight: &Tensor,
        bias: Option<&Tensor>,
        geometry: Geometry,
        by_tiles: bool,
    ) -> Result<Option<Self>, TchError> {
        let native = Native::beside(weight, bias, &geometry)?;
        let fuses_sum_and_relu = geometry.groups == 1 || target.kind == Kind::Float;
        let Some(direct) = PackedConv::pack(weight, bias, geometry.clone()).transpose()? else { return Ok(None) };
        let weight = if by_tiles {
            Weight::Tiled(Tiled::new(weight, direct, bias, geometry)?)
        } else {
            direct.lay_out()?;
            Weight::Direct(direct)
        };
        Ok(Some(Self { weight, native, non_finite: non_finite.clone(), fuses_sum_and_relu }))
    }

    /// The weight as it was before it was packed.
    pub(super) fn dense_weight(&self) -> Result<Tensor, TchError> {
        match &self.weight {
            Weight::Direct(direct) => direct.dense_weight(),
            Weight::Tiled(tiled) => tiled.dense_weight(),
        }
    }

    pub(super) fn bias(&self) -> Option<&Param> {
        match &self.weight {
            Weight::Direct(direct) => direct.bias(),
            Weight::Tiled(tiled) => tiled.bias(),
        }
    }

    pub(super) fn choice(&self) -> ConvChoice {
        match &self.weight {
            Weight::Direct(_) => ConvChoice::OneDnn,
            Weight::Tiled(_) => ConvChoice::Winograd,
        }
    }

    /// `act(conv(x))`; `x` is batched, of any strides, and there is at least one result.
    pub(super) fn run(&self, x: &Tensor, act: Activation) -> Result<Tensor, TchError> {
        if let Some(y) = self.by_tiles(x, None, act)? {
            return Ok(y);
        }
        if let Some(native) = self.native.as_ref().filter(|native| native.pays(x)) {
            return act.apply(native.run(x)?);
        }
        let (post, rest) = act.fused_if(act.may_fuse(&self.non_finite));
        rest.apply(self.directly(|direct| direct.run(x, &post))?)
    }

    /// `act(conv(x) + other)`; `other` has the result's shape and dtype. Not for a transposed convolution.
    pub(super) fn run_add(&self, x: &Tensor, other: &Tensor, act: Activation) -> Result<Tensor, TchError> {
        if let Some(y) = self.by_tiles(x, Some(other), act)? {
            return Ok(y);
        }
        let may_fuse = act == Activation::Relu && self.fuses_sum_and_relu && act.may_fuse(&self.non_finite);
        let (post, rest) = act.fused_if(may_fuse);
        rest.apply(self.directly(|direct| direct.run_add(x, other, &post))?)
    }

    /// By Winograd's algorithm, where it can be used and pays.
    fn by_tiles(&self, x: &Tensor, other: Option<&Tensor>, act: Activation) -> Result<Option<Tensor>, TchError> {
        match &self.weight {
            Weight::Tiled(tiled) if !self.non_finite.is_set() => tiled.run(x, other, act),
            _ => Ok(None),
        }
    }

    fn directly(&self, run: impl FnOnce(&PackedConv) -> Result<Tensor, TchError>) -> Result<Tensor, TchError> {
        match &self.weight {
            Weight::Direct(direct) => run(direct),
            Weight::Tiled(tiled) => run(&*tiled.direct()?),
        }
    }
}
