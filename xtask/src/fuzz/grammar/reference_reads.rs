//! What reads what holds references, and what changes it.

use super::references::{Lasts, replaced};
use super::{Type, Writer};

const LISTS: &[&str] = &[
    "Tensor::stack(&$, 0).mean_dim(0i64, false, xs.kind())",
    "Tensor::cat(&$, 0).narrow(0, 1, xs.size()[0])",
    "$[I].tanh() + $[0]",
    "($[I] - $[I])",
    "$.iter().fold(xs.tanh(), |a, b| a.tanh() - *b)",
    "$.iter().zip([1i64, 2]).map(|(t, n)| *t * n).reduce(|a, b| a - b).unwrap()",
    "$.last().unwrap().relu()",
    "($.first().copied().unwrap_or(xs) * 2)",
    "lend::at(&$, I).neg()",
    "lend::found(&$, xs.size()[0]).map_or_else(|| xs.neg(), |t| t.tanh())",
    "$.iter().copied().max_by_key(|t| t.size()[0]).unwrap().sin()",
    "match &$[..] { [one, .., other] => *one - *other, _ => xs.cos() }",
    "{ let mut sum = xs.sin(); for t in &$ { sum = sum.tanh() - *t; } sum }",
    "{ let mut last = xs; for t in $.iter() { last = t; } last.neg() }",
    "{ let [one, other] = [$[1], $[0]]; one.tanh() * other }",
    "{ let part = if xs.size()[0] > 2 { &$[1..] } else { &$[..1] }; Tensor::stack(part, 0).mean_dim(0i64, false, xs.kind()) }",
    "$.get(I).map_or_else(|| xs.neg(), |t| t.cos())",
];

const ARRAYS: &[&str] = &["{ let [one, other] = $; one - other }", "Tensor::cat(&$.map(|t| t.narrow(1, 0, 4)), 1)"];

const TUPLES: &[&str] = &["$.0 * ($.1 % 3)", "{ let (t, n) = $; t.tanh() + n }", "lend::weighed($.0, $.1).0.relu()"];

const STRUCTS: &[&str] = &[
    "$.t.tanh() * $.by",
    "$.tensor().relu()",
    "{ let lend::Pick { t, by } = $; t.tanh() + by }",
    "$.with(xs).tensor().neg()",
    "lend::swapped($, xs).t.sin()",
];

const ENUMS: &[&str] = &[
    "match &$ { lend::Src::One(t) => t.tanh(), lend::Src::Two(one, other) => *one - *other, lend::Src::Nothing => xs.neg() }",
    "match $ { lend::Src::One(t) => t.tanh(), lend::Src::Two(_, t) if t.size()[0] > 2 => t.neg(), _ => xs.cos() }",
    "if let lend::Src::Two(one, _) = $ { one.relu() } else { xs.sin() }",
    "{ let lend::Src::One(one) = $ else { panic!(\"no source\") }; one.relu() }",
    "$.or(xs).relu()",
];

const MAPS: &[&str] = &[
    "$[&0].tanh()",
    "$.get(&(N)).copied().unwrap_or(xs).relu()",
    "$.values().fold(xs.tanh(), |a, b| a.tanh() - *b)",
    "$.iter().map(|(n, t)| *t * *n).reduce(|a, b| a - b).unwrap()",
    "$.get(&1).map_or_else(|| xs.neg(), |t| t.cos())",
];

const RESULTS: &[&str] = &[
    "match $ { Ok(t) => t.tanh(), Err(n) => xs * n }",
    "$.unwrap_or(xs).relu()",
    "$.map_or_else(|n| xs + n, |t| t.cos())",
    "$.ok().map_or_else(|| xs.neg(), |t| t.sin())",
    "if let Ok(t) = $ { t.relu() } else { xs.sin() }",
];

/// What changes a list of references that has two elements at least, and keeps as many.
const LIST_WRITES: &[&str] = &[
    "$.push(A);",
    "$.insert(0, A);",
    "$.extend([A, A]);",
    "$.extend(&[A]);",
    "$.extend_from_slice(&[A]);",
    "$.reverse();",
    "$.swap(0, 1);",
    "$[I] = A;",
    "$.sort_by_key(|t| t.size()[0]);",
    "$.sort_by_key(|t| std::cmp::Reverse(t.numel()));",
    "$.retain(|t| t.size()[0] > 2); $.push(A); $.push(A);",
    "$.truncate(1); $.push(A);",
    "$.clear(); $.extend([A, A]);",
    "$.dedup_by_key(|t| t.dim()); $.push(A);",
    "if xs.size()[0] > 2 { $.push(A); }",
    "for i in 0..xs.size()[0] { $.push(if i % 2 == 0 { A } else { A }); }",
    "for i in 0..xs.size()[0] as usize { $[i % 2] = A; }",
    "lend::noted(&mut $, A);",
    "lend::noted_or(&mut $, A);",
    "let _ = $.remove(0); $.push(A);",
    "$ = vec![A, A];",
];

const OTHER_WRITES: &[(Type, &[&str])] = &[
    (Type::Shared, &["$ = A;", "if xs.size()[0] > 2 { $ = A; }", "for i in 0..xs.size()[0] { if i == 1 { $ = A; } }"]),
    (
        Type::MaybeShared,
        &["$ = Some(A);", "if xs.size()[0] > 2 { $ = Some(A); }", "$ = $.or(Some(A));", "$.get_or_insert(A);"],
    ),
    (Type::ReferenceArray, &["$[I] = A;", "$.swap(0, 1);", "$ = [A, A];"]),
    (Type::ReferencePair, &["$ = (A, 2);", "$.0 = A;", "$.1 += 1;"]),
    (Type::Pick, &["$.t = A;", "$.by += 1;", "$ = lend::Pick::new(A, 1);", "$ = $.with(A);"]),
    (Type::Source, &["$ = lend::Src::One(A);", "if xs.size()[0] > 2 { $ = lend::Src::Two(A, A); }"]),
    (Type::ReferenceMap, &["$.insert(N, A);", "$.entry(N).or_insert(A);", "if xs.size()[0] > 2 { $.insert(1, A); }"]),
    (Type::ReferenceResult, &["$ = Ok(A);", "if xs.size()[0] > 2 { $ = Err(2); }"]),
];

impl Writer {
    /// A tensor out of what holds references.
    pub(super) fn of_references(&mut self) -> Option<String> {
        let one = self.variable(|one| !reads(one.ty).is_empty())?;
        let of_both = one.ty == Type::ReferenceArray && !self.once_in(3);
        let row = self.one_of(if of_both { LISTS } else { reads(one.ty) });
        Some(format!("({})", self.filled(row, &one.name)))
    }

    /// A change of what holds references.
    pub(super) fn reference_write(&mut self) -> Option<String> {
        let ty = if self.once_in(2) { Type::References } else { OTHER_WRITES[self.below(OTHER_WRITES.len())].0 };
        let inside = self.closed;
        let one = self.variable(|one| one.at >= inside && one.ty == ty && one.is_mut && one.is_local)?;
        self.scope.free(one.at);
        let others = OTHER_WRITES.iter().find(|(other, _)| *other == ty);
        let row = self.one_of(others.map_or(LIST_WRITES, |(_, rows)| rows));
        let lasts = Lasts::Before(one.at);
        let text = replaced(row, |word| (word == "A").then(|| self.lasting(lasts)));
        let text = self.filled(&text, &one.name);
        self.scope.borrow_more(one.at, &text);
        Some(text)
    }

    /// A row with its variable, its indices and its numbers.
    fn filled(&mut self, row: &str, name: &str) -> String {
        let text = replaced(row, |word| {
            Some(match word {
                "I" => self.index(),
                "N" => "xs.size()[0] % 3".to_owned(),
                _ => return None,
            })
        });
        text.replace('$', name)
    }

    /// What is left in references at the end, as a tensor.
    pub(super) fn left_of(ty: Type, name: &str) -> Option<String> {
        Some(match ty {
            Type::References | Type::ReferenceArray => format!("{name}.iter().fold(xs.copy(), |a, b| a.tanh() - *b)"),
            Type::ReferencePair => format!("{name}.0 * {name}.1"),
            Type::Pick => format!("{name}.t * {name}.by"),
            Type::Source => format!("{name}.or(xs).neg()"),
            Type::ReferenceMap => format!("{name}.values().fold(xs.copy(), |a, b| a.tanh() - *b)"),
            Type::ReferenceResult => format!("{name}.unwrap_or(xs).neg()"),
            _ => return None,
        })
    }
}

/// What reads a type that holds references: `$` is the variable, `I` an index, `N` a number.
fn reads(ty: Type) -> &'static [&'static str] {
    match ty {
        Type::References => LISTS,
        Type::ReferenceArray => ARRAYS,
        Type::ReferencePair => TUPLES,
        Type::Pick => STRUCTS,
        Type::Source => ENUMS,
        Type::ReferenceMap => MAPS,
        Type::ReferenceResult => RESULTS,
        _ => &[],
    }
}
