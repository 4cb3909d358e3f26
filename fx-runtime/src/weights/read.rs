//! The three kinds of weights files, read into one kind of entries.

use std::path::Path;

use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use tch::{Device, Kind, TchError, Tensor};

use super::{Entries, Entry, unreadable};
use crate::Error;

pub(super) fn safetensors<'a>(path: &Path, bytes: &'a [u8]) -> Result<Entries<'a>, Error> {
    let file = SafeTensors::deserialize(bytes).map_err(|error| {
        unreadable(path, &format!("{error} ({} bytes); it is truncated, or not a safetensors file", bytes.len()))
    })?;
    Ok(file.tensors().into_iter().map(|(name, view)| (name, Box::new(view) as Box<dyn Entry>)).collect())
}

pub(super) fn pickle(path: &Path) -> Result<Entries<'static>, Error> {
    loaded(path, || Tensor::loadz_multi_with_device(path, Device::Cpu)).map_err(|error| match error {
        // libtorch's reader stumbles over the class and the attributes of a state dictionary.
        Error::WeightsFile { reason, .. } if reason.contains("isGenericDict") => unreadable(
            path,
            "it is not a plain dictionary of tensors; in Python, save it again with \
             `safetensors.torch.save_file(model.state_dict(), ..)` or `torch.save(dict(model.state_dict()), ..)`",
        ),
        other => other,
    })
}

pub(super) fn libtorch(path: &Path) -> Result<Entries<'static>, Error> {
    loaded(path, || Tensor::load_multi_with_device(path, Device::Cpu))
}

fn loaded(
    path: &Path,
    load: impl FnOnce() -> Result<Vec<(String, Tensor)>, TchError>,
) -> Result<Entries<'static>, Error> {
    // libtorch's own message for a file that is not there speaks of its reader, not of the file.
    std::fs::File::open(path).map_err(|error| unreadable(path, &error.to_string()))?;
    let tensors = load().map_err(|error| {
        unreadable(path, &format!("{}; it is truncated, or not a file of named tensors", Error::from(error)))
    })?;
    Ok(tensors.into_iter().map(|(name, tensor)| (name, Box::new(tensor) as Box<dyn Entry>)).collect())
}

impl Entry for Tensor {
    fn shape(&self) -> Vec<i64> {
        self.size()
    }

    fn kind(&self) -> Result<Kind, String> {
        self.f_kind().map_err(|error| error.to_string())
    }

    fn tensor(&self) -> Result<Tensor, Error> {
        Ok(self.shallow_clone())
    }
}

impl Entry for TensorView<'_> {
    fn shape(&self) -> Vec<i64> {
        // The reader has checked that all elements lie in the file, so that no size comes near 2^63.
        self.shape().iter().map(|&size| i64::try_from(size).unwrap_or(i64::MAX)).collect()
    }

    fn kind(&self) -> Result<Kind, String> {
        match self.dtype() {
            Dtype::BOOL => Ok(Kind::Bool),
            Dtype::U8 => Ok(Kind::Uint8),
            Dtype::I8 => Ok(Kind::Int8),
            Dtype::I16 => Ok(Kind::Int16),
            Dtype::I32 => Ok(Kind::Int),
            Dtype::I64 => Ok(Kind::Int64),
            Dtype::F16 => Ok(Kind::Half),
            Dtype::BF16 => Ok(Kind::BFloat16),
            Dtype::F32 => Ok(Kind::Float),
            Dtype::F64 => Ok(Kind::Double),
            other => Err(format!("{other:?}")),
        }
    }

    fn tensor(&self) -> Result<Tensor, Error> {
        let unsupported = |word| Error::Unsupported {
            what: format!("dtype {word} in a weights file"),
            help: "save it as f32, f16, bf16 or an integer type".to_owned(),
        };
        let kind = Entry::kind(self).map_err(unsupported)?;
        Ok(Tensor::f_from_data_size(self.data(), &Entry::shape(self), kind)?)
    }
}
