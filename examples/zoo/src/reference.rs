//! What PyTorch computes for the weights and inputs of [`resnet18::weights`], and how near a model comes to it.
//!
//! `reference/README.md` says how the expected outputs were made.

use fx_runtime::{Device, Kind, Module, Tensor, nn};
use resnet18::reference::Difference;
use resnet18::{Error, weights};
use safetensors::SafeTensors;

/// A result may differ from PyTorch's by this, relative to the largest output, in `f32`.
pub const TOLERANCE: f64 = 2e-5;

/// The model that `new` makes on the CPU, with the weights that its names stand for.
pub fn model<M: Module>(new: impl FnOnce(&nn::Path) -> M) -> M {
    let model = new(&nn::VarStore::new(Device::Cpu).root());
    weights::fill(&model);
    model
}

/// The tensor `name` of the reference of `model`, for instance `output` of `resnet50`.
pub fn expected(model: &str, name: &str) -> Result<Tensor, Error> {
    let path = format!("{}/reference/{model}.safetensors", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).map_err(|e| format!("cannot read `{path}`: {e}"))?;
    let file = SafeTensors::deserialize(&bytes)?;
    let tensor = file.tensor(name)?;
    let shape = tensor.shape().iter().map(|&size| i64::try_from(size)).collect::<Result<Vec<_>, _>>()?;
    Ok(Tensor::f_from_data_size(tensor.data(), &shape, Kind::Float)?)
}

/// Is the result what is wanted? The error says how far it is from it.
pub fn check(what: &str, result: &Tensor, wanted: &Tensor) -> Result<(), Error> {
    if result.size() != wanted.size() {
        return Err(format!("{what}: {:?}, wanted {:?}", result.size(), wanted.size()).into());
    }
    let difference = Difference::between(result, wanted)?.relative();
    if difference <= TOLERANCE { Ok(()) } else { Err(format!("{what}: {difference:.2e} of the largest output").into()) }
}
