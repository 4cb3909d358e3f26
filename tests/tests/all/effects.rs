//! What a forward does beside its result stays: chance is drawn as often, and in place is in place.

use fx_runtime::{Freeze, Kind, Tensor};
use fx_tests::constant::{Doubled, Handed};
use fx_tests::effects::{Compound, Flat, InPlace, InputInPlace, MonteCarlo, Noise, Parts};

use crate::subject::{Subject, model};
use crate::values::{chance, difference, tensor};

/// From the same seed, the result and the next number of the generator.
fn drawn(forward: impl Fn() -> Tensor) -> (Tensor, f64) {
    let _alone = chance();
    tch::manual_seed(11);
    let ys = forward();
    (ys, Tensor::rand([1], tch::kind::FLOAT_CPU).double_value(&[0]))
}

fn draws_as_the_model<S: Subject>(shape: &[i64]) {
    let model = model::<S>(Kind::Float);
    let frozen = model.frozen(&Freeze::default()).expect("it freezes");
    let xs = tensor(shape, 1.0);
    let (expected, next) = drawn(|| model.eager(&xs));
    let (found, next_frozen) = drawn(|| S::run(&frozen, &xs).expect("it runs"));
    assert!(difference(&found, &expected) <= 5e-6);
    assert_eq!(next_frozen.to_bits(), next.to_bits(), "the generator is where the model leaves it");
    let again = {
        let _alone = chance();
        S::run(&frozen, &xs).expect("it runs")
    };
    assert!(difference(&again, &found) > 1e-2, "another call draws other numbers");
}

#[test]
fn draws_are_neither_merged_nor_dropped_nor_frozen() {
    draws_as_the_model::<Noise>(&[2, 3, 8, 8]);
}

#[test]
fn dropout_that_stays_on_stays_random() {
    draws_as_the_model::<MonteCarlo>(&[64, 6]);
}

/// The same result, and the same input afterwards.
fn writes_as_the_model<S: Subject>(shape: &[i64]) -> Tensor {
    let model = model::<S>(Kind::Float);
    let frozen = model.frozen(&Freeze::default()).expect("it freezes");
    let (eager_input, frozen_input) = (tensor(shape, 1.0), tensor(shape, 1.0));
    let expected = model.eager(&eager_input);
    let found = S::run(&frozen, &frozen_input).expect("it runs");
    assert!(difference(&found, &expected) <= 5e-6);
    assert_eq!(frozen_input, eager_input);
    frozen_input
}

#[test]
fn writes_reach_every_name_of_a_tensor() {
    let shape = [2, 3, 8, 8];
    assert_eq!(writes_as_the_model::<InPlace>(&shape), tensor(&shape, 1.0), "the input is only read");
    assert_eq!(writes_as_the_model::<Compound>(&shape), tensor(&shape, 1.0) / 2.0);
    let _ = writes_as_the_model::<Parts>(&[4, 6]);
    let _ = writes_as_the_model::<Flat>(&shape);
}

#[test]
fn a_constant_that_the_caller_gets_is_the_callers() {
    is_new_every_time::<Handed>(&Tensor::ones([2, 2], tch::kind::FLOAT_CPU));
    let doubled = model::<Doubled>(Kind::Float);
    is_new_every_time::<Doubled>(&doubled.eager(&tensor(&[3, 4], 1.0)));
}

fn is_new_every_time<S: Subject>(expected: &Tensor) {
    let frozen = model::<S>(Kind::Float).frozen(&Freeze::default()).expect("it freezes");
    for _ in 0..2 {
        let mut ys = S::run(&frozen, &tensor(&[3, 4], 1.0)).expect("it runs");
        assert_eq!(ys, *expected);
        let _ = ys.fill_(7.0);
    }
}

#[test]
fn writes_into_the_input_are_the_callers_to_see() {
    let input = writes_as_the_model::<InputInPlace>(&[2, 3, 8, 8]);
    assert!(input.min().double_value(&[]) >= 0.0);
}
