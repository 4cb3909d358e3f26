//! Products with integers against the same weight in floats.

use tch::{Device, Kind, Tensor};

use super::super::epilogue::{BiasAndRelu, Nothing};
use super::super::operands::WeightMatrix;
use super::super::vector::at_each_width;
use super::*;

fn codes(shape: [i64; 2], low: i64, high: i64, kind: Kind) -> Tensor {
    Tensor::randint_low(low, high, shape, (Kind::Int64, Device::Cpu)).to_kind(kind)
}

fn randn(shape: &[i64]) -> Tensor {
    Tensor::randn(shape, (Kind::Float, Device::Cpu))
}

/// The product on these numbers of rows, with and without something added, within eight units of rounding of the sum of
/// its terms' magnitudes.
fn check(weight: &impl WeightMatrix, dense: &Tensor) {
    let [out, depth] = [dense.size()[0], dense.size()[1]];
    let bias: Vec<f32> = Vec::try_from(randn(&[out])).unwrap();
    for rows in [1, 2, 3, 7, 60, 400] {
        let x = randn(&[rows, depth]);
        let wanted = x.to_kind(Kind::Double).mm(&dense.to_kind(Kind::Double).tr());
        let magnitude = x.abs().mm(&dense.abs().tr()).max().double_value(&[]);
        let plain = weight.run(&x, &[rows, out], None, &Nothing).unwrap();
        let near = |found: &Tensor, wanted: &Tensor| {
            let off = (found.to_kind(Kind::Double) - wanted).abs().max().double_value(&[]);
            let bound = 8.0 * f64::from(f32::EPSILON) / 2.0 * (magnitude + 1.0);
            assert!(off <= bound, "{out} x {depth}, {rows} rows: {off}, at most {bound}");
        };
        near(&plain, &wanted);
        let other = randn(&[rows, out]);
        let found = weight.run(&x, &[rows, out], Some(&other), &BiasAndRelu(&bias)).unwrap();
        near(&found, &(wanted + Tensor::from_slice(&bias) + other).relu());
    }
}

#[test]
fn bytes() {
    at_each_width(|| {
        for shape in [[1, 16], [5, 48], [70, 128], [256, 768]] {
            let codes = codes(shape, -128, 128, Kind::Int8);
            let scale = randn(&[shape[0]]).abs() + 0.01;
            let weight = ByteWeight::new(&codes, &scale).unwrap().unwrap();
            let (kept, scales) = weight.parts().unwrap();
            assert_eq!((kept, scales), (codes.shallow_clone(), scale.shallow_clone()));
            check(&weight, &(codes.to_kind(Kind::Float) * scale.unsqueeze(1)));
        }
        let odd = ByteWeight::new(&codes([3, 20], -128, 128, Kind::Int8), &randn(&[3])).unwrap();
        assert!(odd.is_none(), "rows of 20 fill no registers");
        assert!(ByteWeight::new(&codes([3, 16], -128, 128, Kind::Int8), &randn(&[4])).is_err());
    });
}

#[test]
fn half_bytes() {
    at_each_width(|| {
        for ([out, depth], group) in
            [([1, 128], 128), ([5, 256], 16), ([7, 256], 32), ([70, 384], 64), ([33, 768], 128), ([9, 768], 256)]
        {
            let codes = codes([out, depth / 2], 0, 256, Kind::Uint8);
            let (scale, zero) = (randn(&[out, depth / group, 1]).abs() + 0.01, randn(&[out, depth / group, 1]) * 3 + 8);
            let weight = HalfByteWeight::new(&codes, &scale, &zero).unwrap().unwrap();
            let [kept, scales, zeros] = weight.parts().unwrap();
            assert_eq!([kept, scales, zeros], [&codes, &scale, &zero].map(Tensor::shallow_clone));
            check(&weight, &weight.dense().unwrap());
            let low = codes.bitwise_and(15);
            let high = codes.bitwise_right_shift_tensor_scalar(4);
            let numbers = Tensor::stack(&[low, high], 2).view([out, depth / group, group]).to_kind(Kind::Float);
            assert_eq!(weight.dense().unwrap(), ((numbers - zero) * scale).view([out, depth]));
        }
        let few = [codes([2, 20], 0, 256, Kind::Uint8), randn(&[2, 1]), randn(&[2, 1])];
        assert!(HalfByteWeight::new(&few[0], &few[1], &few[2]).unwrap().is_none(), "40 numbers fill no block");
        assert!(HalfByteWeight::new(&few[0], &few[1], &randn(&[2, 2])).is_err());
    });
}

#[test]
fn shorts() {
    at_each_width(|| {
        for (shape, kind) in
            [[1, 16], [5, 48], [70, 128], [256, 768]].into_iter().zip([Kind::BFloat16, Kind::Half].into_iter().cycle())
        {
            let numbers = randn(&shape).to_kind(kind);
            let weight = ShortWeight::new(&numbers).unwrap().unwrap();
            assert_eq!(weight.weight().unwrap(), numbers);
            check(&weight, &numbers.to_kind(Kind::Float));
        }
        assert!(
            ShortWeight::new(&randn(&[3, 20]).to_kind(Kind::Half)).unwrap().is_none(),
            "rows of 20 fill no registers"
        );
        assert!(ShortWeight::new(&randn(&[3, 16])).unwrap().is_none(), "f32");
    });
}
