//! Options: inputs that may be absent, layers that may be absent.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
pub struct Attention {
    q: nn::Linear,
    k: nn::Linear,
    v: nn::Linear,
    out: Option<nn::Linear>,
    scale: f64,
}

#[traceable]
impl Attention {
    pub fn forward(&self, xs: &Tensor, context: Option<&Tensor>, mask: Option<&Tensor>) -> Tensor {
        let context = context.unwrap_or(xs);
        let q = self.q.forward(xs) * self.scale;
        let (k, v) = (self.k.forward(context), self.v.forward(context));
        let mut scores = q.matmul(&k.transpose(-2, -1));
        if let Some(mask) = mask {
            scores = scores.masked_fill(&mask.eq(0.), f64::NEG_INFINITY);
        }
        let ys = scores.softmax(-1, Kind::Float).matmul(&v);
        match &self.out {
            Some(out) => out.forward(&ys),
            None => ys,
        }
    }
}

/// Two options at once: an input and a layer.
#[derive(Debug, Module)]
pub struct TimeEmbedding {
    conv: nn::Linear,
    proj: Option<nn::Linear>,
}

#[traceable]
impl TimeEmbedding {
    pub fn forward(&self, xs: &Tensor, temb: Option<&Tensor>) -> Tensor {
        let xs = self.conv.forward(xs);
        match (temb, &self.proj) {
            (Some(temb), Some(proj)) => xs + proj.forward(&temb.silu()),
            _ => xs,
        }
    }
}

/// Combinators on options.
#[derive(Debug, Module)]
pub struct Combinators {
    fc: Option<nn::Linear>,
    limit: Option<f64>,
    bias: Option<Tensor>,
}

#[traceable]
impl Combinators {
    pub fn forward(&self, xs: &Tensor, ys: Option<Tensor>) -> Tensor {
        let xs = self.fc.as_ref().map(|fc| fc.forward(xs)).unwrap_or_else(|| xs.shallow_clone());
        let xs = match self.limit {
            Some(limit) => xs.clamp(-limit, limit),
            None => xs,
        };
        let added = ys.as_ref().map(|ys| ys * 2.0);
        let xs = if let Some(added) = &added { xs + added } else { xs };
        let xs = self.bias.as_ref().map_or_else(|| xs.relu(), |bias| (&xs + bias).relu());
        let halved = ys.and_then(|ys| if ys.dim() > 1 { Some(ys / 2) } else { None });
        halved.map_or(xs.shallow_clone(), |half| half + &xs)
    }
}

/// Many optional inputs, as in a BERT.
#[derive(Debug, Module)]
pub struct Embeddings {
    words: nn::Embedding,
    types: nn::Embedding,
    norm: nn::LayerNorm,
}

#[traceable]
impl Embeddings {
    pub fn forward_t(
        &self,
        input_ids: Option<&Tensor>,
        token_type_ids: Option<&Tensor>,
        input_embeds: Option<&Tensor>,
        train: bool,
    ) -> Result<Tensor, String> {
        let embeds = match (input_ids, input_embeds) {
            (Some(_), Some(_)) => return Err("both ids and embeddings".to_owned()),
            (Some(ids), None) => self.words.forward(ids),
            (None, Some(embeds)) => embeds.shallow_clone(),
            (None, None) => return Err("neither ids nor embeddings".into()),
        };
        let size = embeds.size();
        let types = match token_type_ids {
            Some(types) => types.shallow_clone(),
            None => Tensor::zeros(&size[..2], (Kind::Int64, embeds.device())),
        };
        Ok((embeds + self.types.forward(&types)).apply(&self.norm).dropout(0.1, train))
    }
}

/// Nested: `Option<Vec<Option<..>>>`.
#[derive(Debug, Module)]
pub struct Nested {
    stages: Option<Vec<Option<nn::Linear>>>,
}

#[traceable]
impl Nested {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        if let Some(stages) = &self.stages {
            for stage in stages {
                if let Some(stage) = stage {
                    ys = stage.forward(&ys).tanh();
                } else {
                    ys = ys.sigmoid();
                }
            }
        }
        ys
    }
}

/// A variable that holds `None` of what is lent, and that code which is carried along reads twice.
#[derive(Debug, Module)]
pub struct NoneLent {}

#[traceable]
impl NoneLent {
    pub fn forward(&self, xs: &Tensor, ys: Option<&Tensor>) -> Tensor {
        let mut kept: Option<&Tensor> = None;
        let first = kept.xor(None).filter(|one| one.size()[0] > 2).map(|one| one.abs());
        if xs.size()[0] > 2 {
            kept = ys;
        }
        let second = kept.xor(None).filter(|one| one.size()[0] > 2).map_or_else(|| xs.neg(), |one| one.cos());
        let third = kept.as_ref().map_or_else(|| xs.sin(), |one| one.shallow_clone());
        second + third + first.unwrap_or_else(|| xs.exp())
    }
}

/// Taken before a loop that asks for it again, and gives it nothing.
#[derive(Debug, Module)]
pub struct TakenBefore {
    fc: nn::Linear,
    times: i64,
}

#[traceable]
impl TakenBefore {
    pub fn forward(&self, xs: &Tensor, mut last: Option<Tensor>) -> Tensor {
        let old = last.take();
        let mut ys = xs.apply(&self.fc);
        for _ in 0..self.times {
            if let Some(last) = last.as_mut() {
                ys = &ys + &*last;
            }
        }
        ys + old.map_or(0.0, |_| 1.0)
    }
}

/// An option in an option: what is no `Some` of a `Some` is more than `None`.
#[derive(Debug, Module)]
pub struct InOption {
    fc: nn::Linear,
    scale: Option<Option<f64>>,
}

#[traceable(strict)]
impl InOption {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = if let Some(Some(scale)) = self.scale { xs.apply(&self.fc) * scale } else { xs.apply(&self.fc) };
        if let Some(None) = self.scale { ys.relu() } else { ys }
    }
}

/// What is known to be there, and is written to where it lies.
#[derive(Debug, Module)]
pub struct WrittenInside {
    fc: nn::Linear,
}

#[traceable]
impl WrittenInside {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut pair = Some((xs.sin(), xs.cos()));
        if let Some((left, right)) = pair.as_mut() {
            *left = right.tanh();
            *right += 1;
        }
        let mut count = Some(xs.dim() as i64);
        if let Some(count) = count.as_mut() {
            *count += 1;
        }
        let ys = pair.map_or_else(|| xs.cos(), |(left, right)| left * right);
        ys.apply(&self.fc) * count.map_or_else(|| 3, |count| count * 2)
    }
}

/// The same of a list.
#[derive(Debug, Module)]
pub struct ListInside {
    fc: nn::Linear,
}

#[traceable]
impl ListInside {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut cache = (1 < 2).then(|| vec![xs.copy(), xs.neg()]);
        if let Some(list) = cache.as_mut() {
            list[1] = xs.apply(&self.fc);
        }
        cache.map_or_else(|| xs.cos(), |list| &list[0] - &list[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(WrittenInside: 8 of 11);
    understood!(ListInside: 0 of 5);
    understood!(NoneLent: 0 of 18);

    #[test]
    fn written_inside() {
        let fc = |p: &nn::Path| nn::linear(p / "fc", 4, 4, Default::default());
        agree!(|p| WrittenInside { fc: fc(p) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        agree!(|p| ListInside { fc: fc(p) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn attention() {
        for with_out in [true, false] {
            let make = |p: &nn::Path| {
                let linear = |name: &str| nn::linear(p / name, 4, 4, Default::default());
                Attention {
                    q: linear("q"),
                    k: linear("k"),
                    v: linear("v"),
                    out: with_out.then(|| linear("out")),
                    scale: 0.5,
                }
            };
            let mask = Tensor::ones([3, 3], (Kind::Float, fx_runtime::Device::Cpu)).tril(0);
            let cases = [
                (randn(&[2, 3, 4]), None, None),
                (randn(&[2, 3, 4]), Some(randn(&[2, 5, 4])), None),
                (randn(&[1, 3, 4]), None, Some(mask)),
            ];
            agree!(make, cases, |net, (xs, context, mask)| net.forward(xs, context.as_ref(), mask.as_ref()));
        }
    }

    #[test]
    fn time_embedding() {
        for with_proj in [true, false] {
            let make = |p: &nn::Path| TimeEmbedding {
                conv: nn::linear(p / "conv", 4, 3, Default::default()),
                proj: with_proj.then(|| nn::linear(p / "proj", 2, 3, Default::default())),
            };
            let cases = [(randn(&[2, 4]), Some(randn(&[2, 2]))), (randn(&[2, 4]), None)];
            agree!(make, cases, |net, (xs, temb)| net.forward(xs, temb.as_ref()));
        }
    }

    #[test]
    fn combinators() {
        for full in [true, false] {
            let make = |p: &nn::Path| Combinators {
                fc: full.then(|| nn::linear(p / "fc", 3, 3, Default::default())),
                limit: full.then_some(0.5),
                bias: full.then(|| p.randn_standard("bias", &[3])),
            };
            let cases =
                [(randn(&[2, 3]), Some(randn(&[2, 3]))), (randn(&[2, 3]), Some(randn(&[3]))), (randn(&[3]), None)];
            agree!(make, cases, |net, (xs, ys)| net.forward(xs, ys.as_ref().map(Tensor::shallow_clone)));
        }
    }

    #[test]
    fn embeddings() {
        let make = |p: &nn::Path| Embeddings {
            words: nn::embedding(p / "words", 10, 4, Default::default()),
            types: nn::embedding(p / "types", 2, 4, Default::default()),
            norm: nn::layer_norm(p / "norm", vec![4], Default::default()),
        };
        let ids = Tensor::from_slice(&[1i64, 3, 5, 9]).view([2, 2]);
        let types = Tensor::from_slice(&[0i64, 1, 0, 1]).view([2, 2]);
        let cases = [
            (Some(ids.shallow_clone()), Some(types), None),
            (Some(ids.shallow_clone()), None, None),
            (None, None, Some(randn(&[2, 3, 4]))),
            (None, None, None),
            (Some(ids), None, Some(randn(&[2, 3, 4]))),
        ];
        agree!(make, cases, |net, (ids, types, embeds)| net.forward_t(
            ids.as_ref(),
            types.as_ref(),
            embeds.as_ref(),
            false
        ));
    }

    #[test]
    fn in_option() {
        for scale in [Some(Some(2.)), Some(None), None] {
            let fc = |p: &nn::Path| nn::linear(p / "fc", 4, 4, Default::default());
            agree!(|p| InOption { fc: fc(p), scale }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn nested() {
        let make = |p: &nn::Path| {
            let linear = |name: i64| nn::linear(p / name, 3, 3, Default::default());
            Nested { stages: Some(vec![Some(linear(0)), None, Some(linear(2))]) }
        };
        agree!(make, [randn(&[2, 3])], |net, xs| net.forward(xs));
        agree!(|_| Nested { stages: None }, [randn(&[2, 3])], |net, xs| net.forward(xs));
    }

    #[test]
    fn none_of_what_is_lent() {
        agree!(
            |_| NoneLent {},
            [(randn(&[2, 4]), randn(&[2, 4])), (randn(&[3, 4]), randn(&[3, 4]))],
            |net, (xs, ys)| net.forward(&*xs, Some(&*ys)) + net.forward(xs, None)
        );
    }

    #[test]
    fn taken_before() {
        let make = |p: &nn::Path| TakenBefore { fc: nn::linear(p, 4, 4, Default::default()), times: 2 };
        agree!(make, [(randn(&[2, 4]), None), (randn(&[2, 4]), Some(randn(&[2, 4])))], |net, (xs, last)| net
            .forward(xs, last.as_ref().map(|one| one.shallow_clone())));
    }
}
