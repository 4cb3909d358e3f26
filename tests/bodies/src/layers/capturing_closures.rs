//! Chains with closures that capture what their constructor has: configurations, tensors, branches, numbers.

use fx_runtime::nn::Path;
use fx_runtime::{Module, Tensor, nn, traceable};

fn linear(p: Path) -> nn::Linear {
    nn::linear(p, 4, 4, Default::default())
}

/// What a chain is built by.
#[derive(Debug, Clone)]
pub struct Config {
    scale: f64,
    residual: bool,
}

/// A closure that captures a whole configuration, a copy of its own.
#[derive(Debug, Module)]
pub struct Configured {
    net: nn::Sequential,
}

#[traceable]
impl Configured {
    pub fn new(p: &Path, cfg: &Config) -> Configured {
        let cfg = cfg.clone();
        let net =
            nn::seq().add(linear(p / "a")).add_fn(move |xs| if cfg.residual { xs + xs * cfg.scale } else { xs.relu() });
        Configured { net }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.net)
    }
}

/// Numbers that a closure captures in each turn of a loop.
#[derive(Debug, Module)]
pub struct Repeated {
    net: nn::Sequential,
}

#[traceable]
impl Repeated {
    pub fn new(p: &Path, cfg: &Config) -> Self {
        let (scale, residual) = (cfg.scale, cfg.residual);
        let mut net = nn::seq();
        for i in 0..2 {
            let rate = scale * 0.5;
            net = net.add(linear(p / i)).add_fn(move |xs| if residual { xs + xs * rate } else { xs.relu() });
        }
        Self { net }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.net)
    }
}

/// A variable of the model that a closure alone holds.
#[derive(Debug, Module)]
pub struct Gained {
    net: nn::Sequential,
}

#[traceable]
impl Gained {
    pub fn new(p: &Path) -> Gained {
        let gain = p.var("gain", &[4], nn::Init::Const(2.0));
        Gained { net: nn::seq().add(linear(p / "a")).add_fn(move |xs| xs * &gain) }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.net)
    }
}

/// A helper that is not marked and builds residual branches in a loop.
fn stage(p: Path, n: i64) -> nn::SequentialT {
    let mut net = nn::seq_t();
    for i in 0..n {
        let q = &p / i;
        let branch = nn::seq_t().add(linear(&q / "a")).add_fn(|xs| xs.relu()).add(linear(&q / "b"));
        net = net.add_fn_t(move |xs, train| xs + branch.forward_t(xs, train));
    }
    net
}

/// What such a helper returns.
#[derive(Debug, Module)]
pub struct Staged {
    net: nn::SequentialT,
}

#[traceable]
impl Staged {
    pub fn new(p: &Path) -> Staged {
        Staged { net: stage(p / "s", 2) }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply_t(&self.net, false)
    }
}

/// A constructor in an impl of its own, which may fail, beside one that is not marked.
#[derive(Debug, Module)]
pub struct Apart {
    net: nn::SequentialT,
}

#[traceable]
impl Apart {
    pub fn new(p: &Path, rate: f64) -> Result<Self, String> {
        if rate < 0.0 {
            return Err(format!("a rate of {rate}"));
        }
        let net = nn::seq_t()
            .add(linear(p / "a"))
            .add_fn_t(move |xs, train| xs.dropout(rate, train) * (1.0 + rate))
            .add(linear(p / "b"));
        Ok(Self { net })
    }

    pub fn small(p: &Path) -> Self {
        Self::new(p, 0.5).unwrap()
    }
}

#[traceable]
impl nn::ModuleT for Apart {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        self.net.forward_t(xs, train)
    }
}

/// Closures within `nn::func(..)`, which are added like any other layer.
#[derive(Debug, Module)]
pub struct Shrunk {
    fc: nn::Linear,
    shortcut: Option<nn::Sequential>,
    net: nn::SequentialT,
}

#[traceable(strict)]
impl Shrunk {
    pub fn new(p: &Path, is_shrunk: bool) -> Self {
        let shortcut = if is_shrunk {
            let mut seq = nn::seq();
            seq = seq.add(linear(p / "shortcut"));
            let norm = nn::batch_norm1d(p / "norm", 4, Default::default());
            seq = seq.add(nn::func(move |xs| xs.apply_t(&norm, false)));
            Some(seq)
        } else {
            None
        };
        let rate = if is_shrunk { 0.5 } else { 0.25 };
        let net = nn::seq_t().add(linear(p / "net")).add(nn::func_t(move |xs, train| xs.dropout(rate, train) * rate));
        Shrunk { fc: linear(p / "fc"), shortcut, net }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc).apply_t(&self.net, false);
        match &self.shortcut {
            Some(shortcut) => ys + xs.apply(shortcut),
            None => ys + xs,
        }
    }
}

/// Functions of another module that return closures.
mod activations {
    use fx_runtime::nn;

    pub fn swish() -> nn::Func<'static> {
        nn::func(|xs| xs * xs.sigmoid())
    }

    pub fn leaky(slope: f64) -> nn::Func<'static> {
        nn::func(move |xs| xs.maximum(&(xs * slope)))
    }
}

/// What they return, in a chain: the one that captures nothing is read.
#[derive(Debug, Module)]
pub struct Functions {
    net: nn::SequentialT,
}

#[traceable]
impl Functions {
    pub fn new(p: &Path) -> Functions {
        let net = nn::seq_t()
            .add(linear(p / "a"))
            .add(activations::swish())
            .add(activations::leaky(0.1))
            .add(linear(p / "b"));
        Functions { net }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply_t(&self.net, false)
    }
}

/// What larger models are built by.
#[derive(Debug, Clone)]
pub struct Sizes {
    rate: f64,
    hidden: i64,
    act: String,
    gain: Option<f64>,
    heads: usize,
}

/// Fields of a configuration that is used behind the closure as well, and what is computed before.
#[derive(Debug, Module)]
pub struct Fields {
    net: nn::Sequential,
}

#[traceable]
impl Fields {
    pub fn new(p: &Path, cfg: &Sizes) -> Self {
        let cfg = cfg.clone();
        let table = 2.0 * p.var("table", &[4], nn::Init::Const(2.0));
        let gain = cfg.gain.unwrap();
        let half = cfg.rate / 2.0;
        let twice = 2 * cfg.hidden;
        let net = nn::seq()
            .add(nn::linear(p / "a", 4, cfg.hidden, Default::default()))
            .add_fn(move |xs| xs * cfg.rate + cfg.hidden as f64)
            .add(nn::linear(p / "b", cfg.hidden, 4, Default::default()))
            .add_fn(move |xs| xs * &table * gain * half + twice);
        Self { net }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.net)
    }
}

/// Closures under conditions, in loops, and one that reads a text of a configuration, which is not captured.
#[derive(Debug, Module)]
pub struct Conditions {
    net: nn::Sequential,
}

#[traceable]
impl Conditions {
    pub fn new(p: &Path, cfg: &Sizes) -> Self {
        let cfg = cfg.clone();
        let act = cfg.act.clone();
        let mut net = nn::seq().add(linear(p / "a"));
        if let Some(gain) = cfg.gain {
            net = net.add_fn(move |xs| xs * gain);
        }
        if cfg.heads > 1 {
            let scale = (cfg.heads as f64).sqrt();
            net = net.add_fn(move |xs| xs / scale);
        }
        for (i, name) in ["x", "y"].iter().enumerate() {
            let act = act.clone();
            net = net.add(linear(p / name)).add_fn(move |xs| match act.as_str() {
                "relu" => xs.relu(),
                _ => xs.tanh(),
            });
        }
        net = net.add_fn(move |xs| if cfg.act == "relu" { xs.relu() } else { xs.shallow_clone() });
        Self { net }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.net)
    }
}

/// A closure in a constructor that is not marked, and that captures what `if let` binds.
#[derive(Debug, Module)]
pub struct Unmarked {
    net: nn::Sequential,
}

impl Unmarked {
    pub fn new(p: &Path, gain: Option<f64>) -> Self {
        let mut net = nn::seq().add(linear(p / "a"));
        if let Some(gain) = gain {
            net = net.add_fn(move |xs| xs * gain);
        }
        Self { net }
    }
}

#[traceable]
impl Unmarked {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.net)
    }
}

/// A block of the crate's own.
#[derive(Debug, Module)]
pub struct Block {
    a: nn::Linear,
    b: nn::Linear,
}

impl nn::Module for Block {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.a).relu().apply(&self.b)
    }
}

fn block(p: Path) -> Block {
    Block { a: linear(&p / "a"), b: linear(&p / "b") }
}

/// Blocks and shortcuts that closures of an associated function capture.
#[derive(Debug, Module)]
pub struct Shortcuts {
    net: nn::SequentialT,
    head: nn::Linear,
}

#[traceable]
impl Shortcuts {
    fn stage(p: Path, n: i64, down: bool) -> nn::SequentialT {
        let mut net = nn::seq_t();
        for i in 0..n {
            let branch = block(&p / i);
            let skip = if down { nn::seq().add(linear(&p / "skip")) } else { nn::seq() };
            net = net.add_fn_t(move |xs, _| (xs.apply(&branch) + xs.apply(&skip)).relu());
        }
        net
    }

    pub fn new(p: &Path) -> Self {
        let net = Self::stage(p / "s", 2, true);
        let table: Vec<f64> = vec![1.0, 2.0];
        Self { net: net.add_fn(move |xs| xs * table[0] * table[1]), head: linear(p / "head") }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply_t(&self.net, false).apply(&self.head)
    }
}

#[cfg(test)]
mod tests {
    use fx_runtime::nn::ModuleT as _;

    use super::*;
    use crate::check::{agree, device, here, randn, root, understood};

    understood!(Functions: 4 of 5);
    understood!(Conditions: 6 of 7);
    understood!(Unmarked: 1 of 2);

    fn config(residual: bool) -> Config {
        Config { scale: 2.0, residual }
    }

    #[test]
    fn configurations() {
        for residual in [true, false] {
            agree!(|p| Configured::new(p, &config(residual)), [randn(&[3, 4])], |net, xs| net.forward(xs));
            agree!(|p| Repeated::new(p, &config(residual)), [randn(&[3, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn tensors_and_branches() {
        agree!(Gained::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
        agree!(Staged::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn constructors_that_may_fail() {
        agree!(Apart::small, [randn(&[3, 4])], |net, xs| net.forward_t(xs, false));
        let _alone = crate::check::alone();
        let vs = nn::VarStore::new(device());
        assert_eq!(Apart::new(&vs.root(), -1.0).unwrap_err(), "a rate of -1");
    }

    /// Such a model is saved, too.
    #[test]
    fn closures_that_are_layers() {
        for is_shrunk in [true, false] {
            agree!(|p| Shrunk::new(p, is_shrunk), [randn(&[3, 4])], |net, xs| net.forward(xs));
        }
        let (_vs, model) = root(|p| Shrunk::new(p, true));
        let frozen = model.freeze(&fx_runtime::Freeze::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        frozen.save(&path).unwrap();
        let loaded = ShrunkFrozen::load(&path, &here()).unwrap();
        let xs = randn(&[3, 4]);
        assert_eq!(loaded.forward(&xs), frozen.forward(&xs));
    }

    #[test]
    fn functions_of_another_module() {
        agree!(Functions::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn fields_and_conditions() {
        let sizes = |gain| Sizes { rate: 0.5, hidden: 6, act: "relu".to_owned(), gain, heads: 2 };
        agree!(|p| Fields::new(p, &sizes(Some(1.5))), [randn(&[3, 4])], |net, xs| net.forward(xs));
        for gain in [Some(1.5), None] {
            agree!(|p| Conditions::new(p, &sizes(gain)), [randn(&[3, 4])], |net, xs| net.forward(xs));
            agree!(|p| Unmarked::new(p, gain), [randn(&[3, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn shortcuts() {
        agree!(Shortcuts::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    /// Each of these models is saved.
    #[test]
    fn what_closures_capture_is_saved() {
        let (_vs, model) = root(|p| Configured::new(p, &config(true)));
        let frozen = model.freeze(&fx_runtime::Freeze::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        frozen.save(&path).unwrap();
        let loaded = ConfiguredFrozen::load(&path, &here()).unwrap();
        let xs = randn(&[3, 4]);
        assert_eq!(loaded.forward(&xs), frozen.forward(&xs));
    }
}
