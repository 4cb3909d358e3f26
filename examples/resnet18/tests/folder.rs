//! `GraphModule::to_folder`: the crate that it writes of ResNet-18 is the one below `folder`, compiles, and computes what the
//! model computes. `UPDATE_EXPECT=1` writes its source.

#[rustfmt::skip]
#[allow(missing_docs, unreachable_pub, clippy::pedantic, reason = "it is kept as it is written")]
#[path = "folder/src/lib.rs"]
mod written;

use std::path::Path;

use fx_runtime::graph_module::GraphModule;
use fx_runtime::{Device, Kind, Module as _, Tensor, nn};
use resnet18::torchvision::ResNet;
use resnet18::{Error, weights};

#[test]
fn the_crate_of_resnet18_computes_what_the_model_computes() -> Result<(), Error> {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = ResNet::new(&vs.root(), 1000);
    weights::fill(&net);
    let folder = tempfile::tempdir()?;
    net.graph_module()?.to_folder(folder.path(), "ResNetGraph")?;
    let source = std::fs::read_to_string(folder.path().join("src/lib.rs"))?;
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/folder/src/lib.rs");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&kept, &source)?;
        return Ok(());
    }
    assert!(source == std::fs::read_to_string(&kept)?, "{source}");

    let file = folder.path().join("weights.safetensors");
    let again = written::ResNetGraph::load(&file)?;
    let xs = Tensor::randn([2, 3, 64, 64], (Kind::Float, Device::Cpu));
    let want = tch::no_grad(|| net.forward(&xs));
    assert_eq!(tch::no_grad(|| again.forward(&xs))?, want);
    // It has the names of the model's state dict, and shares what it is made of.
    let names = |all: Vec<(String, &Tensor)>| {
        let mut names = all.into_iter().map(|(name, _)| name).collect::<Vec<String>>();
        names.sort();
        names
    };
    assert_eq!(names(again.state_dict()), names(net.state_dict()));
    let graph = GraphModule::load(&file)?;
    let shared = written::ResNetGraph::new(&graph)?;
    shared.train();
    let _ = shared.forward(&xs)?;
    let moved = graph.named_buffers().into_iter().find(|(name, _)| name == "bn1.running_mean").ok_or("no buffer")?.1;
    assert_ne!(
        moved,
        net.state_dict().into_iter().find(|(name, _)| name == "bn1.running_mean").ok_or("no buffer")?.1.copy()
    );
    Ok(())
}

/// What the program prints that a test puts beside the written library.
const MAIN: &str = r#"use fx_runtime::{Kind, Tensor};

fn main() -> fx_runtime::Result<()> {
    let net = res_net_graph::ResNetGraph::load("weights.safetensors")?;
    let xs = Tensor::arange(3 * 64 * 64, (Kind::Float, fx_runtime::Device::Cpu)).view([1, 3, 64, 64]).sin();
    let ys = Vec::<f32>::try_from(net.forward(&xs)?.flatten(0, -1))?;
    ys.iter().for_each(|y| println!("{y}"));
    Ok(())
}
"#;

/// The folder is a crate: cargo builds it outside this workspace, and what it prints is what the model computes.
#[test]
fn the_written_crate_builds_and_runs_by_itself() -> Result<(), Error> {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = ResNet::new(&vs.root(), 10);
    weights::fill(&net);
    let folder = tempfile::tempdir()?;
    net.graph_module()?.to_folder(folder.path(), "ResNetGraph")?;
    std::fs::write(folder.path().join("src/main.rs"), MAIN)?;
    // Nothing of it is published here, so that the versions in its manifest are told to be those of this workspace.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let manifest = std::fs::read_to_string(root.join("Cargo.toml"))?;
    let profiles = manifest.find("[profile.").map_or("", |at| &manifest[at..]);
    let written = std::fs::read_to_string(folder.path().join("Cargo.toml"))?;
    std::fs::write(folder.path().join("Cargo.toml"), format!("{written}\n{profiles}"))?;
    std::fs::copy(root.join("Cargo.lock"), folder.path().join("Cargo.lock"))?;
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--offline", "--target-dir"]).arg(root.join("target")).current_dir(folder.path());
    for name in ["fx-runtime", "fx-passes"] {
        let path = root.join(name);
        cargo.args(["--config", &format!("patch.crates-io.{name}.path={:?}", path.display().to_string())]);
    }
    let output = cargo.output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let xs = Tensor::arange(3 * 64 * 64, (Kind::Float, Device::Cpu)).view([1, 3, 64, 64]).sin();
    let wanted = tch::no_grad(|| net.forward(&xs)).flatten(0, -1);
    let printed = String::from_utf8(output.stdout)?;
    let found = printed.lines().map(str::parse).collect::<Result<Vec<f32>, _>>()?;
    assert!(Tensor::from_slice(&found).allclose(&wanted, 1e-5, 1e-6, false), "{found:?}\n{wanted}");
    Ok(())
}
