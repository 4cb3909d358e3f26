//! Code as real crates of tch models have it.
//!
//! Chains in lists, arrays and enums, modules and closures behind pointers, what may be missing, errors without
//! `Display`, checks in arms that yield tuples, caches and states of recurrent layers.

use super::{Write, Writer, Yields};

/// What stands before a model that has such code.
pub(super) const ITEMS: &str = r#"
pub mod real {
    use std::fmt;

    use fx_runtime::{Module, Tensor, nn};

    #[derive(Debug)]
    pub struct Missing;

    impl From<Missing> for String {
        fn from(missing: Missing) -> String { format!("{missing:?}") }
    }

    #[derive(Debug, Clone, Copy, Module)]
    pub enum Act { Tanh, Silu }

    impl nn::Module for Act {
        fn forward(&self, xs: &Tensor) -> Tensor {
            match self {
                Act::Tanh => xs.tanh(),
                Act::Silu => xs.silu(),
            }
        }
    }

    #[derive(Debug, Module)]
    pub enum Unit {
        Normed { fc: nn::Linear, bn: nn::BatchNorm, skip: bool },
        Gated(nn::Linear, Act),
        Chain { body: nn::Sequential, skip: bool },
    }

    impl Unit {
        pub fn new(p: nn::Path, at: usize, skip: bool) -> Unit {
            match at % 3 {
                0 => Unit::Normed { fc: linear(&p / "fc"), bn: nn::batch_norm1d(&p / "bn", 8, Default::default()), skip },
                1 => Unit::Gated(linear(&p / "fc"), Act::Silu),
                _ => Unit::Chain { body: branch(p), skip },
            }
        }
    }

    impl nn::ModuleT for Unit {
        fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
            match self {
                Unit::Normed { fc, bn, skip } => {
                    let mut ys = xs.apply(fc).apply_t(bn, train);
                    if *skip { ys += xs; }
                    ys.relu()
                }
                Unit::Gated(fc, act) => {
                    let mut ys = xs.apply(fc).apply(act);
                    if xs.dim() == 2 { ys += xs; }
                    ys
                }
                Unit::Chain { body, skip } => {
                    let ys = body.forward(xs);
                    if *skip { return ys + xs; }
                    ys
                }
            }
        }
    }

    #[derive(Debug, Module)]
    pub struct Tree { fc: nn::Linear, below: nn::Sequential }

    impl Tree {
        pub fn new(p: nn::Path, depth: usize) -> Tree {
            let fc = linear(&p / "fc");
            let mut below = nn::seq();
            if depth > 0 { below = below.add(Tree::new(&p / "below", depth - 1)); }
            Tree { fc, below }
        }
    }

    impl nn::Module for Tree {
        fn forward(&self, xs: &Tensor) -> Tensor { xs.apply(&self.fc).tanh().apply(&self.below) }
    }

    #[derive(Module)]
    pub struct Closed { act: Box<dyn Fn(&Tensor) -> Tensor + Send + Sync> }

    impl fmt::Debug for Closed {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str("Closed") }
    }

    impl Closed {
        pub fn new(by: f64) -> Closed { Closed { act: Box::new(move |xs| xs.relu() * by) } }
        pub fn forward(&self, xs: &Tensor) -> Tensor { (self.act)(xs) }
    }

    pub struct Config { pub by: f64 }

    impl Config {
        pub fn made(&self, p: nn::Path) -> nn::FuncT<'static> {
            let (fc, by) = (linear(p), self.by);
            nn::func_t(move |xs, train| xs.apply(&fc).dropout(0.5, train) * by)
        }
    }

    pub fn linear(p: nn::Path) -> nn::Linear { nn::linear(p, 8, 8, Default::default()) }

    pub fn branch(p: nn::Path) -> nn::Sequential { nn::seq().add(linear(&p / 0)).add_fn(|xs| xs.relu()) }

    pub fn stage(p: nn::Path) -> nn::SequentialT {
        nn::seq_t()
            .add(linear(&p / "fc"))
            .add(nn::batch_norm1d(&p / "bn", 8, Default::default()))
            .add(nn::func_t(|xs, train| xs.dropout(0.5, train)))
    }

    pub fn nested(p: nn::Path, depth: usize) -> nn::SequentialT {
        let mut seq = nn::seq_t().add(stage(&p / "stem"));
        for at in 0..depth { seq = seq.add(stage(&p / at)); }
        seq.add(branch(&p / "last"))
    }

    pub fn looked(fc: Option<&nn::Linear>, xs: &Tensor) -> Result<Tensor, Missing> {
        let fc = fc.ok_or_else(|| Missing)?;
        Ok(applied(fc, xs))
    }

    pub fn started(fc: Option<&nn::Linear>, more: &[nn::Linear], xs: &Tensor) -> Tensor {
        let mut h = match fc {
            Some(fc) => xs.apply(fc),
            None => return xs.neg(),
        };
        for fc in more { h = h.relu().apply(fc); }
        h
    }

    pub fn applied(fc: &nn::Linear, xs: &Tensor) -> Tensor { xs.apply(fc) }

    pub fn joined(xs: &Tensor, past: Option<&Tensor>, by: i64) -> Result<(Tensor, Tensor), Missing> {
        let (k, v) = match past {
            Some(past) => {
                assert_eq!(past.dim(), xs.dim(), "{:?}", past.size());
                if by > 90 { return Err(Missing); }
                (past + xs, past.neg())
            }
            None if by > 90 => return Err(Missing),
            None => (xs.sin(), xs * by),
        };
        Ok((k, v))
    }

    pub fn stepped(xs: &Tensor, past: Option<Tensor>, by: i64) -> (Tensor, Option<Tensor>) {
        let ys = match &past {
            Some(past) => past * 0.5 + xs,
            None => xs.tanh(),
        };
        (ys.shallow_clone(), (by > 0).then_some(ys))
    }
}
"#;

/// Fields as those of `model.rs`.
pub(super) const FIELDS: &[(&str, &str, &str)] = &[
    ("act", "real::Act", "if variant == 1 { real::Act::Silu } else { real::Act::Tanh }"),
    (
        "units",
        "Vec<real::Unit>",
        "(0..=variant).map(|at| real::Unit::new(p / \"units\" / at, at, variant == 2)).collect()",
    ),
    ("stages", "Vec<nn::SequentialT>", "(0..variant).map(|at| real::stage(p / \"stages\" / at)).collect()"),
    ("branches", "[nn::Sequential; 2]", "[real::branch(p / \"left\"), real::branch(p / \"right\")]"),
    ("nested", "nn::SequentialT", "real::nested(p / \"nested\", variant)"),
    ("tree", "real::Tree", "real::Tree::new(p / \"tree\", variant)"),
    (
        "boxed",
        "Box<dyn nn::Module>",
        "if variant == 1 { Box::new(real::Tree::new(p / \"boxed\", 1)) } else { Box::new(linear(p / \"boxed\")) }",
    ),
    ("arc", "std::sync::Arc<dyn nn::Module>", "std::sync::Arc::new(linear(p / \"arc\"))"),
    ("closed", "real::Closed", "real::Closed::new(0.5)"),
    ("made", "nn::FuncT<'static>", "real::Config { by: 0.5 }.made(p / \"made\")"),
    ("vs", "nn::VarStore", "nn::VarStore::new(p.device())"),
    (
        "conv",
        "nn::Conv<[i64; 2]>",
        "nn::conv(p / \"conv\", 1, 1, [1, 3], nn::ConvConfigND::<[i64; 2]> { stride: [1, 1], padding: [0, 1], dilation: [1, 1], ..Default::default() })",
    ),
    ("lstm", "nn::LSTM", "nn::lstm(p / \"lstm\", 8, 8, Default::default())"),
    ("gru", "nn::GRU", "nn::gru(p / \"gru\", 8, 8, Default::default())"),
    ("recurrent", "Option<nn::LSTMState>", "None"),
];

/// What the model's fields compute of a tensor.
const OF_FIELDS: &[&str] = &[
    "({}).apply(&self.act)",
    "nn::ModuleT::forward_t(&self.act, {}, false)",
    "({}).apply_t(&self.act, false)",
    "self.units.iter().fold(({}).tanh(), |x, unit| x.apply_t(unit, false))",
    "{ let mut z = ({}).sin(); for unit in &self.units { z = nn::ModuleT::forward_t(unit, &z, false); } z }",
    "self.stages.iter().fold(({}).cos(), |x, stage| x.apply_t(stage, false))",
    "{ let mut z = ({}).sin(); for stage in &self.stages { z = z.apply_t(stage, false); } z }",
    "self.branches.iter().map(|branch| ({}).apply(branch)).reduce(|a, b| a + b).unwrap()",
    "({}).apply(&self.branches[1])",
    "({}).apply_t(&self.nested, false)",
    "({}).apply(&self.tree)",
    "self.boxed.forward({})",
    "self.arc.forward({})",
    "self.closed.forward({})",
    "({}).apply_t(&self.made, false)",
    "(({}) + Tensor::ones([1], (self.vs.kind(), self.vs.device())))",
    "({}).unsqueeze(1).unsqueeze(1).apply(&self.conv).squeeze_dim(1).squeeze_dim(1)",
    "(({}) * Tensor::from_slice(&[self.scale]).to_kind(xs.kind()))",
    "real::looked(self.extra.as_ref(), {})?",
    "real::started(self.extra.as_ref(), &self.layers, {})",
    "{ let one = Some(({}).tanh()); self.extra.as_ref().zip(one.as_ref()).map_or_else(|| xs.neg(), |(fc, one)| one.apply(fc)) }",
    "{ let one = Some(({}).sin()); if let Some((fc, one)) = self.extra.as_ref().zip(one.as_ref()) { one.apply(fc) } \
     else { xs.cos() } }",
    "{ let mut v: Vec<f32> = Vec::new(); for i in 0..8 { v.push(if i % 3 == 0 { 1.0 } else { i as f32 }); } \
     ({}) - Tensor::from_slice(&v).to_kind(xs.kind()) }",
    "{ let step = if self.n == 1 { 0.5 } else { self.scale as f32 }; ({}) * (step * 2.0 * self.n as f32) as f64 }",
    "{ let mut sum = 0.0; for i in 0..self.n { sum += i as f32 * 0.5; } ({}) + sum as f64 }",
    "(({}) * Tensor::from_slice(&[1.0f32, 0.5, 2.0, 0.25, 1.0, 0.0, 3.0, 1.5]).to_kind(xs.kind()))",
    "{ let mut z = ({}).sin(); let mut at = 0; for _ in 0..self.layers.len() { z = z.apply(&self.layers[at]).tanh(); \
     at += 1; } z + at as f64 }",
    "{ let mut z = ({}).cos(); let mut at = 0; for fc in self.layers.iter() { z = z.apply(fc).tanh() * 0.5; at += 1; \
     z = z + at as f64; z = z.apply(&self.layers[at - 1]).tanh(); } z }",
    "{ let z = ({}).cos(); #[cfg(debug_assertions)] { assert!(z.size()[0] > 0, \"{:?}\", z.size()); } z }",
    "{ let mut state: Option<nn::LSTMState> = None; for _ in 0..2 { let next = match &state { \
     Some(state) => nn::RNN::step(&self.lstm, {}, state), \
     None => nn::RNN::step(&self.lstm, {}, &nn::RNN::zero_state(&self.lstm, xs.size()[0])) }; \
     state = Some(next); } state.unwrap().h().squeeze_dim(0) }",
    "{ let zero = nn::RNN::zero_state(&self.gru, xs.size()[0]); \
     nn::RNN::step(&self.gru, {}, &zero).value().squeeze_dim(0) }",
];

const PATTERNS: &[(usize, Write)] = &[
    (26, Writer::of_field),
    (2, Writer::or_missing),
    (2, Writer::joined_arms),
    (2, Writer::carried_option),
    (2, Writer::optional_cache),
];

impl Writer {
    /// A tensor by code as real models have it.
    pub(super) fn pattern(&mut self) -> Option<String> {
        self.choose(PATTERNS)
    }

    /// What stands behind a result.
    fn or_leave(&self) -> &'static str {
        if self.yields == Some(Yields::Fallible) { "?" } else { ".unwrap()" }
    }

    fn of_field(&mut self) -> Option<String> {
        if !self.has_self {
            return None;
        }
        let text = self.one_of(OF_FIELDS).replace("{}", &self.shared());
        (!text.ends_with('?') || self.yields == Some(Yields::Fallible)).then_some(text)
    }

    fn or_missing(&mut self) -> Option<String> {
        let maybe = self.maybe();
        (self.yields == Some(Yields::Fallible)).then(|| format!("({maybe}).ok_or(real::Missing)?"))
    }

    fn joined_arms(&mut self) -> Option<String> {
        let (xs, past, by) = (self.shared(), self.maybe_shared(), self.int());
        Some(format!("{{ let (k, v) = real::joined({xs}, {past}, {by}){}; k.tanh() - v }}", self.or_leave()))
    }

    /// An option that a loop hands from one iteration to the next.
    fn carried_option(&mut self) -> Option<String> {
        let (first, by) = (self.tensor(), self.below(3));
        let step = self.one_of(&[
            "(h, past) = real::stepped(&h, past, at - by);",
            "let (ys, next) = real::stepped(&h, past, at - by); h = ys; past = next;",
            "let (ys, next) = real::stepped(&h, past.take(), at); h = ys * 0.5; if at > by { past = next; }",
        ]);
        Some(format!(
            "{{ let (mut h, mut past, by) = ({first}, None::<Tensor>, {by}); for at in 0..3i64 {{ {step} }} \
             past.map_or_else(|| h.neg(), |past| past - &h) }}"
        ))
    }

    /// A list that may be there, of which an element is written.
    fn optional_cache(&mut self) -> Option<String> {
        let (is, first, value) = (self.boolean(), self.kept_tensor(), self.tensor());
        let of = self.one_of(&["Some(c) = &mut cache", "Some(c) = cache.as_mut()"]);
        let write = self.one_of(&["c[i] = value;", "c[i] += value;", "c[1 - i] = &c[i] + value;"]);
        Some(format!(
            "{{ let (value, i) = ({value}, {}); let mut cache = ({is}).then(|| vec![{first}, xs.neg()]); \
             if let {of} {{ {write} }} cache.map_or_else(|| xs.cos(), |c| &c[0] - &c[1]) }}",
            self.below(2)
        ))
    }

    /// The state of a recurrent layer as a field, begun anew where the batch is another.
    pub(super) fn recurrent_write(&mut self) -> String {
        let state = self.one_of(&[
            "match &self.recurrent { Some(state) => nn::LSTMState((state.h(), state.c())), None => zero }",
            "self.recurrent.take().unwrap_or(zero)",
        ]);
        format!(
            "{{ if self.recurrent.as_ref().is_some_and(|state| state.h().size()[1] != xs.size()[0]) {{ self.recurrent = None; }} \
             let zero = nn::RNN::zero_state(&self.lstm, xs.size()[0]); let state = {state}; \
             let next = nn::RNN::step(&self.lstm, xs, &state); \
             self.total = next.h().squeeze_dim(0).mean_dim(0i64, true, xs.kind()); self.recurrent = Some(next); }}"
        )
    }
}
