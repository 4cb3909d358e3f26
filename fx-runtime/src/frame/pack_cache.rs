//! What freezing has made so far, so that what two entries of a model use alike lies in memory once.
//!
//! A packed layer is known by what it was packed from: the same tensors or, where a weight was folded for it, equal ones.
//! Handles on these keep them alive until the freezing is over. A part with a frozen type of its own is known by where it
//! lies in the model.

use std::any::Any;
use std::fmt;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tch::Tensor;

use super::copies::is_same;
use super::{Frame, Freezing};
use crate::Error;
use crate::progress::Task;

/// Packed layers and frozen parts, while a model is frozen.
#[derive(Default)]
pub(crate) struct PackCache(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// The model has several entries, which may use one layer alike.
    has_entries: bool,
    layers: Vec<Layer>,
    /// A step for each layer that is packed.
    task: Option<Task>,
    /// By address.
    parts: Vec<(usize, Box<dyn Any + Send>)>,
}

struct Layer {
    weight: Tensor,
    bias: Option<Tensor>,
    /// All else that it was packed from.
    form: String,
    packed: Box<dyn Any + Send>,
}

impl Layer {
    fn is_of(&self, weight: &Tensor, bias: Option<&Tensor>, form: &str) -> bool {
        let same_bias = match (&self.bias, bias) {
            (Some(known), Some(bias)) => is_equal(known, bias),
            (None, None) => true,
            _ => false,
        };
        self.form == form && same_bias && is_equal(&self.weight, weight)
    }
}

/// The same tensor, or one with the same elements; a NaN is equal to nothing.
fn is_equal(one: &Tensor, other: &Tensor) -> bool {
    let alike = || one.size() == other.size() && one.kind() == other.kind() && one.device() == other.device();
    is_same(one, other) || (alike() && one.f_equal(other).unwrap_or(false))
}

impl PackCache {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a freezing.
    pub(crate) fn begin(&self) {
        self.lock().task.get_or_insert_with(|| Task::begin("freeze", 0));
    }

    /// Lets go of everything.
    pub(crate) fn clear(&self) {
        *self.lock() = Known::default();
    }
}

impl Frame {
    /// Begins the freezing of a model with several entries: a layer that two of them use alike is packed once.
    pub fn freezing_entries(&self) -> Freezing {
        self.pack_cache().lock().has_entries = true;
        self.freezing()
    }

    /// The layer that `pack` makes of this weight and bias, or a second handle on it.
    pub(crate) fn layer<L: Clone + Send + 'static>(
        &self,
        weight: &Tensor,
        bias: Option<&Tensor>,
        form: fmt::Arguments<'_>,
        pack: impl FnOnce() -> Result<L, Error>,
    ) -> Result<L, Error> {
        let mut known = self.pack_cache().lock();
        if let Some(task) = &mut known.task {
            task.step();
        }
        let has_entries = known.has_entries;
        drop(known);
        if !has_entries {
            return pack();
        }
        let form = form.to_string();
        let known = self.pack_cache().lock();
        let mut alike = known.layers.iter().filter(|layer| layer.is_of(weight, bias, &form));
        if let Some(layer) = alike.find_map(|layer| layer.packed.downcast_ref::<L>()) {
            return Ok(layer.clone());
        }
        drop(known);
        let layer = pack()?;
        let (weight, bias) = (weight.shallow_clone(), bias.map(Tensor::shallow_clone));
        self.pack_cache().lock().layers.push(Layer { weight, bias, form, packed: Box::new(layer.clone()) });
        Ok(layer)
    }

    /// What `freeze` makes of this part of the model, or a second handle on it.
    pub(crate) fn frozen_once<P, T: Clone + Send + 'static>(
        &self,
        part: &P,
        freeze: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let address = ptr::from_ref(part).addr();
        let of = |(known, frozen): &(usize, Box<dyn Any + Send>)| {
            (*known == address && size_of::<P>() > 0).then(|| frozen.downcast_ref::<T>().cloned()).flatten()
        };
        if let Some(frozen) = self.pack_cache().lock().parts.iter().find_map(of) {
            return Ok(frozen);
        }
        let frozen = freeze()?;
        self.pack_cache().lock().parts.push((address, Box::new(frozen.clone())));
        Ok(frozen)
    }
}

impl fmt::Debug for PackCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PackCache")
    }
}

#[cfg(test)]
mod tests {
    use tch::Kind;

    use super::*;
    use crate::Freeze;
    use crate::frozen::oracle::{frame, randn};
    use crate::frozen::{Activation, Conv, ConvParams, Linear};

    fn linears(frame: &Frame, weights: [&Tensor; 2], acts: [Activation; 2]) -> [Linear; 2] {
        [0, 1].map(|at| Linear::pack(frame, weights[at], None, acts[at]).unwrap())
    }

    fn are_one(layers: &[Linear; 2]) -> bool {
        layers[0].address() == layers[1].address()
    }

    #[test]
    fn entries_share_a_layer_that_they_use_alike() {
        let frame = frame(Freeze::new());
        let (weight, other) = (randn(&[8, 8], Kind::Float), randn(&[8, 8], Kind::Float));
        let _freezing = frame.freezing_entries();
        let relu = [Activation::Relu; 2];
        assert!(are_one(&linears(&frame, [&weight; 2], relu)));
        assert!(are_one(&linears(&frame, [&weight, &weight.copy()], relu)), "as a folded weight would be");
        assert!(!are_one(&linears(&frame, [&weight, &other], relu)));
        assert!(!are_one(&linears(&frame, [&weight; 2], [Activation::Relu, Activation::None])));
        let bias = randn(&[8], Kind::Float);
        let biased = Linear::pack(&frame, &weight, Some(&bias), Activation::Relu).unwrap();
        assert!(!are_one(&[biased, Linear::pack(&frame, &weight, None, Activation::Relu).unwrap()]));
    }

    #[test]
    fn convolutions_are_shared_by_their_parameters_too() {
        let frame = frame(Freeze::new());
        let weight = randn(&[4, 4, 3, 3], Kind::Float);
        let _freezing = frame.freezing_entries();
        let pack = |padding: i64| {
            let params = ConvParams { padding: vec![padding; 2], ..ConvParams::default() };
            Conv::pack(&frame, &weight, None, &params, Activation::None).unwrap().address()
        };
        assert_eq!(pack(1), pack(1));
        assert_ne!(pack(1), pack(0));
    }

    #[test]
    fn nothing_is_shared_without_entries_or_afterwards() {
        let frame = frame(Freeze::new());
        let weight = randn(&[8, 8], Kind::Float);
        let pack = || Linear::pack(&frame, &weight, None, Activation::None).unwrap();
        let before = pack();
        assert!(!are_one(&[before, pack()]));
        let during = {
            let _freezing = frame.freezing_entries();
            pack()
        };
        assert!(!are_one(&[during, pack()]));
    }

    #[test]
    fn a_part_of_the_model_is_frozen_once() {
        let frame = frame(Freeze::new());
        let parts = (1_i64, 1_i64);
        let mut count = 0;
        let mut freeze = |part: &i64| {
            frame
                .frozen_once(part, || {
                    count += 1;
                    Ok(count)
                })
                .unwrap()
        };
        assert_eq!([freeze(&parts.0), freeze(&parts.1), freeze(&parts.0)], [1, 2, 1]);
    }
}
