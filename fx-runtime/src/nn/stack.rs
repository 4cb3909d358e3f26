//! Layers of any type in a row: what `Sequential` and `SequentialT` are made of.
//!
//! A layer is erased when it is added. It is seen again by its type (`layer::<T>`), or as a [`crate::Module`] by way of
//! the [registry](crate::registry); one that is not registered is shown as a leaf without tensors.

use std::any::{Any, type_name};
use std::fmt;
use std::rc::Rc;

use tch::{TchError, Tensor};

use super::chain::{ChainMatch, Layers, Part};
use super::closure::Closure;
use super::layer_entry::LayerEntry;
use super::{Layer, ModuleT};
use crate::Error;
use crate::module::{Module, Place, Visitor};
use crate::registry::Registration;
use crate::saved::{Loader, Saver, State};

/// Which mode each layer runs in.
#[derive(Debug, Clone, Copy)]
pub(super) enum Run {
    /// The caller's, for all.
    Told(bool),
    /// The one that the layer keeps, or this if it keeps none.
    Kept(bool),
}

/// Layers in a row, of any types, that can be shared one by one.
pub trait Chain {
    /// How many there are.
    fn len(&self) -> usize;

    /// Returns whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A second handle on one layer; none if it is no layer of this module.
    ///
    /// # Errors
    ///
    /// [`Error::Layer`] if there is no such layer, [`Error::NotCloneable`] if it cannot be shared.
    fn shared_layer(&self, index: usize) -> Result<Option<Rc<dyn Layer>>, Error>;

    /// The same of any layer, of which nothing is known but that it computes.
    ///
    /// # Errors
    ///
    /// [`Error::Layer`] if there is no such layer, [`Error::Unsupported`] if its type is not registered.
    fn erased_layer(&self, index: usize) -> Result<Box<dyn ModuleT>, Error>;

    /// The name of the type of one layer; empty if there is none.
    fn type_name_of(&self, index: usize) -> &'static str;
}

#[derive(Default)]
pub(crate) struct Stack(Vec<Slot>);

struct Slot {
    layer: Box<dyn Erased>,
    registration: Option<&'static Registration>,
    entry: Option<&'static LayerEntry>,
    opaque: Opaque,
}

/// A layer that computes and that can be put back into a box after it was cloned as `Any`.
trait Erased: ModuleT + Any {
    fn rebox(&self, clone: Box<dyn Any>) -> Option<Box<dyn Erased>>;
}

impl<M: ModuleT + 'static> Erased for M {
    fn rebox(&self, clone: Box<dyn Any>) -> Option<Box<dyn Erased>> {
        clone.downcast::<M>().ok().map(|layer| layer as Box<dyn Erased>)
    }
}

/// Stands for a layer that is not registered.
#[derive(Debug, Clone, Copy)]
struct Opaque {
    type_name: &'static str,
}

impl Module for Opaque {
    fn type_name(&self) -> &'static str {
        self.type_name
    }

    fn visit<'a>(&'a self, _visitor: &mut dyn Visitor<'a>) {}

    fn placed(&self, _place: &mut Place<'_>) -> Result<Self, Error> {
        Ok(*self)
    }
}

impl Slot {
    fn of<M: ModuleT + 'static>(layer: M) -> Self {
        let (registration, entry) = (Registration::find(&layer), LayerEntry::find(&layer));
        Self { layer: Box::new(layer), registration, entry, opaque: Opaque { type_name: short_name::<M>() } }
    }

    fn any(&self) -> &dyn Any {
        &*self.layer
    }

    fn module(&self) -> Option<&dyn Module> {
        self.registration.and_then(|registration| registration.view(self.any()))
    }

    fn as_layer(&self) -> Option<&dyn Layer> {
        self.entry.and_then(|entry| entry.view(self.any()))
    }

    fn f_forward(&self, xs: &Tensor, run: Run) -> Result<Tensor, TchError> {
        let train = match run {
            Run::Told(train) => train,
            Run::Kept(train) => self.module().and_then(Module::training).unwrap_or(train),
        };
        match self.as_layer() {
            Some(layer) => layer.f_forward_t(xs, train),
            None => Ok(self.layer.forward_t(xs, train)),
        }
    }

    fn placed(&self, place: &mut Place<'_>) -> Result<Self, Error> {
        let copy = self.registration.and_then(|registration| registration.placed(self.any(), place)).transpose()?;
        let layer = copy.and_then(|copy| self.layer.rebox(copy)).ok_or_else(|| Error::Unsupported {
            what: format!("cloning a `{}` in a sequential", self.opaque.type_name),
            help: format!("derive `fx_runtime::Module` for `{}`", self.opaque.type_name),
        })?;
        Ok(Self { layer, ..*self })
    }

    fn save(&self, to: &mut Saver) -> Result<(), Error> {
        let saved = self.registration.and_then(|registration| registration.save(self.any(), to));
        saved.unwrap_or_else(|| {
            to.refuse(self.opaque.type_name);
            Ok(())
        })
    }
}

impl Stack {
    pub(crate) fn push<M: ModuleT + 'static>(&mut self, layer: M) {
        let mut layer = Some(layer);
        match Closure::of(&mut layer) {
            Some(closure) => self.0.push(Slot::of(closure)),
            None => self.0.extend(layer.map(Slot::of)),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn f_forward(&self, xs: &Tensor, run: Run) -> Result<Tensor, TchError> {
        self.0.iter().try_fold(xs.shallow_clone(), |xs, slot| slot.f_forward(&xs, run))
    }

    /// The output of each of the first `n` layers, of at least one; the input if there are no layers.
    pub(super) fn f_forward_all(&self, xs: &Tensor, run: Run, n: Option<usize>) -> Result<Vec<Tensor>, TchError> {
        if self.0.is_empty() {
            return Ok(vec![xs.shallow_clone()]);
        }
        let mut last = xs.shallow_clone();
        let mut outputs = Vec::new();
        for slot in self.0.iter().take(n.unwrap_or(usize::MAX).max(1)) {
            last = slot.f_forward(&last, run)?;
            outputs.push(last.shallow_clone());
        }
        Ok(outputs)
    }

    pub(super) fn layer<T: 'static>(&self, index: usize) -> Result<&T, Error> {
        let found = self.0.get(index);
        found.and_then(|slot| slot.any().downcast_ref::<T>()).ok_or_else(|| Error::Layer {
            index,
            expected: short_name::<T>(),
            found: found.map(|slot| slot.opaque.type_name),
        })
    }

    pub(super) fn layer_of<T: 'static>(&self, index: usize, count: usize) -> Result<&T, Error> {
        match self.0.get(count) {
            Some(slot) => Err(Error::Layer { index: count, expected: "no layer", found: Some(slot.opaque.type_name) }),
            None => self.layer(index),
        }
    }

    pub(super) fn layers_as<T: 'static>(&self) -> Result<Vec<&T>, Error> {
        (0..self.len()).map(|index| self.layer(index)).collect()
    }

    pub(super) fn layers_between<T: 'static>(&self, first: usize, last: usize) -> Result<Vec<&T>, Error> {
        let found = || Error::Layer { index: self.len(), expected: short_name::<T>(), found: None };
        let end = self.len().checked_sub(last).filter(|&end| first <= end).ok_or_else(found)?;
        (first..end).map(|index| self.layer(index)).collect()
    }

    /// The layers, matched against the form that their constructor gives them.
    pub(super) fn parse(&self, parts: &[Part<'_>]) -> Result<ChainMatch, Error> {
        ChainMatch::of(self, parts).ok_or(Error::Layer {
            index: self.len(),
            expected: "chain of the form that its constructor has in the source",
            found: None,
        })
    }

    pub(super) fn layer_from_end<T: 'static>(&self, behind: usize) -> Result<&T, Error> {
        self.layer(self.len().checked_sub(behind + 1).unwrap_or(usize::MAX))
    }

    pub(super) fn layers(&self) -> impl Iterator<Item = (usize, Option<&dyn Module>, &'static str)> {
        self.0.iter().enumerate().map(|(index, slot)| {
            let module = slot.module();
            (index, module, module.map_or(slot.opaque.type_name, Module::type_name))
        })
    }

    /// A computing clone of one layer.
    pub(super) fn clone_layer(&self, index: usize) -> Result<Box<dyn ModuleT>, Error> {
        let slot = self.0.get(index).ok_or(Error::Layer { index, expected: "layer", found: None })?;
        Ok(slot.placed(&mut |tensor| Ok(tensor.shallow_clone()))?.layer)
    }

    /// A second handle on one layer; none if it is no layer of this module.
    pub(super) fn shared_layer(&self, index: usize) -> Result<Option<Rc<dyn Layer>>, Error> {
        let slot = self.0.get(index).ok_or(Error::Layer { index, expected: "layer", found: None })?;
        slot.entry.and_then(|entry| entry.share(slot.any())).transpose()
    }

    /// The name of the type of one layer.
    pub(super) fn type_name_of(&self, index: usize) -> &'static str {
        let name = |slot: &Slot| slot.module().map_or(slot.opaque.type_name, Module::type_name);
        self.0.get(index).map_or("", name)
    }

    pub(super) fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        for (index, slot) in self.0.iter().enumerate() {
            visitor.child(&index.to_string(), slot.module().unwrap_or(&slot.opaque));
        }
    }

    pub(super) fn placed(&self, place: &mut Place<'_>) -> Result<Self, Error> {
        self.0.iter().map(|slot| slot.placed(place)).collect::<Result<_, _>>().map(Self)
    }
}

/// Layers of this module are saved under their names; a closure, or a layer of the program's own, is not.
impl State for Stack {
    fn save(&self, to: &mut Saver) -> Result<(), Error> {
        to.field("len", &self.len())?;
        let mut slots = self.0.iter().enumerate();
        slots.try_for_each(|(index, slot)| to.within(&index.to_string(), |to| slot.save(to)))
    }

    fn load(from: &mut Loader) -> Result<Self, Error> {
        let mut stack = Self::default();
        let len: usize = from.field("len")?;
        (0..len).try_for_each(|index| from.within(&index.to_string(), |from| LayerEntry::load(from, &mut stack)))?;
        Ok(stack)
    }
}

impl Layers for Stack {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn any(&self, at: usize) -> Option<&dyn Any> {
        self.0.get(at).map(Slot::any)
    }

    fn closure(&self, at: usize) -> Option<&str> {
        let closure = self.any(at)?.downcast_ref::<Closure>()?;
        Some(&closure.place)
    }
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|slot| &slot.layer)).finish()
    }
}

/// The name of a type without the path in front of it; paths between its angle brackets stay.
fn short_name<T>() -> &'static str {
    let full = type_name::<T>();
    let head = &full[..full.find('<').unwrap_or(full.len())];
    let start = head.rfind("::").map_or(0, |at| at + 2);
    &full[start..]
}
