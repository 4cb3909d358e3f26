//! Attention with a mask, with other keys, and with its weights where a flag asks for them.

use fx_runtime::{Module, Tensor, nn, traceable};

use crate::models::library_transformers::shared::Function;

#[derive(Debug, Module)]
struct Attention {
    query: nn::Linear,
    key: nn::Linear,
    value: nn::Linear,
    heads: i64,
    keeps_weights: bool,
}

#[traceable]
impl Attention {
    fn forward_t(
        &self,
        xs: &Tensor,
        mask: Option<&Tensor>,
        context: Option<&Tensor>,
        context_mask: Option<&Tensor>,
        train: bool,
    ) -> (Tensor, Option<Tensor>) {
        let (key, value, mask) = match context {
            Some(context) => (context.apply(&self.key), context.apply(&self.value), context_mask),
            None => (xs.apply(&self.key), xs.apply(&self.value), mask),
        };
        let query = xs.apply(&self.query) / (self.heads as f64).sqrt();
        let scores = if let Some(mask) = mask {
            query.matmul(&key.transpose(-1, -2)) + mask
        } else {
            query.matmul(&key.transpose(-1, -2))
        };
        let weights = scores.softmax(-1, scores.kind()).dropout(0.1, train);
        let ys = weights.matmul(&value);
        if !self.keeps_weights { (ys, None) } else { (ys, Some(weights)) }
    }
}

#[derive(Debug)]
pub struct BlockOutput {
    pub hidden: Tensor,
    pub weights: Option<Tensor>,
}

#[derive(Debug, Module)]
pub struct Block {
    attention: Attention,
    cross: Option<Attention>,
    fc: nn::Linear,
    function: Function,
    is_decoder: bool,
}

impl Block {
    pub fn new(p: &nn::Path, keeps_weights: bool, is_decoder: bool) -> Block {
        let attention = |name: &str| {
            let linear = |part: &str| nn::linear(p / name / part, 8, 8, Default::default());
            let (query, key, value) = (linear("query"), linear("key"), linear("value"));
            Attention { query, key, value, heads: 8, keeps_weights }
        };
        Block {
            attention: attention("attention"),
            cross: is_decoder.then(|| attention("cross")),
            fc: nn::linear(p / "fc", 8, 8, Default::default()),
            function: Function::new(if is_decoder { Tensor::relu } else { Tensor::sigmoid }),
            is_decoder,
        }
    }
}

#[traceable]
impl Block {
    pub fn forward_t(&self, xs: &Tensor, mask: Option<&Tensor>, context: Option<&Tensor>, train: bool) -> BlockOutput {
        let (ys, weights) = self.attention.forward_t(xs, mask, None, None, train);
        let (ys, weights) = if self.is_decoder & context.is_some() {
            let (ys, _) = self.cross.as_ref().unwrap().forward_t(&ys, mask, context, None, train);
            (ys, weights)
        } else {
            (ys, weights)
        };
        let hidden = (self.function.get())(&ys.apply(&self.fc)) + ys;
        BlockOutput { hidden, weights }
    }
}
