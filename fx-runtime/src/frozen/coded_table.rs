//! A table of vectors that are kept as integers: an embedding in a half, a quarter or an eighth of the memory.

use std::sync::Arc;

use tch::{Kind, Tensor};

use crate::nn;
use crate::qparams::{Coded, WeightFormat};
use crate::saved::{Loader, Saver, State};
use crate::{Error, Result};

/// The table of an embedding, `[num_embeddings, embedding_dim]`, of which a call reads the vectors it asks for.
#[derive(Debug, Clone)]
pub(crate) struct CodedTable(Arc<Coded>);

impl CodedTable {
    /// Rounds the table of an embedding.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] if the table is not finite, or its vectors do not fall into such groups.
    pub(crate) fn new(layer: &nn::Embedding, format: WeightFormat) -> Result<Self> {
        let table = layer.ws.f_detach()?.f_to_kind(Kind::Float)?;
        Ok(Self(Arc::new(Coded::of(&table, format)?)))
    }

    /// The vectors of indices of any shape, `f32[.., embedding_dim]`.
    ///
    /// # Errors
    ///
    /// [`Error::Torch`] if an index is none of the table's, or no integer.
    pub(crate) fn run(&self, indices: &Tensor) -> Result<Tensor> {
        let [_, dim] = self.0.shape();
        let mut shape = indices.size();
        shape.push(dim);
        Ok(self.0.rows(&indices.f_reshape([-1])?)?.dense()?.f_view(shape.as_slice())?)
    }

    pub(crate) fn coded(&self) -> &Coded {
        &self.0
    }
}

impl State for CodedTable {
    fn save(&self, to: &mut Saver) -> Result<(), Error> {
        to.field("table", &self.0)
    }

    fn load(from: &mut Loader) -> Result<Self, Error> {
        Ok(Self(from.field("table")?))
    }
}
