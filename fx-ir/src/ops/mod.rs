//! What is known of an op: its row in the op table if it has one, and else its entry in the catalog.
//!
//! The table is deep and short, the catalog broad and shallow. An op is named as `ATen` names it; the `tch` methods
//! that spell it (`&a + &b`, `a.g_add(&b)`) are one op, so a pass never sees a spelling.

pub mod formula;
pub mod group;
mod rules;
mod table;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

use crate::{Effect, Type, catalog};
use formula::{Step, Tape};
pub use rules::{Cost, DtypeRule, Quantization, Rank, RankRule, SamplesRule};
pub use table::{formulas, known::*};

/// Names an op: `relu`, `add`, `convolution`. Two spellings of one op have one id. The ops of the table are constants of
/// this module, which patterns can name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct OpId(Place);

/// Where an op is described.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    /// At that position in the op table.
    Table(u16),
    /// At that position in the catalog.
    Catalog(u16),
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
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own, none a mode")]
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
    /// Whether both orders of its first two arguments mean the same.
    pub commutative: bool,
    /// Whether torch.fx files it under `call_function` rather than `call_method`.
    pub function: bool,
    /// The module of Python in which a function lies.
    pub python: &'static str,
    /// The functional form of an in-place op.
    pub functional: Option<&'static str>,
    /// The activation of the runtime that computes it, so that a kernel before it can absorb it.
    pub act: Option<Activation>,
    /// How one element of the result is written, if it may be part of a group.
    pub scalar: Option<Scalar>,
    /// Writes the formula of one element down, if it has one.
    steps: Option<Steps>,
    /// How many axes the result has.
    pub rank: RankRule,
    /// Which dtype the result has.
    pub dtype: DtypeRule,
    /// Whether it depends on the order of the elements in memory.
    pub reads_strides: bool,
    /// What becomes of the samples of a batch.
    pub samples: SamplesRule,
    /// Whether its result may be quantized, and by which observer.
    pub quantization: Quantization,
    /// Whether the runtime has a function of the op's name that chooses a kernel for it.
    pub has_kernels: bool,
}

/// Writes a formula down.
type Steps = fn(&Tape);

impl OpRow {
    /// The formula of one element as steps; none of an op without.
    pub fn formula(&self) -> Option<Vec<Step>> {
        let tape = Tape::default();
        self.steps?(&tape);
        Some(tape.into_steps())
    }

    /// Returns whether an element takes many times as long as a product.
    pub fn is_costly(&self) -> bool {
        let is_costly = |step: &Step| matches!(step, Step::Unary(function, _) if function.is_costly());
        self.formula().is_some_and(|steps| steps.iter().any(is_costly))
    }

    /// What it costs by itself.
    pub fn cost(&self) -> Cost {
        let is_operation = |step: &&Step| !matches!(step, Step::Tensor(_) | Step::Number(_) | Step::Constant(_));
        let operations =
            |steps: Vec<Step>| u32::try_from(steps.iter().filter(is_operation).count()).unwrap_or(u32::MAX);
        match self.class {
            Class::Pointwise => Cost::PerResult(self.formula().map_or(1, operations)),
            Class::View => Cost::Free,
            Class::Data => Cost::Moves,
            Class::Contraction => Cost::Contracts,
            Class::Reduction => Cost::PerInput(1),
            // Two sums, and a product and a sum with weight and bias.
            Class::Normalization => Cost::PerInput(5),
        }
    }
}

/// The variant of the runtime's `Activation` that computes an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// That variant, if the op has no argument but its tensor.
    Plain(&'static str),
    /// The variant that stands beside the formula's name, which is the second argument.
    ByFormula(&'static [(&'static str, &'static str)]),
    /// That variant, of the bounds that are the second and the third argument.
    ByBounds(&'static str),
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
    /// Whether an element depends on the whole row that it is in.
    pub fn is_row(self) -> bool {
        matches!(self, Self::Row(_))
    }
}

/// The op table, in the order of its rows.
pub fn ops() -> &'static [OpRow] {
    table::ROWS
}

/// The ops by the names of rows, and by the methods that spell them.
struct Names {
    rows: HashMap<&'static str, OpId>,
    methods: HashMap<&'static str, OpId>,
}

fn names() -> &'static Names {
    static NAMES: OnceLock<Names> = OnceLock::new();
    NAMES.get_or_init(|| {
        let ids = || (0..).map(OpId::of_index).zip(ops());
        Names {
            rows: ids().map(|(id, row)| (row.name, id)).collect(),
            methods: ids().flat_map(|(id, row)| row.methods.iter().map(move |&method| (method, id))).collect(),
        }
    })
}

impl OpId {
    const fn of_index(index: u16) -> OpId {
        OpId(Place::Table(index))
    }

    /// The op of that name in the table, or the op that the `tch` method of that name means.
    pub fn lookup(name: &str) -> Option<OpId> {
        names().rows.get(name).copied().or_else(|| OpId::of_method(name))
    }

    /// The op that a call of the `tch::Tensor` method `method` means; `f_` before the name makes no difference.
    pub fn of_method(method: &str) -> Option<OpId> {
        let row = |name: &str| names().methods.get(name).copied();
        row(method).or_else(|| {
            let position = catalog::position(method)?;
            let of_entry = || u16::try_from(position).ok().map(|position| OpId(Place::Catalog(position)));
            row(catalog::entries().get(position)?.method).or_else(of_entry)
        })
    }

    /// Returns whether a call of the `tch` method of that name means it.
    pub fn is_spelled(self, method: &str) -> bool {
        OpId::of_method(method) == Some(self)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self.0 {
            Place::Table(index) => table::ROWS[index as usize].name,
            Place::Catalog(position) => catalog::entries()[position as usize].method,
        }
    }

    /// Its row in the op table.
    pub fn row(self) -> Option<&'static OpRow> {
        match self.0 {
            Place::Table(index) => ops().get(usize::from(index)),
            Place::Catalog(_) => None,
        }
    }

    /// Whether torch.fx files it under `call_function`: as its row says, and of an op without one if no tensor is its receiver.
    pub fn is_function(self) -> bool {
        let is_free = || self.entry().is_some_and(|entry| entry.receiver == catalog::Receiver::Free);
        self.row().map_or_else(is_free, |row| row.function)
    }

    /// The type of its value, as far as its signature says: a tensor, a tuple or a list of tensors.
    pub fn result_type(self) -> Type {
        use catalog::Results;
        match self.entry().map(|entry| entry.results) {
            Some(Results::Tensors(count)) => Type::Tuple(vec![Type::TENSOR; usize::from(count)]),
            Some(Results::TensorList) => Type::List(Box::new(Type::TENSOR)),
            _ => Type::TENSOR,
        }
    }

    /// The `tch` method that generated code calls for it; `None` for an op that only kernels of the runtime compute.
    pub fn method(self) -> Option<&'static str> {
        match self.row() {
            Some(row) => row.methods.first().copied(),
            None => Some(self.name()),
        }
    }

    /// Its entry in the catalog.
    pub fn entry(self) -> Option<&'static catalog::Entry> {
        match self.0 {
            Place::Table(_) => self.row()?.methods.first().and_then(|method| catalog::lookup(method)),
            Place::Catalog(position) => catalog::entries().get(usize::from(position)),
        }
    }

    /// What it does beside yielding a value.
    pub fn effect(self) -> Effect {
        if let Some(row) = self.row() {
            return row.effect;
        }
        match self.entry() {
            Some(entry) if entry.writes() => Effect::InPlace(written(entry)),
            Some(entry) if entry.flags.has(catalog::Flags::RANDOM) => Effect::Random,
            Some(_) => Effect::Pure,
            None => Effect::Io,
        }
    }

    /// Whether its result may share memory with an input.
    pub fn is_view(self) -> bool {
        match self.row() {
            Some(row) => row.class == Class::View,
            None => self.entry().is_none_or(|entry| entry.flags.has(catalog::Flags::VIEW)),
        }
    }

    /// Whether it costs next to nothing, and has no result where the sizes or the positions that it is given do not fit.
    pub fn may_not_fit(self) -> bool {
        const BY_SIZES: [OpId; 6] = [VIEW, RESHAPE, EXPAND, AS_STRIDED, UNFLATTEN, SPLIT_WITH_SIZES];
        const BY_POSITIONS: [OpId; 3] = [NARROW, SELECT, GET];
        BY_SIZES.contains(&self) || BY_POSITIONS.contains(&self)
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

impl PartialOrd for OpId {
    fn partial_cmp(&self, other: &OpId) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OpId {
    fn cmp(&self, other: &OpId) -> Ordering {
        self.name().cmp(other.name())
    }
}

impl fmt::Debug for OpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for OpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
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
    fn a_row_says_what_the_catalog_says() {
        for (index, row) in (0..).zip(ops()) {
            let Some(entry) = OpId::of_index(index).entry() else { continue };
            let effect = match entry {
                entry if entry.writes() => Effect::InPlace(written(entry)),
                entry if entry.flags.has(catalog::Flags::RANDOM) => Effect::Random,
                _ => Effect::Pure,
            };
            assert_eq!(row.effect, effect, "{}", row.name);
            if entry.flags.has(catalog::Flags::VIEW) {
                assert_eq!(row.class, Class::View, "{}", row.name);
            }
            if let Some(functional) = row.functional {
                assert!(OpId::lookup(functional).is_some(), "{}", row.name);
            }
        }
    }

    #[test]
    fn constants_are_patterns() {
        let found = OpId::of_method("f_relu").map(|op| match op {
            RELU | RELU6 => "an activation",
            ADD_SCALAR => "a sum",
            _ => "another",
        });
        assert_eq!(found, Some("an activation"));
        assert_eq!(ADD_SCALAR.name(), "add.Scalar");
    }

    #[test]
    fn formulas_are_data() {
        use formula::{Binary, Unary};
        let formula = |op: OpId| op.row().and_then(OpRow::formula).unwrap_or_default();
        assert_eq!(formula(RELU), [Step::Tensor(0), Step::Constant(0.0), Step::Binary(Binary::AtLeast, 0, 1)]);
        let silu = [
            Step::Tensor(0),
            Step::Unary(Unary::Negative, 0),
            Step::Unary(Unary::PowerOfE, 1),
            Step::Constant(1.0),
            Step::Binary(Binary::Sum, 2, 3),
            Step::Binary(Binary::Quotient, 0, 4),
        ];
        assert_eq!(formula(SILU), silu);
        let costly = [SILU, RELU, CLAMP, GELU, SQRT].map(|op| op.row().is_some_and(OpRow::is_costly));
        assert_eq!(costly, [true, false, false, true, false]);
        assert_eq!(SILU.row().map(OpRow::cost), Some(Cost::PerResult(4)));
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
