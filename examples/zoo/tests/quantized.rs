//! Quantization parameters of whole models are PyTorch's, bit for bit: at each site and of each weight.
//!
//! `reference/quantized.json` holds what `prepare_fx` and `convert_fx` of torch 2.11 give; the README of
//! `fx-runtime/tests/quant/reference` says how it was made.

use std::collections::BTreeMap;

use fx_runtime::graph_module::{GraphModule, Value, value};
use fx_runtime::quant::{Prepared, QConfigMapping, QEngine, QParams, QParamsFile, ZeroPoint, prepare};
use fx_runtime::{Result, Tensor, nn};
use resnet18::{ResNet18, weights};
use serde::Deserialize;
use zoo::{MobileNetV2, reference};

#[derive(Deserialize)]
struct Model {
    model: String,
    sites: Vec<Site>,
    weights: BTreeMap<String, Weight>,
    /// What PyTorch's reference form computes on the input.
    reference: Vec<f32>,
    reference_sqnr_db: f64,
}

#[derive(Deserialize)]
struct Site {
    node: String,
    #[serde(flatten)]
    qparams: Scale,
    /// What PyTorch gives on CPUs of another make.
    #[serde(default)]
    elsewhere: Vec<Scale>,
}

#[derive(Deserialize)]
struct Scale {
    scale: Vec<f32>,
    zero_point: Vec<i64>,
}

#[derive(Deserialize)]
struct Weight {
    scales: Vec<f32>,
}

impl Model {
    fn named(name: &str) -> Model {
        let path = format!("{}/reference/quantized.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read `{path}`: {error}"));
        let models: Vec<Model> = serde_json::from_str(&text).unwrap_or_else(|error| panic!("`{path}`: {error}"));
        models.into_iter().find(|model| model.model == name).expect("the model is in the file")
    }
}

/// How PyTorch's graph names a site that ours names otherwise, since there it is a module of its own. Of several with one
/// name here the n-th stands for the n-th there.
const NAMES: [(&str, &str); 4] =
    [("xs", "x"), ("max_pool2d", "maxpool"), ("adaptive_avg_pool2d", "avgpool"), ("dropout", "classifier_0")];

/// PyTorch's sites with ours, in the order of the file.
fn mapped<'s>(sites: &'s [Site], ours: &[String]) -> Vec<(&'s Site, String)> {
    let mut clamps = ours.iter().filter(|name| name.starts_with("clamp"));
    let mut name = |site: &Site| -> String {
        let node = site.node.as_str();
        let other = NAMES.iter().find(|(name, theirs)| *theirs == node && ours.iter().any(|known| known == name));
        match other {
            Some((name, _)) => (*name).to_owned(),
            None if ours.iter().any(|known| known == node) => node.to_owned(),
            // A ReLU6 is a module there and a clamp here.
            None => clamps.next().unwrap_or_else(|| panic!("no site for `{node}`")).clone(),
        }
    };
    sites.iter().map(|site| (site, name(site))).collect()
}

fn is(found: &QParams, wanted: &Scale) -> bool {
    let bits = |scale: &[f32]| scale.iter().map(|scale| scale.to_bits()).collect::<Vec<_>>();
    bits(&found.scale) == bits(&wanted.scale) && found.zero_point == ZeroPoint::Int(wanted.zero_point.clone())
}

fn calibrated(net: &GraphModule) -> Result<(Prepared, QParamsFile)> {
    let engine = QEngine::Onednn;
    let mut prepared = prepare(net, &QConfigMapping::for_engine(engine), engine)?;
    for picture in 0..8 {
        prepared.forward(&[value(weights::pictures(&format!("calib{picture}"), 1, 224))])?;
    }
    let qparams = prepared.convert()?;
    Ok((prepared, qparams))
}

fn output(net: &GraphModule) -> Result<Tensor> {
    let _no_grad = tch::no_grad_guard();
    match net.run(&[value(weights::input(1, 224))])? {
        Value::Tensor(tensor) => Ok(tensor.shallow_clone()),
        other => panic!("{other} is no tensor"),
    }
}

fn check(name: &str, net: &GraphModule) -> Result<()> {
    let wanted = Model::named(name);
    let (prepared, qparams) = calibrated(net)?;
    let ours: Vec<String> = prepared.sites().iter().map(|site| site.name.clone()).collect();
    assert_eq!(ours.len(), wanted.sites.len(), "{ours:#?}");
    let mut wrong = Vec::new();
    println!("{:24} {:28} {:>14} {:>4}", "PyTorch", "here", "scale", "zero");
    for (site, name) in mapped(&wanted.sites, &ours) {
        let found = &qparams.sites[&name];
        println!("{:24} {name:28} {:>14e} {:>4}", site.node, found.scale[0], site.qparams.zero_point[0]);
        if !std::iter::once(&site.qparams).chain(&site.elsewhere).any(|wanted| is(found, wanted)) {
            wrong.push(format!(
                "{} is {found:?}, not {:?} {:?}",
                site.node, site.qparams.scale, site.qparams.zero_point
            ));
        }
    }
    assert_eq!(qparams.weights.len(), wanted.weights.len());
    for (path, weight) in &wanted.weights {
        let found = &qparams.weights[&format!("{path}.weight")];
        if !is(found, &Scale { scale: weight.scales.clone(), zero_point: vec![0; weight.scales.len()] }) {
            wrong.push(format!("the weight of {path}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));

    let (exact, quantized) = (output(net)?, output(&prepared.reference(&qparams)?)?);
    let noise = (&exact - &quantized).norm().double_value(&[]);
    let sqnr = 20.0 * (exact.norm().double_value(&[]) / noise).log10();
    let found: Vec<f32> = Vec::try_from(quantized.flatten(0, -1)).expect("numbers");
    let alike =
        found.iter().zip(&wanted.reference).filter(|(found, wanted)| found.to_bits() == wanted.to_bits()).count();
    println!(
        "{name}: {sqnr:.3} dB, PyTorch's {:.3} dB; {alike} of {} outputs alike",
        wanted.reference_sqnr_db,
        found.len()
    );
    // Another CPU sums in another order, which moves some values by a quantum.
    assert!((sqnr - wanted.reference_sqnr_db).abs() < 0.1, "{sqnr} dB, PyTorch has {}", wanted.reference_sqnr_db);
    Ok(())
}

#[test]
fn resnet18() -> Result<()> {
    let net = reference::model(|p: &nn::Path| ResNet18::new(p, 1000));
    check("resnet18", &net.graph_module()?)
}

#[test]
fn mobilenet_v2() -> Result<()> {
    let net = reference::model(|p: &nn::Path| MobileNetV2::new(p, 1000));
    check("mobilenet_v2", &net.graph_module()?)
}
