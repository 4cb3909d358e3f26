//! A `match` whose last arm panics with what it looked at, and variants with named fields that branches hand over.

use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Debug, Clone, Copy)]
pub enum Space {
    Steps(i64),
    Line { dim: i64, low: f64, high: f64 },
}

/// The choice is the model's, and what the panic shows a part of it.
#[derive(Debug, Module)]
pub struct Scaled {
    fc: nn::Linear,
    #[module(skip)]
    space: Space,
    scale: Option<Tensor>,
}

#[traceable]
impl Scaled {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        match (&self.space, &self.scale) {
            (Space::Line { .. }, Some(scale)) => ys * scale,
            (Space::Steps(_), None) => ys,
            (space, _) => panic!("no scale for {space:?}"),
        }
    }
}

pub enum Policy {
    Logits { logits: Tensor },
    Normal { mean: Tensor, scale: Tensor },
}

/// The whole of what is looked at is shown, and the choice is a value of the crate's own.
#[derive(Debug, Module)]
pub struct Actor {
    fc: nn::Linear,
    #[module(skip)]
    space: Space,
    scale: Option<Tensor>,
}

impl Actor {
    fn policy(&self, xs: &Tensor) -> Policy {
        let ys = xs.apply(&self.fc);
        match (&self.space, &self.scale) {
            (Space::Line { low, high, dim }, Some(scale)) if *dim > 0 => {
                let half = (high - low) / 2.0;
                Policy::Normal { scale: scale.clamp(-5., 2.), mean: ys.tanh() * half + (low + half) }
            }
            (Space::Steps(_), None) => Policy::Logits { logits: ys },
            other => panic!("{other:?}"),
        }
    }
}

#[traceable]
impl Actor {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        match self.policy(xs) {
            Policy::Logits { logits } => logits.softmax(-1, None),
            Policy::Normal { mean, scale } => mean - scale,
        }
    }
}

/// Which variant it is the code says: its fields are what it was made of.
#[derive(Debug, Module)]
pub struct Known {
    fc: nn::Linear,
}

#[traceable]
impl Known {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let made = Policy::Normal { scale: xs.exp(), mean: xs.apply(&self.fc) };
        match made {
            Policy::Logits { logits } => logits.neg(),
            Policy::Normal { mean: m, .. } => m * 2.0,
        }
    }
}

/// An enum of the caller's, shown where no arm takes it, in a loop.
#[derive(Debug, Module)]
pub struct Asked {
    fc: nn::Linear,
    #[module(skip)]
    spaces: Vec<Space>,
}

#[traceable]
impl Asked {
    pub fn forward(&self, xs: &Tensor, space: Space) -> Tensor {
        let mut ys = match space {
            Space::Line { low, .. } => xs.apply(&self.fc) + low,
            other => panic!("{other:?} of {:?}", xs.size()),
        };
        for space in &self.spaces {
            ys = match space {
                Space::Steps(n) if *n > 0 => ys * *n,
                space => panic!("{space:?}"),
            };
        }
        ys
    }
}

/// Behind a pointer.
#[derive(Debug, Clone)]
pub enum Kind {
    Plain,
    Odd(f64),
}

#[derive(Debug, Module)]
pub struct Pointed {
    fc: nn::Linear,
    #[module(skip)]
    kind: Box<Kind>,
}

#[traceable]
impl Pointed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        match (&self.kind, xs.size()[0]) {
            (kind, 1) => panic!("{kind:?}"),
            _ => xs.apply(&self.fc),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, here, randn, root};

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p / "fc", 4, 4, Default::default())
    }

    fn scale(p: &nn::Path, space: Space) -> Option<Tensor> {
        matches!(space, Space::Line { .. }).then(|| p.randn_standard("scale", &[4]))
    }

    const LINE: Space = Space::Line { dim: 4, low: -1.0, high: 3.0 };

    fn said(run: impl FnOnce() -> Tensor) -> String {
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_err();
        panic.downcast_ref::<String>().cloned().or(panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap()
    }

    #[test]
    fn scaled() {
        for space in [LINE, Space::Steps(4)] {
            let make = |p: &nn::Path| Scaled { fc: linear(p), space, scale: scale(p, space) };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
        let (_vs, net) = root(|p| Scaled { fc: linear(p), space: LINE, scale: None });
        let (frozen, xs) = (net.freeze(&here()).unwrap(), randn(&[2, 4]));
        assert_eq!(said(|| frozen.forward(&xs)), said(|| net.forward(&xs)));
    }

    #[test]
    fn actor() {
        for space in [LINE, Space::Steps(4)] {
            let make = |p: &nn::Path| Actor { fc: linear(p), space, scale: scale(p, space) };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
        for space in [Space::Steps(3), Space::Line { dim: 0, low: 0.0, high: 1.0 }] {
            let scale = |p: &nn::Path| Some(p.randn_standard("scale", &[4]));
            let (_vs, net) = root(|p| Actor { fc: linear(p), space, scale: scale(p) });
            let (frozen, xs) = (net.freeze(&here()).unwrap(), randn(&[2, 4]));
            assert_eq!(said(|| frozen.forward(&xs)), said(|| net.forward(&xs)));
        }
    }

    #[test]
    fn known() {
        agree!(|p| Known { fc: linear(p) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn asked() {
        let make = |p: &nn::Path| Asked { fc: linear(p), spaces: vec![Space::Steps(2), Space::Steps(3)] };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs, LINE));
        let (_vs, net) = root(|p| Asked { fc: linear(p), spaces: vec![Space::Steps(2), LINE] });
        let (frozen, xs) = (net.freeze(&here()).unwrap(), randn(&[2, 4]));
        for space in [LINE, Space::Steps(1)] {
            assert_eq!(said(|| frozen.forward(&xs, space)), said(|| net.forward(&xs, space)));
        }
    }

    #[test]
    fn pointed() {
        let make = |p: &nn::Path| Pointed { fc: linear(p), kind: Box::new(Kind::Odd(1.5)) };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        let (_vs, net) = root(make);
        let (frozen, xs) = (net.freeze(&here()).unwrap(), randn(&[1, 4]));
        assert_eq!(said(|| frozen.forward(&xs)), said(|| net.forward(&xs)));
    }
}
