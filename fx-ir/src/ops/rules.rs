//! The rules that a row of the op table refers to, and what they say of a node.
//!
//! A rule is data: which arguments decide, and how. The same rule serves the compile-time passes and the runtime.

use crate::Arg;

/// The least and the most axes that a tensor may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// At least so many.
    pub least: usize,
    /// At most so many, if there is a bound.
    pub most: Option<usize>,
}

impl Rank {
    /// Nothing is known.
    pub const ANY: Rank = Rank { least: 0, most: None };

    /// So many axes.
    pub const fn exactly(axes: usize) -> Rank {
        Rank { least: axes, most: Some(axes) }
    }

    /// So many axes or more.
    pub const fn at_least(axes: usize) -> Rank {
        Rank { least: axes, most: None }
    }

    fn with(self, change: impl Fn(usize) -> usize) -> Rank {
        Rank { least: change(self.least), most: self.most.map(change) }
    }

    /// The rank of tensors that broadcast with each other.
    fn broadcast(self, other: Rank) -> Rank {
        let most = self.most.zip(other.most).map(|(a, b)| a.max(b));
        Rank { least: self.least.max(other.least), most }
    }
}

/// How many axes the result of an op has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankRule {
    /// Nothing is known.
    Any,
    /// As many as the first argument.
    Same,
    /// So many.
    Exactly(usize),
    /// So many or more.
    AtLeast(usize),
    /// As many as the list in the second argument is long.
    Listed,
    /// One less than the first argument.
    Drops,
    /// One more than the first argument.
    Adds,
    /// As many as the first so many arguments, which broadcast.
    Broadcast(usize),
}

impl RankRule {
    /// The rank of the result of these arguments; `of` tells the rank of one.
    pub fn apply(self, args: &[Arg], of: impl Fn(&Arg) -> Rank) -> Rank {
        let input = |position: usize| args.get(position).map_or(Rank::ANY, &of);
        match self {
            RankRule::Any => Rank::ANY,
            RankRule::Same => input(0),
            RankRule::Exactly(axes) => Rank::exactly(axes),
            RankRule::AtLeast(axes) => Rank::at_least(axes),
            RankRule::Listed => match args.get(1) {
                Some(Arg::List(sizes)) => Rank::exactly(sizes.len()),
                _ => Rank::ANY,
            },
            RankRule::Drops => input(0).with(|axes| axes.saturating_sub(1)),
            RankRule::Adds => input(0).with(|axes| axes + 1),
            RankRule::Broadcast(count) => (1..count).fold(input(0), |rank, at| rank.broadcast(input(at))),
        }
    }
}

/// Which dtype the result of an op has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DtypeRule {
    /// Nothing is known.
    Any,
    /// A floating-point one, whatever the arguments hold.
    Float,
    /// `bool`.
    Bool,
    /// That of the first argument.
    Same,
    /// That to which the first two arguments are promoted.
    Promotes,
}

impl DtypeRule {
    /// Returns whether the result holds floats for certain; `input` tells that of the argument at a position.
    pub fn is_float(self, input: impl Fn(usize) -> bool) -> bool {
        match self {
            DtypeRule::Any | DtypeRule::Bool => false,
            DtypeRule::Float => true,
            DtypeRule::Same => input(0),
            DtypeRule::Promotes => input(0) || input(1),
        }
    }
}

/// What an op does with the first axis of its first argument, along which the samples of a batch lie. Where a rule holds,
/// the result of a part of the samples is the same part of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SamplesRule {
    /// It may mix them.
    Mixes,
    /// It works element by element on arguments that have the same samples or none.
    Pointwise,
    /// It keeps them apart, and the rank too.
    Keeps,
    /// It keeps them apart if they are images: batch, channels, height and width.
    KeepsImages,
    /// The same, and it is a convolution.
    Convolves,
    /// A matrix product of two batches, or of a batch and a fixed matrix.
    Multiplies,
    /// It joins tensors along the axis in the second argument.
    Joins,
    /// It gives them the sizes in the second argument.
    Reshapes,
    /// It makes all axes but the first one.
    FlattensRest,
    /// It makes one axis of those between its second and third argument.
    Flattens,
    /// It exchanges the axes in its second and third argument.
    Transposes,
    /// It orders the axes as its second argument lists them.
    Permutes,
    /// It works along the axis in the second argument, which stays.
    Along,
    /// It works along the axis in the second argument, which goes.
    Drops,
    /// It adds an axis where the second argument says.
    Adds,
    /// It reduces the axes that the second argument lists.
    Reduces,
    /// It cuts along the axis in the third argument.
    Splits,
}

/// What an op costs where nothing is fused: how often it computes, and on how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// It computes nothing and moves nothing: other sizes or strides.
    Free,
    /// It moves elements and computes nothing.
    Moves,
    /// So many operations for each element of the result.
    PerResult(u32),
    /// So many operations for each element of the first argument.
    PerInput(u32),
    /// Two operations for each element of the result and each element of the contracted axes.
    Contracts,
}

impl Cost {
    /// Floating-point operations, from the elements of the first argument and of the result, and from how many products
    /// are summed for one element of the result.
    pub fn flops(self, input: u64, result: u64, contracted: u64) -> u64 {
        match self {
            Cost::Free | Cost::Moves => 0,
            Cost::PerResult(operations) => result * u64::from(operations),
            Cost::PerInput(operations) => input * u64::from(operations),
            Cost::Contracts => 2 * result * contracted,
        }
    }

    /// Bytes read and written, from those of all arguments and of the result.
    pub fn bytes(self, arguments: u64, result: u64) -> u64 {
        if self == Cost::Free { 0 } else { arguments + result }
    }
}

/// Whether the result of an op may be quantized, and which observer sees it.
///
/// Source: `ObservationType` and the patterns of `torch.ao.quantization.backend_config` in torch 2.11, and the operators
/// with fixed parameters of `qconfig_mapping.py`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantization {
    /// It is computed on floats, and so is what reads it.
    Floats,
    /// An observer of its own: `OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT`.
    Own,
    /// The same, and its second argument, the weight, is quantized as well: a sum of products of integers.
    Weighted,
    /// The observer of its input, whose integers it moves, selects or averages: `OUTPUT_SHARE_OBSERVER_WITH_INPUT`. All
    /// tensors of a list have one observer.
    Shares,
    /// No observer: whatever it is given, its result lies between two numbers.
    Within {
        /// The smallest result.
        low: f32,
        /// The largest result.
        high: f32,
    },
}
