//! What stands before a model that holds references or guards, and what guards do.

use super::references::replaced;
use super::{Type, Writer};

/// Types and functions of references, some of which nobody can know before they run.
pub(super) const ITEMS: &str = r#"
pub mod lend {
    use std::cell::{Cell, RefCell};

    use fx_runtime::Tensor;

    #[derive(Clone, Copy)]
    pub struct Pick<'a> { pub t: &'a Tensor, pub by: i64 }

    impl<'a> Pick<'a> {
        pub fn new(t: &'a Tensor, by: i64) -> Pick<'a> { Pick { t, by } }
        pub fn with(self, t: &'a Tensor) -> Pick<'a> { Pick { t, ..self } }
        pub fn tensor(&self) -> &'a Tensor { self.t }
    }

    #[derive(Clone)]
    pub enum Src<'a> { One(&'a Tensor), Two(&'a Tensor, &'a Tensor), Nothing }

    impl<'a> Src<'a> {
        pub fn of(t: Option<&'a Tensor>) -> Src<'a> {
            match t {
                Some(t) => Src::One(t),
                None => Src::Nothing,
            }
        }

        pub fn first(&self) -> &'a Tensor {
            match self {
                Src::One(t) | Src::Two(t, _) => t,
                Src::Nothing => panic!("no source"),
            }
        }

        pub fn or(&self, other: &'a Tensor) -> &'a Tensor {
            match self {
                Src::One(t) => t,
                Src::Two(_, t) => t,
                Src::Nothing => other,
            }
        }
    }

    pub fn set() -> Result<String, std::env::VarError> { std::env::var("FX_FUZZ_SET") }

    pub fn larger<'a>(one: &'a Tensor, other: &'a Tensor) -> &'a Tensor {
        if one.size()[0] > 2 { one } else { other }
    }

    pub fn either<'a>(one: &'a Tensor, other: &'a Tensor) -> &'a Tensor {
        if std::env::var("FX_FUZZ_SET").is_ok() { one } else { other }
    }

    pub fn minmax<'a>(one: &'a Tensor, other: &'a Tensor) -> (&'a Tensor, &'a Tensor) {
        let (mut low, mut high) = (one, other);
        if high.size()[0] < 3 { (low, high) = (high, low); }
        (low, high)
    }

    pub fn at<'a>(all: &[&'a Tensor], at: usize) -> &'a Tensor { all[at % all.len()] }

    pub fn found<'a>(all: &[&'a Tensor], rows: i64) -> Option<&'a Tensor> {
        for t in all {
            if t.size()[0] == rows { return Some(t); }
        }
        None
    }

    pub fn sorted<'a>(mut all: Vec<&'a Tensor>) -> Vec<&'a Tensor> {
        all.sort_by_key(|t| t.numel());
        all
    }

    pub fn listed<'a>(one: &'a Tensor, other: &'a Tensor) -> Vec<&'a Tensor> {
        if std::env::var("FX_FUZZ_SET").is_ok() { vec![one, other] } else { vec![other, one] }
    }

    pub fn noted<'a>(log: &mut Vec<&'a Tensor>, t: &'a Tensor) -> &'a Tensor {
        log.push(t);
        t
    }

    pub fn noted_or<'a>(log: &mut Vec<&'a Tensor>, t: &'a Tensor) -> &'a Tensor {
        if std::env::var("FX_FUZZ_SET").is_err() { log.push(t); }
        t
    }

    pub fn weighed(t: &Tensor, by: i64) -> (&Tensor, i64) { (t, by + 1) }

    pub fn swapped<'a>(pick: Pick<'a>, other: &'a Tensor) -> Pick<'a> {
        if std::env::var("FX_FUZZ_SET").is_ok() { pick } else { Pick { t: other, by: pick.by } }
    }

    pub fn source<'a>(one: &'a Tensor, other: &'a Tensor) -> Src<'a> {
        match one.size()[0] {
            2 => Src::One(other),
            _ => Src::Two(other, one),
        }
    }

    pub fn checked(t: &Tensor, by: i64) -> Result<&Tensor, i64> { if by > 1 { Err(by) } else { Ok(t) } }

    pub fn logged(xs: &Tensor, log: &mut Vec<Tensor>, other: Option<&Tensor>) -> Tensor {
        if let Some(other) = other { log.push(other * 2.0); }
        xs.relu()
    }

    pub fn silent(xs: &Tensor, _log: &mut Vec<Tensor>) -> Tensor { xs.sin() }

    pub struct Guard<'a>(pub &'a Cell<i64>);

    impl Drop for Guard<'_> {
        fn drop(&mut self) { self.0.set(self.0.get() * 2 % 17 + 1); }
    }

    pub struct Timer<'a> { pub log: &'a RefCell<Vec<i64>>, pub by: i64 }

    impl<'a> Timer<'a> {
        pub fn new(log: &'a RefCell<Vec<i64>>, by: i64) -> Timer<'a> { Timer { log, by: by + log.borrow().len() as i64 } }
    }

    impl Drop for Timer<'_> {
        fn drop(&mut self) { self.log.borrow_mut().push(self.by); }
    }

    pub fn timed<R>(log: &RefCell<Vec<i64>>, run: impl FnOnce() -> R) -> R {
        let _timer = Timer::new(log, 1);
        run()
    }
}
"#;

/// What makes a guard.
const COUNTED: &[&str] = &["lend::Guard(&$)", "lend::Guard { 0: &$ }"];
const TIMED: &[&str] = &["lend::Timer::new(&$, 2)", "lend::Timer { log: &$, by: 3 }"];

/// How long it lives around a tensor.
const GUARDED: &[&str] = &[
    "{ let _guard = GUARD; T }",
    "{ let _guard = GUARD; T * (LEFT) }",
    "{ let _ = GUARD; T * (LEFT) }",
    "{ let _one = GUARD; let _other = GUARD; T }",
    "{ let guard = GUARD; let t = T; drop(guard); t * (LEFT) }",
    "{ let t = { let _guard = GUARD; T }; t * (LEFT) }",
    "{ let mut t = T; for _ in 0..2 { let _guard = GUARD; t = t * (LEFT); } t }",
    "{ let mut t = T; for _ in 0..xs.size()[0] { let _guard = GUARD; t = t.tanh(); } t }",
    "if xs.size()[0] > 2 { let _guard = GUARD; T } else { xs.neg() }",
    "match xs.size()[0] { 2 => { let _guard = GUARD; T } _ => T * (LEFT) }",
    "{ let _guard = (xs.size()[0] > 2).then(|| GUARD); T }",
    "{ let run = || { let _guard = GUARD; T }; run() + run() }",
];

/// The names of the prelude that a module may shadow, and what by.
const SHADOWS: &[(&str, &str)] = &[
    ("Ok", "pub fn Ok<T>(value: T) -> Result<T, String> { Result::Ok(value) }"),
    ("drop", "pub fn drop<T>(value: T) -> T { value }"),
    ("Err", "pub struct Err;"),
    ("Into", "pub trait Into {}"),
    ("AsRef", "pub trait AsRef {}"),
    ("ToOwned", "pub trait ToOwned {}"),
    ("IntoIterator", "pub trait IntoIterator {}"),
    ("Iterator", "pub trait Iterator {}"),
    ("Box", "pub struct Box;"),
    ("String", "pub struct String;"),
    ("Result", "pub type Result<T> = std::result::Result<T, i64>;"),
    ("Send", "pub trait Send {}"),
    ("Fn", "pub trait Fn {}"),
];

impl Writer {
    /// A guard in an inner block, and what it leaves behind.
    pub(super) fn guarded(&mut self) -> Option<String> {
        self.counted += 1;
        let cell = format!("cell{}", self.counted);
        let is_timer = self.once_in(2);
        let (made, left) = if is_timer {
            let told = self.one_of(&["RefCell::new(Vec::<i64>::new())", "RefCell::<Vec<i64>>::default()"]);
            (told, format!("{cell}.borrow().iter().sum::<i64>() + 1"))
        } else {
            ("Cell::new(1i64)", format!("{cell}.get()"))
        };
        let row = self.one_of(GUARDED);
        let guard = self.one_of(if is_timer { TIMED } else { COUNTED }).replace('$', &cell);
        let tensor = self.kept_tensor();
        let timed = is_timer && self.once_in(4);
        let row = if timed { "lend::timed(&$, || T)".replace('$', &cell) } else { row.to_owned() };
        let value = row.replace("LEFT", &left).replace("GUARD", &guard);
        let value = replaced(&value, |word| (word == "T").then(|| format!("({tensor})")));
        let (_, pattern) = self.declared(Type::Tensor);
        let (_, number) = self.declared(Type::Int);
        Some(format!("let {cell} = {made}; let {pattern} = {value}; let {number} = {left};"))
    }

    /// A list that a helper may write to and that stays empty.
    pub(super) fn logged(&mut self) -> Option<String> {
        let (xs, maybe) = (self.shared(), self.maybe_shared());
        let list = self.one_of(&["vec![]", "Vec::new()", "Vec::with_capacity(2)", "Default::default()"]);
        let call = self.one_of(&[
            "lend::logged(&t, &mut log, None)",
            "lend::silent(&t, &mut log)",
            "lend::logged(&t, &mut log, M)",
        ]);
        let call = call.replace('M', &maybe);
        let way = self.one_of(&["t = CALL;", "for _ in 0..2 { t = CALL; }", "for _ in 0..xs.size()[0] { t = CALL; }"]);
        let end = self.one_of(&["t", "t * (log.len() as i64 + 1)", "log.pop().unwrap_or(t)"]);
        Some(format!("{{ let mut log = {list}; let mut t = ({xs}).tanh(); {} {end} }}", way.replace("CALL", &call)))
    }

    /// An item that shadows a name of the prelude which the body does not use.
    pub(super) fn shadow(&mut self, body: &str) -> &'static str {
        let (name, item) = SHADOWS[self.below(SHADOWS.len())];
        let is_pattern = name == "Ok" && (body.contains("Ok(t)") || body.contains("let Ok("));
        let is_used = !matches!(name, "Ok" | "drop") && super::scope::mentions(body, name);
        if is_pattern || is_used { "" } else { item }
    }
}
