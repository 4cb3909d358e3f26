//! Against products in f64.

use tch::{Device, Kind, Tensor};

use super::*;
use crate::ffi::epilogue::{BiasAndRelu, Nothing};
use crate::ffi::vector::at_each_width;

const CPU: (Kind, Device) = (Kind::Float, Device::Cpu);

fn matrix(weight: &Tensor) -> Option<UnpackedWeight> {
    UnpackedWeight::new(Param::copied(weight).unwrap())
}

fn double(tensor: &Tensor) -> Tensor {
    tensor.to_kind(Kind::Double)
}

#[test]
fn is_as_exact_as_aten() {
    at_each_width(check_all_shapes);
}

fn check_all_shapes() {
    tch::manual_seed(3);
    // Whole blocks and what is left of rows, columns and runs; many rows; one of each.
    for (rows, depth, out) in [
        (1, 16, 1),
        (2, 32, 7),
        (3, 768, 32),
        (5, 784, 33),
        (128, 768, 100),
        (7, 2320, 41),
        (370, 256, 65),
        // ATen's.
        (400, 256, 65),
        (130, 1040, 9),
    ] {
        let (x, weight) = (Tensor::randn([rows, depth], CPU), Tensor::randn([out, depth], CPU));
        let Some(packed) = matrix(&weight) else { return };
        let (bias, other) = (Tensor::randn([out], CPU), Tensor::randn([rows, out], CPU));
        let exact = double(&x).matmul(&double(&weight).tr());
        let error = |found: &Tensor, exact: &Tensor| (double(found) - exact).abs().max().double_value(&[]);
        let plain = packed.run(&x, &[rows, out], None, &Nothing).unwrap();
        let aten = error(&x.linear(&weight, None::<&Tensor>), &exact);
        assert!(
            error(&plain, &exact) <= 1.5 * aten + 1e-6,
            "{rows}x{depth}x{out}: {} against {aten}",
            error(&plain, &exact)
        );
        let values: Vec<f32> = (&bias).try_into().unwrap();
        let expected = (exact + double(&bias) + double(&other)).relu();
        let found = packed.run(&x, &[rows, out], Some(&other), &BiasAndRelu(&values)).unwrap();
        assert!(error(&found, &expected) <= 1.5 * aten + 2e-6, "{rows}x{depth}x{out} with a epilogue");
    }
}

#[test]
fn keeps_what_is_not_finite() {
    let Some(packed) = matrix(&Tensor::ones([40, 64], CPU)) else { return };
    let x = Tensor::ones([4, 64], CPU);
    let _ = x.get(1).get(5).fill_(f64::INFINITY);
    let _ = x.get(2).get(63).fill_(f64::NAN);
    let y = packed.run(&x, &[4, 40], None, &Nothing).unwrap();
    assert!(y.get(0).eq(64.0).all().int64_value(&[]) == 1 && y.get(3).eq(64.0).all().int64_value(&[]) == 1);
    assert!(y.get(1).eq(f64::INFINITY).all().int64_value(&[]) == 1 && y.get(2).isnan().all().int64_value(&[]) == 1);
}

#[test]
fn takes_rows_that_fill_registers_and_lie_one_after_the_other() {
    assert!(UnpackedWeight::takes([3, 64]) && !UnpackedWeight::takes([3, 60]) && !UnpackedWeight::takes([3, 0]));
    assert!(matrix(&Tensor::ones([3, 60], CPU)).is_none() && matrix(&Tensor::ones([0, 64], CPU)).is_none());
    assert!(matrix(&Tensor::ones([64, 32], CPU).tr()).is_none());
    assert!(matrix(&Tensor::ones([2, 3, 16], CPU)).is_none());
}

#[test]
fn shares_the_weight() {
    let weight = Param::copied(&Tensor::ones([32, 32], CPU)).unwrap();
    let address = weight.data_ptr();
    if let Some(packed) = UnpackedWeight::new(weight) {
        assert_eq!(packed.weight().data_ptr(), address);
    }
}
