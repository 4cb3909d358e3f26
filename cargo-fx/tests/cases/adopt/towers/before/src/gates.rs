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
