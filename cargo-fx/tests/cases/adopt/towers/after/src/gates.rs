use fx_runtime::nn;
use tch::Tensor;

/// A closure that captures a number, in the constructor.
#[derive(Debug, fx_runtime::Module)]
pub struct Gates {
    net: nn::SequentialT,
}

#[fx_runtime::traceable]
impl Gates {
    pub fn new(p: &nn::Path, rate: f64) -> Gates {
        let net = nn::seq_t()
            .add(nn::linear(p / "fc", 4, 4, Default::default()))
            .add_fn_t(move |xs, train| xs.dropout(rate, train));
        Gates { net }
    }
}

#[fx_runtime::traceable]
impl nn::ModuleT for Gates {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        xs.apply_t(&self.net, train)
    }
}
