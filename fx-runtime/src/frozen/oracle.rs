//! What the tests of this module share: a model to frame, random tensors, and a comparison.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use tch::{Device, Kind, Tensor};

use super::Frame;
use crate::ffi::{VectorWidth, lanes_width};
use crate::module::{Module, Place, Role, Visitor};
use crate::{Backend, Error, Freeze};

/// A module with one f32 weight on the CPU.
pub(crate) struct Probe(Tensor);

impl Module for Probe {
    fn type_name(&self) -> &'static str {
        "Probe"
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        visitor.tensor("weight", &self.0, Role::Parameter);
    }

    fn placed(&self, place: &mut Place<'_>) -> Result<Self, Error> {
        place(&self.0).map(Self)
    }
}

pub(crate) fn model() -> Probe {
    Probe(Tensor::ones([1], (Kind::Float, Device::Cpu)))
}

#[allow(clippy::needless_pass_by_value, reason = "so that a test writes the options where they are used")]
pub(crate) fn frame(options: Freeze) -> Frame {
    Frame::new("Probe", &options, &model()).unwrap()
}

/// The same frame twice: with the best kernels, and with ATen's alone.
pub(crate) fn both(kind: Kind) -> (Frame, Frame) {
    let options = Freeze::new().kind(kind);
    (frame(options.clone()), frame(options.backend(Backend::Composed)))
}

/// Normally distributed, the same numbers in every run of a test, whatever others run beside it: each thread, and each
/// test has one, goes through seeds of its own.
pub(crate) fn randn(sizes: &[i64], kind: Kind) -> Tensor {
    static GENERATOR: Mutex<()> = Mutex::new(());
    thread_local! {
        static SEED: Cell<i64> = const { Cell::new(7) };
    }
    // A test that failed leaves the generator as good as it was.
    let _alone = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
    tch::manual_seed(SEED.replace(SEED.get() + 1));
    Tensor::randn(sizes, (Kind::Float, Device::Cpu)).to_kind(kind)
}

/// Same shape, and close for the dtype relative to the largest value.
pub(crate) fn check(found: &Tensor, expected: &Tensor, what: &str) {
    assert_eq!(found.size(), expected.size(), "{what}");
    assert_eq!(found.kind(), expected.kind(), "{what}");
    if expected.numel() == 0 {
        return;
    }
    let tolerance = match expected.kind() {
        Kind::Double => 1e-12,
        Kind::Float => 5e-6,
        Kind::Half => 4e-3,
        _ => 2e-2,
    };
    let (found, expected) = (found.to_kind(Kind::Double), expected.to_kind(Kind::Double));
    let largest = expected.abs().max().double_value(&[]).max(1e-3);
    let difference = (&found - &expected).abs().max().double_value(&[]);
    assert!(difference <= tolerance * largest, "{what}: {difference} of {largest}");
}

/// The kernel of a linear layer whose weight another layer reads as well.
pub(crate) fn kernel_of_a_shared_weight() -> &'static str {
    if lanes_width() > VectorWidth::Baseline { "dot products" } else { "ATen" }
}
