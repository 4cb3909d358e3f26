//! Statements, and what declares variables.

use super::{Type, Write, Writer, Yields};

const STATEMENTS: &[(usize, Write)] = &[
    (30, Writer::declares),
    (30, Writer::write),
    (14, Writer::branches),
    (9, Writer::loops),
    (3, Writer::leaves),
    (3, Writer::calls),
    (2, Writer::state_read),
    (6, Writer::cell_read),
    (20, Writer::lent_statement),
    (2, Writer::checks),
    (3, Writer::guarded),
    (2, |writer| {
        let count = 1 + writer.below(3);
        Some(format!("{{ {} }}", writer.scoped(|writer| writer.statements(count))))
    }),
];

const TYPES: &[(usize, Type)] = &[
    (12, Type::Tensor),
    (4, Type::Shared),
    (4, Type::View),
    (4, Type::Maybe),
    (2, Type::MaybeShared),
    (4, Type::List),
    (4, Type::Pair),
    (4, Type::Held),
    (4, Type::Int),
    (2, Type::Float),
    (2, Type::Bool),
    (2, Type::MaybeInt),
    (1, Type::Ints),
    (1, Type::Mode),
    (1, Type::Map),
    (3, Type::Closure),
    (2, Type::Counter),
    (2, Type::Lent),
    (2, Type::Iter),
    (6, Type::References),
    (3, Type::ReferenceArray),
    (2, Type::ReferencePair),
    (3, Type::Pick),
    (3, Type::Source),
    (2, Type::ReferenceMap),
    (2, Type::ReferenceResult),
];

impl Writer {
    /// So many statements, or fewer.
    pub(super) fn statements(&mut self, count: usize) -> String {
        let mut all = String::new();
        for _ in 0..count {
            if self.fuel == 0 {
                break;
            }
            self.fuel -= 1;
            self.gives_back();
            all.extend(self.choose(STATEMENTS));
            all.push('\n');
        }
        all
    }

    /// Now and then what was lent to write to is given back.
    fn gives_back(&mut self) {
        let lent = self.variable(|one| matches!(one.ty, Type::Lent | Type::Counter) && one.is_local);
        if let Some(lent) = lent.filter(|_| self.rng.u8(0..4) == 0) {
            self.scope.moved(lent.at);
        }
    }

    /// A check that holds.
    fn checks(&mut self) -> Option<String> {
        let (test, int) = (self.boolean(), self.int());
        Some(match self.below(3) {
            0 => format!("assert!({test} || xs.dim() < 9, \"{{}} of {{:?}}\", {int}, xs.size());"),
            1 => "assert_eq!(xs.dim(), 2);".to_owned(),
            _ => format!("if xs.dim() > 9 {{ panic!(\"no {{by}}\", by = {int}); }}"),
        })
    }

    fn declares(&mut self) -> Option<String> {
        if self.once_in(8) {
            return self.takes_apart();
        }
        let total: usize = TYPES.iter().map(|(weight, _)| weight).sum();
        let mut at = self.below(total);
        let ty = TYPES.iter().find(|(weight, _)| {
            let is_here = at < *weight;
            at = at.saturating_sub(*weight);
            is_here
        });
        let ty = ty?.1;
        if ty == Type::Counter {
            return self.counter();
        }
        let value = self.expression(ty)?;
        let owner = self.owner_of(value.trim_start_matches("&mut ")).filter(|_| ty == Type::Lent);
        let (at, pattern) = self.declared(ty);
        if let Some(owner) = owner {
            self.scope.hold(owner.at, at);
        }
        if ty.borrows() {
            self.scope.borrow(at, &value);
        }
        if let Type::List | Type::Ints = ty {
            let filled = usize::from(value.starts_with("vec!["));
            self.scope.fill(at, filled);
        }
        let told = match ty {
            Type::Tensor | Type::Shared | Type::List | Type::Maybe if self.once_in(6) => format!(": {}", ty.written()),
            Type::MaybeShared | Type::MaybeInt | Type::List | Type::Int | Type::Maybe => format!(": {}", ty.written()),
            _ => String::new(),
        };
        Some(format!("let {pattern}{told} = {value};"))
    }

    /// A pair or a struct in its parts, an option or a way out.
    fn takes_apart(&mut self) -> Option<String> {
        match self.below(4) {
            0 | 1 => {
                let value = self.pair();
                let ((_, first), (_, second)) = (self.declared(Type::Tensor), self.declared(Type::Tensor));
                (first.trim_start_matches("mut ") != second.trim_start_matches("mut "))
                    .then(|| format!("let ({first}, {second}) = {value};"))
            }
            2 => {
                let value = self.maybe();
                let out = self.out()?;
                let (_, pattern) = self.declared(Type::Tensor);
                Some(format!("let Some({pattern}) = ({value}) else {{ {out} }};"))
            }
            _ => {
                let value = self.held();
                let ((_, h), (_, n)) = (self.declared(Type::Tensor), self.declared(Type::Int));
                (h.trim_start_matches("mut ") != n.trim_start_matches("mut "))
                    .then(|| format!("let Held {{ h: {h}, n: {n}, .. }} = {value};"))
            }
        }
    }

    /// Calls of helpers for what they write.
    fn calls(&mut self) -> Option<String> {
        if self.yields == Some(Yields::Fallible) && self.once_in(2) {
            let call = self.called(Yields::Fallible)?;
            let (_, pattern) = self.declared(Type::Tensor);
            return Some(format!("let {pattern} = {call}?;"));
        }
        if let Some(counter) = self.of_type(Type::Counter).filter(|_| self.rng.bool()) {
            return Some(format!("{}({});", counter.name, self.below(4)));
        }
        self.called(Yields::Nothing).map(|call| format!("{call};"))
    }
}
