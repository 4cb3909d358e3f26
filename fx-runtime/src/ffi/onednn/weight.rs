//! A convolution's weight, laid out as its kernels want it.
//!
//! Which layout that is depends on the shape of the input. The weight starts in the default order and is laid out by the
//! first plan; a later plan takes it over if it wants the same layout (it does, as a rule), and else lays it out once
//! more from what there is. The default order is then gone: there is one copy for each layout in use.

use std::ffi::c_int;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tch::{Device, Kind, TchError, Tensor};

use super::super::buffer::{Buffer, with_scratch};
use super::api::value;
use super::objects::{Attributes, Description, Engine, Layout, Memory, Primitive, Stream};
use crate::ffi::Param;

/// A tensor that kernels read.
#[derive(Debug)]
pub(super) struct Constant {
    pub(super) layout: Layout,
    pub(super) memory: Memory,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    Tensor(Param),
    Buffer(#[expect(dead_code, reason = "keeps the bytes alive")] Buffer),
}

impl Constant {
    /// A copy of a tensor in the default order, described with these sizes.
    pub(super) fn of(engine: Engine, tensor: &Tensor, sizes: &[i64], dtype: c_int) -> Result<Arc<Self>, TchError> {
        let copy = Param::copied(&tensor.f_contiguous()?)?;
        let layout = Layout::strided(engine.api, dtype, sizes, &contiguous(sizes))?;
        let mut memory = Memory::new(engine, &layout)?;
        memory.set(copy.data_ptr())?;
        Ok(Arc::new(Self { layout, memory, bytes: Bytes::Tensor(copy) }))
    }

    /// The tensor; none where its bytes are in a layout of oneDNN's.
    pub(super) fn tensor(&self) -> Option<&Param> {
        match &self.bytes {
            Bytes::Tensor(tensor) => Some(tensor),
            Bytes::Buffer(_) => None,
        }
    }

    /// The same numbers in another layout.
    fn laid_out(&self, engine: Engine, wanted: Layout) -> Result<Arc<Self>, TchError> {
        let buffer = Buffer::lasting(wanted.size())?;
        let mut memory = Memory::new(engine, &wanted)?;
        memory.set(buffer.address())?;
        // SAFETY: the buffer is new and as large as the layout says.
        unsafe { self.write(engine, &wanted, &memory)? };
        Ok(Arc::new(Self { layout: wanted, memory, bytes: Bytes::Buffer(buffer) }))
    }

    /// Writes the numbers to `memory`, which has the layout `wanted`.
    ///
    /// # Safety
    ///
    /// The memory's buffer is alive, as large as the layout says, and known to nobody else.
    unsafe fn write(&self, engine: Engine, wanted: &Layout, memory: &Memory) -> Result<(), TchError> {
        let description = Description::reorder(engine, &self.layout, wanted, &Attributes::new(engine.api, &[])?)?;
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
            // buffers as large. The source is only read; the result is the caller's and the scratchpad this thread's.
            unsafe { Stream::new(engine)?.execute(&primitive, &arguments) }
        })
    }
}

/// The weight in the layouts that are in use.
#[derive(Debug)]
pub(super) struct Weight(Mutex<Layouts>);

#[derive(Debug)]
struct Layouts {
    newest: Arc<Constant>,
    /// As long as a plan holds them.
    others: Vec<Weak<Constant>>,
}

impl Weight {
    pub(super) fn new(first: Arc<Constant>) -> Self {
        Self(Mutex::new(Layouts { newest: first, others: Vec::new() }))
    }

    /// The weight in this layout.
    pub(super) fn in_layout(&self, engine: Engine, wanted: Layout) -> Result<Arc<Constant>, TchError> {
        let mut layouts = self.lock();
        let Layouts { newest, others } = &mut *layouts;
        let mut known = std::iter::once(newest.clone()).chain(others.iter().filter_map(Weak::upgrade));
        if let Some(found) = known.find(|found| found.layout == wanted) {
            return Ok(found);
        }
        let laid_out = newest.laid_out(engine, wanted)?;
        others.retain(|other| other.strong_count() > 0);
        others.push(Arc::downgrade(newest));
        newest.clone_from(&laid_out);
        Ok(laid_out)
    }

    /// A copy in the default order, of these sizes.
    pub(super) fn dense(&self, engine: Engine, kind: Kind, dtype: c_int, sizes: &[i64]) -> Result<Tensor, TchError> {
        let source = self.lock().newest.clone();
        let dense = Tensor::f_empty(sizes, (kind, Device::Cpu))?;
        let layout = Layout::strided(engine.api, dtype, sizes, &contiguous(sizes))?;
        let mut memory = Memory::new(engine, &layout)?;
        memory.set(dense.data_ptr())?;
        // SAFETY: the tensor is new, and has the layout's sizes, dtype and order.
        unsafe { source.write(engine, &layout, &memory)? };
        Ok(dense)
    }

    fn lock(&self) -> MutexGuard<'_, Layouts> {
        // A panic cannot leave it half changed: what can fail comes first.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn layouts(&self) -> usize {
        1 + self.lock().others.iter().filter(|other| other.strong_count() > 0).count()
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
