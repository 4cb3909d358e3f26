//! The lookup table from indices to vectors.

use std::borrow::Borrow;

use tch::{TchError, Tensor};

use super::leaf::{computes, leaf};
use super::{Init, Layer, Path};
use crate::saved::State;

/// Configuration of an embedding.
#[derive(Debug, Clone, Copy, State)]
pub struct EmbeddingConfig {
    /// Whether the gradient is a sparse tensor.
    pub sparse: bool,
    /// Whether the gradient is divided by how often an index occurs.
    pub scale_grad_by_freq: bool,
    /// How the table starts.
    #[state(default = Init::Const(0.))]
    pub ws_init: Init,
    /// The index whose vector receives no gradient; none if negative.
    pub padding_idx: i64,
}

impl Default for EmbeddingConfig {
    fn default() -> Self {
        Self { sparse: false, scale_grad_by_freq: false, ws_init: Init::Randn { mean: 0., stdev: 1. }, padding_idx: -1 }
    }
}

/// An embedding: indices of any shape to the same shape with one more axis, the vector.
#[derive(Debug, State)]
pub struct Embedding {
    /// `weight`, of shape `[num_embeddings, embedding_dim]`.
    pub ws: Tensor,
    /// Gradient settings.
    pub config: EmbeddingConfig,
}

impl Layer for Embedding {
    fn f_forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        let config = &self.config;
        Tensor::f_embedding(&self.ws, xs, config.padding_idx, config.scale_grad_by_freq, config.sparse)
    }
}

leaf!(Embedding, "Embedding", parameters { weight: ws } buffers {} plain { config });
computes! {
    /// Looks up the vectors of `xs`, integers in `0..num_embeddings`.
    Embedding
}

/// An embedding of `num_embeddings` vectors of size `embedding_dim`.
pub fn embedding<'a, T: Borrow<Path<'a>>>(
    vs: T,
    num_embeddings: i64,
    embedding_dim: i64,
    config: EmbeddingConfig,
) -> Embedding {
    Embedding { ws: vs.borrow().var("weight", &[num_embeddings, embedding_dim], config.ws_init), config }
}
