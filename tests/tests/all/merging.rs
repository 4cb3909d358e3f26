//! Layers on one input become one where that is right; factors and leading batch norms become weights.

use fx_runtime::{Kind, nn};
use fx_tests::leading::{LeadingFlat, LeadingNorm, Scaled};
use fx_tests::merging::{Attention, Gated, Heads};

use crate::folding::{agrees, compare};
use crate::values;

/// The generated code of a model.
macro_rules! generated {
    ($model:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/fx/", $model, ".rs"))
    };
}

/// The fields of the generated type.
fn fields(generated: &str) -> Vec<&str> {
    let types = generated.split("\nimpl ").next().unwrap_or_default();
    types.lines().map(str::trim).filter(|line| line.contains(": ") && !line.starts_with('/')).collect()
}

fn kernels(generated: &str) -> usize {
    fields(generated).iter().filter(|field| field.contains("frozen::Linear") || field.contains("frozen::Conv")).count()
}

#[test]
fn queries_keys_and_values() {
    assert_eq!(kernels(generated!("Attention")), 2, "{:?}", fields(generated!("Attention")));
    assert!(generated!("Attention").contains("attention::attend("), "attention is one op still");
    agrees::<Attention>(&[2, 5, 12]);
    agrees::<Attention>(&[1, 1, 12]);
}

#[test]
fn gate_and_way_up() {
    assert_eq!(kernels(generated!("Gated")), 2);
    assert!(generated!("Gated").contains("silu("), "the activation is one op still");
    agrees::<Gated>(&[3, 6]);
    agrees::<Gated>(&[2, 4, 6]);
}

#[test]
fn only_layers_that_are_called_once_on_the_same_value() {
    // The two heads are one; the layer behind them, the shared one, the one with a residual and the late one stay.
    let kernels = fields(generated!("Heads")).into_iter().filter(|field| field.contains("frozen::Linear"));
    assert_eq!(kernels.count(), 5, "{:?}", fields(generated!("Heads")));
    agrees::<Heads>(&[4, 6]);
}

#[test]
fn a_batch_norm_in_front_of_a_convolution() {
    agrees::<LeadingNorm>(&[2, 4, 8, 9]);
    let padded = |kind: Kind| {
        let mut vs = nn::VarStore::new(values::device());
        let model = {
            let _alone = values::chance();
            LeadingNorm::padded(&vs.root(), 1)
        };
        values::fill(&model);
        vs.set_kind(kind);
        model
    };
    compare(&padded(Kind::Float), &padded(Kind::Double), &[2, 4, 8, 9]);
    assert_eq!(fields(generated!("LeadingNorm")).iter().filter(|field| field.contains("BatchNorm")).count(), 1);
}

#[test]
fn a_batch_norm_in_front_of_a_linear_layer() {
    assert!(!fields(generated!("LeadingFlat")).iter().any(|field| field.contains("BatchNorm")));
    agrees::<LeadingFlat>(&[4, 3, 2, 2]);
}

#[test]
fn factors_on_both_sides() {
    let forward = generated!("Scaled").split("fn try_forward").nth(1).unwrap_or_default();
    assert!(!forward.contains("f_g_mul") && !forward.contains("f_g_div"), "{forward}");
    agrees::<Scaled>(&[2, 3, 6, 6]);
}
