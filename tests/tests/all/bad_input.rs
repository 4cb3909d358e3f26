//! Every mistake is an `Err` that names the thing, the place and the way out; nothing crashes and no number is wrong.

use std::fs;
use std::path::Path;

use expect_test::{Expect, expect};
use fx_runtime::{Device, Freeze, Kind, Module, Tensor, capabilities, load_weights, nn};
use fx_tests::convolutions::{Decoder, Plain};
use fx_tests::dense::Tokens;
use fx_tests::folding::FlatNorm;
use fx_tests::pointwise::Rows;
use fx_tests::residual::{Residual, ResidualFrozen};

use crate::folder::Folder;
use crate::subject::{Subject, model};
use crate::values::{self, difference, ids, tensor};

fn frozen<S: Subject>() -> S::Frozen {
    model::<S>(Kind::Float).frozen(&Freeze::default()).expect("it freezes")
}

fn refused<S: Subject>(xs: &Tensor, message: &Expect) {
    let error = S::run(&frozen::<S>(), xs).expect_err("a mistake");
    message.assert_eq(&error.to_string());
}

#[test]
fn rows_of_another_length() {
    let error = Rows::run(&frozen::<Rows>(), &tensor(&[3, 64], 1.0)).expect_err("a mistake").to_string();
    assert!(error.contains("src/pointwise.rs") && error.contains("normalized_shape"), "{error}");
}

#[test]
fn wrong_rank() {
    refused::<Residual>(
        &tensor(&[3, 8], 1.0),
        &expect![
            "at `stem, bn, relu` (src/residual.rs:88): `input` has 2 dimensions, shape [3, 8], where 3 or 4 are expected; add or remove one with `.unsqueeze(..)` or `.squeeze_dim(..)`"
        ],
    );
    refused::<Residual>(
        &tensor(&[1, 1, 3, 8, 8], 1.0),
        &expect![
            "at `stem, bn, relu` (src/residual.rs:88): `input` has 5 dimensions, shape [1, 1, 3, 8, 8], where 3 or 4 are expected; add or remove one with `.unsqueeze(..)` or `.squeeze_dim(..)`"
        ],
    );
    refused::<Decoder>(
        &tensor(&[8], 1.0),
        &expect![
            "at `up1, bn1, relu` (src/convolutions.rs:112): `input` has 1 dimensions, shape [8], where 3 or 4 are expected; add or remove one with `.unsqueeze(..)` or `.squeeze_dim(..)`"
        ],
    );
}

#[test]
fn wrong_channels() {
    refused::<Residual>(
        &tensor(&[1, 4, 8, 8], 1.0),
        &expect![
            "at `stem, bn, relu` (src/residual.rs:88): `input` has shape [1, 4, 8, 8], where axis 1 should be 3; check the axis order and the layer's number of inputs"
        ],
    );
    refused::<Residual>(
        &tensor(&[1, 8, 8, 3], 1.0),
        &expect![
            "at `stem, bn, relu` (src/residual.rs:88): `input` has shape [1, 8, 8, 3], where axis 1 should be 3; check the axis order and the layer's number of inputs"
        ],
    );
    refused::<Decoder>(
        &tensor(&[1, 6, 4, 4], 1.0),
        &expect![
            "at `up1, bn1, relu` (src/convolutions.rs:112): `input` has shape [1, 6, 4, 4], where axis 1 should be 8; check the axis order and the layer's number of inputs"
        ],
    );
}

#[test]
fn too_small() {
    refused::<Plain>(
        &tensor(&[1, 1, 4, 4], 1.0),
        &expect![
            "at `conv1, relu` (src/convolutions.rs:240): libtorch: Calculated padded input size per channel: (4 x 4). Kernel size: (5 x 5). Kernel size can't be greater than actual input size"
        ],
    );
}

#[test]
fn wrong_dtype() {
    refused::<Residual>(
        &tensor(&[1, 3, 8, 8], 1.0).to_kind(Kind::Half),
        &expect![
            "`xs` has dtype Half but the model has Float; convert it with `.to_kind(..)`, or freeze the model for that dtype"
        ],
    );
    refused::<Residual>(
        &ids(&[1, 3, 8, 8], 9),
        &expect![
            "at `stem, bn, relu` (src/residual.rs:88): `input` has dtype Int64 but the model has Float; convert it with `.to_kind(..)`, or freeze the model for that dtype"
        ],
    );
    refused::<Tokens>(
        &tensor(&[1, 3], 1.0),
        &expect![
            "at `embedding` (src/dense.rs:109): libtorch: Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got CPUFloatType instead (while checking arguments for embedding)"
        ],
    );
}

#[test]
fn an_undefined_tensor() {
    refused::<Residual>(
        &Tensor::new(),
        &expect!["an undefined tensor as `xs` is not supported; give a tensor with a shape"],
    );
}

#[test]
fn words_beyond_the_vocabulary() {
    refused::<Tokens>(
        &Tensor::from_slice(&[1i64, Tokens::VOCABULARY]).view([1, 2]),
        &expect!["at `embedding` (src/dense.rs:109): libtorch: index out of range in self"],
    );
}

#[test]
fn training() {
    let error = frozen::<Residual>().try_forward_t(&tensor(&[1, 3, 8, 8], 1.0), true).expect_err("a mistake");
    expect!["training (`train` is true) of the frozen `Residual` is not supported; train the model it was frozen from"]
        .assert_eq(&error.to_string());
}

#[test]
fn freezing_for_what_is_not_there() {
    let model = model::<Residual>(Kind::Float);
    let refused = |options: Freeze, message: Expect| {
        message.assert_eq(&model.frozen(&options).expect_err("a mistake").to_string());
    };
    refused(
        Freeze::new().kind(Kind::Int64),
        expect!["freezing `Residual` in Int64 is not supported; choose a floating-point dtype"],
    );
    if capabilities().cuda_devices == 0 {
        refused(
            Freeze::new().device(Device::Cuda(0)),
            expect![
                "freezing for Cuda(0) where 0 CUDA devices are found is not supported; see `fx_runtime::capabilities()` for what there is"
            ],
        );
    }
}

#[test]
fn the_panicking_door_says_the_same() {
    let frozen = frozen::<Residual>();
    let xs = tensor(&[1, 4, 8, 8], 1.0);
    let message = frozen.try_forward_t(&xs, false).expect_err("a mistake").to_string();
    let call = std::panic::AssertUnwindSafe(|| frozen.forward_t(&xs, false));
    let panic = std::panic::catch_unwind(call).expect_err("a panic");
    assert_eq!(panic.downcast_ref::<String>(), Some(&message));
}

#[test]
fn a_mistake_leaves_the_frozen_model_and_the_thread_as_they_were() {
    let frozen = frozen::<Residual>();
    let xs = tensor(&[1, 3, 8, 8], 1.0);
    let before = ResidualFrozen::try_forward_t(&frozen, &xs, false).expect("it runs");
    assert!(frozen.try_forward_t(&tensor(&[1, 4, 8, 8], 1.0), false).is_err());
    assert_eq!(frozen.try_forward_t(&xs, false).expect("it runs"), before);
    assert!((Tensor::ones([1], tch::kind::FLOAT_CPU).set_requires_grad(true) * 2.0).requires_grad());
}

#[test]
fn nothing_in_nothing_out() {
    let sizes = |frozen: &ResidualFrozen, shape: &[i64]| {
        frozen.try_forward_t(&tensor(shape, 1.0), false).map(|ys| ys.size()).map_err(|error| error.to_string())
    };
    let frozen = frozen::<Residual>();
    assert_eq!(sizes(&frozen, &[0, 3, 8, 8]), Ok(vec![0, 10]));
    assert!(sizes(&frozen, &[0, 4, 8, 8]).is_err(), "four channels are wrong without a picture, too");
    let flat = crate::bad_input::frozen::<FlatNorm>().try_forward(&tensor(&[0, 3, 2, 2], 1.0));
    assert!(flat.is_err(), "tch's own `flat_view` refuses an empty batch, too");
}

/// Where a weight is NaN or infinite, the frozen model has NaN where the model has, and the same numbers elsewhere.
#[test]
fn weights_that_are_no_numbers() {
    for value in [f64::NAN, f64::INFINITY] {
        for name in ["stem.weight", "blocks.2.bn1.running_var", "blocks.2.shortcut.conv.weight", "fc.bias"] {
            let model = model::<Residual>(Kind::Float);
            let poisoned = model.state_dict().into_iter().find(|(found, _)| found == name);
            let (_, tensor_of_model) = poisoned.expect("a tensor of that name");
            let _ = tch::no_grad(|| tensor_of_model.flatten(0, -1).get(0).fill_(value));
            let frozen = model.frozen(&Freeze::default()).expect("it freezes");
            let xs = tensor(&[2, 3, 8, 8], 1.0);
            let (found, expected) = (Residual::run(&frozen, &xs).expect("it runs"), model.eager(&xs));
            assert_eq!(found.isnan(), expected.isnan(), "{name} = {value}");
            let difference = difference(&found.nan_to_num(0.0, 0.0, 0.0), &expected.nan_to_num(0.0, 0.0, 0.0));
            assert!(difference <= 5e-6, "{name} = {value}: {difference:e}");
        }
    }
}

/// Weights of `Residual` under its names, after `change`.
fn weights(change: impl Fn(&mut Vec<(String, Tensor)>)) -> Vec<(String, Tensor)> {
    let model = model::<Residual>(Kind::Float);
    let mut weights = model.state_dict().into_iter().map(|(name, tensor)| (name, tensor.copy())).collect();
    change(&mut weights);
    weights
}

fn load(path: &Path) -> (nn::VarStore, Result<fx_runtime::LoadReport, fx_runtime::Error>) {
    let vs = nn::VarStore::new(Device::Cpu);
    let _model = {
        let _alone = values::chance();
        Residual::new(&vs.root())
    };
    let result = load_weights(&vs, path);
    (vs, result)
}

#[test]
fn a_weights_file_that_does_not_fit() {
    let folder = Folder::new();
    let path = folder.join("net.safetensors");
    let weights = weights(|weights| {
        weights.retain(|(name, _)| name != "stem.weight" && name != "blocks.3.bn2.bias");
        for (name, tensor) in weights.iter_mut().filter(|(name, _)| name.starts_with("fc.")) {
            *tensor = tensor.repeat(if name == "fc.bias" { vec![2] } else { vec![2, 1] });
        }
        weights.push(("classifier.weight".to_owned(), Tensor::ones([2, 2], tch::kind::FLOAT_CPU)));
        weights.push(("bn.num_batches_tracked".to_owned(), Tensor::from(7i64)));
    });
    Tensor::write_safetensors(&weights, &path).expect("the file is written");
    let (vs, result) = load(&path);
    let message = result.expect_err("a mistake").to_string();
    expect![[r#"
        weights file `net.safetensors` does not fit the model, and nothing was loaded
          missing in the file (2):
            `blocks.3.bn2.bias` [16]
            `stem.weight` [8, 3, 3, 3]
          unexpected in the file (1):
            `classifier.weight` [2, 2]
          of another shape (2):
            `fc.bias` is [10] in the model and [20] in the file
            `fc.weight` is [10, 16] in the model and [20, 16] in the file"#]]
    .assert_eq(&message.replace(&path.display().to_string(), "net.safetensors"));
    let untouched = vs.variables()["blocks.0.bn1.running_var"].copy();
    assert_eq!(untouched, Tensor::ones([8], tch::kind::FLOAT_CPU), "nothing was loaded");
}

#[test]
fn a_weights_file_that_is_cut_short() {
    let folder = Folder::new();
    let path = folder.join("net.safetensors");
    Tensor::write_safetensors(&weights(|_| ()), &path).expect("the file is written");
    let whole = fs::read(&path).expect("the file");
    assert!(load(&path).1.is_ok());
    for length in [whole.len() - 1, whole.len() / 2, 100, 7, 0] {
        fs::write(&path, &whole[..length]).expect("the file is written");
        let message = load(&path).1.expect_err("a mistake").to_string();
        assert!(message.starts_with(&format!("cannot read weights file `{}`: ", path.display())), "{message}");
        assert!(message.ends_with("it is truncated, or not a safetensors file"), "{message}");
    }
    let absent = load(&folder.join("absent.safetensors")).1.expect_err("a mistake").to_string();
    expect!["cannot read weights file `absent.safetensors`: No such file or directory (os error 2)"]
        .assert_eq(&absent.replace(&folder.join("absent.safetensors").display().to_string(), "absent.safetensors"));
}
