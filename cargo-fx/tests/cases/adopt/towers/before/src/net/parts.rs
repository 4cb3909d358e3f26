use tch::{nn, Tensor};

pub struct Head {
    fc: Dense,
    dropout: Dropout,
    limits: Limits,
    act: Act,
}

struct Dense {
    fc: nn::Linear,
}

/// Of a number alone, and yet a part that computes.
#[derive(Clone, Copy)]
pub struct Dropout {
    share: f64,
}

/// Copied, with a field that no other module reads.
#[derive(Clone)]
pub struct Limits {
    shares: Vec<f64>,
}

/// Matched by what is generated for a model of another module.
pub enum Act {
    Relu,
    Tanh,
}

impl Head {
    pub fn new(p: nn::Path) -> Head {
        let fc = Dense { fc: nn::linear(&p / "fc", 8, 2, Default::default()) };
        Head { fc, dropout: Dropout { share: 0.1 }, limits: Limits { shares: vec![0.1] }, act: Act::Relu }
    }

    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        let ys = xs.apply(&self.fc.fc);
        let ys = match self.act {
            Act::Relu => ys.relu(),
            Act::Tanh => ys.tanh(),
        };
        if self.limits.has(0.1) { self.dropout.forward_t(&ys, train) } else { ys }
    }
}

impl Dropout {
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        xs.dropout(self.share, train)
    }
}

impl Limits {
    fn has(&self, share: f64) -> bool {
        self.shares.contains(&share)
    }
}
