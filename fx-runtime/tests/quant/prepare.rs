//! Where observers stand, which configuration holds, and which faults are told.

use fx_runtime::graph_module::{GraphModule, Value, value};
use fx_runtime::instance::{Arg, Tracer};
use fx_runtime::quant::{
    DType, ObserverConfig, QConfig, QConfigMapping, QEngine, QParamsFile, QScheme, ZeroPoint, prepare, quantize,
};
use fx_runtime::{Device, Kind, Result, Tensor, nn};

use super::alone;

/// Two linear layers with an activation, an addition and what shares its observer: `fc1`, `relu`, `fc2`, `add`, `flatten`,
/// `sigmoid`.
fn net() -> Result<GraphModule> {
    let vs = nn::VarStore::new(Device::Cpu);
    let root = vs.root();
    let fc1 = nn::linear(&root / "fc1", 4, 4, nn::LinearConfig::default());
    let fc2 = nn::linear(&root / "fc2", 4, 4, nn::LinearConfig::default());
    let mut t = Tracer::new("net");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    t.enter(0, "", "Net");
    let hidden = t.module("block.fc1", &fc1, &[&xs], 1);
    let hidden = t.call("relu", &[&hidden], 2);
    let ys = t.module("block.fc2", &fc2, &[&hidden], 3);
    let ys = t.call("add", &[&ys, &hidden], 4);
    let ys = t.call("flatten", &[&ys, &Arg::Int(0), &Arg::Int(-1)], 5);
    let ys = t.call("sigmoid", &[&ys], 6);
    t.finish(&[&ys])
}

fn default() -> QConfigMapping {
    QConfigMapping::for_engine(QEngine::Onednn)
}

fn names(mapping: &QConfigMapping) -> Result<Vec<(String, usize)>> {
    let prepared = prepare(&net()?, mapping, QEngine::Onednn)?;
    Ok(prepared.sites().iter().map(|site| (site.name.clone(), site.observer)).collect())
}

fn sites(mapping: &QConfigMapping) -> Result<String> {
    Ok(names(mapping)?.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" "))
}

fn refusal(mapping: &QConfigMapping) -> String {
    names(mapping).expect_err("a refusal").to_string()
}

fn input(seed: i64) -> Value {
    tch::manual_seed(seed);
    value(Tensor::randn([2, 4], (Kind::Float, Device::Cpu)))
}

fn calibrated(net: &GraphModule) -> Result<QParamsFile> {
    let mut prepared = prepare(net, &default(), QEngine::Onednn)?;
    (0..3).try_for_each(|seed| prepared.forward(&[input(seed)]).map(drop))?;
    prepared.convert()
}

#[test]
fn an_activation_belongs_to_the_layer_before_it_and_views_share() -> Result<()> {
    let _alone = alone();
    let found = names(&default())?;
    let found: Vec<(&str, usize)> = found.iter().map(|(name, observer)| (name.as_str(), *observer)).collect();
    let wanted = [("xs", 0), ("block_fc1", 1), ("block_fc2", 2), ("add", 3), ("flatten", 3), ("sigmoid", 4)];
    assert_eq!(found, wanted);
    let qparams = calibrated(&net()?)?;
    assert_eq!(qparams.sites["sigmoid"].scale, [1.0 / 256.0]);
    assert_eq!(qparams.sites["flatten"], qparams.sites["add"]);
    assert_eq!(qparams.sites["block_fc1"].zero_point, ZeroPoint::Int(vec![0]));
    Ok(())
}

/// From the general to the special; each rule holds before those above it.
#[test]
fn precedence() -> Result<()> {
    let _alone = alone();
    let all = "xs block_fc1 block_fc2 add flatten sigmoid";
    assert_eq!(sites(&QConfigMapping::new())?, "");
    assert_eq!(sites(&default())?, all);
    let linear = QConfigMapping::new().object_type("linear", QEngine::Onednn.default_qconfig());
    assert_eq!(sites(&linear)?, "xs block_fc1 block_fc2");
    assert_eq!(sites(&linear.clone().module_name_regex("block", None))?, "");
    let one = linear.module_name_regex("block", None).module_name("block.fc2", QEngine::Onednn.default_qconfig());
    assert_eq!(sites(&one)?, "relu block_fc2");
    let none = one.module_name_object_type_order("", "Linear", 1, None);
    assert_eq!(sites(&none)?, "");
    assert_eq!(sites(&default().module_name("block", None))?, "relu block_fc2 add flatten sigmoid");
    Ok(())
}

/// The type of the module that an op stands in comes before the op's own, as in PyTorch.
#[test]
fn a_containing_module_comes_before_an_op() -> Result<()> {
    let _alone = alone();
    let own = QEngine::Onednn.default_qconfig();
    let mapping = QConfigMapping::new().object_type("add", own).object_type("Net", None);
    assert_eq!(sites(&mapping)?, "");
    Ok(())
}

#[test]
fn what_pytorch_ignores_is_told() {
    let _alone = alone();
    let mapping = default().module_name("block.fc3", None);
    assert!(refusal(&mapping).starts_with("quantization of `block.fc3`: the model has no such module"));
    // As Python's `match`: from the start, not anywhere.
    assert!(refusal(&default().module_name_regex("fc1", None)).contains("no such module whose path matches"));
    assert!(refusal(&default().module_name_regex("(", None)).contains("no regular expression"));
    assert!(refusal(&default().object_type("Conv2d", None)).contains("no such type"));
    let signed = QConfig::with_activation(ObserverConfig::histogram().dtype(DType::QInt8));
    let message = refusal(&default().global(signed));
    assert_eq!(
        message,
        "quantization of `block_fc1`: the engine onednn has no kernels for activations in qint8; it takes quint8"
    );
}

#[test]
fn unseen_sites_and_training_are_told() -> Result<()> {
    let _alone = alone();
    let message = prepare(&net()?, &default(), QEngine::Onednn)?.convert().expect_err("not calibrated").to_string();
    assert!(message.contains("`xs`") && message.contains("has seen no value"), "{message}");
    let vs = nn::VarStore::new(Device::Cpu);
    let norm = nn::batch_norm1d(vs.root(), 4, nn::BatchNormConfig::default());
    let mut t = Tracer::new("net");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let ys = t.module("norm", &norm, &[&xs], 1);
    let net = t.finish(&[&ys])?;
    net.train();
    let message = prepare(&net, &default(), QEngine::Onednn).expect_err("training").to_string();
    assert_eq!(message, "quantization of `norm`: it is in training mode; call `eval()` first");
    Ok(())
}

#[test]
fn data_that_cannot_be_observed_is_told_with_its_site() -> Result<()> {
    let _alone = alone();
    let mut prepared = prepare(&net()?, &default(), QEngine::Onednn)?;
    let nan = Tensor::from_slice(&[f32::NAN; 8]).view([2, 4]);
    let message = prepared.forward(&[value(nan)]).expect_err("NaN").to_string();
    assert!(message.contains("`xs`") && message.contains("NaN"), "{message}");
    Ok(())
}

#[test]
fn a_file_reads_back_and_a_foreign_one_is_refused() -> Result<()> {
    let _alone = alone();
    let net = net()?;
    let qparams = calibrated(&net)?;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("qparams.json");
    qparams.save(&path)?;
    assert_eq!(QParamsFile::load(&path, &net)?, qparams);
    let text = qparams.to_json()?;
    let first: Vec<&str> = text.lines().take(7).collect();
    assert_eq!(first[..3], ["{", "  \"version\": 2,", "  \"graph\": \"net\","]);
    assert!(
        first[6].starts_with("    \"add\": {\"dtype\":\"quint8\",\"scheme\":\"per_tensor_affine\",\"scale\":["),
        "{text}"
    );

    let mut other = net.shallow_clone();
    other.graph_mut().name = "other".to_owned();
    let message = QParamsFile::load(&path, &other).expect_err("another graph").to_string();
    assert!(message.contains("of the graph `net`") && message.contains("not of `other`"), "{message}");
    let foreign = prepare(&other, &default(), QEngine::Onednn)?.reference(&qparams).expect_err("another graph");
    assert!(foreign.to_string().contains("of the graph `net`"), "{foreign}");

    std::fs::write(&path, text.replacen("\"version\": 2", "\"version\": 7", 1)).expect("written");
    let message = QParamsFile::load(&path, &net).expect_err("another version").to_string();
    assert!(message.contains("it is of version 7, this is version 2"), "{message}");
    Ok(())
}

/// Each site of the reference form is at most half a step from what the observed graph computes on its inputs.
#[test]
fn the_reference_form_runs() -> Result<()> {
    let _alone = alone();
    let net = net()?;
    let qparams = calibrated(&net)?;
    let reference = prepare(&net, &default(), QEngine::Onednn)?.reference(&qparams)?;
    let tensor = |net: &GraphModule| match net.run(&[input(1)]) {
        Ok(Value::Tensor(tensor)) => Ok(tensor),
        other => Err(fx_runtime::Error::Refused(format!("{other:?}"))),
    };
    let (exact, quantized) = tch::no_grad(|| Ok::<_, fx_runtime::Error>((tensor(&net)?, tensor(&reference)?)))?;
    let off = (&*exact - &*quantized).abs().max().double_value(&[]);
    assert!(off > 0.0 && off < 0.02, "{off}");
    // The result is a multiple of its scale.
    let steps = &*quantized * 256.0;
    assert_eq!(steps.round(), steps);
    let text = reference.graph().to_string();
    assert_eq!(text.matches("= quantize_per_tensor(").count(), 6, "{text}");
    Ok(())
}

#[test]
fn accuracy_says_what_each_site_loses() -> Result<()> {
    let _alone = alone();
    let net = net()?;
    let prepared = prepare(&net, &default(), QEngine::Onednn)?;
    let qparams = calibrated(&net)?;
    let accuracy = prepared.accuracy(&qparams, &[input(1)])?;
    assert_eq!(accuracy.sites.len(), 6);
    for site in &accuracy.sites {
        assert!(site.sqnr > 20.0 && site.shadowed_sqnr > 25.0 && site.cosine > 0.99, "{accuracy}");
        assert!(site.saturation < 0.2, "{accuracy}");
    }
    // Nothing stands before the input.
    assert_eq!(accuracy.sites[0].sqnr.to_bits(), accuracy.sites[0].shadowed_sqnr.to_bits());
    assert!(accuracy.output_sqnr.is_some_and(|sqnr| sqnr > 30.0), "{accuracy}");
    assert_eq!(accuracy.worst(2).len(), 2);
    Ok(())
}

/// An axis that a weight does not have, and parameters for another number of channels.
#[test]
fn faults_of_axes_are_told_with_their_weight() -> Result<()> {
    let _alone = alone();
    let engine = QEngine::Onednn;
    for axis in [2, -3] {
        let weight =
            ObserverConfig::per_channel_min_max(axis).dtype(DType::QInt8).qscheme(QScheme::PerChannelSymmetric);
        let mapping = default().global(QConfig { weight, ..engine.default_qconfig() });
        let mut prepared = prepare(&net()?, &mapping, engine)?;
        prepared.forward(&[input(1)])?;
        let message = prepared.convert().expect_err("a matrix has two axes").to_string();
        assert!(message.contains("`block.fc1.weight`") && message.contains(&format!("axis {axis}")), "{message}");
    }
    let net = net()?;
    let mut qparams = calibrated(&net)?;
    let of = qparams.weights.get_mut("block.fc2.weight").expect("the weight");
    of.scale.truncate(3);
    if fx_runtime::capabilities().int8.is_ok() {
        let message = quantize(&net, &qparams).map(drop).expect_err("a scale is missing").to_string();
        assert!(message.contains("3 scales along axis 0"), "{message}");
    }
    Ok(())
}
