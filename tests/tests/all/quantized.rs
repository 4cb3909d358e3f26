//! Quantization as a user writes it: on the model's type, and frozen into its frozen type.

use fx_runtime::graph_module::{Value, value};
use fx_runtime::quant::{QConfigMapping, QEngine, QParamsFile, Quantizable as _, quantize, sqnr};
use fx_runtime::{Device, Freeze, Kind, Tensor, nn};
use fx_tests::residual::{Residual, ResidualFrozen};
use fx_tests::{dense, merging, pointwise};
use resnet18::ResNet18;

use crate::folder::Folder;
use crate::subject::model;
use crate::values::{self, device, tensor};

/// Where there are no kernels on codes all stays in floats, and there is nothing to be looked at.
fn has_kernels() -> bool {
    let known = fx_runtime::capabilities().int8;
    if let Err(reason) = &known {
        eprintln!("skipped: {reason}");
    }
    known.is_ok()
}

/// Whether the models are on a GPU, which has no kernels on codes.
fn is_elsewhere() -> bool {
    let is_elsewhere = device() != Device::Cpu;
    if is_elsewhere {
        eprintln!("skipped: kernels on codes are the CPU's");
    }
    is_elsewhere
}

/// Frozen or loaded to where the models are.
fn here() -> Freeze {
    Freeze::new().device(device())
}

fn images() -> Tensor {
    tensor(&[4, 3, 32, 32], 1.0)
}

fn calibrated(net: &Residual) -> QParamsFile {
    let mut observed = net.prepare(&QConfigMapping::for_engine(QEngine::Fx)).expect("it has a graph");
    for seed in [1.0, 2.0] {
        observed.forward(&tensor(&[4, 3, 32, 32], seed)).expect("it runs");
    }
    observed.convert().expect("all sites saw data")
}

/// The frozen type computes what the frozen graph does, and about what the model does.
#[test]
fn a_frozen_type_computes_on_codes() {
    let (net, xs) = (model::<Residual>(Kind::Float), images());
    if is_elsewhere() {
        return;
    }
    let qparams = calibrated(&net);
    let frozen = net.freeze(&Freeze::new().quantize(&qparams)).expect("it freezes");
    let float = net.freeze(&Freeze::new()).expect("it freezes").forward_t(&xs, false);
    let ys = frozen.try_forward_t(&xs, false).expect("it runs");
    let graph = quantize(&net.graph_module().expect("a graph"), &qparams).expect("its own parameters");
    let graph = graph.freeze(&Freeze::new()).expect("it freezes");
    let Value::Tensor(wanted) = graph.run(&[value(&xs)]).expect("it runs") else { panic!("one tensor") };
    assert_eq!(ys, *wanted);
    assert!(sqnr(&float, &ys).expect("one shape") > 25.0);
    if has_kernels() {
        assert_ne!(ys, float);
        assert!(format!("{frozen:?}").contains("Int8Layer"), "{frozen:?}");
    }
    assert!(frozen.try_forward_t(&xs, true).is_err(), "training");
}

/// On a GPU values and weights are rounded alike, and floats are computed with.
#[test]
fn a_gpu_computes_the_same_on_floats() {
    if device() == Device::Cpu {
        eprintln!("skipped: FX_TEST_DEVICE is not `cuda`");
        return;
    }
    let (net, xs) = (model::<Residual>(Kind::Float), images());
    let mut observed = net.prepare(&QConfigMapping::for_engine(QEngine::Fx)).expect("it has a graph");
    observed.forward(&xs).expect("it runs");
    let qparams = observed.convert().expect("all sites saw data");
    let reference = observed.reference(&qparams).expect("its own parameters");
    let Value::Tensor(wanted) = reference.run(&[value(&xs)]).expect("it runs") else { panic!("one tensor") };
    let float = net.freeze(&Freeze::new()).expect("it freezes").forward_t(&xs, false);
    for (kind, decibels) in [(Kind::Float, 35.0), (Kind::Half, 30.0)] {
        let frozen = net.freeze(&Freeze::new().kind(kind).quantize(&qparams)).expect("it freezes");
        let ys = frozen.try_forward_t(&xs.to_kind(kind), false).expect("it runs").to_kind(Kind::Float);
        let (found, lost) = (sqnr(&wanted, &ys).expect("one shape"), sqnr(&float, &ys).expect("one shape"));
        assert!(found > decibels && lost > 25.0 && lost < 60.0, "{kind:?}: {found} dB, {lost} dB");
    }
}

#[test]
fn threads_share_it() {
    if is_elsewhere() {
        return;
    }
    let net = model::<Residual>(Kind::Float);
    let frozen = net.freeze(&Freeze::new().quantize(&calibrated(&net))).expect("it freezes");
    let wanted = frozen.forward_t(&images(), false);
    std::thread::scope(|scope| {
        let run = || (0..3).map(|_| frozen.forward_t(&images(), false)).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        for ys in threads.into_iter().flat_map(|thread| thread.join().expect("it runs")) {
            assert_eq!(ys, wanted);
        }
    });
}

#[test]
fn what_is_saved_comes_back() {
    if is_elsewhere() {
        return;
    }
    let folder = Folder::new();
    let net = model::<Residual>(Kind::Float);
    let qparams = calibrated(&net);
    let frozen = net.freeze(&Freeze::new().quantize(&qparams)).expect("it freezes");
    let path = folder.join("residual.safetensors");
    frozen.save(&path).expect("it is saved");
    let loaded = ResidualFrozen::load(&path, &Freeze::new()).expect("it is loaded");
    assert_eq!(loaded.forward_t(&images(), false), frozen.forward_t(&images(), false));
    let refused = ResidualFrozen::load(&path, &Freeze::new().kind(Kind::BFloat16)).map(drop);
    if has_kernels() {
        let refused = refused.expect_err("bf16 has no codes").to_string();
        assert!(refused.contains("in f32 on the CPU"), "{refused}");
    }
    let refused =
        pointwise::NormedFrozen::load(&path, &Freeze::new()).map(drop).expect_err("another graph").to_string();
    assert!(refused.contains("Residual"), "{refused}");
}

/// The file has a quarter of the bytes, and what it has less a process has less in memory.
#[test]
fn codes_are_a_quarter() {
    if is_elsewhere() {
        return;
    }
    if !has_kernels() {
        return;
    }
    let folder = Folder::new();
    let vs = nn::VarStore::new(Device::Cpu);
    let net = {
        let _alone = values::chance();
        ResNet18::new(&vs.root(), 1000)
    };
    resnet18::weights::fill(&net);
    let mut observed = net.prepare(&QConfigMapping::for_engine(QEngine::Fx)).expect("it has a graph");
    observed.forward(&tensor(&[1, 3, 64, 64], 1.0)).expect("it runs");
    let qparams = observed.convert().expect("all sites saw data");
    let saved = |options: &Freeze, name: &str| {
        let path = folder.join(name);
        net.freeze(options).expect("it freezes").save(&path).expect("it is saved");
        path
    };
    let paths = [(Freeze::new(), "float.safetensors"), (Freeze::new().quantize(&qparams), "codes.safetensors")];
    let paths = paths.map(|(options, name)| saved(&options, name));
    let [float, codes] = [0, 1].map(|at: usize| std::fs::metadata(&paths[at]).expect("it is there").len());
    assert!(codes * 100 < float * 26, "{codes} of {float} bytes");
    let saved_in_file = (float - codes) / 1024;
    let [float, codes] = [0, 1].map(|at: usize| resident_in_another_process(&paths[at]));
    eprintln!("resident: {codes} kB of {float} kB");
    // What is compiled for a shape, and what the allocator holds, is as much for both, give or take some megabytes.
    let saved = float.saturating_sub(codes);
    assert!(saved * 4 > saved_in_file * 3, "{codes} of {float} kB resident, {saved_in_file} kB less in the file");
}

/// The environment variable by which a process is asked what a model takes that it loads.
const ASKED: &str = "FX_TESTS_RESIDENT_MODEL";

/// Kilobytes that a fresh process needs for a loaded model that has run.
fn resident_in_another_process(path: &std::path::Path) -> u64 {
    let mut process = std::process::Command::new(std::env::current_exe().expect("this program"));
    process.args(["--exact", "quantized::what_a_loaded_model_takes", "--nocapture"]).env(ASKED, path);
    let told = String::from_utf8_lossy(&process.output().expect("it runs").stdout).into_owned();
    let line = told.lines().find_map(|line| line.strip_prefix("resident kB: "));
    line.and_then(|kilobytes| kilobytes.parse().ok()).unwrap_or_else(|| panic!("no figure in\n{told}"))
}

/// Asked for by [`codes_are_a_quarter`]; otherwise there is nothing to do.
#[test]
fn what_a_loaded_model_takes() {
    let Some(path) = std::env::var_os(ASKED) else { return };
    let image = tensor(&[1, 3, 64, 64], 1.0);
    // libtorch's own memory, kernels and threads come first.
    let vs = nn::VarStore::new(Device::Cpu);
    let small = Residual::new(&vs.root());
    drop(small.freeze(&Freeze::new()).expect("it freezes").forward_t(&image, false));
    let before = resident();
    let model = resnet18::model::ResNet18Frozen::load(path, &Freeze::new()).expect("it is loaded");
    drop(model.try_forward(&image).expect("it runs"));
    println!("resident kB: {}", resident() - before);
}

/// Kilobytes in memory that are this process's own, and no file's.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a Linux system");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("a figure");
    line.trim().trim_end_matches("kB").trim().parse().expect("a number")
}

/// Weights alone as integers: the frozen type is the one in floats.
#[test]
fn weights_alone() {
    use fx_runtime::quant::WeightFormat;
    let folder = Folder::new();
    let net = model::<dense::Activations>(Kind::Float);
    let xs = tensor(&[5, 256], 1.0);
    let float = net.freeze(&Freeze::new()).expect("it freezes").forward(&xs);
    for (format, decibels) in [(WeightFormat::Int8, 35.0), (WeightFormat::Int4 { group: 128 }, 12.0)] {
        let frozen = net.freeze(&Freeze::new().quantize_weights(format)).expect("it freezes");
        let ys = frozen.forward(&xs);
        let found = sqnr(&float, &ys).expect("one shape");
        assert!(found > decibels && found.is_finite(), "{format}: {found} dB");
        let composed = Freeze::new().quantize_weights(format).backend(fx_runtime::Backend::Composed);
        let composed = net.freeze(&composed).expect("it freezes").forward(&xs);
        assert!(ys.allclose(&composed, 1e-4, 1e-4, false), "{format}");
        let path = folder.join("weights.safetensors");
        frozen.save(&path).expect("it is saved");
        let loaded = dense::ActivationsFrozen::load(&path, &here()).expect("it is loaded");
        assert_eq!(loaded.forward(&xs), ys, "{format}");
        assert!(format!("{loaded:?}").contains(&format!("[256, 256], {format}")), "{loaded:?}");
    }
}

/// Rows in eight bits as well: the frozen type is the one in floats, and embeddings stay as they are.
#[test]
fn rows_in_eight_bits() {
    if is_elsewhere() {
        return;
    }
    use fx_runtime::quant::{DynamicFormat, WeightFormat};
    let folder = Folder::new();
    let net = model::<dense::Activations>(Kind::Float);
    let xs = tensor(&[5, 256], 1.0);
    let float = net.freeze(&Freeze::new()).expect("it freezes").forward(&xs);
    for (format, decibels) in [(DynamicFormat::Int8, 33.0), (DynamicFormat::Float8, 24.0)] {
        let frozen = net.freeze(&Freeze::new().quantize_dynamic(format)).expect("it freezes");
        let ys = frozen.forward(&xs);
        let found = sqnr(&float, &ys).expect("one shape");
        assert!(found > decibels && found.is_finite(), "{format}: {found} dB");
        let composed = Freeze::new().quantize_dynamic(format).backend(fx_runtime::Backend::Composed);
        let composed = net.freeze(&composed).expect("it freezes").forward(&xs);
        assert!(sqnr(&composed, &ys).expect("one shape") > decibels + 10.0, "{format}");
        let path = folder.join("dynamic.safetensors");
        frozen.save(&path).expect("it is saved");
        let loaded = dense::ActivationsFrozen::load(&path, &here()).expect("it is loaded");
        assert_eq!(loaded.forward(&xs), ys, "{format}");
        assert!(format!("{loaded:?}").contains(&format!("{format}")), "{loaded:?}");
        let nowhere = frozen.try_forward(&(&xs * f64::NAN)).expect("it runs");
        assert!(bool::try_from(nowhere.isnan().all()).expect("one flag"), "{format}: what is no number stays none");
    }
    let bag = model::<dense::Bag>(Kind::Float);
    let both = Freeze::new().quantize_dynamic(DynamicFormat::Int8);
    let shown = |options: &Freeze| format!("{:?}", bag.freeze(options).expect("it freezes"));
    assert!(!shown(&both).contains("Leaf(Embedding, int8"), "{}", shown(&both));
    assert!(shown(&both.quantize_weights(WeightFormat::Int8)).contains("Leaf(Embedding, int8 weights)"));
}

/// A file of a table and a linear layer has a quarter of the bytes, or about an eighth: of four bits a group of 128 has two
/// more numbers of f32.
#[test]
fn tables_are_kept_as_integers_too() {
    use fx_runtime::quant::WeightFormat;
    let folder = Folder::new();
    let net = model::<dense::Bag>(Kind::Float);
    let ids = Tensor::arange(12, (Kind::Int64, device())).view([3, 4]) * 79;
    let saved = |options: &Freeze, name: &str| {
        let path = folder.join(name);
        let frozen = net.freeze(options).expect("it freezes");
        frozen.save(&path).expect("it is saved");
        #[expect(clippy::cast_precision_loss, reason = "bytes of a small file")]
        let bytes = std::fs::metadata(&path).expect("it is there").len() as f64;
        (path, frozen.forward(&ids), bytes)
    };
    let (_, exact, whole) = saved(&Freeze::new(), "float.safetensors");
    let four = WeightFormat::Int4 { group: 128 };
    let formats = [
        (WeightFormat::Int8, 38.0, 0.265),
        (four, 14.0, 0.15),
        (WeightFormat::F16, 65.0, 0.51),
        (WeightFormat::Bf16, 45.0, 0.51),
    ];
    for (format, decibels, share) in formats {
        let (path, ys, bytes) = saved(&Freeze::new().quantize_weights(format), "codes.safetensors");
        assert!(bytes < share * whole, "{format}: {bytes} of {whole} bytes");
        let found = sqnr(&exact, &ys).expect("one shape");
        assert!(found > decibels && found.is_finite(), "{format}: {found} dB");
        let loaded = dense::BagFrozen::load(&path, &here()).expect("it is loaded");
        assert_eq!(loaded.forward(&ids), ys, "{format}");
        assert!(format!("{loaded:?}").contains(&format!("Leaf(Embedding, {format})")), "{loaded:?}");
        // A GPU's assertion ends all work of the process.
        if device() == Device::Cpu {
            assert!(loaded.try_forward(&(&ids + 1000)).is_err(), "a word that there is not");
        }
    }
}

/// What an input decides stays so: before it there are codes, and in its arms floats.
#[test]
fn decisions_are_kept() {
    if is_elsewhere() {
        return;
    }
    let net = model::<dense::Decided>(Kind::Float);
    let mut observed = net.prepare(&QConfigMapping::for_engine(QEngine::Fx)).expect("it has a graph");
    let inputs = [1.0, -1.0].map(|sign| tensor(&[4, 32], 1.0).abs() * sign);
    for xs in &inputs {
        observed.forward(xs).expect("it runs");
    }
    let qparams = observed.convert().expect("all sites saw data");
    assert_eq!(qparams.weights.keys().collect::<Vec<_>>(), ["fc1.weight"]);
    let frozen = net.freeze(&Freeze::new().quantize(&qparams)).expect("it freezes");
    let floats = net.freeze(&Freeze::new()).expect("it freezes");
    for xs in &inputs {
        let (ys, wanted) = (frozen.forward(xs), floats.forward(xs));
        let found = sqnr(&wanted, &ys).expect("one shape");
        assert!(found > 25.0 && (found.is_finite() || !has_kernels()), "{found} dB");
    }
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    if is_elsewhere() {
        return;
    }
    let net = model::<Residual>(Kind::Float);
    let qparams = calibrated(&net);
    let refused = |result: Result<(), fx_runtime::Error>| result.expect_err("a refusal").to_string();
    let other = model::<merging::Attention>(Kind::Float);
    let message = refused(other.freeze(&Freeze::new().quantize(&qparams)).map(drop));
    assert!(message.contains("`Residual`") && message.contains("`Attention`"), "{message}");
    let message = refused(net.freeze(&Freeze::new().quantize(&qparams).kind(Kind::BFloat16)).map(drop));
    assert!(message.contains("in f32 on the CPU"), "{message}");
    let graph = net.graph_module().expect("a graph");
    let message = refused(graph.freeze(&Freeze::new().quantize(&qparams)).map(drop));
    assert!(message.contains("quantize it first"), "{message}");
    let tokens = model::<dense::Tokens>(Kind::Float);
    let mapping = QConfigMapping::for_engine(QEngine::Fx).module_name("no.such.layer", None);
    let message = refused(tokens.prepare(&mapping).map(drop));
    assert!(message.contains("no.such.layer"), "{message}");
}

/// Training with fake quantization goes on where the model is, and ends in the same file.
#[test]
fn a_model_trains_quantized() {
    let net = model::<Residual>(Kind::Float);
    let qat = net.prepare_qat(&QConfigMapping::for_qat(QEngine::Fx)).expect("it has a graph");
    qat.forward(&[value(images())]).expect("it runs");
    let qparams = qat.convert().expect("all sites saw data");
    assert_eq!(qparams.graph, "Residual");
}

/// Layers that no kernel on codes is for are saved in the graph on codes: a norm in floats, a table as integers.
#[test]
fn layers_in_floats_come_back() {
    use fx_runtime::quant::WeightFormat;
    if is_elsewhere() || !has_kernels() {
        return;
    }
    macro_rules! check {
        ($net:ty, $frozen:ty, $options:expr, $layer:literal) => {
            let (net, folder) = (model::<$net>(Kind::Float), Folder::new());
            let path = folder.join("model.safetensors");
            let ids = Tensor::arange(12, (Kind::Int64, device())).view([3, 4]);
            let mut observed = net.prepare(&QConfigMapping::for_engine(QEngine::Fx)).expect("it has a graph");
            observed.forward(&ids).expect("it runs");
            let options = $options.quantize(&observed.convert().expect("all sites saw data"));
            let frozen = net.freeze(&options).expect("it freezes");
            assert!(format!("{frozen:?}").contains($layer), "{frozen:?}");
            frozen.save(&path).expect("it is saved");
            let ys = <$frozen>::load(&path, &Freeze::new()).expect("it is loaded").forward(&ids);
            assert_eq!(ys, frozen.forward(&ids));
            assert!(sqnr(&net.forward(&ids), &ys).expect("one shape") > 25.0);
        };
    }
    check!(dense::Tokens, dense::TokensFrozen, Freeze::new(), "LayerNorm");
    check!(dense::Bag, dense::BagFrozen, Freeze::new().quantize_weights(WeightFormat::Int8), "CodedTable");
}
