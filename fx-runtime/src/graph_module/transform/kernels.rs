//! Packed kernels as modules that a graph calls, and what they are packed with as values.

use std::rc::Rc;
use std::sync::Arc;

use super::super::convert::tensor;
use super::super::dispatch::{int, ints};
use super::super::shared::{SharedModule, saved_modules};
use super::super::{Submodule, Value};
use crate::frozen::coded_table::CodedTable;
use crate::frozen::{Activation, Conv, ConvParams, Linear, Product};
use crate::nn::PaddingMode;
use crate::{Error, Module, Result};

/// `run(x)`, and `run_add(x, other)`.
macro_rules! kernels {
    ($($kernel:ident),+) => {
        $(impl Submodule for $kernel {
            fn call(&self, args: &[Value]) -> Result<Value> {
                let ys = match args {
                    [x] => tensor(x).map(|x| self.run(x)),
                    [x, other] => tensor(x).zip(tensor(other)).map(|(x, other)| self.run_add(x, other)),
                    _ => None,
                };
                let wanted = concat!("a packed `", stringify!($kernel), "` takes a tensor, and a second one to add");
                Ok(Value::Tensor(Rc::new(ys.ok_or_else(|| Error::Refused(wanted.to_owned()))??)))
            }

            fn shared(&self) -> Option<Result<Arc<dyn SharedModule>>> {
                Some(Ok(Arc::new(self.clone())))
            }

            fn module(&self) -> Option<&dyn Module> {
                None
            }
        })+
    };
}
kernels!(Conv, Linear, Product);

impl Submodule for CodedTable {
    fn call(&self, args: &[Value]) -> Result<Value> {
        let [Value::Tensor(indices)] = args else {
            return Err(Error::Refused("an embedding on codes takes one tensor of indices".to_owned()));
        };
        Ok(Value::Tensor(Rc::new(self.run(indices)?)))
    }

    fn shared(&self) -> Option<Result<Arc<dyn SharedModule>>> {
        Some(Ok(Arc::new(self.clone())))
    }

    fn module(&self) -> Option<&dyn Module> {
        None
    }
}

saved_modules! {
    Conv = "packed Conv", Linear = "packed Linear", Product = "packed Product", CodedTable = "coded table",
}

/// The padding modes by their names.
const PADDING_MODES: [PaddingMode; 4] =
    [PaddingMode::Zeros, PaddingMode::Reflect, PaddingMode::Replicate, PaddingMode::Circular];

/// `ConvParams { stride, padding, .. }` out of a struct by its fields; those that are not there have their defaults.
pub(crate) fn params_of(value: &Value) -> Option<ConvParams> {
    let Value::Struct(_, fields) = value else { return None };
    let mut params = ConvParams::default();
    for (name, value) in fields {
        match name.as_str() {
            "stride" => params.stride = ints(value)?,
            "padding" => params.padding = ints(value)?,
            "dilation" => params.dilation = ints(value)?,
            "output_padding" => params.output_padding = ints(value)?,
            "groups" => params.groups = int(value)?,
            "transposed" => params.transposed = matches!(value, Value::Bool(true)),
            "padding_mode" => {
                let Value::Path(path) = value else { return None };
                let name = path.rsplit("::").next()?;
                params.padding_mode = PADDING_MODES.into_iter().find(|mode| format!("{mode:?}") == name)?;
            }
            _ => return None,
        }
    }
    Some(params)
}

/// `Activation::Relu`, `Activation::LeakyRelu(0.01)` out of its path, or of a struct of its numbers.
pub(crate) fn activation_of(value: &Value) -> Option<Activation> {
    let variant = |path: &'_ str| path.rsplit("Activation::").next().map(str::to_owned);
    match value {
        Value::Path(path) | Value::Str(path) => {
            let written = variant(path)?;
            let (name, numbers) = written.split_once('(').unwrap_or((&written, ""));
            let numbers = numbers.trim_end_matches(')').split(',').map(str::trim).filter(|text| !text.is_empty());
            Activation::named(name, &numbers.map(|number| number.parse().ok()).collect::<Option<Vec<f64>>>()?)
        }
        Value::List(parts) => {
            let (Value::Str(name), numbers) = parts.split_first()? else { return None };
            let numbers: Option<Vec<f64>> = numbers.iter().map(super::freeze_functions::number).collect();
            Activation::named(name, &numbers?)
        }
        Value::Struct(path, fields) => {
            let numbers: Option<Vec<f64>> =
                fields.iter().map(|(_, number)| super::freeze_functions::number(number)).collect();
            Activation::named(&variant(path)?, &numbers?)
        }
        _ => None,
    }
}
