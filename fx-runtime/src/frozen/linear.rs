//! A linear layer packed for inference: weight in the kernel's layout, activation or addition fused.

use std::fmt;

use tch::{TchError, Tensor};

use super::accepts::Accepts;
use super::select::{LinearChoice, LinearLayer, Rows, Site};
use super::tail::RowTail;
use super::taint::Taint;
use super::tune::{Packed, Slot};
use super::{Act, Frame, Leaf, Param, fold};
use crate::Error;
use crate::ffi::{Facts, MAX_RANK, PackedGemm, PackedLinear};
use crate::nn::BatchNorm;

/// `act(x wᵀ + b)` over the last axis of an input of any rank from 1.
pub struct Linear {
    kernel: Slot<Kernel>,
    act: Act,
    taint: Taint,
    accepts: Accepts,
    /// `[out, in]`.
    shape: [i64; 2],
    apart: Option<Box<Apart>>,
}

/// The layer and the batch norm behind it as they were, for inputs on which they are not one layer.
struct Apart {
    linear: Linear,
    norm: Leaf<BatchNorm>,
    /// Whether they are one layer on matrices.
    folds: bool,
}

enum Kernel {
    Mkl { gemm: PackedGemm, bias: Option<Box<[f32]>>, rows: Rows },
    OneDnn(PackedLinear),
    CublasLt { plain: Plain, transposed: Param },
    Composed(Plain),
}

/// A weight as ATen's operators take it.
struct Plain {
    weight: Param,
    bias: Option<Param>,
}

impl Linear {
    /// Packs `act(x wᵀ + b)`; `weight` is `[out, in]`, `bias` is `[out]`. Both are moved to the frame's device and dtype.
    ///
    /// # Errors
    ///
    /// Shapes that contradict each other; a weight that cannot be moved.
    pub fn pack(frame: &Frame, weight: &Tensor, bias: Option<&Tensor>, act: Act) -> Result<Self, Error> {
        Self::pack_as(frame, weight, bias, act, None)
    }

    /// The same with the kernel that a file names, where this machine has it.
    fn pack_as(
        frame: &Frame,
        weight: &Tensor,
        bias: Option<&Tensor>,
        act: Act,
        saved: Option<LinearChoice>,
    ) -> Result<Self, Error> {
        let _no_grad = tch::no_grad_guard();
        // What another layer holds as it is would lie in memory twice if it were packed.
        let shared = frame.copy_of(weight);
        let weight = frame.place(weight)?;
        let bias = bias.map(|bias| frame.place(bias)).transpose()?;
        let shape = check_weight(&weight, bias.as_ref())?;
        let accepts = Accepts::new(1..=MAX_RANK, 0, shape[1], &weight)?;
        let layer = LinearLayer {
            elements: shape[0] * shape[1],
            has_bias: bias.is_some(),
            tainted: frame.is_tainted(),
            shared: shared.is_some(),
            act,
        };
        let rows = match saved {
            Some(LinearChoice::Mkl(rows)) => Some(rows),
            _ => None,
        };
        // Other kernels would hold the weight a second time while they are measured, and what is shared for good.
        let tuning = frame.tuning().filter(|_| !layer.shared);
        let kernel = Slot::choose(tuning, saved, &frame.site().linear(layer, rows), |choice| {
            Kernel::pack(choice, &weight, bias.as_ref(), shared.as_ref())
        })?;
        Ok(Self { kernel, act, taint: frame.taint(), accepts, shape, apart: None })
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
        act: Act,
    ) -> Result<Self, Error> {
        let linear = Self::pack(frame, weight, bias, Act::None)?;
        let folds = bn.running_mean.size() == linear.shape[..1];
        let apart = Some(Box::new(Apart { linear, norm: Leaf::new(frame, bn)?, folds }));
        let folded = if folds {
            let (weight, bias) = fold::linear_batch_norm(weight, bias, bn)?;
            Self::pack(frame, &weight, Some(&bias), act)?
        } else {
            Self::pack(frame, weight, bias, act)?
        };
        Ok(Self { apart, ..folded })
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
        self.with_kernel(&facts, |kernel| Ok(self.multiply(kernel, x, &facts, self.act)?))
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
        let others = |kernel: &Kernel, site: &Site| {
            let rows = sizes[..sizes.len() - 1].iter().product();
            self.others(kernel, site, Rows::of(rows)).unwrap_or_default()
        };
        self.kernel.run(!sizes.contains(&0), others, call)
    }

    /// The layer by the other kernels that can compute it.
    fn others(&self, kernel: &Kernel, site: &Site, rows: Rows) -> Result<Vec<Kernel>, Error> {
        let (weight, bias) = kernel.dense()?;
        let layer = LinearLayer {
            elements: self.shape[0] * self.shape[1],
            has_bias: bias.is_some(),
            tainted: self.taint.is_set(),
            shared: false,
            act: self.act,
        };
        let choices = site.linear(layer, Some(rows)).into_iter().filter(|&choice| choice != kernel.choice());
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
            Kernel::Mkl { gemm, bias, .. } if same && !facts.sizes().contains(&0) => {
                let tail = RowTail { bias: bias.as_deref(), act: self.act };
                return Ok(gemm.run(x, &result_sizes(facts, self.shape[0]), Some(other), &tail)?);
            }
            Kernel::OneDnn(packed) if same && is_direct(facts) => {
                return Ok(self.act.apply(packed.run_add(x, other)?)?);
            }
            _ => {}
        }
        let mut y = self.multiply(kernel, x, facts, Act::None)?;
        let sum = if same { y.f_add_(other)? } else { y.f_add(other)? };
        Ok(self.act.apply(sum)?)
    }

    fn multiply(&self, kernel: &Kernel, x: &Tensor, facts: &Facts, act: Act) -> Result<Tensor, TchError> {
        match kernel {
            Kernel::Mkl { gemm, bias, .. } => {
                if facts.sizes().contains(&0) {
                    return without_work(x, facts, self.shape[0]);
                }
                let tail = RowTail { bias: bias.as_deref(), act };
                gemm.run(x, &result_sizes(facts, self.shape[0]), None, &tail)
            }
            Kernel::OneDnn(packed) => {
                if facts.sizes().contains(&0) {
                    return without_work(x, facts, self.shape[0]);
                }
                let (post, rest) = act.fused_if(!self.taint.forbids(act));
                if is_direct(facts) {
                    return rest.apply(packed.run(x, &post)?);
                }
                rest.apply(packed.run(&x.f_unsqueeze(0)?, &post)?.f_squeeze_dim(0)?)
            }
            Kernel::CublasLt { plain, transposed } if act == self.act && !self.taint.forbids(act) => {
                plain.cublas(x, transposed, facts, self.shape[0], act)
            }
            Kernel::CublasLt { plain, .. } | Kernel::Composed(plain) => {
                act.apply(x.f_linear(&plain.weight, plain.bias.as_deref())?)
            }
        }
    }
}

impl Apart {
    fn run(&self, x: &Tensor) -> Result<Tensor, Error> {
        self.norm.run(&self.linear.run(x)?)
    }
}

/// Whether oneDNN takes an input of this shape as it is.
fn is_direct(facts: &Facts) -> bool {
    facts.sizes().len() > 1 && !facts.sizes().contains(&0)
}

/// The shape of the result: the input's with another last axis.
fn result_sizes(facts: &Facts, out: i64) -> Vec<i64> {
    let mut sizes = facts.sizes().to_vec();
    if let Some(last) = sizes.last_mut() {
        *last = out;
    }
    sizes
}

/// The empty result for an input without elements.
fn without_work(x: &Tensor, facts: &Facts, out: i64) -> Result<Tensor, TchError> {
    Tensor::f_zeros(result_sizes(facts, out), (x.f_kind()?, x.device()))
}

impl Kernel {
    /// None where this machine has no such kernel after all. `shared` is a copy of the weight that another layer holds.
    fn pack(
        choice: LinearChoice,
        weight: &Tensor,
        bias: Option<&Tensor>,
        shared: Option<&Param>,
    ) -> Result<Option<Self>, Error> {
        let plain = || -> Result<Plain, Error> {
            let weight =
                shared.map_or_else(|| Param::copied(weight), |shared| Ok(Param::new(shared.shallow_clone())))?;
            Ok(Plain { weight, bias: bias.map(Param::copied).transpose()? })
        };
        Ok(match choice {
            LinearChoice::Mkl(rows) => {
                let Some(gemm) = PackedGemm::pack(weight, rows.0) else { return Ok(None) };
                let bias = bias.map(Vec::<f32>::try_from).transpose()?.map(Vec::into_boxed_slice);
                Some(Self::Mkl { gemm: gemm?, bias, rows })
            }
            LinearChoice::OneDnn => PackedLinear::pack(weight, bias).transpose()?.map(Self::OneDnn),
            LinearChoice::CublasLt => {
                let plain = plain()?;
                Some(Self::CublasLt { transposed: Param::new(plain.weight.f_tr()?), plain })
            }
            LinearChoice::Composed => Some(Self::Composed(plain()?)),
        })
    }

    /// Weight and bias as they were packed.
    fn dense(&self) -> Result<(Tensor, Option<Tensor>), TchError> {
        let copied = |bias: &Param| bias.shallow_clone();
        Ok(match self {
            Self::Mkl { gemm, bias, .. } => (gemm.dense_weight()?, bias.as_deref().map(Tensor::from_slice)),
            Self::OneDnn(packed) => (packed.dense_weight()?, packed.bias().map(copied)),
            Self::CublasLt { plain, .. } | Self::Composed(plain) => {
                (plain.weight.shallow_clone(), plain.bias.as_ref().map(copied))
            }
        })
    }
}

impl Packed for Kernel {
    type Choice = LinearChoice;

    fn choice(&self) -> LinearChoice {
        match self {
            Self::Mkl { rows, .. } => LinearChoice::Mkl(*rows),
            Self::OneDnn(_) => LinearChoice::OneDnn,
            Self::CublasLt { .. } => LinearChoice::CublasLt,
            Self::Composed(_) => LinearChoice::Composed,
        }
    }
}

impl Plain {
    /// Bias and activation in the product's own kernel, which takes matrices alone.
    fn cublas(&self, x: &Tensor, weight: &Tensor, facts: &Facts, out: i64, act: Act) -> Result<Tensor, TchError> {
        let Some(bias) = self.bias.as_deref() else {
            return act.apply(x.f_linear(&self.weight, None::<&Tensor>)?);
        };
        let columns = weight.size()[0];
        let rows = x.f_reshape([-1, columns])?;
        let y = bias.f_internal_addmm_activation(&rows, weight, act == Act::GeluTanh)?;
        y.f_reshape(result_sizes(facts, out))
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

mod state;

#[cfg(test)]
mod tests {
    use super::super::act::EVERY_ACT;
    use super::super::oracle::{both, check, frame, randn};
    use super::super::tune::tests::Told;
    use super::*;
    use crate::Freeze;
    use tch::Kind;

    /// One layer in both ways on one input, with and without something added.
    fn compare(kind: Kind, input: &Tensor, out: i64, bias: bool, act: Act) {
        let columns = *input.size().last().unwrap();
        // Small products, whose rounding stays small beside what a clamp leaves of them.
        let weight = randn(&[out, columns], kind) / 64.0;
        let bias = bias.then(|| randn(&[out], kind));
        let (best, composed) = both(kind);
        let best = Linear::pack(&best, &weight, bias.as_ref(), act).unwrap();
        let composed = Linear::pack(&composed, &weight, bias.as_ref(), act).unwrap();
        let what = format!("{best:?} {kind:?} of {:?}", input.size());
        let expected = composed.run(input).unwrap();
        check(&best.run(input).unwrap(), &expected, &what);
        let other = randn(&expected.size(), kind);
        check(&best.run_add(input, &other).unwrap(), &composed.run_add(input, &other).unwrap(), &what);
        let row = randn(&[out], kind);
        check(&best.run_add(input, &row).unwrap(), &composed.run_add(input, &row).unwrap(), &what);
    }

    #[test]
    fn every_act_with_and_without_bias() {
        for act in EVERY_ACT {
            compare(Kind::Float, &randn(&[10, 512], Kind::Float), 384, true, act);
            compare(Kind::Float, &randn(&[3, 32], Kind::Float), 8, false, act);
            // Enough rows for every thread.
            compare(Kind::Float, &randn(&[67, 256], Kind::Float), 300, true, act);
        }
    }

    /// The layer with and without something added, once by each kernel that it can have.
    fn compare_tuned(input: &Tensor, out: i64, act: Act) {
        let (kind, columns) = (input.kind(), *input.size().last().unwrap());
        let (weight, bias) = (randn(&[out, columns], kind) / 64.0, randn(&[out], kind));
        let composed = Linear::pack(&both(kind).1, &weight, Some(&bias), act).unwrap();
        let expected = composed.run(input).unwrap();
        let other = randn(&expected.size(), kind);
        let site = *both(kind).0.site();
        let layer = LinearLayer { elements: out * columns, has_bias: true, tainted: false, shared: false, act };
        let rows = Rows::of(expected.size().iter().product::<i64>() / out);
        for winner in site.linear(layer, Some(rows)).iter().map(ToString::to_string) {
            let frame = frame(Freeze::new().kind(kind)).with_clock(Told::new(&[(&winner, 1)]));
            let tuned = Linear::pack(&frame, &weight, Some(&bias), act).unwrap();
            check(&tuned.run(input).unwrap(), &expected, &winner);
            assert_eq!(format!("{tuned:?}"), format!("Linear([{out}, {columns}], {winner}, {act:?})"));
            for added in [&other, &other.narrow(0, 0, 1)] {
                check(&tuned.run_add(input, added).unwrap(), &composed.run_add(input, added).unwrap(), &winner);
            }
            // By any number of rows, whatever it was measured with.
            for rows in [1, 2, 7, 130, 1000] {
                let x = randn(&[rows, columns], kind);
                check(&tuned.run(&x).unwrap(), &composed.run(&x).unwrap(), &format!("{rows} rows by {winner}"));
            }
        }
    }

    #[test]
    fn any_kernel_may_win_and_computes_the_same() {
        for sizes in [&[512][..], &[1, 512], &[10, 512], &[2, 67, 512], &[2000, 512]] {
            compare_tuned(&randn(sizes, Kind::Float), 384, Act::Gelu);
        }
        compare_tuned(&randn(&[12, 3], Kind::Float), 5, Act::Relu);
        compare_tuned(&randn(&[512, 10], Kind::Float).tr(), 384, Act::None);
        compare_tuned(&randn(&[10, 512], Kind::BFloat16), 384, Act::Relu);
    }

    #[test]
    fn measured_by_the_clock_on_the_wall() {
        let (weight, x) = (randn(&[384, 512], Kind::Float) / 64.0, randn(&[9, 512], Kind::Float));
        let [tuned, plain] = [true, false].map(|autotune| {
            let frame = frame(Freeze::new().autotune(autotune));
            Linear::pack(&frame, &weight, None, Act::Gelu).unwrap()
        });
        assert!(format!("{tuned:?}").contains("not measured yet") && !format!("{plain:?}").contains("measured"));
        let empty = randn(&[0, 512], Kind::Float);
        assert_eq!(tuned.run(&empty).unwrap().size(), [0, 384]);
        assert!(format!("{tuned:?}").contains("not measured yet"), "nothing was computed");
        check(&tuned.run(&x).unwrap(), &plain.run(&x).unwrap(), &format!("{tuned:?}"));
        assert!(!format!("{tuned:?}").contains("not measured yet"));
    }

    #[test]
    fn what_is_shared_is_not_packed_to_be_measured() {
        let frame = frame(Freeze::new()).with_clock(Told::new(&[]));
        let weight = randn(&[384, 512], Kind::Float);
        let _freezing = frame.freezing();
        let _table = frame.param(&weight).unwrap();
        let layer = Linear::pack(&frame, &weight, None, Act::None).unwrap();
        assert_eq!(format!("{layer:?}"), "Linear([384, 512], ATen, None)");
    }

    #[test]
    fn every_dtype() {
        for kind in [Kind::Float, Kind::Double, Kind::BFloat16, Kind::Half] {
            compare(kind, &randn(&[5, 512], kind), 384, true, Act::Gelu);
            compare(kind, &randn(&[5, 512], kind), 384, false, Act::None);
        }
    }

    #[test]
    fn every_rank_and_no_rows() {
        for sizes in [&[512][..], &[1, 512], &[2, 3, 512], &[2, 1, 3, 512], &[0, 512], &[2, 0, 512]] {
            compare(Kind::Float, &randn(sizes, Kind::Float), 384, true, Act::Relu);
        }
    }

    #[test]
    fn strided_inputs() {
        compare(Kind::Float, &randn(&[512, 10], Kind::Float).tr(), 384, true, Act::Relu);
        compare(Kind::Float, &randn(&[4, 6, 512], Kind::Float).transpose(0, 1), 384, true, Act::None);
    }

    #[test]
    fn nan_in_a_weight_reaches_the_result() {
        let (best, _) = both(Kind::Float);
        let mut weight = randn(&[384, 512], Kind::Float);
        let _ = weight.get(3).fill_(f64::NAN);
        let layer = Linear::pack(&best, &weight, None, Act::Relu).unwrap();
        let y = layer.run(&randn(&[2, 512], Kind::Float)).unwrap();
        assert_eq!(y.isnan().sum(Kind::Int64).int64_value(&[]), 2);
        let _ = weight.fill_(0.0);
    }

    /// `relu(bn(linear(x)) + other)` in both forms; `channels` are those of the batch norm.
    fn compare_norm(sizes: &[i64], channels: i64) -> Result<(), Error> {
        let (frame, _) = both(Kind::Double);
        let (weight, bias) = (randn(&[6, 4], Kind::Double), randn(&[6], Kind::Double));
        let [scale, shift, mean] = [(); 3].map(|()| randn(&[channels], Kind::Double));
        let var = randn(&[channels], Kind::Double).abs() + 0.5;
        let bn = BatchNorm::of_tensors(Some(&scale), Some(&shift), &mean, &var, 1e-5);
        let layer = Linear::pack_batch_norm(&frame, &weight, Some(&bias), &bn, Act::Relu)?;
        let x = randn(sizes, Kind::Double);
        let found = layer.run(&x)?;
        let plain = bn.forward_t(&x.linear(&weight, Some(&bias)), false);
        check(&found, &plain.relu(), &format!("{sizes:?}"));
        let other = randn(&plain.size(), Kind::Double);
        check(&layer.run_add(&x, &other)?, &(plain + &other).relu(), &format!("{sizes:?} and another"));
        Ok(())
    }

    #[test]
    fn a_batch_norm_behind_goes_over_axis_1_whatever_the_rank() {
        compare_norm(&[5, 4], 6).unwrap();
        compare_norm(&[5, 6, 4], 6).unwrap();
        compare_norm(&[5, 3, 4], 3).unwrap();
        compare_norm(&[5, 3, 2, 4], 3).unwrap();
        assert!(compare_norm(&[5, 4], 3).is_err(), "6 results for 3 channels");
        assert!(compare_norm(&[5, 3, 4], 6).is_err(), "3 channels for 6");
    }

    #[test]
    fn wrong_inputs_are_refused() {
        let (best, _) = both(Kind::Float);
        let layer = Linear::pack(&best, &randn(&[384, 512], Kind::Float), None, Act::None).unwrap();
        assert!(matches!(layer.run(&randn(&[2, 511], Kind::Float)), Err(Error::Channels { axis: 1, .. })));
        assert!(matches!(layer.run(&Tensor::from(1.0f32)), Err(Error::Rank { .. })));
        assert!(matches!(layer.run(&randn(&[2, 512], Kind::Double)), Err(Error::Kind { .. })));
        assert!(layer.run_add(&randn(&[2, 512], Kind::Float), &randn(&[3, 384], Kind::Float)).is_err());
    }

    #[test]
    fn shapes_are_checked_at_freeze_time() {
        let (best, _) = both(Kind::Float);
        let weight = randn(&[3, 4], Kind::Float);
        assert!(Linear::pack(&best, &weight, Some(&randn(&[4], Kind::Float)), Act::None).is_err());
        assert!(Linear::pack(&best, &randn(&[3], Kind::Float), None, Act::None).is_err());
    }
}
