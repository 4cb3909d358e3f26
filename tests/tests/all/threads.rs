//! Many threads: freezing one model, and calling one frozen model.

use std::thread;

use fx_runtime::{Freeze, Kind};
use fx_tests::{convolutions::Decoder, dense::Activations, residual::Residual};

use crate::subject::{Subject, model};
use crate::values::{bytes, is_same, tensor};

const THREADS: usize = 8;

/// Every thread's results are those of the first thread.
fn calls_agree<S: Subject>(shape: &[i64]) {
    let model = model::<S>(Kind::Float);
    let frozen = model.frozen(&Freeze::default()).expect("it freezes");
    let run = |seed: u32| {
        let xs = tensor(shape, f64::from(seed));
        bytes(&S::run(&frozen, &xs).expect("it runs"))
    };
    let expected: Vec<Vec<u8>> = (0..4).map(run).collect();
    thread::scope(|scope| {
        let calls = |_| scope.spawn(|| (0..20).map(|call| (call % 4, run(call % 4))).collect::<Vec<_>>());
        let threads: Vec<_> = (0..THREADS).map(calls).collect();
        for (seed, found) in threads.into_iter().flat_map(|thread| thread.join().expect("no panic")) {
            assert!(is_same(&found, &expected[seed as usize]), "a call from another thread gives other numbers");
        }
    });
}

#[test]
fn one_frozen_model_called_from_many_threads() {
    calls_agree::<Residual>(&[2, 3, 24, 24]);
    calls_agree::<Decoder>(&[2, 8, 6, 6]);
    calls_agree::<Activations>(&[16, 256]);
}

#[test]
fn one_model_frozen_from_many_threads() {
    let xs = tensor(&[2, 3, 24, 24], 1.0);
    let model = model::<Residual>(Kind::Float);
    let freeze_and_run = |model: &Residual| {
        let frozen = model.frozen(&Freeze::default()).expect("it freezes");
        bytes(&Residual::run(&frozen, &xs.shallow_clone()).expect("it runs"))
    };
    let expected = freeze_and_run(&model);
    // A tensor may be sent to another thread, but not shared with it: each has a handle of its own on the same weights.
    let handles: Vec<_> = (0..THREADS)
        .map(|_| (fx_runtime::Module::shallow_clone(&model).expect("it clones"), xs.shallow_clone()))
        .collect();
    thread::scope(|scope| {
        let freeze = |(model, xs)| {
            scope.spawn(move || {
                let model: Residual = model;
                let frozen = model.frozen(&Freeze::default()).expect("it freezes");
                bytes(&Residual::run(&frozen, &xs).expect("it runs"))
            })
        };
        let threads: Vec<_> = handles.into_iter().map(freeze).collect();
        for thread in threads {
            assert!(is_same(&thread.join().expect("no panic"), &expected));
        }
    });
}

#[test]
fn a_frozen_model_moves_between_threads() {
    fn assert_send_sync<T: Send + Sync + 'static>() {}
    assert_send_sync::<<Residual as Subject>::Frozen>();
    assert_send_sync::<resnet18::model::ResNet18Frozen>();
    assert_send_sync::<Freeze>();
    assert_send_sync::<fx_runtime::Error>();
    let frozen = thread::spawn(|| model::<Residual>(Kind::Float).frozen(&Freeze::default()).expect("it freezes"));
    let frozen = frozen.join().expect("no panic");
    let size = Residual::run(&frozen, &tensor(&[1, 3, 8, 8], 1.0)).expect("it runs").size();
    assert_eq!(size, [1, 10]);
}
