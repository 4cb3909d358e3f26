//! Both ways to oneDNN against ATen's linear.

use tch::{Device, Kind, Tensor};

use super::*;

fn randn(size: &[i64]) -> Tensor {
    Tensor::randn(size, (Kind::Float, Device::Cpu))
}

fn check(found: &Tensor, expected: &Tensor, what: &str) {
    let off = (found - expected).abs().max().double_value(&[]);
    assert!(found.size() == expected.size() && off < 1e-4, "{what}: {off} off");
}

#[test]
fn both_ways_compute_the_same() {
    for [out, columns] in [[48, 40], [384, 512], [7, 3]] {
        let (weight, bias) = (randn(&[out, columns]) / 16.0, randn(&[out]));
        for bias in [None, Some(&bias)] {
            let shim = ShimLinear::pack(&weight, bias).unwrap().unwrap();
            let packed = PackedLinear::pack(&weight, bias).unwrap().unwrap();
            assert_eq!(packed.dense_weight().unwrap(), weight);
            for way in [packed, PackedLinear::Shim(shim)] {
                for rows in [&[][..], &[1], &[9], &[2, 130]] {
                    let x = randn(&[rows, &[columns]].concat());
                    let sizes = [rows, &[out]].concat();
                    let (expected, other) = (x.linear(&weight, bias), randn(&sizes));
                    let what = format!("{way:?} of {sizes:?}");
                    check(&way.run(&x, &sizes, &PostOp::Relu).unwrap(), &expected.relu(), &what);
                    let sum = &expected + &other;
                    check(&way.run_add(&x, &sizes, &other, &PostOp::None).unwrap(), &sum, &what);
                    if way.applies_to_sums() {
                        check(&way.run_add(&x, &sizes, &other, &PostOp::Tanh).unwrap(), &sum.tanh(), &what);
                    }
                }
            }
        }
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "there is one way")]
fn ever_new_numbers_of_rows_do_not_pile_up() {
    let weight = randn(&[128, 96]) / 16.0;
    let PackedLinear::Direct(direct) = PackedLinear::pack(&weight, None).unwrap().unwrap() else {
        panic!("oneDNN is not called directly");
    };
    for rows in (1..200).step_by(7).chain([1, 128]) {
        let x = randn(&[rows, 96]);
        let found = direct.run_rows(&x, &[rows, 128], None, &PostOp::None).unwrap();
        check(&found, &x.linear(&weight, None::<&Tensor>), "rows");
        assert!(direct.kept() <= (8, 3), "plans and layouts: {:?}", direct.kept());
    }
}
