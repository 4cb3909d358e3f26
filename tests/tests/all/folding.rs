//! Batch norms fold where that is right, and only there: counted in the generated code, and compared with eager.

use fx_runtime::{Freeze, Kind, Tensor};
use fx_tests::folding::{
    Borders, Elsewhere, FlatNorm, LinearNorm, Loop, OfTheBatch, SharedNorm, Transposed, Twice, TwoNorms,
};

use crate::subject::{Subject, exact, model};
use crate::values::{difference, tensor};

/// The generated forward, where a batch norm that was not folded is called.
macro_rules! generated {
    ($model:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/fx/", $model, ".rs"))
    };
}

/// How many kernels and batch norms the generated type holds; a batch norm in a group is a factor of each channel.
fn fields(generated: &str) -> (usize, usize) {
    let types = generated.split("\nimpl ").next().unwrap_or_default();
    let kernels =
        ["frozen::Conv,", "frozen::Conv>", "frozen::Linear,", "frozen::Linear>"].map(|ty| types.matches(ty).count());
    let in_groups = generated.matches("norm::channel_factor(").count();
    (kernels.iter().sum(), types.matches("nn::BatchNorm").count() + in_groups)
}

pub(crate) fn agrees<S: Subject>(shape: &[i64]) {
    compare(&model::<S>(Kind::Float), &exact::<S>(Kind::Float), shape);
}

/// The frozen form of `model` against `exact`, the same model in f64.
pub(crate) fn compare<S: Subject>(model: &S, exact: &S, shape: &[i64]) {
    let frozen = model.frozen(&Freeze::default()).expect("it freezes");
    let xs: Tensor = tensor(shape, 1.0);
    let found = S::run(&frozen, &xs).expect("it runs");
    let difference = difference(&found, &exact.eager(&xs.to_kind(Kind::Double)));
    assert!(difference <= 5e-6, "{difference:e}");
}

#[test]
fn not_into_a_convolution_that_is_called_again_without() {
    assert_eq!(fields(generated!("Twice")), (1, 1));
    agrees::<Twice>(&[2, 3, 8, 8]);
}

#[test]
fn not_into_a_convolution_with_another_batch_norm() {
    let (_, norms) = fields(generated!("TwoNorms"));
    assert_eq!(norms, 2);
    agrees::<TwoNorms>(&[2, 3, 8, 8]);
}

#[test]
fn not_where_the_result_has_other_readers() {
    assert_eq!(fields(generated!("Elsewhere")), (1, 1));
    agrees::<Elsewhere>(&[2, 3, 8, 8]);
}

#[test]
fn not_a_batch_norm_in_training() {
    assert!(
        !["conv_batch_norm", "pack_batch_norm", "pack_layer_batch_norm"]
            .iter()
            .any(|name| generated!("OfTheBatch").contains(name))
    );
    agrees::<OfTheBatch>(&[4, 3, 8, 8]);
}

#[test]
fn in_a_loop() {
    assert_eq!(fields(generated!("Loop")), (1, 0));
    agrees::<Loop>(&[2, 3, 8, 8]);
}

#[test]
fn one_batch_norm_into_many_convolutions() {
    assert_eq!(fields(generated!("SharedNorm")), (1, 0));
    agrees::<SharedNorm>(&[2, 3, 8, 8]);
}

#[test]
fn across_the_borders_of_modules() {
    assert_eq!(fields(generated!("Borders")), (3, 0));
    agrees::<Borders>(&[2, 3, 8, 8]);
}

#[test]
fn transposed_and_grouped() {
    assert_eq!(fields(generated!("Transposed")), (1, 0));
    agrees::<Transposed>(&[2, 4, 8, 8]);
}

#[test]
fn linear_layers_on_matrices() {
    assert_eq!(fields(generated!("FlatNorm")), (1, 0));
    agrees::<FlatNorm>(&[4, 3, 2, 2]);
}

#[test]
fn linear_layers_on_what_may_be_no_matrix() {
    agrees::<LinearNorm>(&[4, 5]);
    agrees::<LinearNorm>(&[4, 7, 5]);
    let model = model::<LinearNorm>(Kind::Float);
    let frozen = model.frozen(&Freeze::default()).expect("it freezes");
    assert!(LinearNorm::run(&frozen, &tensor(&[4, 6, 5], 1.0)).is_err(), "the batch norm has 7 channels");
}
