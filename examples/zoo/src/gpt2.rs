//! GPT-2 (small) with the structure, and so the tensor names, of Hugging Face's `GPT2LMHeadModel`.
//!
//! Radford et al., "Language Models are Unsupervised Multitask Learners" (2019). The table of words is also the last
//! layer. [`Gpt2`] reads a whole text; [`CachedGpt2`] has the same weights and remembers keys and values, so that each
//! token is looked at once.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

const VOCABULARY: i64 = 50_257;
const POSITIONS: i64 = 1024;
const LAYERS: i64 = 12;
const HEADS: i64 = 12;
const HIDDEN: i64 = 768;
const DROPOUT: f64 = 0.1;

fn layer_norm(p: nn::Path) -> nn::LayerNorm {
    nn::layer_norm(p, vec![HIDDEN], nn::LayerNormConfig::default())
}

/// What later tokens look back at: keys and values, each `[N, heads, length, hidden / heads]`.
pub type KeyValue = (Tensor, Tensor);

/// A linear layer whose weight is `[in, out]`, as GPT-2 stores it.
#[derive(Debug, Module)]
pub struct Conv1D {
    weight: Tensor,
    bias: Tensor,
}

impl Conv1D {
    fn new(p: nn::Path, from: i64, to: i64) -> Self {
        Self { weight: p.randn("weight", &[from, to], 0.0, 0.02), bias: p.zeros("bias", &[to]) }
    }
}

impl nn::Module for Conv1D {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs.matmul(&self.weight) + &self.bias
    }
}

/// Attention to what came before.
#[derive(Debug, Module)]
pub struct Attention {
    c_attn: Conv1D,
    c_proj: Conv1D,
    n_head: i64,
}

impl Attention {
    fn new(p: nn::Path) -> Self {
        Self {
            c_attn: Conv1D::new(&p / "c_attn", HIDDEN, 3 * HIDDEN),
            c_proj: Conv1D::new(&p / "c_proj", HIDDEN, HIDDEN),
            n_head: HEADS,
        }
    }

    /// `[N, length, hidden]` to `[N, heads, length, hidden / heads]`.
    fn split_heads(&self, xs: &Tensor) -> Tensor {
        let (batch, length, hidden) = xs.size3().unwrap();
        xs.view([batch, length, self.n_head, hidden / self.n_head]).transpose(1, 2)
    }

    fn attend(&self, query: &Tensor, key: &Tensor, value: &Tensor, future: &Tensor, train: bool) -> Tensor {
        let size = query.size()[3] as f64;
        let scores = query.matmul(&key.transpose(-2, -1)) / size.sqrt();
        let scores = scores.masked_fill(future, f64::NEG_INFINITY);
        let weights = scores.softmax(-1, scores.kind()).dropout(DROPOUT, train);
        let ys = weights.matmul(value).transpose(1, 2).contiguous().flatten(2, -1);
        ys.apply(&self.c_proj).dropout(DROPOUT, train)
    }

    fn forward_t(&self, xs: &Tensor, future: &Tensor, train: bool) -> Tensor {
        let qkv = xs.apply(&self.c_attn).split(HIDDEN, 2);
        let query = self.split_heads(&qkv[0]);
        let key = self.split_heads(&qkv[1]);
        let value = self.split_heads(&qkv[2]);
        self.attend(&query, &key, &value, future, train)
    }

    fn forward_cached(&self, xs: &Tensor, future: &Tensor, past: &KeyValue) -> (Tensor, KeyValue) {
        let qkv = xs.apply(&self.c_attn).split(HIDDEN, 2);
        let query = self.split_heads(&qkv[0]);
        let key = Tensor::cat(&[&past.0, &self.split_heads(&qkv[1])], 2);
        let value = Tensor::cat(&[&past.1, &self.split_heads(&qkv[2])], 2);
        let ys = self.attend(&query, &key, &value, future, false);
        (ys, (key, value))
    }
}

/// The feed-forward part.
#[derive(Debug, Module)]
pub struct Mlp {
    c_fc: Conv1D,
    c_proj: Conv1D,
}

impl nn::ModuleT for Mlp {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        xs.apply(&self.c_fc).gelu("tanh").apply(&self.c_proj).dropout(DROPOUT, train)
    }
}

/// One layer, with the norms in front.
#[derive(Debug, Module)]
pub struct Block {
    ln_1: nn::LayerNorm,
    attn: Attention,
    ln_2: nn::LayerNorm,
    mlp: Mlp,
}

impl Block {
    fn new(p: nn::Path) -> Self {
        let mlp = &p / "mlp";
        Self {
            ln_1: layer_norm(&p / "ln_1"),
            attn: Attention::new(&p / "attn"),
            ln_2: layer_norm(&p / "ln_2"),
            mlp: Mlp {
                c_fc: Conv1D::new(&mlp / "c_fc", HIDDEN, 4 * HIDDEN),
                c_proj: Conv1D::new(&mlp / "c_proj", 4 * HIDDEN, HIDDEN),
            },
        }
    }

    fn forward_t(&self, xs: &Tensor, future: &Tensor, train: bool) -> Tensor {
        let xs = xs + self.attn.forward_t(&self.ln_1.forward(xs), future, train);
        let ys = self.ln_2.forward(&xs).apply_t(&self.mlp, train);
        xs + ys
    }

    fn forward_cached(&self, xs: &Tensor, future: &Tensor, past: &KeyValue) -> (Tensor, KeyValue) {
        let (ys, present) = self.attn.forward_cached(&self.ln_1.forward(xs), future, past);
        let xs = xs + ys;
        let ys = self.ln_2.forward(&xs).apply_t(&self.mlp, false);
        (xs + ys, present)
    }
}

/// All but the last layer.
#[derive(Debug, Module)]
pub struct Transformer {
    wte: nn::Embedding,
    wpe: nn::Embedding,
    h: Vec<Block>,
    ln_f: nn::LayerNorm,
}

impl Transformer {
    fn new(p: nn::Path) -> Self {
        let layers = &p / "h";
        Self {
            wte: nn::embedding(&p / "wte", VOCABULARY, HIDDEN, nn::EmbeddingConfig::default()),
            wpe: nn::embedding(&p / "wpe", POSITIONS, HIDDEN, nn::EmbeddingConfig::default()),
            h: (0..LAYERS).map(|i| Block::new(&layers / i)).collect(),
            ln_f: layer_norm(&p / "ln_f"),
        }
    }

    /// The vectors of tokens that stand at `start` and after, `[N, length, hidden]`.
    fn embed(&self, input_ids: &Tensor, start: i64) -> Tensor {
        let end = start + input_ids.size()[1];
        let positions = Tensor::arange_start(start, end, (Kind::Int64, input_ids.device())).unsqueeze(0);
        self.wte.forward(input_ids) + self.wpe.forward(&positions)
    }
}

/// True for what each of `length` tokens, which follow `past` others, may not look at.
fn future(past: i64, length: i64, input_ids: &Tensor) -> Tensor {
    Tensor::ones([length, past + length], (Kind::Bool, input_ids.device())).triu(past + 1)
}

/// The model that reads a whole text.
#[derive(Debug, Module)]
pub struct Gpt2 {
    transformer: Transformer,
    lm_head: nn::Linear,
}

impl Gpt2 {
    /// Token ids are below this.
    pub const VOCABULARY: i64 = VOCABULARY;

    /// A model with fresh weights under `p`.
    pub fn new(p: &nn::Path) -> Self {
        let transformer = Transformer::new(p / "transformer");
        let lm_head = nn::Linear { ws: transformer.wte.ws.shallow_clone(), bs: None };
        Self { transformer, lm_head }
    }

    /// The same weights in a model that remembers.
    pub fn cached(self) -> CachedGpt2 {
        CachedGpt2 { transformer: self.transformer, lm_head: self.lm_head }
    }
}

#[traceable]
impl Gpt2 {
    /// Token ids `i64[N, length]` to one score a word for what follows each token, `[N, length, vocabulary]`.
    pub fn forward_t(&self, input_ids: &Tensor, train: bool) -> Tensor {
        let future = future(0, input_ids.size()[1], input_ids);
        let mut xs = self.transformer.embed(input_ids, 0).dropout(DROPOUT, train);
        for block in &self.transformer.h {
            xs = block.forward_t(&xs, &future, train);
        }
        xs.apply(&self.transformer.ln_f).apply(&self.lm_head)
    }
}

/// The model that continues where it stopped.
#[derive(Debug, Module)]
pub struct CachedGpt2 {
    transformer: Transformer,
    lm_head: nn::Linear,
}

impl CachedGpt2 {
    /// What the model remembers before the first token of `batch` texts: nothing, in each layer.
    pub fn empty(&self, batch: i64) -> Vec<KeyValue> {
        let ws = &self.lm_head.ws;
        let nothing = || Tensor::zeros([batch, HEADS, 0, HIDDEN / HEADS], (ws.kind(), ws.device()));
        self.transformer.h.iter().map(|_| (nothing(), nothing())).collect()
    }
}

#[traceable]
impl CachedGpt2 {
    /// The next token ids, `i64[N, length]`, to one score a word for what follows each of them,
    /// `[N, length, vocabulary]`, and to what the model remembers from now on.
    pub fn forward(&self, input_ids: &Tensor, past: &[KeyValue]) -> (Tensor, Vec<KeyValue>) {
        let start = past[0].0.size()[2];
        let future = future(start, input_ids.size()[1], input_ids);
        let mut xs = self.transformer.embed(input_ids, start);
        let mut present = Vec::new();
        for (i, block) in self.transformer.h.iter().enumerate() {
            let (ys, key_value) = block.forward_cached(&xs, &future, &past[i]);
            present.push(key_value);
            xs = ys;
        }
        (xs.apply(&self.transformer.ln_f).apply(&self.lm_head), present)
    }
}
