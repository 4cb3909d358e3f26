//! ResNet-50, MobileNetV2 and ViT-B/16, eager and frozen, give PyTorch's numbers.

use fx_runtime::{Freeze, Kind, Module as _, Tensor};
use resnet18::{Error, weights};
use zoo::reference::{check, expected, model};
use zoo::{MobileNetV2, ResNet50, VitB16};

macro_rules! gives_the_numbers_of_pytorch {
    ($name:ident, $model:ty, $size:literal) => {
        #[test]
        fn $name() -> Result<(), Error> {
            let (xs, wanted) = (weights::input(2, 224), expected(stringify!($name), "output")?);
            let net = model(|p| <$model>::new(p, 1000));
            let count = net.named_parameters().iter().map(|(_, tensor)| tensor.numel()).sum::<usize>();
            assert_eq!(count, $size, "torchvision's number of parameters");
            check("eager", &tch::no_grad(|| net.forward_t(&xs, false)), &wanted)?;
            let frozen = net.freeze(&Freeze::default())?;
            check("frozen", &frozen.try_forward_t(&xs, false)?, &wanted)
        }
    };
}

gives_the_numbers_of_pytorch!(resnet50, ResNet50, 25_557_032);
gives_the_numbers_of_pytorch!(mobilenet_v2, MobileNetV2, 3_504_872);
gives_the_numbers_of_pytorch!(vit_b_16, VitB16, 86_567_656);

#[test]
fn names_are_torchvisions() {
    let names = |names: Vec<(String, &Tensor)>| names.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    let net = model(|p| MobileNetV2::new(p, 1000));
    let found = names(net.state_dict());
    for name in
        ["features.0.0.weight", "features.1.conv.1.weight", "features.2.conv.1.1.running_var", "classifier.1.bias"]
    {
        assert!(found.iter().any(|found| found == name), "{name}");
    }
    let net = model(|p| VitB16::new(p, 1000));
    let found = names(net.state_dict());
    assert_eq!(found.len(), 152);
    for name in ["class_token", "encoder.pos_embedding", "encoder.layers.encoder_layer_11.self_attention.in_proj_bias"]
    {
        assert!(found.iter().any(|found| found == name), "{name}");
    }
}

#[test]
fn frozen_takes_any_batch_and_size() -> Result<(), Error> {
    let net = model(|p| MobileNetV2::new(p, 10));
    let frozen = net.freeze(&Freeze::default())?;
    for (batch, height, width) in [(1, 64, 64), (3, 97, 129)] {
        let xs = Tensor::randn([batch, 3, height, width], (Kind::Float, tch::Device::Cpu));
        check("frozen", &frozen.try_forward_t(&xs, false)?, &tch::no_grad(|| net.forward_t(&xs, false)))?;
    }
    Ok(())
}
