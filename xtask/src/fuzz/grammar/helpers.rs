//! Functions and methods that the program calls.

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
        let table = if self.is_lent() && !self.once_in(4) { LENT_SIGNATURES } else { SIGNATURES };
        let (types, yields) = table[self.below(table.len())];
        let takes_model = self.once_in(3) && !self.writes_self();
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
        format!("fn {name}({model}{}) {yields} {{ {body} {tail} }}", written.join(", "))
    }

    /// What stands last in a function.
    pub(super) fn tail(&mut self, yields: Yields) -> String {
        match yields {
            Yields::Nothing => String::new(),
            Yields::Fallible => format!("Ok({})", self.tensor()),
            Yields::One(ty) => self.expression(ty).unwrap_or_default(),
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
                _ => {}
            }
        }
        if self.has_cells() && self.has_self {
            all.extend(cells::LEFT.map(ToOwned::to_owned));
            by.push("self.calls.get() % 7".to_owned());
        }
        format!("Tensor::cat(&[{}], 0) * ({})", all.join(", "), by.join(" + "))
    }
}
