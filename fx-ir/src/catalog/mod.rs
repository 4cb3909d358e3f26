//! The broad layer of op knowledge: every method of `tch::Tensor`, and the ATen operator it calls.
//!
//! The table is generated (`cargo xtask codegen`) and says what a signature says: parameters, results, what is written
//! to, what may be a view, what is random. What an op *means* (shapes, cost, fusion) is the op table's business, for the
//! few hundred ops that passes know; the catalog is for all the others, and for telling a user that a call is wrong.

mod nn;
#[allow(clippy::enum_glob_use, reason = "a row fits on a line only if its words are short")]
mod table;

use table::TABLE;

pub use nn::{ChainMethod, PathMethod};

use crate::Arg;

/// One method of `tch::Tensor`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// The method's name, in its infallible form where it has two: `conv2d`, `g_add_scalar`, `relu_`.
    pub method: &'static str,
    /// The operator it calls, with overload: `aten::add.Scalar`. `None` where it is no single operator (`size4`).
    pub aten: Option<&'static str>,
    /// The way in which the method takes its tensor.
    pub receiver: Receiver,
    /// The parameters after the receiver, in order.
    pub params: &'static [Param],
    /// Its results, inside the `Result` where it has one.
    pub results: Results,
    /// In which forms the method exists.
    pub door: Door,
    /// Its effects beyond computing its results.
    pub flags: Flags,
}

impl Entry {
    /// The name of the form that returns a `Result`, where there is one: `f_add_scalar` for `g_add_scalar`.
    pub fn fallible(&self) -> Option<String> {
        match self.door {
            Door::Both => Some(format!("f_{}", self.method.strip_prefix("g_").unwrap_or(self.method))),
            Door::Fallible => Some(self.method.to_owned()),
            Door::Plain => None,
        }
    }

    /// Whether it writes to its receiver or to one of its parameters.
    pub fn writes(&self) -> bool {
        self.flags.has(Flags::WRITES_SELF) || self.params.iter().any(|param| param.is_written)
    }

    /// The parameter of this name.
    pub fn param(&self, name: &str) -> Option<&'static Param> {
        self.params.iter().find(|param| param.name == name)
    }
}

/// One parameter of a method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// The name in ATen's schema, as tch spells it.
    pub name: &'static str,
    /// The kind of value that it takes.
    pub kind: Kind,
    /// The schema's default. tch itself has no defaults.
    pub default: Option<DefaultValue>,
    /// Whether the method writes to it.
    pub is_written: bool,
}

impl Param {
    /// The default as an argument: `[1, 1]`, none, true.
    pub fn default_arg(&self) -> Option<Arg> {
        self.default.map(Arg::from)
    }
}

/// The value that a parameter has where it is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DefaultValue {
    /// No value of an optional parameter.
    None,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// Text.
    Str(&'static str),
    /// A list of whole numbers.
    Ints(&'static [i64]),
    /// A named constant of ATen, such as `Mean`.
    Name(&'static str),
}

impl From<DefaultValue> for Arg {
    fn from(default: DefaultValue) -> Arg {
        match default {
            DefaultValue::None => Arg::None,
            DefaultValue::Bool(value) => Arg::Bool(value),
            DefaultValue::Int(number) => Arg::Int(number),
            DefaultValue::Float(number) => Arg::Float(number),
            DefaultValue::Str(text) => Arg::Str(text.to_owned()),
            DefaultValue::Ints(numbers) => Arg::List(numbers.iter().copied().map(Arg::Int).collect()),
            DefaultValue::Name(name) => Arg::Path(name.to_owned()),
        }
    }
}

/// The way in which a method takes its tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiver {
    /// `&self`
    Ref,
    /// `&mut self`
    Mut,
    /// None: an associated function, as `Tensor::cat(..)`.
    Free,
}

/// In which forms a method exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// `x`, which panics on an error, and `f_x`, which returns a `Result`.
    Both,
    /// One form, which returns a `Result` (`size4`).
    Fallible,
    /// One form, which returns no `Result` (`numel`).
    Plain,
}

/// The kind of value that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `&Tensor`
    Tensor,
    /// `Option<impl Borrow<Tensor>>`
    OptTensor,
    /// `&[impl Borrow<Tensor>]`
    TensorList,
    /// `&[Option<impl Borrow<Tensor>>]`
    OptTensorList,
    /// `i64`
    Int,
    /// `usize`
    Usize,
    /// `impl Into<Option<i64>>`
    OptInt,
    /// `impl IntList`: a slice, array or vector of `i64`, or one `i64`
    IntList,
    /// `impl IntListOption`
    OptIntList,
    /// `f64`
    Float,
    /// `impl Into<Option<f64>>`
    OptFloat,
    /// `impl DoubleList`
    FloatList,
    /// `bool`
    Bool,
    /// `&str`
    Str,
    /// `impl Into<Scalar>`
    Scalar,
    /// `Kind`, tch's name for a dtype
    ElementKind,
    /// `impl Into<Option<Kind>>`
    OptElementKind,
    /// `Device`
    Device,
    /// `Layout`
    Layout,
    /// `Option<Layout>`
    OptLayout,
    /// `(Kind, Device)`
    Options,
    /// `Reduction`
    Reduction,
    /// `impl Shape`: an `i64`, a tuple or a slice of them
    Shape,
    /// Any other Rust type.
    Other,
}

/// The results of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    /// `Tensor`
    Tensor,
    /// A tuple of so many tensors.
    Tensors(u8),
    /// `Vec<Tensor>`
    TensorList,
    /// `i64`
    Int,
    /// A tuple of so many `i64`.
    Ints(u8),
    /// `usize`
    Usize,
    /// `Vec<i64>`
    IntList,
    /// `f64`
    Float,
    /// `bool`
    Bool,
    /// `Kind`, tch's name for a dtype
    ElementKind,
    /// `Device`
    Device,
    /// `()`
    Unit,
    /// Any other Rust type.
    Other,
}

/// The effects of a method beyond computing its results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// It writes to its receiver.
    pub const WRITES_SELF: Self = Self(1);
    /// A result is, or may be, a view of an argument; for a method that writes to its receiver see that flag.
    pub const VIEW: Self = Self(1 << 1);
    /// It draws random numbers.
    pub const RANDOM: Self = Self(1 << 2);
    /// PyTorch warns that it may alias or write to an argument though its schema does not say so.
    pub const MAY_ALIAS_OR_WRITE: Self = Self(1 << 3);
    /// It works element by element.
    pub const POINTWISE: Self = Self(1 << 4);
    /// The shape or the value of a result depends on the values in a tensor.
    pub const DATA_DEPENDENT: Self = Self(1 << 5);

    /// These flags and those.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of these are set.
    pub const fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }
}

/// All methods, sorted by name.
pub const fn entries() -> &'static [Entry] {
    &TABLE
}

/// The method of this name, in its infallible form (`relu`) or its fallible one (`f_relu`).
pub fn lookup(method: &str) -> Option<&'static Entry> {
    TABLE.get(position(method)?)
}

/// Where that method stands among all.
pub(crate) fn position(method: &str) -> Option<usize> {
    let find = |name: &str| TABLE.binary_search_by(|entry| entry.method.cmp(name)).ok();
    find(method).or_else(|| {
        // `f_add` is the other form of `g_add`: tch's own `add` is the operator `+`.
        let plain = method.strip_prefix("f_")?;
        let found = find(&format!("g_{plain}")).or_else(|| find(plain))?;
        (TABLE.get(found)?.door == Door::Both).then_some(found)
    })
}

/// The methods that call this operator (`aten::add.Scalar`), sorted by name. Looks at every row.
pub fn by_aten(name: &str) -> impl Iterator<Item = &'static Entry> {
    TABLE.iter().filter(move |entry| entry.aten == Some(name))
}

// The table's rows are written with the four functions below.

const fn row(
    method: &'static str,
    aten: &'static str,
    receiver: Receiver,
    params: &'static [Param],
    results: Results,
    door: Door,
    flags: Flags,
) -> Entry {
    let aten = if aten.is_empty() { None } else { Some(aten) };
    Entry { method, aten, receiver, params, results, door, flags }
}

const fn given(name: &'static str, kind: Kind) -> Param {
    Param { name, kind, default: None, is_written: false }
}

const fn default(name: &'static str, kind: Kind, default: DefaultValue) -> Param {
    Param { name, kind, default: Some(default), is_written: false }
}

const fn written(name: &'static str, kind: Kind) -> Param {
    Param { name, kind, default: None, is_written: true }
}

#[cfg(test)]
mod tests;
