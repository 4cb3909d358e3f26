//! Early returns, `let ... else`, nested ifs.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
pub struct Early {
    fc: nn::Linear,
    identity: bool,
}

#[traceable]
impl Early {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        if self.identity {
            return xs.shallow_clone();
        }
        if xs.size()[0] == 0 {
            return Tensor::zeros([0, 2], (Kind::Float, xs.device()));
        }
        let ys = self.fc.forward(xs);
        if ys.sum(Kind::Float).double_value(&[]) > 0.0 {
            let ys = ys.relu();
            return ys * 2.0;
        } else if ys.dim() == 3 {
            return ys.neg();
        }
        ys
    }
}

/// Returns from inside a loop and from inside a match.
#[derive(Debug, Module)]
pub struct Search {
    layers: Vec<nn::Linear>,
    threshold: Option<f64>,
}

#[traceable]
impl Search {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let threshold = match self.threshold {
            Some(threshold) => threshold,
            None => return xs.sigmoid(),
        };
        let mut ys = xs.shallow_clone();
        for layer in &self.layers {
            ys = layer.forward(&ys);
            if ys.mean(Kind::Float).double_value(&[]) > threshold {
                return ys.tanh();
            }
        }
        ys
    }
}

/// `let ... else`.
#[derive(Debug, Module)]
pub struct LetElse {
    fc: Option<nn::Linear>,
}

#[traceable]
impl LetElse {
    pub fn forward(&self, xs: &Tensor, ys: Option<&Tensor>) -> Tensor {
        let Some(fc) = &self.fc else {
            return xs.relu();
        };
        let xs = fc.forward(xs);
        let Some(ys) = ys else { return xs };
        let &[_, channels] = ys.size().as_slice() else { panic!("two axes") };
        xs * ys + channels
    }
}

/// A late declaration, and both sides of an `if` that assign.
#[derive(Debug, Module)]
pub struct Late {
    fc: nn::Linear,
    flag: bool,
}

#[traceable]
impl Late {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys;
        let scale: f64;
        if xs.dim() > 2 {
            ys = xs.flatten(0, -2);
            scale = 2.0;
        } else {
            ys = xs.shallow_clone();
            scale = 0.5;
        }
        let mut zs = self.fc.forward(&ys);
        if self.flag {
            zs = zs.relu();
        }
        if !self.flag && scale > 1.0 {
            zs = zs.neg();
        }
        zs * scale
    }
}

/// An `if` chain as a value, blocks as values.
#[derive(Debug, Module)]
pub struct Values {
    fc: nn::Linear,
}

#[traceable]
impl Values {
    pub fn forward(&self, xs: &Tensor, mode: i64) -> Tensor {
        let ys = {
            let tmp = self.fc.forward(xs);
            let tmp = tmp.relu();
            &tmp + xs
        };
        let factor = if mode > 1 {
            2.0
        } else if mode == 1 {
            1.0
        } else {
            0.5
        };
        let ys = match mode {
            0 => ys.sin(),
            1 | 2 => ys.cos(),
            n if n < 0 => ys.tan(),
            3..=5 => ys.exp(),
            _ => unreachable!("no such mode"),
        };
        ys * factor
    }
}

/// `return` in closures that are called on what options hold leaves the closures alone.
#[derive(Debug, Module)]
pub struct OutOfClosures {
    fc: nn::Linear,
    limit: Option<f64>,
    extra: Option<Tensor>,
}

#[traceable(strict)]
impl OutOfClosures {
    pub fn forward(&self, xs: &Tensor, count: Option<i64>) -> Tensor {
        let many = count
            .map(|count| {
                if count > 3 {
                    return 1;
                }
                count + 10
            })
            .unwrap_or(0);
        let scale = self
            .limit
            .map(|limit| {
                if limit > 3.0 {
                    return 1.5;
                }
                limit
            })
            .unwrap_or(0.5);
        let extra = self.extra.as_ref().map(|extra| {
            if many > 5 {
                return extra.sin();
            }
            extra.cos()
        });
        let ys = xs.apply(&self.fc) * scale + many;
        match extra {
            Some(extra) => ys + extra,
            None => ys,
        }
    }
}

#[derive(Debug, Module)]
pub struct OutOfHelper {
    first: Option<nn::Linear>,
    ls: Vec<nn::Linear>,
}
#[traceable]
impl OutOfHelper {
    fn run(&self, xs: &Tensor) -> Tensor {
        let mut h = match &self.first {
            Some(layer) => layer.forward(xs),
            None => return xs.shallow_clone(),
        };
        for layer in &self.ls {
            h = layer.forward(&h.relu());
        }
        h
    }
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.run(xs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Values: 3 of 9);

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    #[test]
    fn early() {
        for identity in [true, false] {
            agree!(
                |p| Early { fc: linear(p / 0), identity },
                [randn(&[2, 4]), randn(&[0, 4]), randn(&[2, 2, 4]), -randn(&[2, 4])],
                |net, xs| net.forward(xs)
            );
        }
    }

    #[test]
    fn search() {
        for threshold in [None, Some(-10.0), Some(0.0), Some(10.0)] {
            agree!(
                |p| Search { layers: vec![linear(p / 0), linear(p / 1)], threshold },
                [randn(&[2, 4]), randn(&[3, 4])],
                |net, xs| net.forward(xs)
            );
        }
    }

    #[test]
    fn let_else() {
        for full in [true, false] {
            let cases = [(randn(&[2, 4]), Some(randn(&[2, 4]))), (randn(&[2, 4]), None)];
            agree!(|p| LetElse { fc: full.then(|| linear(p / 0)) }, cases, |net, (xs, ys)| net
                .forward(xs, ys.as_ref()));
        }
    }

    #[test]
    fn late() {
        for flag in [true, false] {
            agree!(|p| Late { fc: linear(p / 0), flag }, [randn(&[2, 4]), randn(&[2, 2, 4])], |net, xs| net
                .forward(xs));
        }
    }

    #[test]
    fn values() {
        for mode in [-1, 0, 1, 2, 4] {
            agree!(|p| Values { fc: linear(p / 0) }, [randn(&[2, 4])], |net, xs| net.forward(xs, mode));
        }
    }

    #[test]
    fn out_of_closures() {
        for (limit, is_extra) in [(Some(5.0), true), (Some(1.0), false), (None, true)] {
            let extra = |p: &nn::Path| is_extra.then(|| p.randn("extra", &[4], 0., 1.));
            let make =
                |p: &nn::Path| OutOfClosures { fc: nn::linear(p, 4, 4, Default::default()), limit, extra: extra(p) };
            let cases = [(randn(&[2, 4]), None), (randn(&[2, 4]), Some(1)), (randn(&[2, 4]), Some(7))];
            agree!(make, cases, |net, (xs, count)| net.forward(xs, *count));
        }
    }

    #[test]
    fn out_of_helper() {
        for has in [true, false] {
            let make = |p: &nn::Path| OutOfHelper { first: has.then(|| linear(p / "first")), ls: vec![linear(p / 0)] };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }
}
