//! Branches.

use super::{Type, Write, Writer, Yields};

const BRANCHES: &[(usize, Write)] = &[
    (5, Writer::if_else),
    (3, Writer::if_let),
    (3, Writer::match_number),
    (2, Writer::match_mode),
    (1, Writer::match_both),
];

impl Writer {
    pub(super) fn branches(&mut self) -> Option<String> {
        self.choose(BRANCHES)
    }

    /// A block of statements in a scope of its own.
    pub(super) fn block(&mut self) -> String {
        let count = 1 + self.below(3);
        self.scoped(|writer| writer.statements(count))
    }

    fn if_else(&mut self) -> Option<String> {
        let (is, then) = (self.boolean(), self.block());
        Some(match self.below(3) {
            0 => format!("if {is} {{ {then} }}"),
            1 => format!("if {is} {{ {then} }} else if {} {{ {} }}", self.boolean(), self.block()),
            _ => format!("if {is} {{ {then} }} else {{ {} }}", self.block()),
        })
    }

    fn if_let(&mut self) -> Option<String> {
        let name = self.name();
        let (of, ty) = match self.below(3) {
            0 => (self.maybe_int(), Type::Int),
            1 => (self.maybe(), Type::Tensor),
            _ => (self.maybe_shared(), Type::Shared),
        };
        if of == "None" {
            return None;
        }
        let then = self.scoped(|writer| {
            writer.scope.declare(&name, ty, false);
            writer.block()
        });
        let otherwise = if self.once_in(2) { format!("else {{ {} }}", self.block()) } else { String::new() };
        Some(match self.below(3) {
            0 if ty == Type::Shared => {
                let is = self.boolean();
                format!("if let Some({name}) = {of} && {is} {{ {then} }} {otherwise}")
            }
            _ => format!("if let Some({name}) = {of} {{ {then} }} {otherwise}"),
        })
    }

    fn match_number(&mut self) -> Option<String> {
        let (on, name) = (self.int(), self.name());
        let arm = self.scoped(|writer| {
            writer.scope.declare(&name, Type::Int, false);
            writer.block()
        });
        let (first, last) = (self.block(), self.block());
        let low = self.below(3);
        Some(format!("match {on} {{ {low} => {{ {first} }} {name} if {name} > 1 => {{ {arm} }} _ => {{ {last} }} }}"))
    }

    fn match_mode(&mut self) -> Option<String> {
        let (mode, name, other) = (self.mode(), self.name(), self.name());
        let plain = self.block();
        let times = self.scoped(|writer| {
            writer.scope.declare(&name, Type::Int, false);
            writer.block()
        });
        let both = self.scoped(|writer| {
            writer.scope.declare(&other, Type::Float, false);
            writer.block()
        });
        Some(format!(
            "match {mode} {{ Mode::Plain => {{ {plain} }} Mode::Times({name}) => {{ {times} }} \
             Mode::Both {{ by: {other}, .. }} => {{ {both} }} }}"
        ))
    }

    fn match_both(&mut self) -> Option<String> {
        let (left, right) = (self.maybe_int(), self.boolean());
        let name = self.name();
        let some = self.scoped(|writer| {
            writer.scope.declare(&name, Type::Int, false);
            writer.block()
        });
        Some(format!(
            "match ({left}, {right}) {{ (Some({name}), true) => {{ {some} }} (Some(_), false) => {{ {} }} (None, _) => {{ {} }} }}",
            self.block(),
            self.block()
        ))
    }

    /// A tensor by an `if`.
    pub(super) fn chosen(&mut self) -> Option<String> {
        let is = self.boolean();
        let yes = self.arm();
        Some(format!("if {is} {{ {yes} }} else {{ {} }}", self.arm()))
    }

    /// A tensor by a `match`.
    pub(super) fn matched(&mut self) -> Option<String> {
        let name = self.name();
        if self.once_in(2) {
            let mode = self.mode();
            let times = self.scoped(|writer| {
                writer.scope.declare(&name, Type::Int, false);
                writer.arm()
            });
            let (plain, both) = (self.arm(), self.arm());
            return Some(format!(
                "match {mode} {{ Mode::Times({name}) if {name} > 0 => {{ {times} }} Mode::Plain => {{ {plain} }} _ => {{ {both} }} }}"
            ));
        }
        let on = self.int();
        let (first, second, last) = (self.arm(), self.arm(), self.arm());
        Some(format!("match {on} {{ 0 => {{ {first} }} 1 | 3 => {{ {second} }} _ => {{ {last} }} }}"))
    }

    /// What an arm yields, statements before it now and then.
    fn arm(&mut self) -> String {
        self.scoped(|writer| {
            let before = if writer.once_in(4) { writer.statements(1) } else { String::new() };
            format!("{before} {}", writer.tensor())
        })
    }

    /// A way out of where this is, where there is one.
    pub(super) fn out(&mut self) -> Option<String> {
        if let Some(label) = self.labels.last().cloned()
            && self.once_in(2)
        {
            let word = self.one_of(&["break", "continue"]);
            let labels: Vec<String> = self.labels.iter().flatten().cloned().collect();
            if let Some(label) = labels.first().filter(|_| self.rng.bool()) {
                return Some(format!("{word} {label};"));
            }
            return Some(label.map_or_else(|| format!("{word};"), |label| format!("{word} {label};")));
        }
        let yields = self.yields?;
        Some(match yields {
            Yields::Nothing => "return;".to_owned(),
            Yields::Fallible if self.once_in(2) => "return Err(\"no\".to_owned());".to_owned(),
            Yields::Fallible => format!("return Ok({});", self.tensor()),
            Yields::One(ty) => format!("return {};", self.yielded(ty)?),
        })
    }

    /// A way out under a condition.
    pub(super) fn leaves(&mut self) -> Option<String> {
        let is = self.boolean();
        let mark = self.scope.mark();
        let out = self.out();
        self.scope.leave(mark);
        out.map(|out| format!("if {is} {{ {out} }}"))
    }
}
