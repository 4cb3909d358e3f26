//! References to tensors: what holds them, and what makes that.

use super::{Type, Variable, Write, Writer, Yields};

/// What a reference that is held may borrow from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lasts {
    /// Any variable in scope.
    Here,
    /// Variables declared before this one.
    Before(usize),
    /// References among the parameters.
    Call,
}

impl Lasts {
    /// Whether a reference to the variable, or the one that it is, lasts as long.
    pub(super) fn is_met_by(self, one: &Variable) -> bool {
        match self {
            Lasts::Here => true,
            Lasts::Before(end) => one.at < end,
            Lasts::Call => !one.is_local,
        }
    }
}

const LASTING: &[(usize, Write)] = &[
    (12, Writer::named_reference),
    (3, |writer| writer.either_way(Type::Shared)),
    (2, |writer| Some(format!("lend::larger({}, {})", writer.shared(), writer.shared()))),
    (2, |writer| Some(format!("lend::either({}, {})", writer.shared(), writer.shared()))),
    (1, |writer| Some(format!("lend::minmax({}, {}).{}", writer.shared(), writer.shared(), writer.below(2)))),
    (2, |writer| Some(format!("[{}, {}][{}]", writer.shared(), writer.shared(), writer.index()))),
    (1, |writer| Some(format!("lend::at(&[{}, {}], {})", writer.shared(), writer.shared(), writer.index()))),
    (1, |writer| Some(format!("lend::found(&[{}], xs.size()[0]).unwrap_or({})", writer.shared(), writer.shared()))),
    (1, |writer| Some(format!("std::borrow::Borrow::<Tensor>::borrow({})", writer.shared()))),
    (1, |writer| {
        let (one, other) = (writer.shared(), writer.shared());
        let key =
            writer.one_of(&["min_by_key(|t| t.size()[0])", "max_by_key(|t| t.numel())", "find(|t| t.dim() == 2)"]);
        Some(format!("[{one}, {other}].into_iter().{key}.unwrap()"))
    }),
    (1, |writer| {
        let (maybe, other) = (writer.maybe_shared(), writer.shared());
        let way = writer.one_of(&[
            "M.unwrap_or(O)",
            "M.or(Some(O)).unwrap()",
            "M.map_or(O, |t| t)",
            "M.xor(None).unwrap_or(O)",
        ]);
        (maybe != "None").then(|| way.replace('M', &maybe).replace('O', &other))
    }),
    (1, |writer| writer.called(Yields::One(Type::Shared))),
];

const LISTS: &[&str] = &[
    "vec![A, B]",
    "vec![A, B, A]",
    "Vec::from([A, B])",
    "[A, B].to_vec()",
    "[A, B].into_iter().rev().collect::<Vec<_>>()",
    "[Some(A), M, Some(B)].into_iter().flatten().collect::<Vec<&Tensor>>()",
    "std::iter::once(A).chain(M).chain(Some(B)).collect::<Vec<_>>()",
    "match M { Some(m) => vec![A, m, B], None => vec![B, A] }",
    "(0..xs.size()[0]).map(|i| if i % 2 == 0 { A } else { B }).collect::<Vec<&Tensor>>()",
    "(0..xs.size()[0] as usize).map(|i| [A, B][i % 2]).collect::<Vec<&Tensor>>()",
    "{ let mut kept = vec![]; for i in 0..xs.size()[0] { kept.push(if i % 2 == 0 { A } else { B }); } kept }",
    "{ let mut kept: Vec<&Tensor> = Vec::new(); for i in 0..xs.size()[0] { let t = match i % 3 { 0 => A, 1 => B, _ => xs }; kept.push(t); } kept }",
    "{ let mut kept = Vec::with_capacity(4); kept.push(A); kept.extend([B, A]); kept }",
    "{ let mut kept = vec![A, B]; if xs.size()[0] > 2 { kept.push(A); } kept }",
    "{ let mut kept = vec![A, B, xs]; if xs.size()[0] > 2 { kept.pop(); kept.swap(0, 1); } kept }",
    "{ let mut kept = vec![A, B]; if let Some(m) = M { kept.push(m); } kept }",
    "lend::sorted(vec![A, B])",
    "lend::listed(A, B)",
    "{ let mut log = Vec::new(); let z = lend::noted(&mut log, A); log.push(z); log.push(B); log }",
    "{ let mut log = vec![B]; let z = lend::noted_or(&mut log, A); log.push(z); log }",
    "[B, A].iter().copied().chain([A].iter().copied()).collect::<Vec<_>>()",
    "vec![lend::Src::One(A), lend::Src::Two(B, A)].iter().map(lend::Src::first).collect::<Vec<_>>()",
    "[lend::Pick { t: A, by: 1 }, lend::Pick { t: B, by: 2 }].iter().map(|pick| pick.t).collect::<Vec<_>>()",
];

const ARRAYS: &[&str] =
    &["[A, B]", "[B, A]", "[A; 2]", "<[&Tensor; 2]>::try_from(vec![A, B]).unwrap()", "[A, B].map(|t| t)"];

const TUPLES: &[&str] = &["(A, N)", "[(A, N), (B, 2)][I]", "lend::weighed(A, N)", "(lend::larger(A, B), N)"];

const STRUCTS: &[&str] = &[
    "lend::Pick { t: A, by: N }",
    "lend::Pick::new(A, N)",
    "lend::Pick::new(A, N).with(B)",
    "lend::Pick { by: N, ..lend::Pick::new(A, 2) }",
    "lend::swapped(lend::Pick::new(A, N), B)",
    "[lend::Pick::new(A, N), lend::Pick { t: B, by: 1 }][I]",
    "{ let mut pick = lend::Pick::new(A, N); if xs.size()[0] > 2 { pick.t = B; } pick }",
    "{ let mut pick = lend::Pick::new(A, 1); for i in 0..xs.size()[0] { if i > 1 { pick = lend::Pick { t: B, by: i }; } } pick }",
];

const ENUMS: &[&str] =
    &["lend::Src::One(A)", "lend::Src::Two(A, B)", "lend::Src::Nothing", "lend::source(A, B)", "lend::Src::of(M)"];

const MAPS: &[&str] = &[
    "BTreeMap::from([(0, A), (1, B)])",
    "[(0, A), (1, B)].into_iter().collect::<BTreeMap<i64, &Tensor>>()",
    "{ let mut map = BTreeMap::new(); map.insert(0, A); map.insert(1, B); map }",
    "{ let mut map = BTreeMap::new(); for i in 0..xs.size()[0] { map.insert(i % 2, if i > 1 { A } else { B }); } map }",
    "[A, B].into_iter().enumerate().fold(BTreeMap::new(), |mut map, (i, t)| { map.insert(i as i64, t); map })",
];

const RESULTS: &[&str] = &[
    "Ok::<&Tensor, i64>(A)",
    "Err::<&Tensor, i64>(N)",
    "M.ok_or(N)",
    "if xs.size()[0] > 2 { Ok::<&Tensor, i64>(A) } else { Err(N) }",
    "lend::checked(A, N)",
    "lend::set().map(|_| A).map_err(|_| N)",
];

const OPTIONS: &[&str] = &[
    "Some(A)",
    "M.or(Some(B))",
    "(xs.size()[0] > 2).then_some(A)",
    "(xs.size()[0] > 2).then(|| A)",
    "M.filter(|t| t.size()[0] > 2)",
    "lend::set().ok().map(|_| A)",
    "lend::found(&[A, B], 2)",
    "M.map(|t| lend::larger(t, A))",
    "[A, B].into_iter().find(|t| t.size()[0] > 2)",
    "[A, B].first().copied()",
];

/// What holds references, and how it is made: `A` and `B` are references, `M` may be one, `N` is a number, `I` an index.
fn rows(ty: Type) -> &'static [&'static str] {
    match ty {
        Type::References => LISTS,
        Type::ReferenceArray => ARRAYS,
        Type::ReferencePair => TUPLES,
        Type::Pick => STRUCTS,
        Type::Source => ENUMS,
        Type::ReferenceMap => MAPS,
        Type::ReferenceResult => RESULTS,
        Type::MaybeShared => OPTIONS,
        _ => &[],
    }
}

impl Writer {
    /// What `write` writes where references must last.
    fn lasting_as<T>(&mut self, lasts: Lasts, write: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.lasts.replace(lasts);
        let text = write(self);
        self.lasts = before;
        text
    }

    /// `&Tensor` that lasts as long as what it borrows from.
    pub(super) fn lasting(&mut self, lasts: Lasts) -> String {
        self.lasting_as(lasts, |writer| {
            writer.deeper(LASTING).or_else(|| writer.named_reference()).unwrap_or_else(|| "xs".to_owned())
        })
    }

    /// An expression of a type that holds references which last.
    pub(super) fn holding_references(&mut self, ty: Type, lasts: Lasts) -> String {
        self.lasting_as(lasts, |writer| {
            let mut text = None;
            if writer.nested < 2 && writer.once_in(4) {
                writer.nested += 1;
                text = writer.either_way(ty);
                writer.nested -= 1;
            }
            text.unwrap_or_else(|| writer.made_of_references(ty))
        })
    }

    /// What holds references, by one of the rows of its table.
    fn made_of_references(&mut self, ty: Type) -> String {
        if ty == Type::Shared {
            return self.shared();
        }
        if self.lasts == Some(Lasts::Here)
            && self.once_in(5)
            && let Some(one) = self.of_type(ty)
        {
            return if is_copied(ty) { one.name } else { format!("{}.clone()", one.name) };
        }
        if self.once_in(8)
            && let Some(call) = self.called(Yields::One(ty))
        {
            return call;
        }
        let row = self.one_of(rows(ty));
        replaced(row, |word| {
            Some(match word {
                "A" | "B" => self.shared(),
                "M" => Some(self.maybe_shared())
                    .filter(|maybe| maybe != "None")
                    .unwrap_or_else(|| "None::<&Tensor>".to_owned()),
                "N" => format!("({} % 3)", self.int()),
                "I" => self.index(),
                _ => return None,
            })
        })
    }

    /// One of two, by what the program knows, by the input's shape, or by what nobody knows before it runs.
    fn either_way(&mut self, ty: Type) -> Option<String> {
        let (one, other) = (self.made_of_references(ty), self.made_of_references(ty));
        Some(match self.below(6) {
            0 => format!("if {} {{ {one} }} else {{ {other} }}", self.boolean()),
            1 | 2 => format!("if xs.size()[0] > 2 {{ {one} }} else {{ {other} }}"),
            3 => format!("if lend::set().is_ok() {{ {one} }} else {{ {other} }}"),
            4 => format!("match xs.size()[0] % 3 {{ 0 => {one}, _ => {other} }}"),
            _ => format!("match {} {{ Mode::Plain => {one}, _ => {other} }}", self.mode()),
        })
        .filter(|text| ty != Type::Shared || text.len() < 600)
        .map(|text| format!("({text})"))
    }

    /// An index of two elements, which is often known only from the input.
    pub(super) fn index(&mut self) -> String {
        match self.below(4) {
            0 => self.below(2).to_string(),
            1 => "lend::set().map_or(0, |v| v.len() % 2)".to_owned(),
            2 => format!("i64::rem_euclid({}, 2) as usize", self.int()),
            _ => "(xs.size()[0] % 2) as usize".to_owned(),
        }
    }

    /// A variable or a part of one by reference.
    fn named_reference(&mut self) -> Option<String> {
        let lasts = self.lasts.unwrap_or(Lasts::Here);
        let is_owner = |one: &Variable| match one.ty {
            Type::Tensor | Type::Held | Type::Pair | Type::Fixed => lasts != Lasts::Call,
            Type::List => lasts != Lasts::Call && one.filled > 0,
            ty => ty == Type::Shared || (ty != Type::MaybeShared && ty != Type::Source && !rows(ty).is_empty()),
        };
        let one = self.variable(|one| is_owner(one) && lasts.is_met_by(one))?;
        let name = one.name;
        Some(match one.ty {
            Type::Tensor => format!("&{name}"),
            Type::Held => format!("&{name}.h"),
            Type::Pair => format!("&{name}.{}", self.below(2)),
            Type::List => format!("&{name}[{}]", self.below(one.filled)),
            Type::Fixed => format!("&{name}[{}]", self.index()),
            Type::References | Type::ReferenceArray => format!("{name}[{}]", self.index()),
            Type::ReferencePair => format!("{name}.0"),
            Type::Pick => format!("{name}.{}", self.one_of(&["t", "tensor()"])),
            Type::ReferenceMap => format!("{name}[&{}]", self.below(2)),
            Type::ReferenceResult => format!("{name}.unwrap_or(xs)"),
            _ => name,
        })
    }
}

/// Whether a type that holds references is `Copy`.
fn is_copied(ty: Type) -> bool {
    !matches!(ty, Type::References | Type::ReferenceMap | Type::Source)
}

/// A row with some of its words replaced.
pub(super) fn replaced(row: &str, mut by: impl FnMut(&str) -> Option<String>) -> String {
    let mut text = String::new();
    for part in row.split_inclusive(|letter: char| !is_of_word(letter)) {
        let word = part.trim_end_matches(|letter| !is_of_word(letter));
        text += &by(word).unwrap_or_else(|| word.to_owned());
        text += &part[word.len()..];
    }
    text
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}
