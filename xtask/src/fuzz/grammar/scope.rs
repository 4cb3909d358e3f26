//! What a place in a random program can name: the variables in scope, and who lends what from whom.

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
        }
    }
}

impl Type {
    /// The places that a variable of the type leads to, `$` being its name.
    fn places(self) -> &'static [(&'static str, Type)] {
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

    /// Whether what is behind it can be written though the variable itself is not `mut`.
    fn lends(self) -> bool {
        matches!(self, Type::LentKept | Type::LentPart | Type::LentParts | Type::LentMaybe)
    }
}

/// A variable of the program, or a place that one leads to.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    /// Its place in the scope, which never changes.
    pub(super) at: usize,
    /// How the program calls it.
    pub(super) name: String,
    pub(super) ty: Type,
    /// Whether it is declared `mut`.
    pub(super) is_mut: bool,
    /// Whether a statement declares it, not the signature.
    pub(super) is_local: bool,
    /// How many loops and closures stand around its declaration.
    pub(super) depth: usize,
    /// How many elements it has at least, if it is a list.
    pub(super) filled: usize,
    /// The variables that it borrows from.
    borrows: Vec<usize>,
    /// The variable that alone may write to it.
    holder: Option<usize>,
    /// Whether it was moved: nothing may name it.
    is_gone: bool,
    /// The variable that it is a part of.
    part_of: Option<usize>,
}

/// The variables of one function, innermost last.
#[derive(Default)]
pub(super) struct Scope {
    variables: Vec<Variable>,
    /// How many loops and closures stand around this place.
    pub(super) depth: usize,
}

impl Scope {
    /// A new variable, which hides those of its name.
    pub(super) fn declare(&mut self, name: &str, ty: Type, is_mut: bool) -> usize {
        let at = self.variables.len();
        let (name, depth) = (name.to_owned(), self.depth);
        let variable = Variable {
            at,
            name,
            ty,
            is_mut,
            is_local: true,
            depth,
            filled: 0,
            borrows: Vec::new(),
            holder: None,
            is_gone: false,
            part_of: None,
        };
        self.variables.push(variable);
        for (place, part) in ty.places() {
            let name = place.replace('$', &self.variables[at].name);
            let part = self.declare(&name, *part, is_mut || ty.lends());
            self.variables[part].part_of = Some(at);
            // Nothing is moved out of what lies there.
            self.variables[part].depth = usize::MAX;
        }
        at
    }

    /// The variables that this one is a part of, innermost first.
    fn owners(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(at), |at| self.variables.get(*at).and_then(|one| one.part_of))
    }

    /// Whether something alone may write to it.
    fn is_held(&self, at: usize) -> bool {
        self.variables[at].holder.is_some_and(|by| self.variables.get(by).is_some_and(|by| !by.is_gone))
    }

    /// The same for a parameter.
    pub(super) fn parameter(&mut self, name: &str, ty: Type, is_mut: bool) {
        let at = self.declare(name, ty, is_mut);
        self.variables[at].is_local = false;
    }

    /// A place that is there without a variable of its own.
    pub(super) fn place(&mut self, name: &str, ty: Type) {
        let at = self.declare(name, ty, true);
        self.variables[at].depth = usize::MAX;
    }

    /// Says that variable `at` borrows from those whose names `text` mentions.
    pub(super) fn borrow(&mut self, at: usize, text: &str) {
        let from = self.variables[..at].iter().filter(|variable| self.is_hidden_at(variable.at, at).is_none());
        let from = from.filter(|variable| mentions(text, &variable.name)).map(|variable| variable.at).collect();
        self.variables[at].borrows = from;
    }

    /// A variable between `of` and `before` that hides it.
    fn is_hidden_at(&self, of: usize, before: usize) -> Option<usize> {
        let owner = self.owners(of).last().unwrap_or(of);
        (of + 1..before).find(|&later| self.variables[later].name == self.variables[owner].name)
    }

    /// Ends the scope of all variables from `mark` on.
    pub(super) fn leave(&mut self, mark: usize) {
        self.variables.truncate(mark);
    }

    /// Where a new scope begins.
    pub(super) fn mark(&self) -> usize {
        self.variables.len()
    }

    /// What can be named here.
    pub(super) fn visible(&self) -> impl Iterator<Item = &Variable> {
        let end = self.variables.len();
        let held: Vec<usize> = (0..end).filter(|&at| self.is_held(at)).flat_map(|at| self.owners(at)).collect();
        let is_free = |at: usize| !self.variables[at].is_gone && !self.is_held(at);
        let is_named = move |one: &Variable| self.is_hidden_at(one.at, end).is_none();
        let is_left = move |one: &Variable| !held.contains(&one.at) && self.owners(one.at).all(is_free);
        self.variables.iter().filter(move |one| is_left(one) && is_named(one))
    }

    /// From here on `of` is written through `by` alone, until that is gone.
    pub(super) fn hold(&mut self, of: usize, by: usize) {
        self.variables[of].holder = Some(by);
    }

    /// Before variable `at` is written or moved: what borrows from it is no more.
    pub(super) fn free(&mut self, at: usize) {
        let mut gone: Vec<usize> =
            (0..self.variables.len()).filter(|one| self.owners(*one).any(|one| one == at)).collect();
        gone.extend(self.owners(at));
        while let Some(next) = gone.pop() {
            for variable in &mut self.variables {
                if variable.borrows.contains(&next) && !variable.is_gone {
                    variable.is_gone = true;
                    gone.push(variable.at);
                }
            }
        }
    }

    /// Variable `at` is moved away.
    pub(super) fn moved(&mut self, at: usize) {
        self.free(at);
        self.variables[at].is_gone = true;
    }

    /// How many elements variable `at` has from here on, at least.
    pub(super) fn fill(&mut self, at: usize, filled: usize) {
        self.variables[at].filled = filled;
    }
}

/// Whether `text` has `name` as a word of its own, or as a place.
pub(super) fn mentions(text: &str, name: &str) -> bool {
    if name.contains(['.', '[', '*']) {
        return text.contains(name);
    }
    text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).any(|word| word == name)
}
