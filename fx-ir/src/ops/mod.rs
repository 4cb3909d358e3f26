//! What is known of an op: its row in the op table if it has one, and else its entry in the catalog.
//!
//! The table is deep and short, the catalog broad and shallow. An op is named as `ATen` names it; the `tch` methods
//! that spell it (`&a + &b`, `a.g_add(&b)`) are one op, so a pass never sees a spelling.

mod table;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::{Effect, catalog};

/// Names an op: `relu`, `add`, `convolution`. Two spellings of one op have one id.
#[derive(Clone, Copy)]
pub struct OpId {
    name: &'static str,
    row: Option<&'static OpRow>,
    entry: Option<&'static catalog::Entry>,
}

/// What kind of work an op does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Each element of the result depends on the elements at the same place.
    Pointwise,
    /// The same elements under other sizes or strides; the result may share memory with the input.
    View,
    /// A sum of products: convolutions and matrix products.
    Contraction,
    /// Sums, means, maxima along axes, pooling included.
    Reduction,
    /// Mean and variance, then scale and shift.
    Normalization,
    /// New elements from none, or the elements put elsewhere.
    Data,
}

/// One row of the op table: everything that is known about one op.
#[derive(Debug)]
pub struct OpRow {
    /// `ATen`'s name, with the overload where it matters.
    pub name: &'static str,
    /// One sentence: what it computes.
    pub doc: &'static str,
    /// The `tch` methods that spell it; generated code uses the first.
    pub methods: &'static [&'static str],
    /// What kind of work it does.
    pub class: Class,
    /// What it does beside yielding a value.
    pub effect: Effect,
    /// Do both orders of its first two arguments mean the same?
    pub commutative: bool,
    /// Does torch.fx file it under `call_function` rather than `call_method`?
    pub function: bool,
    /// The functional form of an in-place op.
    pub functional: Option<&'static str>,
    /// The variant of the runtime's `Act` that computes it, so that a kernel before it can absorb it.
    pub act: Option<&'static str>,
    /// How one element of the result is written, if it may be part of a group.
    pub scalar: Option<Scalar>,
}

/// How an op is written on elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// A sign between two operands.
    Infix(char),
    /// A function of the op's own name.
    Function,
    /// The same, but of a whole row: the elements along the last axis, of which it asks so many sums or maxima, one after
    /// the other.
    Row(usize),
}

impl Scalar {
    /// Does an element depend on the whole row that it is in?
    pub fn is_row(self) -> bool {
        matches!(self, Self::Row(_))
    }
}

/// The op table, in the order of its rows.
pub fn ops() -> &'static [OpRow] {
    table::ROWS
}

impl OpId {
    /// The op of that name in the table, or the op that the `tch` method of that name means.
    pub fn lookup(name: &str) -> Option<OpId> {
        ops().iter().find(|row| row.name == name).map(OpId::of_row).or_else(|| OpId::of_method(name))
    }

    /// The op that a call of the `tch::Tensor` method `method` means; `f_` before the name makes no difference.
    pub fn of_method(method: &str) -> Option<OpId> {
        let row = |name: &str| ops().iter().find(|row| row.methods.contains(&name)).map(OpId::of_row);
        row(method).or_else(|| {
            let entry = catalog::lookup(method)?;
            Some(row(entry.method).unwrap_or(OpId { name: entry.method, row: None, entry: Some(entry) }))
        })
    }

    fn of_row(row: &'static OpRow) -> OpId {
        let entry = row.methods.first().and_then(|method| catalog::lookup(method));
        OpId { name: row.name, row: Some(row), entry }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Its row in the op table.
    pub fn row(self) -> Option<&'static OpRow> {
        self.row
    }

    /// The `tch` method that generated code calls for it; `None` for an op that only kernels of the runtime compute.
    pub fn method(self) -> Option<&'static str> {
        match self.row {
            Some(row) => row.methods.first().copied(),
            None => Some(self.name),
        }
    }

    /// Its entry in the catalog.
    pub fn entry(self) -> Option<&'static catalog::Entry> {
        self.entry
    }

    /// What it does beside yielding a value.
    pub fn effect(self) -> Effect {
        match (self.row, self.entry) {
            (Some(row), _) => row.effect,
            (None, Some(entry)) if entry.writes() => Effect::InPlace(written(entry)),
            (None, Some(entry)) if entry.flags.has(catalog::Flags::RANDOM) => Effect::Random,
            (None, Some(_)) => Effect::Pure,
            (None, None) => Effect::Io,
        }
    }

    /// May its result share memory with an input?
    pub fn is_view(self) -> bool {
        match self.row {
            Some(row) => row.class == Class::View,
            None => self.entry.is_none_or(|entry| entry.flags.has(catalog::Flags::VIEW)),
        }
    }
}

/// The position of the argument that a method writes to, the receiver being the first.
fn written(entry: &catalog::Entry) -> usize {
    let receiver = usize::from(entry.receiver != catalog::Receiver::Free);
    match entry.params.iter().position(|param| param.is_written) {
        Some(position) if !entry.flags.has(catalog::Flags::WRITES_SELF) => position + receiver,
        _ => 0,
    }
}

impl PartialEq for OpId {
    fn eq(&self, other: &OpId) -> bool {
        self.name == other.name
    }
}

impl Eq for OpId {}

impl PartialOrd for OpId {
    fn partial_cmp(&self, other: &OpId) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OpId {
    fn cmp(&self, other: &OpId) -> Ordering {
        self.name.cmp(other.name)
    }
}

impl Hash for OpId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for OpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for OpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_belongs_to_one_row() {
        let mut seen = std::collections::BTreeMap::new();
        for row in ops() {
            for method in row.methods {
                assert!(seen.insert(method, row.name).is_none(), "`{method}` is in two rows");
            }
        }
    }

    #[test]
    fn every_spelling_is_a_method_of_tch() {
        for method in ops().iter().flat_map(|row| row.methods) {
            assert!(catalog::lookup(method).is_some(), "tch has no `{method}`");
        }
    }

    #[test]
    fn spellings_are_one_op() {
        assert_eq!(OpId::of_method("f_relu"), OpId::of_method("relu"));
        assert_eq!(OpId::of_method("g_add"), OpId::lookup("add"));
        assert_eq!(OpId::of_method("f_add"), OpId::lookup("add"));
        assert_eq!(OpId::lookup("g_add"), OpId::lookup("add"));
        assert_eq!(OpId::of_method("no_such_op"), None);
    }

    #[test]
    fn effects_come_from_the_row_or_the_catalog() {
        let effect = |method| OpId::of_method(method).map(OpId::effect);
        assert_eq!(effect("relu"), Some(Effect::Pure));
        assert_eq!(effect("relu_"), Some(Effect::InPlace(0)));
        assert_eq!(effect("dropout"), Some(Effect::Random));
        assert_eq!(effect("erfinv_"), Some(Effect::InPlace(0)));
    }
}
