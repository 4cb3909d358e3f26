//! cuBLASLt: a product of matrices whose kernel also adds a bias and another matrix, and applies an activation.
//!
//! libtorch reaches it for a bias or an activation, and not for both and an addition. It is looked up in the process, where
//! `libtorch_cuda` has brought it.

mod library;
mod plan;

use std::ffi::c_int;
use std::sync::{Arc, Mutex, PoisonError};

use tch::{Device, Kind, TchError, Tensor};

use self::library::{Lt, lt};
use self::plan::Plan;
use super::Param;

/// What libtorch's own memory is aligned to at least, and the library takes for granted.
const ALIGNED: u32 = 256;

/// What a product's kernel applies to its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LtActivation {
    None,
    Relu,
    /// In its tanh approximation.
    Gelu,
}

impl LtActivation {
    /// `cublasLtEpilogue_t`.
    fn epilogue(self, has_bias: bool) -> c_int {
        let act = match self {
            Self::None => 0,
            Self::Relu => 2,
            Self::Gelu => 32,
        };
        match act | if has_bias { 4 } else { 0 } {
            0 => 1,
            epilogue => epilogue,
        }
    }
}

/// A weight `[out, in]` and a bias `[out]`, on a GPU, in f16 or bf16; or a weight in floats of eight bits with a bias in one
/// of those.
pub(crate) struct LtWeight {
    weight: Param,
    /// Of a weight in eight bits, what each row is multiplied by, `f32[out]`.
    scale: Option<Param>,
    bias: Option<Param>,
    /// Of results.
    kind: Kind,
    /// Rows of the weight that are multiplied: some of zeros stand behind its own where these are no whole loads.
    out: i64,
    /// Which of the kernels that the library proposes is taken, best first.
    rank: usize,
    lt: Arc<Lt>,
    plans: Mutex<Vec<(Case, Option<Arc<Plan>>)>>,
}

/// What a kernel is chosen for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Case {
    rows: i64,
    act: LtActivation,
    adds: bool,
    /// Bytes to which `x` is aligned, and what is added.
    aligned: [u32; 2],
}

/// The largest power of two, up to [`ALIGNED`], that the tensor's address is a multiple of.
fn alignment(tensor: &Tensor) -> u32 {
    let zeros = (tensor.data_ptr() as usize).trailing_zeros();
    1 << zeros.min(ALIGNED.trailing_zeros())
}

/// Rows of 16 bytes each, which the library's kernels store at once.
///
/// Measured in f16 (H200): 128 rows by a weight of 50257 × 768 take 128 µs, by one of 50264 rows 27 µs, and the copy without
/// the rest of each row 12 µs.
const WHOLE: i64 = 8;
/// Smaller results are not worth the copy.
const PADDED_FROM: i64 = 1 << 10;

/// Plans that are kept for one weight; the oldest goes first.
const MOST_PLANS: usize = 32;

impl LtWeight {
    /// None where the library is not there, or does not take the dtype.
    pub(crate) fn pack(weight: Param, bias: Option<&Tensor>, rank: usize) -> Result<Option<Self>, TchError> {
        let Device::Cuda(device) = weight.device() else { return Ok(None) };
        if !matches!(weight.f_kind()?, Kind::Half | Kind::BFloat16) {
            return Ok(None);
        }
        let Some(lt) = lt(device) else { return Ok(None) };
        let rows = weight.size()[0];
        let out = if rows < PADDED_FROM { rows } else { (rows + WHOLE - 1) / WHOLE * WHOLE };
        let padded = |tensor: &Tensor| -> Result<Param, TchError> {
            let mut sizes = tensor.size();
            sizes[0] = out;
            let all = Tensor::f_zeros(sizes, (tensor.f_kind()?, tensor.device()))?;
            let mut own = all.f_narrow(0, 0, rows)?;
            own.f_copy_(tensor)?;
            Ok(Param::new(own))
        };
        let _no_grad = tch::no_grad_guard();
        let weight = if weight.is_contiguous() && rows == out { weight } else { padded(&weight)? };
        let (bias, kind) = (bias.map(padded).transpose()?, weight.f_kind()?);
        Ok(Some(Self { weight, scale: None, bias, kind, out, rank, lt, plans: Mutex::default() }))
    }

    /// A weight in floats of eight bits, with a scale for each row, for results of `kind`; none where the library is not
    /// there, or does not yield that dtype.
    pub(crate) fn of_float8(weight: Param, scale: Param, bias: Option<Param>, kind: Kind) -> Option<Self> {
        let Device::Cuda(device) = weight.device() else { return None };
        let is_ours = matches!(kind, Kind::Half | Kind::BFloat16) && weight.is_contiguous();
        let lt = lt(device).filter(|_| is_ours)?;
        let out = weight.size()[0];
        Some(Self { weight, scale: Some(scale), bias, kind, out, rank: 0, lt, plans: Mutex::default() })
    }

    pub(crate) fn weight(&self) -> &Param {
        &self.weight
    }

    pub(crate) fn bias(&self) -> Option<&Param> {
        self.bias.as_ref()
    }

    /// Which of the kernels that the library proposes is taken.
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// `act(x · weightᵀ + bias + other)` for contiguous matrices `x`, `[rows, in]`, of the weight's dtype, with a scale for
    /// each row, `f32[rows]`, if the weight has them, and `other`, `[rows, out]`, of the result's; none where the library has
    /// no kernel for it.
    pub(crate) fn run(
        &self,
        (x, scales): (&Tensor, Option<&Tensor>),
        other: Option<&Tensor>,
        act: LtActivation,
    ) -> Result<Option<Tensor>, TchError> {
        let (shape, kind, device) = (self.weight.size(), self.kind, Device::Cuda(self.lt.device));
        let [rows, _] = x.size()[..] else { return Ok(None) };
        if other.is_some() && self.out != shape[0] || scales.is_some() != self.scale.is_some() {
            return Ok(None);
        }
        let is_ours = |tensor: &Tensor, sizes: &[i64], kind: Kind| {
            tensor.size() == sizes && tensor.is_contiguous() && tensor.kind() == kind && tensor.device() == device
        };
        let fits = is_ours(x, &[rows, shape[1]], self.weight.f_kind()?)
            && other.is_none_or(|other| is_ours(other, &[rows, shape[0]], kind))
            && scales.is_none_or(|scales| is_ours(scales, &[rows], Kind::Float));
        if rows == 0 || !fits {
            return Ok(None);
        }
        let aligned = [alignment(x), other.map_or(ALIGNED, alignment)];
        let case = Case { rows, act, adds: other.is_some(), aligned };
        let Some(plan) = self.plan(case, [self.out, shape[1]]) else { return Ok(None) };
        let result = Tensor::f_empty([rows, self.out], (kind, device))?;
        let room = i64::try_from(plan.found.workspace).unwrap_or(0);
        let workspace = Tensor::f_empty([room], (Kind::Uint8, device))?;
        match plan.run(self, (x, scales), other, &result, &workspace) {
            Ok(()) => Ok(Some(result.f_narrow(1, 0, shape[0])?.f_contiguous()?)),
            Err(_) => Ok(None),
        }
    }

    fn plan(&self, case: Case, shape: [i64; 2]) -> Option<Arc<Plan>> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = plans.iter().find(|(known, _)| *known == case) {
            return known.clone();
        }
        let made = Plan::new(self, case, shape).ok().map(Arc::new);
        if plans.len() >= MOST_PLANS {
            plans.remove(0);
        }
        plans.push((case, made.clone()));
        made
    }
}

#[cfg(test)]
mod tests {
    use super::library::{Algorithm, Found};
    use super::*;
    use crate::ffi::cuda::gpu_or_skip;

    #[test]
    fn there_is_none_on_the_cpu() {
        let weight = Tensor::zeros([4, 4], (Kind::Half, Device::Cpu));
        assert!(LtWeight::pack(Param::new(weight), None, 0).unwrap().is_none());
    }

    #[test]
    fn epilogues_are_those_of_the_header() {
        let of = |act: LtActivation| [act.epilogue(false), act.epilogue(true)];
        assert_eq!(
            [of(LtActivation::None), of(LtActivation::Relu), of(LtActivation::Gelu)],
            [[1, 4], [2, 6], [32, 36]]
        );
        assert_eq!((size_of::<Algorithm>(), size_of::<Found>()), (64, 96));
    }

    /// How far a result is from the activation of these sums, of f64, at most, by their size.
    fn error_of(found: &Tensor, sums: Tensor, act: LtActivation) -> f64 {
        let wanted = match act {
            LtActivation::None => sums,
            LtActivation::Relu => sums.relu(),
            LtActivation::Gelu => sums.gelu("tanh"),
        };
        ((found.to_kind(Kind::Double) - &wanted).abs() / (wanted.abs() + 1.0)).max().double_value(&[])
    }

    /// Every activation, with and without a bias and something added, against f64; where there is no GPU it says so.
    #[test]
    fn products_are_those_of_f64() {
        let Some(device) = gpu_or_skip("a product by cuBLASLt") else { return };
        for (kind, unit) in [(Kind::Half, 1.0 / 1024.0), (Kind::BFloat16, 1.0 / 128.0)] {
            for [rows, columns, out] in [[1, 64, 8], [5, 7, 3], [128, 768, 3072], [33, 100, 50_257], [3, 8, 1]] {
                let random =
                    |shape: &[i64], scale: f64| (Tensor::randn(shape, (Kind::Float, device)) * scale).to_kind(kind);
                let (x, other) = (random(&[rows, columns], 1.0), random(&[rows, out], 1.0));
                let columns = u32::try_from(columns).unwrap();
                let weight = random(&[out, i64::from(columns)], f64::from(columns).sqrt().recip());
                let bias = random(&[out], 1.0);
                let wide = |tensor: &Tensor| tensor.to_kind(Kind::Double);
                for (has_bias, adds) in [(false, false), (true, false), (false, true), (true, true)] {
                    for act in [LtActivation::None, LtActivation::Relu, LtActivation::Gelu] {
                        for rank in 0..2 {
                            let packed =
                                LtWeight::pack(Param::new(weight.shallow_clone()), has_bias.then_some(&bias), rank)
                                    .unwrap()
                                    .unwrap();
                            let found = packed.run((&x, None), adds.then_some(&other), act).unwrap();
                            let what = format!("{kind:?} {rows} {columns} {out} {has_bias} {adds} {act:?} {rank}");
                            // There is always a first one, unless rows that are no whole loads are to be added.
                            let Some(found) = found else {
                                let is_padded = out >= PADDED_FROM && out % WHOLE != 0;
                                assert!(rank > 0 || adds && is_padded, "{what}");
                                continue;
                            };
                            let mut wanted = wide(&x).matmul(&wide(&weight).tr());
                            if has_bias {
                                wanted += wide(&bias);
                            }
                            if adds {
                                wanted += wide(&other);
                            }
                            let error = error_of(&found, wanted, act);
                            assert!(error <= 2.0 * unit, "{what}: {error:e}");
                        }
                    }
                }
            }
        }
    }

    /// The same of eight bits with scales, against their numbers in f64. Tensor cores of Hopper keep about 14 bits of sums of such
    /// products.
    #[test]
    fn products_of_eight_bits_are_those_of_f64() {
        let Some(device) = gpu_or_skip("a product by cuBLASLt") else { return };
        for (kind, unit) in [(Kind::Half, 1.0 / 128.0), (Kind::BFloat16, 1.0 / 64.0)] {
            for [rows, columns, out] in [[1, 64, 16], [5, 256, 48], [130, 768, 3072]] {
                let random = |shape: &[i64]| Tensor::randn(shape, (Kind::Float, device));
                let codes = |shape: &[i64]| (random(shape) * 50.0).to_kind(Kind::Float8e4m3fn);
                let (x, weight) = (codes(&[rows, columns]), codes(&[out, columns]));
                let [of_rows, of_weight] =
                    [rows, out].map(|count| (Tensor::rand([count], (Kind::Float, device)) + 0.5) / 500.0);
                let (bias, other) = (random(&[out]).to_kind(kind), random(&[rows, out]).to_kind(kind));
                let wide = |tensor: &Tensor| tensor.to_kind(Kind::Float).to_kind(Kind::Double);
                let packed = LtWeight::of_float8(
                    Param::new(weight.shallow_clone()),
                    Param::new(of_weight.shallow_clone()),
                    Some(Param::new(bias.shallow_clone())),
                    kind,
                );
                let packed = packed.unwrap();
                for act in [LtActivation::None, LtActivation::Relu, LtActivation::Gelu] {
                    for adds in [false, true] {
                        let what = format!("{kind:?} {rows} {columns} {out} {act:?} {adds}");
                        let found = packed.run((&x, Some(&of_rows)), adds.then_some(&other), act).unwrap();
                        let Some(found) = found else {
                            eprintln!("no kernel: {what}");
                            continue;
                        };
                        let sums = wide(&x).matmul(&wide(&weight).tr());
                        let scales = wide(&of_rows).unsqueeze(1) * wide(&of_weight).unsqueeze(0);
                        let mut wanted = sums * scales + wide(&bias);
                        if adds {
                            wanted += wide(&other);
                        }
                        let error = error_of(&found, wanted, act);
                        assert!(error <= unit, "{what}: {error:e}");
                    }
                }
            }
        }
    }
}
