//! Chains that functions of other modules and of other types build: what their closures name is what it is there, whatever
//! has the same name where the chain is run.

use fx_runtime::nn::Path;
use fx_runtime::{Module, Tensor, nn, traceable};

const RATE: f64 = 7.0;

fn scaled(xs: &Tensor) -> Tensor {
    xs * 3
}

pub mod elsewhere {
    use fx_runtime::nn::Path;
    use fx_runtime::{Kind, Tensor, nn};

    const RATE: f64 = 2.0;
    const SHIFT: f64 = 0.5;

    trait Shifted {
        fn shifted(&self) -> Tensor;
    }

    impl Shifted for Tensor {
        fn shifted(&self) -> Tensor {
            self + SHIFT
        }
    }

    fn scaled(xs: &Tensor) -> Tensor {
        xs * 2
    }

    pub fn activation<'a>() -> nn::Func<'a> {
        nn::func(|xs| scaled(xs) + RATE)
    }

    pub fn chain(p: &Path) -> nn::Sequential {
        nn::seq()
            .add(nn::linear(p / "fc", 4, 4, Default::default()))
            .add_fn(|xs| xs * RATE)
            .add_fn(scaled)
            .add_fn(|xs| scaled(xs).shifted().softmax(-1, Kind::Float))
    }
}

/// Names that mean other things where the model is, and variables of the forward that bear them.
#[derive(Debug, Module)]
pub struct Named {
    chain: nn::Sequential,
    own: nn::Sequential,
}

#[traceable]
impl Named {
    pub fn new(p: &Path) -> Self {
        let own = nn::seq().add(nn::linear(p / "own", 4, 4, Default::default())).add_fn(|xs| scaled(xs) + RATE);
        Named { chain: elsewhere::chain(p), own: own.add(elsewhere::activation()) }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let scaled = |xs: &Tensor| xs.tanh();
        scaled(&xs.apply(&self.chain)).apply(&self.own)
    }
}

/// What closures read of another type than the model.
#[derive(Debug, Clone)]
pub struct Config {
    rate: f64,
}

impl Config {
    const GAIN: f64 = 2.0;

    fn doubled(xs: &Tensor) -> Tensor {
        xs * 2
    }

    fn constants(p: &Path) -> nn::Sequential {
        let fc = nn::linear(p / "a", 4, 4, Default::default());
        nn::seq().add(fc).add_fn(|xs| xs * Self::GAIN).add_fn(Self::doubled)
    }

    fn into_chain(self, p: &Path) -> nn::Sequential {
        nn::seq().add(nn::linear(p / "b", 4, 4, Default::default())).add_fn(move |xs| xs * self.rate)
    }
}

#[derive(Debug, Module)]
pub struct Configured {
    constants: nn::Sequential,
    chain: nn::Sequential,
    rate: f64,
}

#[traceable]
impl Configured {
    const GAIN: f64 = 5.0;

    fn doubled(xs: &Tensor) -> Tensor {
        xs * 9
    }

    pub fn new(p: &Path, config: Config) -> Self {
        Configured { constants: Config::constants(p), chain: config.into_chain(p), rate: 7.0 }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        Self::doubled(&xs.apply(&self.constants)).apply(&self.chain) * self.rate + Self::GAIN
    }
}

/// What methods of a configuration build.
#[derive(Debug, Clone)]
pub struct Plan {
    rates: Vec<f64>,
    dropout: f64,
    is_wide: bool,
}

#[traceable]
impl Plan {
    fn rate(&self, at: usize) -> f64 {
        self.rates[at] * 2.0
    }

    pub fn layer(&self, p: &Path, at: usize) -> nn::SequentialT {
        let rate = self.rate(at);
        let (is_wide, dropout) = (self.is_wide, self.dropout);
        let fc = nn::linear(p / at, 4, 4, Default::default());
        let mut chain = nn::seq_t().add(fc).add_fn(move |xs| if is_wide { xs * rate } else { xs.relu() });
        if dropout > 0.0 {
            chain = chain.add_fn_t(move |xs, train| xs.dropout(dropout, train));
        }
        chain
    }

    fn last(self) -> nn::Sequential {
        let rate = self.rates[0];
        nn::seq().add_fn(move |xs| xs + rate).add_fn(|xs| xs.tanh())
    }
}

#[derive(Debug, Module)]
pub struct Planned {
    layers: nn::SequentialT,
    last: nn::Sequential,
}

#[traceable(strict)]
impl Planned {
    pub fn new(p: &Path, plan: Plan) -> Self {
        let mut layers = nn::seq_t();
        for at in 0..2 {
            layers = layers.add(plan.layer(p, at));
        }
        Planned { layers, last: plan.last() }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply_t(&self.layers, false).apply(&self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Configured: 7 of 8);

    #[test]
    fn names_of_modules() {
        agree!(Named::new, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn names_of_types() {
        agree!(|p| Configured::new(p, Config { rate: 0.25 }), [randn(&[3, 4])], |net, xs| net.forward(xs));
    }
    #[test]
    fn methods_of_configurations() {
        for (is_wide, dropout) in [(true, 0.0), (false, 0.5)] {
            let plan = Plan { rates: vec![0.5, 0.25], dropout, is_wide };
            agree!(|p| Planned::new(p, plan.clone()), [randn(&[3, 4])], |net, xs| net.forward(xs));
        }
    }
}
