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
            Type::List => "Vec<Tensor>",
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
        }
    }
}

/// A variable of the program.
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
        };
        self.variables.push(variable);
        at
    }

    /// The same for a parameter.
    pub(super) fn parameter(&mut self, name: &str, ty: Type, is_mut: bool) {
        let at = self.declare(name, ty, is_mut);
        self.variables[at].is_local = false;
    }

    /// Says that variable `at` borrows from those whose names `text` mentions.
    pub(super) fn borrow(&mut self, at: usize, text: &str) {
        let from = self.variables[..at].iter().filter(|variable| self.is_hidden_at(variable.at, at).is_none());
        let from = from.filter(|variable| mentions(text, &variable.name)).map(|variable| variable.at).collect();
        self.variables[at].borrows = from;
    }

    /// A variable between `of` and `before` that hides it.
    fn is_hidden_at(&self, of: usize, before: usize) -> Option<usize> {
        (of + 1..before).find(|&later| self.variables[later].name == self.variables[of].name)
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
        let is_held =
            |one: &Variable| one.holder.is_some_and(|at| self.variables.get(at).is_some_and(|by| !by.is_gone));
        let is_named = move |one: &Variable| self.is_hidden_at(one.at, end).is_none();
        self.variables.iter().filter(move |one| !one.is_gone && !is_held(one) && is_named(one))
    }

    /// From here on `of` is written through `by` alone, until that is gone.
    pub(super) fn hold(&mut self, of: usize, by: usize) {
        self.variables[of].holder = Some(by);
    }

    /// Before variable `at` is written or moved: what borrows from it is no more.
    pub(super) fn free(&mut self, at: usize) {
        let mut gone = vec![at];
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

/// Whether `text` has `name` as a word of its own.
pub(super) fn mentions(text: &str, name: &str) -> bool {
    text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).any(|word| word == name)
}
