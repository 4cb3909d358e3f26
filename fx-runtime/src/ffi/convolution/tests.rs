//! Both ways to oneDNN against ATen's own operators.

use tch::{Device, Kind};

use super::super::ops::{self, MemoryFormat};
use super::*;

/// Kernel, input channels, output channels, groups, stride, padding, dilation.
type Layer = (&'static [i64], i64, i64, i64, i64, i64, i64);

const LAYERS: [Layer; 12] = [
    (&[1, 1], 16, 24, 1, 1, 0, 1),
    (&[1, 1], 16, 24, 1, 2, 0, 1),
    (&[1, 1], 48, 50, 1, 1, 1, 1),
    (&[3, 3], 3, 32, 1, 2, 1, 1),
    (&[3, 3], 17, 19, 1, 1, 1, 1),
    (&[3, 3], 16, 16, 1, 1, 2, 2),
    (&[3, 3], 32, 32, 32, 2, 1, 1),
    (&[5, 3], 32, 64, 32, 1, 2, 1),
    (&[3, 3], 32, 48, 4, 1, 1, 1),
    (&[7, 7], 3, 64, 1, 2, 3, 1),
    (&[3, 3, 3], 4, 8, 1, 1, 1, 1),
    (&[1, 2, 3], 8, 8, 8, 2, 1, 1),
];

const POSTS: [PostOp; 3] = [PostOp::None, PostOp::Relu, PostOp::Clip(-0.25, 0.5)];

fn random(sizes: &[i64], kind: Kind) -> Tensor {
    Tensor::randn(sizes, (Kind::Float, Device::Cpu)).to_kind(kind)
}

fn geometry(&(kernel, _, _, groups, stride, padding, dilation): &Layer) -> Geometry {
    let list = |value| vec![value; kernel.len()].into_boxed_slice();
    Geometry { stride: list(stride), padding: list(padding), dilation: list(dilation), output_padding: None, groups }
}

fn input(&(kernel, channels, ..): &Layer, batch: i64, size: i64) -> Vec<i64> {
    [batch, channels].into_iter().chain((size..).take(kernel.len())).collect()
}

fn weight(&(kernel, channels, out, groups, ..): &Layer, kind: Kind) -> Tensor {
    let shape = [&[out, channels / groups], kernel].concat();
    let dense = random(&shape, Kind::Float);
    (&dense / dense.get(0).norm()).to_kind(kind)
}

/// In f64, without oneDNN.
fn expected(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, layer: &Layer, post: &PostOp) -> Tensor {
    let at = geometry(layer);
    let wide = |tensor: &Tensor| tensor.to_kind(Kind::Double).contiguous();
    let y = wide(x).convolution(
        &wide(weight),
        bias.map(wide).as_ref(),
        &*at.stride,
        &*at.padding,
        &*at.dilation,
        false,
        &*vec![0; at.stride.len()],
        at.groups,
    );
    match post {
        PostOp::None => y,
        PostOp::Relu => y.relu(),
        _ => y.clamp(-0.25, 0.5),
    }
}

fn check(found: &Tensor, expected: &Tensor, what: &str) {
    assert_eq!(found.size(), expected.size(), "{what}");
    let tolerance = if found.kind() == Kind::Float { 5e-6 } else { 2e-2 };
    let difference = (found.to_kind(Kind::Double) - expected).abs().max().double_value(&[]);
    let largest = expected.abs().max().double_value(&[]).max(1e-3);
    assert!(difference <= tolerance * largest, "{what}: {difference} of {largest}");
}

/// A tensor of ever other strides: plain, `channels_last`, a window of a larger one, one value for all.
fn orders(x: &Tensor) -> Vec<Tensor> {
    let format = if x.dim() == 5 { MemoryFormat::ChannelsLast3d } else { MemoryFormat::ChannelsLast };
    let wide = Tensor::cat(&[x, x], -1);
    let length = x.size()[x.dim() - 1];
    vec![
        x.shallow_clone(),
        ops::clone_in(x, format).unwrap(),
        wide.narrow(-1, length, length),
        x.narrow(1, 0, 1).expand_as(x),
    ]
}

fn both_ways(weight: &Tensor, bias: Option<&Tensor>, geometry: &Geometry) -> [PackedConv; 2] {
    [
        PackedConv::Direct(Box::new(DirectConv::pack(weight, bias, geometry).unwrap().unwrap())),
        PackedConv::Shim(ShimConv::pack(weight, bias, geometry.clone()).unwrap().unwrap()),
    ]
}

fn compare(layer: &Layer, kind: Kind, has_bias: bool) {
    let weight = weight(layer, kind);
    let bias = has_bias.then(|| random(&[layer.2], kind));
    let ways = both_ways(&weight, bias.as_ref(), &geometry(layer));
    for (batch, size) in [(1, 7), (3, 12), (1, 7)] {
        for x in orders(&random(&input(layer, batch, size), kind)) {
            let plain = expected(&x, &weight, bias.as_ref(), layer, &PostOp::None);
            let other = random(&plain.size(), kind);
            for way in &ways {
                assert_eq!(way.dense_weight().unwrap(), weight);
                assert_eq!(way.bias().map(Param::tensor), bias.as_ref());
                let what = format!("{layer:?} {kind:?} {:?} {:?} {way:.20?}", x.size(), x.stride());
                for post in &POSTS {
                    let expected = expected(&x, &weight, bias.as_ref(), layer, post);
                    check(&way.run(&x, post).unwrap(), &expected, &what);
                }
                for other in orders(&other) {
                    let sum = &plain + other.to_kind(Kind::Double);
                    check(&way.run_add(&x, &other, &PostOp::None).unwrap(), &sum, &what);
                    if kind == Kind::Float {
                        check(&way.run_add(&x, &other, &POSTS[1]).unwrap(), &sum.relu(), &what);
                    }
                }
            }
        }
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "there is one way")]
fn every_layer_both_ways() {
    for layer in &LAYERS {
        compare(layer, Kind::Float, true);
        compare(layer, Kind::Float, false);
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "there is one way")]
fn half_precision_both_ways() {
    for kind in [(Kind::BFloat16, ops::onednn_has_bf16()), (Kind::Half, ops::onednn_has_f16())] {
        for layer in LAYERS.iter().filter(|_| kind.1) {
            compare(layer, kind.0, true);
        }
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "there is one way")]
fn eight_threads_with_shapes_of_their_own() {
    for layer in [&LAYERS[3], &LAYERS[4], &LAYERS[6]] {
        let weight = weight(layer, Kind::Float);
        for way in both_ways(&weight, None, &geometry(layer)) {
            std::thread::scope(|scope| {
                for thread in 0..8 {
                    let (way, weight) = (&way, weight.shallow_clone());
                    scope.spawn(move || {
                        let inputs: Vec<_> = (0..3)
                            .map(|turn| {
                                let x = random(&input(layer, 1 + thread % 4, 8 + turn), Kind::Float);
                                let y = expected(&x, &weight, None, layer, &POSTS[1]);
                                (x, y)
                            })
                            .collect();
                        for (x, y) in inputs.iter().cycle().take(60) {
                            check(&way.run(x, &POSTS[1]).unwrap(), y, "a thread");
                        }
                    });
                }
            });
        }
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "there is one way")]
fn ever_new_shapes_do_not_pile_up() {
    let layer = &LAYERS[4];
    let weight = weight(layer, Kind::Float);
    let conv = DirectConv::pack(&weight, None, &geometry(layer)).unwrap().unwrap();
    for size in (4..40).chain(4..6) {
        let x = random(&input(layer, 1, size), Kind::Float);
        check(&conv.run(&x, None, &PostOp::None).unwrap(), &expected(&x, &weight, None, layer, &PostOp::None), "new");
        assert!(conv.kept() <= (8, 9), "plans and layouts: {:?}", conv.kept());
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "there is one way")]
fn the_number_of_threads_may_change() {
    let layer = &LAYERS[4];
    let weight = weight(layer, Kind::Float);
    let conv = DirectConv::pack(&weight, None, &geometry(layer)).unwrap().unwrap();
    let x = random(&input(layer, 2, 20), Kind::Float);
    let y = expected(&x, &weight, None, layer, &PostOp::None);
    // On a thread of its own, since the setting is one of the thread's.
    std::thread::scope(|scope| {
        let conv = &conv;
        scope.spawn(move || {
            let before = tch::get_num_threads();
            for threads in [1, before, 3, 1] {
                tch::set_num_threads(threads);
                check(&conv.run(&x, None, &PostOp::None).unwrap(), &y, "threads");
            }
            tch::set_num_threads(before);
        });
    });
}
