//! A convolution on the CPU: oneDNN's, and Winograd's algorithm where that is faster.

use std::sync::OnceLock;

use tch::{Kind, TchError, Tensor};

use crate::ffi::{Facts, Geometry, PackedConv, Param, Winograd};
use crate::frozen::Act;
use crate::frozen::select::{ConvChoice, Site};
use crate::frozen::tail::RowTail;
use crate::frozen::taint::Taint;

pub(super) struct CpuConv {
    direct: PackedConv,
    /// Where the window allows it.
    winograd: Option<Transformed>,
    taint: Taint,
    /// libtorch's fused sum of a grouped convolution has a relu in f32 alone.
    fuses_sum_and_relu: bool,
}

/// The weight for Winograd's algorithm, made for the first input that is large enough.
struct Transformed {
    geometry: Geometry,
    /// None inside where there was no memory for it.
    weight: OnceLock<Option<Winograd>>,
    bias: Option<Vec<f32>>,
}

impl CpuConv {
    /// Packs a weight with two or three spatial axes; none where this libtorch lacks an entry point that is needed.
    /// `by_tiles` for one that Winograd's algorithm may be used with.
    pub(super) fn pack(
        site: &Site,
        taint: &Taint,
        weight: &Tensor,
        bias: Option<&Tensor>,
        geometry: Geometry,
        by_tiles: bool,
    ) -> Option<Result<Self, TchError>> {
        let fuses_sum_and_relu = geometry.groups == 1 || site.kind == Kind::Float;
        let direct = match PackedConv::pack(weight, bias, geometry.clone())? {
            Ok(direct) => direct,
            Err(error) => return Some(Err(error)),
        };
        let bias = match bias.map(Vec::try_from).transpose() {
            Ok(bias) => bias,
            Err(error) => return Some(Err(error)),
        };
        if !by_tiles && let Err(error) = direct.lay_out() {
            return Some(Err(error));
        }
        let winograd = by_tiles.then_some(Transformed { geometry, weight: OnceLock::new(), bias });
        Some(Ok(Self { direct, winograd, taint: taint.clone(), fuses_sum_and_relu }))
    }

    /// The weight as it was before it was packed.
    pub(super) fn dense_weight(&self) -> Result<Tensor, TchError> {
        self.direct.dense_weight()
    }

    pub(super) fn bias(&self) -> Option<&Param> {
        self.direct.bias()
    }

    pub(super) fn choice(&self) -> ConvChoice {
        if self.winograd.is_some() { ConvChoice::Winograd } else { ConvChoice::OneDnn }
    }

    /// `act(conv(x))`; `x` is batched, of any strides, and there is at least one result.
    pub(super) fn run(&self, x: &Tensor, act: Act) -> Result<Tensor, TchError> {
        if let Some(y) = self.transformed(x, None, act)? {
            return Ok(y);
        }
        let (post, rest) = act.fused_if(!self.taint.forbids(act));
        rest.apply(self.direct.run(x, &post)?)
    }

    /// `act(conv(x) + other)`; `other` has the result's shape and dtype. Not for a transposed convolution.
    pub(super) fn run_add(&self, x: &Tensor, other: &Tensor, act: Act) -> Result<Tensor, TchError> {
        if let Some(y) = self.transformed(x, Some(other), act)? {
            return Ok(y);
        }
        let may_fuse = act == Act::Relu && self.fuses_sum_and_relu && !self.taint.forbids(act);
        let (post, rest) = act.fused_if(may_fuse);
        rest.apply(self.direct.run_add(x, other, &post)?)
    }

    /// By Winograd's algorithm; none where the direct sum is faster, or the results are not finite.
    fn transformed(&self, x: &Tensor, other: Option<&Tensor>, act: Act) -> Result<Option<Tensor>, TchError> {
        let Some(Transformed { geometry, weight, bias }) = &self.winograd else { return Ok(None) };
        let facts = Facts::of(x).filter(|facts| Winograd::pays(facts.sizes(), geometry));
        let Some(facts) = facts.filter(|_| !self.taint.is_set()) else { return Ok(None) };
        let weight = weight.get_or_init(|| Winograd::pack(&self.direct.dense_weight().ok()?, geometry).ok());
        let Some(weight) = weight else { return Ok(None) };
        weight.run(x, &facts, other, &RowTail { bias: bias.as_deref(), act })
    }
}
