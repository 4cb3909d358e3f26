//! Layers on codes against sums in f64.

use tch::{Device, Kind, Tensor};

use super::*;

const SOURCE: PerTensor = PerTensor { scale: 0.04, zero_point: 113 };
const ADDED: PerTensor = PerTensor { scale: 0.11, zero_point: 77 };
const RESULT: PerTensor = PerTensor { scale: 0.5, zero_point: 101 };

fn codes(shape: &[i64], seed: i64) -> Tensor {
    tch::manual_seed(seed);
    Tensor::randint(256, shape, (Kind::Uint8, Device::Cpu))
}

fn real(codes: &Tensor, of: PerTensor) -> Tensor {
    (codes.to_kind(Kind::Double) - f64::from(of.zero_point)) * f64::from(of.scale)
}

fn scales(out: i64) -> Vec<f32> {
    (0..out).map(|channel| 0.01 + 0.001 * f32::from(u8::try_from(channel % 7).unwrap())).collect()
}

/// A linear layer without a bias, whose result is f32.
fn plain<'t>(codes: &'t Tensor, scales: &'t [f32]) -> Int8Spec<'t> {
    Int8Spec {
        codes,
        scales,
        bias: None,
        window: None,
        source: SOURCE,
        added: None,
        result: None,
        act: Activation::None,
    }
}

/// The layer computed in f64 on the numbers that the codes stand for.
fn exact(spec: &Int8Spec<'_>, x: &Tensor, added: Option<&Tensor>) -> Tensor {
    let mut shape = vec![1; spec.codes.dim()];
    shape[0] = -1;
    let weight =
        spec.codes.to_kind(Kind::Double) * Tensor::from_slice(spec.scales).to_kind(Kind::Double).view(shape.as_slice());
    let bias = spec.bias.map(|bias| bias.to_kind(Kind::Double));
    let x = real(x, spec.source);
    let y = match &spec.window {
        Some(params) => params.expanded(spec.codes.dim() - 2).unwrap().convolution(&x, &weight, bias.as_ref()).unwrap(),
        None => x.linear(&weight, bias.as_ref()),
    };
    let y = match added {
        Some(added) => y + real(added, spec.added.unwrap()),
        None => y,
    };
    spec.act.apply(y).unwrap()
}

/// The layer; none where it has no kernel on this machine.
fn packed(spec: &Int8Spec<'_>) -> Option<Int8Layer> {
    let layer = Int8Layer::pack(spec).unwrap();
    match crate::ffi::onednn::int8() {
        Ok(()) => assert!(layer.is_some()),
        Err(why) => {
            assert!(layer.is_none());
            eprintln!("skipped: {why}");
        }
    }
    layer
}

/// How far the layer is from `exact`, in steps of the result's codes, or relative to the largest number of f32.
fn error(spec: &Int8Spec<'_>, x: &Tensor, added: Option<&Tensor>) -> f64 {
    let Some(layer) = packed(spec) else { return 0.0 };
    let (ours, exact) = (layer.run(x, added).unwrap(), exact(spec, x, added));
    assert_eq!(ours.size(), exact.size());
    let difference = match spec.result {
        Some(of) => {
            let codes = ((exact / f64::from(of.scale)).round() + f64::from(of.zero_point)).clamp(0.0, 255.0);
            (ours.to_kind(Kind::Double) - codes).abs().max()
        }
        None => (ours.to_kind(Kind::Double) - &exact).abs().max() / exact.abs().max(),
    };
    difference.double_value(&[])
}

fn windows() -> Vec<(Vec<i64>, ConvParams, Vec<i64>)> {
    let plain = |stride: i64, padding: i64, groups: i64| ConvParams {
        stride: vec![stride],
        padding: vec![padding],
        groups,
        ..ConvParams::default()
    };
    vec![
        (vec![32, 16, 1, 1], plain(1, 0, 1), vec![2, 16, 9, 7]),
        (vec![64, 32, 3, 3], plain(1, 1, 1), vec![1, 32, 14, 14]),
        (vec![24, 3, 7, 7], plain(2, 3, 1), vec![2, 3, 31, 29]),
        (vec![32, 3, 3, 3], plain(2, 1, 1), vec![2, 3, 24, 25]),
        (vec![16, 3, 8, 8], plain(8, 1, 1), vec![2, 3, 27, 32]),
        (vec![16, 1, 4, 3], plain(3, 2, 1), vec![1, 1, 11, 14]),
        (vec![32, 1, 3, 3], plain(2, 1, 32), vec![2, 32, 13, 13]),
        (vec![32, 8, 3, 3], plain(1, 1, 4), vec![1, 32, 10, 12]),
        (vec![40, 24, 5], plain(1, 2, 1), vec![2, 24, 33]),
        (vec![16, 8, 3, 3, 3], plain(1, 1, 1), vec![1, 8, 6, 7, 5]),
    ]
}

#[test]
fn convolutions_are_exact_but_for_the_last_rounding() {
    for (weight, params, input) in windows() {
        tch::manual_seed(11);
        let codes_of_weight = Tensor::randint_low(-127, 128, weight.as_slice(), (Kind::Int8, Device::Cpu));
        let bias = Tensor::randn([weight[0]], (Kind::Float, Device::Cpu));
        let (scales, x) = (scales(weight[0]), codes(&input, 3));
        for act in [Activation::None, Activation::Relu, Activation::Relu6, Activation::LeakyRelu(0.1)] {
            for (result, most) in [(Some(RESULT), 1.0), (None, 1e-6)] {
                let mut spec = Int8Spec {
                    codes: &codes_of_weight,
                    scales: &scales,
                    bias: Some(&bias),
                    window: Some(params.clone()),
                    source: SOURCE,
                    added: None,
                    result,
                    act,
                };
                let found = error(&spec, &x, None);
                assert!(found <= most, "{weight:?} {act:?} {result:?}: {found}");
                if result.is_some() {
                    spec.added = Some(ADDED);
                    let added = codes(&exact(&spec, &x, None).size(), 9);
                    let found = error(&spec, &x, Some(&added));
                    assert!(found <= most, "{weight:?} {act:?} added: {found}");
                }
            }
        }
    }
}

#[test]
fn linear_layers_take_rows_of_any_rank() {
    tch::manual_seed(1);
    let weight = Tensor::randint_low(-127, 128, [33, 48], (Kind::Int8, Device::Cpu));
    let scales = scales(33);
    for shape in [&[48][..], &[5, 48], &[2, 3, 48], &[1, 128, 48]] {
        for (result, most) in [(Some(RESULT), 1.0), (None, 1e-6)] {
            let spec = Int8Spec { result, ..plain(&weight, &scales) };
            let found = error(&spec, &codes(shape, 4), None);
            assert!(found <= most, "{shape:?}: {found}");
        }
    }
}

#[test]
fn an_input_that_does_not_fit_is_named() {
    let weight = Tensor::zeros([4, 8], (Kind::Int8, Device::Cpu));
    let scales = scales(4);
    let spec = plain(&weight, &scales);
    let Some(layer) = packed(&spec) else { return };
    let error = layer.run(&codes(&[2, 7], 1), None).unwrap_err();
    assert!(matches!(error, Error::Channels { expected: 8, .. }), "{error}");
    assert!(matches!(layer.run(&Tensor::zeros([2, 8], (Kind::Float, Device::Cpu)), None), Err(Error::Kind { .. })));
}

/// A shape of input whose kernel wants another layout of the weight takes the weight back to the default order first.
#[test]
fn the_weight_comes_back_from_its_layout() {
    for (weight, params, _) in windows() {
        let axes = weight.len() - 2;
        if axes == 1 {
            continue;
        }
        tch::manual_seed(2);
        let codes = Tensor::randint_low(-127, 128, weight.as_slice(), (Kind::Int8, Device::Cpu));
        let spec = Int8Spec {
            codes: &codes,
            scales: &scales(weight[0]),
            bias: None,
            window: Some(params),
            source: SOURCE,
            added: None,
            result: None,
            act: Activation::None,
        };
        let Some(layer) = packed(&spec) else { return };
        assert_eq!(layer.codes().unwrap(), codes, "{weight:?}");
    }
}

/// What is added broadcasts; floats may also be larger than the layer's result.
#[test]
fn what_is_added_broadcasts() {
    tch::manual_seed(8);
    let weight = Tensor::randint_low(-127, 128, [6, 16], (Kind::Int8, Device::Cpu));
    let scales = scales(6);
    let x = codes(&[4, 16], 5);
    let mut spec = plain(&weight, &scales);
    let Some(layer) = packed(&spec) else { return };
    let alone = layer.run(&x, None).unwrap();
    for shape in [&[4, 6][..], &[6], &[4, 1], &[3, 4, 6]] {
        let added = Tensor::randn(shape, (Kind::Float, Device::Cpu));
        let (found, wanted) = (layer.run(&x, Some(&added)).unwrap(), &alone + &added);
        assert_eq!(found.size(), wanted.size());
        assert!(found.allclose(&wanted, 1e-5, 1e-5, false), "{shape:?}");
    }
    (spec.added, spec.result) = (Some(ADDED), Some(RESULT));
    let Some(layer) = packed(&spec) else { return };
    let (small, large) = (codes(&[6], 6), codes(&[3, 4, 6], 7));
    assert_eq!(layer.run(&x, Some(&small)).unwrap(), layer.run(&x, Some(&small.expand([4, 6], true).copy())).unwrap());
    let error = layer.run(&x, Some(&large)).unwrap_err().to_string();
    assert!(error.contains("[3, 4, 6]") && error.contains("in floats by its name"), "{error}");
}

/// What storing codes does is not done twice.
#[test]
fn an_activation_is_left_out_where_codes_have_its_bounds() {
    let weight = Tensor::ones([4, 8], (Kind::Int8, Device::Cpu));
    let scales = scales(4);
    let from_zero = |scale: f32| Some(PerTensor { scale, zero_point: 0 });
    for (act, result, kept) in [
        (Activation::Relu, from_zero(0.5), PostOp::None),
        (Activation::Relu, Some(RESULT), PostOp::Relu),
        (Activation::Relu6, from_zero(6.0 / 255.0), PostOp::None),
        (Activation::Relu6, from_zero(0.5), PostOp::Clip(0.0, 12.0)),
        (Activation::Relu, None, PostOp::Relu),
    ] {
        let spec = Int8Spec { result, act, ..plain(&weight, &scales) };
        let Some(layer) = packed(&spec) else { return };
        assert_eq!(layer.post, kept, "{act:?} {result:?}");
        let found = error(&spec, &codes(&[5, 8], 2), None);
        assert!(result.is_none() || found <= 1.0, "{act:?} {result:?}: {found}");
    }
}

/// A residual that nobody else reads becomes the result; one with a second handle stays as it is.
#[test]
fn what_is_added_is_written_over_if_it_is_nobody_elses() {
    for (weight, params, input) in windows() {
        tch::manual_seed(4);
        let codes_of_weight = Tensor::randint_low(-127, 128, weight.as_slice(), (Kind::Int8, Device::Cpu));
        let scales = scales(weight[0]);
        for result in [Some(RESULT), None] {
            let spec = Int8Spec {
                window: Some(params.clone()),
                result,
                added: result.map(|_| ADDED),
                act: Activation::Relu,
                ..plain(&codes_of_weight, &scales)
            };
            let Some(layer) = packed(&spec) else { return };
            let x = codes(&input, 3);
            let alone = layer.run(&x, None).unwrap();
            let added = alone.contiguous().flip([1i64]);
            let wanted = layer.run(&x, Some(&added)).unwrap();
            // As the result lies, and in the default order.
            let mut as_result = alone.empty_like();
            as_result.copy_(&added);
            for added in [as_result, added.copy()] {
                let (address, lies_so) = (added.data_ptr(), added.stride() == wanted.stride());
                let found = layer.run_onto(&x, Sole::of(added).unwrap()).unwrap();
                assert_eq!(found, wanted, "{weight:?} {result:?}");
                let is_image = weight.len() > 3;
                assert_eq!(found.data_ptr() == address, lies_so && is_image, "{weight:?} {result:?}");
            }
        }
    }
}

/// Rows likewise.
#[test]
fn rows_that_are_added_are_written_over() {
    tch::manual_seed(6);
    let weight = Tensor::randint_low(-127, 128, [33, 48], (Kind::Int8, Device::Cpu));
    let scales = scales(33);
    for result in [Some(RESULT), None] {
        let Some(layer) = packed(&Int8Spec { result, added: result.map(|_| ADDED), ..plain(&weight, &scales) }) else {
            return;
        };
        let x = codes(&[2, 5, 48], 4);
        let added = layer.run(&x, None).unwrap().flip([0i64]).contiguous();
        let wanted = layer.run(&x, Some(&added)).unwrap();
        let address = added.data_ptr();
        let found = layer.run_onto(&x, Sole::of(added).unwrap()).unwrap();
        assert_eq!(found, wanted);
        assert_eq!(found.data_ptr(), address);
    }
}
