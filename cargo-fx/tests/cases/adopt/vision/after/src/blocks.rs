use fx_runtime::nn::{
        self, Module,
    };
use tch::{
    // what is computed on
    Tensor,
};

/// The activation.
#[derive(
    Debug,
    Clone,
)]
pub enum Act {
    Relu,
    None,
}

#[derive(Debug, fx_runtime::Module)]
pub(crate) enum Mix {
    Conv(nn::Conv2D),
    Linear(fx_runtime::nn::Linear),
}

/// Its parameters are its own, and so it is a module too.
#[derive(fx_runtime::Module)]
pub(crate) struct Scale(Tensor);

/// A part of the net.
#[derive(Debug, fx_runtime::Module)]
pub struct Block { mix: Mix, scale: Option<Box<Scale>>, act: Act }

impl std::fmt::Debug for Scale {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "Scale")
    }
}

impl Block {
    pub fn new(vs: &nn::Path, width: i64) -> Self {
        let mix = Mix::Conv(nn::conv2d(vs / "mix", width, width, 1, Default::default()));
        Block { mix, scale: Some(Box::new(Scale(vs.ones("scale", &[1])))), act: Act::Relu }
    }

    pub fn forward(&self, xs: &Tensor, _train: bool) -> Tensor {
        let ys = match &self.mix {
            Mix::Conv(conv) => conv.forward(xs),
            Mix::Linear(linear) => linear.forward(xs),
        };
        let ys = if let Some(scale) = &self.scale { ys * &scale.0 } else { ys };
        match self.act {
            Act::Relu => ys.relu(),
            Act::None => ys,
        }
    }
}
