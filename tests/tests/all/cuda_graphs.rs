//! Forwards recorded as CUDA graphs, on a GPU: `FX_TEST_DEVICE=cuda NVIDIA_TF32_OVERRIDE=0`.

use std::thread;

use fx_runtime::{Freeze, GraphOutputs, Kind, Tensor};
use fx_tests::residual::{Residual, ResidualFrozen};
use fx_tests::{convolutions, dense, merging, pointwise};

use crate::subject::{Subject, model};
use crate::values::{bytes, device, ids, is_same, tensor};

/// Where there is no GPU these tests have nothing to test, and say so.
fn has_gpu() -> bool {
    let is_there = device().is_cuda();
    if !is_there {
        eprintln!("skipped: FX_TEST_DEVICE is not `cuda`");
    }
    is_there
}

fn residual(options: &Freeze) -> ResidualFrozen {
    model::<Residual>(Kind::Float).frozen(&options.clone().cuda_graphs(true)).expect("it freezes")
}

fn picture(batch: i64, seed: f64) -> Tensor {
    tensor(&[batch, 3, 16, 16], seed)
}

/// What a replay gives is bit for bit what the same kernels give one by one, for new values and shapes in any order.
fn replays_agree<S: Subject>(inputs: impl Fn(i64, f64) -> Tensor) {
    for kind in [Kind::Float, Kind::Half] {
        let model = model::<S>(kind);
        let recorded = model.frozen(&Freeze::new().cuda_graphs(true)).expect("it freezes");
        let plain = model.frozen(&Freeze::new()).expect("it freezes");
        for (batch, seed) in [(1, 1.0), (4, 2.0), (1, 3.0), (4, 4.0), (2, 5.0), (1, 6.0)] {
            let xs = inputs(batch, seed);
            let xs = if xs.is_floating_point() { xs.to_kind(kind) } else { xs };
            let before = xs.copy();
            let (found, expected) = (S::run(&recorded, &xs).expect("it runs"), S::run(&plain, &xs).expect("it runs"));
            assert_eq!((found.size(), found.kind(), found.stride()), (expected.size(), kind, expected.stride()));
            assert_eq!(found, expected, "{kind:?} of {batch}");
            assert_eq!(xs, before, "the input is as it was");
        }
    }
}

#[test]
fn replays_give_what_the_kernels_give() {
    if !has_gpu() {
        return;
    }
    replays_agree::<Residual>(picture);
    replays_agree::<convolutions::Depthwise>(|batch, seed| tensor(&[batch, 6, 10, 12], seed));
    replays_agree::<dense::Activations>(|batch, seed| tensor(&[batch, 256], seed));
    replays_agree::<dense::Tokens>(|batch, _| ids(&[batch, 7], dense::Tokens::VOCABULARY));
    replays_agree::<merging::Attention>(|batch, seed| tensor(&[batch, 5, 12], seed));
    replays_agree::<pointwise::Custom>(|batch, seed| tensor(&[batch, 12], seed));
    replays_agree::<pointwise::Normed>(|batch, seed| tensor(&[batch, 48], seed));
}

#[test]
fn each_shape_is_recorded_once_and_the_oldest_goes() {
    if !has_gpu() {
        return;
    }
    let frozen = residual(&Freeze::new().cuda_graph_limit(2));
    let report = frozen.warm_up(&[[1, 3, 16, 16], [2, 3, 16, 16], [1, 3, 16, 16], [3, 3, 16, 16]]).expect("it runs");
    assert_eq!((report.recorded.len(), &report.off), (2, &None), "{report}");
    assert!(report.refused.is_empty(), "{report}");
    assert!(report.recorded[0].contains("1, 3, 16, 16") && report.recorded[1].contains("3, 3, 16, 16"), "{report}");
    // The one that went is recorded again.
    let plain = model::<Residual>(Kind::Float).frozen(&Freeze::new()).expect("it freezes");
    for batch in [2, 1, 3, 2] {
        let xs = picture(batch, 7.0);
        assert_eq!(frozen.forward_t(&xs, false), plain.forward_t(&xs, false), "{batch}");
    }
}

#[test]
fn outputs_are_the_callers_or_the_recordings() {
    if !has_gpu() {
        return;
    }
    let [first, second] = [1.0, 2.0].map(|seed| picture(2, seed));
    let own = residual(&Freeze::new());
    let kept = own.forward_t(&first, false);
    let before = kept.copy();
    let other = own.forward_t(&second, false);
    assert_eq!(kept, before, "the next call leaves it alone");
    assert_ne!(other, before);
    let shared = residual(&Freeze::new().cuda_graph_outputs(GraphOutputs::Shared));
    let kept = shared.forward_t(&first, false);
    assert_eq!(kept, before);
    assert_eq!(shared.forward_t(&second, false), other);
    assert_eq!(kept, other, "the next call writes to it");
}

#[test]
fn threads_take_turns() {
    if !has_gpu() {
        return;
    }
    let frozen = residual(&Freeze::new());
    let run = |call: u32| bytes(&frozen.forward_t(&picture(i64::from(call % 3) + 1, f64::from(call % 5)), false));
    let expected: Vec<Vec<u8>> = (0..15).map(run).collect();
    thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| (0..30).map(|call| run(call % 15)).collect::<Vec<_>>())).collect();
        for found in threads {
            for (call, found) in found.join().expect("no panic").into_iter().enumerate() {
                assert!(is_same(&found, &expected[call % 15]), "call {call} gives other numbers");
            }
        }
    });
}

/// A forward that asks the device for a number waits for it, which cannot be recorded.
#[test]
fn what_cannot_be_recorded_runs_as_it_is() {
    if !has_gpu() {
        return;
    }
    let model = model::<dense::Decided>(Kind::Float);
    let asking = model.frozen(&Freeze::new().cuda_graphs(true)).expect("it freezes");
    let plain = model.frozen(&Freeze::new()).expect("it freezes");
    for seed in [1.0, 2.0, 3.0, 1.0] {
        let xs = tensor(&[2, 32], seed);
        let found = dense::Decided::run(&asking, &xs).expect("it runs");
        assert_eq!(found, dense::Decided::run(&plain, &xs).expect("it runs"));
        assert_eq!(found, dense::Decided::run(&asking, &xs).expect("it runs"));
    }
    // The next one can be.
    let report = residual(&Freeze::new()).warm_up(&[[1, 3, 16, 16]]).expect("it runs");
    assert_eq!(report.recorded.len(), 1, "{report}");
}

/// A frozen model that goes away while another is recorded leaves it alone.
#[test]
fn models_come_and_go() {
    if !has_gpu() {
        return;
    }
    let xs = picture(2, 1.0);
    let stays = residual(&Freeze::new());
    let expected = stays.forward_t(&xs, false);
    for seed in 0..5 {
        let goes = residual(&Freeze::new());
        let other = picture(2, f64::from(seed));
        let found = goes.forward_t(&other, false);
        drop(goes);
        assert_eq!(stays.forward_t(&other, false), found);
        assert_eq!(stays.forward_t(&xs, false), expected);
    }
}
