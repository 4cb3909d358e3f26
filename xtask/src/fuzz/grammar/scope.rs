//! What a place in a random program can name: the variables in scope, and who lends what from whom.

use super::Type;

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

    /// Says that variable `at` borrows from those visible here that `text` mentions as well.
    pub(super) fn borrow_more(&mut self, at: usize, text: &str) {
        let more = self.visible().filter(|variable| variable.at != at && mentions(text, &variable.name));
        let more: Vec<usize> = more.map(|variable| variable.at).collect();
        self.variables[at].borrows.extend(more);
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
