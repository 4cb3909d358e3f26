//! A rule as data: what `fx_pass!` expands to.
//!
//! Everything here can be written in a `static`, so a pass costs nothing until it runs. Names of ops are canonical
//! already (`mul.Scalar`, never `g_mul_scalar`); captures are numbers into [`Rule::captures`].

use fx_ir::Type;

use super::{Argument, Found, Operator};

/// One rewrite: wherever [`Rule::before`] is found and every guard holds, [`Rule::after`] takes its place.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name: that of its pass, or what the user wrote before the rule.
    pub name: &'static str,
    /// The text of the rule's own doc comment.
    pub doc: &'static str,
    /// The rule as it was written.
    pub text: Text,
    /// The captures of the pattern, in the order of declaration; those that `let` names come last.
    pub captures: &'static [Capture],
    /// The pattern: one term for each output.
    pub before: &'static [Term],
    /// Conditions beside the pattern, in order.
    pub guards: &'static [Guard],
    /// Arguments that Rust computes from literals.
    pub computed: &'static [fn(&Found<'_>) -> Argument],
    /// Values that the replacement names by `let`; a later one may read an earlier one.
    pub lets: &'static [Let],
    /// The replacement: one value for each output.
    pub after: &'static [Template],
}

/// A rule in the words of its author.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// The pattern.
    pub before: &'static str,
    /// The replacement.
    pub after: &'static str,
    /// The guards, empty if there are none.
    pub guard: &'static str,
}

/// Something that a pattern binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Its name.
    pub name: &'static str,
    /// The kind of value that it can be bound to.
    pub kind: Kind,
}

/// The kinds of values that a capture can be bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any value, literals included.
    Value,
    /// A tensor.
    Tensor,
    /// A number that is written in the source, read as a float.
    Float,
    /// An integer that is written in the source.
    Int,
    /// `true` or `false`, written in the source.
    Bool,
    /// A list of integers that is written in the source.
    Ints,
    /// A list of tensors.
    Tensors,
    /// A layer of this type.
    Module(&'static str),
}

/// A part of a pattern.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Term {
    /// `_`: anything.
    Any,
    /// A capture; the second time it must be the same value.
    Capture(usize),
    /// `bias?`: a capture that may be absent.
    Optional(usize),
    /// An integer, or a float of that value.
    Int(i64),
    /// A float, or an integer of that value.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A string.
    Str(&'static str),
    /// `None`.
    Absent,
    /// A Rust path by its last two segments: `Kind::Float`.
    Path(&'static str),
    /// A list of as many items; of any number where one of them is `Rest`, `RestOf` or `Repeat`.
    List(&'static [Term]),
    /// `..`: the items of a list that are left, be there any or none.
    Rest,
    /// `..rest`: the same, bound to the capture.
    RestOf(usize),
    /// `part..`: at least one item, and each is this.
    Repeat(&'static Term),
    /// A capture in a repeated part: what it is bound to in each, as a list.
    Collect(usize),
    /// An op with arguments by position; an argument that is not listed has to be the default.
    Call(&'static str, &'static [Param]),
    /// `a + b` of two tensors, or of a tensor and a number.
    Operator(Operator, &'static [Term; 2]),
    /// A layer, bound to the capture, called on these arguments.
    Module(usize, &'static [Term]),
    /// A field of a layer: `bn.config.eps`.
    Field(usize, &'static [&'static str]),
    /// One of several.
    Either(&'static [Term]),
    /// A term whose value the capture is bound to: `let s = ..`.
    Named(usize, &'static Term),
}

/// An argument of an op in a pattern.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// Its position, the receiver being 0.
    pub position: usize,
    /// Its name in the op's schema.
    pub name: &'static str,
    /// The term that it has to match.
    pub term: Term,
}

/// A part of a replacement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Template {
    /// The value that a capture is bound to.
    Capture(usize),
    /// The value of a `let`.
    Let(usize),
    /// A part of the tuple that a `let` is bound to.
    Part(usize, usize),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A string.
    Str(&'static str),
    /// `None`.
    Absent,
    /// A Rust path: `::fx_runtime::Kind::Float`.
    Path(&'static str),
    /// A list.
    List(&'static [Template]),
    /// The items of a captured list, in a list.
    Splice(usize),
    /// An op with all its arguments.
    Call(&'static str, &'static [Template]),
    /// `a + b`, of tensors, numbers or both.
    Operator(Operator, &'static [Template; 2]),
    /// `-x`, of a tensor or a number.
    Neg(&'static Template),
    /// A layer called on these arguments.
    Module(usize, &'static [Template]),
    /// A field of a layer, and what each step of the path yields.
    Field(usize, &'static [(&'static str, FieldType)]),
    /// A tensor that a layer may lack, or else another one.
    Or(&'static [Template; 2]),
    /// The argument of that number in [`Rule::computed`].
    Computed(usize),
    /// A host operation, which Rust in the replacement is.
    Host(HostCall),
    /// A host operation in the argument of another, by its name, what it carries and what it is applied to.
    Expr(&'static str, &'static [&'static str], &'static [Template]),
    /// Rust that is no host operation, with `$n` for the n-th part: it is carried as text.
    Rust(Rust),
}

/// A host operation in a replacement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostCall {
    /// Its name in the table of host operations.
    pub name: &'static str,
    /// What it carries beside its arguments.
    pub words: &'static [&'static str],
    /// Its operands.
    pub args: &'static [Template],
    /// Whether it is a `Result`.
    pub fallible: bool,
    /// What it yields.
    pub yields: Yields,
}

/// Rust in a replacement that is no host operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rust {
    /// The source, with `$n` for the n-th argument.
    pub template: &'static str,
    /// What the source is.
    pub form: RustForm,
    /// The values that the holes stand for.
    pub args: &'static [Template],
    /// Whether it evaluates to a `Result`.
    pub fallible: bool,
    /// What it yields.
    pub yields: Yields,
}

/// What Rust in a replacement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RustForm {
    /// An expression that stands where a value may.
    Value,
    /// An expression that is a reference.
    Reference,
    /// A block.
    Block,
}

/// The result of Rust in a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yields {
    /// A tensor, or a tuple of several.
    Tensors(usize),
    /// A value of this Rust type.
    Rust(&'static str),
}

impl Yields {
    /// What Rust of that type yields in a replacement.
    pub(super) fn of_type(ty: &Type) -> Yields {
        match ty {
            Type::Tuple(parts) => Yields::Tensors(parts.len()),
            Type::Rust(spelling) => Yields::Rust(String::leak(spelling.clone())),
            _ => Yields::Tensors(1),
        }
    }
}

/// A value that a replacement names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Let {
    /// Its name, or those of its parts.
    pub names: &'static [&'static str],
    /// The value.
    pub value: Template,
}

/// The type of a layer's field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// A tensor.
    Tensor,
    /// A tensor or nothing.
    OptTensor,
    /// Another Rust type.
    Rust(&'static str),
}

/// A condition beside the pattern.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    /// As it was written.
    pub text: &'static str,
    /// Returns whether the condition holds.
    pub holds: fn(&Found<'_>) -> bool,
}

impl Rule {
    /// The ops and layers that a node may be for the rule to be tried there.
    pub(super) fn heads(&self) -> Vec<Head> {
        let mut heads = Vec::new();
        if let Some(first) = self.before.first() {
            self.heads_of(first, &mut heads);
        }
        heads
    }

    fn heads_of(&self, term: &Term, heads: &mut Vec<Head>) {
        match term {
            Term::Call(op, _) => heads.push(Head::Op(op)),
            Term::Operator(operator, _) => heads.extend(operator.ops().map(|op| Head::Op(op.name()))),
            Term::Module(capture, _) => {
                if let Kind::Module(kind) = self.captures[*capture].kind {
                    heads.push(Head::Module(kind));
                }
            }
            Term::Either(terms) => terms.iter().for_each(|term| self.heads_of(term, heads)),
            Term::Named(_, term) => self.heads_of(term, heads),
            _ => {}
        }
    }
}

/// The op or layer of a node, by which rules are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Head {
    Op(&'static str),
    Module(&'static str),
}

impl Term {
    /// The number of ops on the longest way down.
    pub(super) fn depth(&self) -> usize {
        let deepest = |terms: &[Term]| terms.iter().map(Term::depth).max().unwrap_or(0);
        match self {
            Term::Call(_, params) => 1 + params.iter().map(|param| param.term.depth()).max().unwrap_or(0),
            Term::Operator(_, terms) => 1 + deepest(*terms),
            Term::Module(_, terms) => 1 + deepest(terms),
            Term::Either(terms) | Term::List(terms) => deepest(terms),
            Term::Named(_, term) | Term::Repeat(term) => term.depth(),
            _ => 0,
        }
    }
}
