use std::collections::{BTreeMap, HashMap, VecDeque};
use fx_runtime::{Kind, Module, Tensor, nn, traceable};
use fx_runtime::nn::{ModuleT, Path};

fn linear(p: Path) -> nn::Linear { nn::linear(p, 4, 4, Default::default()) }

// 1 enum root
#[derive(Debug, Module)]
pub enum Root { Small(nn::Linear), Big { a: nn::Linear, b: nn::Linear } }
#[traceable]
impl Root {
    pub fn new(p: &Path, big: bool) -> Root {
        if big { Root::Big { a: linear(p / "a"), b: linear(p / "b") } } else { Root::Small(linear(p / "s")) }
    }
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        match self {
            Root::Small(fc) => xs.apply(fc).relu(),
            Root::Big { a, b } => xs.apply(a).gelu("none").apply(b),
        }
    }
}

// 2 chains
#[derive(Debug, Clone)]
pub struct Config { pub p: f64, pub scale: f64, pub act: String, pub residual: bool }

#[derive(Debug, Module)]
pub struct ChainConfig { net: nn::Sequential }
#[traceable]
impl ChainConfig {
    pub fn new(p: &Path, cfg: &Config) -> ChainConfig {
        let cfg = cfg.clone();
        let net = nn::seq().add(linear(p / "a")).add_fn(move |xs| if cfg.residual { xs + xs * cfg.scale } else { xs.relu() });
        ChainConfig { net }
    }
    pub fn forward(&self, xs: &Tensor) -> Tensor { xs.apply(&self.net) }
}

#[derive(Debug, Module)]
pub struct ChainConfigRef { net: nn::Sequential }
#[traceable]
impl ChainConfigRef {
    pub fn new(p: &Path, cfg: &Config) -> ChainConfigRef {
        let (scale, residual) = (cfg.scale, cfg.residual);
        let mut net = nn::seq();
        for i in 0..2 {
            net = net.add(linear(p / i)).add_fn(move |xs| if residual { xs + xs * scale } else { xs.relu() });
        }
        ChainConfigRef { net }
    }
    pub fn forward(&self, xs: &Tensor) -> Tensor { xs.apply(&self.net) }
}

#[derive(Debug, Module)]
pub struct ChainTensor { net: nn::Sequential }
#[traceable]
impl ChainTensor {
    pub fn new(p: &Path) -> ChainTensor {
        let gain = p.var("gain", &[4], nn::Init::Const(2.0));
        let net = nn::seq().add(linear(p / "a")).add_fn(move |xs| xs * &gain);
        ChainTensor { net }
    }
    pub fn forward(&self, xs: &Tensor) -> Tensor { xs.apply(&self.net) }
}

#[derive(Debug, Module)]
pub struct ChainResidual { net: nn::SequentialT }
fn stage(p: Path, n: i64) -> nn::SequentialT {
    let mut net = nn::seq_t();
    for i in 0..n {
        let q = &p / i;
        let branch = nn::seq_t().add(linear(&q / "a")).add_fn(|xs| xs.relu()).add(linear(&q / "b"));
        net = net.add_fn_t(move |xs, train| xs + branch.forward_t(xs, train));
    }
    net
}
#[traceable]
impl ChainResidual {
    pub fn new(p: &Path) -> ChainResidual { ChainResidual { net: stage(p / "s", 2) } }
    pub fn forward(&self, xs: &Tensor) -> Tensor { xs.apply_t(&self.net, false) }
}

#[derive(Debug, Module)]
pub struct ChainFunc { net: nn::SequentialT }
#[traceable]
impl ChainFunc {
    pub fn new(p: &Path) -> ChainFunc {
        let net = nn::seq_t().add(linear(p / "a")).add(crate::other::swish()).add(crate::other::leaky(0.1)).add(linear(p / "b")).add(crate::other::dropout(0.2));
        ChainFunc { net }
    }
    pub fn forward(&self, xs: &Tensor) -> Tensor { xs.apply_t(&self.net, false) }
}

// 3 lists filled under a condition
#[derive(Debug, Module)]
pub struct Filled { layers: Vec<nn::Linear>, taps: Vec<usize> }
#[traceable]
impl Filled {
    pub fn new(p: &Path) -> Filled { Filled { layers: (0..4).map(|i| linear(p / i)).collect(), taps: vec![1, 3] } }
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut outs = Vec::new();
        let mut ys = xs.shallow_clone();
        for (i, layer) in self.layers.iter().enumerate() {
            ys = ys.apply(layer).relu();
            if self.taps.contains(&i) {
                outs.push(ys.shallow_clone());
            }
        }
        let mut sum = xs.zeros_like();
        for out in outs.iter() {
            sum = sum + out.softmax(-1, Kind::Float);
        }
        sum
    }
}

// 4 FPN
#[derive(Debug, Module)]
pub struct Fpn { lateral: Vec<nn::Linear>, out: Vec<nn::Linear> }
#[traceable]
impl Fpn {
    pub fn new(p: &Path) -> Fpn { Fpn { lateral: (0..3).map(|i| linear(p / "l" / i)).collect(), out: (0..3).map(|i| linear(p / "o" / i)).collect() } }
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let cs = [xs.shallow_clone(), xs * 2.0, xs * 3.0];
        let mut t: Vec<Tensor> = cs.iter().zip(self.lateral.iter()).map(|(c, l)| c.apply(l)).collect();
        for i in (0..t.len() - 1).rev() {
            t[i] = &t[i] + &t[i + 1].relu();
        }
        let outs: Vec<Tensor> = t.iter().zip(&self.out).map(|(t, o)| t.apply(o)).collect();
        Tensor::cat(&outs, 1)
    }
}

// 6 array from_fn
#[derive(Debug, Module)]
pub struct FromFn { fc: nn::Linear }
#[traceable]
impl FromFn {
    pub fn new(p: &Path) -> FromFn { FromFn { fc: linear(p / "fc") } }
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let [a, b]: [Tensor; 2] = std::array::from_fn(|i| xs.select(1, i as i64));
        let parts: [Tensor; 3] = core::array::from_fn(|i| xs.apply(&self.fc) * (i as f64 + 1.0));
        Tensor::stack(&parts, 0).sum(Kind::Float) + a + b
    }
}

// 7
#[derive(Debug, Module)]
pub struct Checked { fc: nn::Linear }
#[traceable]
impl Checked {
    pub fn new(p: &Path) -> Checked { Checked { fc: linear(p / "fc") } }
    pub fn forward(&self, xs: &Tensor) -> Tensor { crate::other::checked(&xs.apply(&self.fc)) }
}

// 8
#[derive(Debug, Module)]
pub struct Fallible { fc: nn::Linear }
#[traceable]
impl Fallible {
    pub fn new(p: &Path) -> Fallible { Fallible { fc: linear(p / "fc") } }
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.apply(&self.fc);
        let _ = ys.f_masked_fill_(&xs.gt(0.0), 0.5).unwrap();
        let mut zs = ys.zeros_like();
        zs.f_copy_(&ys).unwrap();
        zs.f_add_(&ys).expect("adds");
        zs
    }
}

// 10, 13
#[derive(Debug, Module)]
pub struct Tails { fc: nn::Linear, n: usize }
#[traceable]
impl Tails {
    pub fn new(p: &Path) -> Tails { Tails { fc: linear(p / "fc"), n: 2 } }
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let k: i64 = self.n.try_into().unwrap();
        let m = i64::try_from(self.n).unwrap_or(i64::MAX);
        let mut sizes = xs.size().into_iter();
        let b = sizes.next().unwrap();
        let c = sizes.next().unwrap();
        let it = xs.size().into_iter().rev();
        let turned: Vec<i64> = it.collect();
        xs.apply(&self.fc).reshape([b * c]).narrow(0, 0, k * m).sum(Kind::Float) + turned[0] as f64
    }
}

// 14 maps
#[derive(Debug, Module)]
pub struct Heads { heads: BTreeMap<String, nn::Linear> }
#[traceable]
impl Heads {
    pub fn new(p: &Path) -> Heads {
        let mut heads = BTreeMap::new();
        for name in ["a", "b", "c"] { heads.insert(name.to_string(), linear(p / name)); }
        Heads { heads }
    }
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut sum = xs.zeros_like();
        for (name, head) in &self.heads {
            sum = sum + xs.apply(head);
        }
        for head in self.heads.values() { sum = sum.apply(head); }
        sum
    }
}

// 15
#[derive(Debug, Module)]
pub struct Windows { layers: Vec<nn::Linear>, dims: Vec<i64> }
#[traceable]
impl Windows {
    pub fn new(p: &Path) -> Windows { Windows { layers: (0..4).map(|i| linear(p / i)).collect(), dims: vec![1, 2, 3] } }
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        for pair in self.layers.chunks(2) {
            ys = ys.apply(&pair[0]).relu().apply(&pair[1]);
        }
        for w in self.dims.windows(2) {
            ys = ys + xs * (w[1] - w[0]) as f64;
        }
        let mut it = self.layers.iter().peekable();
        while let Some(layer) = it.next() {
            ys = ys.apply(layer);
            if it.peek().is_some() { ys = ys.relu(); }
        }
        ys
    }
}

// 16
macro_rules! act { ($x:expr) => { $x.relu().tanh() }; }
#[derive(Debug, Module)]
pub struct Macro { fc: nn::Linear }
#[traceable]
impl Macro {
    pub fn new(p: &Path) -> Macro { Macro { fc: linear(p / "fc") } }
    pub fn forward(&self, xs: &Tensor) -> Tensor { act!(xs.apply(&self.fc)) + 1.0 }
}

// 17
#[derive(Debug, Module)]
pub struct Iters { layers: Vec<nn::Linear> }
#[traceable]
impl Iters {
    pub fn new(p: &Path) -> Iters { Iters { layers: (0..3).map(|i| linear(p / i)).collect() } }
    fn rest(&self) -> impl Iterator<Item = &nn::Linear> + '_ { self.layers.iter().skip(1) }
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.apply(&self.layers[0]);
        for layer in self.rest() { ys = ys.relu().apply(layer); }
        ys
    }
}

// 5
#[derive(Debug, Module)]
pub struct Cached { fc: nn::Linear }
#[traceable]
impl Cached {
    pub fn new(p: &Path) -> Cached { Cached { fc: linear(p / "fc") } }
    pub fn forward(&self, xs: &Tensor, cache: Option<(Tensor, Tensor)>) -> (Tensor, (Tensor, Tensor)) {
        let k = xs.apply(&self.fc);
        let v = xs.relu();
        let (k, v) = cache
            .filter(|(pk, _)| pk.size()[0] > 0)
            .map(|(pk, pv)| (Tensor::cat(&[&pk, &k], 0), Tensor::cat(&[&pv, &v], 0)))
            .unwrap_or_else(|| (k, v));
        (k.matmul(&v.transpose(0, 1)), (k, v))
    }
}

// 9
#[derive(Debug, Module)]
pub struct CachedList { layers: Vec<nn::Linear> }
#[traceable]
impl CachedList {
    pub fn new(p: &Path) -> CachedList { CachedList { layers: (0..2).map(|i| linear(p / i)).collect() } }
    pub fn forward(&self, xs: &Tensor, past: Option<Vec<Tensor>>) -> (Tensor, Vec<Tensor>) {
        let mut new = Vec::with_capacity(self.layers.len());
        let mut ys = xs.shallow_clone();
        for (i, layer) in self.layers.iter().enumerate() {
            let k = ys.apply(layer);
            let k = match &past { Some(p) => Tensor::cat(&[&p[i], &k], 0), None => k };
            ys = ys + k.sum_dim_intlist([0i64].as_slice(), true, Kind::Float);
            new.push(k);
        }
        (ys, new)
    }
}

const DEBUG: bool = false;
#[derive(Debug, Module)]
pub struct Debugs { fc: nn::Linear }
#[traceable]
impl Debugs {
    pub fn new(p: &Path) -> Debugs { Debugs { fc: linear(p / "fc") } }
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        if DEBUG {
            let mut out = std::io::stderr();
            use std::io::Write;
            writeln!(out, "{:?}", ys.size()).unwrap();
        }
        ys.relu()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};
    fn cfg() -> Config { Config { p: 0.1, scale: 2.0, act: "relu".into(), residual: true } }
    #[test] fn chain_config() { agree!(|p| ChainConfig::new(p, &cfg()), [randn(&[3, 4])], |net, xs| net.forward(xs)); }
    #[test] fn chain_config_ref() { agree!(|p| ChainConfigRef::new(p, &cfg()), [randn(&[3, 4])], |net, xs| net.forward(xs)); }
    #[test] fn chain_tensor() { agree!(ChainTensor::new, [randn(&[3, 4])], |net, xs| net.forward(xs)); }
    #[test] fn chain_residual() { agree!(ChainResidual::new, [randn(&[3, 4])], |net, xs| net.forward(xs)); }
    #[test] fn chain_func() { agree!(ChainFunc::new, [randn(&[3, 4])], |net, xs| net.forward(xs)); }
    #[test] fn filled() { agree!(Filled::new, [randn(&[3, 4])], |net, xs| net.forward(xs)); }
    #[test] fn fpn() { agree!(Fpn::new, [randn(&[3, 4])], |net, xs| net.forward(xs)); }
    #[test] fn from_fn() { agree!(FromFn::new, [randn(&[3, 4])], |net, xs| net.forward(xs)); }
    #[test] fn checked() { agree!(Checked::new, [randn(&[3, 4])], |net, xs| net.forward(xs)); }
    #[test] fn fallible() { agree!(Fallible::new, [randn(&[3, 4])], |net, xs| net.forward(xs)); }
    #[test] fn tails() { agree!(Tails::new, [randn(&[3, 4])], |net, xs| net.forward(xs)); }
    #[test] fn heads() { agree!(Heads::new, [randn(&[3, 4])], |net, xs| net.forward(xs)); }
    #[test] fn windows() { agree!(Windows::new, [randn(&[3, 4])], |net, xs| net.forward(xs)); }
    #[test] fn macros() { agree!(Macro::new, [randn(&[3, 4])], |net, xs| net.forward(xs)); }
    #[test] fn iters() { agree!(Iters::new, [randn(&[3, 4])], |net, xs| net.forward(xs)); }
    #[test] fn cached() { agree!(Cached::new, [(randn(&[3, 4]), None), (randn(&[3, 4]), Some((randn(&[2, 4]), randn(&[2, 4]))))], |net, (xs, past)| net.forward(xs, past.as_ref().map(|(a, b)| (a.shallow_clone(), b.shallow_clone())))); }
    #[test] fn cached_list() { agree!(CachedList::new, [(randn(&[3, 4]), None), (randn(&[3, 4]), Some(vec![randn(&[2, 4]), randn(&[2, 4])]))], |net, (xs, past)| net.forward(xs, past.as_ref().map(|list| list.iter().map(|t| t.shallow_clone()).collect()))); }
    #[test] fn debugs() { agree!(Debugs::new, [randn(&[3, 4])], |net, xs| net.forward(xs)); }
}
