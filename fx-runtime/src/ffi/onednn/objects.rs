//! oneDNN's objects, each destroyed when it is dropped.

use std::ffi::{c_int, c_void};
use std::ptr;

use tch::TchError;

use super::api::{Api, Argument, Dims, Handle, Status, value};

type Destroy = unsafe extern "C-unwind" fn(Handle) -> Status;

/// A handle that nobody else destroys.
#[derive(Debug)]
struct Owned {
    api: &'static Api,
    raw: Handle,
    destroy: Destroy,
}

// SAFETY: oneDNN's objects are tied to no thread.
unsafe impl Send for Owned {}
// SAFETY: what the wrappers below do with a shared object reads it only, which oneDNN allows from many threads at once:
// primitives, their descriptions, memory descriptors and attributes are immutable once made, and a memory object's
// buffer is set through `&mut`. `Stream` alone has a method that the executing thread must own; it takes `&mut`.
unsafe impl Sync for Owned {}

impl Owned {
    /// What `make` writes.
    fn new(
        api: &'static Api,
        what: &str,
        destroy: Destroy,
        make: impl FnOnce(*mut Handle) -> Status,
    ) -> Result<Self, TchError> {
        let mut raw: Handle = ptr::null_mut();
        check(make(&raw mut raw), what)?;
        Ok(Self { api, raw, destroy })
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: a handle that `make` gave to us alone, with the function that belongs to its kind.
        unsafe { (self.destroy)(self.raw) };
    }
}

/// oneDNN's answer as an error; it does not say more than a number.
fn check(status: Status, what: &str) -> Result<(), TchError> {
    if status == 0 { Ok(()) } else { Err(TchError::Torch(format!("oneDNN refused {what} (status {status})"))) }
}

/// The CPU; there is one, and it is never destroyed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Engine {
    pub(super) api: &'static Api,
    raw: Handle,
}

// SAFETY: an engine is immutable.
unsafe impl Send for Engine {}
// SAFETY: as above.
unsafe impl Sync for Engine {}

impl Engine {
    pub(super) fn cpu(api: &'static Api) -> Result<Self, TchError> {
        let mut raw: Handle = ptr::null_mut();
        // SAFETY: it writes a new engine to `raw`.
        check(unsafe { (api.engine_create)(&raw mut raw, value::ENGINE_CPU, 0) }, "an engine")?;
        Ok(Self { api, raw })
    }
}

/// Where a thread executes primitives, one after the other.
#[derive(Debug)]
pub(super) struct Stream(Owned);

impl Stream {
    pub(super) fn new(engine: Engine) -> Result<Self, TchError> {
        let api = engine.api;
        // SAFETY: the engine lives for ever; it writes a new stream.
        let make = |out| unsafe { (api.stream_create)(out, engine.raw, value::STREAM_IN_ORDER) };
        Ok(Self(Owned::new(api, "a stream", api.stream_destroy, make)?))
    }

    /// Runs a primitive to its end.
    ///
    /// # Safety
    ///
    /// The arguments are all that the primitive's description asks for, each with a memory object of the layout that it
    /// asks for, whose buffer is alive, as large as the layout says, and written by nobody else if it is written here,
    /// or read only.
    pub(super) unsafe fn execute(&mut self, primitive: &Primitive, arguments: &[Argument]) -> Result<(), TchError> {
        let (api, stream) = (self.0.api, self.0.raw);
        // At most a handful, see the callers.
        let count = c_int::try_from(arguments.len()).unwrap_or(0);
        // SAFETY: primitive, stream and list are alive; the rest is this function's contract.
        let status = unsafe {
            let started = (api.primitive_execute)(primitive.0.raw, stream, count, arguments.as_ptr());
            if started == 0 { (api.stream_wait)(stream) } else { started }
        };
        check(status, "to execute a primitive")
    }
}

/// Sizes, dtype and order in memory.
#[derive(Debug)]
pub(super) struct Layout(Owned);

impl Layout {
    /// `sizes` and `strides` have one entry for each of at most 12 axes.
    pub(super) fn strided(api: &'static Api, dtype: c_int, sizes: &[i64], strides: &[i64]) -> Result<Self, TchError> {
        let (dims, steps) = (dims(sizes), dims(strides));
        // SAFETY: both lists are alive, and oneDNN reads no more than `rank` of the 12 entries that they have.
        let make =
            |out| unsafe { (api.layout_with_strides)(out, rank(sizes), &raw const dims, dtype, &raw const steps) };
        Ok(Self(Owned::new(api, "a layout", api.layout_destroy, make)?))
    }

    /// To be chosen by a primitive.
    pub(super) fn any(api: &'static Api, dtype: c_int, sizes: &[i64]) -> Result<Self, TchError> {
        let dims = dims(sizes);
        let any = value::FORMAT_ANY;
        // SAFETY: as above.
        let make = |out| unsafe { (api.layout_with_tag)(out, rank(sizes), &raw const dims, dtype, any) };
        Ok(Self(Owned::new(api, "a layout", api.layout_destroy, make)?))
    }

    /// Bytes.
    pub(super) fn size(&self) -> usize {
        // SAFETY: the layout is alive and only read.
        unsafe { (self.0.api.layout_size)(self.0.raw) }
    }
}

impl PartialEq for Layout {
    fn eq(&self, other: &Self) -> bool {
        // SAFETY: both are alive and only read.
        unsafe { (self.0.api.layout_equal)(self.0.raw, other.0.raw) == 1 }
    }
}

fn rank(sizes: &[i64]) -> c_int {
    c_int::try_from(sizes.len()).unwrap_or(0)
}

/// Padded with zeros, which are not read.
pub(super) fn dims(values: &[i64]) -> Dims {
    let mut all = [0; 12];
    for (place, &value) in all.iter_mut().zip(values) {
        *place = value;
    }
    all
}

/// A layout together with a buffer that belongs to somebody else.
#[derive(Debug)]
pub(super) struct Memory(Owned);

impl Memory {
    /// Without a buffer as yet.
    pub(super) fn new(engine: Engine, layout: &Layout) -> Result<Self, TchError> {
        let api = engine.api;
        // SAFETY: layout and engine are alive; null stands for no buffer.
        let make = |out| unsafe { (api.memory_create)(out, layout.0.raw, engine.raw, ptr::null_mut()) };
        Ok(Self(Owned::new(api, "a memory object", api.memory_destroy, make)?))
    }

    /// Points it at a buffer, which has to be alive when a primitive is executed with it, and not before.
    pub(super) fn set(&mut self, buffer: *mut c_void) -> Result<(), TchError> {
        // SAFETY: the object is ours alone; the buffer is not touched here.
        check(unsafe { (self.0.api.memory_set)(self.0.raw, buffer) }, "a buffer")
    }

    pub(super) fn argument(&self, which: c_int) -> Argument {
        Argument { which, memory: self.0.raw }
    }
}

/// What a primitive does besides its main task.
#[derive(Debug)]
pub(super) struct Attributes(Owned);

/// One step applied to a result before it is stored.
pub(super) enum Step<'a> {
    /// A tensor of this layout is added.
    Add(&'a Layout),
    /// What the result's memory holds is added.
    Accumulate,
    /// An activation, by oneDNN's number, with its two parameters.
    Eltwise(c_int, f32, f32),
}

/// The scales or the zero points of an argument, which are given as an argument themselves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Affine {
    /// Numbers of f32 that the argument's integers are multiplied by; of a result, that it is divided by.
    Scales,
    /// Integers of 32 bits that stand for zero.
    ZeroPoints,
}

impl Attributes {
    /// The same, with scales and zero points: of which argument, and the bits of the axes that have numbers of their own.
    pub(super) fn affine(
        api: &'static Api,
        steps: &[Step<'_>],
        of: impl Iterator<Item = (Affine, c_int, c_int)>,
    ) -> Result<Self, TchError> {
        let attributes = Self::new(api, steps)?;
        for (affine, argument, mask) in of {
            // SAFETY: the attributes are alive and this function's alone.
            let status = unsafe {
                match affine {
                    Affine::Scales => (api.attributes_scales)(attributes.0.raw, argument, mask),
                    Affine::ZeroPoints => (api.attributes_zero_points)(attributes.0.raw, argument, mask),
                }
            };
            check(status, "scales or zero points")?;
        }
        Ok(attributes)
    }

    /// With a scratchpad that the caller gives.
    pub(super) fn new(api: &'static Api, steps: &[Step<'_>]) -> Result<Self, TchError> {
        // SAFETY: it writes new attributes.
        let make = |out| unsafe { (api.attributes_create)(out) };
        let attributes = Owned::new(api, "attributes", api.attributes_destroy, make)?;
        // SAFETY: it writes a new list.
        let make = |out| unsafe { (api.post_ops_create)(out) };
        let list = Owned::new(api, "post-ops", api.post_ops_destroy, make)?;
        for step in steps {
            // SAFETY: list and layout are alive; the layout is copied.
            let status = unsafe {
                match *step {
                    Step::Add(layout) => (api.post_ops_binary)(list.raw, value::BINARY_ADD, layout.0.raw),
                    Step::Accumulate => (api.post_ops_sum)(list.raw, 1.0, 0, value::AS_RESULT),
                    Step::Eltwise(algorithm, alpha, beta) => (api.post_ops_eltwise)(list.raw, algorithm, alpha, beta),
                }
            };
            check(status, "a post-op")?;
        }
        // SAFETY: both are alive; the list is copied.
        let status = unsafe {
            (api.attributes_scratchpad)(attributes.raw, value::SCRATCHPAD_USER)
                | (api.attributes_post_ops)(attributes.raw, list.raw)
        };
        check(status, "attributes")?;
        Ok(Self(attributes))
    }
}

/// The window of a convolution, each list with one entry for each spatial axis.
pub(super) struct Window {
    pub(super) strides: Dims,
    /// One less than the step between taps.
    pub(super) dilates: Dims,
    pub(super) before: Dims,
    pub(super) after: Dims,
}

/// A primitive before it is compiled.
#[derive(Debug)]
pub(super) struct Description(Owned);

impl Description {
    /// `layouts` are the input's, the weight's, the bias's and the result's.
    pub(super) fn convolution(
        engine: Engine,
        layouts: (&Layout, &Layout, Option<&Layout>, &Layout),
        window: &Window,
        attributes: &Attributes,
    ) -> Result<Self, TchError> {
        let api = engine.api;
        let (source, weight, bias, result) = layouts;
        let bias = bias.map_or(ptr::null_mut(), |bias| bias.0.raw);
        // SAFETY: all objects and lists are alive, and are copied.
        let make = |out| unsafe {
            (api.convolution)(
                out,
                engine.raw,
                value::FORWARD_INFERENCE,
                value::CONVOLUTION_DIRECT,
                source.0.raw,
                weight.0.raw,
                bias,
                result.0.raw,
                &raw const window.strides,
                &raw const window.dilates,
                &raw const window.before,
                &raw const window.after,
                attributes.0.raw,
            )
        };
        Ok(Self(Owned::new(api, "a convolution", api.description_destroy, make)?))
    }

    pub(super) fn reorder(
        engine: Engine,
        from: &Layout,
        to: &Layout,
        attributes: &Attributes,
    ) -> Result<Self, TchError> {
        let (api, cpu) = (engine.api, engine.raw);
        // SAFETY: all objects are alive, and are copied.
        let make = |out| unsafe { (api.reorder)(out, from.0.raw, cpu, to.0.raw, cpu, attributes.0.raw) };
        Ok(Self(Owned::new(api, "a reorder", api.description_destroy, make)?))
    }

    /// The layout that was chosen for the weight.
    pub(super) fn weight(&self) -> Result<Layout, TchError> {
        self.layout(value::QUERY_WEIGHTS)
    }

    /// The scratchpad that is wanted, of size 0 if none is.
    pub(super) fn scratchpad(&self) -> Result<Layout, TchError> {
        self.layout(value::QUERY_SCRATCHPAD)
    }

    fn layout(&self, which: c_int) -> Result<Layout, TchError> {
        let api = self.0.api;
        // SAFETY: the description is alive; the answer lives as long and is copied at once.
        let make = |out| unsafe {
            let lent = (api.description_query)(self.0.raw, which, 0);
            // Any status but 0.
            if lent.is_null() { 1 } else { (api.layout_clone)(out, lent) }
        };
        Ok(Layout(Owned::new(api, "to describe itself", api.layout_destroy, make)?))
    }
}

/// A compiled kernel.
#[derive(Debug)]
pub(super) struct Primitive(Owned);

impl Primitive {
    pub(super) fn compile(description: &Description) -> Result<Self, TchError> {
        let api = description.0.api;
        // SAFETY: the description is alive, and is copied.
        let make = |out| unsafe { (api.primitive_create)(out, description.0.raw) };
        Ok(Self(Owned::new(api, "to compile a primitive", api.primitive_destroy, make)?))
    }
}
