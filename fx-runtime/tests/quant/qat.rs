//! Quantization-aware training: losses, gradients, weights and parameters of `reference/qat.json`, step by step.

use std::collections::BTreeMap;
use std::panic;

use fx_runtime::graph_module::{GraphModule, Value, value};
use fx_runtime::instance::{Arg, Tracer};
use fx_runtime::nn::{self, OptimizerConfig as _};
use fx_runtime::quant::{
    DType, ObserverConfig, PreparedQat, QConfig, QConfigMapping, QEngine, QParams, QScheme, ZeroPoint, prepare,
    prepare_qat,
};
use fx_runtime::{Device, Kind, Module as _, Result, Tensor};
use serde::Deserialize;

use super::{alone, reference, uniform};

const BATCH: usize = 6;
const OBSERVERS_OFF: usize = 6;
const STATISTICS_FROZEN: usize = 9;

#[derive(Deserialize)]
struct Case {
    engine: String,
    bits: u32,
    losses: Vec<f32>,
    first_gradients: BTreeMap<String, Vec<f32>>,
    first_state: BTreeMap<String, Vec<f32>>,
    state: BTreeMap<String, Vec<f32>>,
    sites: Vec<Parameters>,
    weights: BTreeMap<String, Parameters>,
    evaluated: Vec<f32>,
    reference: Vec<f32>,
}

#[derive(Deserialize)]
struct Parameters {
    scale: Vec<f32>,
    zero_point: Vec<i64>,
    /// What the kernel computes with.
    trained_scale: Vec<f32>,
    trained_zero_point: Vec<i64>,
}

/// The net of `reference/qat.py` and its variables.
fn net() -> Result<(nn::VarStore, GraphModule)> {
    let vs = nn::VarStore::new(Device::Cpu);
    let root = vs.root();
    let conv = nn::ConvConfig { padding: 1, ..nn::ConvConfig::default() };
    let norm = nn::BatchNormConfig::default();
    let conv1 = nn::conv2d(&root / "conv1", 1, 4, 3, nn::ConvConfig { bias: false, ..conv });
    let bn1 = nn::batch_norm2d(&root / "bn1", 4, norm);
    let conv2 = nn::conv2d(&root / "conv2", 4, 4, 3, conv);
    let bn2 = nn::batch_norm2d(&root / "bn2", 4, norm);
    let conv3 = nn::conv2d(&root / "conv3", 4, 4, 1, nn::ConvConfig::default());
    let fc1 = nn::linear(&root / "fc1", 64, 8, nn::LinearConfig::default());
    let bn3 = nn::batch_norm1d(&root / "bn3", 8, norm);
    let fc2 = nn::linear(&root / "fc2", 8, 3, nn::LinearConfig::default());

    let mut t = Tracer::new("net");
    t.file("src/net.rs");
    let xs = t.input("x", true);
    let ys = t.module("conv1", &conv1, &[&xs], 1);
    let ys = t.module("bn1", &bn1, &[&ys], 1);
    let xs = t.call("relu", &[&ys], 1);
    let ys = t.module("conv2", &conv2, &[&xs], 2);
    let ys = t.module("bn2", &bn2, &[&ys], 2);
    let ys = t.call("add", &[&xs, &ys], 2);
    let ys = t.call("relu", &[&ys], 2);
    let pair = |size: i64| Arg::List(vec![Arg::Int(size); 2]);
    let window = [pair(2), pair(2), pair(0), pair(1), Arg::Bool(false)];
    let [kernel, stride, padding, dilation, ceil_mode] = &window;
    let ys = t.call("max_pool2d", &[&ys, kernel, stride, padding, dilation, ceil_mode], 3);
    let ys = t.module("conv3", &conv3, &[&ys], 4);
    let ys = t.call("relu", &[&ys], 4);
    let ys = t.call("flatten", &[&ys, &Arg::Int(1), &Arg::Int(-1)], 4);
    let ys = t.module("fc1", &fc1, &[&ys], 5);
    let ys = t.module("bn3", &bn3, &[&ys], 5);
    let ys = t.call("tanh", &[&ys], 5);
    let ys = t.module("fc2", &fc2, &[&ys], 5);
    let net = t.finish(&[&ys])?;
    for (name, mut tensor) in vs.variables() {
        tch::no_grad(|| tensor.copy_(&weight(&name, &tensor.size())));
    }
    Ok((vs, net))
}

/// A variable's values at the start, by the rule of `load_weights` in `reference/goldens.py`.
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "the rule rounds to f32")]
fn weight(name: &str, shape: &[i64]) -> Tensor {
    let count = usize::try_from(shape.iter().product::<i64>()).unwrap_or(0);
    let fan_in = shape.iter().skip(1).product::<i64>() as f64;
    let value = |u: f64| {
        let s = 2.0 * u - 1.0;
        match shape.len() {
            _ if name.ends_with("running_mean") => 0.1 * s,
            _ if name.ends_with("running_var") => 1.0 + 0.5 * s,
            1 if name.ends_with(".weight") => 1.0 + 0.1 * s,
            1 => 0.1 * s,
            _ => s * (3.0 / fan_in).sqrt(),
        }
    };
    let values: Vec<f32> = uniform(name, count).into_iter().map(|u| value(u) as f32).collect();
    Tensor::from_slice(&values).view(shape)
}

#[expect(clippy::cast_possible_truncation, reason = "the rule rounds to f32")]
fn batch(name: &str) -> Tensor {
    let value = |u: f64| (2.0 * u - 1.0) as f32 * 1.5 + 0.25;
    let values: Vec<f32> = uniform(name, BATCH * 64).into_iter().map(value).collect();
    Tensor::from_slice(&values).view([-1, 1, 8, 8])
}

#[expect(clippy::cast_possible_truncation, reason = "classes from 0 to 2")]
fn labels(k: usize) -> Tensor {
    let labels: Vec<i64> = uniform(&format!("qat.y{k}"), BATCH).into_iter().map(|u| (3.0 * u) as i64).collect();
    Tensor::from_slice(&labels)
}

fn list(tensor: &Tensor) -> Vec<f32> {
    Vec::try_from(tensor.detach().flatten(0, -1)).expect("numbers")
}

fn tensor(value: Value) -> Tensor {
    let Value::Tensor(tensor) = value else { panic!("one tensor, not {value}") };
    tensor.shallow_clone()
}

impl Case {
    fn engine(&self) -> QEngine {
        if self.engine == "qnnpack" { QEngine::Qnnpack } else { QEngine::Fbgemm }
    }

    fn mapping(&self) -> QConfigMapping {
        let mapping = QConfigMapping::for_qat(self.engine());
        if self.bits == 8 {
            return mapping;
        }
        let weight = ObserverConfig::moving_average_per_channel_min_max(0).dtype(DType::QInt8);
        let weight = weight.qscheme(QScheme::PerChannelSymmetric).quant_range(-8, 7);
        mapping.global(QConfig { activation: ObserverConfig::moving_average_min_max().quant_range(0, 15), weight })
    }

    /// The difference to PyTorch's numbers, as a share of the largest of them.
    fn check(&self, what: &str, found: &[f32], wanted: &[f32]) {
        assert_eq!(found.len(), wanted.len(), "{what}");
        let largest = wanted.iter().fold(f32::MIN_POSITIVE, |largest, number| largest.max(number.abs()));
        let off = found.iter().zip(wanted).fold(0f32, |off, (a, b)| off.max((a - b).abs())) / largest;
        assert!(off <= 2e-6, "{} with {} bits, {what}: {off:e}", self.engine, self.bits);
    }

    /// Trains as PyTorch did, and compares each loss and the first gradients.
    fn train(&self, vs: &nn::VarStore, qat: &PreparedQat) -> Result<()> {
        let mut optimizer = nn::Sgd { momentum: 0.9, ..nn::Sgd::default() }.build(vs, 0.05)?;
        qat.train();
        for (k, loss) in self.losses.iter().enumerate() {
            if k == OBSERVERS_OFF {
                qat.enable_observer(false);
            }
            if k == STATISTICS_FROZEN {
                qat.freeze_bn_stats();
            }
            let found =
                tensor(qat.forward(&[value(batch(&format!("qat.x{k}")))])?).cross_entropy_for_logits(&labels(k));
            optimizer.zero_grad();
            found.backward();
            if k == 0 {
                let gradients: BTreeMap<_, _> = qat.module().named_parameters().into_iter().collect();
                assert_eq!(gradients.len(), self.first_gradients.len());
                for (name, wanted) in &self.first_gradients {
                    self.check(&format!("gradient of {name}"), &list(&gradients[name].grad()), wanted);
                }
            }
            optimizer.step();
            if k == 0 {
                self.check_state(qat, &self.first_state);
            }
            self.check(&format!("loss {k}"), &list(&found), &[*loss]);
        }
        Ok(())
    }

    fn check_state(&self, qat: &PreparedQat, wanted: &BTreeMap<String, Vec<f32>>) {
        let state: BTreeMap<_, _> = qat.module().state_dict().into_iter().collect();
        assert_eq!(state.len(), wanted.len());
        for (name, wanted) in wanted {
            self.check(name, &list(state[name]), wanted);
        }
    }

    fn check_parameters(&self, what: &str, [observed, trained]: [&QParams; 2], wanted: &Parameters) {
        self.check(what, &observed.scale, &wanted.scale);
        assert_eq!(observed.zero_point, ZeroPoint::Int(wanted.zero_point.clone()), "{what}");
        self.check(what, &trained.scale, &wanted.trained_scale);
        assert_eq!(trained.zero_point, ZeroPoint::Int(wanted.trained_zero_point.clone()), "{what}");
    }
}

/// PyTorch's own numbers differ from CPU to CPU: sums are taken in another order, and a value on the border between two
/// integers becomes the other one, which every later step shows. Ours are those of one of the CPUs, to the last step.
#[test]
fn training_follows_pytorch_step_by_step() -> Result<()> {
    let _alone = alone();
    let follow = |file: &str| {
        let cases: Vec<Case> = serde_json::from_value(reference(file)).expect("cases");
        panic::catch_unwind(|| follows(&cases))
    };
    match follow("qat.json") {
        Ok(followed) => followed,
        Err(off) => follow("qat_amd.json").unwrap_or_else(|_| panic::resume_unwind(off)),
    }
}

fn follows(cases: &[Case]) -> Result<()> {
    assert_eq!(cases.len(), 3);
    for case in cases {
        let (vs, net) = net()?;
        let qat = prepare_qat(&net, &case.mapping(), case.engine())?;
        case.train(&vs, &qat)?;
        case.check_state(&qat, &case.state);

        let (trained, qparams) = (qat.convert()?, qat.calculate_qparams()?);
        assert_eq!(qat.sites().len(), case.sites.len());
        for (site, wanted) in qat.sites().iter().zip(&case.sites) {
            let found = [&qparams, &trained].map(|file| &file.sites[&site.name]);
            case.check_parameters(&site.name, found, wanted);
        }
        assert_eq!(qparams.weights.len(), case.weights.len());
        for (path, wanted) in &case.weights {
            case.check_parameters(path, [&qparams, &trained].map(|file| &file.weights[path]), wanted);
        }
        qat.eval();
        let xs = || [value(batch("qat.eval"))];
        case.check("evaluated", &list(&tensor(qat.forward(&xs())?)), &case.evaluated);
        let quantized = list(&tensor(tch::no_grad(|| qat.reference(&qparams)?.run(&xs()))?));
        if !case.reference.is_empty() {
            case.check("reference", &quantized, &case.reference);
        }
        // What was trained is what is computed, but for values on the border between two integers; and, as in PyTorch, but for
        // those beyond seven bits, which the integers of a converted model reach.
        let wanted = &case.evaluated;
        let found = list(&tensor(tch::no_grad(|| qat.reference(&trained)?.run(&xs()))?));
        let step = trained.sites["fc2"].scale[0];
        let differing = found.iter().zip(wanted).filter(|(a, b)| (*a - *b).abs() > 0.01 * step).count();
        assert!(
            differing <= 2 || case.bits == 8 && case.engine() == QEngine::Fbgemm,
            "{} {}: {found:?} {wanted:?}",
            case.engine,
            case.bits
        );
        // The file is that of `prepare`, on the live model as it is now.
        let prepared = prepare(&net, &QConfigMapping::for_engine(case.engine()), case.engine())?;
        assert_eq!(list(&tensor(tch::no_grad(|| prepared.reference(&qparams)?.run(&xs()))?)), quantized);
    }
    Ok(())
}

fn graph_of(net: &GraphModule) -> String {
    net.graph().to_string()
}

#[test]
fn the_live_model_stays_as_it_is_but_for_its_weights() -> Result<()> {
    let _alone = alone();
    let (_, net) = net()?;
    let before = graph_of(&net);
    let qat = prepare_qat(&net, &QConfigMapping::for_qat(QEngine::Fbgemm), QEngine::Fbgemm)?;
    qat.train();
    let modes: Vec<_> = net.named_submodules().filter_map(|(_, module)| module.module()?.training()).collect();
    assert_eq!(modes, [false; 3]);
    assert_eq!(graph_of(&net), before);
    assert_eq!(qat.module().graph().to_string().matches("FakeQuantize").count(), 10, "{}", qat.module());
    let message = qat.reference(&prepared(&net)?).expect_err("training").to_string();
    assert!(message.ends_with("it is in training mode; call `eval()` first"), "{message}");
    Ok(())
}

fn prepared(net: &GraphModule) -> Result<fx_runtime::quant::QParamsFile> {
    let mut prepared = prepare(net, &QConfigMapping::for_engine(QEngine::Fbgemm), QEngine::Fbgemm)?;
    prepared.forward(&[value(batch("qat.eval"))])?;
    prepared.convert()
}

/// Without fake quantization a graph computes what the live model does, in both modes, with frozen statistics too.
#[test]
fn switched_off_it_is_the_live_model() -> Result<()> {
    let _alone = alone();
    let (_, net) = net()?;
    let qat = prepare_qat(&net, &QConfigMapping::for_qat(QEngine::Fbgemm), QEngine::Fbgemm)?;
    qat.enable_observer(false);
    let unseen = qat.forward(&[value(batch("qat.eval"))]).expect_err("nothing was observed").to_string();
    assert!(unseen.contains("has seen no value"), "{unseen}");
    qat.enable_fake_quant(false);
    let off = |what: &str| -> Result<()> {
        let ys = |of: &GraphModule| Ok::<_, fx_runtime::Error>(tensor(of.run(&[value(batch("qat.eval"))])?));
        let off = (ys(qat.module())? - ys(&net)?).abs().max().double_value(&[]);
        assert!(off < 1e-5, "{what}: {off}");
        Ok(())
    };
    off("inference")?;
    qat.train();
    qat.freeze_bn_stats();
    qat.train();
    off("frozen statistics")?;
    qat.update_bn_stats();
    net.train();
    off("training")?;
    let message = qat.convert().expect_err("nothing was observed").to_string();
    assert!(message.contains("has seen no value"), "{message}");
    Ok(())
}

/// A layer that stays in floats trains with its batch norm behind it; of the others only what is named is quantized.
#[test]
fn a_layer_may_stay_in_floats() -> Result<()> {
    let _alone = alone();
    let (_, net) = net()?;
    let mapping = QConfigMapping::for_qat(QEngine::Fbgemm).module_name("conv2", None);
    let qat = prepare_qat(&net, &mapping, QEngine::Fbgemm)?;
    qat.train();
    let before = list(&net.named_buffers().iter().find(|(name, _)| name == "bn2.running_mean").expect("a buffer").1);
    qat.forward(&[value(batch("qat.eval"))])?;
    let after = qat.module().state_dict().into_iter().find(|(name, _)| name == "conv2.bn.running_mean");
    assert_ne!(list(after.expect("a buffer").1), before);
    let qparams = qat.convert()?;
    assert_eq!(
        qparams.weights.keys().collect::<Vec<_>>(),
        ["conv1.weight", "conv3.weight", "fc1.weight", "fc2.weight"]
    );
    Ok(())
}

/// Weights that an op reads as a tensor of the model are fake-quantized where they are read.
#[test]
fn functional_layers_train_too() -> Result<()> {
    let _alone = alone();
    let vs = nn::VarStore::new(Device::Cpu);
    let weight = vs.root().var("weight", &[3, 4], nn::Init::Uniform { lo: -1.0, up: 1.0 });
    let mut t = Tracer::new("net");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let of = t.tensor("weight", &weight);
    let ys = t.call("linear", &[&xs, &of, &Arg::None], 1);
    let net = t.finish(&[&ys])?;
    let qat = prepare_qat(&net, &QConfigMapping::for_qat(QEngine::Qnnpack), QEngine::Qnnpack)?;
    let ys = tensor(qat.forward(&[value(Tensor::ones([2, 4], (Kind::Float, Device::Cpu)))])?);
    ys.sum(Kind::Float).backward();
    assert_eq!(list(&weight.grad()), [2.0; 12]);
    assert_eq!(qat.convert()?.weights.keys().collect::<Vec<_>>(), ["weight"]);
    Ok(())
}
