//! Parts that are called with options of which the call tells whether they are there.

use fx_runtime::{Module, Tensor, nn, traceable};

/// What a step of attention keeps for the next.
#[derive(Debug)]
pub struct Kept {
    keys: Tensor,
}

/// A part that asks for each of its options, one of which it empties.
#[derive(Debug, Module)]
pub struct Attending {
    queries: nn::Linear,
    keys: nn::Linear,
    output: nn::Linear,
}

impl Attending {
    fn new(p: nn::Path) -> Self {
        let linear = |name| nn::linear(&p / name, 4, 4, nn::LinearConfig::default());
        Self { queries: linear("queries"), keys: linear("keys"), output: linear("output") }
    }
}

#[traceable]
impl Attending {
    pub fn forward(
        &self,
        xs: &Tensor,
        others: Option<&Tensor>,
        kept: Option<Kept>,
        scale: Option<Tensor>,
    ) -> (Tensor, Option<Kept>) {
        let queries = xs.apply(&self.queries).tanh();
        let of = others.unwrap_or(xs);
        let fresh = of.apply(&self.keys).sigmoid();
        let keys = match (kept, others) {
            (Some(kept), None) => Tensor::cat(&[kept.keys, fresh], 0),
            (Some(kept), Some(_)) => kept.keys * 0.5 + fresh,
            (None, _) => fresh,
        };
        let mut scale = scale;
        let first = scale.take();
        let weights = queries.matmul(&keys.tr()).softmax(-1, fx_runtime::Kind::Float);
        let mut output = weights.matmul(&keys).apply(&self.output);
        if let Some(first) = first {
            output = output * first;
        }
        if scale.is_none() {
            output = output.relu() + 0.25;
        }
        (output, Some(Kept { keys }))
    }
}

#[derive(Debug, Module)]
pub struct WithOptions {
    own: Attending,
    other: Attending,
}

impl WithOptions {
    fn new(p: &nn::Path) -> Self {
        Self { own: Attending::new(p / "own"), other: Attending::new(p / "other") }
    }
}

#[traceable]
impl WithOptions {
    pub fn forward(&self, xs: &Tensor, memory: &Tensor) -> Tensor {
        let (ys, kept) = self.own.forward(xs, None, None, Some(xs.mean(fx_runtime::Kind::Float)));
        let (zs, kept) = self.other.forward(&ys, Some(memory), kept, None);
        let (zs, _) = self.own.forward(&zs, Some(xs), kept, Some(zs.sigmoid()));
        ys + zs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, root};

    #[test]
    fn a_part_takes_the_options_that_a_call_has() {
        agree!(WithOptions::new, [(randn(&[3, 4]), randn(&[3, 4]))], |net, (xs, memory)| net.forward(xs, memory));
    }

    /// The graph of this one model asks for nothing that the calls in it say.
    #[test]
    fn the_graph_asks_only_for_what_the_caller_does_not_know() {
        let (_, net) = root(WithOptions::new);
        let graph = net.graph().expect("a graph");
        let text = graph.to_string();
        let asked = text.lines().filter(|line| line.contains("match(") || line.contains("if("));
        assert_eq!(asked.collect::<Vec<_>>().len(), 0, "{text}");
    }
}
