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
