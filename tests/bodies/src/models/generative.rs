//! Generative models: a variational autoencoder, parts of a diffusion model, flows.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// What an autoencoder yields.
#[derive(Debug)]
pub struct Encoded {
    pub image: Tensor,
    pub mu: Tensor,
    pub log_var: Tensor,
}

/// A variational autoencoder; noise is drawn at every call.
#[derive(Debug, Module)]
pub struct Vae {
    fc1: nn::Linear,
    fc21: nn::Linear,
    fc22: nn::Linear,
    fc3: nn::Linear,
    fc4: nn::Linear,
}

impl Vae {
    fn new(vs: &nn::Path) -> Self {
        Vae {
            fc1: nn::linear(vs / "fc1", 12, 8, Default::default()),
            fc21: nn::linear(vs / "fc21", 8, 3, Default::default()),
            fc22: nn::linear(vs / "fc22", 8, 3, Default::default()),
            fc3: nn::linear(vs / "fc3", 3, 8, Default::default()),
            fc4: nn::linear(vs / "fc4", 8, 12, Default::default()),
        }
    }

    fn encode(&self, xs: &Tensor) -> (Tensor, Tensor) {
        let h1 = xs.apply(&self.fc1).relu();
        (self.fc21.forward(&h1), self.fc22.forward(&h1))
    }

    fn decode(&self, zs: &Tensor) -> Tensor {
        zs.apply(&self.fc3).relu().apply(&self.fc4).sigmoid()
    }
}

#[traceable]
impl Vae {
    pub fn forward(&self, xs: &Tensor) -> Encoded {
        let (mu, log_var) = self.encode(&xs.view([-1, 12]));
        let std: Tensor = (&log_var * 0.5).exp();
        let eps = std.randn_like();
        let image = self.decode(&(&mu + eps * std));
        Encoded { image, mu, log_var }
    }
}

/// Sines and cosines of a time step.
#[derive(Debug, Module)]
pub struct TimeEmbedding {
    dim: i64,
    max_period: f64,
    fc1: nn::Linear,
    fc2: nn::Linear,
}

#[traceable]
impl TimeEmbedding {
    pub fn forward(&self, timesteps: &Tensor) -> Tensor {
        let half = self.dim / 2;
        let freqs = Tensor::arange(half, (Kind::Float, timesteps.device())) * (-f64::ln(self.max_period) / half as f64);
        let args = timesteps.to_kind(Kind::Float).unsqueeze(1) * freqs.exp().unsqueeze(0);
        let mut emb = Tensor::cat(&[args.cos(), args.sin()], -1);
        if self.dim % 2 == 1 {
            emb = emb.pad([0, 1], "constant", 0.0);
        }
        emb.apply(&self.fc1).silu().apply(&self.fc2)
    }
}

/// A residual block that takes a time embedding, or none.
#[derive(Debug, Module)]
pub struct ResBlock {
    norm1: nn::GroupNorm,
    conv1: nn::Conv2D,
    time: Option<nn::Linear>,
    norm2: nn::GroupNorm,
    conv2: nn::Conv2D,
    shortcut: Option<nn::Conv2D>,
    scale: f64,
}

#[traceable]
impl ResBlock {
    pub fn forward(&self, xs: &Tensor, temb: Option<&Tensor>) -> Tensor {
        let shortcut = match &self.shortcut {
            Some(conv) => conv.forward(xs),
            None => xs.shallow_clone(),
        };
        let ys = self.conv1.forward(&self.norm1.forward(xs).silu());
        let ys = match (temb, &self.time) {
            (Some(temb), Some(time)) => temb.silu().apply(time).unsqueeze(-1).unsqueeze(-1) + ys,
            _ => ys,
        };
        let ys = self.conv2.forward(&self.norm2.forward(&ys).silu());
        (shortcut + ys) / self.scale
    }
}

/// Attention over a context, or over itself.
#[derive(Debug, Module)]
pub struct CrossAttention {
    to_q: nn::Linear,
    to_k: nn::Linear,
    to_v: nn::Linear,
    to_out: nn::Linear,
    heads: i64,
    scale: f64,
}

impl CrossAttention {
    fn heads_to_batch(&self, xs: &Tensor) -> Tensor {
        let (batch, seq, dim) = xs.size3().unwrap();
        xs.reshape([batch, seq, self.heads, dim / self.heads]).permute([0, 2, 1, 3]).reshape([
            batch * self.heads,
            seq,
            dim / self.heads,
        ])
    }

    fn batch_to_heads(&self, xs: &Tensor) -> Tensor {
        let (batch, seq, dim) = xs.size3().unwrap();
        xs.reshape([batch / self.heads, self.heads, seq, dim]).permute([0, 2, 1, 3]).reshape([
            batch / self.heads,
            seq,
            dim * self.heads,
        ])
    }
}

#[traceable]
impl CrossAttention {
    pub fn forward(&self, xs: &Tensor, context: Option<&Tensor>) -> Tensor {
        let query = xs.apply(&self.to_q);
        let context = context.unwrap_or(xs).contiguous();
        let key = context.apply(&self.to_k);
        let value = context.apply(&self.to_v);
        let query = self.heads_to_batch(&query);
        let key = self.heads_to_batch(&key);
        let value = self.heads_to_batch(&value);
        let probs = (query.matmul(&key.transpose(-1, -2)) * self.scale).softmax(-1, Kind::Float);
        self.batch_to_heads(&probs.matmul(&value)).apply(&self.to_out)
    }
}

/// A gated unit: one product for both halves.
#[derive(Debug, Module)]
pub struct GeGlu {
    proj: nn::Linear,
    out: nn::Linear,
}

#[traceable]
impl GeGlu {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let hidden_and_gate = xs.apply(&self.proj).chunk(2, -1);
        (&hidden_and_gate[0] * hidden_and_gate[1].gelu("none")).apply(&self.out)
    }
}

/// A coupling layer of a flow, with the logarithm of its determinant.
#[derive(Debug, Module)]
pub struct Coupling {
    net: nn::Sequential,
    flip: bool,
}

impl Coupling {
    fn new(p: &nn::Path, flip: bool) -> Self {
        let net = nn::seq().add(nn::linear(p / "0", 2, 8, Default::default())).add_fn(|xs| xs.tanh()).add(nn::linear(
            p / "2",
            8,
            4,
            Default::default(),
        ));
        Coupling { net, flip }
    }

    fn step(&self, xs: &Tensor) -> (Tensor, Tensor) {
        let halves = xs.chunk(2, 1);
        let (a, b) = if self.flip { (&halves[1], &halves[0]) } else { (&halves[0], &halves[1]) };
        let parts = a.apply(&self.net).chunk(2, 1);
        let log_scale = parts[0].tanh();
        let b = b * log_scale.exp() + &parts[1];
        let log_det = log_scale.sum_dim_intlist([1i64].as_slice(), false, Kind::Float);
        let ys = if self.flip { Tensor::cat(&[&b, a], 1) } else { Tensor::cat(&[a, &b], 1) };
        (ys, log_det)
    }
}

#[derive(Debug, Module)]
pub struct Flow {
    layers: Vec<Coupling>,
}

#[traceable]
impl Flow {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Tensor) {
        let mut xs = xs.shallow_clone();
        let mut log_det = Tensor::zeros([xs.size()[0]], (Kind::Float, xs.device()));
        for layer in &self.layers {
            let (ys, det) = layer.step(&xs);
            xs = ys;
            log_det += det;
        }
        (xs, log_det)
    }
}

/// One step of a sampler.
#[derive(Debug, Module)]
pub struct Sampler {
    model: nn::Linear,
    betas: Vec<f64>,
}

#[traceable]
impl Sampler {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut xs = xs.shallow_clone();
        for (t, &beta) in self.betas.iter().enumerate().rev() {
            let eps = self.model.forward(&xs);
            xs = (xs - eps * beta) / (1.0 - beta).sqrt();
            if t > 0 {
                xs = &xs + xs.randn_like() * beta.sqrt();
            }
        }
        xs.clamp(-3.0, 3.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Close, agree, randn};

    impl Close for Encoded {
        fn close(&self, eager: &Encoded) {
            self.image.close(&eager.image);
            self.mu.close(&eager.mu);
            self.log_var.close(&eager.log_var);
        }
    }

    #[test]
    fn autoencoders_and_flows() {
        agree!(Vae::new, [randn(&[3, 12])], |net, xs| net.forward(xs));
        let make = |p: &nn::Path| Flow { layers: (0..3).map(|i| Coupling::new(&(p / i), i % 2 == 1)).collect() };
        agree!(make, [randn(&[3, 4])], |net, xs| net.forward(xs));
        let make =
            |p: &nn::Path| Sampler { model: nn::linear(p, 4, 4, Default::default()), betas: vec![0.1, 0.2, 0.3] };
        agree!(make, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn parts_of_a_diffusion_model() {
        for dim in [6, 7] {
            let make = |p: &nn::Path| TimeEmbedding {
                dim,
                max_period: 10000.0,
                fc1: nn::linear(p / "1", dim, 8, Default::default()),
                fc2: nn::linear(p / "2", 8, 8, Default::default()),
            };
            agree!(make, [Tensor::from_slice(&[1i64, 50, 999])], |net, t| net.forward(t));
        }
        for with_time in [true, false] {
            let make = |p: &nn::Path| ResBlock {
                norm1: nn::group_norm(p / "norm1", 2, 4, Default::default()),
                conv1: nn::conv2d(p / "conv1", 4, 8, 3, nn::ConvConfig { padding: 1, ..Default::default() }),
                time: with_time.then(|| nn::linear(p / "time", 5, 8, Default::default())),
                norm2: nn::group_norm(p / "norm2", 2, 8, Default::default()),
                conv2: nn::conv2d(p / "conv2", 8, 8, 3, nn::ConvConfig { padding: 1, ..Default::default() }),
                shortcut: Some(nn::conv2d(p / "shortcut", 4, 8, 1, Default::default())),
                scale: 1.5,
            };
            let temb = randn(&[2, 5]);
            agree!(make, [randn(&[2, 4, 6, 6])], |net, xs| net.forward(xs, Some(&temb)));
            agree!(make, [randn(&[2, 4, 6, 6])], |net, xs| net.forward(xs, None));
        }
    }

    #[test]
    fn attention_and_gates() {
        let make = |p: &nn::Path| CrossAttention {
            to_q: nn::linear(p / "q", 8, 8, Default::default()),
            to_k: nn::linear(p / "k", 8, 8, Default::default()),
            to_v: nn::linear(p / "v", 8, 8, Default::default()),
            to_out: nn::linear(p / "out", 8, 8, Default::default()),
            heads: 2,
            scale: 0.5,
        };
        let context = randn(&[2, 7, 8]);
        agree!(make, [randn(&[2, 3, 8])], |net, xs| net.forward(xs, Some(&context)));
        agree!(make, [randn(&[2, 3, 8])], |net, xs| net.forward(xs, None));
        let make = |p: &nn::Path| GeGlu {
            proj: nn::linear(p / "proj", 4, 12, Default::default()),
            out: nn::linear(p / "out", 6, 4, Default::default()),
        };
        agree!(make, [randn(&[2, 3, 4])], |net, xs| net.forward(xs));
    }
}
