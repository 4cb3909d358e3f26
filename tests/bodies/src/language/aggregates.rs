//! Tuples, structs, lists and arrays, going in and coming out.

use fx_runtime::{Device, Kind, Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
pub struct TwoHeads {
    body: nn::Linear,
    policy: nn::Linear,
    value: nn::Linear,
}

#[traceable]
impl TwoHeads {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Tensor) {
        let h = self.body.forward(xs).tanh();
        (self.policy.forward(&h), self.value.forward(&h).squeeze_dim(-1))
    }
}

/// A struct in, a struct out.
#[derive(Debug)]
pub struct Batch {
    pub xs: Tensor,
    pub weight: f64,
}

#[derive(Debug)]
pub struct Output {
    pub logits: Tensor,
    pub hidden: Option<Tensor>,
    pub steps: i64,
}

#[derive(Debug, Module)]
pub struct Structs {
    fc: nn::Linear,
    keep: bool,
}

#[traceable]
impl Structs {
    pub fn forward(&self, batch: &Batch) -> Output {
        let hidden = self.fc.forward(&batch.xs);
        let logits = hidden.softmax(-1, Kind::Float) * batch.weight;
        Output { logits, hidden: if self.keep { Some(hidden) } else { None }, steps: 1 }
    }
}

/// Lists in, lists out.
#[derive(Debug, Module)]
pub struct Pyramid {
    lateral: Vec<nn::Conv2D>,
}

#[traceable]
impl Pyramid {
    pub fn forward(&self, features: &[Tensor]) -> Vec<Tensor> {
        let mut out = Vec::new();
        for (feature, conv) in features.iter().zip(self.lateral.iter()) {
            out.push(conv.forward(feature).relu());
        }
        out
    }
}

#[derive(Debug, Module)]
pub struct Collects {
    layers: Vec<nn::Linear>,
}

#[traceable]
impl Collects {
    pub fn forward(&self, xs: &Tensor) -> Vec<Tensor> {
        self.layers.iter().map(|layer| layer.forward(xs)).collect()
    }
}

/// An array of a known length.
#[derive(Debug, Module)]
pub struct Arrays {
    gates: [nn::Linear; 2],
}

#[traceable]
impl Arrays {
    pub fn forward(&self, state: [Tensor; 2]) -> [Tensor; 2] {
        let [h, c] = state;
        let i = self.gates[0].forward(&h).sigmoid();
        let o = self.gates[1].forward(&h).sigmoid();
        let c = c * &i;
        [o * c.tanh(), c]
    }
}

/// A tuple in, parts by number, nested tuples out.
#[derive(Debug, Module)]
pub struct Tuples {
    fc: nn::Linear,
}

#[traceable]
impl Tuples {
    pub fn forward(&self, pair: &(Tensor, Tensor)) -> (Tensor, (Tensor, i64)) {
        let (a, b) = pair;
        let sum = a + b + &pair.0;
        let (values, _indices) = self.fc.forward(&sum).max_dim(1, false);
        let inner = (values.shallow_clone(), a.size()[0]);
        (self.fc.forward(&inner.0.unsqueeze(0)), inner)
    }
}

/// A tuple struct, and destructuring of `self`.
#[derive(Debug, Module)]
pub struct Pair(nn::Linear, nn::Linear, f64);

#[traceable]
impl Pair {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let Pair(first, second, scale) = self;
        let ys = first.forward(xs) * *scale;
        second.forward(&ys) + self.0.forward(xs) * self.2
    }
}

#[derive(Debug, Module)]
pub struct Destructured {
    skip: nn::Linear,
    merge: nn::Linear,
    shortcut: bool,
    dim: i64,
}

#[traceable]
impl Destructured {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let Self { ref skip, ref merge, shortcut, dim } = *self;
        let ys = skip.forward(xs);
        let ys = merge.forward(&ys);
        if shortcut { Tensor::cat(&[&ys, xs], dim) } else { ys }
    }
}

#[derive(Debug, Module)]
pub struct Borrowed {
    fc: nn::Linear,
    rate: f64,
}

#[traceable]
impl Borrowed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let Self { fc, rate } = self;
        let Self { rate: again, .. } = self;
        fc.forward(xs) * *rate + *again
    }
}

/// A list literal, indexed and concatenated.
#[derive(Debug, Module)]
pub struct Branches {
    a: nn::Conv2D,
    b: nn::Conv2D,
}

#[traceable]
impl Branches {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut outs = vec![self.a.forward(xs), self.b.forward(xs)];
        outs.push(xs.shallow_clone());
        let first = &outs[0];
        let last = outs.last().unwrap();
        let all = Tensor::cat(&outs, 1);
        all + Tensor::cat(&[first, last, &outs[1]], 1)
    }
}

/// What cannot be cloned, beside what a forward reads.
#[derive(Debug)]
pub struct Bookkeeping;

/// A device and a dtype of its own: to read them takes no copy of the model.
#[derive(Debug, Module)]
pub struct Placed {
    fc: nn::Linear,
    device: Device,
    kind: Kind,
    #[module(skip)]
    books: Bookkeeping,
}

#[traceable]
impl Placed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let rows = xs.size()[0];
        let mask = Tensor::ones([rows, rows], (self.kind, self.device)).tril(0);
        mask.matmul(&xs.to_device(self.device).apply(&self.fc))
    }
}

/// Layers in tuples, one of them under a name that Rust keeps for itself.
#[derive(Debug, Module)]
pub struct Pairs {
    pair: (nn::Linear, nn::LayerNorm),
    gen_: Vec<(nn::Linear, Option<nn::LayerNorm>)>,
}

#[traceable]
impl Pairs {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (fc, norm) = &self.pair;
        let mut ys = xs.apply(fc).apply(norm);
        for (fc, norm) in &self.gen_ {
            ys = ys.apply(fc);
            if let Some(norm) = norm {
                ys = ys.apply(norm);
            }
        }
        ys
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Close, Inputs, agree, here, randn};

    impl Close for Output {
        fn close(&self, eager: &Output) {
            self.logits.close(&eager.logits);
            self.hidden.close(&eager.hidden);
            self.steps.close(&eager.steps);
        }
    }

    impl Close for Batch {
        fn close(&self, eager: &Batch) {
            self.xs.close(&eager.xs);
            self.weight.close(&eager.weight);
        }
    }

    impl Inputs for Batch {
        fn mapped(&self, copy: &dyn Fn(&Tensor) -> Tensor) -> Batch {
            Batch { xs: copy(&self.xs), weight: self.weight }
        }
    }

    fn linear(p: &nn::Path, name: &str, from: i64, to: i64) -> nn::Linear {
        nn::linear(p / name, from, to, Default::default())
    }

    #[test]
    fn two_heads() {
        let make = |p: &nn::Path| TwoHeads {
            body: linear(p, "b", 4, 3),
            policy: linear(p, "p", 3, 2),
            value: linear(p, "v", 3, 1),
        };
        agree!(make, [randn(&[2, 4]), randn(&[1, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn structs() {
        for keep in [true, false] {
            let make = |p: &nn::Path| Structs { fc: linear(p, "fc", 4, 3), keep };
            agree!(make, [Batch { xs: randn(&[2, 4]), weight: 0.5 }], |net, batch| net.forward(batch));
        }
    }

    #[test]
    fn lists() {
        let make = |p: &nn::Path| Pyramid {
            lateral: vec![
                nn::conv2d(p / 0, 2, 3, 1, Default::default()),
                nn::conv2d(p / 1, 4, 3, 1, Default::default()),
            ],
        };
        agree!(make, [vec![randn(&[1, 2, 4, 4]), randn(&[1, 4, 2, 2])]], |net, xs| net.forward(xs));
        let make = |p: &nn::Path| Collects { layers: vec![linear(p, "a", 3, 2), linear(p, "b", 3, 4)] };
        agree!(make, [randn(&[2, 3])], |net, xs| net.forward(xs));
    }

    #[test]
    fn arrays() {
        let make = |p: &nn::Path| Arrays { gates: [linear(p, "a", 3, 3), linear(p, "b", 3, 3)] };
        agree!(make, [[randn(&[2, 3]), randn(&[2, 3])]], |net, state| net
            .forward([state[0].shallow_clone(), state[1].shallow_clone()]));
    }

    #[test]
    fn tuples() {
        let make = |p: &nn::Path| Tuples { fc: linear(p, "fc", 3, 3) };
        agree!(make, [(randn(&[3, 3]), randn(&[3, 3]))], |net, pair| net.forward(pair));
        let make = |p: &nn::Path| Pair(linear(p, "0", 3, 3), linear(p, "1", 3, 3), 0.7);
        agree!(make, [randn(&[2, 3])], |net, xs| net.forward(xs));
    }

    #[test]
    fn destructured() {
        for shortcut in [true, false] {
            let make = |p: &nn::Path| Destructured {
                skip: linear(p, "s", 3, 3),
                merge: linear(p, "m", 3, 3),
                shortcut,
                dim: 1,
            };
            agree!(make, [randn(&[2, 3])], |net, xs| net.forward(xs));
        }
        let make = |p: &nn::Path| Borrowed { fc: linear(p, "fc", 3, 3), rate: 0.7 };
        agree!(make, [randn(&[2, 3])], |net, xs| net.forward(xs));
    }

    #[test]
    fn branches() {
        let conv = |p: nn::Path| nn::conv2d(p, 3, 3, 1, Default::default());
        agree!(|p| Branches { a: conv(p / "a"), b: conv(p / "b") }, [randn(&[1, 3, 4, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn a_device_and_a_dtype() {
        let make = |p: &nn::Path| Placed {
            fc: nn::linear(p / "fc", 4, 4, Default::default()),
            device: p.device(),
            kind: Kind::Float,
            books: Bookkeeping,
        };
        agree!(make, [randn(&[3, 4])], |net, xs| net.forward(xs));
        let (_vs, model) = crate::check::root(make);
        let frozen = model.freeze(&fx_runtime::Freeze::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("frozen.safetensors");
        frozen.save(&path).unwrap();
        let again = PlacedFrozen::load(&path, &here()).unwrap();
        let xs = randn(&[2, 4]);
        again.forward(&xs).close(&frozen.forward(&xs));
    }

    #[test]
    fn pairs() {
        let norm = |p: nn::Path| nn::layer_norm(p, vec![4], Default::default());
        let make = |p: &nn::Path| Pairs {
            pair: (linear(p, "fc", 4, 4), norm(p / "norm")),
            gen_: vec![(linear(p, "a", 4, 4), Some(norm(p / "b"))), (linear(p, "c", 4, 4), None)],
        };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        let (_vs, net) = crate::check::root(make);
        let graph = net.graph().expect("a graph").to_string();
        assert!(graph.contains("pair.0") && graph.contains("gen_.0.1"), "{graph}");
    }
}
