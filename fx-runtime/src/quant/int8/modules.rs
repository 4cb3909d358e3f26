//! Kernels on codes as modules that a graph calls.

use std::rc::Rc;
use std::sync::Arc;

use tch::{Kind, Tensor};

use crate::ffi::Sole;
use crate::ffi::int8::{self, Combination, PerTensor, Pooling};
use crate::frozen::int8::Int8Layer;
use crate::graph_module::shared::saved_modules;
use crate::graph_module::{SharedModule, Submodule, Value};
use crate::saved::{Loader, Saver, State};
use crate::{Error, Module, Result};

/// The codes of a tensor of floats.
#[derive(Clone, Debug, State)]
pub(super) struct Quantize(pub(super) PerTensor);

/// The numbers that codes stand for, f32.
#[derive(Clone, Debug, State)]
pub(super) struct Dequantize(pub(super) PerTensor);

/// A function of one number, for each of the 256 codes.
#[derive(Clone, Debug)]
pub(super) struct Table(pub(super) Box<[u8; 256]>);

/// The sum or product of two tensors, with a relu behind it if there is one.
#[derive(Clone, Debug)]
pub(super) struct Combine {
    pub(super) combination: Combination,
    pub(super) sources: [PerTensor; 2],
    pub(super) result: PerTensor,
    pub(super) relu: bool,
}

/// The largest code of each window.
#[derive(Clone, Debug)]
pub(super) struct MaxPool(pub(super) Pooling);

/// The mean of each channel.
#[derive(Clone, Debug, State)]
pub(super) struct Average;

/// A convolution or linear layer.
#[derive(Clone, Debug, State)]
pub(super) struct Layer(pub(super) Arc<Int8Layer>);

/// `$module` on so many tensors.
macro_rules! modules {
    ($($module:ident($self:ident $(, $x:ident)+) = $body:expr;)+) => {
        $(impl Submodule for $module {
            fn call(&self, args: &[Value]) -> Result<Value> {
                let $self = self;
                match args {
                    [$(Value::Tensor($x)),+] => Ok(Value::Tensor(Rc::new($body))),
                    _ => Err(refused(stringify!($module), args)),
                }
            }

            fn shared(&self) -> Option<Result<Arc<dyn SharedModule>>> {
                Some(Ok(Arc::new(self.clone())))
            }

            fn is_on_codes(&self) -> bool {
                true
            }

            fn module(&self) -> Option<&dyn Module> {
                None
            }
        })+
    };
}

modules! {
    Quantize(this, x) = int8::quantize(&single(x)?, this.0)?;
    Dequantize(this, x) = int8::dequantize(x, this.0)?;
    Table(this, x) = int8::look_up(x, &this.0)?;
    MaxPool(this, x) = unbatched(int8::max_pool(&batched(x)?, &this.0)?, x)?;
    Average(_this, x) = unbatched(int8::average(&batched(x)?)?, x)?;
    Combine(this, a, b) = this.run(a, b)?;
}

saved_modules! {
    Quantize = "int8 Quantize",
    Dequantize = "int8 Dequantize",
    Table = "int8 Table",
    Combine = "int8 Combine",
    MaxPool = "int8 MaxPool",
    Average = "int8 Average",
    Layer = "int8 Layer",
}

impl State for Table {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.field("codes", &Tensor::f_from_slice(&*self.0)?)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        let codes: Vec<u8> = Vec::try_from(from.dense("codes")?)?;
        let codes = codes.try_into().map_err(|_| Error::Refused("a table has 256 codes".to_owned()))?;
        Ok(Self(Box::new(codes)))
    }
}

impl State for Combine {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.field("is_product", &(self.combination == Combination::Product))?;
        to.field("sources", &self.sources)?;
        to.field("result", &self.result)?;
        to.field("relu", &self.relu)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        let is_product: bool = from.field("is_product")?;
        let combination = if is_product { Combination::Product } else { Combination::Sum };
        Ok(Self {
            combination,
            sources: from.field("sources")?,
            result: from.field("result")?,
            relu: from.field("relu")?,
        })
    }
}

impl State for MaxPool {
    fn save(&self, to: &mut Saver) -> Result<()> {
        let Pooling { kernel, stride, padding, dilation, ceil_mode } = self.0;
        to.field("window", &[kernel, stride, padding, dilation])?;
        to.field("ceil_mode", &ceil_mode)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        let [kernel, stride, padding, dilation] = from.field("window")?;
        Ok(Self(Pooling { kernel, stride, padding, dilation, ceil_mode: from.field("ceil_mode")? }))
    }
}

impl Combine {
    /// On tensors that broadcast to each other.
    fn run(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let run = |a, b| {
            let pairs = [(a, self.sources[0]), (b, self.sources[1])];
            int8::combine(self.combination, pairs, self.result, self.relu)
        };
        if a.size() == b.size() {
            return Ok(run(a, b)?);
        }
        match &Tensor::f_broadcast_tensors(&[a, b])?[..] {
            [a, b] => Ok(run(a, b)?),
            _ => Err(Error::Refused("tensors that do not broadcast".to_owned())),
        }
    }
}

impl Submodule for Layer {
    fn call(&self, args: &[Value]) -> Result<Value> {
        let ys = match args {
            [Value::Tensor(x)] => self.0.run(x, None),
            [Value::Tensor(x), Value::Tensor(added)] => self.0.run(x, Some(added)),
            _ => Err(refused("a layer on codes", args)),
        };
        Ok(Value::Tensor(Rc::new(ys?)))
    }

    fn call_owned(&self, args: Vec<Value>) -> Result<Value> {
        let ys = match <[Value; 2]>::try_from(args) {
            Ok([Value::Tensor(x), Value::Tensor(added)]) => match Rc::try_unwrap(added).map(Sole::of) {
                Ok(Ok(added)) => self.0.run_onto(&x, added),
                Ok(Err(added)) => self.0.run(&x, Some(&added)),
                Err(added) => self.0.run(&x, Some(&added)),
            },
            Ok(args) => return Submodule::call(self, &args),
            Err(args) => return Submodule::call(self, &args),
        };
        Ok(Value::Tensor(Rc::new(ys?)))
    }

    fn shared(&self) -> Option<Result<Arc<dyn SharedModule>>> {
        Some(Ok(Arc::new(self.clone())))
    }

    fn module(&self) -> Option<&dyn Module> {
        None
    }
}

fn refused(name: &str, args: &[Value]) -> Error {
    let given: Vec<String> = args.iter().map(ToString::to_string).collect();
    Error::Refused(format!("`{name}` takes tensors, got ({})", given.join(", ")))
}

fn single(x: &Tensor) -> Result<Tensor> {
    Ok(if x.f_kind()? == Kind::Float { x.shallow_clone() } else { x.f_to_kind(Kind::Float)? })
}

/// An image as a batch of one.
fn batched(x: &Tensor) -> Result<Tensor> {
    Ok(if x.dim() == 3 { x.f_unsqueeze(0)? } else { x.shallow_clone() })
}

/// A result as the input was: without a batch if that had none.
fn unbatched(y: Tensor, input: &Tensor) -> Result<Tensor> {
    Ok(if input.dim() == 3 { y.f_squeeze_dim(0)? } else { y })
}
