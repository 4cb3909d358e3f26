//! Functions and methods that the program calls.

use super::references::Lasts;
use super::{Helper, NAMES, Type, Writer, Yields, cells};

/// What a helper takes behind `xs: &Tensor`, and what it yields.
const SIGNATURES: &[(&[Type], Yields)] = &[
    (&[Type::Int], Yields::One(Type::Tensor)),
    (&[Type::Lent, Type::Int], Yields::Nothing),
    (&[Type::Lent, Type::Lent], Yields::Nothing),
    (&[Type::Tensor], Yields::One(Type::Pair)),
    (&[Type::Tensor, Type::Shared], Yields::One(Type::Tensor)),
    (&[Type::MaybeShared], Yields::One(Type::Maybe)),
    (&[Type::Bool], Yields::Fallible),
    (&[Type::LentList], Yields::Nothing),
    (&[Type::Slice], Yields::One(Type::Tensor)),
    (&[Type::Closure], Yields::One(Type::Tensor)),
    (&[Type::LentInt], Yields::One(Type::Int)),
    (&[Type::LentHeld], Yields::Nothing),
    (&[Type::Mode, Type::MaybeInt], Yields::One(Type::Tensor)),
    (&[Type::Maybe], Yields::One(Type::Maybe)),
];

/// The same of functions that take references or hand them on.
const REFERENCE_SIGNATURES: &[(&[Type], Yields)] = &[
    (&[Type::Shared, Type::Int], Yields::One(Type::Shared)),
    (&[Type::Shared, Type::Shared], Yields::One(Type::Shared)),
    (&[Type::References], Yields::One(Type::Shared)),
    (&[Type::ReferenceArray, Type::Int], Yields::One(Type::Shared)),
    (&[Type::Pick], Yields::One(Type::Shared)),
    (&[Type::Shared, Type::Bool], Yields::One(Type::MaybeShared)),
    (&[Type::MaybeShared], Yields::One(Type::Shared)),
    (&[Type::Shared, Type::Int], Yields::One(Type::References)),
    (&[Type::References], Yields::One(Type::References)),
    (&[Type::Shared], Yields::One(Type::ReferenceArray)),
    (&[Type::Shared, Type::Int], Yields::One(Type::ReferencePair)),
    (&[Type::Shared, Type::Int], Yields::One(Type::Pick)),
    (&[Type::Pick], Yields::One(Type::Pick)),
    (&[Type::Shared], Yields::One(Type::Source)),
    (&[Type::Source], Yields::One(Type::Tensor)),
    (&[Type::References], Yields::One(Type::Tensor)),
    (&[Type::ReferenceMap], Yields::One(Type::Tensor)),
    (&[Type::Shared, Type::Int], Yields::One(Type::ReferenceResult)),
];

/// The same where the forward is lent a state.
const LENT_SIGNATURES: &[(&[Type], Yields)] = &[
    (&[Type::LentKept], Yields::Nothing),
    (&[Type::LentKept, Type::Int], Yields::One(Type::Tensor)),
    (&[Type::LentKept], Yields::Fallible),
    (&[Type::SharedKept], Yields::One(Type::Tensor)),
    (&[Type::LentPart, Type::Int], Yields::One(Type::Tensor)),
    (&[Type::LentPart, Type::LentPart], Yields::Nothing),
    (&[Type::LentPart], Yields::One(Type::Int)),
    (&[Type::SharedPart], Yields::One(Type::Pair)),
    (&[Type::MaybeLentPart], Yields::One(Type::Tensor)),
    (&[Type::LentParts], Yields::Nothing),
    (&[Type::LentMaybe], Yields::One(Type::Tensor)),
    (&[Type::Lent], Yields::One(Type::Tensor)),
    (&[Type::LentList, Type::LentInt], Yields::Nothing),
];

impl Writer {
    /// A function with a body of its own, which is called from what is written afterwards.
    pub(super) fn helper(&mut self, number: usize) -> String {
        let table = match self.below(4) {
            0 => REFERENCE_SIGNATURES,
            1 => SIGNATURES,
            _ if self.is_lent() => LENT_SIGNATURES,
            _ => SIGNATURES,
        };
        let (types, yields) = table[self.below(table.len())];
        let hands_on = matches!(yields, Yields::One(ty) if ty.borrows());
        let takes_model = self.once_in(3) && !self.writes_self() && !hands_on;
        let name = format!("h{number}");
        let scope = std::mem::take(&mut self.scope);
        self.scope.parameter("xs", Type::Shared, false);
        let mut written = vec!["xs: &Tensor".to_owned()];
        let mut names = NAMES.to_vec();
        self.rng.shuffle(&mut names);
        for (ty, name) in types.iter().zip(names) {
            let is_mut = matches!(ty, Type::Tensor | Type::Int | Type::Maybe | Type::MaybeLentPart);
            self.scope.parameter(name, *ty, is_mut);
            written.push(format!("{}{name}: {}", if is_mut { "mut " } else { "" }, ty.written()));
        }
        self.fuel = 2 + self.below(5);
        self.has_self = takes_model;
        self.yields = Some(yields);
        let body = self.statements(6);
        let tail = self.tail(yields);
        self.yields = None;
        self.scope = scope;
        let parameters = std::iter::once(Type::Shared).chain(types.iter().copied()).collect();
        let (on, model) = if takes_model { ("self.", "&self, ") } else { ("", "") };
        self.helpers.push(Helper { name: name.clone(), on, parameters, yields });
        let yields = match yields {
            Yields::Nothing => String::new(),
            Yields::Fallible => "-> Result<Tensor, String>".to_owned(),
            Yields::One(ty) => format!("-> {}", ty.written()),
        };
        let signature = format!("({model}{}) {yields}", written.join(", "));
        if hands_on {
            let signature = signature.replace('&', "&'a ").replace("'_", "'a");
            return format!("fn {name}<'a>{signature} {{ {body} {tail} }}");
        }
        format!("fn {name}{signature} {{ {body} {tail} }}")
    }

    /// What a function yields: references, if it holds any, of the caller alone.
    pub(super) fn yielded(&mut self, ty: Type) -> Option<String> {
        match ty {
            Type::Shared => Some(self.lasting(Lasts::Call)),
            ty if ty.is_of_references() => Some(self.holding_references(ty, Lasts::Call)),
            ty => self.expression(ty),
        }
    }

    /// What stands last in a function.
    pub(super) fn tail(&mut self, yields: Yields) -> String {
        match yields {
            Yields::Nothing => String::new(),
            Yields::Fallible => format!("Ok({})", self.tensor()),
            Yields::One(ty) => self.yielded(ty).unwrap_or_default(),
        }
    }

    /// Everything that is left at the end, in one tensor.
    pub(super) fn everything(&mut self) -> String {
        let mut all = vec!["xs.shallow_clone()".to_owned()];
        let mut by = vec!["1".to_owned()];
        let left: Vec<(Type, String)> = self.scope.visible().map(|one| (one.ty, one.name.clone())).collect();
        for (ty, name) in left {
            match ty {
                Type::Tensor | Type::Shared | Type::Lent => all.push(format!("{name}.shallow_clone()")),
                Type::View => all.push(format!("xs + {name}.sum(xs.kind())")),
                Type::Pair => all.extend([format!("{name}.0.shallow_clone()"), format!("{name}.1.neg()")]),
                Type::Held => {
                    all.push(format!("{name}.h.shallow_clone()"));
                    by.push(format!("{name}.n % 5"));
                }
                Type::Maybe | Type::MaybeShared => {
                    all.push(format!("{name}.as_ref().map_or_else(|| xs.neg(), |one| one.shallow_clone())"));
                }
                Type::MaybePair => {
                    all.push(format!("{name}.as_ref().map_or_else(|| xs.neg(), |(one, other)| one - other)"));
                }
                Type::Parts | Type::LentParts => by.push(format!("{name}.len() as i64")),
                Type::List | Type::Slice | Type::Fixed => {
                    all.push(format!("{name}.iter().fold(xs.copy(), |a, b| a + b)"));
                    by.push(format!("{name}.len() as i64"));
                }
                Type::Int => by.push(format!("{name} % 7")),
                Type::Float => all.push(format!("xs * {name}.tanh()")),
                Type::Bool => by.push(format!("{name} as i64")),
                Type::MaybeInt => by.push(format!("{name}.unwrap_or(3) % 5")),
                ty => all.extend(Self::left_of(ty, &name)),
            }
        }
        if self.has_cells() && self.has_self {
            all.extend(cells::LEFT.map(ToOwned::to_owned));
            by.push("self.calls.get() % 7".to_owned());
        }
        format!("Tensor::cat(&[{}], 0) * ({})", all.join(", "), by.join(" + "))
    }
}
