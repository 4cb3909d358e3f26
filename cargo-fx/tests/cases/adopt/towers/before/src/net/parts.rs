use tch::{nn, Tensor};

pub struct Head {
    fc: Dense,
    dropout: Dropout,
}

struct Dense {
    fc: nn::Linear,
}

/// Of a number alone, and yet a part that computes.
#[derive(Clone, Copy)]
pub struct Dropout {
    share: f64,
}

impl Head {
    pub fn new(p: nn::Path) -> Head {
        let fc = Dense { fc: nn::linear(&p / "fc", 8, 2, Default::default()) };
        Head { fc, dropout: Dropout { share: 0.1 } }
    }

    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        self.dropout.forward_t(&xs.apply(&self.fc.fc), train)
    }
}

impl Dropout {
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        xs.dropout(self.share, train)
    }
}
