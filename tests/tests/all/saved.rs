//! A frozen model that was saved and loaded is the frozen model, to the last bit.

use fx_runtime::{Backend, Freeze, GraphReport, Kind, Tensor};
use fx_tests::{convolutions, dense, effects, folding, leading, merging, residual};

use crate::folder::Folder;
use crate::subject::{Subject, model};
use crate::values::{bytes, device, ids, is_same, tensor};

/// Saves and loads in several dtypes and with both sorts of kernels, and compares on one input, three times: the
/// kernels get to know its shape.
fn comes_back<S: Subject>(shape: &[i64]) {
    let folder = Folder::new();
    for kind in [Kind::Float, Kind::Double, Kind::BFloat16] {
        let model = model::<S>(kind);
        let xs = tensor(shape, 1.0).to_kind(kind);
        for options in [Backend::Best, Backend::Composed].map(|backend| Freeze::new().backend(backend).device(device()))
        {
            let frozen = model.frozen(&options).expect("it freezes");
            let path = folder.join("model.safetensors");
            S::save(&frozen, &path).expect("it is saved");
            let loaded = S::load(&path, &options).expect("it is loaded");
            for _ in 0..3 {
                let expected = S::run(&frozen, &xs).expect("it runs");
                let found = S::run(&loaded, &xs).expect("it runs");
                assert!(is_same(&bytes(&found), &bytes(&expected)), "{kind:?} {options:?}");
            }
            assert_eq!(format!("{loaded:?}"), format!("{frozen:?}"));
        }
    }
}

macro_rules! saved {
    ($($test:ident: $($module:ident::$model:ident $shape:expr),*;)*) => {
        $(#[test]
        fn $test() {
            $(comes_back::<$module::$model>(&$shape);)*
        })*
    };
}

saved! {
    loops_and_options: residual::Residual [2, 3, 16, 16], residual::Numbered [2, 6];
    convolutions_of_every_sort: convolutions::Depthwise [2, 6, 8, 8], convolutions::Dilated [2, 4, 12, 12],
        convolutions::Decoder [2, 8, 8, 8], convolutions::Waves [2, 4, 16], convolutions::Volume [2, 2, 4, 8, 4],
        convolutions::Padded [2, 3, 8, 8], convolutions::Plain [2, 1, 16, 16], convolutions::NoAffine [2, 3, 8, 8];
    merged_layers: merging::Attention [2, 5, 12], merging::Heads [4, 6];
    leading_norms: leading::LeadingNorm [2, 4, 8, 8], leading::Scaled [2, 3, 6, 6];
    dense_layers: dense::Activations [5, 256], dense::Layers [5, 16], dense::Grouped [2, 3, 8, 8];
    folded_norms: folding::Transposed [2, 4, 8, 8], folding::LinearNorm [4, 5], folding::LinearNorm [4, 7, 5],
        folding::Borders [2, 3, 8, 8];
}

/// Token ids are integers in any dtype of the model.
#[test]
fn embeddings() {
    let folder = Folder::new();
    let frozen = model::<dense::Tokens>(Kind::Float).frozen(&Freeze::new()).expect("it freezes");
    let path = folder.join("tokens.safetensors");
    dense::Tokens::save(&frozen, &path).expect("it is saved");
    let loaded = dense::Tokens::load(&path, &Freeze::new().device(device())).expect("it is loaded");
    let ids: Tensor = ids(&[2, 7], dense::Tokens::VOCABULARY);
    let [expected, found] = [&frozen, &loaded].map(|frozen| dense::Tokens::run(frozen, &ids).expect("it runs"));
    assert_eq!(found, expected);
}

#[test]
fn a_file_of_another_model_is_refused_by_both_names() {
    let folder = Folder::new();
    let path = folder.join("model.safetensors");
    let frozen = model::<residual::Residual>(Kind::Float).frozen(&Freeze::new()).expect("it freezes");
    frozen.save(&path).expect("it is saved");
    let error = residual::NumberedFrozen::load(&path, &Freeze::new()).expect_err("another model").to_string();
    assert!(
        error.contains("saved from the graph Residual#") && error.contains("this program's is Numbered#"),
        "{error}"
    );
}

#[test]
fn a_warm_up_runs_the_model_and_says_what_is_recorded() {
    let frozen = model::<residual::Residual>(Kind::Float).frozen(&Freeze::new()).expect("it freezes");
    let report = frozen.warm_up(&[[1, 3, 16, 16], [4, 3, 8, 8]]).expect("it runs");
    assert_eq!(report, GraphReport::never("`Freeze::cuda_graphs` was not set"));
    assert!(frozen.warm_up(&[[1, 4, 16, 16]]).is_err(), "four channels");
    if device().is_cuda() {
        return;
    }
    let asked = model::<residual::Residual>(Kind::Float).frozen(&Freeze::new().cuda_graphs(true)).expect("it freezes");
    let report = asked.warm_up(&[[1, 3, 16, 16]]).expect("it runs").to_string();
    assert_eq!(report, "no CUDA graphs: the model was frozen for Cpu");
}

#[test]
fn a_model_that_was_measured_computes_the_same_and_is_saved_as_it_is() {
    let folder = Folder::new();
    let path = folder.join("model.safetensors");
    let model = model::<residual::Residual>(Kind::Float);
    let [plain, measured] =
        [false, true].map(|autotune| model.frozen(&Freeze::new().autotune(autotune)).expect("it freezes"));
    assert!(format!("{measured:?}").contains("not measured yet") && !format!("{plain:?}").contains("measured yet"));
    let mut report = measured.warm_up(&[[2, 3, 16, 16]]).expect("it runs");
    // A layer does not measure while another test records on the device, but at a later call.
    for _ in 0..if device().is_cuda() { 20 } else { 0 } {
        report = measured.warm_up(&[[2, 3, 16, 16]]).expect("it runs");
    }
    assert!(report.tuned.iter().all(|layer| layer.kernel != layer.default && layer.took < layer.default_took));
    for layer in &report.tuned {
        let is_field = layer.layer == "stem" || layer.layer == "fc" || layer.layer.starts_with("blocks.");
        assert!(is_field && report.to_string().contains(&layer.to_string()), "{layer}");
    }
    assert!(!format!("{measured:?}").contains("not measured yet"), "{measured:?}");
    let xs: Tensor = tensor(&[2, 3, 16, 16], 1.0);
    let expected = residual::Residual::run(&plain, &xs).expect("it runs");
    let found = residual::Residual::run(&measured, &xs).expect("it runs");
    let difference = (&found - &expected).abs().max().double_value(&[]);
    assert!(difference <= 5e-6 * expected.abs().max().double_value(&[]), "{difference:e}");
    measured.save(&path).expect("it is saved");
    let loaded = residual::ResidualFrozen::load(&path, &Freeze::new().device(device())).expect("it is loaded");
    let [kernels, expected] = [&loaded, &measured]
        .map(|frozen| format!("{frozen:?}").split_once("stem:").expect("its first layer").1.to_owned());
    assert_eq!(kernels, expected);
    assert_eq!(residual::Residual::run(&loaded, &xs).expect("it runs"), found);
}

#[test]
fn what_is_never_recorded_is_named() {
    let frozen = model::<effects::InPlace>(Kind::Float).frozen(&Freeze::new().cuda_graphs(true)).expect("it freezes");
    let shapes: [[i64; 4]; 0] = [];
    let report = frozen.warm_up(&shapes).expect("nothing is run").to_string();
    assert!(report.contains("`relu_` (src/effects.rs:") && report.contains("more than a computation"), "{report}");
    let frozen = model::<dense::Decided>(Kind::Float).frozen(&Freeze::new().cuda_graphs(true)).expect("it freezes");
    let shapes: [[i64; 2]; 0] = [];
    let report = frozen.warm_up(&shapes).expect("nothing is run").to_string();
    assert!(report.contains("`double_value` (src/dense.rs:") && report.contains("waits for the device"), "{report}");
    let frozen =
        model::<effects::MonteCarlo>(Kind::Float).frozen(&Freeze::new().cuda_graphs(true)).expect("it freezes");
    let report = frozen.warm_up(&shapes).expect("nothing is run").to_string();
    assert!(report.contains("draws random numbers"), "{report}");
}
