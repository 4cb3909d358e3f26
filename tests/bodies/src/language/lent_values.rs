//! What methods lend and what values stand for: parts of the model in options, `Deref` of the crate's own, boxes.

use std::collections::HashSet;
use std::ops::Deref;

use fx_runtime::{Kind, Module, Tensor, nn, traceable};
use tch::TchError;

/// A type that stands for the layer in it.
#[derive(Debug, Module)]
pub struct Projection(nn::Linear);

impl Deref for Projection {
    type Target = nn::Linear;

    fn deref(&self) -> &nn::Linear {
        &self.0
    }
}

#[derive(Debug, Module)]
pub struct Behind {
    q: Projection,
}

#[traceable]
impl Behind {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs * self.q.ws.sum(Kind::Float) + self.q.forward(xs) + xs.apply(&*self.q)
    }
}

/// Which layer, if any, a method says.
#[derive(Debug, Module)]
pub struct Picked {
    a: nn::Linear,
    b: nn::Linear,
}

#[traceable]
impl Picked {
    fn by(&self, at: usize) -> Option<&nn::Linear> {
        match at {
            0 => Some(&self.a),
            1 => Some(&self.b),
            _ => None,
        }
    }

    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        for at in 0..3 {
            if let Some(layer) = self.by(at) {
                ys = ys.apply(layer).tanh();
            }
        }
        ys
    }
}

/// Bits that pick layers.
#[derive(Debug, Module)]
pub struct Bits {
    layers: Vec<nn::Linear>,
    bits: u32,
}

#[traceable]
impl Bits {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        for (at, layer) in self.layers.iter().enumerate() {
            if self.bits & (1 << at) != 0 {
                ys = ys.apply(layer);
            }
        }
        ys
    }
}

/// The best so far, with its score.
#[derive(Debug, Module)]
pub struct Best {
    layers: Vec<nn::Linear>,
}

#[traceable]
impl Best {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut best: Option<(f64, Tensor)> = None;
        for layer in &self.layers {
            let ys = xs.apply(layer);
            let score = ys.mean(Kind::Float).double_value(&[]);
            let better = match &best {
                Some((known, _)) => score > *known,
                None => true,
            };
            if better {
                best = Some((score, ys));
            }
        }
        best.unwrap().1
    }
}

/// A box around the output.
#[derive(Debug, Module)]
pub struct Boxed {
    fc: nn::Linear,
}

#[traceable]
impl Boxed {
    pub fn forward(&self, xs: &Tensor) -> Box<Tensor> {
        Box::new(xs.apply(&self.fc).relu())
    }
}

/// Rows of numbers out of a tensor, whose type the variable says.
#[derive(Debug, Module)]
pub struct Rows {
    fc: nn::Linear,
}

#[traceable]
impl Rows {
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        let ys = xs.apply(&self.fc);
        let rows: Vec<Vec<f32>> = Vec::try_from(&ys)?;
        Ok(ys * rows[0][1] as f64)
    }
}

/// References to references in code that is not understood.
#[derive(Debug, Module)]
pub struct Seen {
    fc: nn::Linear,
    ids: Vec<i64>,
}

#[traceable]
impl Seen {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut seen = HashSet::new();
        let first: Vec<i64> =
            self.ids.iter().enumerate().filter(|(_, id)| seen.insert(**id)).map(|(at, id)| at as i64 + *id).collect();
        self.fc.forward(xs) * first[1]
    }
}

/// Numbers and layers that several forms of one value hold.
#[derive(Debug, Module)]
pub struct Nested {
    a: nn::Linear,
    o: Option<nn::Linear>,
    on: bool,
    ok: Option<i64>,
    names: Vec<String>,
}

#[traceable]
impl Nested {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = if self.on
            && let Some(o) = &self.o
        {
            xs.apply(o).tanh()
        } else {
            xs.apply(&self.a)
        };
        let ys = match self.ok {
            Some(k) if k > 5 => ys.apply(&self.a) * k,
            Some(k) => ys * k,
            None => ys.relu(),
        };
        let ys = match (self.ok, self.on) {
            (Some(3), true) => ys.apply(&self.a),
            (_, false) => ys.relu(),
            (Some(k), true) => ys * k,
            _ => ys,
        };
        match &self.names[..] {
            [a, b, ..] if a == "relu" => ys.relu() * b.len() as i64,
            [a] => ys * a.len() as i64,
            _ => ys,
        }
    }
}

/// A product with a bias that may be there.
#[derive(Debug, Module)]
pub struct Biased {
    w: Tensor,
    b: Option<Tensor>,
}

#[traceable]
impl Biased {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        match &self.b {
            Some(b) => xs.matmul(&self.w) + b,
            None => xs.matmul(&self.w),
        }
    }
}

/// An option in an option.
#[derive(Debug, Module)]
pub struct Twice {
    fc: nn::Linear,
    gain: Option<Option<f64>>,
    caps: Option<Vec<f64>>,
}

#[traceable]
impl Twice {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.apply(&self.fc);
        if let Some(Some(gain)) = self.gain
            && gain > 0.0
            && let Some(caps) = &self.caps
            && !caps.is_empty()
        {
            ys = ys * gain + caps[0];
        } else if let Some(None) = self.gain {
            ys = ys.neg();
        } else {
            ys = ys.relu();
        }
        ys
    }
}

/// A model that holds its variable store, beside code that is not understood.
#[derive(Debug, Module)]
pub struct Stored {
    vs: nn::VarStore,
    fc: nn::Linear,
}

#[traceable]
impl Stored {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let by: std::collections::BTreeMap<usize, i64> = [(2, 3)].into();
        let ys = xs.to_kind(self.vs.kind()).apply(&self.fc);
        ys * by[&self.vs.len()]
    }
}

/// A view by the name with a dash, behind a convolution whose output may lie in another order.
#[derive(Debug, Module)]
pub struct Viewed {
    a: nn::Conv2D,
    b: nn::Conv2D,
}

#[traceable]
impl Viewed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.a).relu().apply(&self.b);
        ys.view_([-1, 8 * 6 * 6]).softmax(1, Kind::Float)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Stored: 2 of 6);
    understood!(Boxed: 2 of 3);
    understood!(Rows: 2 of 4);
    understood!(Seen: 2 of 6);

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn layers(p: &nn::Path) -> Vec<nn::Linear> {
        (0..3).map(|at| linear(p / at)).collect()
    }

    #[test]
    fn behind() {
        agree!(|p| Behind { q: Projection(linear(p / "q")) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn picked() {
        agree!(|p| Picked { a: linear(p / "a"), b: linear(p / "b") }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn bits() {
        for bits in [0, 5, 7] {
            agree!(|p| Bits { layers: layers(p), bits }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn best() {
        agree!(|p| Best { layers: layers(p) }, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn boxed() {
        agree!(|p| Boxed { fc: linear(p / "fc") }, [randn(&[2, 4])], |net, xs| *net.forward(xs));
    }

    #[test]
    fn rows() {
        agree!(|p| Rows { fc: linear(p / "fc") }, [randn(&[2, 4]), randn(&[4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn seen() {
        let make = |p: &nn::Path| Seen { fc: linear(p / "fc"), ids: vec![3, 3, 5] };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn nested() {
        for (some, on, ok) in [(true, true, Some(3)), (true, false, Some(7)), (false, true, None)] {
            let make = |p: &nn::Path| Nested {
                a: linear(p / "a"),
                o: some.then(|| linear(p / "o")),
                on,
                ok,
                names: vec!["relu".to_owned(); if on { 3 } else { 1 }],
            };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn biased() {
        for some in [true, false] {
            let make = |p: &nn::Path| Biased {
                w: p.randn_standard("w", &[4, 4]),
                b: some.then(|| p.randn_standard("b", &[4])),
            };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn twice() {
        for gain in [None, Some(None), Some(Some(0.5))] {
            let make = |p: &nn::Path| Twice { fc: linear(p / "fc"), gain, caps: gain.map(|_| vec![0.9, 0.2]) };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn stored() {
        let make = |p: &nn::Path| {
            let vs = nn::VarStore::new(p.device());
            let fc = linear(vs.root() / "fc");
            Stored { vs, fc }
        };
        let (_vs, net) = crate::check::root(make);
        let frozen = net.freeze(&fx_runtime::Freeze::default()).expect("it freezes");
        let xs = randn(&[2, 4]);
        tch::no_grad(|| assert!(frozen.forward(&xs).allclose(&net.forward(&xs), 1e-5, 1e-5, false)));
    }

    #[test]
    fn viewed() {
        let make = |p: &nn::Path| Viewed {
            a: nn::conv2d(p / "a", 3, 8, 3, nn::ConvConfig { padding: 1, ..Default::default() }),
            b: nn::conv2d(p / "b", 8, 8, 3, Default::default()),
        };
        agree!(make, [randn(&[2, 3, 8, 8])], |net, xs| net.forward(xs));
    }
}
