//! Training: one schedule for models in floats and for quantization-aware ones.

use fx_runtime::graph_module::{GraphModule, Value, value};
use fx_runtime::nn::{self, OptimizerConfig as _};
use fx_runtime::quant::PreparedQat;
use tch::{Kind, Tensor};

use crate::Result;
use crate::data::Part;

/// Pictures of a step.
const BATCH: usize = 32;

/// What is trained.
pub trait Trained {
    /// Logits, with gradients.
    ///
    /// # Errors
    ///
    /// If libtorch refuses.
    fn logits(&self, pictures: &Tensor) -> Result<Tensor>;

    /// Switches to training.
    fn start(&self);

    /// The last third begins.
    fn settle(&self);

    /// Switches to inference.
    fn finish(&self);
}

/// A graph as it is.
impl Trained for GraphModule {
    fn logits(&self, pictures: &Tensor) -> Result<Tensor> {
        tensor(&self.run(&[value(pictures)])?)
    }

    fn start(&self) {
        self.train();
    }

    fn settle(&self) {}

    fn finish(&self) {
        self.eval();
    }
}

/// In the last third the ranges and the statistics of batch norms stay as they are, so that the weights settle for these.
impl Trained for PreparedQat {
    fn logits(&self, pictures: &Tensor) -> Result<Tensor> {
        tensor(&self.forward(&[value(pictures)])?)
    }

    fn start(&self) {
        self.train();
    }

    fn settle(&self) {
        self.enable_observer(false);
        self.freeze_bn_stats();
    }

    fn finish(&self) {
        self.eval();
    }
}

/// Trains for that many epochs by SGD with momentum, at a tenth of the rate in the last third.
///
/// The order of the pictures is a function of the epoch, so that all runs of as many epochs see the same.
///
/// # Errors
///
/// If libtorch refuses.
pub fn train(model: &impl Trained, vs: &nn::VarStore, part: &Part, epochs: u64, rate: f64) -> Result<()> {
    let mut optimizer = nn::Sgd { momentum: 0.9, ..nn::Sgd::default() }.build(vs, rate)?;
    model.start();
    for epoch in 0..epochs {
        if epoch == epochs - epochs / 3 {
            optimizer.set_lr(rate / 10.0);
            model.settle();
        }
        let mut order: Vec<i64> = (0..part.len()).collect();
        fastrand::Rng::with_seed(epoch).shuffle(&mut order);
        for numbers in order.chunks_exact(BATCH) {
            let batch = part.batch(numbers);
            optimizer.backward_step(&model.logits(&batch.pictures)?.cross_entropy_for_logits(&batch.digits));
        }
    }
    model.finish();
    Ok(())
}

/// The share of pictures, from 0 to 1, whose digit a graph in inference mode finds.
///
/// # Errors
///
/// If libtorch refuses.
pub fn accuracy(model: &GraphModule, part: &Part) -> Result<f64> {
    let logits = tch::no_grad(|| model.logits(&part.pictures))?;
    Ok(logits.argmax(1, false).eq_tensor(&part.digits).to_kind(Kind::Double).mean(Kind::Double).double_value(&[]))
}

fn tensor(value: &Value) -> Result<Tensor> {
    match value {
        Value::Tensor(tensor) => Ok(tensor.shallow_clone()),
        other => Err(format!("the model yields {other} and not a tensor").into()),
    }
}
