//! A linear layer packed for inference: weight in the kernel's layout, activation or addition fused.

use std::fmt;
use std::sync::Arc;

use tch::Tensor;

use self::kernel::{Kernel, by_codes, by_lt, layer, lt_activation};
use super::accepts::Accepts;
use super::select::{LinearChoice, LinearLayer, Rows};
use super::{Activation, Frame, Leaf, fold};
use crate::Error;
use crate::ffi::{Facts, MAX_RANK};
use crate::frame::Target;
use crate::frame::non_finite::NonFinite;
use crate::frame::tune::{Packed, Slot};
use crate::nn::{self, BatchNorm};
use crate::qparams::{Coded, DynamicFormat};
use crate::saved::State;

/// `act(x wᵀ + b)` over the last axis of an input of any rank from 1.
///
/// A clone is a second handle on the packed weight.
#[derive(Clone)]
pub struct Linear {
    kernel: Arc<Slot<Kernel>>,
    act: Activation,
    non_finite: NonFinite,
    accepts: Accepts,
    /// `[out, in]`.
    shape: [i64; 2],
    apart: Option<Arc<Apart>>,
}

/// The layer and the batch norm behind it as they were, for inputs on which they are not one layer.
#[derive(State)]
struct Apart {
    linear: Linear,
    norm: Leaf<BatchNorm>,
    /// Whether they are one layer on matrices.
    folds: bool,
}

impl Linear {
    /// Packs `act(x wᵀ + b)`; `weight` is `[out, in]`, `bias` is `[out]`. Both are moved to the frame's device and dtype.
    ///
    /// # Errors
    ///
    /// Shapes that contradict each other; a weight that cannot be moved.
    pub fn pack(frame: &Frame, weight: &Tensor, bias: Option<&Tensor>, act: Activation) -> Result<Self, Error> {
        let pack = || Self::pack_as(frame, weight, bias, act, None);
        frame.layer(weight, bias, format_args!("{act:?}"), pack)
    }

    /// The same with the kernel that a file names, where this machine has it.
    fn pack_as(
        frame: &Frame,
        weight: &Tensor,
        bias: Option<&Tensor>,
        act: Activation,
        saved: Option<LinearChoice>,
    ) -> Result<Self, Error> {
        let _no_grad = tch::no_grad_guard();
        // What another layer holds as it is would lie in memory twice if it were packed.
        let shared = frame.copy_of(weight);
        let weight = frame.place(weight)?;
        let bias = bias.map(|bias| frame.place(bias)).transpose()?;
        let shape = check_weight(&weight, bias.as_ref())?;
        let accepts = Accepts::new(1..=MAX_RANK, 0, shape[1], &weight)?;
        let non_finite = frame.non_finite();
        let (format, dynamic) = (frame.weight_format(), frame.dynamic_format());
        let layer = layer(shape, bias.is_some(), &non_finite, shared.is_some(), act);
        let layer = LinearLayer { format, dynamic, ..layer };
        let rows = match saved {
            Some(LinearChoice::Mkl(rows)) => Some(rows),
            _ => None,
        };
        // Other kernels would hold the weight a second time while they are measured, and what is shared for good.
        let tuning = frame.tuning().filter(|_| !layer.shared && !layer.is_quantized(weight.device()));
        let kernel = Slot::choose(tuning, saved, &frame.target_of(&weight)?.linear(layer, rows), |choice| {
            Kernel::pack(choice, &weight, bias.as_ref(), shared.as_ref())
        })?;
        Ok(Self { kernel: Arc::new(kernel), act, non_finite, accepts, shape, apart: None })
    }

    /// The same with a weight that has been rounded, and rows that are if a format says so.
    fn pack_codes(
        frame: &Frame,
        coded: &Coded,
        bias: Option<&Tensor>,
        act: Activation,
        dynamic: Option<DynamicFormat>,
    ) -> Result<Self, Error> {
        let _no_grad = tch::no_grad_guard();
        let bias = bias.map(|bias| frame.place(bias)).transpose()?;
        let format = Some(coded.format);
        let dense = Tensor::f_empty(coded.shape(), (frame.kind(), frame.device()))?;
        let shape = check_weight(&dense, bias.as_ref())?;
        let accepts = Accepts::new(1..=MAX_RANK, 0, shape[1], &dense)?;
        let non_finite = frame.non_finite();
        let layer = LinearLayer { format, dynamic, ..layer(shape, bias.is_some(), &non_finite, false, act) };
        let choices = frame.target_of(&dense)?.linear(layer, None);
        let kernel = Slot::choose(None, None, &choices, |choice| {
            Kernel::pack_codes(choice, coded, bias.as_ref(), frame.kind())
        })?;
        Ok(Self { kernel: Arc::new(kernel), act, non_finite, accepts, shape, apart: None })
    }

    /// Packs `act(bn(x wᵀ + b))`, with `weight` and `bias` as in [`Self::pack`].
    ///
    /// A batch norm goes over axis 1 and a linear layer over the last, which are one axis for an input of rank 2 alone.
    /// There the two are one kernel; for inputs of other ranks they are kept as they are.
    ///
    /// # Errors
    ///
    /// As [`Self::pack`].
    pub fn pack_batch_norm(
        frame: &Frame,
        weight: &Tensor,
        bias: Option<&Tensor>,
        bn: &BatchNorm,
        act: Activation,
    ) -> Result<Self, Error> {
        let linear = Self::pack(frame, weight, bias, Activation::None)?;
        let folds = bn.running_mean.size() == linear.shape[..1];
        let apart = Some(Arc::new(Apart { linear, norm: Leaf::new(frame, bn)?, folds }));
        let folded = if folds {
            let (weight, bias) = fold::linear_batch_norm(weight, bias, bn)?;
            Self::pack(frame, &weight, Some(&bias), act)?
        } else {
            Self::pack(frame, weight, bias, act)?
        };
        Ok(Self { apart, ..folded })
    }

    /// Packs `act(layer(x))`.
    ///
    /// # Errors
    ///
    /// As [`Self::pack`].
    pub fn pack_layer(frame: &Frame, layer: &nn::Linear, act: Activation) -> Result<Self, Error> {
        Self::pack(frame, &layer.ws, layer.bs.as_ref(), act)
    }

    /// Packs `act(bn(layer(x)))`, as [`Self::pack_batch_norm`] does.
    ///
    /// # Errors
    ///
    /// As [`Self::pack`].
    pub fn pack_layer_batch_norm(
        frame: &Frame,
        layer: &nn::Linear,
        bn: &BatchNorm,
        act: Activation,
    ) -> Result<Self, Error> {
        Self::pack_batch_norm(frame, &layer.ws, layer.bs.as_ref(), bn, act)
    }

    /// `act(x wᵀ + b)`; `x` is `[.., in]`, the result `[.., out]`.
    ///
    /// # Errors
    ///
    /// [`Error::Rank`], [`Error::Channels`], [`Error::Kind`] or [`Error::Device`] when `x` does not fit.
    pub fn run(&self, x: &Tensor) -> Result<Tensor, Error> {
        let facts = self.accepts.check(x)?;
        if let Some(apart) = self.apart_for(&facts) {
            return Ok(self.act.apply(apart.run(x)?)?);
        }
        self.with_kernel(&facts, |kernel| self.multiply(kernel, x, &facts, self.act))
    }

    /// `act(x wᵀ + b + other)`; `other` broadcasts.
    ///
    /// # Errors
    ///
    /// As [`Self::run`], and where `other` does not broadcast with the result.
    pub fn run_add(&self, x: &Tensor, other: &Tensor) -> Result<Tensor, Error> {
        let facts = self.accepts.check(x)?;
        if let Some(apart) = self.apart_for(&facts) {
            return Ok(self.act.apply(apart.run(x)?.f_add(other)?)?);
        }
        let same = self.is_like_result(other, &facts);
        self.with_kernel(&facts, |kernel| self.multiply_add(kernel, x, &facts, other, same))
    }

    #[inline]
    fn with_kernel(&self, facts: &Facts, call: impl Fn(&Kernel) -> Result<Tensor, Error>) -> Result<Tensor, Error> {
        let sizes = facts.sizes();
        let others = |kernel: &Kernel, target: &Target| {
            let rows = sizes[..sizes.len() - 1].iter().product();
            self.others(kernel, target, Rows::of(rows)).unwrap_or_default()
        };
        self.kernel.run(!sizes.contains(&0), others, call)
    }

    /// Which packed weight it is, for those that share it.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.kernel).addr()
    }

    /// The layer by the other kernels that can compute it.
    fn others(&self, kernel: &Kernel, target: &Target, rows: Rows) -> Result<Vec<Kernel>, Error> {
        let (weight, bias) = kernel.dense()?;
        let layer = layer(self.shape, bias.is_some(), &self.non_finite, false, self.act);
        let choices = target.linear(layer, Some(rows)).into_iter().filter(|&choice| choice != kernel.choice());
        Ok(choices.filter_map(|choice| Kernel::pack(choice, &weight, bias.as_ref(), None).ok().flatten()).collect())
    }

    /// The layer and the batch norm, where an input needs them apart.
    fn apart_for(&self, facts: &Facts) -> Option<&Apart> {
        self.apart.as_deref().filter(|apart| !apart.folds || facts.sizes().len() != 2)
    }

    fn is_like_result(&self, other: &Tensor, facts: &Facts) -> bool {
        Facts::of(other).is_some_and(|other| {
            let (sizes, rows) = (other.sizes(), facts.sizes().len() - 1);
            self.accepts.same_type(&other)
                && sizes.len() == rows + 1
                && sizes[..rows] == facts.sizes()[..rows]
                && sizes[rows] == self.shape[0]
        })
    }

    /// The shape of the result: the input's with another last axis.
    fn result_sizes(&self, facts: &Facts) -> Vec<i64> {
        let mut sizes = facts.sizes().to_vec();
        if let Some(last) = sizes.last_mut() {
            *last = self.shape[0];
        }
        sizes
    }

    /// `same` if `other` has the result's shape.
    fn multiply_add(
        &self,
        kernel: &Kernel,
        x: &Tensor,
        facts: &Facts,
        other: &Tensor,
        same: bool,
    ) -> Result<Tensor, Error> {
        match kernel {
            Kernel::Lt(packed) if same => {
                let act = lt_activation(self.act, self.act.may_fuse(&self.non_finite));
                return Ok(by_lt(packed, x, &self.result_sizes(facts), Some(other), act)?);
            }
            Kernel::Dynamic(matrix) if same => {
                let act = lt_activation(self.act, self.act.may_fuse(&self.non_finite));
                if let Some(y) = matrix.fused(x, &self.result_sizes(facts), Some(other), act)? {
                    return Ok(y);
                }
            }
            Kernel::Matrix(matrix) if same && !facts.sizes().contains(&0) => {
                return Ok(matrix.run(x, &self.result_sizes(facts), Some(other), self.act)?);
            }
            Kernel::OneDnn(packed) if same && !facts.sizes().contains(&0) => {
                let fuses = packed.applies_to_sums() && self.act.may_fuse(&self.non_finite);
                let (post, rest) = self.act.fused_if(fuses);
                return Ok(rest.apply(packed.run_add(x, &self.result_sizes(facts), other, &post)?)?);
            }
            _ => {}
        }
        Ok(self.act.apply_to_sum(self.multiply(kernel, x, facts, Activation::None)?, other, same)?)
    }

    fn multiply(&self, kernel: &Kernel, x: &Tensor, facts: &Facts, act: Activation) -> Result<Tensor, Error> {
        let sizes = || self.result_sizes(facts);
        Ok(match kernel {
            Kernel::Matrix(_) | Kernel::OneDnn(_) if facts.sizes().contains(&0) => {
                Tensor::f_zeros(sizes(), (x.f_kind()?, x.device()))?
            }
            Kernel::Matrix(matrix) => matrix.run(x, &sizes(), None, act)?,
            Kernel::OneDnn(packed) => {
                let (post, rest) = act.fused_if(act.may_fuse(&self.non_finite));
                rest.apply(packed.run(x, &sizes(), &post)?)?
            }
            Kernel::Lt(packed) => {
                let act = lt_activation(act, act.may_fuse(&self.non_finite));
                by_lt(packed, x, &sizes(), None, act)?
            }
            Kernel::CublasLt { plain, transposed } if act == self.act && act.may_fuse(&self.non_finite) => {
                plain.cublas(x, transposed, &sizes(), act)?
            }
            Kernel::Coded { coded, bias } | Kernel::Dequantized { coded, bias } => {
                let is_coded = matches!(kernel, Kernel::Coded { .. });
                act.apply(by_codes((coded, is_coded), bias.as_deref(), x, &sizes())?)?
            }
            Kernel::Dynamic(matrix) => {
                let acts = lt_activation(act, act.may_fuse(&self.non_finite));
                match matrix.fused(x, &sizes(), None, acts)? {
                    Some(y) => y,
                    None => act.apply(matrix.run(x, &sizes())?)?,
                }
            }
            Kernel::CublasLt { plain, .. } | Kernel::Composed(plain) => {
                act.apply(x.f_linear(&plain.weight, plain.bias.as_deref())?)?
            }
        })
    }
}

impl Apart {
    fn run(&self, x: &Tensor) -> Result<Tensor, Error> {
        self.norm.run(&self.linear.run(x)?)
    }
}

/// `[out, in]`, if weight and bias agree.
fn check_weight(weight: &Tensor, bias: Option<&Tensor>) -> Result<[i64; 2], Error> {
    let refuse = |what: String| Err(Error::Unsupported { what, help: "check the layer's weight and bias".to_owned() });
    let size = weight.size();
    let [out, columns] = size[..] else { return refuse(format!("a linear layer with a weight of shape {size:?}")) };
    match bias.map(Tensor::size) {
        Some(found) if found != [out] => refuse(format!("a bias of shape {found:?} for {out} results")),
        _ => Ok([out, columns]),
    }
}

impl fmt::Debug for Linear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Linear({:?}, {}, {:?})", self.shape, self.kernel, self.act)
    }
}

pub(super) mod kernel;
mod state;

#[cfg(test)]
mod tests;
