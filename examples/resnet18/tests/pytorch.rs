//! ResNet-18, eager and frozen, gives PyTorch's numbers.

use fx_runtime::{Device, Freeze, Kind, Module as _, Tensor, nn};
use resnet18::reference::{Difference, Reference};
use resnet18::{Error, ResNet18, weights};

fn network(vs: &nn::VarStore) -> ResNet18 {
    let net = ResNet18::new(&vs.root(), 1000);
    weights::fill(&net);
    net
}

#[test]
fn names_are_torchvisions() {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = network(&vs);
    let names: Vec<String> = net.state_dict().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 102, "torchvision has 122, of which 20 are num_batches_tracked");
    assert_eq!(vs.len(), names.len());
    let variables = vs.variables();
    assert_eq!(names.iter().find(|name| !variables.contains_key(*name)), None);
    let some = [
        "conv1.weight",
        "layer1.0.bn2.running_var",
        "layer2.0.downsample.0.weight",
        "layer4.0.downsample.1.bias",
        "fc.bias",
    ];
    for name in some {
        assert!(variables.contains_key(name), "{name}");
    }
}

#[test]
fn eager_gives_the_numbers_of_pytorch() -> Result<(), Error> {
    let reference = Reference::resnet18()?;
    let vs = nn::VarStore::new(Device::Cpu);
    let net = network(&vs);
    let output = tch::no_grad(|| net.forward(&reference.input));
    let difference = Difference::between(&output, &reference.output)?;
    assert!(difference.passes(), "{difference}");
    Ok(())
}

#[test]
fn frozen_gives_the_numbers_of_pytorch() -> Result<(), Error> {
    let reference = Reference::resnet18()?;
    let frozen = network(&nn::VarStore::new(Device::Cpu)).freeze(&Freeze::default())?;
    let difference = Difference::between(&frozen.try_forward(&reference.input)?, &reference.output)?;
    assert!(difference.passes(), "{difference}");
    Ok(())
}

#[test]
fn frozen_takes_any_batch_and_size() -> Result<(), Error> {
    let net = network(&nn::VarStore::new(Device::Cpu));
    let frozen = net.freeze(&Freeze::default())?;
    for (batch, height, width) in [(1, 64, 64), (3, 97, 129)] {
        let xs = Tensor::randn([batch, 3, height, width], (Kind::Float, Device::Cpu));
        let difference = Difference::between(&frozen.try_forward(&xs)?, &tch::no_grad(|| net.forward(&xs)))?;
        assert!(difference.passes(), "{batch}x{height}x{width}: {difference}");
    }
    Ok(())
}
