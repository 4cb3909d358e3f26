//! Files that are whole, and files that are not: what comes back, and what is said.

use std::collections::HashMap;
use std::path::PathBuf;

use tch::{Device, Kind};
use tempfile::TempDir;

use super::*;
use crate::GraphReport;
use crate::frame::tune::tests::Told;
use crate::frozen::activation::EVERY_ACTIVATION;
use crate::frozen::oracle::{self, randn};
use crate::frozen::{Activation, Captured, Conv, ConvParams, Leaf, Linear};
use crate::nn::{self, PaddingMode, VarStore};

/// A frozen model of one part.
#[derive(State)]
struct Net<T> {
    frame: Frame,
    part: T,
}

/// A file that goes away with its value.
struct Scratch(TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("frozen.safetensors")
    }

    fn save<T: State>(&self, frame: Frame, part: T) -> Result<Net<T>> {
        let net = Net { frame, part };
        save(&net, &net.frame, "Net#1", &self.file())?;
        Ok(net)
    }

    fn load<T: State>(&self) -> Result<Net<T>> {
        load("Net", "Net#1", &self.file(), &Freeze::new())
    }

    fn refusal<T: State>(&self) -> String {
        self.load::<T>().err().map(|error| error.to_string()).unwrap_or_default()
    }

    /// Changes the bytes of the file.
    fn edit(&self, edit: impl FnOnce(Vec<u8>) -> Vec<u8>) {
        let bytes = std::fs::read(self.file()).unwrap();
        std::fs::write(self.file(), edit(bytes)).unwrap();
    }
}

fn round_trip<T: State>(frame: Frame, part: T) -> (T, T) {
    let scratch = Scratch::new();
    let saved = scratch.save(frame, part).unwrap();
    let loaded: Net<T> = scratch.load().unwrap();
    assert_eq!((loaded.frame.kind(), loaded.frame.model()), (saved.frame.kind(), "Net"));
    (saved.part, loaded.part)
}

#[test]
fn convolutions_are_bit_equal() {
    for (transposed, groups, axes) in
        [(false, 1, 2), (false, 4, 2), (false, 8, 2), (false, 1, 1), (false, 2, 3), (true, 1, 2), (true, 2, 2)]
    {
        for kind in [Kind::Float, Kind::Double, Kind::BFloat16] {
            let frame = oracle::frame(Freeze::new().kind(kind));
            let params = ConvParams { padding: vec![1], groups, transposed, ..ConvParams::default() };
            let (input, out) = if transposed { (8, 16 / groups) } else { (16, 8 / groups) };
            let mut shape = vec![input, out];
            shape.resize(2 + axes, 3);
            let mut size = vec![2, 8];
            size.resize(2 + axes, 6);
            let bias = randn(&[16], kind);
            let conv = Conv::pack(&frame, &randn(&shape, kind), Some(&bias), &params, Activation::Relu).unwrap();
            let x = randn(&size, kind);
            // The second call lays the weight out anew.
            let _ = (conv.run(&x).unwrap(), conv.run(&x).unwrap());
            let (saved, loaded) = round_trip(frame, conv);
            let _ = loaded.run(&x).unwrap();
            assert_eq!(loaded.run(&x).unwrap(), saved.run(&x).unwrap(), "{saved:?} in {kind:?}");
        }
    }
}

#[test]
fn padding_and_acts_come_back() {
    for &act in EVERY_ACTIVATION {
        let frame = oracle::frame(Freeze::new());
        let params = ConvParams { padding: vec![2, 1], padding_mode: PaddingMode::Reflect, ..ConvParams::default() };
        let conv = Conv::pack(&frame, &randn(&[4, 3, 3, 3], Kind::Float), None, &params, act).unwrap();
        let x = randn(&[1, 3, 5, 6], Kind::Float);
        let (saved, loaded) = round_trip(frame, conv);
        assert_eq!(loaded.run(&x).unwrap(), saved.run(&x).unwrap(), "{act:?}");
    }
}

#[test]
fn linear_layers_are_bit_equal() {
    for (columns, out, act) in [(512, 384, Activation::Gelu), (8, 4, Activation::Relu)] {
        let frame = oracle::frame(Freeze::new());
        let (weight, bias) = (randn(&[out, columns], Kind::Float), randn(&[out], Kind::Float));
        let linear = Linear::pack(&frame, &weight, Some(&bias), act).unwrap();
        let x = randn(&[3, columns], Kind::Float);
        let (saved, loaded) = round_trip(frame, linear);
        assert_eq!(loaded.run(&x).unwrap(), saved.run(&x).unwrap());
    }
}

fn layers(frame: &Frame) -> (Vec<Linear>, Conv) {
    let linear = |rows| Linear::pack(frame, &randn(&[rows, 512], Kind::Float), None, Activation::Relu).unwrap();
    let (params, weight) =
        (ConvParams { padding: vec![1], ..ConvParams::default() }, randn(&[8, 8, 3, 3], Kind::Float));
    (vec![linear(384), linear(300)], Conv::pack(frame, &weight, None, &params, Activation::Relu).unwrap())
}

fn run(net: &Net<(Vec<Linear>, Conv)>) -> [Tensor; 3] {
    let (linears, conv) = &net.part;
    let (x, image) = (Tensor::ones([3, 512], (Kind::Float, Device::Cpu)), Tensor::ones([1, 8, 5, 5], FLOATS));
    [linears[0].run(&x), linears[1].run(&x), conv.run(&image)].map(Result::unwrap)
}

const FLOATS: (Kind, Device) = (Kind::Float, Device::Cpu);

#[test]
fn kernels_that_were_measured_come_back_unmeasured() {
    let (scratch, clock) = (Scratch::new(), Told::new(&[("ATen", 1)]));
    let frame = oracle::frame(Freeze::new()).with_clock(clock.clone());
    let net = Net { part: layers(&frame), frame };
    let results = run(&net);
    save(&net, &net.frame, "Net#1", &scratch.file()).unwrap();
    let shown = format!("{:?}", net.part);
    assert_eq!(shown.matches("ATen").count(), 3, "{shown}");
    let report = GraphReport::default().with_kernels_of(&net).unwrap();
    assert_eq!(report.tuned.iter().map(|layer| &*layer.layer).collect::<Vec<_>>(), ["part.0.0", "part.0.1", "part.1"]);
    let text = report.to_string();
    assert!(
        text.contains("\n3 layers with another kernel than the default\n  part.0.0: ATen (1.0µs) instead of"),
        "{text}"
    );

    for autotune in [false, true] {
        let loaded: Net<(Vec<Linear>, Conv)> =
            load("Net", "Net#1", &scratch.file(), &Freeze::new().autotune(autotune)).unwrap();
        assert_eq!(format!("{:?}", loaded.part), shown, "autotune({autotune})");
        assert_eq!(run(&loaded), results);
        assert_eq!(GraphReport::default().with_kernels_of(&loaded).unwrap(), GraphReport::default());
        save(&loaded, &loaded.frame, "Net#1", &scratch.file()).unwrap();
    }
}

#[test]
fn a_kernel_that_is_not_here_is_the_default() {
    let scratch = Scratch::new();
    let frame = oracle::frame(Freeze::new()).with_clock(Told::new(&[("ATen", 1)]));
    let net = Net { part: layers(&frame), frame };
    let _ = run(&net);
    save(&net, &net.frame, "Net#1", &scratch.file()).unwrap();
    let replace = |from: &str, to: &str| {
        assert_eq!(from.len(), to.len());
        scratch.edit(|mut bytes| {
            while let Some(at) = bytes.windows(from.len()).position(|part| part == from.as_bytes()) {
                bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
            }
            bytes
        });
    };
    // As if a kernel of CUDA had won.
    replace("part.1!\\\":\\\"ATen", "part.1!\\\":\\\"cuDN");
    let error = scratch.refusal::<(Vec<Linear>, Conv)>();
    assert!(error.contains("the value `part.1!` is `cuDN`"), "{error}");
    let plain = format!("{:?}", layers(&oracle::frame(Freeze::new())));
    let half: Net<(Vec<Linear>, Conv)> = {
        let frame = oracle::frame(Freeze::new()).with_clock(Told::new(&[("oneDNN", 1)]));
        let net = Net { part: layers(&frame), frame };
        let _ = run(&net);
        save(&net, &net.frame, "Net#1", &scratch.file()).unwrap();
        load("Net", "Net#1", &scratch.file(), &Freeze::new().kind(Kind::Double)).unwrap()
    };
    assert_eq!(format!("{:?}", half.part).matches("ATen").count(), 3, "nothing else computes in f64");
    assert!(plain.contains("oneDNN"), "{plain}");
}

#[test]
fn a_file_of_a_model_that_was_not_measured_names_no_kernels() {
    for autotune in [false, true] {
        let scratch = Scratch::new();
        let frame = oracle::frame(Freeze::new().autotune(autotune));
        let part = layers(&frame);
        scratch.save(frame, part).unwrap();
        let bytes = std::fs::read(scratch.file()).unwrap();
        let header = usize::from_le_bytes(bytes[..8].try_into().unwrap());
        assert!(!bytes[8..8 + header].contains(&b'!'), "autotune({autotune})");
        let loaded: Net<(Vec<Linear>, Conv)> = scratch.load().unwrap();
        let plain = format!("{:?}", layers(&oracle::frame(Freeze::new())));
        assert_eq!(format!("{:?}", loaded.part), plain);
    }
}

#[test]
fn a_batch_norm_behind_a_linear_layer_comes_back() {
    let vs = VarStore::new(Device::Cpu);
    let bn = nn::batch_norm1d(vs.root(), 6, nn::BatchNormConfig::default());
    let frame = oracle::frame(Freeze::new());
    let linear = Linear::pack_batch_norm(&frame, &randn(&[6, 4], Kind::Float), None, &bn, Activation::Relu).unwrap();
    let (saved, loaded) = round_trip(frame, linear);
    for sizes in [&[5, 4][..], &[5, 6, 4]] {
        let x = randn(sizes, Kind::Float);
        assert_eq!(loaded.run(&x).unwrap(), saved.run(&x).unwrap());
    }
}

#[derive(State)]
struct Values(Vec<f64>, Vec<i64>, Option<bool>, Option<f32>, [i64; 2], Box<i8>, String);

#[test]
fn values_come_back_to_the_last_bit() {
    let numbers = vec![0.1, f64::MIN_POSITIVE, f64::INFINITY, -0.0, 1.0 / 3.0];
    let part = (vec![1_i64, -7], Some(true), None::<f32>);
    let values = Values(numbers, part.0, part.1, part.2, [3, 4], Box::new(-3), "two\nlines \"quoted\"".into());
    let (saved, loaded) = round_trip(oracle::frame(Freeze::new()), values);
    assert!(saved.0.iter().zip(&loaded.0).all(|(a, b)| a.to_bits() == b.to_bits()));
    assert_eq!((saved.1, saved.2, saved.3), (loaded.1, loaded.2, loaded.3));
    assert_eq!((saved.4, saved.5, saved.6), (loaded.4, loaded.5, loaded.6));
    let (_, loaded) = round_trip(oracle::frame(Freeze::new()), f64::NAN);
    assert!(loaded.is_nan());
}

#[test]
fn a_tensor_lies_in_memory_as_before() {
    let frame = oracle::frame(Freeze::new());
    let tensor = randn(&[2, 3, 4, 5], Kind::Float).permute([0, 3, 1, 2]);
    let ids = Tensor::from_slice(&[1_i64, 2]);
    let (saved, loaded) =
        round_trip(oracle::frame(Freeze::new()), vec![frame.param(&tensor).unwrap(), frame.param(&ids).unwrap()]);
    for (saved, loaded) in saved.iter().zip(&loaded) {
        assert_eq!((loaded.tensor(), loaded.stride()), (saved.tensor(), saved.stride()));
    }
}

#[test]
fn layers_come_back() {
    let vs = VarStore::new(Device::Cpu);
    let p = vs.root();
    let x = randn(&[2, 4, 8, 8], Kind::Float);
    let net = nn::seq_t()
        .add(nn::conv2d(&p / "a", 4, 4, 3, nn::ConvConfig { padding: 1, ..Default::default() }))
        .add(nn::batch_norm2d(&p / "b", 4, nn::BatchNormConfig::default()))
        .add(nn::gelu_tanh())
        .add(nn::seq().add(nn::max_pool2d(2, nn::MaxPoolConfig::default())).add(nn::leaky_relu(0.3)))
        .add(nn::group_norm(&p / "c", 2, 4, nn::GroupNormConfig::default()))
        .add(nn::dropout(0.5));
    let leaf = Leaf::new(&oracle::frame(Freeze::new()), &net).unwrap();
    let (saved, loaded) = round_trip(oracle::frame(Freeze::new()), leaf);
    assert_eq!(loaded.run(&x).unwrap(), saved.run(&x).unwrap());
    assert_eq!(format!("{loaded:?}"), "Leaf(SequentialT)");
}

#[derive(State)]
struct Tied(Leaf<nn::Embedding>, Linear);

#[test]
fn a_weight_of_two_names_lies_once_in_memory_and_in_the_file() {
    let vs = VarStore::new(Device::Cpu);
    let table = nn::embedding(vs.root(), 1000, 512, nn::EmbeddingConfig::default());
    let frame = oracle::frame(Freeze::new());
    let tied = {
        let _freezing = frame.freezing();
        Tied(Leaf::new(&frame, &table).unwrap(), Linear::pack(&frame, &table.ws, None, Activation::Relu).unwrap())
    };
    let scratch = Scratch::new();
    let saved = scratch.save(frame, tied).unwrap();
    let bytes = std::fs::metadata(scratch.file()).unwrap().len();
    assert!(bytes < 1000 * 512 * 4 + 10_000, "{bytes} bytes");
    let loaded: Net<Tied> = scratch.load().unwrap();
    let (ids, x) = (Tensor::from_slice(&[3_i64, 999]), randn(&[3, 512], Kind::Float));
    for net in [&saved, &loaded] {
        let kernel = oracle::kernel_of_a_shared_weight();
        assert_eq!(format!("{:?}", net.part.1), format!("Linear([1000, 512], {kernel}, Relu)"));
        assert_eq!(net.part.0.run(&ids).unwrap(), table.forward(&ids));
        let expected = x.linear(&table.ws, None::<&Tensor>).relu();
        oracle::check(&net.part.1.run(&x).unwrap(), &expected, "tied");
    }
    assert_eq!(loaded.part.1.run(&x).unwrap(), saved.part.1.run(&x).unwrap());
}

#[test]
fn a_file_can_be_loaded_in_another_dtype() {
    let scratch = Scratch::new();
    let frame = oracle::frame(Freeze::new());
    let param = frame.param(&randn(&[3], Kind::Float)).unwrap();
    let saved = scratch.save(frame, param).unwrap();
    let options = Freeze::new().kind(Kind::Double);
    let loaded: Net<Param> = load("Net", "Net#1", &scratch.file(), &options).unwrap();
    assert_eq!(loaded.part.tensor(), &saved.part.to_kind(Kind::Double));
}

#[test]
fn a_captured_layer_comes_back() {
    let vs = VarStore::new(Device::Cpu);
    let norm = nn::layer_norm(vs.root(), vec![8], nn::LayerNormConfig { eps: 0.25, ..Default::default() });
    let x = randn(&[2, 8], Kind::Float);
    let (saved, loaded) = round_trip(oracle::frame(Freeze::new()), Captured::new(norm));
    let [saved, loaded] = [saved, loaded].map(|norm| norm.lock().forward(&x));
    assert_eq!(loaded, saved);
}

#[derive(Debug, crate::Module)]
struct OwnBlock {
    norm: nn::LayerNorm,
    scale: Option<f64>,
    sizes: Vec<(i64, String)>,
    act: OwnAct,
    #[module(skip)]
    table: HashMap<String, Vec<i64>>,
}

#[derive(Debug, crate::Module)]
enum OwnAct {
    Relu,
    Leaky(f64),
    Scaled { by: Tensor },
}

#[derive(Debug, Clone, PartialEq, crate::frozen::State)]
struct OwnConfig {
    width: i64,
    name: String,
}

crate::own_state!(Vec<OwnBlock>, OwnConfig, std::time::Duration);

/// A module with a part that no file has.
#[derive(Debug, crate::Module)]
struct OwnClock {
    norm: nn::LayerNorm,
    since: std::time::Duration,
}

crate::own_state!(OwnClock);

fn own_block(act: OwnAct) -> OwnBlock {
    let vs = VarStore::new(Device::Cpu);
    OwnBlock {
        norm: nn::layer_norm(vs.root(), vec![8], nn::LayerNormConfig { eps: 0.25, ..Default::default() }),
        scale: Some(0.1),
        sizes: vec![(1, "one".to_owned()), (2, String::new())],
        act,
        table: [("b".to_owned(), vec![2, 3]), ("a".to_owned(), Vec::new())].into(),
    }
}

#[test]
fn captured_values_of_own_types_come_back() {
    let acts = [OwnAct::Relu, OwnAct::Leaky(0.5), OwnAct::Scaled { by: randn(&[3], Kind::Float) }];
    let blocks: Vec<OwnBlock> = acts.into_iter().map(own_block).collect();
    let (saved, loaded) = round_trip(oracle::frame(Freeze::new()), Captured::new(blocks));
    let (saved, loaded) = (saved.lock(), loaded.lock());
    assert_eq!(saved.len(), loaded.len());
    let x = randn(&[2, 8], Kind::Float);
    for (saved, loaded) in saved.iter().zip(&*loaded) {
        assert_eq!(loaded.norm.forward(&x), saved.norm.forward(&x));
        assert_eq!(format!("{:?}", loaded.act), format!("{:?}", saved.act));
        assert_eq!((loaded.scale, &loaded.sizes, &loaded.table), (saved.scale, &saved.sizes, &saved.table));
    }
    let config = OwnConfig { width: 3, name: "wide\nand = new".to_owned() };
    let (saved, loaded) = round_trip(oracle::frame(Freeze::new()), Captured::new(config));
    assert_eq!(*saved.lock(), *loaded.lock());
}

#[test]
fn a_part_of_an_own_value_that_cannot_be_saved_is_named() {
    let vs = VarStore::new(Device::Cpu);
    let norm = nn::layer_norm(vs.root(), vec![8], nn::LayerNormConfig::default());
    let clock = Captured::new(OwnClock { norm, since: std::time::Duration::ZERO });
    let error = Scratch::new().save(oracle::frame(Freeze::new()), clock).err().unwrap().to_string();
    assert!(error.contains("`part.since: core::time::Duration`"), "{error}");
}

#[test]
fn what_cannot_be_saved_is_named_all_at_once() {
    let scratch = Scratch::new();
    let parts = vec![Captured::new(std::time::Duration::ZERO), Captured::new(std::time::Duration::ZERO)];
    let error = scratch.save(oracle::frame(Freeze::new()), parts).err().unwrap().to_string();
    assert!(error.contains("part.0: core::time::Duration") && error.contains("part.1"), "{error}");
    let closure = Leaf::new(&oracle::frame(Freeze::new()), &nn::seq().add_fn(Tensor::relu)).unwrap();
    let error = scratch.save(oracle::frame(Freeze::new()), closure).err().unwrap().to_string();
    assert!(error.contains("part.layers.0: closure"), "{error}");
    assert!(!scratch.file().exists());
}

#[test]
fn another_graph_or_version_is_refused_by_both_names() {
    let scratch = Scratch::new();
    scratch.save(oracle::frame(Freeze::new()), 1_i64).unwrap();
    let error = load::<Net<i64>>("Net", "Net#2", &scratch.file(), &Freeze::new()).err().unwrap().to_string();
    assert!(error.contains("the graph Net#1") && error.contains("this program's is Net#2"), "{error}");
    let digits = VERSION.len();
    scratch.edit(|mut bytes| {
        let at = bytes.windows(digits).position(|part| part == VERSION.as_bytes()).unwrap();
        bytes[at..at + digits].fill(b'9');
        bytes
    });
    let error = scratch.refusal::<i64>();
    assert!(error.contains(&format!("saved by fx {}", "9".repeat(digits))), "{error}");
    assert!(error.contains(&format!("this is fx {VERSION}")), "{error}");
}

fn two_params(scratch: &Scratch) {
    let frame = oracle::frame(Freeze::new());
    let params = vec![frame.param(&randn(&[3], Kind::Float)).unwrap(), frame.param(&randn(&[4], Kind::Float)).unwrap()];
    scratch.save(frame, params).unwrap();
}

#[test]
fn a_truncated_file_is_refused() {
    let scratch = Scratch::new();
    two_params(&scratch);
    let whole = std::fs::read(scratch.file()).unwrap();
    for length in [0, 7, 8, 100, whole.len() - 1] {
        scratch.edit(|_| whole[..length].to_vec());
        let error = scratch.refusal::<Vec<Param>>();
        assert!(error.contains("truncated"), "{length} bytes: {error}");
    }
    scratch.edit(|_| [whole.as_slice(), b"more"].concat());
    assert!(!scratch.refusal::<Vec<Param>>().is_empty());
}

#[test]
fn corrupt_tensors_are_all_named() {
    let scratch = Scratch::new();
    two_params(&scratch);
    scratch.edit(|mut bytes| {
        let end = bytes.len();
        bytes[end - 28] ^= 1;
        bytes[end - 1] ^= 1;
        bytes
    });
    let error = scratch.refusal::<Vec<Param>>();
    assert!(error.contains("2 tensors are corrupt: `part.0`, `part.1`"), "{error}");
}

/// Calls a tensor of the file otherwise.
fn rename(scratch: &Scratch, from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    scratch.edit(|mut bytes| {
        let quoted = format!("\"{from}\":{{");
        let at = bytes.windows(quoted.len()).position(|part| part == quoted.as_bytes()).unwrap();
        bytes[at + 1..=at + to.len()].copy_from_slice(to.as_bytes());
        bytes
    });
}

#[test]
fn missing_tensors_are_all_named() {
    let scratch = Scratch::new();
    two_params(&scratch);
    rename(&scratch, "part.0", "part.8");
    rename(&scratch, "part.1", "part.9");
    let error = scratch.refusal::<Vec<Param>>();
    assert!(error.contains("2 tensors are missing: `part.0`, `part.1`"), "{error}");
    assert!(error.contains("2 tensors are unexpected: `part.8`, `part.9`"), "{error}");
}

#[test]
fn other_files_are_refused() {
    let scratch = Scratch::new();
    assert!(scratch.refusal::<i64>().contains("No such file"));
    let no_tensors: [(&str, safetensors::tensor::TensorView<'_>); 0] = [];
    std::fs::write(scratch.file(), safetensors::serialize(no_tensors, None).unwrap()).unwrap();
    assert!(scratch.refusal::<i64>().contains("not of a frozen model"), "{}", scratch.refusal::<i64>());
}

#[test]
fn the_same_model_gives_the_same_bytes() {
    let scratch = [Scratch::new(), Scratch::new()];
    let weights: Vec<Tensor> = (0..20).map(|_| randn(&[3], Kind::Float)).collect();
    for scratch in &scratch {
        let frame = oracle::frame(Freeze::new());
        let params: Vec<Param> = weights.iter().map(|weight| frame.param(weight).unwrap()).collect();
        scratch.save(frame, params).unwrap();
    }
    assert_eq!(std::fs::read(scratch[0].file()).unwrap(), std::fs::read(scratch[1].file()).unwrap());
}
