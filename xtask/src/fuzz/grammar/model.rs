//! A body: a model with its layers, its helpers and its forward, in a file of its own.

use super::scope::mentions;
use super::{State, Type, Write, Writer, Yields, cells, lend, lent, patterns};

/// The model's fields: what it is called, its type, and how it is made from the variable `variant`.
const FIELDS: &[(&str, &str, &str)] = &[
    ("fc", "nn::Linear", "linear(p / \"fc\")"),
    ("norm", "nn::LayerNorm", "nn::layer_norm(p / \"norm\", vec![8], Default::default())"),
    ("bn", "nn::BatchNorm", "nn::batch_norm1d(p / \"bn\", 8, Default::default())"),
    ("seq", "nn::Sequential", "nn::seq().add(linear(p / \"s0\")).add_fn(|xs| xs.tanh()).add(linear(p / \"s1\"))"),
    ("layers", "Vec<nn::Linear>", "(0..variant).map(|at| linear(p / at)).collect()"),
    ("extra", "Option<nn::Linear>", "(variant > 0).then(|| linear(p / \"extra\"))"),
    ("table", "nn::Embedding", "nn::embedding(p / \"table\", 4, 8, Default::default())"),
    ("dropout", "nn::Dropout", "nn::dropout(0.5)"),
    ("weight", "Tensor", "p.randn_standard(\"weight\", &[8])"),
    ("inner", "Inner", "Inner { fc: linear(p / \"inner\"), is_deep: variant == 1 }"),
    (
        "stage",
        "Stage",
        "match variant { 0 => Stage::Skip, 1 => Stage::Fc(linear(p / \"stage\")), _ => Stage::Both(linear(p / \"x\"), linear(p / \"y\")) }",
    ),
    (
        "blocks",
        "Vec<Gated>",
        "(0..=variant).map(|at| Gated { fc: linear(p / \"block\" / at), mode: [Mode::Plain, Mode::Times(2)][at % 2], skip: at > 0 }).collect()",
    ),
    ("flag", "bool", "variant == 1"),
    ("n", "i64", "variant as i64 + 1"),
    ("scale", "f64", "0.5 + variant as f64"),
    ("mode", "Mode", "[Mode::Plain, Mode::Times(2), Mode::Both { by: 0.5, is: true }][variant]"),
    ("maybe", "Option<i64>", "[None, Some(1), Some(4)][variant]"),
    ("count", "i64", "variant as i64"),
    ("kept", "Option<Tensor>", "None"),
    ("total", "Tensor", "p.zeros_no_train(\"total\", &[1, 8])"),
    ("seen", "Vec<Tensor>", "Vec::new()"),
    ("ints", "Vec<i64>", "vec![1; variant]"),
    ("both", "Option<(Tensor, Tensor)>", "None"),
    ("kvs", "Vec<Option<(Tensor, Tensor)>>", "vec![None, None, None]"),
    ("mem", "Option<Part>", "None"),
];

/// Fields that are no parts of the module.
const SKIPPED: &[&str] = &["kept", "seen", "ints", "both", "kvs", "mem", "recurrent"];

const LAYERED: &[(usize, Write)] = &[
    (4, |writer| writer.layer_on("self.fc.forward({})")),
    (2, |writer| writer.layer_on("({}).apply(&self.fc)")),
    (2, |writer| writer.layer_on("self.norm.forward({})")),
    (2, |writer| writer.layer_on("({}).apply_t(&self.bn, false)")),
    (2, |writer| writer.layer_on("self.seq.forward({})")),
    (1, |writer| writer.layer_on("self.dropout.forward({})")),
    (2, |writer| writer.layer_on("self.inner.forward({})")),
    (1, |writer| writer.layer_on("({}) * &self.weight")),
    (1, |writer| writer.layer_on("self.layers.iter().fold(({}).tanh(), |sum, layer| layer.forward(&sum))")),
    (1, |writer| writer.layer_on("self.layers.first().map_or_else(|| xs.neg(), |layer| layer.forward({}))")),
    (1, |_| Some("self.table.forward(&Tensor::arange(xs.size()[0], (Kind::Int64, xs.device())))".to_owned())),
    (1, |writer| writer.layer_on("match &self.extra { Some(layer) => layer.forward({}), None => xs.cos() }")),
    (2, |writer| writer.layer_on("self.stage.forward({})")),
    (2, |writer| writer.layer_on("self.blocks.iter().fold(({}).tanh(), |x, b| nn::Module::forward(b, &x))")),
    (1, |writer| writer.layer_on("self.blocks.iter().fold(({}).cos(), |x, b| x.apply(b))")),
    (1, |writer| {
        writer.layer_on("{ let mut z = ({}).sin(); for b in &self.blocks { z = nn::Module::forward(b, &z); } z }")
    }),
];

/// What stands before the model in every body.
const ITEMS: &str = r#"
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use fx_runtime::{Kind, Module, Tensor, nn, traceable};
use tch::IndexOp;

const STEPS: i64 = 2;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mode { Plain, Times(i64), Both { by: f64, is: bool } }

#[derive(Debug)]
pub struct Held { h: Tensor, o: Option<Tensor>, n: i64 }

impl Held {
    fn step(&mut self, xs: &Tensor) {
        self.n += 1;
        self.h = (&self.h + xs).tanh();
    }

    fn with(mut self, h: Tensor) -> Held {
        self.o = Some(std::mem::replace(&mut self.h, h));
        self
    }
}

#[derive(Debug, Module)]
pub struct Inner { fc: nn::Linear, is_deep: bool }

impl Inner {
    fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.fc.forward(xs);
        if self.is_deep {
            return self.fc.forward(&ys.relu());
        }
        ys.tanh()
    }
}

#[derive(Debug, Module)]
pub enum Stage { Fc(nn::Linear), Both(nn::Linear, nn::Linear), Skip }

impl Stage {
    fn forward(&self, xs: &Tensor) -> Tensor {
        match self {
            Stage::Fc(fc) => fc.forward(xs),
            Stage::Both(first, second) => second.forward(&first.forward(xs).relu()),
            Stage::Skip => xs.shallow_clone(),
        }
    }
}

#[derive(Debug, Module)]
pub struct Gated { fc: nn::Linear, mode: Mode, skip: bool }

impl nn::Module for Gated {
    fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let mut ys = match self.mode { Mode::Plain => ys.silu(), Mode::Times(k) => ys * k, _ => ys };
        if self.skip { ys += xs; }
        ys
    }
}

pub mod far {
    use fx_runtime::{Device, Kind, Tensor};

    const WIDTH: i64 = 8;
    const SCALE: f64 = 0.5;

    #[derive(Debug)]
    pub enum Fault { Rank(usize), Width { found: i64 }, Told(String) }

    impl From<Fault> for String {
        fn from(fault: Fault) -> String { format!("{fault:?}") }
    }

    pub fn checked(xs: &Tensor, by: &i64) -> Tensor {
        assert!(xs.dim() < 9, "{} dimensions of {:?}", xs.dim(), xs.size());
        assert_eq!(xs.size().last().copied().unwrap_or(WIDTH), WIDTH, "not {WIDTH}: {by}");
        match *by { 0 => xs * SCALE, 1 => xs.neg(), by => { assert_ne!(by, 100); xs + by % 3 } }
    }

    pub fn placed(xs: &Tensor, kind: &Kind, device: &Device) -> Tensor { xs + Tensor::ones([1], (*kind, *device)) }

    pub fn ranked(xs: &Tensor, by: i64) -> Result<Tensor, Fault> {
        match xs.size().len() {
            2 if by < 3 => Ok(xs * by),
            2 => Ok(xs.cos()),
            0 => Err(Fault::Told(format!("no rank, {by}"))),
            n => Err(Fault::Rank(n)),
        }
    }

    pub fn wide(xs: &Tensor) -> Result<(Tensor, i64), Fault> {
        let found = xs.size().last().copied().unwrap_or(0);
        if found != WIDTH { return Err(Fault::Width { found }); }
        Ok((xs.sin(), found))
    }
}

fn linear(p: nn::Path) -> nn::Linear { nn::linear(p, 8, 8, Default::default()) }
"#;

/// What forward takes beside `xs`: its type, and the argument.
const PARAMETERS: &[(Type, &str)] = &[
    (Type::Shared, "&*y"),
    (Type::Tensor, "y.shallow_clone()"),
    (Type::Lent, "y"),
    (Type::MaybeShared, "(variant > 0).then_some(&*y)"),
    (Type::Maybe, "(variant > 1).then(|| y.copy())"),
    (Type::Int, "variant as i64"),
    (Type::Bool, "variant == 1"),
    (Type::MaybeInt, "(variant > 0).then_some(2)"),
    (Type::Slice, "&[x.neg(), y.copy()]"),
    (Type::Mode, "[Mode::Times(1), Mode::Plain, Mode::Times(0)][variant]"),
];

/// The source of body `number`, the same for the same seed.
pub(in crate::fuzz) fn body(seed: u64, number: usize) -> String {
    let mut writer = Writer::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number as u64);
    let net = format!("B{number}");
    match writer.below(8) {
        0 => writer.state = State::Own,
        1 => writer.state = State::Cells,
        2..=4 => writer.state = State::Lent,
        _ => {}
    }
    let (mut functions, mut methods) = (String::new(), String::new());
    for number in 0..writer.below(4) {
        let helper = writer.helper(number);
        if helper.contains("&self,") { &mut methods } else { &mut functions }.push_str(&helper);
    }
    let Forward { text: forward, arguments, parameters } = writer.forward();
    // What is lent may be what is handed over beside it.
    let is_shared = lent::lends_kept(&arguments) && writer.once_in(4);
    let shares = if is_shared { "if variant == 2 { state.0.h = x.shallow_clone(); }" } else { "" };
    let used = |name: &str| {
        mentions(&forward.replace("self.", "self_"), &format!("self_{name}"))
            || mentions(&methods.replace("self.", "self_"), &format!("self_{name}"))
    };
    let fields: Vec<_> =
        FIELDS.iter().chain(patterns::FIELDS).chain(cells::FIELDS).filter(|(name, ..)| used(name)).collect();
    let types = fields.iter().map(|(name, ty, _)| {
        let skip = if SKIPPED.contains(name) { "#[module(skip)] " } else { "" };
        format!("{skip}{name}: {ty},\n")
    });
    let made: String = fields.iter().flat_map(|(name, _, made)| [name, ": ", made, ",\n"]).collect();
    let is_real = [&functions, &methods, &forward, &made].iter().any(|text| text.contains("real::"));
    let real = if is_real { patterns::ITEMS } else { "" };
    let is_lend = [&functions, &methods, &forward].iter().any(|text| text.contains("lend::"));
    let lend = if is_lend { lend::ITEMS } else { "" };
    let shadow = if writer.once_in(16) {
        writer.shadow(&[&functions, &methods, &forward, &made].map(String::as_str).concat())
    } else {
        ""
    };
    let items = if writer.is_lent() || writer.writes_self() { lent::ITEMS } else { "" };
    let check = match (writer.writes_self() || writer.has_cells(), writer.is_lent()) {
        (true, _) => format!("stateful!({net}, |net, variant, x, y| net.forward(x{arguments}))"),
        (_, true) => format!(
            "lent!({net}, |net, variant, x, y, state| {{ {shares} net.forward(x{arguments}) }}, {})",
            lent::made(&arguments)
        ),
        _ => format!("body!({net}, |net, variant, x, y| net.forward(x{arguments}))"),
    };
    let is_part = !writer.is_lent() && writer.once_in(4);
    let (name, traceable) = if is_part { ("Whole", "") } else { (net.as_str(), "#[traceable]") };
    let model = format!(
        "{ITEMS}\n{items}\n{real}\n{lend}\n{shadow}\n{functions}\n#[derive(Debug, Module)]\npub struct {name} {{ {} }}\n\
         impl {name} {{ pub fn new(p: &nn::Path, variant: usize) -> Self {{ Self {{ {made} }} }} {methods} }}\n\
         {traceable}\nimpl {name} {{ {forward} }}\n",
        types.collect::<String>(),
    );
    let model = if is_part { around(&model, &net, &forward, &parameters) } else { model };
    format!("{model}\ncrate::{check};\n")
}

/// A model whose only part is the one of the module, all of which but its type and its forward is private.
fn around(part: &str, net: &str, forward: &str, parameters: &[String]) -> String {
    let head = forward.split(" {").next().unwrap_or_default().replace("mut p:", "p:");
    let head = head.replace("mut q:", "q:").replace("mut r:", "r:");
    format!(
        "mod model {{ {part} }}\nuse fx_runtime::{{Module, Tensor, nn, traceable}};\nuse model::Mode;\n\
         #[derive(Debug, Module)]\npub struct {net} {{ part: model::Whole }}\n\
         impl {net} {{ fn new(p: &nn::Path, variant: usize) -> Self {{ Self {{ part: model::Whole::new(p, variant) }} }} }}\n\
         #[traceable]\nimpl {net} {{ {head} {{ self.part.forward(xs, {}) }} }}\n",
        parameters.join(", ")
    )
}

/// A forward.
struct Forward {
    text: String,
    /// What is handed to it behind `xs`.
    arguments: String,
    /// The names of the parameters behind `xs`.
    parameters: Vec<String>,
}

impl Writer {
    fn forward(&mut self) -> Forward {
        self.has_self = true;
        self.scope.parameter("xs", Type::Shared, false);
        let (mut written, mut arguments) = self.lent_parameters();
        let count = if self.writes_self() || self.has_cells() { 0 } else { self.below(4) };
        let mut parameters = Vec::new();
        for name in ["p", "q", "r"].into_iter().take(count) {
            let (ty, argument) = PARAMETERS[self.below(PARAMETERS.len())];
            // What is lent to be written is carried along whole, and hides the rest.
            if ty == Type::Lent && (self.is_lent() || written.contains("&mut") || !self.once_in(6)) {
                continue;
            }
            let is_mut = matches!(ty, Type::Tensor | Type::Maybe | Type::Int);
            self.scope.parameter(name, ty, is_mut);
            parameters.push(name.to_owned());
            let mutable = if is_mut { "mut " } else { "" };
            written += &[", ", mutable, name, ": ", ty.written()].concat();
            arguments += &[", ", argument].concat();
        }
        if written.contains("&mut") && !self.is_lent() {
            // Nobody else may name what is lent.
            arguments = arguments.replace("&*y", "&*x").replace("y.", "x.");
        }
        let yields = match self.below(8) {
            0 | 1 if !self.writes_self() && !self.has_cells() => Yields::Fallible,
            2 => Yields::One(Type::Pair),
            3 => Yields::One(Type::List),
            4 => Yields::One(Type::Maybe),
            _ => Yields::One(Type::Tensor),
        };
        self.yields = Some(yields);
        self.fuel = 6 + self.below(14);
        let body = self.statements(self.fuel);
        let all = self.everything();
        let (told, tail) = match yields {
            Yields::Fallible => ("Result<Tensor, String>", format!("Ok({all})")),
            Yields::One(Type::Pair) => ("(Tensor, Tensor)", format!("({all}, xs + 1)")),
            Yields::One(Type::List) => ("Vec<Tensor>", format!("vec![{all}]")),
            Yields::One(Type::Maybe) => ("Option<Tensor>", format!("Some({all})")),
            _ => ("Tensor", all),
        };
        let touched = if self.has_cells() { "self.calls.set(self.calls.get() + 1);" } else { "" };
        let this = if self.writes_self() { "&mut self" } else { "&self" };
        let text = format!("pub fn forward({this}, xs: &Tensor{written}) -> {told} {{ {touched} {body} {tail} }}");
        Forward { text, arguments, parameters }
    }

    /// A tensor by one of the model's layers.
    pub(super) fn layered(&mut self) -> Option<String> {
        if self.has_self { self.choose(LAYERED) } else { None }
    }

    fn layer_on(&mut self, layer: &str) -> Option<String> {
        let argument = self.shared();
        Some(layer.replace("{}", &argument))
    }
}
