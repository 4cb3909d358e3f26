//! Random programs: what a forward may be made of, and how it is written.
//!
//! A program is written as text, from tables of what can stand where: each row has a weight and a function that writes
//! it, or cannot here. What is in scope is known by type and by who borrows from whom, so that most programs compile;
//! those that do not are left out by whoever asks the compiler.

#![allow(clippy::unnecessary_wraps, reason = "what the rows of a table name are functions of one type")]

mod cells;
mod closures;
mod control;
mod forms;
mod helpers;
mod lend;
mod lent;
mod lent_control;
mod lent_writes;
mod lists;
mod loops;
mod model;
mod numbers;
mod options;
mod patterns;
mod places;
mod reference_reads;
mod references;
mod scope;
mod state;
mod statements;
mod tensors;
mod types;

use fastrand::Rng;

use references::Lasts;
use scope::{Scope, Variable};
use types::Type;

pub(super) use model::body;

/// Few names, so that variables hide each other.
const NAMES: &[&str] = &["a", "b", "c", "d", "e", "g", "h", "k", "x", "y"];

/// Writes a piece of a program, or says that it has no place here.
type Write = fn(&mut Writer) -> Option<String>;

/// A function that the program can call.
struct Helper {
    name: String,
    /// What is written before the name: `self.` for methods, nothing for functions.
    on: &'static str,
    parameters: Vec<Type>,
    yields: Yields,
}

/// What a function yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Yields {
    One(Type),
    Nothing,
    /// `Result<Tensor, String>`.
    Fallible,
}

/// What a body keeps from one call to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    None,
    /// The model's own fields, by `&mut self`.
    Own,
    /// What cells of the model hold, by `&self`.
    Cells,
    /// What is lent to the forward.
    Lent,
}

/// A program that is being written.
struct Writer {
    rng: Rng,
    scope: Scope,
    /// How many more statements may be written.
    fuel: usize,
    /// How deep expressions are nested here.
    nested: usize,
    /// Whether `self` is the model.
    has_self: bool,
    /// What lasts beyond a call.
    state: State,
    /// What the function yields, where `return` may stand.
    yields: Option<Yields>,
    /// The loops around, by label: none where they have none.
    labels: Vec<Option<String>>,
    /// Where the variables of the innermost closure begin: it writes to none of those before.
    closed: usize,
    /// The functions that were written already.
    helpers: Vec<Helper>,
    /// Numbers for labels.
    counted: usize,
    /// How long references must last in what is written, where that matters.
    lasts: Option<Lasts>,
}

impl Writer {
    fn new(seed: u64) -> Self {
        Self {
            rng: Rng::with_seed(seed),
            scope: Scope::default(),
            fuel: 0,
            nested: 0,
            has_self: false,
            state: State::None,
            yields: None,
            labels: Vec::new(),
            closed: 0,
            helpers: Vec::new(),
            counted: 0,
            lasts: None,
        }
    }

    /// Whether the model's own fields may be written.
    fn writes_self(&self) -> bool {
        self.state == State::Own
    }

    /// Whether the model has cells, which are written by `&self`.
    fn has_cells(&self) -> bool {
        self.state == State::Cells
    }

    /// Whether the forward is lent a state.
    fn is_lent(&self) -> bool {
        self.state == State::Lent
    }

    /// True with one chance in `of`.
    fn once_in(&mut self, of: u32) -> bool {
        self.rng.u32(0..of) == 0
    }

    fn below(&mut self, end: usize) -> usize {
        self.rng.usize(0..end)
    }

    fn one_of<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn name(&mut self) -> String {
        self.one_of(NAMES).to_owned()
    }

    /// A row of the table by its weight, another where it cannot stand here.
    fn choose(&mut self, table: &[(usize, Write)]) -> Option<String> {
        let total: usize = table.iter().map(|(weight, _)| weight).sum();
        for _ in 0..8 {
            let mut at = self.below(total);
            let row = table.iter().find(|(weight, _)| {
                let is_here = at < *weight;
                at = at.saturating_sub(*weight);
                is_here
            });
            let mark = self.scope.mark();
            if let Some(text) = row.and_then(|(_, write)| write(self)) {
                return Some(text);
            }
            // What a row declared before it gave up is not there.
            self.scope.leave(mark);
        }
        None
    }

    /// The same one level deeper, or nothing where it is deep enough.
    fn deeper(&mut self, table: &[(usize, Write)]) -> Option<String> {
        if self.nested >= 3 {
            return None;
        }
        self.nested += 1;
        let text = self.choose(table);
        self.nested -= 1;
        text
    }

    /// A visible variable of which this holds.
    fn variable(&mut self, is_wanted: impl Fn(&Variable) -> bool) -> Option<Variable> {
        let found: Vec<Variable> = self.scope.visible().filter(|one| is_wanted(one)).cloned().collect();
        if found.is_empty() { None } else { Some(found[self.below(found.len())].clone()) }
    }

    fn of_type(&mut self, ty: Type) -> Option<Variable> {
        self.variable(|one| one.ty == ty)
    }

    /// A new variable, and the pattern that declares it.
    fn declared(&mut self, ty: Type) -> (usize, String) {
        let name = self.name();
        let is_mut = !self.once_in(4);
        let at = self.scope.declare(&name, ty, is_mut);
        (at, if is_mut { format!("mut {name}") } else { name })
    }

    /// What `write` writes, in a scope of its own.
    fn scoped(&mut self, write: impl FnOnce(&mut Self) -> String) -> String {
        let mark = self.scope.mark();
        let text = write(self);
        self.scope.leave(mark);
        text
    }

    /// The same in a loop or a closure, from which nothing may be moved.
    fn repeated(&mut self, write: impl FnOnce(&mut Self) -> String) -> String {
        self.scope.depth += 1;
        let text = self.scoped(write);
        self.scope.depth -= 1;
        text
    }

    /// What a closure's body is: no `return`, no jump, nothing moved.
    fn captured(&mut self, write: impl FnOnce(&mut Self) -> String) -> String {
        let (yields, labels) = (self.yields.take(), std::mem::take(&mut self.labels));
        let closed = std::mem::replace(&mut self.closed, self.scope.mark());
        let text = self.repeated(write);
        self.closed = closed;
        (self.yields, self.labels) = (yields, labels);
        text
    }

    /// An expression of a type.
    fn expression(&mut self, ty: Type) -> Option<String> {
        match ty {
            Type::Tensor => Some(self.tensor()),
            Type::Shared if self.lasts.is_none() && self.once_in(3) => Some(self.lasting(Lasts::Here)),
            Type::Shared => Some(self.shared()),
            Type::Lent => self.lent(),
            Type::View => self.view(),
            Type::Maybe => Some(self.maybe()),
            Type::MaybeShared if self.nested > 0 || self.once_in(2) => Some(self.maybe_shared()),
            Type::List => Some(self.list()),
            Type::Slice => self.slice(),
            Type::LentList => self.lent_list(),
            Type::Pair => Some(self.pair()),
            Type::Held => Some(self.held()),
            Type::LentHeld => self.lent_held(),
            Type::Int => Some(self.int()),
            Type::LentInt => self.lent_int(),
            Type::Float => Some(self.float()),
            Type::Bool => Some(self.boolean()),
            Type::MaybeInt => Some(self.maybe_int()),
            Type::Ints => Some(self.ints()),
            Type::Mode => Some(self.mode()),
            Type::Map => Some(self.map()),
            Type::Closure => Some(self.closure()),
            Type::Counter => None,
            Type::Iter => self.over_list(),
            ty if ty.is_of_references() => Some(self.holding_references(ty, self.lasts.unwrap_or(Lasts::Here))),
            _ => self.of_lent(ty),
        }
    }
}
