//! What tensors are made with, as text: devices by PyTorch's names, dtypes and reductions by tch's.

use tch::{Device, Kind, Reduction};

use super::{Loader, Saver, State};
use crate::{Error, Result};

impl State for Device {
    fn save(&self, to: &mut Saver) -> Result<()> {
        let name = match self {
            Device::Cpu => "cpu".to_owned(),
            Device::Cuda(index) => format!("cuda:{index}"),
            Device::Mps => "mps".to_owned(),
            Device::Vulkan => "vulkan".to_owned(),
        };
        to.note("", &name);
        Ok(())
    }

    fn load(from: &mut Loader) -> Result<Self> {
        let name: String = from.noted("")?;
        let cuda = || name.strip_prefix("cuda:")?.parse().ok().map(Device::Cuda);
        match name.as_str() {
            "cpu" => Ok(Device::Cpu),
            "mps" => Ok(Device::Mps),
            "vulkan" => Ok(Device::Vulkan),
            _ => cuda().ok_or_else(|| Error::Refused(format!("`{name}` is no device"))),
        }
    }
}

/// Every dtype that tch has a name for.
pub(crate) const KINDS: [Kind; 20] = [
    Kind::Uint8,
    Kind::Int8,
    Kind::Int16,
    Kind::Int,
    Kind::Int64,
    Kind::Half,
    Kind::Float,
    Kind::Double,
    Kind::ComplexHalf,
    Kind::ComplexFloat,
    Kind::ComplexDouble,
    Kind::Bool,
    Kind::QInt8,
    Kind::QUInt8,
    Kind::QInt32,
    Kind::BFloat16,
    Kind::Float8e5m2,
    Kind::Float8e4m3fn,
    Kind::Float8e5m2fnuz,
    Kind::Float8e4m3fnuz,
];

impl State for Kind {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.note("", &format!("{self:?}"));
        Ok(())
    }

    fn load(from: &mut Loader) -> Result<Self> {
        let name: String = from.noted("")?;
        let found = KINDS.into_iter().find(|kind| format!("{kind:?}") == name);
        found.ok_or_else(|| Error::Refused(format!("`{name}` is no dtype")))
    }
}

impl State for Reduction {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.note("", &format!("{self:?}"));
        Ok(())
    }

    fn load(from: &mut Loader) -> Result<Self> {
        let name: String = from.noted("")?;
        let mut known = [Reduction::None, Reduction::Mean, Reduction::Sum].into_iter();
        let other = || name.strip_prefix("Other(")?.strip_suffix(')')?.parse().ok().map(Reduction::Other);
        let found = known.find(|one| format!("{one:?}") == name).or_else(other);
        found.ok_or_else(|| Error::Refused(format!("`{name}` is no reduction")))
    }
}
