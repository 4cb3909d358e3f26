//! Lists of references that an iteration chooses, as what methods of an enum lend: generated code gathers handles.

use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Debug)]
pub struct Hidden {
    pub output: Tensor,
    pub attention: Tensor,
}

/// What a layer yields.
#[derive(Debug)]
pub enum Output {
    Embedding(Tensor),
    Encoder(Hidden),
}

impl Output {
    pub fn output(&self) -> &Tensor {
        match self {
            Output::Embedding(output) => output,
            Output::Encoder(hidden) => &hidden.output,
        }
    }

    pub fn attention(&self) -> Option<&Tensor> {
        match self {
            Output::Embedding(_) => None,
            Output::Encoder(hidden) => Some(&hidden.attention),
        }
    }
}

/// The outputs of all layers, weighed.
#[derive(Debug, Module)]
pub struct Stacked {
    fc: nn::Linear,
    weights: Tensor,
}

#[traceable]
impl Stacked {
    pub fn forward(&self, layers: &[Output]) -> Result<Tensor, tch::TchError> {
        let layers = layers.iter().map(Output::output).collect::<Vec<_>>();
        let layers = Tensor::f_stack(&layers, 2)?;
        Ok(layers.f_mul(&self.weights)?.apply(&self.fc))
    }
}

/// Gathered in loops, and read by loops, by number and by code that is not understood.
#[derive(Debug, Module)]
pub struct Gathered {
    fc: nn::Linear,
}

#[traceable]
impl Gathered {
    pub fn forward(&self, layers: &[Output]) -> Tensor {
        let mut outs: Vec<&Tensor> = Vec::new();
        for layer in layers {
            outs.push(layer.output());
        }
        let mut some = Vec::new();
        for (at, layer) in layers.iter().enumerate() {
            if at % 2 == 0 {
                some.push(layer.output());
            }
        }
        let most = outs.iter().copied().max_by_key(|one| one.numel()).unwrap();
        let mut sum = outs[0] * 2 + most;
        for out in outs {
            sum = sum + out.apply(&self.fc);
        }
        sum + Tensor::stack(&some, 0).mean_dim(0, false, most.kind()) + some.into_iter().last().unwrap()
    }
}

/// Twice in an iteration, behind a loop and in a second one; with what has been put there before.
#[derive(Debug, Module)]
pub struct Repeated {
    fc: nn::Linear,
}

#[traceable]
impl Repeated {
    pub fn forward(&self, xs: &Tensor, layers: &[Output]) -> Tensor {
        let mut outs = Vec::new();
        for layer in layers {
            for at in 0..2 {
                if at == 0 {
                    outs.push(layer.output());
                }
            }
            outs.push(layer.output());
        }
        outs.push(layers[0].output());
        outs.push(xs);
        let mut others = vec![xs];
        for layer in layers {
            others.push(layer.output());
        }
        for layer in layers {
            others.push(layer.attention().unwrap_or(xs));
        }
        let mut last = Vec::new();
        for layer in layers {
            let before = last.last().copied().unwrap_or(xs);
            std::hint::black_box(before);
            last.push(layer.output());
        }
        last.reverse();
        let all = [Tensor::cat(&outs, 0), Tensor::cat(&others, 0), Tensor::cat(&last, 0)];
        Tensor::cat(&all, 0).apply(&self.fc) * last.len() as i64
    }
}

/// Beside numbers, and in options.
#[derive(Debug, Module)]
pub struct Paired {
    fc: nn::Linear,
}

#[traceable]
impl Paired {
    pub fn forward(&self, layers: &[Output]) -> Tensor {
        let pairs: Vec<(&Tensor, i64)> = layers.iter().map(|layer| (layer.output(), 3)).collect();
        let options: Vec<Option<&Tensor>> = layers.iter().map(|layer| Some(layer.output())).collect();
        let given: Vec<&Tensor> = layers.iter().filter_map(|layer| layer.attention()).collect();
        let ys = pairs[0].0 * pairs[0].1 + options[0].unwrap();
        if given.is_empty() { ys } else { (ys + given[0]).apply(&self.fc) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Stacked: 3 of 3);
    understood!(Gathered: 2 of 14);
    understood!(Repeated: 6 of 21);
    understood!(Paired: 4 of 16);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p / "fc", 4, 4, Default::default())
    }

    fn cases() -> [[Tensor; 5]; 2] {
        [2, 3].map(|rows| [(); 5].map(|()| randn(&[rows, 4])))
    }

    fn of(parts: &[Tensor; 5]) -> Vec<Output> {
        let [first, parts @ ..] = parts;
        let encoder =
            |at: usize| Hidden { output: parts[at].shallow_clone(), attention: parts[at + 1].shallow_clone() };
        vec![Output::Embedding(first.shallow_clone()), Output::Encoder(encoder(0)), Output::Encoder(encoder(2))]
    }

    #[test]
    fn stacked() {
        let make = |p: &nn::Path| Stacked {
            fc: nn::linear(p / "fc", 3, 4, Default::default()),
            weights: p.randn("w", &[3], 0.0, 1.0),
        };
        agree!(make, cases(), |net, parts| net.forward(&of(parts)).unwrap());
    }

    #[test]
    fn gathered() {
        agree!(|p: &nn::Path| Gathered { fc: linear(p) }, cases(), |net, parts| net.forward(&of(parts)));
    }

    #[test]
    fn repeated() {
        agree!(|p: &nn::Path| Repeated { fc: linear(p) }, cases(), |net, parts| net.forward(&parts[4], &of(parts)));
    }

    #[test]
    fn paired() {
        agree!(|p: &nn::Path| Paired { fc: linear(p) }, cases(), |net, parts| net.forward(&of(parts)));
    }
}
