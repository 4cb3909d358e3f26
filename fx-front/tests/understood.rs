//! Bodies of a forward of which nothing is carried along: each becomes ops, layer calls and regions.

mod common;

use common::traced;
use fx_ir::Op;

const MODEL: &str = "
use fx_runtime::{Kind, Module, Tensor, nn, traceable};
#[derive(Clone, Copy)] enum Mode { Plain, Scaled { by: f64, shift: f64 }, Pair(f64, i64), Named(i64) }
impl Mode { fn apply(&self, xs: &Tensor) -> Tensor { match self { Mode::Scaled { by, .. } => xs * *by, _ => xs.relu() } } }
#[derive(Module)] struct Config { deep: bool, width: i64 }
#[derive(Module)] struct Block { fc: nn::Linear, skip: Option<nn::Linear> }
impl Block {
    fn forward(&self, xs: &Tensor) -> Tensor {
        let Some(skip) = &self.skip else { return self.fc.forward(xs) };
        self.fc.forward(xs) + skip.forward(xs)
    }
}
fn first_large(xs: &Tensor, blocks: &[Block]) -> Tensor {
    let mut ys = xs.shallow_clone();
    for block in blocks {
        let zs = block.forward(&ys);
        if zs.size()[0] > 3 { return zs; }
        ys = zs;
    }
    ys
}
fn by_rank(xs: &Tensor) -> Tensor {
    let wide = match xs.dim() { 1 => xs.unsqueeze(0), 2 => xs.shallow_clone(), _ => return xs.neg() };
    wide.relu()
}
fn halved(xs: &Tensor) -> Tensor { xs * 0.5 }
fn mixed(a: &Tensor, b: &Tensor, by: f64) -> Tensor { a + b * by }
mod hidden {
    use fx_runtime::Tensor;
    pub struct Function(Box<fn(&Tensor) -> Tensor>);
    impl Function { pub fn new(f: fn(&Tensor) -> Tensor) -> Self { Self(Box::new(f)) } pub fn get(&self) -> &fn(&Tensor) -> Tensor { &self.0 } }
}
fn all() -> Vec<hidden::Function> { vec![hidden::Function::new(halved), hidden::Function::new(Tensor::tanh)] }
fn mix() -> fn(&Tensor, &Tensor, f64) -> Tensor { mixed }
fn bump(n: &mut i64) { *n += 1; }
fn mask_in(x: &mut Tensor) { *x = &*x * 2.0; let _ = x.relu_(); }
fn take(o: &mut Option<Tensor>) -> Tensor { match o.take() { Some(x) => x, None => Tensor::ones([1], (Kind::Float, fx_runtime::Device::Cpu)) } }
struct State { h: Tensor, n: i64 }
impl State { fn step(&mut self, by: &nn::Linear) { self.h = self.h.apply(by); self.n += 1; } }
#[derive(Debug)] pub struct Fault(String);
pub struct Two(Tensor, i64);
pub enum Out { Pair(Tensor, Tensor), One(Tensor), Scaled(Tensor, i64) }
fn out(xs: &Tensor) -> Out { if xs.dim() > 2 { Out::Pair(xs.relu(), xs.neg()) } else { Out::One(xs.abs()) } }
#[derive(Module)] struct Net {
    limit: Option<i64>, fc: nn::Linear, mode: Mode, config: Config, blocks: Vec<Block>,
    act: fn(&Tensor) -> Tensor, boxed: Option<hidden::Function>, mix: fn(&Tensor, &Tensor, f64) -> Tensor,
}
";

fn check(bodies: &[&str]) {
    for body in bodies {
        let source = format!(
            "{MODEL} #[traceable] impl Net {{ fn forward(&self, xs: &Tensor, opt: Option<&Tensor>) -> Tensor {{ {body} }} }}"
        );
        check_source(&source);
    }
}

fn check_source(source: &str) {
    let body = source.trim_start_matches(MODEL);
    let (graph, _) = traced(source);
    assert!(graph.lint().is_ok(), "{body}\n{graph}");
    for id in graph.nodes() {
        if let Op::Rust(code) = &graph.node(id).op {
            assert_eq!(code.opaque, None, "{body}\n{graph}");
        }
    }
}

#[test]
fn patterns() {
    check(&[
        "match self.mode { Mode::Plain => xs.relu(), Mode::Scaled { by, shift } => xs * by + shift, Mode::Pair(a, ..) => xs * a, Mode::Named(_) => xs.neg() }",
        "match &self.mode { Mode::Scaled { by: factor, .. } => xs * *factor, Mode::Pair(_, n) => xs * *n, _ => xs.neg() }",
        "match self.mode { Mode::Pair(_, n) | Mode::Named(n) => xs * n, _ => xs.neg() }",
        "match &self.config { Config { deep: true, width } => xs * *width, Config { .. } => xs.neg() }",
        "match xs.dim() { 1..=2 => xs.relu(), n @ 3..=4 => xs * n as i64, _ => xs.neg() }",
        "match (xs.dim(), opt) { (2, Some(m)) => xs + m, (_, None) => xs.relu(), (.., Some(m)) => xs * m }",
        "if let Mode::Scaled { by, .. } = self.mode { xs * by } else { xs.relu() }",
        "use Mode::*; match self.mode { Named(n) => xs * n, Plain => xs.relu(), _ => xs.neg() }",
        "self.mode.apply(&self.fc.forward(xs))",
    ]);
}

#[test]
fn numbers_of_half() {
    check(&[
        "let most = match xs.kind() { Kind::Half => half::f16::MAX.to_f64() - 1000., Kind::BFloat16 => half::bf16::MIN.to_f64(), _ => 1.0 }; xs.clamp(-most, most)",
        "use half::f16; let least = f16::MIN_POSITIVE.to_f32() + f16::EPSILON.to_f32(); xs * f64::from(least)",
    ]);
}

#[test]
fn lists_of_sizes() {
    check(&[
        "let mut size = xs.size()[..1].to_vec(); size.append(&mut xs.size().into_iter().skip(1).collect()); size.append(&mut vec![1]); xs.view(size.as_slice())",
        "let sizes = vec![1; xs.dim()]; xs.mean(None).view(sizes.as_slice())",
        "let mut sizes = vec![1; xs.dim()]; sizes[0] = xs.size()[0]; xs.mean(None).expand(&sizes, true)",
    ]);
}

#[test]
fn guards() {
    check(&[
        "match self.mode { Mode::Pair(a, _) if a > 0.5 => xs * a, Mode::Pair(_, n) => xs * n, _ => xs.neg() }",
        "match xs.dim() { 1 if self.config.deep => xs.relu(), 2 if self.config.width > 3 => xs.neg(), 3 if opt.is_some() => xs.abs(), _ => xs.exp() }",
        "match xs.dim() { n if n > 3 => xs.relu(), n if n > 2 => xs * n as i64, n if n > 1 => xs.abs(), _ => xs.exp() }",
        "match opt { Some(m) if m.dim() == 2 => xs + m, Some(m) => xs * m, None => xs.relu() }",
    ]);
}

#[test]
fn loops() {
    check(&[
        "let mut stack = vec![xs.relu()]; let mut ys = xs.neg(); while let Some(top) = stack.pop() { ys = ys + top; } ys",
        "let mut ys = xs.relu(); let mut n = 3; while let Some(m) = opt { ys = ys + m; n -= 1; if n == 0 { break; } } ys",
        "let mut ys = xs.relu(); 'a: loop { ys = ys.relu(); if ys.size()[0] > 2 { break 'a; } } ys",
        "let mut ys = xs.relu(); 'rows: for i in 0..4 { for j in 0..4 { if j > i { continue 'rows; } if i == 3 { break 'rows; } ys = ys + j; } ys = ys * 2; } ys",
        "let mut ys = xs.relu(); for block in &self.blocks { let skip = match &block.skip { Some(skip) => skip, None => continue }; ys = skip.forward(&ys); } ys",
        "let mut ys = xs.relu(); for block in &self.blocks { match &block.skip { Some(skip) => ys = skip.forward(&ys), None => break } ys = ys.tanh(); } ys",
        "let mut ys = xs.relu(); for block in &self.blocks { ys = block.forward(&ys); if ys.size()[0] > 2 { return ys.neg(); } } ys",
        "first_large(&xs.relu(), &self.blocks).tanh()",
        "by_rank(&self.fc.forward(xs)).tanh()",
    ]);
}

#[test]
fn functions() {
    check(&[
        "(self.act)(&self.fc.forward(xs))",
        "let act = self.act; act(&act(xs))",
        "(self.mix)(xs, &xs.relu(), 0.5)",
        "if let Some(boxed) = &self.boxed { boxed.get()(&xs.relu()) } else { xs.neg() }",
        "self.boxed.as_ref().map(|boxed| (boxed.get())(xs)).unwrap_or_else(|| xs.neg())",
        "let act = if self.config.deep { halved } else { Tensor::relu }; act(xs)",
        "let act = match self.mode { Mode::Plain => halved, Mode::Scaled { .. } => Tensor::tanh, _ => Tensor::relu }; act(xs)",
    ]);
}

#[test]
fn iterators_in_variables() {
    check(&[
        "let mut it = self.blocks.iter(); let first = it.next().unwrap(); let mut ys = first.forward(xs); for block in it { ys = block.forward(&ys); } ys",
        "let mut it = self.blocks.iter(); let mut ys = xs.relu(); while let Some(block) = it.next() { ys = block.forward(&ys); } ys",
        "let mut it = self.blocks.iter(); let mut ys = xs.relu(); if let Some(block) = it.next() { ys = block.forward(&ys); } if xs.dim() > 2 { let _ = it.next(); } for block in it { ys = block.forward(&ys); } ys",
        "let mut it = self.blocks.iter(); let mut ys = xs.relu(); for block in &self.blocks { if let Some(other) = it.next() { ys = block.forward(&ys) + other.forward(&ys); } } ys",
        "let mut it = self.blocks.iter(); let mut ys = xs.relu(); for (i, block) in self.blocks.iter().enumerate() { if i % 2 == 0 { if let Some(other) = it.next() { ys = block.forward(&ys) + other.forward(&ys); } } } ys",
        "let pasts = vec![xs.relu(), xs.neg()]; let pairs = self.blocks.iter().zip(pasts); let mut ys = xs.relu(); for pair in pairs { let (block, past) = pair; ys = block.forward(&ys) + past; } ys",
        "let mut others = self.blocks.iter().skip(1); let mut ys = xs.relu(); for (block, other) in self.blocks.iter().zip(others.by_ref()) { ys = block.forward(&ys) + other.forward(xs); } if let Some(last) = others.next() { ys = last.forward(&ys); } ys",
        "let others = self.blocks.iter().skip(1); let mut ys = xs.relu(); for (block, other) in self.blocks.iter().zip(others) { ys = block.forward(&ys) + other.forward(xs); } ys",
        "let mut it = self.blocks.iter(); let mut ys = xs.relu(); for block in it.by_ref().take(2) { ys = block.forward(&ys); } for block in it { ys = block.forward(&ys) * 2; } ys",
        "let mut it = self.blocks.iter(); let mut ys = xs.relu(); for block in it.by_ref() { ys = block.forward(&ys); if ys.size()[0] > 3 { break; } } for block in it { ys = block.forward(&ys) * 2; } ys",
        "let mut it = self.blocks.iter(); let mut ys = xs.relu(); for _ in 0..2 { ys = it.next().unwrap().forward(&ys); } ys",
        "let it = self.blocks.iter(); it.fold(xs.relu(), |ys, block| block.forward(&ys))",
        "let it = self.blocks.iter(); let all: Vec<Tensor> = it.map(|block| block.forward(xs)).collect(); Tensor::stack(&all, 0)",
        "let sizes = xs.size(); let mut it = sizes.iter(); let b = *it.next().unwrap(); xs.view([b, -1])",
        "let parts = xs.chunk(2, 0); let mut it = parts.into_iter(); let a = it.next().unwrap(); let b = it.next().unwrap(); a + b",
    ]);
}

#[test]
fn lent_places() {
    check(&[
        "let mut n = 3; bump(&mut n); for _ in 0..2 { bump(&mut n); } xs * n",
        "let mut ys = xs.relu(); mask_in(&mut ys); for _ in 0..2 { mask_in(&mut ys); } ys",
        "let mut o = Some(xs.relu()); let a = take(&mut o); let b = take(&mut o); a + b",
        "let mut s = State { h: xs.relu(), n: 0 }; s.h = s.h.neg(); s.n += 1; for _ in 0..2 { s.step(&self.fc); } s.h * s.n",
        "let mut s = State { h: xs.relu(), n: 0 }; if xs.dim() > 2 { s.n = 5; } else { s.step(&self.fc); } s.h * s.n",
        "let mut pair = (xs.relu(), 1); for block in &self.blocks { pair.0 = block.forward(&pair.0); bump(&mut pair.1); } pair.0 * pair.1",
    ]);
}

#[test]
fn lists_of_options() {
    check(&[
        "let mut out = Vec::with_capacity(self.blocks.len()); out.resize_with(self.blocks.len(), || None::<Tensor>); let mut ys = xs.relu(); for (block, past) in self.blocks.iter().zip(out) { ys = match past.as_ref() { Some(p) => block.forward(&ys) + p, None => block.forward(&ys) }; } ys",
        "let (all, n) = match opt { Some(x) => (vec![x].iter().map(|v| Some(v.copy())).collect::<Vec<Option<Tensor>>>(), x.size()[1]), None => { let mut out = Vec::new(); out.resize_with(self.blocks.len(), || None::<Tensor>); (out, 0) } }; let mut ys = xs * n; for pair in self.blocks.iter().zip(all) { let (block, past) = pair; ys = match past.as_ref() { Some(p) => block.forward(&ys) + p, None => block.forward(&ys) }; } ys",
        "let mut out: Vec<Option<Tensor>> = Vec::new(); out.resize_with(3, || None); out[1] = Some(xs.relu()); match &out[1] { Some(x) => x.neg(), None => xs.relu() }",
        "let mut out: Vec<Option<Tensor>> = std::iter::repeat_with(|| None).take(self.blocks.len()).collect(); out[0] = Some(xs.relu()); out[0].as_ref().map_or_else(|| xs.neg(), |x| x.relu())",
        "let mut out: Vec<Option<Tensor>> = (0..self.blocks.len()).map(|_| None).collect(); out[0] = Some(xs.relu()); match &out[0] { Some(x) => x.neg(), None => xs.relu() }",
        "let b = f64::try_from(xs.sum(Kind::Float)).unwrap(); if bool::try_from(xs.any()).unwrap() { xs * b } else { xs.neg() }",
        "let shape: &[i64] = &[2, 4]; xs.reshape(&*shape)",
    ]);
}

#[test]
fn errors_where_nothing_is() {
    let forward = |body: &str| {
        let source = format!(
            "{MODEL} #[traceable] impl Net {{ fn forward(&self, xs: &Tensor, opt: Option<&Tensor>) -> Result<Tensor, Fault> {{ {body} }} }}"
        );
        check_source(&source);
    };
    forward("let n = self.limit.ok_or_else(|| Fault(\"no limit\".into()))?; Ok(xs * n)");
    forward("let m = opt.ok_or(Fault(\"no mask\".to_string()))?; Ok(xs + m)");
    forward("Ok(xs + opt.ok_or(Fault(\"no mask\".to_string()))?)");
    forward(
        "let last = self.blocks.last().ok_or(Fault(\"none\".into()))?; let skip = last.skip.as_ref().ok_or_else(|| Fault(\"no skip\".into()))?; Ok(xs.apply(skip))",
    );
    forward(
        "let b = f64::try_from(&xs.sum(Kind::Float))?; let i = i64::try_from(xs.sum(Kind::Int64))?; Ok(xs * b * i)",
    );
}

#[test]
fn lists_of_pairs_and_arrays() {
    check(&[
        "let mut all: Vec<(Tensor, Tensor)> = Vec::new(); for block in &self.blocks { all.push((block.forward(xs), xs.relu())); } let (a, b) = all.pop().unwrap(); a + b",
        "let mut all: Option<Vec<Tensor>> = Some(vec![]); for block in &self.blocks { if let Some(all) = all.as_mut() { all.push(block.forward(xs)); } } xs.relu() * all.unwrap().len() as i64",
        "let mut all: Vec<Vec<Tensor>> = vec![]; for block in &self.blocks { let mut inner = vec![]; inner.push(block.forward(xs)); all.push(inner); } &all[0][0] + xs",
        "let mut all: Option<Vec<Vec<Tensor>>> = Some(vec![]); for block in &self.blocks { let mut inner = vec![]; inner.push(block.forward(xs)); if let Some(all) = all.as_mut() { all.push(inner); } } xs.relu() * all.unwrap().len() as i64",
        "let [k, v]: [Tensor; 2] = xs.chunk(2, -1).try_into().unwrap(); k + v",
        "let mut ys = xs.relu(); for block in self.blocks[1..].iter().chain(std::iter::once(&self.blocks[0])) { ys = block.forward(&ys); } ys",
    ]);
}

#[test]
fn tuple_structs() {
    check(&[
        "let w = Two(xs.relu(), 3); let Two(a, n) = w; a * n",
        "let mut w = Two(xs.relu(), 3); for _ in 0..2 { w.0 = w.0.neg(); w.1 += 1; } w.0 * w.1",
        "let w = if self.config.deep { Two(xs.relu(), 3) } else { Two(xs.neg(), 1) }; w.0 * w.1",
    ]);
}

#[test]
fn variants_that_are_made() {
    check(&[
        "let o = Out::Scaled(xs.relu(), 3); match o { Out::Pair(a, b) => a + b, Out::One(a) => a, Out::Scaled(x, by) => x * by }",
        "match out(xs) { Out::Pair(a, b) => a + b, Out::One(a) => a, Out::Scaled(x, by) => x * by }",
        "let o = if self.config.deep { Out::One(xs.relu()) } else { out(xs) }; match &o { Out::Pair(a, b) => a + b, Out::One(a) => a.neg(), Out::Scaled(x, by) => x * *by }",
    ]);
}
