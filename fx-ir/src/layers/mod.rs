//! What is known of a layer of the runtime's `nn`: its row in the layer table.
//!
//! A row says which functions make the layer, which fields it has, which op it computes, and what passes may make of it. What
//! its op's row says (rank, dtype, samples) it says of the layer, unless the layer's own row says otherwise. Whatever else
//! wants to know something of a layer asks here: the tracer, rules, passes and the printer of graphs.

mod table;

use crate::ops::{DtypeRule, OpRow, RankRule, SamplesRule};
use crate::{Effect, ModuleKind, OpId};
pub use table::*;

/// One row of the layer table: everything that is known about one layer.
#[derive(Debug)]
pub struct LayerRow {
    /// The type's name in `nn`.
    pub name: &'static str,
    /// The functions of `nn` that make it.
    pub constructors: &'static [Constructor],
    /// The configuration that they take.
    pub takes: Option<Config>,
    /// The public fields that rules and models may read.
    pub fields: &'static [Field],
    /// The op that it computes on its input.
    pub op: Option<OpId>,
    /// What a layer that is known at freeze time becomes.
    pub lowering: Lowering,
    /// What its result has of its input.
    pub passes: Passes,
    /// What its forward does in training beside yielding a value.
    pub training: Effect,
    /// The type of the state that it hands from call to call, in `nn`.
    pub state: Option<&'static str>,
    /// Whether it is a container that applies its layers one after the other.
    pub is_chain: bool,
    rank: Option<RankRule>,
    dtype: Option<DtypeRule>,
    samples: Option<SamplesRule>,
}

/// A function of `nn` that makes a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constructor {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub params: &'static [&'static str],
    /// Of a function that makes several layers: it makes this one where the parameter of that name is an array of that length.
    pub when: Option<(&'static str, usize)>,
}

/// A field of a layer or of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name in Rust.
    pub name: &'static str,
    /// What it holds.
    pub ty: FieldType,
    /// The name of a tensor in PyTorch's `state_dict`.
    pub saved: Option<&'static str>,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// A tensor.
    Tensor,
    /// A tensor that the layer may be built without.
    OptTensor,
    /// A value of this type of Rust.
    Rust(&'static str),
    /// A configuration with fields of its own.
    Config(Config),
}

/// A struct of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Its name in `nn`.
    pub name: &'static str,
    /// Its fields that are plain values.
    pub fields: &'static [Field],
}

/// What a layer becomes that is known at freeze time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lowering {
    /// It stays a layer.
    Stays,
    /// Its op on its input alone.
    ToOp,
    /// Its op on its input, its tensors and, of a convolution, what its configuration says.
    OnWeights,
    /// It stays, and a kernel before it can absorb it as the activation that `function` of the runtime makes of `field`.
    Absorbed {
        /// A function of the runtime.
        function: &'static str,
        /// A field of the layer.
        field: &'static str,
    },
}

/// What the result of a layer has of its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passes {
    /// Memory of its own.
    Nothing,
    /// Perhaps its memory, under other sizes.
    Memory,
    /// In inference it is the input.
    Input,
}

impl LayerRow {
    /// The layer that has this type name.
    pub fn of_type(name: &str) -> Option<&'static LayerRow> {
        layers().iter().copied().find(|row| row.name == name)
    }

    /// The layer that the function `nn::name` makes, if it is one layer whatever it is given.
    pub fn of_constructor(name: &str) -> Option<&'static LayerRow> {
        let makes = |function: &Constructor| function.name == name && function.when.is_none();
        layers().iter().copied().find(|row| row.constructors.iter().any(makes))
    }

    /// The layers that the function `nn::name` makes by the length of an argument, each with the argument's position and
    /// the length.
    pub fn by_length(name: &str) -> impl Iterator<Item = (&'static LayerRow, usize, usize)> {
        layers().iter().copied().flat_map(move |row| {
            row.constructors.iter().filter(move |function| function.name == name).filter_map(move |function| {
                let (param, length) = function.when?;
                let position = function.params.iter().position(|name| *name == param)?;
                Some((row, position, length))
            })
        })
    }

    /// Its field of that name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Its tensors, in the order in which its op takes them.
    pub fn tensors(&self) -> impl Iterator<Item = (&'static Field, &'static str)> {
        self.fields.iter().filter_map(|field| Some((field, field.saved?)))
    }

    /// The op that it is, of its input alone.
    pub fn as_op(&self) -> Option<OpId> {
        self.op.filter(|_| self.lowering == Lowering::ToOp)
    }

    /// How many axes its result has, by those of its input.
    pub fn rank_rule(&self) -> RankRule {
        self.rule(self.rank, |op| op.rank, RankRule::Any)
    }

    /// Which dtype its result has, by that of its input.
    pub fn dtype_rule(&self) -> DtypeRule {
        self.rule(self.dtype, |op| op.dtype, DtypeRule::Any)
    }

    /// What becomes of the samples of a batch.
    pub fn samples_rule(&self) -> SamplesRule {
        self.rule(self.samples, |op| op.samples, SamplesRule::Mixes)
    }

    fn rule<R>(&self, own: Option<R>, of_op: impl Fn(&OpRow) -> R, unknown: R) -> R {
        own.or_else(|| self.op?.row().map(of_op)).unwrap_or(unknown)
    }
}

impl PartialEq for LayerRow {
    fn eq(&self, other: &LayerRow) -> bool {
        self.name == other.name
    }
}

impl Eq for LayerRow {}

impl Config {
    /// The configuration of that name.
    pub fn of_type(name: &str) -> Option<Config> {
        layers().iter().copied().filter_map(|row| row.takes).find(|config| config.name == name)
    }

    /// Its field of that name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl ModuleKind {
    /// The layer's row; none for a type that is no layer of `nn`.
    pub fn row(&self) -> Option<&'static LayerRow> {
        LayerRow::of_type(&self.0)
    }

    /// Returns whether it is this layer.
    pub fn is(&self, row: &LayerRow) -> bool {
        self.0 == row.name
    }

    /// Returns whether the layer's result may be its input itself.
    pub fn passes_input(&self) -> bool {
        self.row().is_some_and(|row| row.passes != Passes::Nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_belongs_to_one_row() {
        let mut seen = std::collections::BTreeSet::new();
        for row in layers() {
            assert!(seen.insert(row.name), "{}", row.name);
            for function in row.constructors.iter().filter(|function| function.when.is_none()) {
                assert!(seen.insert(function.name), "`{}` makes two layers", function.name);
            }
        }
    }

    #[test]
    fn rules_ask_for_the_input_alone() {
        for row in layers() {
            assert!(matches!(row.rank_rule(), RankRule::Any | RankRule::Same | RankRule::AtLeast(_)), "{}", row.name);
            assert_ne!(row.dtype_rule(), DtypeRule::Promotes, "{}", row.name);
        }
    }

    #[test]
    fn what_computes_an_op_names_it() {
        for row in layers() {
            assert!(row.op.is_some() || !matches!(row.lowering, Lowering::ToOp | Lowering::OnWeights), "{}", row.name);
            if let Lowering::Absorbed { field, .. } = row.lowering {
                assert!(row.field(field).is_some(), "{}", row.name);
            }
        }
    }

    #[test]
    fn a_function_that_makes_several_layers_says_which_one() {
        let made: Vec<_> = LayerRow::by_length("conv").map(|(row, at, length)| (row.name, at, length)).collect();
        assert_eq!(made, [("Conv1D", 3, 1), ("Conv2D", 3, 2), ("Conv3D", 3, 3)]);
        assert_eq!(LayerRow::of_constructor("conv"), None);
        assert_eq!(LayerRow::of_constructor("conv2d"), LayerRow::of_type("Conv2D"));
    }
}
