//! A convolution that calls its compiled kernel without a detour.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use tch::{TchError, Tensor};

use super::api::{api, has_vnni};
use super::numbers::{Int8Numbers, Numbers, dtype};
use super::objects::Engine;
use super::plan::{Adds, Buffers, Key, Plan};
use super::weight::{Constant, Weight};
use crate::ffi::convolution::Geometry;
use crate::ffi::entry::table;
use crate::ffi::memory_format::{Order, contiguous, in_a_format};
use crate::ffi::omp_threads::alone;
use crate::ffi::output_pool::{self, PoolUser};
use crate::ffi::tensor::{lend, refused};
use crate::ffi::{Facts, Param, PostOp, Sole};

/// Plans that one convolution keeps: for shapes that come in turns, each with and without an addition.
const PLANS: usize = 8;

/// Products of fewer multiplications are computed by the calling thread alone.
///
/// Measured in f32 on two cores (Zen 5), 1 to 16 rows by 50 × 64 to 256 × 256, which take 1.4 to 6 µs: below, a second thread
/// saves at most 0.4 µs and costs up to 0.8.
const TEAM_FROM: i64 = 1 << 17;

/// A weight, and what was compiled for it so far.
#[derive(Debug)]
pub(crate) struct DirectConv {
    pub(super) engine: Engine,
    pub(super) numbers: Numbers,
    pub(super) weight: Weight,
    pub(super) bias: Option<Arc<Constant>>,
    pub(super) geometry: Geometry,
    /// The weight's, without groups.
    shape: Vec<i64>,
    /// The latest first.
    plans: Mutex<Vec<Arc<Plan>>>,
    _pool_user: PoolUser,
}

impl DirectConv {
    /// Takes a copy of a dense weight `[out, in / groups, k..]` with two or three spatial axes; none where oneDNN cannot
    /// be called directly, and for a transposed convolution.
    pub(crate) fn pack(weight: &Tensor, bias: Option<&Tensor>, geometry: &Geometry) -> Option<Result<Self, TchError>> {
        let numbers = Numbers::of_one_type(dtype(weight.f_kind().ok()?)?);
        let engine = engine_for(geometry)?;
        Some(Self::pack_as(engine, weight, bias, geometry, numbers))
    }

    /// The same for a linear layer, whose weight is `[out, in]`; it is run by [`Self::run_rows`].
    pub(crate) fn pack_rows(weight: &Tensor, bias: Option<&Tensor>) -> Option<Result<Self, TchError>> {
        let size = weight.size();
        let weight = weight.f_view([size[0], size[1], 1, 1]);
        match weight {
            Ok(weight) => Self::pack(&weight, bias, &Geometry::of_rows()),
            Err(error) => Some(Err(error)),
        }
    }

    /// Takes a copy of a dense weight of `i8`, laid out as above, for inputs of `u8`; `bias` is f32. None where oneDNN
    /// cannot be called directly or this CPU has no VNNI instructions, and for a transposed convolution.
    pub(crate) fn pack_int8(
        weight: &Tensor,
        bias: Option<&Tensor>,
        geometry: &Geometry,
        int8: &Int8Numbers<'_>,
    ) -> Option<Result<Self, TchError>> {
        let engine = engine_for(geometry).filter(|engine| has_vnni(engine.api))?;
        let numbers = Numbers::of_int8(engine, geometry.groups, int8);
        Some(numbers.and_then(|numbers| Self::pack_as(engine, weight, bias, geometry, numbers)))
    }

    fn pack_as(
        engine: Engine,
        weight: &Tensor,
        bias: Option<&Tensor>,
        geometry: &Geometry,
        numbers: Numbers,
    ) -> Result<Self, TchError> {
        let sizes = weight.size();
        let grouped = [geometry.groups, sizes[0] / geometry.groups];
        let weight_sizes = match geometry.groups {
            1 => sizes.clone(),
            _ => [&grouped, &sizes[1..]].concat(),
        };
        let bias = bias
            .map(|bias| Constant::new(engine, Param::copied(&bias.f_contiguous()?)?, &sizes[..1], numbers.bias))
            .transpose()?;
        Ok(Self {
            engine,
            weight: Weight::new(engine, weight, weight_sizes, numbers.weight)?,
            numbers,
            bias: bias.map(Arc::new),
            geometry: geometry.clone(),
            shape: sizes,
            plans: Mutex::new(Vec::new()),
            _pool_user: PoolUser::new(),
        })
    }

    /// `post(conv(x) + other)`. `x` is as for [`PackedConv::run`](super::super::PackedConv::run), `other` has the
    /// result's shape and, but for integers, its dtype.
    pub(crate) fn run(&self, x: &Tensor, other: Option<&Tensor>, post: &PostOp) -> Result<Tensor, TchError> {
        let other_copy = match other {
            Some(other) => in_a_format(other, facts_of(other)?.sizes(), false)?.1,
            None => None,
        };
        let other = other_copy.as_ref().or(other);
        let adds = if other.is_some() { Adds::Tensor } else { Adds::Nothing };
        let (plan, x_copy) = self.plan_for(x, adds, post)?;
        let x = x_copy.as_ref().unwrap_or(x);
        let result = output_pool::tensor(&plan.sizes, &plan.strides, self.numbers.result_type(), plan.result_bytes)?;
        let buffers = Buffers {
            input: address(x)?,
            result: address(&result)?,
            added: other.map_or(Ok(ptr::null_mut()), address)?,
        };
        // SAFETY: the three tensors are alive, on the CPU, and have the plan's sizes, dtype and order: `x` and `other` by
        // `arranged`, the result by construction. Nobody else knows the result yet, and to write the others while they
        // are borrowed here would be a data race of the caller's.
        unsafe { plan.run(&buffers)? };
        Ok(result)
    }

    /// The same in the memory of `other`, if that lies as the result does.
    pub(crate) fn run_onto(&self, x: &Tensor, other: Sole, post: &PostOp) -> Result<Tensor, TchError> {
        if in_a_format(&other, facts_of(&other)?.sizes(), false)?.1.is_some() || !self.adds_in_place(&other)? {
            return self.run(x, Some(&other), post);
        }
        let (plan, x_copy) = self.plan_for(x, Adds::Result, post)?;
        let x = x_copy.as_ref().unwrap_or(x);
        let buffers = Buffers { input: address(x)?, result: address(&other)?, added: ptr::null_mut() };
        // SAFETY: as above; nobody else has the memory of `other`, and so `x` lies elsewhere.
        unsafe { plan.run(&buffers)? };
        Ok(other.into_tensor())
    }

    /// Returns whether a tensor of the result's sizes that is added can become the result.
    fn adds_in_place(&self, other: &Tensor) -> Result<bool, TchError> {
        let facts = facts_of(other)?;
        Ok(self.numbers.added == self.numbers.result
            && facts.dtype == self.numbers.result_type()
            && facts.device.0 == 0)
    }

    /// The plan for an input, and a copy of that if it lies in no order that is taken.
    fn plan_for(&self, x: &Tensor, adds: Adds, post: &PostOp) -> Result<(Arc<Plan>, Option<Tensor>), TchError> {
        let facts = facts_of(x)?;
        let (order, copy) = in_a_format(x, facts.sizes(), true)?;
        let mut sizes = [0; 5];
        sizes[..self.rank()].copy_from_slice(facts.sizes());
        let (channels_last, threads) = (order == Order::ChannelsLast, tch::get_num_threads());
        Ok((self.plan(Key { sizes, channels_last, adds, post: *post, threads })?, copy))
    }

    /// The same for a weight of one pixel, on rows: `x` is `[.., in]` with at least one element, the result, of these
    /// sizes, `[.., out]`, and `other` as the result.
    pub(crate) fn run_rows(
        &self,
        x: &Tensor,
        result: &[i64],
        other: Option<&Tensor>,
        post: &PostOp,
    ) -> Result<Tensor, TchError> {
        let other = other.map(Tensor::f_contiguous).transpose()?;
        let adds = if other.is_some() { Adds::Tensor } else { Adds::Nothing };
        self.on_rows(x, adds, post, |plan, x| {
            let dtype = self.numbers.result_type();
            let result = output_pool::tensor(result, &contiguous(result), dtype, plan.result_bytes)?;
            let added = other.as_ref().map_or(Ok(ptr::null_mut()), address)?;
            let buffers = Buffers { input: address(x)?, result: address(&result)?, added };
            // SAFETY: as above; rows that lie one behind the other are an image of width 1 in `channels_last`.
            unsafe { plan.run(&buffers)? };
            Ok(result)
        })
    }

    /// The same in the memory of `other`, which has the result's sizes, if that lies as the result does.
    pub(crate) fn run_rows_onto(&self, x: &Tensor, other: Sole, post: &PostOp) -> Result<Tensor, TchError> {
        if !other.is_contiguous() || !self.adds_in_place(&other)? {
            return self.run_rows(x, &other.size(), Some(&other), post);
        }
        self.on_rows(x, Adds::Result, post, |plan, x| {
            let buffers = Buffers { input: address(x)?, result: address(&other)?, added: ptr::null_mut() };
            // SAFETY: as in the two above.
            unsafe { plan.run(&buffers) }
        })?;
        Ok(other.into_tensor())
    }

    /// Does something with the plan for rows, on as many threads as are worth it.
    fn on_rows<T>(
        &self,
        x: &Tensor,
        adds: Adds,
        post: &PostOp,
        work: impl FnOnce(&Plan, &Tensor) -> Result<T, TchError>,
    ) -> Result<T, TchError> {
        let x = x.f_contiguous()?;
        let channels = self.in_channels();
        let elements = i64::try_from(x.numel()).map_err(|_| refused("a product"))?;
        let team = tch::get_num_threads();
        let small = team > 1 && elements.saturating_mul(self.shape[0]) < TEAM_FROM;
        let threads = if small { 1 } else { team };
        let sizes = [1, channels, elements / channels.max(1), 1, 0];
        let key = Key { sizes, channels_last: true, adds, post: *post, threads };
        let multiply = || work(&*self.plan(key)?, &x);
        if small { alone(multiply) } else { multiply() }
    }

    pub(in crate::ffi) fn in_channels(&self) -> i64 {
        self.shape[1] * self.geometry.groups
    }

    /// The weight as it was before it was packed.
    pub(crate) fn dense_weight(&self) -> Result<Tensor, TchError> {
        self.weight.dense()?.f_reshape(&self.shape)
    }

    /// The bias, `[out]`.
    pub(crate) fn bias(&self) -> Option<&Param> {
        self.bias.as_ref()?.tensor()
    }

    /// The plan for a key, compiled if it is new.
    fn plan(&self, key: Key) -> Result<Arc<Plan>, TchError> {
        {
            let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(found) = plans.iter().position(|plan| plan.key == key) {
                plans[..=found].rotate_right(1);
                return Ok(plans[0].clone());
            }
        }
        // Without the lock: two threads may compile the same, of which one is then forgotten.
        let plan = Arc::new(Plan::new(self, key)?);
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.truncate(PLANS - 1);
        plans.insert(0, plan.clone());
        Ok(plan)
    }

    /// Number of plans, and of layouts of the weight.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> (usize, usize) {
        (self.plans.lock().unwrap().len(), self.weight.layouts())
    }

    /// Of inputs and results.
    pub(super) fn rank(&self) -> usize {
        self.shape.len()
    }

    /// From the first to the last tap, both included.
    pub(super) fn extent(&self, axis: usize) -> i64 {
        self.geometry.dilation[axis] * (self.shape[axis + 2] - 1) + 1
    }

    /// The sizes of the result for those of a batched input.
    pub(crate) fn result_sizes(&self, input: &[i64]) -> Vec<i64> {
        let spatial = (0..self.rank() - 2).map(|axis| {
            let room = input[axis + 2] + 2 * self.geometry.padding[axis] - self.extent(axis);
            room.div_euclid(self.geometry.stride[axis]) + 1
        });
        [input[0], self.shape[0]].into_iter().chain(spatial).collect()
    }
}

/// Where primitives run; none if oneDNN cannot be called directly, or has no such convolution.
fn engine_for(geometry: &Geometry) -> Option<Engine> {
    let entry = table();
    entry.strides.and(entry.data).and(entry.empty)?;
    if geometry.output_padding.is_some() {
        return None;
    }
    Engine::cpu(api()?).ok()
}

fn facts_of(tensor: &Tensor) -> Result<Facts, TchError> {
    Facts::of(tensor).ok_or_else(|| refused("a convolution"))
}

/// Where the elements of a tensor lie.
fn address(tensor: &Tensor) -> Result<*mut c_void, TchError> {
    let data = table().data.ok_or_else(|| refused("a convolution"))?;
    let mut address: *mut c_void = ptr::null_mut();
    // SAFETY: the tensor is alive; it writes the address of its first element.
    let status = unsafe { data(lend(tensor), &raw mut address) };
    if status == 0 && !address.is_null() { Ok(address) } else { Err(refused("data_ptr")) }
}
