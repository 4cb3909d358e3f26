//! Attention against sums in f64, at sizes of one row to several blocks of keys.

use tch::{Device, Kind, Tensor};

use super::{Factors, Mask, attend};
use crate::ffi::vector::at_each_width;

/// Waves: numbers that no seed changes.
fn waves(shape: [i64; 4], phase: f64) -> Tensor {
    let count: i64 = shape.iter().product();
    let waves = ((Tensor::arange(count, (Kind::Double, Device::Cpu)) * 0.7 + phase).sin()).reshape(shape);
    waves.to_kind(Kind::Float)
}

/// Written out, in f64.
fn exact([q, k, v]: [&Tensor; 3], mask: impl Fn(Tensor) -> Tensor) -> Tensor {
    let [q, k, v] = [q, k, v].map(|tensor| tensor.to_kind(Kind::Double));
    mask(q.matmul(&k.transpose(-2, -1)) * 0.5).softmax(-1, None).matmul(&v)
}

#[track_caller]
fn assert_near(operands: [&Tensor; 3], mask: Mask<'_>, wanted: &Tensor) {
    // Numbers of bf16 have 8 bits; scores of up to `depth / 2` are a weight's exponent.
    assert_within(operands, mask, Factors::F32, wanted, 2e-5);
    assert_within(operands, mask, Factors::Bf16, wanted, 4e-2);
}

#[track_caller]
fn assert_within(operands: [&Tensor; 3], mask: Mask<'_>, factors: Factors, wanted: &Tensor, tolerance: f64) {
    let found = attend(operands, mask, 0.5, factors).unwrap().unwrap();
    assert_eq!(found.size(), wanted.size());
    let found = found.to_kind(Kind::Double);
    assert_eq!(found.isnan(), wanted.isnan());
    let difference = (found.nan_to_num(0.0, None, None) - wanted.nan_to_num(0.0, None, None)).abs().max();
    let shapes = operands.map(Tensor::size);
    assert!(difference.double_value(&[]) <= tolerance, "{factors:?} {shapes:?}: {difference}");
}

/// `[batches, heads, rows, keys, depth, width]`, in pieces of one row to several blocks of keys.
const SIZES: [[i64; 6]; 8] = [
    [1, 1, 8, 1, 1, 1],
    [2, 3, 9, 7, 5, 6],
    [1, 12, 128, 128, 64, 64],
    [1, 2, 197, 197, 64, 64],
    [2, 1, 33, 600, 40, 36],
    [1, 1, 300, 1100, 32, 70],
    [1, 3, 29, 512, 3, 32],
    [3, 2, 570, 544, 65, 33],
];

fn operands([batches, heads, rows, keys, depth, width]: [i64; 6]) -> [Tensor; 3] {
    let value = waves([batches, heads, keys, width], 2.3);
    [waves([batches, heads, rows, depth], 0.1), waves([batches, heads, keys, depth], 1.2), value]
}

#[test]
fn attends_at_any_size() {
    at_each_width(|| {
        for operands in SIZES.map(operands) {
            let operands = operands.each_ref();
            assert_near(operands, Mask::Nothing, &exact(operands, |scores| scores));
        }
    });
}

#[test]
fn a_causal_query_sees_no_key_behind_it() {
    at_each_width(|| {
        for (sizes, operands) in SIZES.map(|sizes| (sizes, operands(sizes))) {
            let operands = operands.each_ref();
            let behind = Tensor::ones([sizes[2], sizes[3]], (Kind::Bool, Device::Cpu)).triu(1);
            let wanted = exact(operands, |scores| scores.masked_fill(&behind, f64::NEG_INFINITY));
            assert_near(operands, Mask::Causal, &wanted);
        }
    });
}

/// Masks of any shape that broadcasts, some of which hide all keys.
#[test]
fn masks_apply_as_written() {
    for sizes in SIZES {
        let [batches, heads, rows, keys, ..] = sizes;
        let operands = operands(sizes);
        let operands = operands.each_ref();
        let shapes = [[batches, heads, rows, keys], [1, 1, rows, keys], [batches, 1, 1, keys], [1, heads, rows, 1]];
        for shape in shapes {
            let numbers = waves(shape, 0.4);
            assert_near(operands, Mask::Added(&numbers, 7.0), &exact(operands, |scores| scores + &numbers));
            let hidden = numbers.gt(0.0);
            for fill in [-1e9, f64::NEG_INFINITY] {
                let wanted = exact(operands, |scores| scores.masked_fill(&hidden, fill));
                #[allow(clippy::cast_possible_truncation, reason = "a number of f32")]
                assert_near(operands, Mask::Filled(&hidden, fill as f32), &wanted);
            }
            let wanted = exact(operands, |scores| scores.masked_fill(&hidden, f64::NEG_INFINITY));
            let seen = hidden.logical_not();
            assert_near(operands, Mask::Seen(&seen), &wanted.nan_to_num(0.0, None, None));
            let infinite = numbers.masked_fill(&hidden, f64::NEG_INFINITY);
            let wanted = exact(operands, |scores| scores + &infinite);
            assert_near(operands, Mask::Added(&infinite, f32::NAN), &wanted);
        }
    }
}

/// Views of all kinds: heads of one tensor, columns apart, keys and masks that broadcast, fewer axes.
#[test]
fn operands_may_lie_anyhow() {
    let all = waves([2, 9, 3, 24], 0.2).reshape([2, 9, 3, 4, 6]).permute([2, 0, 3, 1, 4]);
    let [q, k, v] = [0, 1, 2].map(|at| all.get(at));
    let apart = k.transpose(-2, -1).contiguous().transpose(-2, -1);
    let shared = v.narrow(1, 0, 1);
    let single = k.narrow(0, 1, 1).expand([2, 4, 9, 6], false);
    for operands in [[&q, &k, &v], [&q, &apart, &apart], [&q, &k, &shared], [&shared, &shared, &q], [&q, &single, &v]] {
        assert_near(operands, Mask::Nothing, &exact(operands, |scores| scores));
        let mask = waves([9, 9, 2, 1], 0.7).reshape([9, 18]).narrow(1, 0, 9).tr();
        assert_near(operands, Mask::Added(&mask, 0.0), &exact(operands, |scores| scores + &mask));
    }
    let [q3, k3, v3] = [&q, &k, &v].map(|operand| operand.get(1));
    let mask = waves([4, 1, 9, 1], 0.7).reshape([4, 1, 9]);
    assert_near([&q3, &k3, &v3], Mask::Added(&mask, 0.0), &exact([&q3, &k3, &v3], |scores| scores + &mask));
    assert_near([&q, &k3, &v], Mask::Added(&mask, 0.0), &exact([&q, &k3, &v], |scores| scores + &mask));
    let [q2, k2, v2] = [&q3, &k3, &v3].map(|operand| operand.get(2));
    assert_near(
        [&q2, &k2, &v2],
        Mask::Causal,
        &exact([&q2, &k2, &v2], |scores| {
            scores.masked_fill(&Tensor::ones([9, 9], (Kind::Bool, Device::Cpu)).triu(1), f64::NEG_INFINITY)
        }),
    );
    assert!(attend([&q3, &k3, &v3], Mask::Nothing, 0.5, Factors::F32).unwrap().unwrap().is_contiguous());
}

/// NaN and infinity reach the rows that they belong to, and large scores do no harm.
#[test]
fn numbers_that_are_none_stay() {
    let [q, k, v] = operands([1, 2, 40, 600, 8, 8]);
    for (at, number) in [(3, f64::NAN), (5, f64::INFINITY), (7, 1e30), (11, -1e30)] {
        let _ = q.get(0).get(1).get(at).fill_(number);
    }
    assert_near([&q, &k, &v], Mask::Nothing, &exact([&q, &k, &v], |scores| scores));
    let _ = v.get(0).get(0).get(599).fill_(f64::NAN);
    assert_near([&q, &k, &v], Mask::Nothing, &exact([&q, &k, &v], |scores| scores));
}

#[test]
fn what_does_not_fit_is_left() {
    let [q, k, v] = operands([2, 3, 9, 7, 5, 6]);
    let is_left = |q: &Tensor, k: &Tensor, v: &Tensor| attend([q, k, v], Mask::Nothing, 0.5, Factors::F32).is_none();
    assert!(is_left(&q, &k.narrow(2, 0, 6), &v));
    assert!(is_left(&q.narrow(3, 0, 4), &k, &v));
    assert!(is_left(&q.narrow(1, 0, 2), &k, &v));
    assert!(is_left(&q.narrow(2, 0, 1), &k, &v));
    assert!(is_left(&q.narrow(2, 0, 0), &k, &v));
    assert!(is_left(&q.to_kind(Kind::Double), &k, &v));
    assert!(is_left(&q.unsqueeze(0), &k, &v));
    assert!(attend([&q, &k, &v], Mask::Nothing, -1.0, Factors::F32).is_none());
    for mask in [waves([4, 3, 9, 7], 0.1), waves([1, 1, 8, 7], 0.1), waves([1, 1, 1, 7], 0.1).to_kind(Kind::Half)] {
        assert!(attend([&q, &k, &v], Mask::Added(&mask, 0.0), 0.5, Factors::F32).is_none());
    }
}
