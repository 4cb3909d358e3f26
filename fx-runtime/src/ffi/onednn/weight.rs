//! A convolution's weight, laid out as its kernels want it.
//!
//! Which layout that is depends on the shape of the input. The weight starts in the default order and is laid out by the
//! first plan; a later plan takes it over if it wants the same layout (it does, as a rule), and else lays it out once
//! more. The default order is gone meanwhile and comes back for that moment: there is one copy for each layout in use.

use std::ffi::c_int;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tch::{Device, Kind, TchError, Tensor};

use super::super::buffer::{Buffer, with_scratch};
use super::api::value;
use super::objects::{Attributes, Description, Engine, Layout, Memory, Primitive, Stream};
use crate::ffi::Param;
use crate::ffi::memory_format::contiguous;
use crate::ffi::tensor::refused;

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
    /// A tensor in the default order, described with these sizes.
    pub(super) fn new(engine: Engine, tensor: Param, sizes: &[i64], dtype: c_int) -> Result<Self, TchError> {
        let layout = Layout::strided(engine.api, dtype, sizes, &contiguous(sizes))?;
        let mut memory = Memory::new(engine, &layout)?;
        memory.set(tensor.data_ptr())?;
        Ok(Self { layout, memory, bytes: Bytes::Tensor(tensor) })
    }

    /// The tensor; none where its bytes are in a layout of oneDNN's.
    pub(super) fn tensor(&self) -> Option<&Param> {
        match &self.bytes {
            Bytes::Tensor(tensor) => Some(tensor),
            Bytes::Buffer(_) => None,
        }
    }

    /// The same numbers in another layout.
    fn laid_out(&self, engine: Engine, wanted: Layout) -> Result<Self, TchError> {
        let buffer = Buffer::lasting(wanted.size())?;
        let mut memory = Memory::new(engine, &wanted)?;
        memory.set(buffer.address())?;
        // SAFETY: the buffer is new and as large as the layout says.
        unsafe { self.write(engine, &wanted, &memory)? };
        Ok(Self { layout: wanted, memory, bytes: Bytes::Buffer(buffer) })
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
pub(super) struct Weight {
    engine: Engine,
    kind: Kind,
    dtype: c_int,
    /// With an axis of groups in front if there are several.
    pub(super) sizes: Vec<i64>,
    layouts: Mutex<Layouts>,
}

#[derive(Debug)]
struct Layouts {
    newest: Arc<Constant>,
    /// As long as a plan holds them.
    others: Vec<Weak<Constant>>,
}

impl Weight {
    /// A copy of a tensor, described with these sizes.
    pub(super) fn new(engine: Engine, tensor: &Tensor, sizes: Vec<i64>, dtype: c_int) -> Result<Self, TchError> {
        let copy = Param::copied(&tensor.f_contiguous()?)?;
        let newest = Arc::new(Constant::new(engine, copy, &sizes, dtype)?);
        let layouts = Mutex::new(Layouts { newest, others: Vec::new() });
        Ok(Self { engine, kind: tensor.f_kind()?, dtype, sizes, layouts })
    }

    /// The weight in this layout.
    pub(super) fn in_layout(&self, wanted: Layout) -> Result<Arc<Constant>, TchError> {
        let mut layouts = self.lock();
        let Layouts { newest, others } = &mut *layouts;
        let mut known = std::iter::once(newest.clone()).chain(others.iter().filter_map(Weak::upgrade));
        if let Some(found) = known.find(|found| found.layout == wanted) {
            return Ok(found);
        }
        let laid_out = Arc::new(if newest.tensor().is_some() {
            newest.laid_out(self.engine, wanted)?
        } else {
            // From one blocked layout to another oneDNN takes a hundred times as long as there and back again.
            self.default_order(newest)?.laid_out(self.engine, wanted)?
        });
        others.retain(|other| other.strong_count() > 0);
        others.push(Arc::downgrade(newest));
        newest.clone_from(&laid_out);
        Ok(laid_out)
    }

    /// A copy in the default order.
    pub(super) fn dense(&self) -> Result<Tensor, TchError> {
        let source = self.lock().newest.clone();
        let dense = self.default_order(&source)?;
        dense.tensor().map(|dense| dense.shallow_clone()).ok_or_else(|| refused("a weight in the default order"))
    }

    fn default_order(&self, source: &Constant) -> Result<Constant, TchError> {
        let dense = Param::new(Tensor::f_empty(&self.sizes, (self.kind, Device::Cpu))?);
        let dense = Constant::new(self.engine, dense, &self.sizes, self.dtype)?;
        // SAFETY: the tensor is new, and has the layout's sizes, dtype and order.
        unsafe { source.write(self.engine, &dense.layout, &dense.memory)? };
        Ok(dense)
    }

    fn lock(&self) -> MutexGuard<'_, Layouts> {
        // A panic cannot leave it half changed: what can fail comes first.
        self.layouts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn layouts(&self) -> usize {
        1 + self.lock().others.iter().filter(|other| other.strong_count() > 0).count()
    }
}
