//! Rules of a build script on live models: the three rewrites that torch.fx's documentation shows.

use fx_runtime::{Freeze, Kind, Tensor};
use fx_tests::rules::{LibraryFolding, Rectified, Sums, UsersFolding, UsersShared};

use crate::folding::agrees;
use crate::subject::{Subject, model};
use crate::values::{bytes, difference, tensor};

fn run<S: Subject>(xs: &Tensor) -> Tensor {
    let frozen = model::<S>(Kind::Float).frozen(&Freeze::default()).expect("it freezes");
    S::run(&frozen, xs).expect("it runs")
}

/// The generated code of a model.
macro_rules! generated {
    ($model:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/fx/", $model, ".rs"))
    };
}

#[test]
fn a_users_folding_is_the_librarys_to_the_last_bit() {
    for code in [generated!("UsersFolding"), generated!("LibraryFolding")] {
        let folds = ["fold::conv_batch_norm(", "batch_norm("].iter().any(|name| code.contains(name));
        assert!(folds && !code.contains("nn::BatchNorm"), "{code}");
    }
    for shape in [[1, 4, 8, 8], [3, 4, 9, 7]] {
        let xs = tensor(&shape, 1.0);
        assert_eq!(bytes(&run::<UsersFolding>(&xs)), bytes(&run::<LibraryFolding>(&xs)));
    }
    agrees::<UsersFolding>(&[2, 4, 8, 8]);
}

#[test]
fn a_users_folding_leaves_a_shared_convolution_alone() {
    assert!(generated!("UsersShared").contains("nn::BatchNorm"));
    agrees::<UsersShared>(&[2, 4, 8, 8]);
}

#[test]
fn every_sum_becomes_a_product() {
    let model = model::<Sums>(Kind::Float);
    let xs = tensor(&[3, 5], 1.0);
    let found = Sums::run(&model.frozen(&Freeze::default()).expect("it freezes"), &xs).expect("it runs");
    assert!(difference(&found, &tch::no_grad(|| model.products(&xs))) <= 5e-6);
    assert!(difference(&found, &model.eager(&xs)) > 1e-2, "sums are something else");
}

#[test]
fn a_rectified_value_is_a_product() {
    assert!(generated!("Rectified").contains("f_gt(0"));
    agrees::<Rectified>(&[3, 5]);
}
