//! What stands around an `if` or a `match` is fused in its arms, whichever arm the live model takes.

use fx_runtime::{Kind, nn};
use fx_tests::arms::{LayerScale, Projected, Shortcut};

use crate::folding::{agrees, compare};
use crate::subject::Subject;
use crate::values;

/// The generated forward of a model.
macro_rules! forward {
    ($model:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/fx/", $model, ".rs")).split("fn try_forward").nth(1).unwrap_or_default()
    };
}

/// A model that `new` makes, frozen, against the same in f64.
fn agrees_with<S: Subject>(new: impl Fn(&nn::Path) -> S, shape: &[i64]) {
    let made = |kind: Kind| {
        let mut vs = nn::VarStore::new(values::device());
        let model = {
            let _alone = values::chance();
            new(&vs.root())
        };
        values::fill(&model);
        vs.set_kind(kind);
        model
    };
    compare(&made(Kind::Float), &made(Kind::Double), shape);
}

#[test]
fn a_residual_under_a_flag() {
    let forward = forward!("Shortcut");
    let fused = forward.contains("run_add(") && !forward.contains("f_add(") && !forward.contains("f_relu(");
    assert!(fused, "{forward}");
    agrees::<Shortcut>(&[2, 4, 5, 6]);
    agrees_with(|p| Shortcut::with(p, false), &[2, 4, 5, 6]);
}

#[test]
fn a_layer_that_may_be_missing() {
    let forward = forward!("Projected");
    let (layer, none) = forward.split_once("FrozenConv::None").unwrap_or_default();
    assert!(layer.contains("run_add(") && !layer.contains("f_add(") && !layer.contains("f_silu("), "{forward}");
    assert!(none.contains("AddSilu::run("), "{forward}");
    agrees::<Projected>(&[2, 4, 5, 6]);
    agrees_with(|p| Projected::with(p, false), &[2, 4, 5, 6]);
}

#[test]
fn a_factor_for_each_output() {
    let forward = forward!("LayerScale");
    assert!(forward.contains("run_add(") && forward.matches("::Some(").count() == 2, "{forward}");
    agrees::<LayerScale>(&[2, 4, 5, 6]);
    // One for all; one for each element; and of more axes than a layer without a batch would have.
    for (channels, features) in
        [(&[1, 1, 1][..], &[1][..]), (&[4, 5, 6], &[5, 6]), (&[1, 4, 1, 1], &[1, 1, 1, 6]), (&[], &[])]
    {
        agrees_with(|p| LayerScale::with(p, channels, features), &[2, 4, 5, 6]);
    }
}
