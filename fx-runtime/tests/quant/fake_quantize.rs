//! Fake quantization: results, gradients and parameters of `reference/fake_quantize.json`, bit for bit.

use fx_runtime::quant::{
    DType, FakeQuantize, FakeQuantizer, FixedQParamsFakeQuantize, FusedMovingAvgObsFakeQuantize, ObserverConfig,
    QScheme,
};
use fx_runtime::{Kind, Result, Tensor};
use serde::Deserialize;

use super::{reference, uniform};

#[derive(Deserialize)]
struct Case {
    index: usize,
    class: String,
    args: Args,
    shape: Vec<i64>,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Args {
    dtype: Option<DType>,
    qscheme: Option<QScheme>,
    quant_min: Option<i64>,
    quant_max: Option<i64>,
    ch_axis: Option<i64>,
}

#[derive(Deserialize)]
struct Step {
    y: Vec<f32>,
    grad: Vec<f32>,
    scale: Vec<f32>,
    zero_point: Vec<i64>,
}

impl Case {
    fn module(&self) -> Result<Box<dyn FakeQuantizer>> {
        let args = &self.args;
        let mut observer = args
            .ch_axis
            .map_or_else(ObserverConfig::moving_average_min_max, ObserverConfig::moving_average_per_channel_min_max);
        if let (Some(dtype), Some(qscheme)) = (args.dtype, args.qscheme) {
            observer = observer.dtype(dtype).qscheme(qscheme);
        }
        if let (Some(low), Some(high)) = (args.quant_min, args.quant_max) {
            observer = observer.quant_range(low, high);
        }
        Ok(match self.class.as_str() {
            "FakeQuantize" => Box::new(FakeQuantize::new(&observer)?),
            "FusedMovingAvgObsFakeQuantize" => Box::new(FusedMovingAvgObsFakeQuantize::new(&observer)?),
            "FixedQParamsFakeQuantize" => {
                Box::new(FixedQParamsFakeQuantize::new(&ObserverConfig::fixed_qparams(1.0 / 256.0, 0))?)
            }
            other => panic!("no class `{other}`"),
        })
    }

    #[expect(clippy::cast_possible_truncation, reason = "the rule rounds to f32")]
    fn values(&self, name: &str, k: u16, amplitude: f64, offset: f32) -> Tensor {
        let count = usize::try_from(self.shape.iter().product::<i64>()).unwrap_or(0);
        let name = format!("{name}{}.{k}", self.index);
        let value = |u: f64| (2.0 * u - 1.0) as f32 * amplitude as f32 + offset;
        let values: Vec<f32> = uniform(&name, count).into_iter().map(value).collect();
        Tensor::from_slice(&values).view(self.shape.as_slice())
    }
}

fn bits(numbers: &[f32]) -> Vec<u32> {
    // Both zeros are one number.
    numbers.iter().map(|number| (number + 0.0).to_bits()).collect()
}

fn list(tensor: &Tensor) -> Vec<f32> {
    Vec::try_from(tensor.to_kind(Kind::Float).flatten(0, -1)).expect("numbers")
}

#[test]
fn results_and_gradients_are_pytorchs_bit_for_bit() -> Result<()> {
    let cases: Vec<Case> = serde_json::from_value(reference("fake_quantize.json")).expect("cases");
    assert_eq!(cases.len(), 16);
    for case in &cases {
        let module = case.module()?;
        for (k, step) in (0..).zip(&case.steps) {
            if k == 2 {
                module.enable_observer(false);
            }
            let xs = case.values("fake", k, 1.0 + 0.5 * f64::from(k), 0.25).set_requires_grad(true);
            let ys = module.forward(&xs)?;
            (&ys * case.values("grad", k, 1.0, 0.0)).sum(Kind::Float).backward();
            let at = format!("{} {:?}, step {k}", case.class, case.shape);
            assert_eq!(bits(&list(&ys)), bits(&step.y), "{at}");
            assert_eq!(bits(&list(&xs.grad())), bits(&step.grad), "{at}");
            let qparams = module.calculate_qparams()?;
            assert_eq!(bits(&qparams.scale), bits(&step.scale), "{at}");
            assert_eq!(qparams.zero_point, fx_runtime::quant::ZeroPoint::Int(step.zero_point.clone()), "{at}");
        }
    }
    Ok(())
}

#[test]
fn switches() -> Result<()> {
    let xs = Tensor::from_slice(&[-1f32, 0.3, 1.0]);
    let observer = ObserverConfig::moving_average_min_max();
    let modules: [Box<dyn FakeQuantizer>; 2] =
        [Box::new(FakeQuantize::new(&observer)?), Box::new(FusedMovingAvgObsFakeQuantize::new(&observer)?)];
    for module in modules {
        module.enable_observer(false);
        let unseen = module.forward(&xs).expect_err("nothing was observed").to_string();
        assert!(unseen.contains("has seen no value"), "{unseen}");
        module.enable_observer(true);
        module.enable_fake_quant(false);
        assert_eq!(list(&module.forward(&xs)?), list(&xs));
        module.enable_observer(false);
        module.enable_fake_quant(true);
        let outside = Tensor::from_slice(&[5f32, 0.3]).set_requires_grad(true);
        module.forward(&outside)?.sum(Kind::Float).backward();
        assert_eq!(list(&outside.grad()), [0.0, 1.0]);
    }
    Ok(())
}

/// The kernels of libtorch agree with the definition, where halves are even and the zero point is added last.
#[test]
fn codes_are_what_fake_quantization_rounds_to() -> Result<()> {
    let mut qparams = fx_runtime::quant::QParams::per_tensor(DType::QUInt8, QScheme::PerTensorAffine, 0.5, 3);
    let xs = Tensor::from_slice(&[0.25f32, 0.75, -0.25, 200.0, -10.0]);
    assert_eq!(Vec::<u8>::try_from(qparams.quantize(&xs)?).expect("codes"), [3, 5, 3, 255, 0]);
    assert_eq!(list(&qparams.dequantize(&qparams.quantize(&xs)?)?), list(&qparams.fake_quantize(&xs)?));
    qparams.axis = Some(0);
    let message = qparams.fake_quantize(&xs).expect_err("one scale for five channels").to_string();
    assert!(message.contains("has 1 scales along axis 0, the value is [5]"), "{message}");
    Ok(())
}
