//! Models of sequences: recurrent ones, transformers by several hands, mixtures of experts.

use fx_runtime::{Device, IndexOp, Kind, Module, Tensor, nn, nn::RNN as _, traceable};

/// A tagger: embedding, LSTM in both directions, a linear layer.
#[derive(Debug, Module)]
pub struct Tagger {
    embed: nn::Embedding,
    lstm: nn::LSTM,
    fc: nn::Linear,
}

#[traceable]
impl Tagger {
    pub fn forward(&self, tokens: &Tensor) -> Tensor {
        let xs = self.embed.forward(tokens);
        let (ys, _) = self.lstm.seq(&xs);
        self.fc.forward(&ys).log_softmax(-1, Kind::Float)
    }
}

/// A classifier on the last state of a GRU.
#[derive(Debug, Module)]
pub struct LastState {
    gru: nn::GRU,
    norm: nn::LayerNorm,
    fc: nn::Linear,
}

#[traceable]
impl LastState {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Tensor) {
        let state = self.gru.zero_state(xs.size()[0]);
        let (ys, state) = self.gru.seq_init(xs, &state);
        let last = ys.select(1, -1).apply(&self.norm);
        (last.apply(&self.fc), state.value())
    }
}

/// One recurrent layer on another.
#[derive(Debug, Module)]
pub struct Twice {
    lstm: nn::LSTM,
    gru: nn::GRU,
}

#[traceable]
impl Twice {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (ys, _) = self.lstm.seq(xs);
        self.gru.seq(&ys).0.relu()
    }
}

/// An LSTM cell written out, and a loop over time.
#[derive(Debug, Module)]
pub struct Cell {
    ih: nn::Linear,
    hh: nn::Linear,
    hidden: i64,
}

#[traceable]
impl Cell {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, (Tensor, Tensor)) {
        let (batch, steps, _) = xs.size3().unwrap();
        let mut h = Tensor::zeros([batch, self.hidden], (xs.kind(), xs.device()));
        let mut c = h.zeros_like();
        let mut outs = Vec::new();
        for t in 0..steps {
            let gates = self.ih.forward(&xs.select(1, t)) + self.hh.forward(&h);
            let parts = gates.chunk(4, 1);
            let (i, f, g, o) = (parts[0].sigmoid(), parts[1].sigmoid(), parts[2].tanh(), parts[3].sigmoid());
            c = f * &c + i * g;
            h = o * c.tanh();
            outs.push(h.shallow_clone());
        }
        (Tensor::stack(&outs, 1), (h, c))
    }
}

#[derive(Debug, Module)]
struct Heads {
    q: nn::Linear,
    k: nn::Linear,
    v: nn::Linear,
    out: nn::Linear,
    n_head: i64,
    dropout: f64,
}

impl Heads {
    fn new(p: &nn::Path, dim: i64, n_head: i64) -> Heads {
        let linear = |name: &str| nn::linear(p / name, dim, dim, Default::default());
        Heads { q: linear("q"), k: linear("k"), v: linear("v"), out: linear("out"), n_head, dropout: 0.1 }
    }

    fn split(&self, xs: &Tensor) -> Tensor {
        let size = xs.size();
        xs.view([size[0], size[1], self.n_head, size[2] / self.n_head]).transpose(1, 2)
    }

    fn forward(&self, q: &Tensor, kv: &Tensor, mask: Option<&Tensor>, train: bool) -> Tensor {
        let size = q.size();
        let (q, k, v) =
            (self.split(&self.q.forward(q)), self.split(&self.k.forward(kv)), self.split(&self.v.forward(kv)));
        let d = *q.size().last().unwrap() as f64;
        let mut scores = q.matmul(&k.transpose(-2, -1)) / d.sqrt();
        if let Some(mask) = mask {
            scores = scores + mask;
        }
        let probs = scores.softmax(-1, Kind::Float).dropout(self.dropout, train);
        let ys = probs.matmul(&v).transpose(1, 2).contiguous().view(&size[..]);
        self.out.forward(&ys)
    }
}

#[derive(Debug, Module)]
struct FeedForward {
    up: nn::Linear,
    down: nn::Linear,
}

impl FeedForward {
    fn new(p: &nn::Path, dim: i64) -> FeedForward {
        FeedForward {
            up: nn::linear(p / "up", dim, 2 * dim, Default::default()),
            down: nn::linear(p / "down", 2 * dim, dim, Default::default()),
        }
    }

    fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.up).gelu("none").apply(&self.down)
    }
}

#[derive(Debug, Module)]
struct EncoderLayer {
    attn: Heads,
    ff: FeedForward,
    norm1: nn::LayerNorm,
    norm2: nn::LayerNorm,
}

impl EncoderLayer {
    fn new(p: &nn::Path, dim: i64) -> EncoderLayer {
        EncoderLayer {
            attn: Heads::new(&(p / "attn"), dim, 2),
            ff: FeedForward::new(&(p / "ff"), dim),
            norm1: nn::layer_norm(p / "norm1", vec![dim], Default::default()),
            norm2: nn::layer_norm(p / "norm2", vec![dim], Default::default()),
        }
    }

    fn forward(&self, xs: &Tensor, mask: Option<&Tensor>, train: bool) -> Tensor {
        let ys = self.norm1.forward(&(xs + self.attn.forward(xs, xs, mask, train)));
        self.norm2.forward(&(&ys + self.ff.forward(&ys)))
    }
}

#[derive(Debug, Module)]
struct DecoderLayer {
    own: Heads,
    cross: Heads,
    ff: FeedForward,
    norms: [nn::LayerNorm; 3],
}

impl DecoderLayer {
    fn new(p: &nn::Path, dim: i64) -> DecoderLayer {
        DecoderLayer {
            own: Heads::new(&(p / "own"), dim, 2),
            cross: Heads::new(&(p / "cross"), dim, 2),
            ff: FeedForward::new(&(p / "ff"), dim),
            norms: [0, 1, 2].map(|i| nn::layer_norm(p / "norms" / i, vec![dim], Default::default())),
        }
    }

    fn forward(&self, xs: Tensor, memory: &Tensor, mask: &Tensor) -> Tensor {
        let [first, second, third] = &self.norms;
        let ys = xs.apply(first);
        let xs = xs + self.own.forward(&ys, &ys, Some(mask), false);
        let ys = xs.apply(second);
        let xs = xs + self.cross.forward(&ys, memory, None, false);
        let ys = self.ff.forward(&xs.apply(third));
        xs + ys
    }
}

/// An encoder and a decoder, with a causal mask built in the forward.
#[derive(Debug, Module)]
pub struct Translator {
    embed: nn::Embedding,
    position: Tensor,
    encoder: Vec<EncoderLayer>,
    decoder: Vec<DecoderLayer>,
    dim: i64,
}

impl Translator {
    fn new(p: &nn::Path) -> Translator {
        let dim = 8;
        // What is multiplied by √dim when it is looked up, and is the last layer's weight too.
        let ws_init = nn::Init::Randn { mean: 0.0, stdev: (dim as f64).powf(-0.5) };
        let config = nn::EmbeddingConfig { ws_init, ..Default::default() };
        Translator {
            embed: nn::embedding(p / "embed", 11, dim, config),
            position: p.randn("position", &[1, 16, dim], 0.0, 0.1),
            encoder: (0..2).map(|i| EncoderLayer::new(&(p / "encoder" / i), dim)).collect(),
            decoder: (0..2).map(|i| DecoderLayer::new(&(p / "decoder" / i), dim)).collect(),
            dim,
        }
    }

    fn embedded(&self, tokens: &Tensor) -> Tensor {
        let len = tokens.size()[1];
        let scale = (self.dim as f64).sqrt();
        tokens.apply(&self.embed) * scale + self.position.narrow(1, 0, len)
    }

    fn causal(len: i64, device: Device) -> Tensor {
        let ones = Tensor::ones([len, len], (Kind::Float, device));
        ones.triu(1) * -1e9
    }
}

#[traceable]
impl Translator {
    pub fn forward(&self, source: &Tensor, target: &Tensor, padding: Option<&Tensor>) -> Tensor {
        let mask = padding.map(|padding| {
            let inverted: Tensor = 1.0 - padding.to_kind(Kind::Float);
            inverted.unsqueeze(1).unsqueeze(2) * -1e9
        });
        let mut memory = self.embedded(source);
        for layer in &self.encoder {
            memory = layer.forward(&memory, mask.as_ref(), false);
        }
        let causal = Self::causal(target.size()[1], target.device());
        let ys = self.decoder.iter().fold(self.embedded(target), |ys, layer| layer.forward(ys, &memory, &causal));
        ys.matmul(&self.embed.ws.tr())
    }
}

/// Attention as one product for queries, keys and values, and rotary positions.
#[derive(Debug, Module)]
pub struct Rotary {
    qkv: nn::Linear,
    proj: nn::Linear,
    cos: Tensor,
    sin: Tensor,
    heads: usize,
}

fn rotate_half(xs: &Tensor) -> Tensor {
    let half = xs.size().last().copied().unwrap_or(0) / 2;
    let (a, b) = (xs.narrow(-1, 0, half), xs.narrow(-1, half, half));
    Tensor::cat(&[-b, a], -1)
}

#[traceable]
impl Rotary {
    fn rotated(&self, xs: &Tensor, len: i64) -> Tensor {
        let cos = self.cos.i((..len, ..));
        let sin = self.sin.i((..len, ..));
        xs * cos + rotate_half(xs) * sin
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (b, t, c) = xs.size3().unwrap();
        let heads = self.heads as i64;
        let qkv = self.qkv.forward(xs).reshape([b, t, 3, heads, c / heads]).permute([2, 0, 3, 1, 4]);
        let (q, k, v) = (qkv.get(0), qkv.get(1), qkv.get(2));
        let q = self.rotated(&q, t);
        let k = self.rotated(&k, t);
        let ys = Tensor::scaled_dot_product_attention(&q, &k, &v, None::<Tensor>, 0.0, true, None, false);
        ys.transpose(1, 2).reshape([b, t, c]).apply(&self.proj)
    }
}

/// Root mean square norm, and a gated feed-forward part.
#[derive(Debug, Module)]
pub struct Gated {
    scale: Tensor,
    gate_up: nn::Linear,
    down: nn::Linear,
    eps: f64,
}

#[traceable]
impl Gated {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let variance = xs.pow_tensor_scalar(2).mean_dim(-1, true, Kind::Float);
        let normed = xs * (variance + self.eps).rsqrt() * &self.scale;
        let both = self.gate_up.forward(&normed);
        let [gate, up] = &both.chunk(2, -1)[..] else { unreachable!() };
        xs + self.down.forward(&(gate.silu() * up))
    }
}

/// A mixture of experts: each token goes to the best two.
#[derive(Debug, Module)]
pub struct Mixture {
    gate: nn::Linear,
    experts: Vec<FeedForward>,
    top: i64,
}

#[traceable]
impl Mixture {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let shape = xs.size();
        let dim = shape[shape.len() - 1];
        let tokens = xs.reshape([-1, dim]);
        let (weights, chosen) = self.gate.forward(&tokens).softmax(-1, Kind::Float).topk(self.top, -1, true, true);
        let weights = &weights / weights.sum_dim_intlist(-1, true, Kind::Float);
        let mut out = tokens.zeros_like();
        for (i, expert) in self.experts.iter().enumerate() {
            let hit = chosen.eq(i as i64);
            let rows = hit.any_dim(-1, false).nonzero().squeeze_dim(-1);
            if rows.size()[0] == 0 {
                continue;
            }
            let share = (&weights * hit.to_kind(Kind::Float)).sum_dim_intlist(-1, true, Kind::Float);
            let ys = expert.forward(&tokens.index_select(0, &rows)) * share.index_select(0, &rows);
            out = out.index_add(0, &rows, &ys);
        }
        out.view(shape.as_slice())
    }
}

/// Text to classes with a mask, a mean over what is not padding, and words in the check.
#[derive(Debug, Module)]
pub struct Pooled {
    embed: nn::Embedding,
    layers: Vec<EncoderLayer>,
    classifier: Option<nn::Linear>,
    pad: i64,
}

#[traceable]
impl Pooled {
    pub fn forward(&self, tokens: &Tensor) -> Result<Tensor, tch::TchError> {
        let len = tokens.size()[1];
        assert!(len <= 16, "{len} tokens are more than {}", 16);
        let mask = tokens.f_ne(self.pad)?;
        let bias = mask.f_logical_not()?.f_to_kind(Kind::Float)?.f_mul_scalar(-1e9)?.f_unsqueeze(1)?.f_unsqueeze(1)?;
        let mut xs = self.embed.forward(tokens);
        for layer in self.layers.iter() {
            xs = layer.forward(&xs, Some(&bias), false);
        }
        let mask = mask.to_kind(Kind::Float).unsqueeze(-1);
        let summed = (xs * &mask).f_sum_dim_intlist(&[1i64][..], false, Kind::Float)?;
        let mean = summed.f_div(&mask.sum_dim_intlist(1, false, Kind::Float))?;
        match &self.classifier {
            Some(classifier) => Ok(classifier.forward(&mean)),
            None => Ok(mean),
        }
    }
}

/// Greedy decoding: a loop that stops at a token.
#[derive(Debug, Module)]
pub struct Greedy {
    embed: nn::Embedding,
    step: nn::Linear,
    end: i64,
}

#[traceable]
impl Greedy {
    pub fn forward(&self, start: &Tensor, limit: i64) -> (Tensor, i64) {
        let mut token = start.shallow_clone();
        let mut all = vec![start.shallow_clone()];
        let mut steps = 0;
        while steps < limit {
            let logits = token.apply(&self.embed).apply(&self.step);
            token = logits.argmax(-1, false);
            all.push(token.shallow_clone());
            steps += 1;
            if token.eq(self.end).all().int64_value(&[]) == 1 {
                break;
            }
        }
        (Tensor::stack(&all, 1), steps)
    }
}

/// Keys and values of earlier calls, handed in and out.
#[derive(Debug, Module)]
pub struct Cached {
    q: nn::Linear,
    kv: nn::Linear,
}

#[traceable]
impl Cached {
    pub fn forward(&self, xs: &Tensor, past: Option<&(Tensor, Tensor)>) -> (Tensor, (Tensor, Tensor)) {
        let q = self.q.forward(xs);
        let kv = self.kv.forward(xs);
        let parts = kv.split(xs.size()[2], 2);
        let (k, v) = match past {
            Some((past_k, past_v)) => (Tensor::cat(&[past_k, &parts[0]], 1), Tensor::cat(&[past_v, &parts[1]], 1)),
            None => (parts[0].shallow_clone(), parts[1].shallow_clone()),
        };
        let ys = q.bmm(&k.transpose(1, 2)).softmax(-1, Kind::Float).bmm(&v);
        (ys, (k, v))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Close as _, agree, here, not_interpreted, randn, root};
    use fx_runtime::Freeze;

    not_interpreted!(Pooled: "interpreting the code");

    fn tokens(rows: &[&[i64]]) -> Tensor {
        let flat: Vec<i64> = rows.concat();
        Tensor::from_slice(&flat).view([rows.len() as i64, -1])
    }

    #[test]
    fn recurrent_layers() {
        let make = |p: &nn::Path| Tagger {
            embed: nn::embedding(p / "embed", 11, 6, Default::default()),
            lstm: nn::lstm(p / "lstm", 6, 5, nn::RNNConfig { bidirectional: true, ..Default::default() }),
            fc: nn::linear(p / "fc", 10, 4, Default::default()),
        };
        agree!(make, [tokens(&[&[1, 2, 3], &[4, 5, 6]])], |net, xs| net.forward(xs));
        let make = |p: &nn::Path| LastState {
            gru: nn::gru(p / "gru", 6, 5, Default::default()),
            norm: nn::layer_norm(p / "norm", vec![5], Default::default()),
            fc: nn::linear(p / "fc", 5, 4, Default::default()),
        };
        agree!(make, [randn(&[2, 3, 6])], |net, xs| net.forward(xs));
        let make = |p: &nn::Path| Cell {
            ih: nn::linear(p / "ih", 6, 20, Default::default()),
            hh: nn::linear(p / "hh", 5, 20, Default::default()),
            hidden: 5,
        };
        agree!(make, [randn(&[2, 3, 6]), randn(&[1, 7, 6])], |net, xs| {
            let (ys, (h, c)) = net.forward(xs);
            (ys, h, c)
        });
    }

    #[test]
    fn recurrent_layers_are_copied_cast_and_saved() {
        let (vs, net) = root(|p| Twice {
            lstm: nn::lstm(
                p / "lstm",
                6,
                5,
                nn::RNNConfig { bidirectional: true, num_layers: 2, ..Default::default() },
            ),
            gru: nn::gru(p / "gru", 10, 4, nn::RNNConfig { has_biases: false, ..Default::default() }),
        });
        let xs = randn(&[2, 3, 6]);
        let expected = net.forward(&xs);
        let frozen = net.freeze(&Freeze::default()).expect("a frozen model");
        let in_f64 = net.freeze(&Freeze::new().kind(Kind::Double)).expect("a frozen model");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("frozen.safetensors");
        frozen.save(&path).expect("saved");
        let loaded = TwiceFrozen::load(&path, &here()).expect("loaded");
        tch::no_grad(|| vs.variables().into_values().for_each(|mut weight| drop(weight.fill_(0.5))));
        assert!(!net.forward(&xs).allclose(&expected, 1e-5, 1e-5, true));
        frozen.forward(&xs).close(&expected);
        loaded.forward(&xs).close(&expected);
        in_f64.forward(&xs.to_kind(Kind::Double)).close(&expected.to_kind(Kind::Double));
    }

    #[test]
    fn transformers() {
        let pair = (tokens(&[&[1, 2, 3, 0], &[4, 5, 6, 7]]), tokens(&[&[1, 2], &[3, 4]]));
        agree!(Translator::new, [crate::check::Inputs::mapped(&pair, &Tensor::copy)], |net, (a, b)| net
            .forward(a, b, None));
        agree!(Translator::new, [pair], |net, (a, b)| net.forward(&*a, b, Some(&a.not_equal(0))));
        let make = |p: &nn::Path| Rotary {
            qkv: nn::linear(p / "qkv", 8, 24, Default::default()),
            proj: nn::linear(p / "proj", 8, 8, Default::default()),
            cos: p.randn("cos", &[16, 4], 0.0, 1.0),
            sin: p.randn("sin", &[16, 4], 0.0, 1.0),
            heads: 2,
        };
        agree!(make, [randn(&[2, 5, 8])], |net, xs| net.forward(xs));
        let make = |p: &nn::Path| Gated {
            scale: p.ones("scale", &[8]),
            gate_up: nn::linear(p / "gate_up", 8, 32, Default::default()),
            down: nn::linear(p / "down", 16, 8, Default::default()),
            eps: 1e-6,
        };
        agree!(make, [randn(&[2, 5, 8])], |net, xs| net.forward(xs));
        for classes in [None, Some(3)] {
            let make = |p: &nn::Path| Pooled {
                embed: nn::embedding(p / "embed", 11, 8, Default::default()),
                layers: (0..2).map(|i| EncoderLayer::new(&(p / "layers" / i), 8)).collect(),
                classifier: classes.map(|n| nn::linear(p / "classifier", 8, n, Default::default())),
                pad: 0,
            };
            agree!(make, [tokens(&[&[1, 2, 3, 0], &[4, 5, 0, 0]])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn mixtures_of_experts() {
        let make = |p: &nn::Path| Mixture {
            gate: nn::linear(p / "gate", 8, 4, Default::default()),
            experts: (0..4).map(|i| FeedForward::new(&(p / "experts" / i), 8)).collect(),
            top: 2,
        };
        agree!(make, [randn(&[2, 5, 8]), randn(&[1, 8])], |net, xs| net.forward(xs));
    }

    #[test]
    fn decoding() {
        let make = |p: &nn::Path| Greedy {
            embed: nn::embedding(p / "embed", 5, 6, Default::default()),
            step: nn::linear(p / "step", 6, 5, Default::default()),
            end: 2,
        };
        for limit in [0, 3, 20] {
            agree!(make, [Tensor::from_slice(&[1i64]), Tensor::from_slice(&[0i64, 3])], |net, xs| net
                .forward(xs, limit));
        }
        let make = |p: &nn::Path| Cached {
            q: nn::linear(p / "q", 8, 8, Default::default()),
            kv: nn::linear(p / "kv", 8, 16, Default::default()),
        };
        agree!(make, [randn(&[2, 3, 8])], |net, xs| net.forward(xs, None).0);
        let past = (randn(&[2, 4, 8]), randn(&[2, 4, 8]));
        agree!(make, [randn(&[2, 3, 8])], |net, xs| {
            let (ys, (k, v)) = net.forward(xs, Some(&past));
            (ys, k, v)
        });
    }
}
