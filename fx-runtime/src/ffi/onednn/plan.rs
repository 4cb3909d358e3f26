//! One compiled convolution: for inputs of one shape, with one activation, ready to run.

use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use tch::TchError;

use super::super::buffer::with_scratch;
use super::api::value;
use super::convolution::DirectConv;
use super::eltwise::step;
use super::numbers::MOST_AFFINE;
use super::objects::{Attributes, Description, Engine, Layout, Memory, Primitive, Step, Stream, Window, dims};
use super::weight::Constant;
use crate::ffi::PostOp;
use crate::ffi::memory_format::contiguous;

/// What a plan was made for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Key {
    /// The input's, of which the layer's rank counts.
    pub(super) sizes: [i64; 5],
    /// Whether the input's channels lie together; else it is in the default order.
    pub(super) channels_last: bool,
    pub(super) adds: Adds,
    pub(super) post: PostOp,
    /// Kernels divide their work by the number of threads when they are compiled.
    pub(super) threads: i32,
}

/// What is added before the activation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Adds {
    Nothing,
    /// A tensor.
    Tensor,
    /// What the result's memory holds.
    Result,
}

/// A compiled convolution.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) key: Key,
    engine: Engine,
    primitive: Primitive,
    weight: Arc<Constant>,
    bias: Option<Arc<Constant>>,
    /// Scales and zero points, each with its place among the arguments.
    affine: Vec<(c_int, Arc<Constant>)>,
    source: Layout,
    result: Layout,
    added: Layout,
    scratchpad: Layout,
    /// For an input in the default order: lays it out before the convolution.
    entry: Option<Entry>,
    pub(super) sizes: Vec<i64>,
    pub(super) strides: Vec<i64>,
    pub(super) result_bytes: usize,
    /// As many as calls have been under way at once.
    idle: Mutex<Vec<Bindings>>,
}

#[derive(Debug)]
struct Entry {
    primitive: Primitive,
    given: Layout,
    scratchpad: Layout,
}

/// What one call at a time can use: memory objects whose buffers change from call to call.
#[derive(Debug)]
struct Bindings {
    stream: Stream,
    source: Memory,
    result: Memory,
    added: Memory,
    scratchpad: Memory,
    /// The input as given, and the scratchpad of its reorder.
    given: Option<(Memory, Memory)>,
}

/// Addresses of the tensors of one call.
pub(super) struct Buffers {
    pub(super) input: *mut c_void,
    pub(super) result: *mut c_void,
    /// Null where no tensor is added.
    pub(super) added: *mut c_void,
}

/// Results along each axis for which a weight is laid out beforehand: between the first layers' and the last ones'.
const USUAL_SIDE: i64 = 14;

/// A convolution that is not compiled yet.
struct Described {
    description: Description,
    source: Layout,
    result: Layout,
    added: Layout,
    sizes: Vec<i64>,
    strides: Vec<i64>,
}

impl Described {
    fn of(conv: &DirectConv, key: &Key) -> Result<Self, TchError> {
        let (engine, numbers) = (conv.engine, &conv.numbers);
        let given = &key.sizes[..conv.rank()];
        let sizes = conv.result_sizes(given);
        let strides = channels_last(&sizes);
        let layout = |dtype: c_int, sizes: &[i64], strides: &[i64]| Layout::strided(engine.api, dtype, sizes, strides);
        let source = layout(numbers.source, given, &channels_last(given))?;
        let result = layout(numbers.result, &sizes, &strides)?;
        let added = layout(numbers.added, &sizes, &strides)?;
        let any = Layout::any(engine.api, numbers.weight, &conv.weight.sizes)?;
        let add = match key.adds {
            Adds::Nothing => None,
            Adds::Tensor => Some(Step::Add(&added)),
            Adds::Result => Some(Step::Accumulate),
        };
        let steps: Vec<_> = add.into_iter().chain(step(key.post)).collect();
        let bias = conv.bias.as_ref().map(|bias| &bias.layout);
        let layouts = (&source, &any, bias, &result);
        let attributes = Attributes::affine(engine.api, &steps, numbers.affine())?;
        let description = Description::convolution(engine, layouts, &conv.window(given, &sizes), &attributes)?;
        Ok(Self { description, source, result, added, sizes, strides })
    }
}

/// The most that a convolution has: scratchpad, input, weight, result, bias, what is added, and [scales and zero points](super::numbers::Numbers::affine).
const ARGUMENTS: usize = 6 + MOST_AFFINE;

/// Scratch memory is divided in steps of this many bytes.
const STEP: usize = 4096;

impl Plan {
    pub(super) fn new(conv: &DirectConv, key: Key) -> Result<Self, TchError> {
        let (engine, given) = (conv.engine, &key.sizes[..conv.rank()]);
        let Described { description, source, result, added, sizes, strides } = Described::of(conv, &key)?;
        let entry = if key.channels_last {
            None
        } else {
            let layout = Layout::strided(engine.api, conv.numbers.source, given, &contiguous(given))?;
            Some(Entry::new(engine, layout, &source)?)
        };
        Ok(Self {
            key,
            engine,
            primitive: Primitive::compile(&description)?,
            weight: conv.weight.in_layout(description.weight()?)?,
            bias: conv.bias.clone(),
            affine: conv.numbers.constants(),
            scratchpad: description.scratchpad()?,
            source,
            result_bytes: result.size(),
            result,
            added,
            entry,
            sizes,
            strides,
            idle: Mutex::new(Vec::new()),
        })
    }

    /// Computes; returns when the result is there.
    ///
    /// # Safety
    ///
    /// The buffers are alive and hold the plan's input, its result and, if it adds one, a tensor that is laid out as the
    /// result. The result's is written by nobody else meanwhile, and the others by nobody at all.
    pub(super) unsafe fn run(&self, buffers: &Buffers) -> Result<(), TchError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut bindings = match idle {
            Some(bindings) => bindings,
            None => Bindings::new(self)?,
        };
        // The scratchpad, the reorder's scratchpad, and the input laid out.
        let own = self.scratchpad.size().next_multiple_of(STEP);
        let entry = self.entry.as_ref().map_or(0, |entry| entry.scratchpad.size().next_multiple_of(STEP));
        let copy = if self.entry.is_some() { self.source.size() } else { 0 };
        let done = with_scratch(own + entry + copy, |scratch| {
            // SAFETY: this function's contract, and `scratch` is as large as the three parts together.
            unsafe { bindings.execute(self, buffers, (scratch, scratch.byte_add(own), scratch.byte_add(own + entry))) }
        });
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(bindings);
        done
    }
}

impl Entry {
    fn new(engine: Engine, given: Layout, wanted: &Layout) -> Result<Self, TchError> {
        let description = Description::reorder(engine, &given, wanted, &Attributes::new(engine.api, &[])?)?;
        Ok(Self { primitive: Primitive::compile(&description)?, scratchpad: description.scratchpad()?, given })
    }
}

impl Bindings {
    fn new(plan: &Plan) -> Result<Self, TchError> {
        let memory = |layout: &Layout| Memory::new(plan.engine, layout);
        let given = match &plan.entry {
            Some(entry) => Some((memory(&entry.given)?, memory(&entry.scratchpad)?)),
            None => None,
        };
        Ok(Self {
            stream: Stream::new(plan.engine)?,
            source: memory(&plan.source)?,
            result: memory(&plan.result)?,
            added: memory(&plan.added)?,
            scratchpad: memory(&plan.scratchpad)?,
            given,
        })
    }

    /// # Safety
    ///
    /// As [`Plan::run`], and the three parts of `scratch` have room for the scratchpad, the entry's and the input.
    unsafe fn execute(
        &mut self,
        plan: &Plan,
        buffers: &Buffers,
        scratch: (*mut c_void, *mut c_void, *mut c_void),
    ) -> Result<(), TchError> {
        if let (Some(entry), Some((given, scratchpad))) = (&plan.entry, &mut self.given) {
            given.set(buffers.input)?;
            scratchpad.set(scratch.1)?;
            self.source.set(scratch.2)?;
            let arguments = [
                given.argument(value::ARG_SRC),
                self.source.argument(value::ARG_DST),
                scratchpad.argument(value::ARG_SCRATCHPAD),
            ];
            // SAFETY: the reorder's three arguments; the rest is this function's contract.
            unsafe { self.stream.execute(&entry.primitive, &arguments)? };
        } else {
            self.source.set(buffers.input)?;
        }
        self.result.set(buffers.result)?;
        self.scratchpad.set(scratch.0)?;
        let mut arguments = [self.scratchpad.argument(value::ARG_SCRATCHPAD); ARGUMENTS];
        arguments[1] = self.source.argument(value::ARG_SRC);
        arguments[2] = plan.weight.memory.argument(value::ARG_WEIGHTS);
        arguments[3] = self.result.argument(value::ARG_DST);
        let mut count = 4;
        if let Some(bias) = &plan.bias {
            arguments[count] = bias.memory.argument(value::ARG_BIAS);
            count += 1;
        }
        if plan.key.adds == Adds::Tensor {
            self.added.set(buffers.added)?;
            arguments[count] = self.added.argument(value::ARG_FIRST_POST_OP | value::ARG_SRC_1);
            count += 1;
        }
        for (which, constant) in &plan.affine {
            arguments[count] = constant.memory.argument(*which);
            count += 1;
        }
        // SAFETY: the convolution's arguments as its description names them; the rest is this function's contract.
        unsafe { self.stream.execute(&plan.primitive, &arguments[..count]) }
    }
}

/// Strides with the channels innermost, then the spatial axes, then the batch.
pub(super) fn channels_last(sizes: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; sizes.len()];
    let mut step = sizes[1].max(1);
    for axis in (2..sizes.len()).rev().chain(std::iter::once(0)) {
        strides[axis] = step;
        step *= sizes[axis].max(1);
    }
    strides
}

impl DirectConv {
    /// Lays the weight out as its kernel for an image of usual size wants it, so that the first call finds it so.
    pub(crate) fn lay_out(&self) -> Result<(), TchError> {
        let mut sizes = [USUAL_SIDE; 5];
        (sizes[0], sizes[1]) = (1, self.in_channels());
        for (axis, size) in sizes[2..self.rank()].iter_mut().enumerate() {
            *size += self.extent(axis);
        }
        self.lay_out_for(sizes)
    }

    /// The same for [`run_rows`](Self::run_rows) with so many rows.
    pub(crate) fn lay_out_for_rows(&self, rows: i64) -> Result<(), TchError> {
        self.lay_out_for([1, self.in_channels(), rows, 1, 0])
    }

    fn lay_out_for(&self, sizes: [i64; 5]) -> Result<(), TchError> {
        let key = Key {
            sizes,
            channels_last: true,
            adds: Adds::Nothing,
            post: PostOp::None,
            threads: tch::get_num_threads(),
        };
        let wanted = Described::of(self, &key)?.description.weight()?;
        self.weight.in_layout(wanted).map(drop)
    }

    fn window(&self, input: &[i64], result: &[i64]) -> Window {
        let geometry = &self.geometry;
        let axes = 0..self.rank() - 2;
        let after = |axis: usize| {
            let reach = (result[axis + 2] - 1) * geometry.stride[axis] + self.extent(axis);
            reach - input[axis + 2] - geometry.padding[axis]
        };
        Window {
            strides: dims(&geometry.stride),
            dilates: dims(&axes.clone().map(|axis| geometry.dilation[axis] - 1).collect::<Vec<_>>()),
            before: dims(&geometry.padding),
            after: dims(&axes.map(after).collect::<Vec<_>>()),
        }
    }
}
