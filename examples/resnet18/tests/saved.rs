//! ResNet-18 is saved and loaded: the same bits, and without the model.

use std::time::Instant;

use fx_runtime::{Device, Freeze, nn};
use resnet18::model::ResNet18Frozen;
use resnet18::{Error, ResNet18, weights};

#[test]
fn it_comes_back_bit_for_bit() -> Result<(), Error> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("frozen.safetensors");
    let vs = nn::VarStore::new(Device::Cpu);
    let net = ResNet18::new(&vs.root(), 1000);
    weights::fill(&net);
    let start = Instant::now();
    let frozen = net.freeze(&Freeze::default())?;
    let freeze = start.elapsed();
    frozen.save(&path)?;
    let start = Instant::now();
    let loaded = ResNet18Frozen::load(&path, &Freeze::default());
    let load = start.elapsed();
    let loaded = loaded?;
    println!("freeze {freeze:?}, load {load:?}");
    for batch in [1, 1, 1, 2] {
        let xs = weights::input(batch, 64);
        assert_eq!(loaded.try_forward(&xs)?, frozen.try_forward(&xs)?, "batch {batch}");
    }
    Ok(())
}
