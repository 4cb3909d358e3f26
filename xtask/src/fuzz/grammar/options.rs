//! What may not be there.

use super::references::Lasts;
use super::{Type, Variable, Write, Writer, Yields};

const MAYBES: &[(usize, Write)] = &[
    (4, |writer| Some(format!("Some({})", writer.tensor()))),
    (2, |_| Some("None::<Tensor>".to_owned())),
    (2, Writer::taken),
    (3, Writer::mapped_option),
    (2, |writer| {
        let (is, some) = (writer.boolean(), writer.tensor());
        Some(format!("if {is} {{ Some({some}) }} else {{ None }}"))
    }),
    (1, |writer| Some(format!("({}).then(|| {})", writer.boolean(), writer.kept_tensor()))),
    (2, |writer| writer.called(Yields::One(Type::Maybe))),
    (1, |writer| writer.mutable(Type::List).map(|one| format!("{}.pop()", one.name))),
];

impl Writer {
    pub(super) fn maybe(&mut self) -> String {
        self.deeper(MAYBES).unwrap_or_else(|| format!("Some({})", self.tensor()))
    }

    pub(super) fn maybe_shared(&mut self) -> String {
        let lasts = self.lasts.unwrap_or(Lasts::Here);
        let is_owned = |one: &Variable, ty| one.ty == ty && lasts != Lasts::Call && lasts.is_met_by(one);
        if let Some(one) = self.variable(|one| is_owned(one, Type::Maybe)).filter(|_| self.rng.bool()) {
            return format!("{}.as_ref()", one.name);
        }
        let is_reference = |one: &Variable| one.ty == Type::MaybeShared && lasts.is_met_by(one);
        if let Some(one) = self.variable(is_reference).filter(|_| self.rng.bool()) {
            return one.name;
        }
        if let Some(one) = self.variable(|one| is_owned(one, Type::List)).filter(|_| self.rng.bool()) {
            return format!("{}.{}", one.name, self.one_of(&["first()", "last()", "get(1)"]));
        }
        if self.once_in(3) { "None".to_owned() } else { format!("Some({})", self.shared()) }
    }

    pub(super) fn maybe_int(&mut self) -> String {
        if let Some(one) = self.of_type(Type::MaybeInt).filter(|_| self.rng.bool()) {
            return match self.below(3) {
                0 => format!("{}.map(|one| one + {})", one.name, self.int()),
                1 => format!("{}.filter(|one| *one > {})", one.name, self.below(3)),
                _ => one.name,
            };
        }
        match self.below(4) {
            0 if self.has_self => "self.maybe".to_owned(),
            1 => "None::<i64>".to_owned(),
            2 => format!("({}).then(|| {})", self.boolean(), self.int()),
            _ => format!("Some({})", self.int()),
        }
    }

    /// A tensor that a closure computes.
    pub(super) fn kept_tensor(&mut self) -> String {
        self.captured(Self::tensor)
    }

    /// A closure's body, over a tensor that the closure calls by this name.
    pub(super) fn over(&mut self, name: &str, ty: Type) -> String {
        self.captured(|writer| {
            writer.scope.declare(name, ty, false);
            writer.tensor()
        })
    }

    fn taken(&mut self) -> Option<String> {
        let one = self.mutable(Type::Maybe)?;
        Some(match self.below(3) {
            0 => format!("{}.replace({})", one.name, self.tensor()),
            1 => format!("std::mem::take(&mut {})", one.name),
            _ => format!("{}.take()", one.name),
        })
    }

    fn mapped_option(&mut self) -> Option<String> {
        let of = self.maybe_shared();
        if of == "None" {
            return None;
        }
        let name = self.name();
        let body = self.over(&name, Type::Shared);
        Some(match self.below(4) {
            0 => format!("{of}.filter(|{name}| {name}.size()[0] > 2).map(|{name}| {body})"),
            1 => format!("{of}.zip({}).map(|({name}, n)| ({body}) * (n % 3))", self.maybe_int()),
            2 => format!("{of}.and_then(|{name}| if {name}.dim() > 1 {{ Some({body}) }} else {{ None }})"),
            _ => format!("{of}.map(|{name}| {body})"),
        })
    }

    /// A tensor out of an option.
    pub(super) fn unwrapped(&mut self) -> Option<String> {
        let maybe = self.maybe();
        let otherwise = self.kept_tensor();
        Some(format!("({maybe}).unwrap_or_else(|| {otherwise})"))
    }

    pub(super) fn of_option(&mut self) -> Option<String> {
        let of = self.maybe_shared();
        if of == "None" {
            return None;
        }
        let name = self.name();
        let some = self.over(&name, Type::Shared);
        let none = self.kept_tensor();
        Some(match self.below(3) {
            0 => format!("match {of} {{ Some({name}) => {some}, None => {none} }}"),
            1 => format!("if let Some({name}) = {of} {{ {some} }} else {{ {none} }}"),
            _ => format!("{of}.map_or_else(|| {none}, |{name}| {some})"),
        })
    }
}
