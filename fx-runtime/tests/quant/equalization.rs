//! Channels of alike ranges: nothing changes in floats, and what a few large channels cost in eight bits is had back.

use fx_runtime::graph_module::{GraphModule, Value, value};
use fx_runtime::instance::{Arg, Tracer};
use fx_runtime::quant::{Prepared, QConfigMapping, QEngine, QParamsFile, prepare, quantize, sqnr};
use fx_runtime::{Device, Kind, Result, Tensor, nn};

use super::{alone, has_kernels};

fn randn(shape: &[i64], seed: i64) -> Tensor {
    tch::manual_seed(seed);
    Tensor::randn(shape, (Kind::Float, Device::Cpu))
}

fn output(net: &GraphModule, xs: &Tensor) -> Result<Tensor> {
    match net.run(&[value(xs)])? {
        Value::Tensor(tensor) => Ok(tensor.shallow_clone()),
        other => panic!("{other} is no tensor"),
    }
}

/// Sizes of channels fifty times apart.
fn uneven(channels: i64) -> Tensor {
    Tensor::arange(channels, (Kind::Float, Device::Cpu))
        .f_remainder(5.0)
        .expect("a remainder")
        .f_neg()
        .expect("numbers")
        .exp()
}

fn conv(vs: &nn::VarStore, name: &str, [input, out, kernel]: [i64; 3], groups: i64) -> nn::Conv2D {
    let config = nn::ConvConfig { padding: kernel / 2, groups, ..nn::ConvConfig::default() };
    nn::conv2d(vs.root() / name, input, out, kernel, config)
}

/// Convolutions, one of them depthwise, with a residual, a maximum and a mean between them, and a linear layer; the channels
/// behind the stem are uneven.
fn picture_net() -> Result<GraphModule> {
    let _no_grad = tch::no_grad_guard();
    tch::manual_seed(7);
    let vs = nn::VarStore::new(Device::Cpu);
    let mut stem = conv(&vs, "stem", [3, 16, 3], 1);
    let sizes = uneven(16);
    stem.ws = &stem.ws * sizes.view([-1, 1, 1, 1]);
    let mut first = conv(&vs, "first", [16, 16, 3], 1);
    first.ws = &first.ws / sizes.view([1, -1, 1, 1]);
    let mut depthwise = conv(&vs, "depthwise", [16, 16, 3], 16);
    depthwise.ws = &depthwise.ws * sizes.view([-1, 1, 1, 1]);
    let fc = nn::linear(vs.root() / "fc", 16, 10, nn::LinearConfig::default());
    let mut t = Tracer::new("pictures");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let ys = t.module("stem", &stem, &[&xs], 1);
    let ys = t.call("relu", &[&ys], 1);
    let ys = t.module("first", &first, &[&ys], 2);
    let ys = t.call("relu", &[&ys], 2);
    let zs = t.module("depthwise", &depthwise, &[&ys], 3);
    let zs = t.call("add", &[&zs, &ys], 4);
    let zs = t.call("relu", &[&zs], 4);
    let zs = t.call("adaptive_avg_pool2d", &[&zs, &Arg::List(vec![Arg::Int(1), Arg::Int(1)])], 5);
    let zs = t.call("flatten", &[&zs, &Arg::Int(1), &Arg::Int(-1)], 6);
    let zs = t.module("fc", &fc, &[&zs], 7);
    let net = t.finish(&[&zs])?;
    net.eval();
    Ok(net)
}

/// A norm whose result two linear layers read, a GELU, another linear layer, a sum, and a product with a weight of the
/// model.
fn token_net() -> Result<GraphModule> {
    let _no_grad = tch::no_grad_guard();
    tch::manual_seed(8);
    let vs = nn::VarStore::new(Device::Cpu);
    let mut norm = nn::layer_norm(vs.root() / "norm", vec![16], nn::LayerNormConfig::default());
    norm.ws = Some(uneven(16));
    let linear = |name: &str, [input, out]: [i64; 2], sizes: Tensor| {
        let nn::Linear { ws, bs } = nn::linear(vs.root() / name, input, out, nn::LinearConfig::default());
        nn::Linear { ws: ws * sizes, bs }
    };
    let gate = linear("gate", [16, 16], 1.0 / uneven(16));
    let first = linear("first", [16, 40], uneven(40).view([-1, 1]) / uneven(16));
    let second = linear("second", [40, 16], 1.0 / uneven(40));
    let weight = vs.root().kaiming_uniform("weight", &[8, 16]);
    let mut t = Tracer::new("tokens");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let weight = t.tensor("weight", &weight);
    let ys = t.module("norm", &norm, &[&xs], 1);
    let gate = t.module("gate", &gate, &[&ys], 2);
    let ys = t.module("first", &first, &[&ys], 3);
    let ys = t.call("gelu", &[&ys, &Arg::Str("none".to_owned())], 3);
    let ys = t.module("second", &second, &[&ys], 4);
    let ys = t.call("add", &[&ys, &gate], 5);
    let ys = t.call("linear", &[&ys, &weight, &Arg::None], 6);
    let net = t.finish(&[&ys])?;
    net.eval();
    Ok(net)
}

fn prepared(net: &GraphModule) -> Result<Prepared> {
    prepare(net, &QConfigMapping::for_engine(QEngine::Fx), QEngine::Fx)
}

fn batches(shape: &[i64]) -> Vec<Tensor> {
    (0..4).map(|seed| randn(shape, seed)).collect()
}

fn calibrated(mut observed: Prepared, batches: &[Tensor]) -> Result<(Prepared, QParamsFile)> {
    batches.iter().try_for_each(|batch| observed.forward(batch).map(drop))?;
    let qparams = observed.convert()?;
    Ok((observed, qparams))
}

/// The SQNR of the reference form and of the kernels on the model as it is.
fn decibels(net: &GraphModule, (observed, qparams): &(Prepared, QParamsFile), xs: &Tensor) -> Result<[f64; 2]> {
    let exact = output(net, xs)?;
    let unchanged = sqnr(&exact, &output(observed.module(), xs)?)?;
    assert!(unchanged > 110.0, "{unchanged} dB in floats");
    let reference = sqnr(&exact, &output(&observed.reference(qparams)?, xs)?)?;
    Ok([reference, sqnr(&exact, &output(&quantize(net, qparams)?, xs)?)?])
}

#[test]
fn consecutive_layers_are_equalized() -> Result<()> {
    let _alone = alone();
    let _no_grad = tch::no_grad_guard();
    let (net, shape) = (picture_net()?, [2, 3, 20, 20]);
    let (batches, xs) = (batches(&shape), randn(&shape, 77));
    let plain = decibels(&net, &calibrated(prepared(&net)?, &batches)?, &xs)?;
    let equalized = calibrated(prepared(&net)?.equalized()?, &batches)?;
    let [of_stem, of_first] = &equalized.1.equalization[..] else { panic!("{:?}", equalized.1.equalization) };
    assert_eq!(
        (&*of_stem.producers, &*of_stem.consumers),
        (&["stem.weight".to_owned()][..], &["first.weight".to_owned()][..])
    );
    let mut members = [of_first.producers.clone(), of_first.consumers.clone()];
    for members in &mut members {
        members.sort();
    }
    assert_eq!(members, [["depthwise.weight", "first.weight"], ["depthwise.weight", "fc.weight"]]);
    if !has_kernels() {
        return Ok(());
    }
    for (plain, equalized) in plain.into_iter().zip(decibels(&net, &equalized, &xs)?) {
        assert!(equalized > plain + 6.0, "{plain} dB, equalized {equalized} dB");
    }
    let smoothed = calibrated(prepared(&net)?.smoothed(0.5, &batches)?, &batches)?;
    for (plain, smoothed) in plain.into_iter().zip(decibels(&net, &smoothed, &xs)?) {
        assert!(smoothed > plain + 6.0, "{plain} dB, smoothed {smoothed} dB");
    }
    Ok(())
}

/// A norm takes the factors of all that reads it; behind a GELU values are divided by themselves.
#[test]
fn tokens_are_smoothed() -> Result<()> {
    let _alone = alone();
    let _no_grad = tch::no_grad_guard();
    let (net, shape) = (token_net()?, [2, 9, 16]);
    let (batches, xs) = (batches(&shape), randn(&shape, 77));
    let plain = decibels(&net, &calibrated(prepared(&net)?, &batches)?, &xs)?;
    let smoothed = calibrated(prepared(&net)?.smoothed(0.5, &batches)?, &batches)?;
    let of_smoothed = decibels(&net, &smoothed, &xs)?;
    let (observed, qparams) = smoothed;
    let groups = qparams.equalization.iter().map(|of| (of.producers.join(" "), of.consumers.join(" ")));
    let wanted =
        [("norm.weight", "gate.weight first.weight"), ("", "second.weight"), ("gate.weight second.weight", "weight")];
    assert_eq!(groups.collect::<Vec<_>>(), wanted.map(|(from, to)| (from.to_owned(), to.to_owned())));
    if !has_kernels() {
        return Ok(());
    }
    // The reference form rounds what the GELU yields, which nothing reads as codes.
    let [(plain, smoothed), (plain_kernels, smoothed_kernels)] = [0, 1].map(|form| (plain[form], of_smoothed[form]));
    assert!(smoothed > plain, "{plain} dB, smoothed {smoothed} dB");
    assert!(smoothed_kernels > plain_kernels + 6.0, "{plain_kernels} dB, smoothed {smoothed_kernels} dB");
    let corrected = observed.bias_correction(&qparams, &batches)?;
    assert_eq!(corrected.equalization, qparams.equalization);
    // A product with a weight of the model has no bias that could be corrected, and gets one.
    assert_eq!(corrected.biases.keys().collect::<Vec<_>>(), ["first.weight", "gate.weight", "second.weight", "weight"]);
    let path = std::env::temp_dir().join(format!("fx-smoothed-{}.json", std::process::id()));
    corrected.save(&path)?;
    let read = QParamsFile::load(&path, &net);
    std::fs::remove_file(&path).expect("it was written");
    assert_eq!(read?, corrected);
    let [_, with_biases] = decibels(&net, &(observed, corrected), &xs)?;
    assert!(with_biases > smoothed_kernels - 1.0, "{smoothed_kernels} dB, with corrected biases {with_biases} dB");
    Ok(())
}

#[test]
fn faults_are_told() -> Result<()> {
    let _alone = alone();
    let _no_grad = tch::no_grad_guard();
    let (net, batches) = (token_net()?, batches(&[2, 9, 16]));
    let (observed, qparams) = calibrated(prepared(&net)?.smoothed(0.5, &batches)?, &batches)?;
    let told = |result: Result<()>| result.expect_err("a refusal").to_string();
    let alpha = told(prepared(&net)?.smoothed(1.5, &batches).map(drop));
    assert_eq!(alpha, "quantization of `smoothing`: its alpha is 1.5; take one from 0 to 1, as a rule 0.5");
    let infinite = told(prepared(&net)?.smoothed(0.5, [&(&batches[0] / 0.0)]).map(drop));
    assert!(infinite.contains("`norm`: its values are not finite"), "{infinite}");
    let twice = told(observed.equalized().map(drop));
    assert!(twice.contains("it is equalized already"), "{twice}");
    let other = told(prepared(&net)?.reference(&qparams).map(drop));
    assert!(other.contains("equalized otherwise"), "{other}");
    let with = |change: fn(&mut QParamsFile)| {
        let mut wrong = qparams.clone();
        change(&mut wrong);
        told(quantize(&net, &wrong).map(drop))
    };
    let length = with(|file| file.equalization[0].factors.truncate(15));
    assert!(length.contains("`norm.weight`: its 16 channels are to be scaled by 15 factors"), "{length}");
    let negative = with(|file| file.equalization[1].factors[3] = -1.0);
    assert!(negative.contains("`second.weight`: a factor of its channels is not positive"), "{negative}");
    let nowhere = with(|file| file.equalization[1].consumers[0] = "third.weight".to_owned());
    assert!(nowhere.contains("`third.weight`"), "{nowhere}");
    Ok(())
}
