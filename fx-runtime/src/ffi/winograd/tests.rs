//! Against libtorch's convolution in f64.

use tch::{Device, Kind};

use super::*;
use crate::ffi::epilogue::BiasAndRelu;
use crate::ffi::ops::{MemoryFormat, clone_in};
use crate::ffi::vector::at_each_width;

fn geometry(padding: i64) -> Geometry {
    let pair = |value: i64| Box::from([value, value]);
    Geometry { stride: pair(1), padding: pair(padding), dilation: pair(1), output_padding: None, groups: 1 }
}

#[test]
fn equals_the_direct_sum() {
    if has_lanes() {
        at_each_width(check_all_shapes);
    }
}

fn check_all_shapes() {
    tch::manual_seed(3);
    let cpu = (Kind::Float, Device::Cpu);
    for (batch, channels, out, height, width, padding) in [
        (1, 16, 16, 4, 4, 1),
        (1, 64, 64, 14, 14, 1),
        (2, 32, 48, 7, 9, 1),
        (3, 16, 80, 5, 3, 0),
        (1, 48, 32, 1, 1, 1),
        (1, 16, 32, 6, 11, 2),
        (2, 128, 96, 23, 30, 1),
        (1, 256, 64, 7, 7, 1),
        // Several blocks, of a weight that is kept, and of one that is not.
        (2, 144, 48, 40, 33, 1),
        (1, 272, 304, 17, 19, 1),
    ] {
        let x = clone_in(&Tensor::randn([batch, channels, height, width], cpu), MemoryFormat::ChannelsLast).unwrap();
        let weight = Tensor::randn([out, channels, 3, 3], cpu);
        let bias = Tensor::randn([out], cpu);
        let double = |tensor: &Tensor| tensor.to_kind(Kind::Double);
        let direct = double(&x).conv2d(&double(&weight), Some(double(&bias)), [1, 1], [padding, padding], [1, 1], 1);
        let other = clone_in(&direct.randn_like().to_kind(Kind::Float), MemoryFormat::ChannelsLast).unwrap();
        let expected = (&direct + double(&other)).relu();
        let geometry = geometry(padding);
        assert!(Winograd::fits(&weight.size(), &geometry));
        let packed = Winograd::pack(&weight, &geometry).unwrap();
        let values: Vec<f32> = (&bias).try_into().unwrap();
        let found = packed.run(&x, &Facts::of(&x).unwrap(), Some(&other), &BiasAndRelu(&values)).unwrap().unwrap();
        assert_eq!(found.size(), expected.size());
        let error = (double(&found) - expected).abs().max().double_value(&[]) / direct.abs().max().double_value(&[]);
        assert!(error < 2e-6, "{error:.1e} of {batch}×{channels}×{height}×{width} to {out}");
    }
}
