//! BERT (base, uncased) with the structure, and so the tensor names, of Hugging Face's `BertModel`.
//!
//! Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", <https://arxiv.org/abs/1810.04805>. The mask
//! and the token types are optional inputs, and the result is a pair.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

const VOCABULARY: i64 = 30_522;
const POSITIONS: i64 = 512;
const TYPES: i64 = 2;
const LAYERS: i64 = 12;
const HEADS: i64 = 12;
const HIDDEN: i64 = 768;
const INTERMEDIATE: i64 = 3072;
const DROPOUT: f64 = 0.1;

fn layer_norm(p: nn::Path) -> nn::LayerNorm {
    nn::layer_norm(p, vec![HIDDEN], nn::LayerNormConfig { eps: 1e-12, ..Default::default() })
}

fn linear(p: nn::Path, from: i64, to: i64) -> nn::Linear {
    nn::linear(p, from, to, nn::LinearConfig::default())
}

fn embedding(p: nn::Path, count: i64) -> nn::Embedding {
    nn::embedding(p, count, HIDDEN, nn::EmbeddingConfig::default())
}

/// Words, positions and token types, added up.
#[derive(Debug, Module)]
pub struct Embeddings {
    word_embeddings: nn::Embedding,
    position_embeddings: nn::Embedding,
    token_type_embeddings: nn::Embedding,
    #[module(name = "LayerNorm")]
    layer_norm: nn::LayerNorm,
}

impl Embeddings {
    fn new(p: nn::Path) -> Self {
        Self {
            word_embeddings: embedding(&p / "word_embeddings", VOCABULARY),
            position_embeddings: embedding(&p / "position_embeddings", POSITIONS),
            token_type_embeddings: embedding(&p / "token_type_embeddings", TYPES),
            layer_norm: layer_norm(&p / "LayerNorm"),
        }
    }

    fn forward_t(&self, input_ids: &Tensor, token_type_ids: Option<&Tensor>, train: bool) -> Tensor {
        let (_batch, length) = input_ids.size2().unwrap();
        let positions = Tensor::arange(length, (Kind::Int64, input_ids.device())).unsqueeze(0);
        let types = match token_type_ids {
            Some(types) => types.shallow_clone(),
            None => input_ids.zeros_like(),
        };
        let xs = self.word_embeddings.forward(input_ids)
            + self.token_type_embeddings.forward(&types)
            + self.position_embeddings.forward(&positions);
        self.layer_norm.forward(&xs).dropout(DROPOUT, train)
    }
}

/// Queries, keys and values, and how they attend to each other.
#[derive(Debug, Module)]
pub struct SelfAttention {
    query: nn::Linear,
    key: nn::Linear,
    value: nn::Linear,
    num_attention_heads: i64,
}

impl SelfAttention {
    fn new(p: nn::Path) -> Self {
        Self {
            query: linear(&p / "query", HIDDEN, HIDDEN),
            key: linear(&p / "key", HIDDEN, HIDDEN),
            value: linear(&p / "value", HIDDEN, HIDDEN),
            num_attention_heads: HEADS,
        }
    }

    /// `[N, length, hidden]` to `[N, heads, length, hidden / heads]`.
    fn split_heads(&self, xs: &Tensor) -> Tensor {
        let (batch, length, hidden) = xs.size3().unwrap();
        let head = hidden / self.num_attention_heads;
        xs.view([batch, length, self.num_attention_heads, head]).transpose(1, 2)
    }

    fn forward_t(&self, xs: &Tensor, mask: Option<&Tensor>, train: bool) -> Tensor {
        let query = self.split_heads(&xs.apply(&self.query));
        let key = self.split_heads(&xs.apply(&self.key));
        let value = self.split_heads(&xs.apply(&self.value));
        let size = query.size()[3] as f64;
        let scores = query.matmul(&key.transpose(-1, -2)) / size.sqrt();
        let scores = match mask {
            Some(mask) => scores + mask,
            None => scores,
        };
        let weights = scores.softmax(-1, scores.kind()).dropout(DROPOUT, train);
        weights.matmul(&value).transpose(1, 2).contiguous().flatten(2, -1)
    }
}

/// A linear layer, an addition and a norm.
#[derive(Debug, Module)]
pub struct Output {
    dense: nn::Linear,
    #[module(name = "LayerNorm")]
    layer_norm: nn::LayerNorm,
}

impl Output {
    fn new(p: nn::Path, from: i64) -> Self {
        Self { dense: linear(&p / "dense", from, HIDDEN), layer_norm: layer_norm(&p / "LayerNorm") }
    }

    fn forward_t(&self, xs: &Tensor, input: &Tensor, train: bool) -> Tensor {
        let xs = xs.apply(&self.dense).dropout(DROPOUT, train);
        (xs + input).apply(&self.layer_norm)
    }
}

/// Attention and what follows it. Its tensors are `self.*` and `output.*`.
#[derive(Debug, Module)]
pub struct Attention {
    #[module(name = "self")]
    self_attention: SelfAttention,
    output: Output,
}

/// The widening half of the feed-forward part.
#[derive(Debug, Module)]
pub struct Intermediate {
    dense: nn::Linear,
}

/// One layer of the encoder, with the norms behind.
#[derive(Debug, Module)]
pub struct Layer {
    attention: Attention,
    intermediate: Intermediate,
    output: Output,
}

impl Layer {
    fn new(p: nn::Path) -> Self {
        let attention = &p / "attention";
        Self {
            attention: Attention {
                self_attention: SelfAttention::new(&attention / "self"),
                output: Output::new(&attention / "output", HIDDEN),
            },
            intermediate: Intermediate { dense: linear(&p / "intermediate" / "dense", HIDDEN, INTERMEDIATE) },
            output: Output::new(&p / "output", INTERMEDIATE),
        }
    }

    fn forward_t(&self, xs: &Tensor, mask: Option<&Tensor>, train: bool) -> Tensor {
        let attended = self.attention.self_attention.forward_t(xs, mask, train);
        let xs = self.attention.output.forward_t(&attended, xs, train);
        let wide = self.intermediate.dense.forward(&xs).gelu("none");
        self.output.forward_t(&wide, &xs, train)
    }
}

/// The layers. Their tensors are `layer.0.*`, `layer.1.*`, ...
#[derive(Debug, Module)]
pub struct Encoder {
    layer: Vec<Layer>,
}

/// The summary of a sequence, taken from its first token.
#[derive(Debug, Module)]
pub struct Pooler {
    dense: nn::Linear,
}

impl Pooler {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs.select(1, 0).apply(&self.dense).tanh()
    }
}

/// The encoder with its embeddings and its pooler.
#[derive(Debug, Module)]
pub struct BertModel {
    embeddings: Embeddings,
    encoder: Encoder,
    pooler: Pooler,
}

impl BertModel {
    /// Token ids are below this.
    pub const VOCABULARY: i64 = VOCABULARY;

    /// A model with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let layers = p / "encoder" / "layer";
        Self {
            embeddings: Embeddings::new(p / "embeddings"),
            encoder: Encoder { layer: (0..LAYERS).map(|i| Layer::new(&layers / i)).collect() },
            pooler: Pooler { dense: linear(p / "pooler" / "dense", HIDDEN, HIDDEN) },
        }
    }
}

#[traceable]
impl BertModel {
    /// Token ids `i64[N, length]` to the last hidden state, `[N, length, 768]`, and the pooler's output, `[N, 768]`.
    ///
    /// `attention_mask` is 1 for tokens that count and 0 for padding, of the shape of the ids; all count if it is none.
    pub fn forward_t(
        &self,
        input_ids: &Tensor,
        attention_mask: Option<&Tensor>,
        token_type_ids: Option<&Tensor>,
        train: bool,
    ) -> (Tensor, Tensor) {
        let mut xs = self.embeddings.forward_t(input_ids, token_type_ids, train);
        let mask = attention_mask.map(|mask| {
            let mask = mask.unsqueeze(1).unsqueeze(2).to_kind(xs.kind());
            (1.0 - mask) * -10_000.0
        });
        for layer in &self.encoder.layer {
            xs = layer.forward_t(&xs, mask.as_ref(), train);
        }
        let pooled = self.pooler.forward(&xs);
        (xs, pooled)
    }
}
