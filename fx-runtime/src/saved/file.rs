//! The file: a safetensors file with one entry of metadata, which holds the [`Head`].
//!
//! Tensors are read one by one as they are asked for, so that the file is never in memory as a whole.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use safetensors::tensor::{Metadata, TensorInfo, View};
use safetensors::{Dtype, serialize_to_file};
use serde::{Deserialize, Serialize};
use tch::{Device, Kind, Tensor};

use super::axes;
use crate::whole_file::write_whole;
use crate::{Error, Result};

/// What a file says of a model without weights, which takes inputs of any dtype.
const ANY: &str = "any";

/// The dtypes a model can be frozen in, by the names that a file has for them.
fn kind_named(name: &str) -> Option<Kind> {
    [Kind::Float, Kind::Double, Kind::Half, Kind::BFloat16].into_iter().find(|kind| format!("{kind:?}") == name)
}

/// The entry of metadata.
const ENTRY: &str = "fx";

/// The largest header that is read: safetensors' own bound.
const MAX_HEADER: u64 = 100_000_000;

/// What the file says of itself.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Head {
    /// The version of fx that wrote it.
    version: String,
    /// The graph of the frozen type.
    graph: String,
    /// The dtype that the model was frozen in.
    kind: String,
    /// What is not a tensor.
    values: BTreeMap<String, String>,
    /// Of every tensor's bytes, as CRC-32.
    checksums: BTreeMap<String, u32>,
}

impl Head {
    /// Of a model frozen in `kind`; the checksums come with the tensors.
    pub(super) fn new(version: &str, graph: &str, kind: Option<Kind>, values: BTreeMap<String, String>) -> Self {
        let kind = kind.map_or_else(|| ANY.to_owned(), |kind| format!("{kind:?}"));
        Self { version: version.to_owned(), graph: graph.to_owned(), kind, values, checksums: BTreeMap::new() }
    }
}

/// The part of a head that every version has.
#[derive(Deserialize)]
struct Origin {
    version: String,
    graph: String,
}

/// A tensor on its way into a file: dense, on the CPU.
#[derive(Debug)]
pub(super) struct Stored {
    /// The tensor as it is in the model.
    origin: Tensor,
    dense: Tensor,
    shape: Vec<usize>,
    dtype: Dtype,
    /// The axes from the outermost in memory to the innermost, where that is not the default.
    pub(super) order: Option<Vec<i64>>,
}

impl Stored {
    pub(super) fn new(tensor: &Tensor) -> Result<Self> {
        let kind = tensor.f_kind()?;
        let Some(&(_, dtype)) = DTYPES.iter().find(|(known, _)| *known == kind) else {
            let what = format!("saving a tensor of {kind:?}");
            return Err(Error::Unsupported { what, help: "convert it before the model is frozen".to_owned() });
        };
        let dense = tensor.f_detach()?.f_to_device(Device::Cpu)?.f_contiguous()?;
        let shape = dense.size().iter().map(|&size| usize::try_from(size).unwrap_or(0)).collect();
        Ok(Self { origin: tensor.shallow_clone(), dense, shape, dtype, order: axes::order(tensor)? })
    }

    /// Whether it is this very tensor, that another part of the model holds as well.
    pub(super) fn is_of(&self, tensor: &Tensor) -> bool {
        self.origin.data_ptr() == tensor.data_ptr()
            && !tensor.data_ptr().is_null()
            && self.origin.size() == tensor.size()
            && self.origin.stride() == tensor.stride()
    }

    fn bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.data_len()];
        self.dense.f_copy_data_u8(&mut bytes, self.dense.numel())?;
        Ok(bytes)
    }
}

const DTYPES: [(Kind, Dtype); 11] = [
    (Kind::Float, Dtype::F32),
    (Kind::Double, Dtype::F64),
    (Kind::Half, Dtype::F16),
    (Kind::BFloat16, Dtype::BF16),
    (Kind::Float8e4m3fn, Dtype::F8_E4M3),
    (Kind::Int64, Dtype::I64),
    (Kind::Int, Dtype::I32),
    (Kind::Int16, Dtype::I16),
    (Kind::Int8, Dtype::I8),
    (Kind::Uint8, Dtype::U8),
    (Kind::Bool, Dtype::BOOL),
];

/// A tensor whose bytes are made when they are written; what fails then is told afterwards.
struct Lazy<'a> {
    stored: &'a Stored,
    failed: &'a RefCell<Option<Error>>,
}

impl View for Lazy<'_> {
    fn dtype(&self) -> Dtype {
        self.stored.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.stored.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        let bytes = self.stored.bytes().unwrap_or_else(|error| {
            self.failed.replace(Some(error));
            vec![0; self.stored.data_len()]
        });
        Cow::Owned(bytes)
    }

    fn data_len(&self) -> usize {
        self.stored.data_len()
    }
}

impl Stored {
    fn data_len(&self) -> usize {
        self.shape.iter().product::<usize>() * self.dtype.bitsize() / 8
    }
}

/// Writes a file, which appears under its name when it is complete.
pub(super) fn write(path: &Path, mut head: Head, tensors: &BTreeMap<String, Stored>) -> Result<()> {
    for (name, tensor) in tensors {
        head.checksums.insert(name.clone(), crc32fast::hash(&tensor.bytes()?));
    }
    let text = serde_json::to_string(&head).map_err(|error| fault(path, &error.to_string()))?;
    let failed = RefCell::new(None);
    let views = tensors.iter().map(|(name, stored)| (name, Lazy { stored, failed: &failed }));
    let metadata = HashMap::from([(ENTRY.to_owned(), text)]);
    let write = |partial: &Path| {
        serialize_to_file(views, Some(metadata), partial).map_err(|error| fault(path, &error.to_string()))?;
        failed.take().map_or(Ok(()), Err)
    };
    write_whole(path, write, |error| fault(path, &error.to_string()))
}

/// A file that is being read.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    handle: fs::File,
    /// Where the tensors begin.
    start: u64,
    tensors: BTreeMap<String, TensorInfo>,
    /// The head as text: its form depends on the version that wrote it.
    text: String,
    head: Option<Head>,
    /// The tensors whose bytes are not those that were written.
    corrupt: RefCell<BTreeSet<String>>,
}

impl File {
    /// How large it is.
    pub(super) fn bytes(&self) -> usize {
        self.handle.metadata().map_or(0, |known| usize::try_from(known.len()).unwrap_or(usize::MAX))
    }

    /// Opens a file and reads its header.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let broken = |reason: String| fault(path, &reason);
        let mut file = fs::File::open(path).map_err(|error| broken(error.to_string()))?;
        let length = file.metadata().map_err(|error| broken(error.to_string()))?.len();
        let not_ours = || broken(format!("it is truncated, or not a safetensors file ({length} bytes)"));
        let mut size = [0; 8];
        file.read_exact(&mut size).map_err(|_| not_ours())?;
        let size = u64::from_le_bytes(size);
        let start = size.checked_add(8).filter(|&start| start <= length && size <= MAX_HEADER).ok_or_else(not_ours)?;
        let mut header = vec![0; usize::try_from(size).unwrap_or(0)];
        file.read_exact(&mut header).map_err(|_| not_ours())?;
        let metadata: Metadata = serde_json::from_slice(&header).map_err(|_| not_ours())?;
        let text = metadata.metadata().as_ref().and_then(|entries| entries.get(ENTRY)).cloned();
        let text = text.ok_or_else(|| {
            broken("it is a safetensors file, but not of a frozen model; `save` of a frozen type writes one".to_owned())
        })?;
        let tensors: BTreeMap<_, _> = metadata.tensors().into_iter().map(|(name, info)| (name, info.clone())).collect();
        let end = tensors.values().map(|info| info.data_offsets.1 as u64).max().unwrap_or(0);
        if start.checked_add(end) != Some(length) {
            return Err(broken(format!("it is truncated: it has {length} bytes and should have {}", start + end)));
        }
        Ok(Self {
            path: path.to_owned(),
            handle: file,
            start,
            tensors,
            head: serde_json::from_str(&text).ok(),
            text,
            corrupt: RefCell::default(),
        })
    }

    /// Refuses a file of another version or graph; the message names both.
    pub(super) fn check_origin(&self, version: &str, graph: &str) -> Result<()> {
        let origin: Origin = serde_json::from_str(&self.text).map_err(|_| self.damaged("its head cannot be read"))?;
        if origin.version != version {
            return Err(fault(
                &self.path,
                &format!(
                    "it was saved by fx {} and this is fx {version}; save it again with this version",
                    origin.version
                ),
            ));
        }
        if origin.graph != graph {
            return Err(fault(
                &self.path,
                &format!(
                    "it was saved from the graph {} and this program's is {graph}; freeze and save the model again",
                    origin.graph
                ),
            ));
        }
        self.head().map(|_| ())
    }

    /// Refuses a file in which tensors are missing, all of them named.
    pub(super) fn check_tensors(&self) -> Result<()> {
        let expected: BTreeSet<&String> = self.head()?.checksums.keys().collect();
        let found: BTreeSet<&String> = self.tensors.keys().collect();
        let missing = named(expected.difference(&found).copied(), "missing");
        let unexpected = named(found.difference(&expected).copied(), "unexpected");
        match [missing, unexpected].into_iter().flatten().collect::<Vec<_>>() {
            faults if faults.is_empty() => Ok(()),
            faults => Err(self.damaged(&faults.join("; "))),
        }
    }

    /// Refuses a file whose tensors are not the ones that were written, or are not the ones that the model has.
    pub(super) fn check_read(&self, read: &BTreeSet<String>) -> Result<()> {
        let corrupt = named(&*self.corrupt.borrow(), "corrupt");
        let unread = named(self.tensors.keys().filter(|name| !read.contains(*name)), "unexpected");
        match [corrupt, unread].into_iter().flatten().collect::<Vec<_>>() {
            faults if faults.is_empty() => Ok(()),
            faults => Err(self.damaged(&faults.join("; "))),
        }
    }

    /// The dtype that the model was frozen in, if weights or options said one.
    pub(super) fn kind(&self) -> Result<Option<Kind>> {
        let name = &self.head()?.kind;
        if name == ANY {
            return Ok(None);
        }
        kind_named(name).map(Some).ok_or_else(|| self.damaged(&format!("its dtype is `{name}`")))
    }

    /// A value that is not a tensor.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.head.as_ref()?.values.get(name).map(String::as_str)
    }

    /// Every value of this aspect.
    pub(super) fn values_of(&self, aspect: &str) -> BTreeSet<String> {
        let values = self.head.iter().flat_map(|head| &head.values);
        values.filter(|(name, _)| name.ends_with(aspect)).map(|(_, value)| value.clone()).collect()
    }

    /// A tensor by its name, read from the file.
    pub(super) fn tensor(&self, name: &str) -> Result<Tensor> {
        let Some(info) = self.tensors.get(name) else {
            return Err(self.damaged(&format!("the tensor `{name}` is missing")));
        };
        let Some(&(kind, _)) = DTYPES.iter().find(|(_, dtype)| *dtype == info.dtype) else {
            return Err(self.damaged(&format!("the tensor `{name}` has the dtype {:?}", info.dtype)));
        };
        let (start, end) = info.data_offsets;
        let mut bytes = vec![0; end - start];
        let mut file = &self.handle;
        file.seek(SeekFrom::Start(self.start + start as u64))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|error| fault(&self.path, &error.to_string()))?;
        if self.head()?.checksums.get(name) != Some(&crc32fast::hash(&bytes)) {
            self.corrupt.borrow_mut().insert(name.to_owned());
        }
        let shape: Vec<i64> = info.shape.iter().map(|&size| i64::try_from(size).unwrap_or(i64::MAX)).collect();
        Ok(Tensor::f_from_data_size(&bytes, &shape, kind)?)
    }

    /// The error for a file that is not what was written.
    pub(super) fn damaged(&self, what: &str) -> Error {
        fault(&self.path, &format!("{what}; save it again"))
    }

    fn head(&self) -> Result<&Head> {
        self.head.as_ref().ok_or_else(|| self.damaged("its head cannot be read"))
    }
}

/// Two tensors are missing, and which; none if there is none.
fn named<'a>(names: impl IntoIterator<Item = &'a String>, what: &str) -> Option<String> {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    let tensors = if names.len() == 1 { "tensor is" } else { "tensors are" };
    (!names.is_empty()).then(|| format!("{} {tensors} {what}: {}", names.len(), names.join(", ")))
}

fn fault(path: &Path, reason: &str) -> Error {
    Error::FrozenFile { path: path.to_owned(), reason: reason.to_owned() }
}
