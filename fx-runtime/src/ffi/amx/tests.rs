//! Against products in f64.

use super::*;
use crate::ffi::epilogue::{BiasAndRelu, Nothing};

const CPU: (Kind, Device) = (Kind::Float, Device::Cpu);

fn double(tensor: &Tensor) -> Tensor {
    tensor.to_kind(Kind::Double)
}

/// The largest difference from the exact product is at most twice what ATen's is. It is relative to the sum of the
/// products' magnitudes, which is what rounding errors grow with.
fn assert_as_exact(found: &Tensor, x: &Tensor, weight: &Tensor) {
    let exact = double(x).matmul(&double(weight).tr());
    let scale = double(x).abs().matmul(&double(weight).abs().tr());
    let error = |y: &Tensor| ((double(y) - &exact).abs() / scale.clamp_min(1e-30)).max().double_value(&[]);
    let (ours, theirs) = (error(found), error(&x.matmul(&weight.tr())));
    assert!(
        ours <= 2.0 * theirs.max(6e-8),
        "{ours:.1e}, ATen's {theirs:.1e}, of {:?} by {:?}",
        x.size(),
        weight.size()
    );
}

#[test]
fn is_as_exact_as_f32() {
    if Amx::of_this_machine() == Amx::Absent {
        return;
    }
    tch::manual_seed(5);
    for (rows, depth, out) in [
        (1, 5, 3),
        (7, 64, 32),
        (5, 3072, 40),
        (47, 130, 100),
        (48, 32, 32),
        (64, 100, 300),
        (9, 33, 33),
        (16, 300, 64),
        (17, 31, 100),
        (49, 512, 96),
        (128, 768, 770),
        (197, 257, 31),
        (500, 1030, 65),
        (2000, 40, 32),
        (1300, 3072, 96),
    ] {
        let (x, weight) = (Tensor::randn([rows, depth], CPU), Tensor::randn([out, depth], CPU));
        let packed = SplitMatrix::pack(&weight).unwrap().unwrap();
        assert_eq!(packed.dense_weight().unwrap(), weight);
        assert_as_exact(&packed.run(&x, &[rows, out], None, &Nothing).unwrap(), &x, &weight);

        let (bias, other) = (Tensor::randn([out], CPU), Tensor::randn([rows, out], CPU));
        let values: Vec<f32> = (&bias).try_into().unwrap();
        let expected = (double(&x).matmul(&double(&weight).tr()) + double(&bias) + double(&other)).relu();
        let found = packed.run(&x, &[rows, out], Some(&other), &BiasAndRelu(&values)).unwrap();
        let difference = (double(&found) - &expected).abs().max().double_value(&[]);
        assert!(
            difference < 1e-5 * expected.max().double_value(&[]).max(1.0),
            "{difference} of {rows}×{depth} by {out}"
        );
    }
}

#[test]
fn numbers_of_all_sizes_keep_their_digits() {
    if Amx::of_this_machine() == Amx::Absent {
        return;
    }
    tch::manual_seed(6);
    // Magnitudes from 2^-40 to 2^40, each row of its own.
    let scales = Tensor::linspace(-40, 40, 160, CPU).exp2().unsqueeze(1);
    let (x, weight) = (Tensor::randn([160, 200], CPU) * &scales, Tensor::randn([64, 200], CPU));
    let packed = SplitMatrix::pack(&weight).unwrap().unwrap();
    let found = packed.run(&x, &[160, 64], None, &Nothing).unwrap();
    assert_as_exact(&found, &x, &weight);
}

#[test]
fn what_is_not_finite_is_as_in_the_plain_product() {
    if Amx::of_this_machine() == Amx::Absent {
        return;
    }
    tch::manual_seed(7);
    let (x, weight) = (Tensor::rand([70, 96], CPU) + 0.5, Tensor::rand([80, 96], CPU) + 0.5);
    for (value, row) in [(f64::INFINITY, 3), (f64::NEG_INFINITY, 40), (f64::NAN, 69), (3.4e38, 10)] {
        let _ = x.get(row).get(5).fill_(value);
    }
    let _ = weight.get(77).get(9).fill_(f64::INFINITY);
    let _ = weight.get(2).get(9).fill_(0.0);
    let packed = SplitMatrix::pack(&weight).unwrap().unwrap();
    let found = packed.run(&x, &[70, 80], None, &Nothing).unwrap();
    let expected = x.matmul(&weight.tr());
    assert!(found.allclose(&expected, 1e-5, 1e-6, true), "{:?}", found.ne_tensor(&expected).nonzero());
}
