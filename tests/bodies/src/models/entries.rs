//! Models with several entries: one frozen type with all of them, each weight in it once.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// An autoencoder whose norm and nonlinearity both halves share.
#[derive(Debug, Module)]
pub struct Autoencoder {
    down: nn::Conv2D,
    bn: nn::BatchNorm,
    mean: nn::Linear,
    log_var: nn::Linear,
    up: nn::Linear,
    widen: nn::ConvTranspose2D,
}

impl Autoencoder {
    fn new(p: &nn::Path) -> Autoencoder {
        let strided = nn::ConvConfig { stride: 2, padding: 1, ..Default::default() };
        let widened = nn::ConvTransposeConfig { stride: 2, ..Default::default() };
        Autoencoder {
            down: nn::conv2d(p / "down", 3, 8, 3, strided),
            bn: nn::batch_norm2d(p / "bn", 8, Default::default()),
            mean: nn::linear(p / "mean", 8 * 4 * 4, 6, Default::default()),
            log_var: nn::linear(p / "log_var", 8 * 4 * 4, 6, Default::default()),
            up: nn::linear(p / "up", 6, 8 * 4 * 4, Default::default()),
            widen: nn::conv_transpose2d(p / "widen", 8, 3, 2, widened),
        }
    }
}

#[traceable(entry = ["encode", "decode", "forward"])]
impl Autoencoder {
    pub fn encode(&self, xs: &Tensor) -> (Tensor, Tensor) {
        let hidden = xs.apply(&self.down).apply_t(&self.bn, false).relu().flatten(1, -1);
        (hidden.apply(&self.mean), hidden.apply(&self.log_var))
    }

    pub fn decode(&self, latent: &Tensor) -> Tensor {
        let hidden = latent.apply(&self.up).relu().view([-1, 8, 4, 4]);
        hidden.apply(&self.widen).sigmoid()
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (mean, log_var) = self.encode(xs);
        self.decode(&(mean + log_var.exp()))
    }

    /// No entry: it is not asked for.
    pub fn sample(&self, count: i64) -> Tensor {
        self.decode(&Tensor::randn([count, 6], fx_runtime::tch::kind::FLOAT_CPU))
    }
}

/// One layer of a decoder, with what it remembers.
#[derive(Debug, Module)]
pub struct Block {
    norm: nn::LayerNorm,
    q: nn::Linear,
    k: nn::Linear,
    v: nn::Linear,
    out: nn::Linear,
    #[module(skip)]
    cache: Option<(Tensor, Tensor)>,
}

impl Block {
    fn new(p: &nn::Path) -> Block {
        let linear = |name: &str| nn::linear(p / name, 8, 8, Default::default());
        let norm = nn::layer_norm(p / "norm", vec![8], Default::default());
        Block { norm, q: linear("q"), k: linear("k"), v: linear("v"), out: linear("out"), cache: None }
    }

    fn attend(&self, q: &Tensor, k: &Tensor, v: &Tensor, mask: Option<&Tensor>) -> Tensor {
        let mut scores = q.matmul(&k.transpose(-2, -1)) / 8f64.sqrt();
        if let Some(mask) = mask {
            scores = scores.masked_fill(mask, f64::NEG_INFINITY);
        }
        scores.softmax(-1, Kind::Float).matmul(v).apply(&self.out)
    }

    fn forward(&self, xs: &Tensor, mask: &Tensor) -> Tensor {
        let ys = xs.apply(&self.norm);
        let (q, k, v) = (ys.apply(&self.q), ys.apply(&self.k), ys.apply(&self.v));
        xs + self.attend(&q, &k, &v, Some(mask))
    }

    fn step(&mut self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.norm);
        let (q, mut k, mut v) = (ys.apply(&self.q), ys.apply(&self.k), ys.apply(&self.v));
        if let Some((past_k, past_v)) = &self.cache {
            k = Tensor::cat(&[past_k, &k], 1);
            v = Tensor::cat(&[past_v, &v], 1);
        }
        self.cache = Some((k.shallow_clone(), v.shallow_clone()));
        xs + self.attend(&q, &k, &v, None)
    }
}

/// A language model: a whole text at once, or one word after the other.
#[derive(Debug, Module)]
pub struct Language {
    words: nn::Embedding,
    blocks: Vec<Block>,
    head: nn::Linear,
    #[module(skip)]
    seen: i64,
}

impl Language {
    fn new(p: &nn::Path) -> Language {
        Language {
            words: nn::embedding(p / "words", 11, 8, Default::default()),
            blocks: (0..2).map(|at| Block::new(&(p / "blocks" / at))).collect(),
            head: nn::linear(p / "head", 8, 11, Default::default()),
            seen: 0,
        }
    }
}

#[traceable(entry = ["forward", "step", "position"])]
impl Language {
    pub fn forward(&self, words: &Tensor) -> Tensor {
        let len = words.size()[1];
        let mask = Tensor::ones([len, len], (Kind::Bool, words.device())).triu(1);
        let mut xs = words.apply(&self.words);
        for block in &self.blocks {
            xs = block.forward(&xs, &mask);
        }
        xs.apply(&self.head)
    }

    pub fn step(&mut self, word: &Tensor) -> Tensor {
        let mut xs = word.apply(&self.words);
        for block in self.blocks.iter_mut() {
            xs = block.step(&xs);
        }
        self.seen += 1;
        xs.apply(&self.head)
    }

    /// It writes nothing, and reads what `step` writes.
    pub fn position(&self, xs: &Tensor) -> Tensor {
        xs + self.seen
    }
}

/// An actor and a critic, in an impl of its own each.
#[derive(Debug, Module)]
pub struct ActorCritic {
    body: nn::Linear,
    actor: nn::Linear,
    critic: nn::Linear,
}

impl ActorCritic {
    fn new(p: &nn::Path) -> ActorCritic {
        ActorCritic {
            body: nn::linear(p / "body", 4, 16, Default::default()),
            actor: nn::linear(p / "actor", 16, 3, Default::default()),
            critic: nn::linear(p / "critic", 16, 1, Default::default()),
        }
    }
}

#[traceable]
impl nn::Module for ActorCritic {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.body).tanh().apply(&self.actor).softmax(-1, Kind::Float)
    }
}

#[traceable(entry = "evaluate", specialize(deterministic = true))]
impl ActorCritic {
    pub fn evaluate(
        &self,
        xs: &Tensor,
        actions: &Tensor,
        deterministic: bool,
    ) -> Result<(Tensor, Tensor), tch::TchError> {
        let hidden = xs.apply(&self.body).tanh();
        let logs = hidden.apply(&self.actor).log_softmax(-1, Kind::Float);
        let chosen = if deterministic { logs.f_gather(1, actions, false)? } else { logs };
        Ok((chosen, hidden.apply(&self.critic)))
    }
}

#[cfg(test)]
mod tests {
    use fx_runtime::Freeze;

    use super::*;
    use crate::check::{Close, device, here, number, randn, root};

    fn words(size: &[i64]) -> Tensor {
        Tensor::arange(size.iter().product::<i64>(), (Kind::Int64, device())).remainder(11).view(size)
    }

    #[test]
    fn every_entry_computes_the_same() {
        let (_vs, net) = root(|p| Autoencoder::new(p));
        let frozen = net.freeze(&Freeze::default()).unwrap();
        let (xs, latent) = (randn(&[2, 3, 8, 8]), randn(&[5, 6]));
        frozen.encode(&xs).close(&net.encode(&xs));
        frozen.decode(&latent).close(&net.decode(&latent));
        frozen.forward(&xs).close(&net.forward(&xs));
        assert!(frozen.try_decode(&randn(&[5, 7])).is_err());
        let graphs = [net.graph().unwrap(), net.decode_graph().unwrap(), net.forward_graph().unwrap()];
        assert_eq!(graphs.map(|graph| graph.to_string().contains("widen")), [false, true, true]);
        frozen.warm_up(&[[1, 3, 8, 8]]).unwrap();
        frozen.warm_up_decode(&[[1, 6]]).unwrap();
    }

    #[test]
    fn a_layer_of_two_entries_is_packed_once() {
        let (_vs, net) = root(|p| Autoencoder::new(p));
        let frozen = net.freeze(&Freeze::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("frozen.safetensors");
        frozen.save(&path).unwrap();
        let numbers: usize = saved(&path).iter().map(Tensor::numel).sum();
        let model: usize = net.state_dict().iter().map(|(_, tensor)| tensor.numel()).sum();
        assert!(numbers <= model, "{numbers} numbers are saved of a model of {model}");
        let loaded = AutoencoderFrozen::load(&path, &here()).unwrap();
        let xs = randn(&[2, 3, 8, 8]);
        assert_eq!(loaded.forward(&xs), frozen.forward(&xs));
        assert_eq!(loaded.encode(&xs), frozen.encode(&xs));
    }

    fn saved(path: &std::path::Path) -> Vec<Tensor> {
        Tensor::read_safetensors(path).unwrap().into_iter().map(|(_, tensor)| tensor).collect()
    }

    #[test]
    fn what_one_entry_writes_another_reads() {
        let (_vs, mut net) = root(|p| Language::new(p));
        let mut frozen = net.freeze(&Freeze::default()).unwrap();
        let text = words(&[1, 5]);
        let whole = net.forward(&text);
        frozen.forward(&text).close(&whole);
        for at in 0..5 {
            let word = text.narrow(1, at, 1);
            let ys = frozen.step(&word);
            ys.close(&net.step(&word));
            ys.close(&whole.narrow(1, at, 1));
            let xs = randn(&[3]);
            frozen.position(&xs).close(&net.position(&xs));
        }
        assert_eq!(frozen.position(&number(0.0)), number(5.0));
        frozen.reset_state().unwrap();
        assert_eq!(frozen.position(&number(0.0)), number(0.0));
        frozen.step(&text.narrow(1, 0, 1)).close(&whole.narrow(1, 0, 1));
    }

    #[test]
    fn two_impls_of_one_type_are_one_frozen_type() {
        let (_vs, net) = root(|p| ActorCritic::new(p));
        let frozen = net.freeze(&Freeze::default()).unwrap();
        let (xs, actions) = (randn(&[4, 4]), words(&[4, 1]).remainder(3));
        frozen.forward(&xs).close(&nn::Module::forward(&net, &xs));
        frozen.evaluate(&xs, &actions, true).unwrap().close(&net.evaluate(&xs, &actions, true).unwrap());
        assert!(frozen.evaluate(&xs, &actions, false).is_err());
        let modules: [&dyn nn::Module; 2] = [&net, &frozen];
        modules[1].forward(&xs).close(&modules[0].forward(&xs));
    }
}
