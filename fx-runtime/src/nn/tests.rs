//! Names, modes and looks; that the layers compute as tch's is tested in `tests/nn_matches_tch.rs`.

use tch::{Device, IndexOp, Kind, Tensor};

use super::*;
use crate::Error;
use crate::module::Module as _;

fn store() -> VarStore {
    VarStore::new(Device::Cpu)
}

fn randn(size: &[i64]) -> Tensor {
    Tensor::randn(size, (Kind::Float, Device::Cpu))
}

fn names<M: crate::Module>(module: &M) -> Vec<String> {
    module.state_dict().into_iter().map(|(name, _)| name).collect()
}

#[test]
fn tensors_have_the_names_of_the_state_dict() {
    let vs = store();
    let p = &vs.root();
    let weight_and_bias = ["weight", "bias"];
    assert_eq!(names(&conv2d(p, 1, 1, 1, ConvConfig::default())), weight_and_bias);
    assert_eq!(names(&conv1d(p, 1, 1, 1, no_bias())), ["weight"]);
    assert_eq!(names(&conv_transpose3d(p, 1, 1, 1, ConvTransposeConfig::default())), weight_and_bias);
    assert_eq!(names(&linear(p, 1, 1, LinearConfig::default())), weight_and_bias);
    assert_eq!(names(&layer_norm(p, vec![1], LayerNormConfig::default())), weight_and_bias);
    assert_eq!(names(&group_norm(p, 1, 1, GroupNormConfig::default())), weight_and_bias);
    assert_eq!(names(&embedding(p, 1, 1, EmbeddingConfig::default())), ["weight"]);
    let bn = batch_norm2d(p, 1, BatchNormConfig::default());
    assert_eq!(names(&bn), ["weight", "bias", "running_mean", "running_var"]);
    assert_eq!(bn.named_buffers().len(), 2);
    assert!(names(&dropout(0.5)).is_empty());
}

/// The layer table knows the tensors of each layer by the names and in the order in which the layer shows them.
#[test]
fn layers_have_the_tensors_of_their_rows() {
    let vs = store();
    let p = &vs.root();
    let layers: Vec<Box<dyn crate::Module>> = vec![
        Box::new(conv1d(p, 1, 1, 1, ConvConfig::default())),
        Box::new(conv2d(p, 1, 1, 1, ConvConfig::default())),
        Box::new(conv3d(p, 1, 1, 1, ConvConfig::default())),
        Box::new(conv_transpose1d(p, 1, 1, 1, ConvTransposeConfig::default())),
        Box::new(conv_transpose2d(p, 1, 1, 1, ConvTransposeConfig::default())),
        Box::new(conv_transpose3d(p, 1, 1, 1, ConvTransposeConfig::default())),
        Box::new(linear(p, 1, 1, LinearConfig::default())),
        Box::new(batch_norm2d(p, 1, BatchNormConfig::default())),
        Box::new(layer_norm(p, vec![1], LayerNormConfig::default())),
        Box::new(group_norm(p, 1, 1, GroupNormConfig::default())),
        Box::new(instance_norm2d(
            p,
            1,
            InstanceNormConfig { affine: true, track_running_stats: true, ..Default::default() },
        )),
        Box::new(embedding(p, 1, 1, EmbeddingConfig::default())),
        Box::new(relu()),
        Box::new(gelu()),
        Box::new(max_pool2d(2, MaxPoolConfig::default())),
        Box::new(dropout(0.5)),
        Box::new(identity()),
    ];
    for layer in &layers {
        let row = fx_ir::LayerRow::of_type(layer.type_name()).unwrap();
        let (found, expected): (Vec<_>, Vec<_>) = (
            layer.state_dict().into_iter().map(|(name, _)| name).collect(),
            row.tensors().map(|(_, name)| name).collect(),
        );
        assert_eq!(found, expected, "{}", row.name);
    }
}

#[test]
fn frozen_variables_of_layers_stay_parameters() {
    let mut vs = store();
    let fc = linear(vs.root(), 1, 1, LinearConfig::default());
    vs.freeze();
    assert_eq!(fc.named_parameters().len(), 2);
}

#[test]
fn stateless_layers_are_their_ops() {
    let xs = &randn(&[2, 3, 6, 6]);
    assert_eq!(relu().forward(xs), xs.relu());
    assert_eq!(relu6().forward(xs), xs.relu6());
    assert_eq!(silu().forward(xs), xs.silu());
    assert_eq!(hard_swish().forward(xs), xs.hardswish());
    assert_eq!(sigmoid().forward(xs), xs.sigmoid());
    assert_eq!(tanh().forward(xs), xs.tanh());
    assert_eq!(gelu().forward(xs), xs.gelu("none"));
    assert_eq!(gelu_tanh().forward(xs), xs.gelu("tanh"));
    assert_eq!(softmax(-1).forward(xs), xs.softmax(-1, None));
    assert_eq!(flatten(1, -1).forward(xs).size(), [2, 108]);
    assert_eq!(identity().forward(xs).data_ptr(), xs.data_ptr());
    assert_eq!(adaptive_avg_pool2d([1, 1]).forward(xs), xs.adaptive_avg_pool2d([1, 1]));
    let max = MaxPoolConfig { stride: 2, padding: 1, ..MaxPoolConfig::default() };
    assert_eq!(max_pool2d(3, max).forward(xs), xs.max_pool2d(3, 2, 1, 1, false));
    assert_eq!(max_pool2d(3, MaxPoolConfig::default()).forward(xs).size(), [2, 3, 2, 2]);
    let avg = AvgPoolConfig { padding: 1, count_include_pad: false, ..AvgPoolConfig::default() };
    assert_eq!(avg_pool2d(3, avg).forward(xs), xs.avg_pool2d(3, 3, 1, false, false, None));
}

#[test]
fn leaky_relu_is_right_for_any_slope_with_its_gradient() {
    let xs = Tensor::from_slice(&[-2f32, -0.5, 0., 3.]).set_requires_grad(true);
    assert_eq!(leaky_relu(0.01).forward(&xs), xs.leaky_relu());
    let ys = leaky_relu(0.25).forward(&xs);
    assert_eq!(ys, Tensor::from_slice(&[-0.5f32, -0.125, 0., 3.]));
    ys.sum(None).backward();
    assert_eq!(xs.grad(), Tensor::from_slice(&[0.25f32, 0.25, 0.25, 1.]));
}

#[test]
fn border_widths_follow_their_dimension() {
    let vs = store();
    let config = ConvConfigND::<[i64; 2]> {
        padding: [0, 2],
        padding_mode: PaddingMode::Circular,
        bias: false,
        ws_init: Init::Const(1.),
        ..ConvConfigND::default()
    };
    let ys = conv(vs.root(), 1, 1, [1, 1], config).forward(&randn(&[1, 1, 3, 4]));
    assert_eq!(ys.size(), [1, 1, 3, 8]);
    assert_eq!(ys.i((.., .., .., 0..2)), ys.i((.., .., .., 4..6)));
}

#[test]
fn batch_norm_follows_its_mode_and_obeys_its_argument() {
    let vs = store();
    let bn = batch_norm1d(vs.root(), 2, BatchNormConfig::default());
    let xs = randn(&[8, 2]);
    assert_eq!(bn.forward(&xs), bn.forward_t(&xs, false), "inference is the mode at the start");
    bn.train();
    assert_eq!(bn.forward_t(&xs, false), bn.shallow_clone().unwrap().forward_t(&xs, false));
    assert_eq!(bn.forward(&xs), bn.forward_t(&xs, true));
    bn.eval();
    assert_eq!(bn.forward(&xs), bn.forward_t(&xs, false));
}

#[test]
#[should_panic(expected = "batch_norm2d takes 4 dimensions, got an input of shape [2, 3]")]
fn batch_norm_names_the_shape_it_refuses() {
    let vs = store();
    let _ = batch_norm2d(vs.root(), 3, BatchNormConfig::default()).forward(&randn(&[2, 3]));
}

#[test]
fn dropout_drops_in_training_only() {
    let xs = Tensor::ones([1000], (Kind::Float, Device::Cpu));
    let layer = dropout(0.5);
    assert_eq!(layer.forward(&xs), xs);
    layer.train();
    assert_ne!(layer.forward(&xs), xs);
    assert_eq!(layer.forward_t(&xs, false), xs);
}

/// A layer of somebody else's, which nobody registered.
#[derive(Debug)]
struct Foreign;

impl Module for Foreign {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs + 1
    }
}

#[test]
fn a_sequential_knows_its_layers() {
    let vs = store();
    let net = seq_t()
        .add(conv2d(vs.root() / "0", 3, 4, 1, ConvConfig::default()))
        .add(batch_norm2d(vs.root() / "1", 4, BatchNormConfig::default()))
        .add(Foreign)
        .add_fn(|xs| xs * 2)
        .add(seq().add(relu()));
    let listed: Vec<_> = net.layers().map(|(index, module, name)| (index, module.is_some(), name)).collect();
    assert_eq!(
        listed,
        [
            (0, true, "Conv2D"),
            (1, true, "BatchNorm"),
            (2, false, "Foreign"),
            (3, true, "closure"),
            (4, true, "Sequential")
        ]
    );
    assert_eq!(names(&net), ["0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var"]);
    let modules: Vec<_> = net.named_modules().into_iter().map(|(name, _)| name).collect();
    assert_eq!(modules, ["", "0", "1", "2", "3", "4", "4.0"]);
    assert_eq!(net.layer::<Conv2D>(0).unwrap().config.stride, [1, 1]);
    assert_eq!(
        net.layer::<BatchNorm>(0).unwrap_err().to_string(),
        "layer 0 of the sequential is a `Conv<[i64; 2]>`, not a `BatchNorm`; see what it is built of"
    );
    assert!(matches!(net.layer::<Foreign>(5), Err(Error::Layer { index: 5, expected: "Foreign", found: None })));
}

#[test]
fn layers_of_one_type_come_as_that_type() {
    let vs = store();
    let fc = |name: &str| linear(vs.root() / name, 2, 2, LinearConfig::default());
    let net = seq().add(fc("0")).add(fc("1"));
    assert_eq!(net.layers_as::<Linear>().unwrap().len(), 2);
    assert!(seq_t().layers_as::<Linear>().unwrap().is_empty());
    assert_eq!(
        net.add(relu()).layers_as::<Linear>().unwrap_err().to_string(),
        "layer 2 of the sequential is a `ReLU`, not a `Linear`; see what it is built of"
    );
}

#[test]
fn f_forward_is_inference_and_returns_errors() {
    let vs = store();
    let bn = batch_norm1d(vs.root() / "bn", 2, BatchNormConfig::default());
    let xs = randn(&[8, 2]);
    bn.train();
    assert_eq!(bn.f_forward(&xs).unwrap(), bn.forward_t(&xs, false));
    assert!(bn.f_forward(&randn(&[8, 2, 3, 3])).is_err());
    let net = seq_t().add(bn).add(dropout(0.9)).add(Foreign).add(seq().add(relu()));
    net.train();
    assert_eq!(net.f_forward(&xs).unwrap(), net.forward_t(&xs, false));
    assert!(net.f_forward(&randn(&[8, 3])).is_err());
    let conv = conv2d(vs.root() / "conv", 3, 4, 3, ConvConfig::default());
    assert!(conv.f_forward(&randn(&[1, 2, 8, 8])).is_err());
    assert!(embedding(vs.root(), 3, 1, EmbeddingConfig::default()).f_forward(&Tensor::from_slice(&[3i64])).is_err());
}

#[test]
#[should_panic(expected = "libtorch: ")]
fn the_plain_door_panics_with_the_message() {
    let _ = linear(store().root(), 2, 2, LinearConfig::default()).forward(&randn(&[8, 3]));
}

#[test]
fn the_mode_of_a_sequential_reaches_its_layers() {
    let vs = store();
    let net = seq_t()
        .add(batch_norm1d(vs.root(), 2, BatchNormConfig::default()))
        .add(dropout(0.))
        .add_fn_t(|xs, train| if train { xs + 1 } else { xs - 1 });
    let xs = randn(&[8, 2]);
    assert_eq!(net.forward(&xs), net.forward_t(&xs, false));
    net.train();
    assert_eq!(net.forward(&xs), net.forward_t(&xs, true));
    let bn = net.layer::<BatchNorm>(0).unwrap();
    bn.eval();
    assert_eq!(net.forward(&xs), bn.forward_t(&xs, false) + 1, "a layer keeps a mode of its own");
}

#[test]
fn a_sequential_clones_if_its_layers_do() {
    let vs = store();
    let net = seq().add(linear(vs.root(), 2, 2, LinearConfig::default())).add_fn(|xs| xs * 2);
    let clone = net.shallow_clone().unwrap();
    let xs = randn(&[1, 2]);
    assert_eq!(clone.forward(&xs), net.forward(&xs));
    assert_eq!(net.clone_layer(1).unwrap().forward_t(&xs, false), &xs * 2);
    let message = net.add(Foreign).shallow_clone().unwrap_err().to_string();
    assert_eq!(
        message,
        "cloning a `Foreign` in a sequential is not supported; derive `fx_runtime::Module` for `Foreign`"
    );
}

/// The mean and the variance of each image and channel, by the formula that PyTorch documents.
#[test]
fn instance_norm_is_its_formula() {
    let vs = store();
    let affine =
        InstanceNormConfig { affine: true, ws_init: Init::Randn { mean: 1., stdev: 1. }, ..Default::default() };
    let (plain, affine) =
        (instance_norm2d(vs.root(), 3, InstanceNormConfig::default()), instance_norm2d(vs.root(), 3, affine));
    let xs = randn(&[2, 3, 4, 5]);
    let mean = xs.mean_dim(&[2i64, 3][..], true, Kind::Float);
    let var = (&xs - &mean).square().mean_dim(&[2i64, 3][..], true, Kind::Float);
    let expected = (&xs - &mean) / (var + 1e-5).sqrt();
    assert!(plain.forward(&xs).allclose(&expected, 1e-5, 1e-6, false));
    assert_eq!(plain.forward(&xs.get(1)), plain.forward(&xs).get(1), "an image without a batch");
    let [ws, bs] = [affine.ws.as_ref(), affine.bs.as_ref()].map(|part| part.unwrap().view([1, 3, 1, 1]));
    assert!(affine.forward(&xs).allclose(&(expected * ws + bs), 1e-5, 1e-6, false));
    assert!(plain.f_forward(&randn(&[2, 4, 4, 5])).is_err(), "other channels");
    assert!(plain.f_forward(&randn(&[2, 3, 1, 1])).is_err(), "no variance");
}

/// Running statistics are means over the images, of the unbiased variance, as PyTorch documents.
#[test]
fn instance_norm_tracks_statistics_if_told_to() {
    let vs = store();
    let norm = instance_norm2d(vs.root(), 3, InstanceNormConfig { track_running_stats: true, ..Default::default() });
    let xs = randn(&[2, 3, 4, 5]);
    assert!(
        norm.forward(&xs).allclose(&(&xs / (1f64 + 1e-5).sqrt()), 1e-5, 1e-6, false),
        "the statistics at the start"
    );
    let _ = norm.forward_t(&xs, true);
    let mean = xs.mean_dim(&[2i64, 3][..], false, Kind::Float).mean_dim(0, false, Kind::Float) * 0.1;
    let var = xs.var_dim(&[2i64, 3][..], true, false).mean_dim(0, false, Kind::Float) * 0.1 + 0.9;
    let [found_mean, found_var] = [&norm.running_mean, &norm.running_var].map(|part| part.as_ref().unwrap());
    assert!(found_mean.allclose(&mean, 1e-5, 1e-6, false) && found_var.allclose(&var, 1e-5, 1e-6, false));
    let [mean, var] = [mean, var].map(|part| part.view([1, 3, 1, 1]));
    assert!(norm.forward(&xs).allclose(&((&xs - mean) / (var + 1e-5).sqrt()), 1e-5, 1e-6, false));
}
