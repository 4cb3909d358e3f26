//! ViT-B/16 with the structure, and so the tensor names, of `torchvision.models.vit_b_16`.
//!
//! Dosovitskiy et al., "An Image is Worth 16x16 Words", <https://arxiv.org/abs/2010.11929>. Attention is written out:
//! one projection to queries, keys and values, two matrix products and a softmax.

use fx_runtime::{Module, Tensor, nn, traceable};

const LAYERS: i64 = 12;
const HEADS: i64 = 12;
const HIDDEN: i64 = 768;
const MLP: i64 = 3072;
const PATCH: i64 = 16;
const IMAGE: i64 = 224;

fn layer_norm(p: nn::Path) -> nn::LayerNorm {
    nn::layer_norm(p, vec![HIDDEN], nn::LayerNormConfig { eps: 1e-6, ..Default::default() })
}

/// PyTorch's `nn.MultiheadAttention`, of a sequence with itself.
#[derive(Debug, Module)]
pub struct MultiheadAttention {
    in_proj_weight: Tensor,
    in_proj_bias: Tensor,
    out_proj: nn::Linear,
    num_heads: i64,
}

impl MultiheadAttention {
    fn new(p: &nn::Path, hidden: i64, num_heads: i64) -> Self {
        Self {
            in_proj_weight: p.kaiming_uniform("in_proj_weight", &[3 * hidden, hidden]),
            in_proj_bias: p.zeros("in_proj_bias", &[3 * hidden]),
            out_proj: nn::linear(p / "out_proj", hidden, hidden, nn::LinearConfig::default()),
            num_heads,
        }
    }
}

#[traceable]
impl nn::Module for MultiheadAttention {
    fn forward(&self, xs: &Tensor) -> Tensor {
        let (batch, length, hidden) = xs.size3().unwrap();
        let head = hidden / self.num_heads;
        let qkv = xs.linear(&self.in_proj_weight, Some(&self.in_proj_bias));
        let qkv = qkv.reshape([batch, length, 3, self.num_heads, head]).permute([2, 0, 3, 1, 4]);
        let (q, k, v) = (qkv.get(0), qkv.get(1), qkv.get(2));
        let scores = q.matmul(&k.transpose(-2, -1)) / (head as f64).sqrt();
        let ys = scores.softmax(-1, scores.kind()).matmul(&v);
        ys.transpose(1, 2).reshape([batch, length, hidden]).apply(&self.out_proj)
    }
}

/// One layer of the encoder, with the norms in front.
#[derive(Debug, Module)]
pub struct EncoderBlock {
    ln_1: nn::LayerNorm,
    self_attention: MultiheadAttention,
    ln_2: nn::LayerNorm,
    mlp: nn::SequentialT,
}

impl EncoderBlock {
    fn new(p: &nn::Path) -> Self {
        let mlp = p / "mlp";
        Self {
            ln_1: layer_norm(p / "ln_1"),
            self_attention: MultiheadAttention::new(&(p / "self_attention"), HIDDEN, HEADS),
            ln_2: layer_norm(p / "ln_2"),
            mlp: nn::seq_t()
                .add(nn::linear(&mlp / 0, HIDDEN, MLP, nn::LinearConfig::default()))
                .add_fn(|xs| xs.gelu("none"))
                .add_fn_t(|xs, train| xs.dropout(0.0, train))
                .add(nn::linear(&mlp / 3, MLP, HIDDEN, nn::LinearConfig::default())),
        }
    }
}

#[traceable]
impl nn::ModuleT for EncoderBlock {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        let xs = xs + xs.apply(&self.ln_1).apply(&self.self_attention).dropout(0.0, train);
        let ys = xs.apply(&self.ln_2).apply_t(&self.mlp, train);
        xs + ys
    }
}

/// Positions, the layers, and a last norm.
#[derive(Debug, Module)]
pub struct Encoder {
    pos_embedding: Tensor,
    #[module(name = "layers.encoder_layer_{}")]
    layers: Vec<EncoderBlock>,
    ln: nn::LayerNorm,
}

impl Encoder {
    fn new(p: &nn::Path, length: i64) -> Self {
        let layers = p / "layers";
        Self {
            pos_embedding: p.randn("pos_embedding", &[1, length, HIDDEN], 0.0, 0.02),
            layers: (0..LAYERS).map(|i| EncoderBlock::new(&(&layers / format!("encoder_layer_{i}")))).collect(),
            ln: layer_norm(p / "ln"),
        }
    }
}

#[traceable]
impl nn::ModuleT for Encoder {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        let mut xs = (xs + &self.pos_embedding).dropout(0.0, train);
        for layer in &self.layers {
            xs = xs.apply_t(layer, train);
        }
        xs.apply(&self.ln)
    }
}

/// The classifier. Its tensors are `heads.head.*`.
#[derive(Debug, Module)]
pub struct Heads {
    head: nn::Linear,
}

/// The base-size vision transformer on patches of 16 x 16 pixels.
#[derive(Debug, Module)]
pub struct VitB16 {
    class_token: Tensor,
    conv_proj: nn::Conv2D,
    encoder: Encoder,
    heads: Heads,
}

impl VitB16 {
    /// A network that tells `classes` classes apart, with fresh weights under `p`.
    pub fn new(p: &nn::Path, classes: i64) -> Self {
        let patches = nn::ConvConfig { stride: PATCH, ..Default::default() };
        let head = p / "heads" / "head";
        Self {
            class_token: p.zeros("class_token", &[1, 1, HIDDEN]),
            conv_proj: nn::conv2d(p / "conv_proj", 3, HIDDEN, PATCH, patches),
            encoder: Encoder::new(&(p / "encoder"), (IMAGE / PATCH).pow(2) + 1),
            heads: Heads { head: nn::linear(head, HIDDEN, classes, nn::LinearConfig::default()) },
        }
    }
}

#[traceable]
impl VitB16 {
    /// Images `[N, 3, 224, 224]`, normalised, to one score a class, `[N, classes]`.
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        let batch = xs.size()[0];
        let patches = xs.apply(&self.conv_proj).flatten(2, -1).transpose(1, 2);
        let class_token = self.class_token.expand([batch, -1, -1], false);
        let ys = Tensor::cat(&[class_token, patches], 1).apply_t(&self.encoder, train);
        ys.select(1, 0).apply(&self.heads.head)
    }
}
