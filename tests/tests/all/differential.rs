//! Frozen against eager: models of every sort, several batches and sizes, dtypes, orders of axes, kernels.

use std::panic::{AssertUnwindSafe, catch_unwind};

use fx_runtime::{Backend, Freeze, Kind, MemoryFormat, Tensor, capabilities};
use fx_tests::{constant, convolutions, dense, pointwise, residual};

use crate::subject::{Subject, exact, model};
use crate::values::{channels_last, device, difference, ids, tensor};

/// How far a result may be from the exact one, relative to the largest value of the result.
///
/// A model here rounds at most eight times on its longest way, so that the half precisions may be eight units in the
/// last place off: `8 · 2^-8` for bf16, `8 · 2^-11` for f16. In f32 and f64 the length of the sums counts: a few hundred
/// terms lose a few dozen units, of `2^-24` and `2^-53`.
fn tolerance(kind: Kind) -> f64 {
    match kind {
        Kind::Double => 1e-13,
        Kind::Float => 5e-6,
        Kind::Half => 8.0 * 2f64.powi(-11),
        _ => 8.0 * 2f64.powi(-8),
    }
}

/// The dtypes that this machine computes in; eager f16 convolutions are missing on some.
fn kinds() -> Vec<Kind> {
    let f16 = (capabilities().f16 || device().is_cuda()).then_some(Kind::Half);
    [Kind::Float, Kind::Double, Kind::BFloat16].into_iter().chain(f16).collect()
}

/// The default, and each choice the other way.
fn options() -> Vec<Freeze> {
    let on_cuda = [Freeze::new().cuda_graphs(true), Freeze::new().autotune(true)];
    let on_cuda = on_cuda.into_iter().filter(|_| device().is_cuda());
    [MemoryFormat::ChannelsLast, MemoryFormat::Contiguous, MemoryFormat::Auto]
        .into_iter()
        .flat_map(|format| [Backend::Best, Backend::Composed].map(|backend| (format, backend)))
        .map(|(format, backend)| Freeze::new().memory_format(format).backend(backend))
        .chain(on_cuda)
        .collect()
}

/// Inputs for batches and sizes, in both orders of axes.
fn inputs(shape: impl Fn(i64, i64) -> Vec<i64>, kind: Kind) -> Vec<Tensor> {
    let mut inputs = Vec::new();
    for (batch, size) in [(1, 8), (2, 8), (5, 12), (0, 8)] {
        let xs = tensor(&shape(batch, size), 1.0).to_kind(kind);
        inputs.extend([channels_last(&xs), xs]);
    }
    inputs
}

/// What the forward gives; none where libtorch refuses the input.
fn eager<S: Subject>(model: &S, xs: &Tensor) -> Option<Tensor> {
    catch_unwind(AssertUnwindSafe(|| model.eager(xs))).ok()
}

/// Compares one call; both forms have to refuse the same inputs.
fn compare<S: Subject>(what: &str, frozen: &S::Frozen, model: &S, exact: &S, xs: &Tensor) {
    let kind = fx_runtime::Module::kind(model).expect("a model with weights");
    let what = format!("{what} of {:?} with strides {:?}", xs.size(), xs.stride());
    let before = xs.copy();
    let Some(expected) = eager(model, xs) else {
        let message = S::run(frozen, xs).expect_err(&what).to_string();
        assert!(message.starts_with("at `"), "{what}: {message}");
        return;
    };
    let found = S::run(frozen, xs).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(xs, &before, "{what}: the input is as it was");
    assert_eq!((found.size(), found.kind()), (expected.size(), expected.kind()), "{what}");
    if xs.is_contiguous() {
        assert_eq!(found.stride(), expected.stride(), "{what}: the result lies in memory as the model's own");
    } else {
        let orders = [found.contiguous(), channels_last(&found)].map(|found| found.stride());
        assert!(orders.contains(&found.stride()), "{what}: {:?} is neither order", found.stride());
    }
    assert!(!found.requires_grad(), "{what}");
    let in_f64 = if xs.is_floating_point() { xs.to_kind(Kind::Double) } else { xs.shallow_clone() };
    let difference = difference(&found, &exact.eager(&in_f64));
    assert!(difference <= tolerance(kind), "{what}: {difference:e}");
}

/// Every dtype, option, batch, size and order of axes.
fn agrees<S: Subject>(inputs: impl Fn(Kind) -> Vec<Tensor>) {
    for kind in kinds() {
        let (model, exact) = (model::<S>(kind), exact::<S>(kind));
        let inputs = inputs(kind);
        for options in options() {
            let frozen = model.frozen(&options).unwrap_or_else(|error| panic!("{kind:?} {options:?}: {error}"));
            for xs in &inputs {
                compare(&format!("{kind:?} {options:?}"), &frozen, &model, &exact, xs);
            }
        }
    }
}

fn images<S: Subject>(channels: i64) {
    agrees::<S>(|kind| inputs(|batch, size| vec![batch, channels, size, size + 2], kind));
}

#[test]
fn constants() {
    if device().is_cuda() {
        eprintln!("skipped: the model makes its mask on the CPU");
        return;
    }
    agrees::<constant::Masked>(|kind| [1, 2, 5].map(|batch| tensor(&[batch, 4, 4], 1.0).to_kind(kind)).into());
}

#[test]
fn residual() {
    images::<residual::Residual>(3);
}

#[test]
fn numbered_layers() {
    agrees::<residual::Numbered>(|kind| [1, 2, 5, 0].map(|batch| tensor(&[batch, 6], 1.0).to_kind(kind)).into());
}

#[test]
fn depthwise() {
    images::<convolutions::Depthwise>(6);
}

#[test]
fn grouped_and_dilated() {
    images::<convolutions::Dilated>(4);
}

#[test]
fn transposed() {
    images::<convolutions::Decoder>(8);
}

#[test]
fn one_axis() {
    agrees::<convolutions::Waves>(|kind| inputs(|batch, size| vec![batch, 4, 2 * size], kind));
}

#[test]
fn three_axes() {
    agrees::<convolutions::Volume>(|kind| inputs(|batch, size| vec![batch, 2, 4, size, size / 2], kind));
}

#[test]
fn other_borders() {
    images::<convolutions::Padded>(3);
}

#[test]
fn no_batch_norm() {
    agrees::<convolutions::Plain>(|kind| inputs(|batch, size| vec![batch, 1, 2 * size, 2 * size], kind));
}

#[test]
fn no_affine() {
    images::<convolutions::NoAffine>(3);
}

#[test]
fn activations() {
    agrees::<dense::Activations>(|kind| {
        let shapes: [&[i64]; 6] = [&[1, 256], &[2, 256], &[5, 256], &[0, 256], &[256], &[2, 3, 256]];
        shapes.map(|shape| tensor(shape, 1.0).to_kind(kind)).into()
    });
}

#[test]
fn layers() {
    agrees::<dense::Layers>(|kind| {
        let shapes: [&[i64]; 5] = [&[1, 16], &[5, 16], &[0, 16], &[16], &[2, 3, 16]];
        shapes.map(|shape| tensor(shape, 1.0).to_kind(kind)).into()
    });
}

#[test]
fn tokens() {
    agrees::<dense::Tokens>(|_| {
        [[1, 7], [2, 7], [5, 12], [0, 7]].map(|shape| ids(&shape, dense::Tokens::VOCABULARY)).into()
    });
}

#[test]
fn group_norm() {
    images::<dense::Grouped>(3);
}

#[test]
fn custom_activations() {
    agrees::<pointwise::Custom>(|kind| {
        [&[1, 12][..], &[5, 12], &[0, 12], &[2, 3, 12], &[700, 12]].map(|shape| tensor(shape, 1.0).to_kind(kind)).into()
    });
}

#[test]
fn modulation() {
    agrees::<pointwise::Modulated>(|kind| {
        [[1, 1, 12], [2, 7, 12], [3, 64, 12]].map(|shape| tensor(&shape, 1.0).to_kind(kind)).into()
    });
}

#[test]
fn rotation() {
    agrees::<pointwise::Rotated>(|kind| {
        [[1, 1, 16], [2, 7, 16], [3, 32, 16], [0, 4, 16]].map(|shape| tensor(&shape, 1.0).to_kind(kind)).into()
    });
}

#[test]
fn values_of_a_group_that_are_read_elsewhere() {
    images::<pointwise::Bent>(4);
}

#[test]
fn norms_and_means_of_rows() {
    agrees::<pointwise::Normed>(|kind| {
        [&[1, 48][..], &[5, 48], &[0, 48], &[2, 3, 48], &[700, 48]].map(|shape| tensor(shape, 1.0).to_kind(kind)).into()
    });

    agrees::<pointwise::Rows>(|kind| {
        [&[1, 48][..], &[5, 48], &[0, 48], &[2, 3, 48], &[700, 48]].map(|shape| tensor(shape, 1.0).to_kind(kind)).into()
    });
}

#[test]
fn strided_inputs() {
    let (model, exact) = (model::<residual::Residual>(Kind::Float), exact::<residual::Residual>(Kind::Float));
    let frozen = model.frozen(&Freeze::default()).expect("it freezes");
    let wide = tensor(&[4, 6, 20, 20], 1.0);
    let cases = [
        wide.narrow(1, 2, 3).slice(2, 0, 20, 2).slice(3, 1, 19, 2),
        wide.narrow(1, 0, 3).transpose(2, 3),
        tensor(&[1, 3, 1, 10], 1.0).expand([2, 3, 10, 10], false),
    ];
    for xs in cases {
        compare("strided", &frozen, &model, &exact, &xs);
    }
}

#[test]
fn frozen_for_another_dtype() {
    for kind in kinds() {
        let model = model::<residual::Residual>(Kind::Float);
        let frozen = model.frozen(&Freeze::new().kind(kind)).expect("it freezes");
        let xs = tensor(&[2, 3, 10, 8], 1.0).to_kind(kind);
        let found = residual::ResidualFrozen::try_forward_t(&frozen, &xs, false).expect("it runs");
        let exact = exact::<residual::Residual>(Kind::Float).eager(&xs.to_kind(Kind::Double));
        assert_eq!(found.kind(), kind);
        let difference = difference(&found, &exact);
        // Folded weights are rounded to the dtype of the model's own.
        let tolerance = tolerance(kind).max(tolerance(Kind::Float));
        assert!(difference <= tolerance, "{kind:?}: {difference:e}");
    }
}

#[test]
fn what_is_done_to_the_model_later_does_not_reach_the_frozen_one() {
    let model = model::<residual::Residual>(Kind::Float);
    let frozen = model.frozen(&Freeze::default()).expect("it freezes");
    let xs = tensor(&[2, 3, 8, 8], 1.0);
    let before = residual::Residual::run(&frozen, &xs).expect("it runs");
    for (_, tensor) in fx_runtime::Module::state_dict(&model) {
        let _ = tch::no_grad(|| tensor.shallow_clone().zero_());
    }
    assert_eq!(residual::Residual::run(&frozen, &xs).expect("it runs"), before);
}

#[test]
fn a_model_in_training_is_frozen_for_inference() {
    let model = model::<convolutions::NoAffine>(Kind::Float);
    let xs = tensor(&[2, 3, 8, 8], 1.0);
    let expected = model.eager(&xs);
    fx_runtime::Module::train(&model);
    let frozen = model.frozen(&Freeze::default()).expect("it freezes");
    let found = convolutions::NoAffine::run(&frozen, &xs).expect("it runs");
    assert!(difference(&found, &expected) <= tolerance(Kind::Float));
}
