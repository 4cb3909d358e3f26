//! A graph in a file is the one that was saved, and what is wrong with a file is named.

use tch::{Device, Kind, Tensor};

use crate::graph_module::{GraphModule, Value, value};
use crate::instance::Tracer;
use crate::nn;
use crate::{Freeze, Result};

/// Layers with configuration, without parameters, of a chain and recurrent ones, and a tensor of the graph's own.
fn net(vs: &nn::VarStore) -> Result<GraphModule> {
    let p = vs.root();
    let config = nn::ConvConfig { stride: 2, padding: 1, bias: false, ..Default::default() };
    let conv = nn::conv2d(&p / "conv", 3, 4, 3, config);
    let norm = nn::batch_norm2d(&p / "norm", 4, nn::BatchNormConfig { eps: 1e-3, ..Default::default() });
    let chain =
        nn::seq_t().add(nn::leaky_relu(0.2)).add(nn::dropout(0.5)).add(nn::max_pool2d(2, nn::MaxPoolConfig::default()));
    let lstm = nn::lstm(&p / "lstm", 4, 5, nn::RNNConfig { bidirectional: true, ..Default::default() });
    let scale = p.ones("scale", &[4, 1, 1]);
    let mut t = Tracer::new("net");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let ys = t.module("conv", &conv, &[&xs], 1);
    let ys = t.module("norm", &norm, &[&ys], 2);
    let ys = t.sequential("chain", &chain, &ys, None, 3);
    let scale = t.tensor("scale", &scale);
    let ys = t.call("mul", &[&ys, &scale], 4);
    let int = crate::instance::Arg::Int;
    let ys = t.call("flatten", &[&ys, &int(2), &int(-1)], 5);
    let ys = t.call("transpose", &[&ys, &int(1), &int(2)], 6);
    let ys = t.recurrent("lstm", &lstm, "(tensor, ?)", &[&ys], 7);
    let ys = t.part(&ys, 0);
    t.finish(&[&ys])
}

fn run(net: &GraphModule, xs: &Tensor) -> Tensor {
    let Ok(Value::Tensor(ys)) = net.run(&[value(xs)]) else { panic!("no tensor") };
    ys.shallow_clone()
}

#[test]
fn a_loaded_graph_computes_what_the_saved_one_computes() -> Result<()> {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = net(&vs)?;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("net.safetensors");
    net.save(&path)?;
    let again = GraphModule::load(&path)?;
    assert_eq!(again.to_string(), net.to_string());
    let xs = Tensor::randn([2, 3, 16, 16], (Kind::Float, Device::Cpu));
    assert_eq!(run(&again, &xs), run(&net, &xs));
    let names = |net: &GraphModule| {
        net.named_parameters().into_iter().map(|(name, one)| (name, one.requires_grad())).collect::<Vec<_>>()
    };
    assert_eq!(names(&again), names(&net));
    // It trains by itself: the first model stays as it is.
    again.train();
    run(&again, &xs).sum(Kind::Float).backward();
    assert!(again.named_parameters().iter().all(|(_, one)| !one.requires_grad() || one.grad().defined()));
    assert!(net.named_parameters().iter().all(|(_, one)| !one.grad().defined()));
    Ok(())
}

#[test]
fn what_is_wrong_with_a_file_is_named() -> Result<()> {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = net(&vs)?;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("net.safetensors");
    let fault = |path: &std::path::Path| GraphModule::load(path).expect_err("a fault").to_string();
    assert!(fault(&path).contains("net.safetensors"), "{}", fault(&path));
    net.save(&path)?;
    let written = std::fs::read(&path).expect("a file");
    let edited = |from: &str, to: &str| {
        assert_eq!(from.len(), to.len());
        let at = written.windows(from.len()).position(|part| part == from.as_bytes()).expect("the text");
        let mut bytes = written.clone();
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        std::fs::write(&path, bytes).expect("a file");
        fault(&path)
    };
    let version = env!("CARGO_PKG_VERSION");
    let other = "9".repeat(version.len());
    let said = edited(&format!(r#"\"version\":\"{version}\""#), &format!(r#"\"version\":\"{other}\""#));
    assert!(said.contains(&other) && said.contains(version), "{said}");
    let said = edited(r#"\\\"version\\\": 1"#, r#"\\\"version\\\": 7"#);
    assert!(said.contains("version 7"), "{said}");
    let said = edited(r#""modules.conv.ws":"#, r#""modules.conv.no":"#);
    assert!(said.contains("`modules.conv.ws`") && said.contains("missing"), "{said}");
    Ok(())
}

#[test]
fn a_module_of_the_users_own_is_named() -> Result<()> {
    let vs = nn::VarStore::new(Device::Cpu);
    let mut net = net(&vs)?;
    let inner = net.shallow_clone();
    net.add_submodule("conv", inner);
    let said = net.save("/nowhere/net.safetensors").expect_err("a stranger").to_string();
    assert!(said.contains("`conv`"), "{said}");
    Ok(())
}

#[test]
fn a_loaded_graph_can_be_frozen() -> Result<()> {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = net(&vs)?;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("net.safetensors");
    net.save(&path)?;
    let xs = Tensor::randn([2, 3, 16, 16], (Kind::Float, Device::Cpu));
    let frozen = GraphModule::load(&path)?.freeze(&Freeze::default())?;
    let Value::Tensor(ys) = frozen.run(&[value(&xs)])? else { panic!("no tensor") };
    assert!(ys.allclose(&run(&net, &xs), 1e-4, 1e-5, false));
    Ok(())
}
