//! Masked attention is one op, and a query that sees nothing comes out as it does eagerly, NaN included.

use fx_runtime::{Freeze, Kind, Tensor, nn};
use fx_tests::masks::{Added, Extended, Infinite, Large, Least, Small};

use crate::values::{self, tensor};

/// How often the generated forward attends by the one op.
macro_rules! attentions {
    ($model:literal) => {{
        let code = include_str!(concat!(env!("OUT_DIR"), "/fx/", $model, ".rs"));
        ["attend(", "attend_added(", "attend_filled("]
            .map(|name| code.matches(&format!("attention::{name}")).count())
            .iter()
            .sum::<usize>()
    }};
}

/// Eager against frozen under a mask.
macro_rules! agree {
    ($model:ident, $mask:expr) => {
        agree!($model, $mask, 1e-5)
    };
    ($model:ident, $mask:expr, $tolerance:expr) => {{
        let vs = nn::VarStore::new(values::device());
        let model = {
            let _alone = values::chance();
            $model::new(&vs.root())
        };
        values::fill(&model);
        let frozen = model.freeze(&Freeze::default()).expect("it freezes");
        let xs = tensor(&[2, 5, 8], 1.0);
        let eager = tch::no_grad(|| model.forward(&xs, $mask));
        let found = frozen.try_forward(&xs, $mask).expect("it runs");
        assert_eq!(found.size(), eager.size());
        assert_eq!(found.isnan(), eager.isnan(), "{found}\n{eager}");
        let [found, eager] = [found, eager].map(|result| result.nan_to_num(0.0, None, None));
        assert!(found.allclose(&eager, $tolerance, $tolerance / 10.0, false), "{found}\n{eager}");
    }};
}

/// Masks of what is hidden: of some keys, of all of them from one query, of all from a whole sequence, of no axis but keys.
fn hidden() -> Vec<Tensor> {
    let zeros = |shape: &[i64]| Tensor::zeros(shape, (Kind::Bool, values::device()));
    let causal = Tensor::ones([5, 5], (Kind::Bool, values::device())).triu(1);
    let row = causal.copy();
    let _ = row.get(2).fill_(1);
    let sequence = zeros(&[2, 1, 1, 5]);
    let _ = sequence.get(1).fill_(1);
    let _ = sequence.get(0).narrow(-1, 3, 2).fill_(1);
    vec![causal, row, sequence, zeros(&[5]), zeros(&[5]).logical_not()]
}

#[test]
fn filled_with_minus_infinity() {
    assert_eq!(attentions!("Infinite"), 1);
    let nans = hidden().iter().filter(|mask| bool::try_from(mask.all_dim(-1, false).any()).unwrap_or_default()).count();
    assert_eq!(nans, 3);
    for mask in hidden() {
        agree!(Infinite, &mask);
    }
}

#[test]
fn filled_with_a_large_number() {
    assert_eq!((attentions!("Large"), attentions!("Least")), (1, 1));
    for mask in hidden() {
        agree!(Large, &mask);
        agree!(Least, &mask);
    }
}

#[test]
fn a_small_number_hides_nothing() {
    assert_eq!(attentions!("Small"), 0);
    for mask in hidden() {
        agree!(Small, &mask);
    }
}

#[test]
fn added_or_missing() {
    assert_eq!(attentions!("Added"), 2);
    agree!(Added, None);
    for mask in hidden() {
        let infinite = mask.zeros_like().to_kind(Kind::Float).masked_fill(&mask, f64::NEG_INFINITY);
        agree!(Added, Some(&infinite));
        agree!(Added, Some(&(mask.to_kind(Kind::Float) * -64.0)));
        // Truth values are added as numbers, and so are integers.
        agree!(Added, Some(&mask));
        agree!(Added, Some(&(mask.to_kind(Kind::Int64) * -3)));
    }
}

#[test]
fn zeros_and_ones() {
    assert_eq!(attentions!("Extended"), 1);
    let seen = Tensor::from_slice2(&[[1i64, 1, 1, 0, 0], [0, 0, 0, 0, 0]]).to_device(values::device());
    // A score that -10000 is added to keeps three digits behind the point, and a GPU's kernel does not round it there.
    let tolerance = if values::device().is_cuda() { 1e-2 } else { 1e-5 };
    for seen in [seen.shallow_clone(), seen.ones_like()] {
        agree!(Extended, &seen, tolerance);
        agree!(Extended, &seen.to_kind(Kind::Bool), tolerance);
    }
}
