//! Files that fit, files that do not, and files that are none.

use std::path::PathBuf;

use tch::{Device, Tensor};
use tempfile::TempDir;

use super::*;
use crate::nn;

/// A folder of one test, removed at its end.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Writes the named tensors in the format that the name's extension says.
    fn write(&self, name: &str, tensors: &[(&str, Tensor)]) -> PathBuf {
        let path = self.0.path().join(name);
        match path.extension().and_then(|e| e.to_str()) {
            Some("safetensors") => Tensor::write_safetensors(tensors, &path).unwrap(),
            _ => Tensor::save_multi(tensors, &path).unwrap(),
        }
        path
    }
}

fn net(vs: &nn::VarStore) -> nn::BatchNorm {
    nn::batch_norm2d(vs.root() / "bn", 2, nn::BatchNormConfig::default())
}

fn floats(values: &[f32]) -> Tensor {
    Tensor::from_slice(values)
}

fn good() -> Vec<(&'static str, Tensor)> {
    vec![
        ("bn.weight", floats(&[1., 2.])),
        ("bn.bias", floats(&[3., 4.])),
        ("bn.running_mean", floats(&[5., 6.])),
        ("bn.running_var", floats(&[7., 8.])),
    ]
}

fn message(result: Result<LoadReport, Error>) -> String {
    result.map(|_| ()).unwrap_err().to_string()
}

#[test]
fn fills_from_both_formats() {
    let folder = Folder::new();
    for name in ["w.safetensors", "w.ot"] {
        let vs = nn::VarStore::new(Device::Cpu);
        let bn = net(&vs);
        let mut tensors = good();
        tensors.push(("bn.num_batches_tracked", Tensor::from(7_i64)));
        let report = load_weights(&vs, folder.write(name, &tensors)).unwrap();
        assert_eq!(report.loaded, ["bn.bias", "bn.running_mean", "bn.running_var", "bn.weight"]);
        assert_eq!(report.ignored, ["bn.num_batches_tracked"]);
        assert!(report.converted.is_empty());
        assert_eq!(bn.running_var, floats(&[7., 8.]), "{name}");
    }
}

#[test]
fn converts_half_precision() {
    let folder = Folder::new();
    for kind in [Kind::Half, Kind::BFloat16] {
        let vs = nn::VarStore::new(Device::Cpu);
        let bn = net(&vs);
        let tensors: Vec<_> = good().into_iter().map(|(name, tensor)| (name, tensor.to_kind(kind))).collect();
        let report = load_weights(&vs, folder.write("w.safetensors", &tensors)).unwrap();
        assert_eq!(report.converted.len(), 4);
        assert_eq!(report.converted[0], ("bn.bias".to_owned(), kind, Kind::Float));
        assert_eq!((bn.running_mean.kind(), &bn.running_mean), (Kind::Float, &floats(&[5., 6.])));
    }
}

#[test]
fn names_everything_at_once_and_copies_nothing() {
    let folder = Folder::new();
    let vs = nn::VarStore::new(Device::Cpu);
    let bn = net(&vs);
    let tensors = [
        ("bn.weight", floats(&[1., 2., 3.])),
        ("bn.running_mean", floats(&[5., 6.])),
        ("bn.running_var", Tensor::from_slice(&[7_i64, 8])),
        ("fc.weight", floats(&[1.])),
    ];
    let path = folder.write("w.safetensors", &tensors);
    assert_eq!(
        message(load_weights(&vs, &path)).replace(&path.display().to_string(), "w"),
        "weights file `w` does not fit the model, and nothing was loaded\
         \n  missing in the file (1):\
         \n    `bn.bias` [2]\
         \n  unexpected in the file (1):\
         \n    `fc.weight` [1]\
         \n  of another shape (1):\
         \n    `bn.weight` is [2] in the model and [3] in the file\
         \n  of another kind of dtype (1):\
         \n    `bn.running_var` is Float in the model and Int64 in the file"
    );
    assert_eq!(bn.running_mean, floats(&[0., 0.]));
}

#[test]
fn refuses_what_is_no_weights_file() {
    let folder = Folder::new();
    let vs = nn::VarStore::new(Device::Cpu);
    let _bn = net(&vs);
    let whole = std::fs::read(folder.write("w.safetensors", &good())).unwrap();
    let ot = std::fs::read(folder.write("w.ot", &good())).unwrap();
    let cases: [(&str, &[u8]); 7] = [
        ("cut.safetensors", &whole[..whole.len() - 4]),
        ("header.safetensors", &whole[..20]),
        ("empty.safetensors", &[]),
        ("garbage.safetensors", &[0xff; 64]),
        ("cut.ot", &ot[..ot.len() / 2]),
        ("garbage.pt", &[0xff; 64]),
        ("empty.ot", &[]),
    ];
    for (name, bytes) in cases {
        let path = folder.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let result = load_weights(&vs, &path);
        assert!(matches!(&result, Err(Error::WeightsFile { .. })), "{name}: {result:?}");
        let message = message(result);
        assert!(message.contains("it is truncated, or not") && message.lines().count() == 1, "{name}: {message}");
    }
    let absent = message(load_weights(&vs, folder.0.path().join("absent.ot")));
    assert!(absent.contains("No such file"), "{absent}");
}
