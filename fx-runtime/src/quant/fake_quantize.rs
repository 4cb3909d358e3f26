//! Fake quantization: values that are quantized and dequantized while a model trains, with gradients that pass through.
//!
//! The gradient of a value within the range of the integers is handed on as it is, and that of one outside is zero: the
//! straight-through estimator of libtorch's `fake_quantize_*`. Classes, switches and numbers are those of
//! `torch.ao.quantization.fake_quantize` in torch 2.11.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

use tch::{Device, Kind, Tensor};

use super::{Observer, ObserverConfig, QParams, Statistic, ZeroPoint};
use crate::graph_module::{FromValue, Submodule, Value};
use crate::qparams::{Rule, calculate_qparams};
use crate::{Error, Module, Result};

/// What all modules of fake quantization have in common. As a module of a graph each takes one tensor.
pub trait FakeQuantizer: Submodule {
    /// Observes the value, unless that is switched off, and quantizes and dequantizes it, unless that is.
    ///
    /// The result has the shape and the dtype of `xs`; both switches are on at the start.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] if the value cannot be observed, or is to be quantized before any was observed;
    /// [`Error::Torch`] if libtorch refuses.
    fn forward(&self, xs: &Tensor) -> Result<Tensor>;

    /// Switches the observer: PyTorch's `enable_observer` and `disable_observer`.
    fn enable_observer(&self, enabled: bool);

    /// Switches the quantization: PyTorch's `enable_fake_quant` and `disable_fake_quant`.
    fn enable_fake_quant(&self, enabled: bool);

    /// The parameters for what was observed.
    ///
    /// # Errors
    ///
    /// Those of [`Observer::calculate_qparams`].
    fn calculate_qparams(&self) -> Result<QParams>;

    /// The parameters that values are quantized with: PyTorch's buffers `scale` and `zero_point`.
    ///
    /// They are those of [`calculate_qparams`](FakeQuantizer::calculate_qparams), but for the class that is one kernel.
    ///
    /// # Errors
    ///
    /// As there.
    fn qparams(&self) -> Result<QParams> {
        self.calculate_qparams()
    }
}

/// The two switches.
#[derive(Debug)]
struct Switches {
    observer: Cell<bool>,
    fake_quant: Cell<bool>,
}

impl Default for Switches {
    fn default() -> Self {
        Switches { observer: Cell::new(true), fake_quant: Cell::new(true) }
    }
}

/// An observer, and the quantization with what it says: PyTorch's `FakeQuantize`.
///
/// ```
/// use fx_runtime::Tensor;
/// use fx_runtime::quant::{FakeQuantize, FakeQuantizer as _, ObserverConfig};
///
/// let fake = FakeQuantize::new(&ObserverConfig::moving_average_min_max())?;
/// let xs = Tensor::from_slice(&[0f32, 0.5, 255.0]);
/// assert_eq!(Vec::<f32>::try_from(fake.forward(&xs)?)?, [0.0, 0.0, 255.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FakeQuantize {
    observer: RefCell<Box<dyn Observer>>,
    /// As of the last value that was observed.
    qparams: RefCell<Option<QParams>>,
    switches: Switches,
}

impl FakeQuantize {
    /// With that observer.
    ///
    /// # Errors
    ///
    /// Those of [`ObserverConfig::build`].
    pub fn new(observer: &ObserverConfig) -> Result<FakeQuantize> {
        let observer = RefCell::new(observer.build()?);
        Ok(FakeQuantize { observer, qparams: RefCell::default(), switches: Switches::default() })
    }
}

impl FakeQuantizer for FakeQuantize {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        if self.switches.observer.get() && xs.numel() > 0 {
            let mut observer = self.observer.borrow_mut();
            observer.observe(xs)?;
            *self.qparams.borrow_mut() = Some(observer.calculate_qparams()?);
        }
        if !self.switches.fake_quant.get() || xs.numel() == 0 {
            return Ok(xs.shallow_clone());
        }
        match &*self.qparams.borrow() {
            Some(qparams) => qparams.fake_quantize(xs),
            None => self.observer.borrow().calculate_qparams()?.fake_quantize(xs),
        }
    }

    fn enable_observer(&self, enabled: bool) {
        self.switches.observer.set(enabled);
    }

    fn enable_fake_quant(&self, enabled: bool) {
        self.switches.fake_quant.set(enabled);
    }

    fn calculate_qparams(&self) -> Result<QParams> {
        self.observer.borrow().calculate_qparams()
    }
}

/// Quantization with parameters that never change: PyTorch's `FixedQParamsFakeQuantize`.
#[derive(Debug)]
pub struct FixedQParamsFakeQuantize(FakeQuantize);

impl FixedQParamsFakeQuantize {
    /// With an observer of [`ObserverConfig::fixed_qparams`].
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] if the observer is another or its scheme is per channel.
    pub fn new(observer: &ObserverConfig) -> Result<FixedQParamsFakeQuantize> {
        if !matches!(observer.statistic, Statistic::FixedQParams { .. }) {
            return Err(refused("FixedQParamsFakeQuantize", observer, "a FixedQParamsObserver"));
        }
        FakeQuantize::new(observer).map(FixedQParamsFakeQuantize)
    }
}

impl FakeQuantizer for FixedQParamsFakeQuantize {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        self.0.forward(xs)
    }

    fn enable_observer(&self, enabled: bool) {
        self.0.enable_observer(enabled);
    }

    fn enable_fake_quant(&self, enabled: bool) {
        self.0.enable_fake_quant(enabled);
    }

    fn calculate_qparams(&self) -> Result<QParams> {
        self.0.calculate_qparams()
    }
}

/// Moving averages and quantization in one kernel of libtorch's: PyTorch's `FusedMovingAvgObsFakeQuantize`.
///
/// The kernel lays symmetric values over integers from `-n` to `n - 1` with the scale `max(|min| / n, |max| / (n - 1))`,
/// observers with `max(|min|, |max|) / (n - 0.5)`. The two differ by at most 0.4 % at 8 bits and by 7 % at 4. PyTorch converts a
/// trained model with the scale of the observer.
pub struct FusedMovingAvgObsFakeQuantize {
    rule: Rule,
    averaging_constant: f64,
    buffers: RefCell<Buffers>,
    switches: Switches,
}

/// What the kernel writes to, on the device of the values that it sees.
#[derive(Debug)]
struct Buffers {
    /// Smallest and largest, `f32[]`, or `f32[channels]`.
    min: Tensor,
    max: Tensor,
    /// `f32[channels]` and `i32[channels]`, of one channel per tensor.
    scale: Tensor,
    zero_point: Tensor,
}

impl Buffers {
    /// Brings all to a device; nothing happens where they are there.
    fn move_to(&mut self, device: Device) -> Result<()> {
        for buffer in [&mut self.min, &mut self.max, &mut self.scale, &mut self.zero_point] {
            if buffer.device() != device {
                *buffer = buffer.f_to_device(device)?;
            }
        }
        Ok(())
    }
}

impl FusedMovingAvgObsFakeQuantize {
    /// With an observer of moving averages, per tensor or per channel.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] if the observer is another, or its arguments do not go together.
    pub fn new(observer: &ObserverConfig) -> Result<FusedMovingAvgObsFakeQuantize> {
        let (Statistic::MovingAverageMinMax { averaging_constant }
        | Statistic::MovingAveragePerChannelMinMax { averaging_constant, .. }) = observer.statistic
        else {
            return Err(refused("FusedMovingAvgObsFakeQuantize", observer, "an observer of moving averages"));
        };
        observer.build()?;
        let rule = observer.rule()?;
        let unseen = |bound: f32| match rule.axis {
            Some(_) => Tensor::f_from_slice::<f32>(&[]),
            None => Tensor::f_from_slice(&[bound])?.f_squeeze(),
        };
        Ok(FusedMovingAvgObsFakeQuantize {
            rule,
            averaging_constant,
            buffers: RefCell::new(Buffers {
                min: unseen(f32::INFINITY)?,
                max: unseen(f32::NEG_INFINITY)?,
                scale: Tensor::f_from_slice(&[1f32])?,
                zero_point: Tensor::f_from_slice(&[0i32])?,
            }),
            switches: Switches::default(),
        })
    }

    fn has_seen(&self) -> bool {
        let min = &self.buffers.borrow().min;
        min.numel() > 0 && f32::try_from(min.min()).is_ok_and(f32::is_finite)
    }
}

impl FakeQuantizer for FusedMovingAvgObsFakeQuantize {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        if xs.numel() == 0 {
            return Ok(xs.shallow_clone());
        }
        let on = |switch: &Cell<bool>| Tensor::f_from_slice(&[i64::from(switch.get())])?.f_to_device(xs.device());
        if self.switches.fake_quant.get() && !self.switches.observer.get() && !self.has_seen() {
            return Err(super::observer::unseen("FusedMovingAvgObsFakeQuantize"));
        }
        let is_symmetric = self.rule.scheme.is_symmetric();
        let mut buffers = self.buffers.borrow_mut();
        buffers.move_to(xs.device())?;
        Ok(xs.f_fused_moving_avg_obs_fake_quant(
            &on(&self.switches.observer)?,
            &on(&self.switches.fake_quant)?,
            &buffers.min,
            &buffers.max,
            &buffers.scale,
            &buffers.zero_point,
            self.averaging_constant,
            self.rule.range.quant_min,
            self.rule.range.quant_max,
            self.rule.axis.unwrap_or(-1),
            self.rule.axis.is_some(),
            is_symmetric,
        )?)
    }

    fn enable_observer(&self, enabled: bool) {
        self.switches.observer.set(enabled);
    }

    fn enable_fake_quant(&self, enabled: bool) {
        self.switches.fake_quant.set(enabled);
    }

    fn calculate_qparams(&self) -> Result<QParams> {
        if !self.has_seen() {
            return Err(super::observer::unseen("FusedMovingAvgObsFakeQuantize"));
        }
        let list =
            |of: &Tensor| -> Result<Vec<f32>> { Ok(Vec::try_from(of.f_to_kind(Kind::Float)?.f_reshape([-1])?)?) };
        let buffers = self.buffers.borrow();
        calculate_qparams(&self.rule, &list(&buffers.min)?, &list(&buffers.max)?)
    }

    fn qparams(&self) -> Result<QParams> {
        if !self.has_seen() {
            return Err(super::observer::unseen("FusedMovingAvgObsFakeQuantize"));
        }
        let Rule { dtype, scheme, range, axis, .. } = self.rule;
        let buffers = self.buffers.borrow();
        Ok(QParams {
            dtype,
            scheme,
            scale: Vec::try_from(buffers.scale.f_reshape([-1])?)?,
            zero_point: ZeroPoint::Int(Vec::try_from(buffers.zero_point.f_to_kind(Kind::Int64)?.f_reshape([-1])?)?),
            axis,
            quant_min: range.quant_min,
            quant_max: range.quant_max,
        })
    }
}

/// Lets each class stand in a graph.
macro_rules! submodule {
    ($($class:ident),+) => {
        $(impl Submodule for $class {
            fn call(&self, args: &[Value]) -> Result<Value> {
                match args {
                    [value] => <&Tensor>::from_value(value).map(|xs| self.forward(xs)),
                    _ => None,
                }
                .unwrap_or_else(|| Err(Error::Refused(concat!(stringify!($class), " takes one tensor").to_owned())))
                .map(|ys| Value::Tensor(Rc::new(ys)))
            }

            fn module(&self) -> Option<&dyn Module> {
                None
            }
        })+
    };
}
submodule!(FakeQuantize, FixedQParamsFakeQuantize, FusedMovingAvgObsFakeQuantize);

fn refused(class: &str, observer: &ObserverConfig, wanted: &str) -> Error {
    let reason = format!("it takes {wanted}, not a {}", observer.name());
    Error::Quantization { site: class.to_owned(), reason }
}

impl fmt::Debug for FusedMovingAvgObsFakeQuantize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("FusedMovingAvgObsFakeQuantize");
        out.field("buffers", &self.buffers).field("switches", &self.switches).finish_non_exhaustive()
    }
}
