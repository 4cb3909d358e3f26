//! Where a quantized graph parts from its model: `bisect` compares what codes stand for.

use fx_runtime::graph_module::{GraphModule, Tolerance, Value, bisect, value};
use fx_runtime::instance::{Arg, Tracer};
use fx_runtime::quant::{QConfigMapping, QEngine, QParamsFile, prepare, quantize};
use fx_runtime::{Device, Freeze, Kind, Result, Tensor, nn};

use super::alone;

/// Two convolutions, a relu behind the first.
fn net(vs: &nn::VarStore) -> Result<GraphModule> {
    let config = nn::ConvConfig { padding: 1, ..Default::default() };
    let conv1 = nn::conv2d(vs.root() / "conv1", 8, 16, 3, config);
    let conv2 = nn::conv2d(vs.root() / "conv2", 16, 8, 3, config);
    let mut t = Tracer::new("net");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let ys = t.module("conv1", &conv1, &[&xs], 1);
    let ys = t.call("relu", &[&ys], 2);
    let ys = t.module("conv2", &conv2, &[&ys], 3);
    let ys = t.call("flatten", &[&ys, &Arg::Int(1), &Arg::Int(-1)], 4);
    t.finish(&[&ys])
}

fn calibrated(net: &GraphModule, xs: &[Value]) -> Result<QParamsFile> {
    let mut observed = prepare(net, &QConfigMapping::for_engine(QEngine::Fx), QEngine::Fx)?;
    observed.forward(xs)?;
    observed.convert()
}

/// Wide enough for two layers of eight bits on values of about 1.
const TOLERANCE: Tolerance = Tolerance { relative: 0.05, absolute: 0.05 };

#[test]
fn a_scale_that_is_wrong_is_found() -> Result<()> {
    let _alone = alone();
    if fx_runtime::capabilities().int8.is_err() {
        return Ok(());
    }
    tch::manual_seed(1);
    let (vs, xs) = (nn::VarStore::new(Device::Cpu), Tensor::randn([2, 8, 12, 12], (Kind::Float, Device::Cpu)));
    let (net, inputs) = (net(&vs)?, [value(&xs)]);
    let qparams = calibrated(&net, &inputs)?;
    let int8 = quantize(&net, &qparams)?;
    let kernels =
        int8.graph().nodes().into_iter().filter(|&id| int8.graph().node(id).meta.get::<String>("site").is_some());
    assert!(kernels.count() >= 2, "{int8}");
    assert!(bisect(&net, &int8, &inputs, TOLERANCE)?.is_none());
    assert!(bisect(&net, int8.freeze(&Freeze::default())?.module(), &inputs, TOLERANCE)?.is_none());
    // No layer of eight bits is that exact: the input's codes are the first to differ.
    let first = bisect(&net, &int8, &inputs, Tolerance::default())?.expect("a difference");
    assert_eq!(first.agreeing, 0, "{first}");

    // A range of a quarter cuts values off.
    let mut wrong = qparams.clone();
    let site = wrong.sites.keys().find(|name| ["conv1", "relu"].contains(&name.as_str())).cloned().expect("a site");
    if let Some(of) = wrong.sites.get_mut(&site) {
        of.scale.iter_mut().for_each(|scale| *scale /= 4.0);
    }
    let wrong = quantize(&net, &wrong)?;
    for other in [&wrong, wrong.freeze(&Freeze::default())?.module()] {
        let found = bisect(&net, other, &inputs, TOLERANCE)?.expect("a difference");
        assert!(found.node.starts_with(&site) && found.agreeing == 1, "{found}");
        assert!(found.found.max < 0.5 * found.reference.max, "{found}");
        assert!(found.place.as_deref().is_some_and(|place| place.contains("src/net.rs:2")), "{found}");
    }
    Ok(())
}
