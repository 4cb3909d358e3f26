//! Every kernel of a convolution against the ATen composition.

use tch::Kind;

use super::cudnn::Fused;
use super::kernel::geometry;
use super::*;
use crate::ffi::{Winograd, ops};
use crate::frame::layout::channels_last_of;
use crate::frame::tune::tests::Told;
use crate::frozen::activation::EVERY_ACTIVATION;
use crate::frozen::oracle::{both, check, frame, randn};
use crate::nn::PaddingMode;
use crate::{Backend, Freeze};

/// A layer's shape: `[batch, in, ..]`, out channels, kernel.
struct Case {
    input: &'static [i64],
    out: i64,
    kernel: &'static [i64],
    params: ConvParams,
}

fn case(input: &'static [i64], out: i64, kernel: &'static [i64], params: ConvParams) -> Case {
    Case { input, out, kernel, params }
}

fn strided(stride: i64, padding: i64, dilation: i64, groups: i64) -> ConvParams {
    ConvParams {
        stride: vec![stride],
        padding: vec![padding],
        dilation: vec![dilation],
        groups,
        ..ConvParams::default()
    }
}

fn transposed(stride: i64, padding: i64, output_padding: i64, groups: i64) -> ConvParams {
    ConvParams { transposed: true, output_padding: vec![output_padding], ..strided(stride, padding, 1, groups) }
}

impl Case {
    fn weight(&self, kind: Kind) -> Tensor {
        let (channels, groups) = (self.input[1], self.params.groups);
        let head = if self.params.transposed { [channels, self.out / groups] } else { [self.out, channels / groups] };
        let shape = [&head[..], self.kernel].concat();
        randn(&shape, kind) / f64::from(u32::try_from(shape[1..].iter().product::<i64>()).unwrap()).sqrt()
    }

    /// Both layers on the case's input, plain and `channels_last`, with and without something added.
    fn compare(&self, kind: Kind, bias: bool, act: Activation) {
        let (best, composed) = both(kind);
        let weight = self.weight(kind);
        let bias = bias.then(|| randn(&[self.out], kind));
        let best = Conv::pack(&best, &weight, bias.as_ref(), &self.params, act).unwrap();
        let composed = Conv::pack(&composed, &weight, bias.as_ref(), &self.params, act).unwrap();
        let plain = randn(self.input, kind);
        let what = format!("{best:?} {kind:?} {:?} of {:?}", self.params, self.input);
        let expected = composed.run(&plain).unwrap();
        let (other, row) = (randn(&expected.size(), kind), randn(&expected.size()[2..], kind));
        let added = composed.run_add(&plain, &other).unwrap();
        let inputs = match channels_last_of(plain.dim()) {
            Some(format) => vec![plain.shallow_clone(), ops::clone_in(&plain, format).unwrap()],
            None => vec![plain.shallow_clone(), plain.transpose(1, 2).contiguous().transpose(1, 2)],
        };
        for x in inputs {
            check(&best.run(&x).unwrap(), &expected, &what);
            check(&best.run_add(&x, &other).unwrap(), &added, &what);
            check(&best.run_add(&x, &row).unwrap(), &composed.run_add(&x, &row).unwrap(), &what);
        }
    }
}

fn three_by_three() -> Case {
    case(&[2, 8, 9, 7], 16, &[3, 3], strided(1, 1, 1, 1))
}

#[test]
fn every_act_with_and_without_bias() {
    for &act in EVERY_ACTIVATION {
        for bias in [true, false] {
            three_by_three().compare(Kind::Float, bias, act);
        }
    }
}

#[test]
fn windows_of_one_pixel() {
    for &act in EVERY_ACTIVATION {
        for bias in [true, false] {
            // Short sums: what a clamp leaves is smaller than they are, and their rounding counts by it.
            case(&[2, 16, 5, 7], 4096, &[1, 1], strided(1, 0, 1, 1)).compare(Kind::Float, bias, act);
        }
    }
    let uneven = ConvParams { stride: vec![2, 3], ..ConvParams::default() };
    case(&[3, 128, 9, 8], 512, &[1, 1], uneven).compare(Kind::Float, true, Activation::Relu);
    case(&[1, 128, 7, 7], 544, &[1, 1], strided(2, 0, 1, 1)).compare(Kind::Float, true, Activation::Silu);
    case(&[2, 128, 3, 4, 5], 514, &[1, 1, 1], strided(2, 0, 1, 1)).compare(Kind::Float, true, Activation::Relu);
    case(&[2, 128, 6, 5], 512, &[1, 1], strided(1, 0, 3, 1)).compare(Kind::Float, false, Activation::None);
    case(&[2, 128, 6, 5], 512, &[1, 1], strided(1, 1, 1, 1)).compare(Kind::Float, true, Activation::Relu);
    case(&[2, 256, 6, 5], 512, &[1, 1], strided(1, 0, 1, 2)).compare(Kind::Float, true, Activation::Relu);
    case(&[2, 128, 6], 512, &[1], strided(1, 0, 1, 1)).compare(Kind::Float, true, Activation::Relu);
}

/// Large enough for Winograd's algorithm.
fn tiled() -> Case {
    case(&[2, 32, 15, 9], 48, &[3, 3], strided(1, 1, 1, 1))
}

#[test]
fn tiles_with_every_act() {
    for &act in EVERY_ACTIVATION {
        for bias in [true, false] {
            tiled().compare(Kind::Float, bias, act);
        }
    }
    case(&[1, 16, 40, 40], 16, &[3, 3], strided(1, 0, 1, 1)).compare(Kind::Float, true, Activation::Silu);
    case(&[16, 64, 7, 7], 64, &[3, 3], strided(1, 2, 1, 1)).compare(Kind::Float, true, Activation::Relu);
}

#[test]
fn infinities_and_nan_reach_their_neighbours_alone() {
    let (best, composed) = both(Kind::Float);
    let case = tiled();
    let weight = case.weight(Kind::Float);
    for value in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        let x = randn(case.input, Kind::Float);
        let _ = x.select(0, 1).select(0, 3).select(0, 4).select(0, 5).fill_(value);
        for act in [Activation::None, Activation::Sigmoid] {
            let [best, composed] = [&best, &composed]
                .map(|frame| Conv::pack(frame, &weight, None, &case.params, act).unwrap().run(&x).unwrap());
            let plain = |y: &Tensor| y.nan_to_num(7e37, 8e37, -8e37);
            assert!(plain(&best).allclose(&plain(&composed), 1e-5, 1e-4, false), "{value} and {act:?}");
        }
    }
}

#[test]
fn the_direct_backend_sums_as_written() {
    let case = tiled();
    let (weight, x) = (case.weight(Kind::Float), randn(case.input, Kind::Float));
    let [best, direct] = [Backend::Best, Backend::Direct].map(|backend| {
        let frame = frame(Freeze::new().backend(backend));
        Conv::pack(&frame, &weight, None, &case.params, Activation::None).unwrap()
    });
    let tiles = Winograd::fits(&weight.size(), &geometry(&case.params.expanded(2).unwrap()));
    assert_eq!(format!("{best:?}").contains("Winograd"), tiles);
    assert!(!format!("{direct:?}").contains("Winograd"));
    check(&best.run(&x).unwrap(), &direct.run(&x).unwrap(), "both ways");
}

/// The layer once by each kernel that it can have.
fn compare_tuned(case: &Case, kind: Kind, act: Activation) {
    let (weight, bias, x) = (case.weight(kind), randn(&[case.out], kind), randn(case.input, kind));
    let (best, composed) = both(kind);
    let composed = Conv::pack(&composed, &weight, Some(&bias), &case.params, act).unwrap();
    let expected = composed.run(&x).unwrap();
    let other = randn(&expected.size(), kind);
    let params = case.params.expanded(case.kernel.len()).unwrap();
    for winner in
        best.target().conv(layer(&weight.size(), &params, &best.non_finite(), act)).iter().map(ToString::to_string)
    {
        for adds in [false, true] {
            let frame = frame(Freeze::new().kind(kind)).with_clock(Told::new(&[(&winner, 1)]));
            let tuned = Conv::pack(&frame, &weight, Some(&bias), &case.params, act).unwrap();
            let what = format!("{winner} of {:?}, {adds}", case.input);
            let added = composed.run_add(&x, &other).unwrap();
            if adds {
                check(&tuned.run_add(&x, &other).unwrap(), &added, &what);
            }
            check(&tuned.run(&x).unwrap(), &expected, &what);
            check(&tuned.run_add(&x, &other).unwrap(), &added, &what);
            assert_eq!(format!("{tuned:?}"), format!("Conv({:?}, {winner}, {act:?})", weight.size()));
            // Of another size, with too few tiles for some.
            let small = randn(&[&[1], &case.input[1..2], case.kernel].concat(), kind);
            check(&tuned.run(&small).unwrap(), &composed.run(&small).unwrap(), &what);
        }
    }
}

#[test]
fn any_kernel_may_win_and_computes_the_same() {
    for case in [&tiled(), &case(&[2, 8, 9, 7], 16, &[3, 3], strided(2, 1, 1, 2))] {
        compare_tuned(case, Kind::Float, Activation::Relu);
    }
    compare_tuned(&case(&[2, 24, 5, 7], 40, &[1, 1], strided(2, 0, 1, 1)), Kind::Float, Activation::Gelu);
    compare_tuned(&case(&[2, 8, 19], 16, &[3], strided(1, 1, 1, 1)), Kind::Float, Activation::Silu);
    compare_tuned(&case(&[1, 8, 5, 6, 7], 16, &[3, 3, 3], strided(1, 1, 1, 1)), Kind::Float, Activation::None);
    compare_tuned(&three_by_three(), Kind::BFloat16, Activation::Relu);
    let params = ConvParams { padding_mode: PaddingMode::Reflect, ..strided(1, 1, 1, 1) };
    compare_tuned(&case(&[2, 8, 9, 7], 16, &[3, 3], params), Kind::Float, Activation::Relu);
}

#[test]
fn a_weight_comes_back_from_either_form() {
    // The second is packed for the direct sum, the first for tiles.
    for case in [tiled(), case(&[1, 512, 10, 10], 512, &[3, 3], strided(1, 1, 1, 1))] {
        let (weight, (best, composed)) = (case.weight(Kind::Float), both(Kind::Float));
        let few = randn(&[1, case.input[1], 3, 3], Kind::Float);
        let many = randn(case.input, Kind::Float);
        let composed = Conv::pack(&composed, &weight, None, &case.params, Activation::None).unwrap();
        for inputs in [[&few, &many], [&many, &few], [&many, &many], [&few, &few]] {
            let layer = Conv::pack(&best, &weight, None, &case.params, Activation::None).unwrap();
            for x in inputs {
                check(&layer.run(x).unwrap(), &composed.run(x).unwrap(), "in whichever form");
                assert_eq!(layer.kernel.look(Kernel::dense).unwrap().0, weight);
            }
        }
    }
}

#[test]
fn measured_by_the_clock_on_the_wall() {
    let case = tiled();
    let (weight, x) = (case.weight(Kind::Float), randn(case.input, Kind::Float));
    let [tuned, plain] = [true, false].map(|autotune| {
        let frame = frame(Freeze::new().autotune(autotune));
        Conv::pack(&frame, &weight, None, &case.params, Activation::Relu).unwrap()
    });
    assert!(format!("{tuned:?}").contains("not measured yet") && !format!("{plain:?}").contains("measured"));
    check(&tuned.run(&x).unwrap(), &plain.run(&x).unwrap(), &format!("{tuned:?}"));
    assert!(!format!("{tuned:?}").contains("not measured yet"));
}

#[test]
fn every_geometry() {
    for case in [
        case(&[1, 3, 32, 32], 8, &[7, 7], strided(2, 3, 1, 1)),
        case(&[10, 8, 9, 7], 8, &[1, 1], strided(1, 0, 1, 1)),
        case(&[2, 8, 9, 7], 8, &[1, 1], strided(2, 0, 1, 1)),
        case(&[2, 8, 19, 17], 16, &[3, 3], strided(1, 2, 2, 1)),
        case(&[2, 8, 9, 7], 16, &[3, 3], strided(1, 1, 1, 2)),
        case(&[2, 8, 9, 7], 8, &[3, 3], strided(2, 1, 1, 8)),
        case(&[2, 8, 9, 7], 16, &[5, 5], strided(1, 2, 1, 8)),
        case(&[2, 8, 9, 7], 4, &[3, 2], ConvParams { padding: vec![1, 0], stride: vec![1, 2], ..Default::default() }),
    ] {
        case.compare(Kind::Float, true, Activation::Relu);
        case.compare(Kind::Float, false, Activation::None);
    }
}

#[test]
fn one_and_three_axes() {
    for case in [
        case(&[2, 8, 19], 16, &[3], strided(1, 1, 1, 1)),
        case(&[2, 8, 19], 16, &[5], strided(2, 4, 2, 4)),
        case(&[2, 8, 19], 8, &[3], strided(1, 1, 1, 8)),
        case(&[2, 4, 5, 6, 7], 8, &[3, 3, 3], strided(1, 1, 1, 1)),
        case(&[2, 4, 5, 6, 7], 8, &[3, 2, 1], strided(2, 1, 1, 2)),
    ] {
        case.compare(Kind::Float, true, Activation::Silu);
        case.compare(Kind::BFloat16, true, Activation::Relu);
    }
}

#[test]
fn transposed_convolutions() {
    for case in [
        case(&[2, 8, 9, 7], 16, &[3, 3], transposed(2, 1, 1, 1)),
        case(&[2, 8, 9, 7], 16, &[4, 4], transposed(2, 1, 0, 1)),
        case(&[2, 8, 9, 7], 16, &[2, 2], transposed(2, 0, 0, 2)),
        case(&[2, 8, 9], 16, &[4], transposed(2, 1, 0, 1)),
        // As small as is computed without packing, and larger.
        case(&[1, 8, 9, 7], 16, &[3, 3], transposed(2, 1, 1, 1)),
        case(&[1, 8, 9], 16, &[3], transposed(2, 1, 0, 1)),
        case(&[1, 8, 40, 40], 16, &[3, 3], transposed(1, 1, 0, 1)),
        case(&[2, 4, 5, 6, 7], 8, &[3, 3, 3], transposed(2, 1, 1, 1)),
    ] {
        case.compare(Kind::Float, true, Activation::Relu);
        case.compare(Kind::Float, false, Activation::GeluTanh);
    }
}

#[test]
fn every_dtype() {
    for kind in [Kind::Float, Kind::Double, Kind::BFloat16, Kind::Half] {
        three_by_three().compare(kind, true, Activation::Relu);
        case(&[2, 8, 9, 7], 16, &[3, 3], strided(1, 1, 1, 2)).compare(kind, true, Activation::Relu);
        three_by_three().compare(kind, false, Activation::HardSwish);
    }
}

#[test]
fn padding_with_something_else_than_zeros() {
    for padding_mode in [PaddingMode::Reflect, PaddingMode::Replicate, PaddingMode::Circular] {
        let params = ConvParams { padding_mode, padding: vec![2, 1], ..ConvParams::default() };
        case(&[2, 8, 9, 7], 16, &[3, 3], params.clone()).compare(Kind::Float, true, Activation::Relu);
        let params = ConvParams { padding: vec![1], ..params };
        case(&[2, 8, 9], 16, &[3], params).compare(Kind::Float, true, Activation::Relu);
    }
}

#[test]
fn inputs_without_a_batch() {
    let frame = frame(Freeze::new());
    for case in [three_by_three(), case(&[2, 8, 19], 16, &[3], strided(1, 1, 1, 1))] {
        let conv = Conv::pack(&frame, &case.weight(Kind::Float), None, &case.params, Activation::Relu).unwrap();
        let x = randn(case.input, Kind::Float);
        let (all, first) = (conv.run(&x).unwrap(), conv.run(&x.get(0)).unwrap());
        check(&first, &all.get(0), "unbatched");
        let other = randn(&first.size(), Kind::Float);
        check(&conv.run_add(&x.get(0), &other).unwrap(), &conv.run_add(&x, &other).unwrap().get(0), "unbatched");
    }
}

#[test]
fn an_empty_batch_gives_an_empty_result() {
    for act in [Activation::None, Activation::Relu] {
        case(&[0, 8, 9, 7], 16, &[3, 3], strided(2, 1, 1, 1)).compare(Kind::Float, true, act);
        case(&[0, 8, 9], 16, &[3], strided(1, 1, 1, 1)).compare(Kind::Float, true, act);
        case(&[0, 8, 9, 7], 16, &[3, 3], transposed(2, 1, 1, 1)).compare(Kind::Float, true, act);
    }
}

#[test]
fn every_batch_and_size_through_one_kernel() {
    let (best, composed) = both(Kind::Float);
    let case = three_by_three();
    let weight = case.weight(Kind::Float);
    let best = Conv::pack(&best, &weight, None, &case.params, Activation::Relu).unwrap();
    let composed = Conv::pack(&composed, &weight, None, &case.params, Activation::Relu).unwrap();
    for sizes in [[1, 8, 9, 9], [10, 8, 5, 31], [1, 8, 1, 1], [3, 8, 64, 2], [1, 8, 9, 9]] {
        let x = randn(&sizes, Kind::Float);
        check(&best.run(&x).unwrap(), &composed.run(&x).unwrap(), &format!("{sizes:?}"));
    }
}

#[test]
fn wrong_inputs_are_refused() {
    let frame = frame(Freeze::new());
    let weight = randn(&[8, 3, 3, 3], Kind::Float);
    let conv = Conv::pack(&frame, &weight, None, &ConvParams::default(), Activation::Relu).unwrap();
    let refuse = |sizes: &[i64], kind| conv.run(&randn(sizes, kind)).unwrap_err();
    assert!(matches!(refuse(&[1, 4, 8, 8], Kind::Float), Error::Channels { expected: 3, axis: 1, .. }));
    assert!(matches!(refuse(&[8, 8], Kind::Float), Error::Rank { .. }));
    assert!(matches!(refuse(&[1, 3, 8, 8], Kind::Double), Error::Kind { .. }));
    let small = refuse(&[1, 3, 2, 8], Kind::Float).to_string();
    assert!(small.contains("Kernel size can't be greater than actual input size"), "{small}");
    let x = randn(&[1, 3, 8, 8], Kind::Float);
    assert!(conv.run_add(&x, &randn(&[1, 8, 5, 5], Kind::Float)).is_err());
}

#[test]
fn layers_are_checked_at_freeze_time() {
    let frame = frame(Freeze::new());
    let pack = |weight: &[i64], bias: i64, params: &ConvParams| {
        Conv::pack(&frame, &randn(weight, Kind::Float), Some(&randn(&[bias], Kind::Float)), params, Activation::None)
    };
    assert!(pack(&[8, 3, 3, 3], 8, &ConvParams::default()).is_ok());
    assert!(pack(&[8, 3, 3, 3], 7, &ConvParams::default()).is_err());
    assert!(pack(&[8, 3], 8, &ConvParams::default()).is_err());
    assert!(pack(&[8, 3, 3, 3], 8, &strided(1, 1, 1, 3)).is_err());
    assert!(pack(&[8, 3, 3, 3], 8, &strided(0, 1, 1, 1)).is_err());
    assert!(pack(&[8, 0, 3, 3], 8, &ConvParams::default()).is_err());
}

#[test]
fn nan_in_one_weight_reaches_the_result_through_other_layers() {
    let frame = frame(Freeze::new());
    let params = strided(1, 1, 1, 1);
    let poisoned = randn(&[8, 8, 3, 3], Kind::Float);
    let _ = poisoned.get(0).fill_(f64::NAN);
    let next = Conv::pack(&frame, &randn(&[4, 8, 3, 3], Kind::Float), None, &params, Activation::Relu6).unwrap();
    let first = Conv::pack(&frame, &poisoned, None, &params, Activation::Relu).unwrap();
    let x = randn(&[1, 8, 6, 6], Kind::Float);
    let y = next.run(&first.run(&x).unwrap()).unwrap();
    assert_eq!(y.isnan().all().int64_value(&[]), 1);
    let y = next.run_add(&first.run(&x).unwrap(), &y).unwrap();
    assert_eq!(y.isnan().all().int64_value(&[]), 1);
}

#[test]
fn eight_threads_share_one_kernel() {
    fn assert_send_sync<T: Send + Sync>(_: &T) {}
    let frame = frame(Freeze::new());
    let case = three_by_three();
    let conv = Conv::pack(&frame, &case.weight(Kind::Float), None, &case.params, Activation::Relu).unwrap();
    assert_send_sync(&conv);
    let expected: Vec<_> = (1..=8)
        .map(|batch| {
            let x = randn(&[batch, 8, 9, 7], Kind::Float);
            (conv.run(&x).unwrap(), x)
        })
        .collect();
    std::thread::scope(|scope| {
        for (y, x) in expected {
            let conv = &conv;
            scope.spawn(move || (0..50).for_each(|_| check(&conv.run(&x).unwrap(), &y, "thread")));
        }
    });
}

#[test]
fn later_changes_to_the_model_do_not_reach_the_kernel() {
    let (best, composed) = both(Kind::Float);
    for frame in [best, composed] {
        let (mut weight, mut bias) = (randn(&[8, 3, 3, 3], Kind::Float), randn(&[8], Kind::Float));
        let conv = Conv::pack(&frame, &weight, Some(&bias), &ConvParams::default(), Activation::None).unwrap();
        let x = randn(&[1, 3, 8, 8], Kind::Float);
        let before = conv.run(&x).unwrap();
        let _ = (weight.zero_(), bias.zero_());
        check(&conv.run(&x).unwrap(), &before, "after a change");
    }
}

#[test]
fn shows_what_was_chosen() {
    let frame = frame(Freeze::new());
    let weight = randn(&[8, 3, 3, 3], Kind::Float);
    let conv = Conv::pack(&frame, &weight, None, &ConvParams::default(), Activation::Relu).unwrap();
    assert_eq!(format!("{conv:?}"), "Conv([8, 3, 3, 3], oneDNN, Relu)");
}

#[test]
fn what_cudnn_has_no_kernel_for_is_atens() {
    let frame = frame(Freeze::new().backend(Backend::Composed));
    let case = three_by_three();
    let mut conv = Conv::pack(&frame, &case.weight(Kind::Float), None, &case.params, Activation::Relu).unwrap();
    let x = randn(case.input, Kind::Float);
    let expected = conv.run(&x).unwrap();
    let other = randn(&expected.size(), Kind::Float);
    let added = conv.run_add(&x, &other).unwrap();
    let Some(Slot::First(Kernel::Composed(plain))) = Arc::into_inner(conv.kernel) else { panic!("another kernel") };
    // On the CPU cuDNN has none at all.
    conv.kernel = Arc::new(Slot::First(Kernel::Cudnn(Fused::new(plain))));
    for _ in 0..2 {
        assert!(conv.run(&x).unwrap() == expected);
        assert!(conv.run_add(&x, &other).unwrap() == added);
    }
    assert!(conv.run(&randn(&[1, 99, 8, 8], Kind::Float)).is_err());
}
