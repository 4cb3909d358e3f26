//! State that a caller lends by `&mut`: what it is made of, and how it is asked.

use std::fmt::Write as _;

use super::{Type, Write, Writer};

/// What stands before a model that is lent a state.
pub(super) const ITEMS: &str = r"
#[derive(Debug)]
pub struct Part { k: Tensor, n: i64, o: Option<Tensor> }

impl Clone for Part {
    fn clone(&self) -> Part { Part { k: self.k.copy(), n: self.n, o: self.o.as_ref().map(|o| o.copy()) } }
}

impl Part {
    fn fresh(xs: &Tensor) -> Part { Part { k: xs.cos(), n: 1, o: None } }

    fn step(&mut self, xs: &Tensor) -> Tensor {
        self.n += 1;
        let old = self.o.replace(xs.shallow_clone());
        self.k = match old {
            Some(old) => (&self.k + old).tanh(),
            None => &self.k * 0.5,
        };
        self.k.shallow_clone()
    }

    fn both(&mut self, xs: &Tensor) -> (Tensor, Tensor) {
        let old = std::mem::replace(&mut self.k, xs.sin());
        if self.n > 3 {
            return (old, xs.neg());
        }
        self.n += 2;
        (old, self.k.shallow_clone())
    }

    fn key(&self) -> Tensor { self.k.shallow_clone() }
    fn key_ref(&self) -> &Tensor { &self.k }
    fn key_mut(&mut self) -> &mut Tensor { &mut self.k }
    fn maybe(&self) -> Option<&Tensor> { self.o.as_ref() }
    fn count(&self) -> i64 { self.n % 7 }
    fn told(&self) -> (i64, bool) { (self.n, self.o.is_some()) }
    fn bump(&mut self, by: i64) { self.n += by % 5; }

    fn reset(&mut self) {
        self.o = None;
        self.n = 0;
        let _ = self.k.zero_();
    }
}

#[derive(Debug)]
pub struct Kept {
    h: Tensor,
    n: i64,
    f: f64,
    is: bool,
    list: Vec<Tensor>,
    fixed: Vec<Tensor>,
    ints: Vec<i64>,
    o: Option<Tensor>,
    pair: Option<(Tensor, Tensor)>,
    kvs: Vec<Option<(Tensor, Tensor)>>,
    tn: (Tensor, i64),
    own: Part,
    parts: Vec<Part>,
    part: Option<Part>,
    row: [Tensor; 2],
}

impl Kept {
    fn new(x: &Tensor, y: &Tensor, variant: usize) -> Kept {
        let part = |by: i64| Part { k: y + by, n: by, o: (by > 1).then(|| x.sin()) };
        Kept {
            h: x * 0.5,
            n: variant as i64,
            f: 0.25,
            is: variant == 1,
            list: (0..variant as i64).map(|at| x - at).collect(),
            fixed: vec![y.neg(), x.tanh()],
            ints: vec![3; variant],
            o: (variant > 0).then(|| y.copy()),
            pair: (variant > 1).then(|| (y.sin(), x.cos())),
            kvs: vec![None, (variant > 0).then(|| (x.sin(), y.cos())), None],
            tn: (x.sigmoid(), 2),
            own: part(1),
            parts: vec![part(1), part(2)],
            part: (variant > 0).then(|| part(variant as i64)),
            row: [x.copy(), y.copy()],
        }
    }

    fn named(&mut self, at: usize) -> &mut Part { &mut self.parts[at] }
    fn head(&self) -> &Tensor { &self.h }

    fn push(&mut self, one: Tensor) -> usize {
        self.list.push(one);
        if self.list.len() > 3 {
            self.list.remove(0);
        }
        self.list.len()
    }

    fn mean(&self) -> Option<Tensor> {
        if self.list.is_empty() {
            return None;
        }
        Some(Tensor::stack(&self.list, 0).mean_dim(0i64, false, self.h.kind()))
    }
}

crate::parts!(Part { k, n, o });
crate::parts!(Kept { h, n, f, is, list, fixed, ints, o, pair, kvs, tn, own, parts, part, row });
";

/// Whether the first argument is the whole state.
pub(super) fn lends_kept(arguments: &str) -> bool {
    (0..3).any(|row| arguments.contains(&format!("/*0.{row}*/")))
}

/// What is lent: how it is written, what it is to the body, the argument, and how the state is made that it is of.
const LENT: &[(&str, Type, &str, &str)] = &[
    ("$: &mut Kept", Type::LentKept, "&mut @", "Kept::new(x, y, variant)"),
    ("$: &mut Kept", Type::LentKept, "&mut @", "Kept::new(y, x, variant)"),
    ("$: &mut Kept", Type::LentKept, "&mut @", "Kept::new(y, x, 2)"),
    ("$: &mut Tensor", Type::Lent, "&mut @", "y.sin()"),
    ("$: &mut Vec<Tensor>", Type::LentList, "&mut @", "vec![x.sin(), y.cos()]"),
    ("$: &mut Option<Tensor>", Type::LentMaybe, "&mut @", "(variant > 0).then(|| x.sin())"),
    ("$: &mut [Part]", Type::LentParts, "&mut @", "Kept::new(x, y, 0).parts"),
    ("mut $: Option<&mut Part>", Type::MaybeLentPart, "@.as_mut()", "Kept::new(x, y, variant).part"),
    ("$: &mut Part", Type::LentPart, "&mut @", "Part::fresh(x)"),
    ("($, n$): &mut (Tensor, i64)", Type::Lent, "&mut @", "(x.sin(), 2)"),
];

/// How the state is made that arguments are of.
pub(super) fn made(arguments: &str) -> String {
    let mut parts = ["()", "()"];
    for (at, part) in parts.iter_mut().enumerate() {
        let found = LENT.iter().enumerate().find(|(row, _)| arguments.contains(&format!("/*{at}.{row}*/")));
        *part = found.map_or("()", |(_, (.., made))| made);
    }
    format!("({}, {})", parts[0], parts[1])
}

const OF_STATE: &[(usize, Write)] = &[
    (2, |writer| writer.part(true).map(|part| format!("{part}.step({})", writer.shared()))),
    (1, |writer| writer.part(true).map(|part| format!("{part}.both({}).{}", writer.shared(), writer.below(2)))),
    (2, |writer| writer.part(false).map(|part| format!("{part}.key()"))),
    (2, |writer| writer.part(false).map(|part| format!("({part}.key_ref() + {})", writer.shared()))),
    (1, |writer| writer.part(true).map(|part| format!("std::mem::replace({part}.key_mut(), {})", writer.tensor()))),
    (1, |writer| writer.part(false).map(|part| format!("{part}.maybe().map_or_else(|| xs.neg(), |o| o.tanh())"))),
    (1, |writer| writer.kept(false).map(|kept| format!("{kept}.head().relu()"))),
    (2, |writer| writer.kept(false).map(|kept| format!("{kept}.mean().unwrap_or_else(|| xs.sin())"))),
    (2, |writer| writer.kept(true).map(|kept| format!("{kept}.named({}).step(xs)", writer.below(2)))),
    (2, Writer::of_pair),
    (2, |writer| {
        let list = writer.place(Type::List, true)?;
        let otherwise = writer.kept_tensor();
        Some(format!("{list}.pop().unwrap_or_else(|| {otherwise})"))
    }),
    (1, |writer| {
        let one = writer.place(Type::MaybePart, false)?;
        Some(format!("{one}.as_ref().map_or_else(|| xs.neg(), |part| part.key())"))
    }),
    (1, |writer| {
        let one = writer.place(Type::MaybePart, true)?;
        Some(format!("{one}.get_or_insert_with(|| Part::fresh(xs)).step(xs)"))
    }),
    (1, |writer| {
        let maybe = writer.place(Type::Maybe, true)?;
        Some(format!("{maybe}.get_or_insert_with(|| xs.sin()).shallow_clone()"))
    }),
    (1, |writer| {
        let parts = writer.place_of(&[Type::Parts, Type::LentParts], false)?;
        Some(format!("{parts}.iter().fold(xs.neg(), |sum, part| sum + &part.k * part.n)"))
    }),
    (1, |writer| {
        let maybe = writer.place(Type::MaybeLentPart, false)?;
        Some(format!("{maybe}.as_ref().map_or_else(|| xs.neg(), |part| part.key())"))
    }),
];

impl Writer {
    /// What the forward is lent, as parameters and arguments.
    pub(super) fn lent_parameters(&mut self) -> (String, String) {
        let (mut written, mut arguments) = (String::new(), String::new());
        if self.writes_self() {
            let fields = [
                ("self.count", Type::Int),
                ("self.kept", Type::Maybe),
                ("self.seen", Type::List),
                ("self.ints", Type::Ints),
                ("self.both", Type::MaybePair),
                ("self.kvs", Type::Entries),
                ("self.mem", Type::MaybePart),
            ];
            for (name, ty) in fields {
                self.scope.place(name, ty);
            }
        }
        if !self.is_lent() {
            return (written, arguments);
        }
        let count = 1 + usize::from(self.once_in(3));
        for (at, name) in ["s", "z"].into_iter().take(count).enumerate() {
            let row = if self.once_in(2) { self.below(3) } else { self.below(LENT.len()) };
            let (parameter, ty, argument, _) = LENT[row];
            self.scope.parameter(name, ty, ty == Type::MaybeLentPart);
            if parameter.starts_with('(') {
                self.scope.parameter(&format!("n{name}"), Type::LentInt, false);
            }
            let argument = argument.replace('@', &format!("state.{at}"));
            let _ = write!(written, ", {}", parameter.replace('$', name));
            let _ = write!(arguments, ", /*{at}.{row}*/ {argument}");
        }
        (written, arguments)
    }

    /// The name of a place of one of these types, to which is written or not.
    pub(super) fn place_of(&mut self, types: &[Type], writes: bool) -> Option<String> {
        if writes && self.nested > 1 {
            // What stands beside it may look there.
            return None;
        }
        let lends = |ty| matches!(ty, Type::LentKept | Type::LentPart | Type::LentParts | Type::LentMaybe);
        let is_it = |ty: Type, is_mut: bool| types.contains(&ty) && (!writes || is_mut || lends(ty));
        let inside = if writes { self.closed } else { 0 };
        let one = self.variable(|one| one.at >= inside && is_it(one.ty, one.is_mut))?;
        if writes {
            self.scope.free(one.at);
        }
        Some(one.name)
    }

    /// The name of a place of a type.
    pub(super) fn place(&mut self, ty: Type, writes: bool) -> Option<String> {
        self.place_of(&[ty], writes)
    }

    /// A struct within the state, or one like it.
    pub(super) fn part(&mut self, writes: bool) -> Option<String> {
        self.place_of(&[Type::Part, Type::LentPart, if writes { Type::LentPart } else { Type::SharedPart }], writes)
    }

    /// The whole state.
    pub(super) fn kept(&mut self, writes: bool) -> Option<String> {
        self.place_of(&[Type::LentKept, if writes { Type::LentKept } else { Type::SharedKept }], writes)
    }

    /// A tensor out of the state.
    pub(super) fn of_state(&mut self) -> Option<String> {
        self.choose(OF_STATE)
    }

    fn of_pair(&mut self) -> Option<String> {
        let pair = self.pair_place(true)?;
        Some(match self.below(5) {
            0 => format!("{pair}.as_ref().map_or_else(|| xs.neg(), |(one, other)| one * other)"),
            1 => format!("match &{pair} {{ Some((one, _)) => one.tanh(), None => xs.sin() }}"),
            2 => format!("if let Some((one, other)) = {pair}.take() {{ one + other }} else {{ xs.cos() }}"),
            3 => format!("{pair}.take().map_or_else(|| xs.neg(), |(one, _)| one)"),
            _ => format!("match {pair}.as_ref() {{ Some(pair) => &pair.0 - &pair.1, None => {} }}", self.tensor()),
        })
    }

    /// A pair that may be there.
    pub(super) fn pair_place(&mut self, writes: bool) -> Option<String> {
        let entry = self.place(Type::Entries, writes);
        if let Some(list) = entry.filter(|_| self.rng.bool()) {
            return Some(format!("{list}[{}]", self.below(3)));
        }
        self.place(Type::MaybePair, writes)
    }

    /// An argument of a type that is within the state.
    pub(super) fn of_lent(&mut self, ty: Type) -> Option<String> {
        match ty {
            Type::LentKept => {
                let name = self.kept(true)?;
                Some(if self.once_in(3) { format!("&mut *{name}") } else { name })
            }
            Type::SharedKept => {
                let one = self.variable(|one| matches!(one.ty, Type::LentKept | Type::SharedKept))?;
                Some(if one.ty == Type::LentKept { format!("&*{}", one.name) } else { one.name })
            }
            Type::LentPart => self.lent_part(),
            Type::SharedPart => {
                let one = self.variable(|one| matches!(one.ty, Type::Part | Type::LentPart | Type::SharedPart))?;
                Some(match one.ty {
                    Type::Part => format!("&{}", one.name),
                    Type::LentPart => format!("&*{}", one.name),
                    _ => one.name,
                })
            }
            Type::Part => Some(match self.below(3) {
                0 => format!("Part {{ k: {}, n: {}, o: {} }}", self.tensor(), self.int(), self.maybe()),
                1 => self
                    .place(Type::MaybePart, true)
                    .map(|one| format!("{one}.take().unwrap_or_else(|| Part::fresh(xs))"))?,
                _ => format!("Part::fresh({})", self.shared()),
            }),
            Type::MaybeLentPart => Some(match self.below(4) {
                0 => "None".to_owned(),
                1 => format!("{}.as_mut()", self.place(Type::MaybePart, true)?),
                2 => format!("{}.as_deref_mut()", self.place(Type::MaybeLentPart, true)?),
                _ => format!("Some({})", self.lent_part()?),
            }),
            Type::LentParts => {
                let one = self.variable(|one| {
                    matches!(one.ty, Type::Parts | Type::LentParts) && (one.is_mut || one.ty == Type::LentParts)
                })?;
                self.scope.free(one.at);
                Some(if one.ty == Type::LentParts { one.name } else { format!("&mut {}", one.name) })
            }
            Type::LentMaybe => {
                let one = self.variable(|one| (one.ty == Type::Maybe && one.is_mut) || one.ty == Type::LentMaybe)?;
                self.scope.free(one.at);
                Some(if one.ty == Type::LentMaybe { one.name } else { format!("&mut {}", one.name) })
            }
            Type::MaybePair => Some(match self.pair_place(true) {
                Some(pair) if self.rng.bool() => format!("{pair}.take()"),
                _ => format!("Some(({}, {}))", self.tensor(), self.tensor()),
            }),
            _ => None,
        }
    }

    /// `&mut Part`.
    pub(super) fn lent_part(&mut self) -> Option<String> {
        let one = self.variable(|one| (one.ty == Type::Part && one.is_mut) || one.ty == Type::LentPart)?;
        self.scope.free(one.at);
        if one.ty == Type::LentPart {
            return Some(one.name);
        }
        if let Some(kept) = self.kept(true).filter(|_| self.once_in(6)) {
            return Some(format!("{kept}.named({})", self.below(2)));
        }
        Some(format!("&mut {}", one.name))
    }
}
