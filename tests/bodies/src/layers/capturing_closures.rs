//! Chains with closures that capture what their constructor has: configurations, tensors, branches, numbers.

use fx_runtime::nn::{Module as _, ModuleT as _, Path};
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, root, understood};

    understood!(Functions: 4 of 5);

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
        let vs = nn::VarStore::new(fx_runtime::Device::Cpu);
        assert_eq!(Apart::new(&vs.root(), -1.0).unwrap_err(), "a rate of -1");
    }

    #[test]
    fn functions_of_another_module() {
        agree!(Functions::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    /// Each of these models is saved.
    #[test]
    fn what_closures_capture_is_saved() {
        let (_vs, model) = root(|p| Configured::new(p, &config(true)));
        let frozen = model.freeze(&fx_runtime::Freeze::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        frozen.save(&path).unwrap();
        let loaded = ConfiguredFrozen::load(&path, &fx_runtime::Freeze::default()).unwrap();
        let xs = randn(&[3, 4]);
        assert_eq!(loaded.forward(&xs), frozen.forward(&xs));
    }
}
