//! Each model of `tch::vision` as tch has it, eager, against the same one frozen.

mod alexnet;
mod convmixer;
mod densenet;
mod dinov2;
mod efficientnet;
mod inception;
mod mobilenet;
mod resnet;
mod squeezenet;
mod vgg;

use fx_runtime::{Device, Freeze, Kind, Tensor, nn};

/// The same numbers in both, none of them zero.
fn fill(from: &nn::VarStore, to: &mut nn::VarStore) {
    tch::manual_seed(1);
    tch::no_grad(|| {
        for (_, mut weight) in from.variables().into_iter().collect::<std::collections::BTreeMap<_, _>>() {
            let _ = weight.g_add_(&(weight.randn_like() * 0.01));
        }
    });
    to.copy(from).expect("the same variables");
}

/// Panics where the results are further apart than a few roundings of the largest number.
fn compare(name: &str, eager: &Tensor, frozen: &Tensor) {
    assert_eq!((eager.size(), eager.kind()), (frozen.size(), frozen.kind()), "{name}");
    let largest = eager.abs().max().double_value(&[]);
    let apart = (eager - frozen).abs().max().double_value(&[]) / largest;
    assert!(largest > 0.0 && apart < 1e-4, "{name}: {apart:e} of {largest:e}");
    println!("{name}: agrees, {apart:.1e} apart");
}

macro_rules! model {
    ($name:literal, $side:literal, $own:expr, $annotated:expr, $forward:ident $(, $train:literal)?) => {{
        let (from, mut to) = (nn::VarStore::new(Device::Cpu), nn::VarStore::new(Device::Cpu));
        let (own, annotated) = ($own(&from.root()), $annotated(&to.root()));
        fill(&from, &mut to);
        let graph = annotated.graph().expect("a graph");
        assert!(graph.lint().is_ok(), "{graph}");
        let frozen = annotated.freeze(&Freeze::default()).expect("a frozen model");
        for batch in [1, 2] {
            let xs = Tensor::randn([batch, 3, $side, $side], (Kind::Float, Device::Cpu));
            let eager = tch::no_grad(|| own.$forward(&xs $(, $train)?));
            compare($name, &eager, &frozen.$forward(&xs $(, $train)?));
        }
    }};
}

fn main() {
    use nn::{Module as _, ModuleT as _};
    use tch::vision;
    model!("alexnet", 128, |p| vision::alexnet::alexnet(p, 10), |p| alexnet::Alexnet::new(p, 10), forward_t, false);
    model!(
        "convmixer",
        112,
        |p| vision::convmixer::c1024_20(p, 10),
        |p| convmixer::Convmixer::new(p, 10, 1024, 20, 9, 14),
        forward_t,
        false
    );
    model!(
        "densenet121",
        224,
        |p| vision::densenet::densenet121(p, 10),
        |p| densenet::Densenet121::new(p, 10),
        forward_t,
        false
    );
    model!("dinov2", 56, vision::dinov2::vit_small, dinov2::vit_small, forward);
    model!("efficientnet_b0", 64, |p| vision::efficientnet::b0(p, 10), |p| efficientnet::b0(p, 10), forward_t, false);
    model!("inception_v3", 128, |p| vision::inception::v3(p, 10), |p| inception::V3::new(p, 10), forward_t, false);
    model!("mobilenet_v2", 64, |p| vision::mobilenet::v2(p, 10), |p| mobilenet::V2::new(p, 10), forward_t, false);
    model!(
        "resnet18",
        64,
        |p| vision::resnet::resnet18(p, 10),
        |p| resnet::Resnet::new(p, Some(10), 2, 2, 2, 2),
        forward_t,
        false
    );
    model!(
        "resnet50",
        64,
        |p| vision::resnet::resnet50(p, 10),
        |p| resnet::BottleneckResnet::new(p, Some(10), 3, 4, 6, 3),
        forward_t,
        false
    );
    model!("squeezenet1_0", 96, |p| vision::squeezenet::v1_0(p, 10), |p| squeezenet::V10::new(p, 10), forward_t, false);
    model!("squeezenet1_1", 96, |p| vision::squeezenet::v1_1(p, 10), |p| squeezenet::V11::new(p, 10), forward_t, false);
    model!("vgg11", 224, |p| vision::vgg::vgg11(p, 10), |p| vgg::Vgg11::new(p, 10), forward_t, false);
    model!("vgg11_bn", 224, |p| vision::vgg::vgg11_bn(p, 10), |p| vgg::Vgg11Bn::new(p, 10), forward_t, false);
}
