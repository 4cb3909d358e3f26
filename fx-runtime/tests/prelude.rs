//! What generated functions import and call, as they do it: from outside the crate.

use fx_runtime::frozen::prelude::*;
use fx_runtime::frozen::{Captured, Frame, Leaf};
use fx_runtime::{Device, Error, Freeze, Tensor, nn};

fn conv(vs: &nn::VarStore) -> nn::Conv2D {
    nn::conv2d(vs.root(), 1, 2, 1, nn::ConvConfig::default())
}

#[test]
fn methods_of_every_trait_are_in_scope() -> Result<(), Error> {
    let vs = nn::VarStore::new(Device::Cpu);
    let conv = conv(&vs);
    let xs = Tensor::from_slice(&[1f32, 2.]).reshape([1, 1, 1, 2]);
    let ys = conv.f_forward(&xs).at("conv", "src/model.rs:1")?;
    assert_eq!(ys, conv.forward_t(&xs, false));
    assert_eq!((ys.i(0).size(), conv.state_dict().len()), (vec![2, 1, 2], 2));
    Ok(())
}

#[test]
fn a_free_function_is_frozen_without_a_model() -> Result<(), Error> {
    let frame = Frame::new("f", &Freeze::default(), &())?;
    assert_eq!((frame.device(), frame.kind()), (Device::Cpu, fx_runtime::Kind::Float));
    let scope = frame.enter();
    assert!(scope.inference_only("train", false).is_ok() && scope.inference_only("train", true).is_err());
    Ok(())
}

#[test]
fn fields_are_kept_by_kind() -> Result<(), Error> {
    let vs = nn::VarStore::new(Device::Cpu);
    let conv = conv(&vs);
    let frame = Frame::new("Net", &Freeze::default(), &conv)?;
    let bias = conv.bs.as_ref().map(|tensor| frame.param(tensor)).transpose()?;
    assert_eq!(bias.as_ref().map(fx_runtime::frozen::Param::tensor).map(Tensor::size), Some(vec![2]));
    let captured: Captured<nn::Conv2D> = fx_runtime::capture!(frame, &conv, "conv")?;
    let leaf = Leaf::new(&frame, &*captured.lock())?;
    assert_eq!(leaf.run(&Tensor::from_slice(&[1f32]).reshape([1, 1, 1, 1]))?.size(), [1, 2, 1, 1]);
    Ok(())
}

#[test]
fn a_graph_can_be_built_through_the_runtime() {
    use fx_runtime::graph;
    let mut built = graph::Graph::new("f");
    let body = built.body();
    let x = built.add_param(body, "x", graph::Type::TENSOR, graph::Origin::default());
    built.push(
        body,
        graph::Op::Yield,
        vec![graph::Arg::Node(x)],
        "output",
        graph::Type::Unknown,
        graph::Origin::default(),
    );
    assert_eq!(built.lint(), Ok(()));
    let _: fx_runtime::Graph = built;
}
