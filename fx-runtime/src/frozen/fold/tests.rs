//! Folded layers against the pairs that they replace, in f64.

use tch::{Device, nn::VarStore};

use super::super::oracle::{check, randn};
use super::*;
use crate::nn;

fn batch_norm(channels: i64) -> BatchNorm {
    let vs = VarStore::new(Device::Cpu);
    let mut bn = nn::batch_norm2d(vs.root(), channels, nn::BatchNormConfig::default());
    bn.running_mean = randn(&[channels], Kind::Double);
    bn.running_var = randn(&[channels], Kind::Double).abs() + 0.1;
    bn.ws = Some(randn(&[channels], Kind::Double));
    bn.bs = Some(randn(&[channels], Kind::Double));
    bn
}

fn conv(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, p: &ConvParams) -> Tensor {
    x.convolution(weight, bias, &p.stride, &p.padding, &p.dilation, p.transposed, &p.output_padding, p.groups)
}

fn params(groups: i64, padding: i64, transposed: bool) -> ConvParams {
    ConvParams {
        stride: vec![2; 2],
        padding: vec![padding; 2],
        dilation: vec![1; 2],
        output_padding: vec![i64::from(transposed); 2],
        groups,
        transposed,
        ..ConvParams::default()
    }
}

#[test]
fn behind_a_convolution() {
    for groups in [1, 2, 4] {
        for transposed in [false, true] {
            let p = params(groups, 1, transposed);
            let head = if transposed { [4, 8 / groups] } else { [8, 4 / groups] };
            let (x, bn) = (randn(&[2, 4, 7, 9], Kind::Double), batch_norm(8));
            let weight = randn(&[head[0], head[1], 3, 3], Kind::Double);
            for bias in [None, Some(randn(&[8], Kind::Double))] {
                let expected = bn.forward(&conv(&x, &weight, bias.as_ref(), &p));
                let (w, b) = conv_batch_norm(&weight, bias.as_ref(), &bn, &p).unwrap();
                assert_eq!(w.size(), weight.size());
                check(&conv(&x, &w, Some(&b), &p), &expected, &format!("{groups} groups, transposed {transposed}"));
            }
        }
    }
}

#[test]
fn in_front_of_a_convolution() {
    for groups in [1, 2, 4] {
        let p = params(groups, 0, false);
        let (x, bn) = (randn(&[2, 4, 7, 9], Kind::Double), batch_norm(4));
        let weight = randn(&[8, 4 / groups, 3, 3], Kind::Double);
        for bias in [None, Some(randn(&[8], Kind::Double))] {
            let expected = conv(&bn.forward(&x), &weight, bias.as_ref(), &p);
            let (w, b) = batch_norm_conv(&weight, bias.as_ref(), &bn, &p).unwrap();
            check(&conv(&x, &w, Some(&b), &p), &expected, &format!("{groups} groups"));
        }
    }
}

#[test]
fn beside_a_linear_layer() {
    let (x, weight) = (randn(&[5, 4], Kind::Double), randn(&[8, 4], Kind::Double));
    for bias in [None, Some(randn(&[8], Kind::Double))] {
        let linear = |x: &Tensor| x.linear(&weight, bias.as_ref());
        let normalize = |bn: &BatchNorm, x: &Tensor| bn.forward(&x.unsqueeze(-1).unsqueeze(-1)).squeeze_dims([2, 3]);
        let (behind, before) = (batch_norm(8), batch_norm(4));
        let (w, b) = linear_batch_norm(&weight, bias.as_ref(), &behind).unwrap();
        check(&x.linear(&w, Some(&b)), &normalize(&behind, &linear(&x)), "behind");
        let (w, b) = batch_norm_linear(&weight, bias.as_ref(), &before).unwrap();
        check(&x.linear(&w, Some(&b)), &linear(&normalize(&before, &x)), "before");
    }
}

#[test]
fn without_scale_and_shift_of_its_own() {
    let mut bn = batch_norm(8);
    (bn.ws, bn.bs) = (None, None);
    let (x, weight, p) = (randn(&[2, 4, 7, 9], Kind::Double), randn(&[8, 4, 3, 3], Kind::Double), params(1, 1, false));
    let (w, b) = conv_batch_norm(&weight, None, &bn, &p).unwrap();
    check(&conv(&x, &w, Some(&b), &p), &bn.forward(&conv(&x, &weight, None, &p)), "plain batch norm");
}

#[test]
fn zero_padding_in_front_is_refused_unless_nothing_shifts() {
    let mut bn = batch_norm(4);
    assert!(!folds_before_conv(&bn, &params(1, 1, false)).unwrap());
    assert!(!folds_before_conv(&bn, &params(1, 0, true)).unwrap());
    assert!(batch_norm_conv(&randn(&[8, 4, 3, 3], Kind::Double), None, &bn, &params(1, 1, false)).is_err());
    let circular = ConvParams { padding_mode: PaddingMode::Circular, ..params(1, 1, false) };
    assert!(folds_before_conv(&bn, &circular).unwrap());
    let _ = bn.running_mean.zero_();
    bn.bs = None;
    assert!(folds_before_conv(&bn, &params(1, 1, false)).unwrap());
}

#[test]
fn dtype_stays_and_nan_is_carried() {
    let bn = batch_norm(8);
    let weight = randn(&[8, 4, 3, 3], Kind::Float);
    let _ = weight.get(2).fill_(f64::NAN);
    let (w, b) = conv_batch_norm(&weight, None, &bn, &params(1, 1, false)).unwrap();
    assert_eq!((w.kind(), b.kind()), (Kind::Float, Kind::Float));
    assert_eq!(w.isnan().sum(Kind::Int64).int64_value(&[]), 36);
}

#[test]
fn other_numbers_of_channels_are_refused() {
    let weight = randn(&[8, 4, 3, 3], Kind::Double);
    let error = conv_batch_norm(&weight, None, &batch_norm(7), &params(1, 1, false)).unwrap_err();
    assert!(error.to_string().contains("over [7] channels beside a layer with 8"), "{error}");
}

#[test]
fn only_a_matrix_has_its_channels_last() {
    assert!(matrix(&randn(&[5, 4], Kind::Double)).is_ok());
    assert!(matches!(matrix(&randn(&[5, 4, 2], Kind::Double)), Err(Error::Rank { .. })));
}

#[test]
fn a_functional_batch_norm_folds_too() {
    let bn = batch_norm(8);
    let of = BatchNorm::of_tensors(bn.ws.as_ref(), bn.bs.as_ref(), &bn.running_mean, &bn.running_var, bn.config.eps);
    let weight = randn(&[8, 4], Kind::Double);
    let (expected, found) = (linear_batch_norm(&weight, None, &bn), linear_batch_norm(&weight, None, &of));
    assert_eq!(found.unwrap(), expected.unwrap());
}
