//! What the variables of a random program hold.

/// What a variable holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// `Tensor` of the one shape that all share.
    Tensor,
    /// `&Tensor` of that shape.
    Shared,
    /// `&mut Tensor` of that shape.
    Lent,
    /// `Tensor`, a view of another, of whatever shape.
    View,
    /// `Option<Tensor>`.
    Maybe,
    /// `Option<&Tensor>`.
    MaybeShared,
    /// `Vec<Tensor>`.
    List,
    /// `&[Tensor]`.
    Slice,
    /// `&mut Vec<Tensor>`.
    LentList,
    /// `(Tensor, Tensor)`.
    Pair,
    /// A struct of the body's own.
    Held,
    /// `&mut Held`.
    LentHeld,
    /// `i64`.
    Int,
    /// `&mut i64`.
    LentInt,
    /// `f64`.
    Float,
    /// `bool`.
    Bool,
    /// `Option<i64>`.
    MaybeInt,
    /// `Vec<i64>`.
    Ints,
    /// An enum of the body's own.
    Mode,
    /// `BTreeMap<i64, Tensor>`.
    Map,
    /// A closure from `&Tensor` to `Tensor`.
    Closure,
    /// A closure from `i64` to `i64` that writes to what it captures.
    Counter,
    /// An iterator over `&Tensor`.
    Iter,
    /// `&mut Kept`, the state that a caller lends.
    LentKept,
    /// `&Kept`.
    SharedKept,
    /// `Part`, a struct within the state.
    Part,
    /// `&mut Part`.
    LentPart,
    /// `&Part`.
    SharedPart,
    /// `Option<Part>`.
    MaybePart,
    /// `Option<&mut Part>`.
    MaybeLentPart,
    /// `Vec<Part>` of two at least.
    Parts,
    /// `&mut [Part]` of two at least.
    LentParts,
    /// `Vec<Tensor>` of two at least.
    Fixed,
    /// `Option<(Tensor, Tensor)>`.
    MaybePair,
    /// `Vec<Option<(Tensor, Tensor)>>` of three at least.
    Entries,
    /// `&mut Option<Tensor>`.
    LentMaybe,
    /// `Vec<&Tensor>` of two at least.
    References,
    /// `[&Tensor; 2]`.
    ReferenceArray,
    /// `(&Tensor, i64)`.
    ReferencePair,
    /// A struct of a reference.
    Pick,
    /// An enum of references.
    Source,
    /// `BTreeMap<i64, &Tensor>` with the keys 0 and 1 at least.
    ReferenceMap,
    /// `Result<&Tensor, i64>`.
    ReferenceResult,
}

impl Type {
    /// How the type is written.
    pub(super) fn written(self) -> &'static str {
        match self {
            Type::Tensor | Type::View => "Tensor",
            Type::Shared => "&Tensor",
            Type::Lent => "&mut Tensor",
            Type::Maybe => "Option<Tensor>",
            Type::MaybeShared => "Option<&Tensor>",
            Type::List | Type::Fixed => "Vec<Tensor>",
            Type::Slice => "&[Tensor]",
            Type::LentList => "&mut Vec<Tensor>",
            Type::Pair => "(Tensor, Tensor)",
            Type::Held => "Held",
            Type::LentHeld => "&mut Held",
            Type::Int => "i64",
            Type::LentInt => "&mut i64",
            Type::Float => "f64",
            Type::Bool => "bool",
            Type::MaybeInt => "Option<i64>",
            Type::Ints => "Vec<i64>",
            Type::Mode => "Mode",
            Type::Map => "BTreeMap<i64, Tensor>",
            Type::Closure => "impl Fn(&Tensor) -> Tensor",
            Type::Counter => "impl FnMut(i64) -> i64",
            Type::Iter => "impl Iterator<Item = &Tensor>",
            Type::LentKept => "&mut Kept",
            Type::SharedKept => "&Kept",
            Type::Part => "Part",
            Type::LentPart => "&mut Part",
            Type::SharedPart => "&Part",
            Type::MaybePart => "Option<Part>",
            Type::MaybeLentPart => "Option<&mut Part>",
            Type::Parts => "Vec<Part>",
            Type::LentParts => "&mut [Part]",
            Type::MaybePair => "Option<(Tensor, Tensor)>",
            Type::Entries => "Vec<Option<(Tensor, Tensor)>>",
            Type::LentMaybe => "&mut Option<Tensor>",
            Type::References => "Vec<&Tensor>",
            Type::ReferenceArray => "[&Tensor; 2]",
            Type::ReferencePair => "(&Tensor, i64)",
            Type::Pick => "lend::Pick<'_>",
            Type::Source => "lend::Src<'_>",
            Type::ReferenceMap => "BTreeMap<i64, &Tensor>",
            Type::ReferenceResult => "Result<&Tensor, i64>",
        }
    }
}

impl Type {
    /// The places that a variable of the type leads to, `$` being its name.
    pub(super) fn places(self) -> &'static [(&'static str, Type)] {
        match self {
            Type::LentKept | Type::SharedKept => &[
                ("$.h", Type::Tensor),
                ("$.n", Type::Int),
                ("$.f", Type::Float),
                ("$.is", Type::Bool),
                ("$.list", Type::List),
                ("$.fixed", Type::Fixed),
                ("$.ints", Type::Ints),
                ("$.o", Type::Maybe),
                ("$.pair", Type::MaybePair),
                ("$.kvs", Type::Entries),
                ("$.tn.0", Type::Tensor),
                ("$.tn.1", Type::Int),
                ("$.own", Type::Part),
                ("$.parts", Type::Parts),
                ("$.part", Type::MaybePart),
                ("$.row[0]", Type::Tensor),
                ("$.row[1]", Type::Tensor),
            ],
            Type::Part | Type::LentPart | Type::SharedPart => {
                &[("$.k", Type::Tensor), ("$.n", Type::Int), ("$.o", Type::Maybe)]
            }
            Type::Parts | Type::LentParts => &[("$[0]", Type::Part), ("$[1]", Type::Part)],
            Type::LentMaybe => &[("(*$)", Type::Maybe)],
            _ => &[],
        }
    }

    /// Whether it holds references to tensors.
    pub(super) fn is_of_references(self) -> bool {
        matches!(
            self,
            Type::MaybeShared
                | Type::References
                | Type::ReferenceArray
                | Type::ReferencePair
                | Type::Pick
                | Type::Source
                | Type::ReferenceMap
                | Type::ReferenceResult
        )
    }

    /// Whether a variable of it borrows from others.
    pub(super) fn borrows(self) -> bool {
        self.is_of_references() || matches!(self, Type::Shared | Type::Closure | Type::Iter)
    }

    /// Whether what is behind it can be written though the variable itself is not `mut`.
    pub(super) fn lends(self) -> bool {
        matches!(self, Type::LentKept | Type::LentPart | Type::LentParts | Type::LentMaybe)
    }
}
