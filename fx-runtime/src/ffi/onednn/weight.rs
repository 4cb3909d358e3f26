//! A convolution's weight, laid out as its kernels want it.
//!
//! Which layout that is depends on the shape of the input. The weight starts in the default order and is laid out by the
//! first plan; a later plan takes it over if it wants the same layout (it does, as a rule), and else lays it out once
//! more from what there is. The default order is then gone: there is one copy for each layout in use.

use std::ffi::c_int;
use std::sync::{Arc, Mutex, PoisonError};

use tch::{TchError, Tensor};

use super::api::value;
use super::buffer::{Buffer, with_scratch};
use super::objects::{Attributes, Description, Engine, Layout, Memory, Primitive, Stream};
use crate::ffi::Param;

/// A tensor that kernels read.
#[derive(Debug)]
pub(super) struct Constant {
    pub(super) layout: Layout,
    pub(super) memory: Memory,
    _bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    Tensor(#[expect(dead_code, reason = "keeps the bytes alive")] Param),
    Buffer(#[expect(dead_code, reason = "keeps the bytes alive")] Buffer),
}

impl Constant {
    /// A copy of a tensor in the default order, described with these sizes.
    pub(super) fn of(engine: Engine, tensor: &Tensor, sizes: &[i64], dtype: c_int) -> Result<Arc<Self>, TchError> {
        let copy = Param::copied(&tensor.f_contiguous()?)?;
        let layout = Layout::strided(engine.api, dtype, sizes, &contiguous(sizes))?;
        let mut memory = Memory::new(engine, &layout)?;
        memory.set(copy.data_ptr())?;
        Ok(Arc::new(Self { layout, memory, _bytes: Bytes::Tensor(copy) }))
    }

    /// The same numbers in another layout.
    pub(super) fn laid_out(&self, engine: Engine, wanted: Layout) -> Result<Arc<Self>, TchError> {
        let buffer = Buffer::lasting(wanted.size())?;
        let mut memory = Memory::new(engine, &wanted)?;
        memory.set(buffer.address())?;
        let description = Description::reorder(engine, &self.layout, &wanted, &Attributes::new(engine.api, &[])?)?;
        let needed = description.scratchpad()?;
        let mut scratchpad = Memory::new(engine, &needed)?;
        let primitive = Primitive::compile(&description)?;
        with_scratch(needed.size(), |scratch| {
            scratchpad.set(scratch)?;
            let arguments = [
                self.memory.argument(value::ARG_SRC),
                memory.argument(value::ARG_DST),
                scratchpad.argument(value::ARG_SCRATCHPAD),
            ];
            // SAFETY: a reorder has one source, one result and a scratchpad; all layouts are the description's and all
            // buffers as large. The source is only read, the other two are ours.
            unsafe { Stream::new(engine)?.execute(&primitive, &arguments) }
        })?;
        Ok(Arc::new(Self { layout: wanted, memory, _bytes: Bytes::Buffer(buffer) }))
    }
}

/// The weight in the layouts that are in use.
#[derive(Debug)]
pub(super) struct Weight {
    /// The newest first; the others only as long as a plan holds them.
    layouts: Mutex<Vec<Arc<Constant>>>,
}

impl Weight {
    pub(super) fn new(first: Arc<Constant>) -> Self {
        Self { layouts: Mutex::new(vec![first]) }
    }

    /// The weight in this layout.
    pub(super) fn in_layout(&self, engine: Engine, wanted: Layout) -> Result<Arc<Constant>, TchError> {
        // A panic cannot leave the list half changed.
        let mut layouts = self.layouts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = layouts.iter().find(|found| found.layout == wanted) {
            return Ok(found.clone());
        }
        let laid_out = match layouts.first() {
            Some(source) => source.laid_out(engine, wanted)?,
            None => return Err(TchError::Torch("a weight without a layout".to_owned())),
        };
        layouts.retain(|layout| Arc::strong_count(layout) > 1);
        layouts.insert(0, laid_out.clone());
        Ok(laid_out)
    }

    #[cfg(test)]
    pub(super) fn layouts(&self) -> usize {
        self.layouts.lock().unwrap().len()
    }
}

/// Strides of the default order.
pub(super) fn contiguous(sizes: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; sizes.len()];
    for axis in (1..sizes.len()).rev() {
        strides[axis - 1] = strides[axis] * sizes[axis].max(1);
    }
    strides
}
