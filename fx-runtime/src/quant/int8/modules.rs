//! Kernels on codes as modules that a graph calls.

use std::rc::Rc;

use tch::{Kind, Tensor};

use crate::ffi::int8::{self, Combination, PerTensor, Pooling};
use crate::frozen::int8::Int8Layer;
use crate::graph_module::{Submodule, Value};
use crate::{Error, Module, Result};

/// The codes of a tensor of floats.
pub(super) struct Quantize(pub(super) PerTensor);

/// The numbers that codes stand for, f32.
pub(super) struct Dequantize(pub(super) PerTensor);

/// A function of one number, for each of the 256 codes.
pub(super) struct Table(pub(super) Box<[u8; 256]>);

/// The sum or product of two tensors, with a relu behind it if there is one.
pub(super) struct Combine {
    pub(super) combination: Combination,
    pub(super) sources: [PerTensor; 2],
    pub(super) result: PerTensor,
    pub(super) relu: bool,
}

/// The largest code of each window.
pub(super) struct MaxPool(pub(super) Pooling);

/// The mean of each channel.
pub(super) struct Average;

/// A convolution or linear layer.
pub(super) struct Layer(pub(super) Int8Layer);

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
