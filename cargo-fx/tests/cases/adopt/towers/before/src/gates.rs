use tch::{nn, Tensor};

/// A closure that captures a number, in the constructor.
#[derive(Debug)]
pub struct Gates {
    net: nn::SequentialT,
}

impl Gates {
    pub fn new(p: &nn::Path, rate: f64) -> Gates {
        let net = nn::seq_t()
            .add(nn::linear(p / "fc", 4, 4, Default::default()))
            .add_fn_t(move |xs, train| xs.dropout(rate, train));
        Gates { net }
    }
}

impl nn::ModuleT for Gates {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        xs.apply_t(&self.net, train)
    }
}

/// Such a closure as a layer of its own.
#[derive(Debug)]
pub struct Scales {
    net: nn::Sequential,
}

impl Scales {
    pub fn new(p: &nn::Path, rate: f64) -> Scales {
        let net = nn::seq().add(nn::linear(p / "fc", 4, 4, Default::default())).add(nn::func(move |xs| xs * rate));
        Scales { net }
    }
}

impl nn::Module for Scales {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.net)
    }
}
