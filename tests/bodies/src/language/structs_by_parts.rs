//! Structs that a function makes and its caller takes apart, and that generated code cannot make: of a private type of
//! another module, or with a part of which it has no value of the very type.

use fx_runtime::{Module, Tensor, nn, traceable};

/// A private struct of a module of its own, which holds options of tensors.
pub mod masked {
    use fx_runtime::{Kind, Module, Tensor, nn};

    struct Indices {
        most: i64,
        rows: Vec<Option<Tensor>>,
        others: Vec<Option<Tensor>>,
    }

    #[derive(Debug, Module)]
    pub struct Masked {
        fc: nn::Linear,
    }

    impl Masked {
        pub fn new(p: nn::Path) -> Masked {
            Masked { fc: nn::linear(p, 4, 4, Default::default()) }
        }

        fn indices(&self, mask: &Tensor) -> Indices {
            let counts = mask.sum_dim_intlist([1].as_slice(), false, Kind::Int64);
            let most = i64::try_from(counts.max()).unwrap();
            let rows = mask.nonzero_numpy().into_iter().map(Some).collect();
            let others = mask.logical_not().nonzero_numpy().into_iter().map(Some).collect();
            Indices { others, most, rows }
        }

        pub fn forward(&self, xs: &Tensor) -> Tensor {
            let found = self.indices(&xs.gt(0.5));
            let ys = xs.apply(&self.fc);
            let zs = ys.index(&found.others).tanh().sum(Kind::Float);
            if found.most > 0 { ys.index(&found.rows).relu().sum(Kind::Float) + ys + zs } else { ys * zs }
        }
    }
}

#[derive(Debug, Module)]
pub struct Masks {
    inner: masked::Masked,
}

#[traceable(strict)]
impl Masks {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.inner.forward(xs) * 2.0
    }
}

/// What a layer keeps for the next token.
#[derive(Debug)]
pub struct Kept {
    key: Tensor,
}

/// What a layer yields: a tuple of options of structs is one of its parts.
pub struct Step {
    hidden: Tensor,
    bias: Option<Tensor>,
    cache: (Option<Kept>, Option<Kept>),
}

#[derive(Debug, Module)]
pub struct Layer {
    fc: nn::Linear,
    has_bias: bool,
}

impl Layer {
    fn forward(
        &self,
        xs: &Tensor,
        bias: Option<&Tensor>,
        mut cache: (Option<Kept>, Option<Kept>),
    ) -> Result<Step, String> {
        if xs.dim() != 2 {
            return Err(format!("{} axes", xs.dim()));
        }
        let ys = xs.apply(&self.fc);
        let own = if bias.is_none() {
            Some(if self.has_bias { ys.mean_dim(0, true, ys.kind()) } else { Tensor::ones_like(&ys) })
        } else {
            None
        };
        let used = if let Some(bias) = bias { bias } else { own.as_ref().unwrap() };
        let key = match &cache.0 {
            Some(kept) => Tensor::cat(&[&kept.key, &ys], 0),
            None => ys.shallow_clone(),
        };
        let hidden = ys + used + key.mean_dim(0, true, xs.kind());
        cache = (Some(Kept { key }), None);
        let bias = if self.has_bias { own } else { None };
        Ok(Step { hidden, bias, cache })
    }
}

/// The `Result` of such a function is unwrapped, and what the first layer yields carried on by a variable without a type.
#[derive(Debug, Module)]
pub struct Stack {
    layers: Vec<Layer>,
}

#[traceable(strict)]
impl Stack {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Option<Tensor>) {
        let mut bias = None;
        let mut last = None;
        let mut hidden = xs.shallow_clone();
        for (at, layer) in self.layers.iter().enumerate() {
            let step = layer.forward(&hidden, bias.as_ref(), (None, None)).unwrap();
            if at == 0 {
                bias = step.bias;
            }
            hidden = step.hidden;
            let (kept, _) = step.cache;
            last = kept.map(|kept| kept.key);
        }
        (hidden, last)
    }
}

/// An array and a number, copied.
#[derive(Clone, Copy)]
pub struct Counts {
    by: [f64; 2],
    seen: i64,
}

/// A list of structs with an array that a loop writes to.
#[derive(Debug, Module)]
pub struct Recorded {
    fc: nn::Linear,
}

#[traceable]
impl Recorded {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut all = vec![];
        let mut counts = Counts { by: [1.0, 2.0], seen: 0 };
        for i in 0..3 {
            all.push(counts);
            counts.by[i % 2] += 10.0;
            counts.seen += 1;
        }
        xs.apply(&self.fc) * all[0].by[0] + all[1].by[0] + all[2].by[1] * 3.0 + all[2].seen as f64 + counts.by[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Recorded: 3 of 7);

    #[test]
    fn private_structs() {
        let make = |p: &nn::Path| Masks { inner: masked::Masked::new(p / "inner") };
        agree!(make, [randn(&[3, 4]), randn(&[1, 4]) - 9.0], |net, xs| net.forward(xs));
    }

    #[test]
    fn arrays() {
        let make = |p: &nn::Path| Recorded { fc: nn::linear(p, 4, 4, Default::default()) };
        agree!(make, [randn(&[3, 4]), randn(&[1, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn tuples_of_options() {
        for has_bias in [true, false] {
            let layer = |p: nn::Path| Layer { fc: nn::linear(p, 4, 4, Default::default()), has_bias };
            agree!(|p| Stack { layers: vec![layer(p / 0), layer(p / 1)] }, [randn(&[3, 4])], |net, xs| net.forward(xs));
        }
    }
}
