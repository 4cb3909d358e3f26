//! The values that operators take and return.

use tch::{Device, Kind, Layout, Tensor};

/// A value that an operator takes or returns.
///
/// A tensor is a handle, as in all of tch: elements are not copied on the way in or out.
#[derive(Debug)]
#[non_exhaustive]
pub enum Value {
    /// No value, for an argument that may be left out; as a result a tensor without content.
    None,
    /// A tensor.
    Tensor(Tensor),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A complex number: its real and its imaginary part.
    Complex(f64, f64),
    /// A text.
    Str(String),
    /// A dtype.
    Kind(Kind),
    /// A layout.
    Layout(Layout),
    /// A memory format.
    MemoryFormat(MemoryFormat),
    /// A device.
    Device(Device),
    /// A list of integers.
    Ints(Vec<i64>),
    /// A list of floats.
    Floats(Vec<f64>),
    /// A list of truth values.
    Bools(Vec<bool>),
    /// A list of tensors.
    Tensors(Vec<Tensor>),
    /// A list of tensors of which some may be absent.
    OptionalTensors(Vec<Option<Tensor>>),
}

/// The order of a tensor's axes in memory, by libtorch's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemoryFormat {
    /// The last axis lies together.
    Contiguous = 0,
    /// As in the input.
    Preserve = 1,
    /// The channels of `[N, C, H, W]` lie together.
    ChannelsLast = 2,
    /// The channels of `[N, C, D, H, W]` lie together.
    ChannelsLast3d = 3,
}

impl Value {
    /// The tensor, if it is one.
    pub fn into_tensor(self) -> Option<Tensor> {
        match self {
            Self::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// Returns the kind of value, for messages: `a tensor`.
    pub(super) fn describe(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Tensor(_) => "a tensor",
            Self::Int(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Bool(_) => "a truth value",
            Self::Complex(..) => "a complex number",
            Self::Str(_) => "a text",
            Self::Kind(_) => "a dtype",
            Self::Layout(_) => "a layout",
            Self::MemoryFormat(_) => "a memory format",
            Self::Device(_) => "a device",
            Self::Ints(_) => "a list of integers",
            Self::Floats(_) => "a list of floats",
            Self::Bools(_) => "a list of truth values",
            Self::Tensors(_) => "a list of tensors",
            Self::OptionalTensors(_) => "a list of optional tensors",
        }
    }
}

macro_rules! from {
    ($($ty:ty: $value:ident => $made:expr;)*) => {
        $(impl From<$ty> for Value {
            fn from($value: $ty) -> Self {
                $made
            }
        })*
    };
}

from! {
    Tensor: tensor => Self::Tensor(tensor);
    &Tensor: tensor => Self::Tensor(tensor.shallow_clone());
    i64: value => Self::Int(value);
    i32: value => Self::Int(value.into());
    f64: value => Self::Float(value);
    f32: value => Self::Float(value.into());
    bool: value => Self::Bool(value);
    &str: text => Self::Str(text.to_owned());
    String: text => Self::Str(text);
    Kind: kind => Self::Kind(kind);
    Layout: layout => Self::Layout(layout);
    MemoryFormat: format => Self::MemoryFormat(format);
    Device: device => Self::Device(device);
    Vec<i64>: list => Self::Ints(list);
    &[i64]: list => Self::Ints(list.to_vec());
    Vec<f64>: list => Self::Floats(list);
    &[f64]: list => Self::Floats(list.to_vec());
    Vec<bool>: list => Self::Bools(list);
    &[bool]: list => Self::Bools(list.to_vec());
    Vec<Tensor>: list => Self::Tensors(list);
    &[&Tensor]: list => Self::Tensors(list.iter().map(|tensor| tensor.shallow_clone()).collect());
    Vec<Option<Tensor>>: list => Self::OptionalTensors(list);
}

impl<const N: usize> From<[i64; N]> for Value {
    fn from(list: [i64; N]) -> Self {
        Self::Ints(list.into())
    }
}

impl<const N: usize> From<[&Tensor; N]> for Value {
    fn from(list: [&Tensor; N]) -> Self {
        list.as_slice().into()
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, Into::into)
    }
}

/// The dtypes by libtorch's numbers.
const KINDS: [(Kind, i64); 20] = [
    (Kind::Uint8, 0),
    (Kind::Int8, 1),
    (Kind::Int16, 2),
    (Kind::Int, 3),
    (Kind::Int64, 4),
    (Kind::Half, 5),
    (Kind::Float, 6),
    (Kind::Double, 7),
    (Kind::ComplexHalf, 8),
    (Kind::ComplexFloat, 9),
    (Kind::ComplexDouble, 10),
    (Kind::Bool, 11),
    (Kind::QInt8, 12),
    (Kind::QUInt8, 13),
    (Kind::QInt32, 14),
    (Kind::BFloat16, 15),
    (Kind::Float8e5m2, 23),
    (Kind::Float8e4m3fn, 24),
    (Kind::Float8e5m2fnuz, 25),
    (Kind::Float8e4m3fnuz, 26),
];

/// libtorch's number of a dtype.
pub(super) fn number_of_kind(kind: Kind) -> i64 {
    KINDS.iter().find(|row| row.0 == kind).map_or(-1, |row| row.1)
}

/// The dtype of that number; none of one that tch lacks.
pub(super) fn kind_of_number(number: i64) -> Option<Kind> {
    KINDS.iter().find(|row| row.1 == number).map(|row| row.0)
}

/// The layout of that number.
pub(super) fn layout_of_number(number: i64) -> Option<Layout> {
    use Layout::{Mkldnn, Sparse, SparseBsc, SparseBsr, SparseCsc, SparseCsr, Strided};
    let layouts = [Strided, Sparse, SparseCsr, Mkldnn, SparseCsc, SparseBsr, SparseBsc];
    layouts.into_iter().find(|layout| i64::from(layout.to_i8()) == number)
}

/// The memory format of that number.
pub(super) fn format_of_number(number: i64) -> Option<MemoryFormat> {
    use MemoryFormat::{ChannelsLast, ChannelsLast3d, Contiguous, Preserve};
    [Contiguous, Preserve, ChannelsLast, ChannelsLast3d].into_iter().find(|&format| format as i64 == number)
}

/// libtorch's number of a kind of device, and the index.
pub(super) fn numbers_of_device(device: Device) -> (i64, i32) {
    match device {
        Device::Cpu => (0, -1),
        Device::Cuda(index) => (1, i32::try_from(index).unwrap_or(-1)),
        Device::Vulkan => (10, -1),
        Device::Mps => (13, -1),
    }
}

/// The device of that kind and index; none of one that tch lacks.
pub(super) fn device_of_numbers(kind: i64, index: i32) -> Option<Device> {
    match kind {
        0 => Some(Device::Cpu),
        1 => Some(Device::Cuda(usize::try_from(index).unwrap_or(0))),
        10 => Some(Device::Vulkan),
        13 => Some(Device::Mps),
        _ => None,
    }
}
