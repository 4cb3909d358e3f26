//! Transformers as libraries have them: modules under other names, outputs as structs, layers that may be missing, fields
//! that are functions, and errors on the way.

mod zoo;

pub use self::zoo::*;
use crate::models::library_transformers::blocks::{Block, BlockOutput};
use fx_runtime::{Module, Tensor, nn, traceable};

use self::zoo::shared::{Fault, Function, checked_size};

#[derive(Debug)]
pub struct EncoderOutput {
    pub hidden: Tensor,
    pub all_hidden: Option<Vec<Tensor>>,
    pub all_weights: Option<Vec<Tensor>>,
}

/// A loop whose layers are frozen ones, and which gathers what its flags ask for.
#[derive(Debug, Module)]
pub struct Encoder {
    blocks: Vec<Block>,
    keeps_hidden: bool,
    keeps_weights: bool,
}

impl Encoder {
    pub fn new(p: &nn::Path, keeps: bool, is_decoder: bool) -> Encoder {
        let blocks = (0..2).map(|at| Block::new(&(p / at), keeps, is_decoder)).collect();
        Encoder { blocks, keeps_hidden: keeps, keeps_weights: keeps }
    }
}

#[traceable]
impl Encoder {
    pub fn forward_t(
        &self,
        xs: &Tensor,
        mask: Option<&Tensor>,
        context: Option<&Tensor>,
        train: bool,
    ) -> EncoderOutput {
        let mut all_hidden: Option<Vec<Tensor>> = if self.keeps_hidden { Some(vec![]) } else { None };
        let mut all_weights: Option<Vec<Tensor>> = if self.keeps_weights { Some(vec![]) } else { None };
        let mut hidden = None::<Tensor>;
        let mut weights: Option<Tensor>;
        for block in &self.blocks {
            let output: BlockOutput = if let Some(hidden) = &hidden {
                block.forward_t(hidden, mask, context, train)
            } else {
                block.forward_t(xs, mask, context, train)
            };
            hidden = Some(output.hidden);
            weights = output.weights;
            if let Some(all) = &mut all_weights {
                all.push(weights.unwrap());
            }
            if let Some(all) = all_hidden.as_mut() {
                all.push(hidden.as_ref().unwrap().copy());
            }
        }
        EncoderOutput { hidden: hidden.unwrap(), all_hidden, all_weights }
    }
}

/// Functions of another module that fail, in the middle and at the end.
#[derive(Debug, Module)]
pub struct Model {
    embeddings: nn::Embedding,
    encoder: Encoder,
    pooler: Option<nn::Linear>,
    is_decoder: bool,
}

#[derive(Debug)]
pub struct ModelOutput {
    pub hidden: Tensor,
    pub pooled: Option<Tensor>,
    pub all_hidden: Option<Vec<Tensor>>,
}

impl Model {
    pub fn new(p: &nn::Path, keeps: bool, is_decoder: bool) -> Model {
        Model {
            embeddings: nn::embedding(p / "embeddings", 20, 8, Default::default()),
            encoder: Encoder::new(&(p / "encoder"), keeps, is_decoder),
            pooler: keeps.then(|| nn::linear(p / "pooler", 8, 8, Default::default())),
            is_decoder,
        }
    }
}

#[traceable]
impl Model {
    pub fn forward_t(
        &self,
        ids: Option<&Tensor>,
        embeds: Option<&Tensor>,
        mask: Option<&Tensor>,
        context: Option<&Tensor>,
        train: bool,
    ) -> Result<ModelOutput, Fault> {
        let size = checked_size(ids, embeds)?;
        let embedded = match ids {
            Some(ids) => ids.apply(&self.embeddings),
            None => embeds.unwrap().shallow_clone(),
        };
        let mask: Option<Tensor> = if self.is_decoder & mask.is_some() {
            let mask = mask.as_ref().unwrap();
            match mask.dim() {
                2 => Some(mask.unsqueeze(1)),
                3 => Some(mask.shallow_clone()),
                _ => {
                    return Err(Fault::Value("the mask has two or three axes".into()));
                }
            }
        } else {
            None
        };
        let output = self.encoder.forward_t(&(embedded / size as f64), mask.as_ref(), context, train);
        let pooled = self.pooler.as_ref().map(|pooler| output.hidden.select(1, 0).apply(pooler).tanh());
        Ok(ModelOutput { hidden: output.hidden, pooled, all_hidden: output.all_hidden })
    }
}

#[derive(Debug)]
pub struct SpanOutput {
    pub start: Tensor,
    pub end: Tensor,
    pub all_hidden: Option<Vec<Tensor>>,
}

/// A head that takes the other's error off, and its result apart.
#[derive(Debug, Module)]
pub struct SpanHead {
    model: Model,
    function: Function,
    out: nn::Linear,
}

impl SpanHead {
    pub fn new(p: &nn::Path, keeps: bool) -> SpanHead {
        SpanHead {
            model: Model::new(&(p / "model"), keeps, keeps),
            function: if keeps { Function::new(Tensor::relu) } else { Function::new(Tensor::tanh) },
            out: nn::linear(p / "out", 8, 2, Default::default()),
        }
    }
}

#[traceable]
impl SpanHead {
    pub fn forward_t(&self, ids: &Tensor, mask: Option<&Tensor>, train: bool) -> SpanOutput {
        let base = self.model.forward_t(Some(ids), None, mask, None, train).unwrap();
        let logits = self.function.get()(&base.hidden.apply(&self.out)).split(1, -1);
        let (start, end) = (&logits[0], &logits[1]);
        SpanOutput { start: start.squeeze_dim(-1), end: end.squeeze_dim(-1), all_hidden: base.all_hidden }
    }
}

/// The types of its inputs have names that only its trait knows.
pub trait Agent {
    type Input;
    type Output;

    fn forward(&self, input: &Self::Input) -> Self::Output;
}

#[derive(Debug, Module)]
pub struct Policy {
    device: fx_runtime::Device,
    mean: nn::Linear,
    scale: nn::Linear,
}

#[traceable]
impl Agent for Policy {
    type Input = Tensor;
    type Output = (Tensor, Tensor);

    fn forward(&self, input: &Self::Input) -> Self::Output {
        let xs = input.to(self.device).relu();
        (xs.apply(&self.mean), xs.apply(&self.scale).exp())
    }
}

#[derive(Debug)]
pub enum Stage {
    Output(BlockOutput),
}

/// Kinds that are compared, numbers that are computed, parts of another's result in one branch of two.
#[derive(Debug, Module)]
pub struct Stages {
    encoder: Encoder,
    buckets: i64,
    keeps_all: bool,
}

#[traceable]
impl Stages {
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> (Stage, Option<Vec<Tensor>>) {
        let scale = (self.buckets as f64 / 2_f64).log2().recip();
        let output = self.encoder.forward_t(xs, None, None, train);
        let hidden = if xs.kind() != fx_runtime::Kind::Float { output.hidden.clamp(-1.0, 1.0) } else { output.hidden };
        let all = if self.keeps_all { output.all_hidden } else { None };
        (Stage::Output(BlockOutput { hidden: hidden * scale, weights: None }), all)
    }
}

/// What stands behind an early return sees its own variables, not those of the branch before it.
#[derive(Debug, Module)]
pub struct Shadowed {
    scales: bool,
}

#[traceable]
impl Shadowed {
    pub fn forward(&self, xs: &Tensor, limit: i64) -> (Tensor, i64) {
        let factor = 3;
        let ys = if self.scales {
            let factor = 10;
            if xs.size()[0] > limit {
                return (xs.shallow_clone(), factor);
            }
            xs * factor
        } else {
            xs.neg()
        };
        (ys * factor, factor)
    }
}

/// Lists of which nothing is known, and what is borrowed of them.
#[derive(Debug, Module)]
pub struct Borrowed {
    fc: nn::Linear,
}

#[traceable]
impl Borrowed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let parts = std::convert::identity(xs.apply(&self.fc).split(1, -1));
        let (a, b) = (&parts[0], &parts[1]);
        a.tanh() - b.sigmoid()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Close, agree, alone, device, randn, root, understood};
    use fx_runtime::Kind;

    understood!(Borrowed: 1 of 7);

    impl Close for BlockOutput {
        fn close(&self, eager: &BlockOutput) {
            self.hidden.close(&eager.hidden);
            self.weights.close(&eager.weights);
        }
    }

    impl Close for EncoderOutput {
        fn close(&self, eager: &EncoderOutput) {
            self.hidden.close(&eager.hidden);
            self.all_hidden.close(&eager.all_hidden);
            self.all_weights.close(&eager.all_weights);
        }
    }

    impl Close for ModelOutput {
        fn close(&self, eager: &ModelOutput) {
            self.hidden.close(&eager.hidden);
            self.pooled.close(&eager.pooled);
            self.all_hidden.close(&eager.all_hidden);
        }
    }

    impl Close for SpanOutput {
        fn close(&self, eager: &SpanOutput) {
            self.start.close(&eager.start);
            self.end.close(&eager.end);
            self.all_hidden.close(&eager.all_hidden);
        }
    }

    fn mask(size: &[i64]) -> Tensor {
        let all = randn(size);
        all.gt(0.0).to_kind(Kind::Float)
    }

    #[test]
    fn blocks() {
        for (keeps, is_decoder) in [(false, false), (true, false), (false, true), (true, true)] {
            let cases = [
                (randn(&[2, 3, 8]), None, None),
                (randn(&[2, 3, 8]), Some(mask(&[2, 1, 3])), None),
                (randn(&[1, 3, 8]), Some(mask(&[1, 3, 3])), Some(randn(&[1, 3, 8]))),
            ];
            agree!(|p| Block::new(p, keeps, is_decoder), cases, |net, (xs, mask, context)| {
                net.forward_t(xs, mask.as_ref(), context.as_ref(), false)
            });
        }
    }

    #[test]
    fn encoders() {
        for (keeps, is_decoder) in [(false, false), (true, false), (true, true)] {
            let cases =
                [(randn(&[2, 3, 8]), None, None), (randn(&[2, 3, 8]), Some(mask(&[2, 1, 3])), Some(randn(&[2, 3, 8])))];
            agree!(|p| Encoder::new(p, keeps, is_decoder), cases, |net, (xs, mask, context)| {
                net.forward_t(xs, mask.as_ref(), context.as_ref(), false)
            });
        }
    }

    #[test]
    fn models() {
        let ids = Tensor::from_slice(&[1i64, 7, 19, 3, 0, 5]).view([2, 3]);
        for (keeps, is_decoder) in [(false, false), (true, false), (true, true)] {
            let cases = [
                (Some(ids.shallow_clone()), None, None),
                (None, Some(randn(&[2, 3, 8])), Some(mask(&[2, 3]))),
                (Some(ids.shallow_clone()), None, Some(mask(&[2, 3, 3]))),
                (Some(ids.shallow_clone()), Some(randn(&[2, 3, 8])), None),
                (None, None, None),
            ];
            agree!(|p| Model::new(p, keeps, is_decoder), cases, |net, (ids, embeds, mask)| {
                net.forward_t(ids.as_ref(), embeds.as_ref(), mask.as_ref(), None, false)
            });
        }
    }

    #[test]
    fn errors_say_what_the_model_says() {
        let (_vs, model) = root(|p| Model::new(p, true, true));
        let frozen = model.freeze(&fx_runtime::Freeze::default()).expect("a frozen model");
        let _alone = alone();
        let none = frozen.try_forward_t(None, None, None, None, false).expect_err("no input").to_string();
        assert!(none.contains("neither ids nor embeddings"), "{none}");
        let flat = Tensor::ones([3], (Kind::Float, device()));
        let ids = Tensor::from_slice(&[1i64, 7]).view([1, 2]).to_device(device());
        let axes = frozen.try_forward_t(Some(&ids), None, Some(&flat), None, false).expect_err("one axis").to_string();
        assert!(axes.contains("two or three axes"), "{axes}");
    }

    #[test]
    fn heads() {
        let ids = Tensor::from_slice(&[1i64, 7, 19, 3, 0, 5]).view([2, 3]);
        for keeps in [false, true] {
            let cases = [(ids.shallow_clone(), None), (ids.shallow_clone(), Some(mask(&[2, 3])))];
            agree!(|p| SpanHead::new(p, keeps), cases, |net, (ids, mask)| net.forward_t(ids, mask.as_ref(), false));
        }
    }

    impl Close for Stage {
        fn close(&self, eager: &Stage) {
            match (self, eager) {
                (Stage::Output(frozen), Stage::Output(eager)) => frozen.close(eager),
            }
        }
    }

    #[test]
    fn policies() {
        let make = |p: &nn::Path| {
            let linear = |name: &str| nn::linear(p / name, 4, 3, Default::default());
            Policy { device: p.device(), mean: linear("mean"), scale: linear("scale") }
        };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn stages() {
        for (buckets, keeps_all, keeps) in [(8, true, true), (32, true, true), (32, false, true), (8, true, false)] {
            let make = |p: &nn::Path| Stages { encoder: Encoder::new(p, keeps, false), buckets, keeps_all };
            agree!(make, [randn(&[2, 3, 8])], |net, xs| net.forward_t(xs, false));
        }
    }

    #[test]
    fn shadowed() {
        for scales in [true, false] {
            agree!(|_| Shadowed { scales }, [randn(&[2, 3]), randn(&[5, 3])], |net, xs| net.forward(xs, 3));
        }
    }

    #[test]
    fn borrowed() {
        let make = |p: &nn::Path| Borrowed { fc: nn::linear(p / "fc", 3, 2, Default::default()) };
        agree!(make, [randn(&[2, 3])], |net, xs| net.forward(xs));
    }
}
