//! Loops on codes against libtorch.

use tch::{Device, Kind, Tensor};

use super::*;
use crate::ffi::vector::at_each_width;

const OF: PerTensor = PerTensor { scale: 0.05, zero_point: 117 };

fn random(shape: &[i64]) -> Tensor {
    tch::manual_seed(3);
    Tensor::randn(shape, (Kind::Float, Device::Cpu)) * 3.0
}

fn codes(shape: &[i64]) -> Tensor {
    tch::manual_seed(5);
    Tensor::randint(256, shape, (Kind::Uint8, Device::Cpu))
}

/// libtorch's own codes.
fn quantized(x: &Tensor, of: PerTensor) -> Tensor {
    x.quantize_per_tensor(f64::from(of.scale), i64::from(of.zero_point), Kind::QUInt8)
}

#[test]
fn codes_are_libtorchs() {
    at_each_width(|| {
        for x in
            [random(&[3, 5]), random(&[2, 7, 9, 11]), random(&[2, 7, 9, 11]).permute([0, 2, 3, 1]), random(&[200_001])]
        {
            let ours = quantize(&x, OF).unwrap();
            assert_eq!(ours, quantized(&x, OF).int_repr(), "{:?}", x.size());
            assert_eq!(dequantize(&ours, OF).unwrap(), quantized(&x, OF).dequantize(), "{:?}", x.size());
        }
    });
}

#[test]
fn halves_go_to_even_codes_and_the_rest_to_the_ends() {
    let of = PerTensor { scale: 1.0, zero_point: 1 };
    let x = Tensor::from_slice(&[0.5_f32, 1.5, 2.5, -0.5, -1e30, 1e30, f32::NAN, f32::INFINITY]);
    let ours: Vec<u8> = Vec::try_from(quantize(&x, of).unwrap()).unwrap();
    assert_eq!(ours, [1, 3, 3, 1, 0, 255, 0, 255]);
}

#[test]
fn tables_are_looked_up() {
    let x = codes(&[2, 3, 5, 7]).contiguous();
    let table: [u8; 256] = std::array::from_fn(|code| 255 - u8::try_from(code).unwrap());
    assert_eq!(look_up(&x, &table).unwrap(), -x + 255);
}

#[test]
fn sums_and_products_are_those_of_the_numbers() {
    let (a, b) = (codes(&[2, 8, 5, 3]), codes(&[2, 5, 3, 8]).permute([0, 3, 1, 2]));
    let [of_a, of_b] = [OF, PerTensor { scale: 0.031, zero_point: 90 }];
    let result = PerTensor { scale: 0.09, zero_point: 130 };
    let (x, y) = (dequantize(&a, of_a).unwrap(), dequantize(&b, of_b).unwrap());
    at_each_width(|| {
        for (combination, exact) in [(Combination::Sum, &x + &y), (Combination::Product, &x * &y)] {
            for relu in [false, true] {
                let exact = if relu { exact.relu() } else { exact.shallow_clone() };
                let ours = combine(combination, [(&a, of_a), (&b, of_b)], result, relu).unwrap();
                assert_eq!(ours, quantized(&exact, result).int_repr(), "{combination:?} {relu}");
            }
        }
    });
}

#[test]
fn sizes_that_differ_are_refused() {
    let error = combine(Combination::Sum, [(&codes(&[2]), OF), (&codes(&[3]), OF)], OF, false).unwrap_err();
    assert!(error.to_string().contains("codes of different sizes"), "{error}");
    assert!(quantize(&codes(&[2]), OF).is_err() && dequantize(&random(&[2]), OF).is_err());
}

#[test]
fn the_largest_code_is_atens() {
    let x = codes(&[2, 5, 11, 9]);
    for (kernel, stride, padding, dilation) in [(3, 2, 1, 1), (2, 2, 0, 1), (3, 1, 1, 2), (3, 3, 0, 1), (1, 1, 0, 1)] {
        for ceil_mode in [false, true] {
            let pooling = Pooling {
                kernel: [kernel; 2],
                stride: [stride; 2],
                padding: [padding; 2],
                dilation: [dilation; 2],
                ceil_mode,
            };
            let ours = max_pool(&x, &pooling).unwrap();
            let both = |size: usize| [i64::try_from(size).unwrap(); 2];
            let wanted =
                x.to_kind(Kind::Float).max_pool2d(both(kernel), both(stride), both(padding), both(dilation), ceil_mode);
            assert_eq!(ours.to_kind(Kind::Float), wanted, "{pooling:?}");
        }
    }
}

#[test]
fn a_window_larger_than_the_image_is_refused() {
    let pooling = Pooling { kernel: [5; 2], stride: [1; 2], padding: [0; 2], dilation: [1; 2], ceil_mode: false };
    assert!(max_pool(&codes(&[1, 1, 3, 3]), &pooling).is_err());
}

#[test]
fn means_are_rounded_to_even() {
    let x = codes(&[3, 17, 7, 7]);
    let wanted = x.to_kind(Kind::Double).mean_dim([2, 3].as_slice(), true, Kind::Double).round();
    assert_eq!(average(&x).unwrap().to_kind(Kind::Double), wanted);
}

#[test]
fn blocks_are_those_of_pixel_unshuffle() {
    for (sizes, side, before, count) in [
        ([2, 3, 8, 6], 2, [0, 0], [4, 3]),
        ([2, 3, 9, 7], 2, [3, 1], [7, 5]),
        ([1, 1, 5, 11], 3, [2, 4], [2, 6]),
        ([2, 2, 4, 4], 2, [5, 6], [5, 5]),
    ] {
        let x = codes(&sizes);
        let whole = |size: usize| i64::try_from(size).unwrap();
        // So much border that blocks are cut off behind.
        let [top, left] = before.map(whole);
        let padded = x.constant_pad_nd([left, 40, top, 40]);
        let filled =
            &padded + Tensor::ones_like(&x).constant_pad_nd([left, 40, top, 40]).eq(0).to_kind(Kind::Uint8) * 7;
        let [height, width] = count.map(|count| whole(count * side));
        let wanted = filled.narrow(2, 0, height).narrow(3, 0, width).pixel_unshuffle(whole(side));
        for x in [
            x.shallow_clone(),
            x.permute([0, 2, 3, 1]).contiguous().permute([0, 3, 1, 2]),
            x.transpose(2, 3).contiguous().transpose(2, 3),
        ] {
            let ours = as_blocks(&x, Blocks { side, before, count }, 7).unwrap();
            assert_eq!(ours, wanted, "{sizes:?} {side} {before:?}");
            assert_eq!(ours.stride()[1], 1);
        }
    }
    let error = as_blocks(&random(&[1, 3, 4, 4]), Blocks { side: 2, before: [0; 2], count: [2; 2] }, 0).unwrap_err();
    assert!(error.to_string().contains("u8 on the CPU"), "{error}");
}
