//! Every kernel of a linear layer against the ATen composition.

use tch::Kind;

use super::*;
use crate::Freeze;
use crate::frame::tune::tests::Told;
use crate::frozen::activation::EVERY_ACTIVATION;
use crate::frozen::oracle::{both, check, frame, kernel_of_a_shared_weight, randn};
use crate::qparams::{DynamicFormat, WeightFormat};
use crate::{Backend, ffi::cuda::gpu_or_skip};

/// One layer in both ways on one input, with and without something added.
fn compare(kind: Kind, input: &Tensor, out: i64, bias: bool, act: Activation) {
    let columns = *input.size().last().unwrap();
    // Small products, whose rounding stays small beside what a clamp leaves of them.
    let weight = randn(&[out, columns], kind) / 64.0;
    let bias = bias.then(|| randn(&[out], kind));
    let (best, composed) = both(kind);
    let best = Linear::pack(&best, &weight, bias.as_ref(), act).unwrap();
    let composed = Linear::pack(&composed, &weight, bias.as_ref(), act).unwrap();
    let what = format!("{best:?} {kind:?} of {:?}", input.size());
    let expected = composed.run(input).unwrap();
    check(&best.run(input).unwrap(), &expected, &what);
    let other = randn(&expected.size(), kind);
    check(&best.run_add(input, &other).unwrap(), &composed.run_add(input, &other).unwrap(), &what);
    let row = randn(&[out], kind);
    check(&best.run_add(input, &row).unwrap(), &composed.run_add(input, &row).unwrap(), &what);
}

#[test]
fn every_act_with_and_without_bias() {
    for &act in EVERY_ACTIVATION {
        compare(Kind::Float, &randn(&[10, 512], Kind::Float), 384, true, act);
        compare(Kind::Float, &randn(&[3, 32], Kind::Float), 8, false, act);
        // Enough rows for every thread.
        compare(Kind::Float, &randn(&[67, 256], Kind::Float), 300, true, act);
    }
}

/// The layer with and without something added, once by each kernel that it can have.
fn compare_tuned(input: &Tensor, out: i64, act: Activation) {
    let (kind, columns) = (input.kind(), *input.size().last().unwrap());
    let (weight, bias) = (randn(&[out, columns], kind) / 64.0, randn(&[out], kind));
    let composed = Linear::pack(&both(kind).1, &weight, Some(&bias), act).unwrap();
    let expected = composed.run(input).unwrap();
    let other = randn(&expected.size(), kind);
    let target = *both(kind).0.target();
    let layer = layer([out, columns], true, &both(kind).0.non_finite(), false, act);
    let rows = Rows::of(expected.size().iter().product::<i64>() / out);
    for winner in target.linear(layer, Some(rows)).iter().map(ToString::to_string) {
        let frame = frame(Freeze::new().kind(kind)).with_clock(Told::new(&[(&winner, 1)]));
        let tuned = Linear::pack(&frame, &weight, Some(&bias), act).unwrap();
        check(&tuned.run(input).unwrap(), &expected, &winner);
        assert_eq!(format!("{tuned:?}"), format!("Linear([{out}, {columns}], {winner}, {act:?})"));
        for added in [&other, &other.narrow(0, 0, 1)] {
            check(&tuned.run_add(input, added).unwrap(), &composed.run_add(input, added).unwrap(), &winner);
        }
        // By any number of rows, whatever it was measured with.
        for rows in [1, 2, 7, 130, 1000] {
            let x = randn(&[rows, columns], kind);
            check(&tuned.run(&x).unwrap(), &composed.run(&x).unwrap(), &format!("{rows} rows by {winner}"));
        }
    }
}

#[test]
fn any_kernel_may_win_and_computes_the_same() {
    for sizes in [&[512][..], &[1, 512], &[10, 512], &[2, 67, 512], &[2000, 512]] {
        compare_tuned(&randn(sizes, Kind::Float), 384, Activation::Gelu);
    }
    compare_tuned(&randn(&[12, 3], Kind::Float), 5, Activation::Relu);
    compare_tuned(&randn(&[512, 10], Kind::Float).tr(), 384, Activation::None);
    compare_tuned(&randn(&[10, 512], Kind::BFloat16), 384, Activation::Relu);
}

#[test]
fn measured_by_the_clock_on_the_wall() {
    let (weight, x) = (randn(&[384, 512], Kind::Float) / 64.0, randn(&[9, 512], Kind::Float));
    let [tuned, plain] = [true, false].map(|autotune| {
        let frame = frame(Freeze::new().autotune(autotune));
        Linear::pack(&frame, &weight, None, Activation::Gelu).unwrap()
    });
    assert!(format!("{tuned:?}").contains("not measured yet") && !format!("{plain:?}").contains("measured"));
    let empty = randn(&[0, 512], Kind::Float);
    assert_eq!(tuned.run(&empty).unwrap().size(), [0, 384]);
    assert!(format!("{tuned:?}").contains("not measured yet"), "nothing was computed");
    check(&tuned.run(&x).unwrap(), &plain.run(&x).unwrap(), &format!("{tuned:?}"));
    assert!(!format!("{tuned:?}").contains("not measured yet"));
}

#[test]
fn what_is_shared_is_not_packed_to_be_measured() {
    let frame = frame(Freeze::new()).with_clock(Told::new(&[]));
    let weight = randn(&[384, 512], Kind::Float);
    let _freezing = frame.freezing();
    let _table = frame.param(&weight).unwrap();
    let layer = Linear::pack(&frame, &weight, None, Activation::None).unwrap();
    assert_eq!(format!("{layer:?}"), format!("Linear([384, 512], {}, None)", kernel_of_a_shared_weight()));
}

#[test]
fn a_shared_weight_computes_the_same_where_it_lies() {
    let (best, composed) = both(Kind::Float);
    let (weight, bias) = (randn(&[385, 512], Kind::Float) / 64.0, randn(&[385], Kind::Float));
    let _freezing = best.freezing();
    let table = best.param(&weight).unwrap();
    for &act in EVERY_ACTIVATION {
        let shared = Linear::pack(&best, &weight, Some(&bias), act).unwrap();
        let plain = Linear::pack(&composed, &weight, Some(&bias), act).unwrap();
        let (dense, _) = shared.kernel.look(Kernel::dense).unwrap();
        assert_eq!(dense.data_ptr(), table.data_ptr());
        for sizes in [&[512][..], &[2, 67, 512]] {
            let x = randn(sizes, Kind::Float);
            let (found, expected) = (shared.run(&x).unwrap(), plain.run(&x).unwrap());
            check(&found, &expected, &format!("{shared:?}"));
            let other = randn(&expected.size(), Kind::Float);
            check(&shared.run_add(&x, &other).unwrap(), &plain.run_add(&x, &other).unwrap(), &format!("{shared:?}"));
        }
    }
}

#[test]
fn every_dtype() {
    for kind in [Kind::Float, Kind::Double, Kind::BFloat16, Kind::Half] {
        compare(kind, &randn(&[5, 512], kind), 384, true, Activation::Gelu);
        compare(kind, &randn(&[5, 512], kind), 384, false, Activation::None);
    }
}

#[test]
fn every_rank_and_no_rows() {
    for sizes in [&[512][..], &[1, 512], &[2, 3, 512], &[2, 1, 3, 512], &[0, 512], &[2, 0, 512]] {
        compare(Kind::Float, &randn(sizes, Kind::Float), 384, true, Activation::Relu);
    }
}

#[test]
fn strided_inputs() {
    compare(Kind::Float, &randn(&[512, 10], Kind::Float).tr(), 384, true, Activation::Relu);
    compare(Kind::Float, &randn(&[4, 6, 512], Kind::Float).transpose(0, 1), 384, true, Activation::None);
}

#[test]
fn nan_in_a_weight_reaches_the_result() {
    let (best, _) = both(Kind::Float);
    let mut weight = randn(&[384, 512], Kind::Float);
    let _ = weight.get(3).fill_(f64::NAN);
    let layer = Linear::pack(&best, &weight, None, Activation::Relu).unwrap();
    let y = layer.run(&randn(&[2, 512], Kind::Float)).unwrap();
    assert_eq!(y.isnan().sum(Kind::Int64).int64_value(&[]), 2);
    let _ = weight.fill_(0.0);
}

/// `relu(bn(linear(x)) + other)` in both forms; `channels` are those of the batch norm.
fn compare_norm(sizes: &[i64], channels: i64) -> Result<(), Error> {
    let (frame, _) = both(Kind::Double);
    let (weight, bias) = (randn(&[6, 4], Kind::Double), randn(&[6], Kind::Double));
    let [scale, shift, mean] = [(); 3].map(|()| randn(&[channels], Kind::Double));
    let var = randn(&[channels], Kind::Double).abs() + 0.5;
    let bn = BatchNorm::of_tensors(Some(&scale), Some(&shift), &mean, &var, 1e-5);
    let layer = Linear::pack_batch_norm(&frame, &weight, Some(&bias), &bn, Activation::Relu)?;
    let x = randn(sizes, Kind::Double);
    let found = layer.run(&x)?;
    let plain = bn.forward_t(&x.linear(&weight, Some(&bias)), false);
    check(&found, &plain.relu(), &format!("{sizes:?}"));
    let other = randn(&plain.size(), Kind::Double);
    check(&layer.run_add(&x, &other)?, &(plain + &other).relu(), &format!("{sizes:?} and another"));
    Ok(())
}

#[test]
fn a_batch_norm_behind_goes_over_axis_1_whatever_the_rank() {
    compare_norm(&[5, 4], 6).unwrap();
    compare_norm(&[5, 6, 4], 6).unwrap();
    compare_norm(&[5, 3, 4], 3).unwrap();
    compare_norm(&[5, 3, 2, 4], 3).unwrap();
    assert!(compare_norm(&[5, 4], 3).is_err(), "6 results for 3 channels");
    assert!(compare_norm(&[5, 3, 4], 6).is_err(), "3 channels for 6");
}

#[test]
fn wrong_inputs_are_refused() {
    let (best, _) = both(Kind::Float);
    let layer = Linear::pack(&best, &randn(&[384, 512], Kind::Float), None, Activation::None).unwrap();
    assert!(matches!(layer.run(&randn(&[2, 511], Kind::Float)), Err(Error::Channels { axis: 1, .. })));
    assert!(matches!(layer.run(&Tensor::from(1.0f32)), Err(Error::Rank { .. })));
    assert!(matches!(layer.run(&randn(&[2, 512], Kind::Double)), Err(Error::Kind { .. })));
    assert!(layer.run_add(&randn(&[2, 512], Kind::Float), &randn(&[3, 384], Kind::Float)).is_err());
}

#[test]
fn shapes_are_checked_at_freeze_time() {
    let (best, _) = both(Kind::Float);
    let weight = randn(&[3, 4], Kind::Float);
    assert!(Linear::pack(&best, &weight, Some(&randn(&[4], Kind::Float)), Activation::None).is_err());
    assert!(Linear::pack(&best, &randn(&[3], Kind::Float), None, Activation::None).is_err());
}

/// Frozen with these options by the best kernels and by ATen's; on a GPU as well where there is one.
fn quantized(options: &Freeze, kinds: &[Kind], tolerance: impl Fn(tch::Device, Kind) -> f64) {
    let (weight, bias) = (randn(&[2048, 2048], Kind::Float) / 45.0, randn(&[2048], Kind::Float));
    let mut targets = vec![(tch::Device::Cpu, Kind::Float)];
    if let Some(gpu) = gpu_or_skip("a linear layer of few bits on a GPU") {
        targets.extend(kinds.iter().map(|&kind| (gpu, kind)));
    }
    for (device, kind) in targets {
        let options = options.clone().device(device).kind(kind);
        let [best, composed] = [Backend::Best, Backend::Composed].map(|backend| {
            let frame = frame(options.clone().backend(backend));
            Linear::pack(&frame, &weight, Some(&bias), Activation::Relu).unwrap()
        });
        for sizes in [&[2048][..], &[1, 2048], &[2, 3, 2048], &[4, 10, 2048], &[0, 2048]] {
            let x = randn(sizes, Kind::Float).to_device(device).to_kind(kind);
            let what = format!("{best:?} {device:?} {kind:?} {sizes:?}");
            let (found, wanted) = (best.run(&x).unwrap(), composed.run(&x).unwrap());
            assert_eq!((found.size(), found.kind(), found.device()), (wanted.size(), kind, device), "{what}");
            let other = randn(&wanted.size(), Kind::Float).to_device(device).to_kind(kind);
            let sums = (best.run_add(&x, &other).unwrap(), composed.run_add(&x, &other).unwrap());
            for (found, wanted) in [(found, wanted), sums] {
                if found.numel() == 0 {
                    continue;
                }
                let [found, wanted] = [found, wanted].map(|tensor| tensor.to_kind(Kind::Double));
                let error = (&found - &wanted).abs().max().double_value(&[]);
                assert!(error <= tolerance(device, kind), "{what}: {error}");
            }
        }
    }
}

fn rounding(_: tch::Device, kind: Kind) -> f64 {
    match kind {
        Kind::Half => 1e-2,
        Kind::BFloat16 => 8e-2,
        _ => 1e-4,
    }
}

#[test]
fn products_of_eight_bits_are_those_of_floats() {
    for format in [DynamicFormat::Int8, DynamicFormat::Float8] {
        let options = Freeze::new().quantize_dynamic(format);
        // Hopper's tensor cores keep 14 bits of sums of products of floats of eight bits.
        let is_short = format == DynamicFormat::Float8;
        let tolerance = |device: tch::Device, kind| {
            let own = rounding(device, kind);
            if is_short && device.is_cuda() { own.max(5e-2) } else { own }
        };
        quantized(&options, &[Kind::Float, Kind::Half, Kind::BFloat16], tolerance);
    }
}

#[test]
fn weights_in_few_bits_multiply_as_floats() {
    use WeightFormat::{Bf16, F16, Float8, Int4, Int8};
    for format in [Int8, Int4 { group: 128 }, Int4 { group: 64 }, F16, Bf16, Float8] {
        quantized(&Freeze::new().quantize_weights(format), &[Kind::Float, Kind::Half, Kind::BFloat16], rounding);
    }
}
