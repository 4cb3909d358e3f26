//! What a model asks its variable store, answered for its frozen form: that has its weights elsewhere.

use tch::nn::VarStore;
use tch::{Device, Kind};

use crate::frame::Frame;

/// Where the weights of a model are that the code runs for.
pub trait Weights {
    /// The device of the weights; that of the store where the model is live.
    fn device(&self) -> Option<Device>;

    /// The dtype of the weights; that of the store where the model is live.
    fn kind(&self) -> Option<Kind>;
}

impl Weights for Frame {
    fn device(&self) -> Option<Device> {
        Some(Frame::device(self))
    }

    fn kind(&self) -> Option<Kind> {
        Some(Frame::kind(self))
    }
}

/// The live model.
impl Weights for () {
    fn device(&self) -> Option<Device> {
        None
    }

    fn kind(&self) -> Option<Kind> {
        None
    }
}

/// The device that `store.device()` stands for.
pub fn device_of_store(weights: &impl Weights, store: &VarStore) -> Device {
    weights.device().unwrap_or_else(|| store.device())
}

/// The dtype that `store.kind()` stands for.
pub fn kind_of_store(weights: &impl Weights, store: &VarStore) -> Kind {
    weights.kind().unwrap_or_else(|| store.kind())
}
