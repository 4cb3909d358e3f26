//! Residual blocks whose activation and shortcut the configuration decides, in lists and in enums, as detectors and
//! EfficientNet have them.

use fx_runtime::{Module, Tensor, nn, traceable};

/// What follows a convolution.
#[derive(Debug, Clone, Copy)]
pub enum Act {
    Silu,
    No,
}

/// A convolution, an activation and a sum in place.
#[derive(Debug, Module)]
pub struct Block {
    c: nn::Conv2D,
    act: Act,
    skip: bool,
}

impl nn::Module for Block {
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = x.apply(&self.c);
        let mut y = match self.act {
            Act::Silu => y.silu(),
            Act::No => y,
        };
        if self.skip {
            y += x;
        }
        y
    }
}

/// In a loop.
#[derive(Debug, Module)]
pub struct Looped {
    blocks: Vec<Block>,
}

#[traceable(strict)]
impl nn::Module for Looped {
    fn forward(&self, x: &Tensor) -> Tensor {
        let mut x = x.shallow_clone();
        for b in &self.blocks {
            x = b.forward(&x);
        }
        x
    }
}

/// In a `fold`.
#[derive(Debug, Module)]
pub struct Folded {
    blocks: Vec<Block>,
}

#[traceable(strict)]
impl nn::Module for Folded {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.blocks.iter().fold(x.shallow_clone(), |x, b| x.apply(b)).relu()
    }
}

/// With a convolution that may be missing in front.
#[derive(Debug, Module)]
pub struct Inverted {
    expand: Option<nn::Conv2D>,
    dw: nn::Conv2D,
    bn: nn::BatchNorm,
    act: Act,
    skip: bool,
}

impl nn::ModuleT for Inverted {
    fn forward_t(&self, x: &Tensor, train: bool) -> Tensor {
        let y = match &self.expand {
            Some(e) => x.apply(e),
            None => x.shallow_clone(),
        };
        let y = y.apply(&self.dw).apply_t(&self.bn, train);
        let mut y = match self.act {
            Act::Silu => y.silu(),
            Act::No => y,
        };
        if self.skip {
            y += x;
        }
        y
    }
}

/// With a projection that may be missing behind.
#[derive(Debug, Module)]
pub struct Fused {
    c: nn::Conv2D,
    bn: nn::BatchNorm,
    proj: Option<(nn::Conv2D, nn::BatchNorm)>,
    act: Act,
    skip: bool,
}

impl nn::ModuleT for Fused {
    fn forward_t(&self, x: &Tensor, train: bool) -> Tensor {
        let y = x.apply(&self.c).apply_t(&self.bn, train);
        let y = match self.act {
            Act::Silu => y.silu(),
            Act::No => y,
        };
        let mut y = match &self.proj {
            Some((c, b)) => y.apply(c).apply_t(b, train),
            None => y,
        };
        if self.skip {
            y += x;
        }
        y
    }
}

/// The same inside an enum's arms.
#[derive(Debug, Module)]
pub enum Stage {
    Inverted(Inverted),
    Fused(Fused),
    Plain { c: nn::Conv2D, act: Act, skip: bool },
    Normed(nn::Conv2D, nn::BatchNorm, Act),
}

impl nn::ModuleT for Stage {
    fn forward_t(&self, x: &Tensor, train: bool) -> Tensor {
        match self {
            Stage::Inverted(b) => b.forward_t(x, train),
            Stage::Fused(b) => b.forward_t(x, train),
            Stage::Plain { c, act, skip } => {
                let y = x.apply(c);
                let mut y = match act {
                    Act::Silu => y.silu(),
                    Act::No => y,
                };
                if *skip {
                    y += x;
                }
                y
            }
            Stage::Normed(c, b, act) => {
                let y = x.apply(c).apply_t(b, train);
                let mut y = match *act {
                    Act::Silu => y.silu(),
                    Act::No => y,
                };
                if x.size()[1] == y.size()[1] {
                    y += x;
                }
                y
            }
        }
    }
}

/// A network of such stages.
#[derive(Debug, Module)]
pub struct Staged {
    stages: Vec<Stage>,
    head: nn::Linear,
}

#[traceable(strict)]
impl nn::ModuleT for Staged {
    fn forward_t(&self, x: &Tensor, train: bool) -> Tensor {
        let mut x = x.shallow_clone();
        for s in &self.stages {
            x = s.forward_t(&x, train);
        }
        x.mean_dim([2i64, 3].as_slice(), false, None).apply(&self.head)
    }
}

/// A sum in place with what is a part of the model, or an alias of it.
#[derive(Debug, Module)]
pub struct Shifted {
    blocks: Vec<Shift>,
}

/// Its block.
#[derive(Debug, Module)]
pub struct Shift {
    c: nn::Conv2D,
    shift: Tensor,
    by_input: bool,
}

#[traceable]
impl nn::Module for Shifted {
    fn forward(&self, x: &Tensor) -> Tensor {
        let mut x = x.shallow_clone();
        for b in &self.blocks {
            let mut y = if b.by_input { x.apply(&b.c) } else { b.shift.copy() };
            y += &x;
            x = y;
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};
    use fx_runtime::nn::ModuleT as _;

    fn conv(p: nn::Path) -> nn::Conv2D {
        nn::conv2d(p, 4, 4, 3, nn::ConvConfig { padding: 1, ..Default::default() })
    }

    fn norm(p: nn::Path) -> nn::BatchNorm {
        nn::batch_norm2d(p, 4, Default::default())
    }

    fn blocks(p: &nn::Path) -> Vec<Block> {
        let kinds = [(Act::Silu, true), (Act::No, true), (Act::Silu, false), (Act::No, false)];
        let block = |(at, (act, skip))| Block { c: conv(p / at), act, skip };
        kinds.into_iter().enumerate().map(block).collect()
    }

    #[test]
    fn in_lists() {
        let cases = [randn(&[2, 4, 5, 5]), randn(&[1, 4, 8, 3])];
        agree!(|p| Looped { blocks: blocks(p) }, cases, |net, xs| nn::Module::forward(net, xs));
        agree!(|p| Folded { blocks: blocks(p) }, cases, |net, xs| nn::Module::forward(net, xs));
    }

    fn stages(p: &nn::Path) -> Vec<Stage> {
        let mut stages = Vec::new();
        for (at, (act, skip)) in [(Act::Silu, true), (Act::No, false), (Act::No, true)].into_iter().enumerate() {
            let p = &(p / at);
            stages.push(Stage::Inverted(Inverted {
                expand: skip.then(|| conv(p / "expand")),
                dw: conv(p / "dw"),
                bn: norm(p / "bn"),
                act,
                skip,
            }));
            stages.push(Stage::Fused(Fused {
                c: conv(p / "c"),
                bn: norm(p / "bn2"),
                proj: skip.then(|| (conv(p / "proj"), norm(p / "bn3"))),
                act,
                skip,
            }));
            stages.push(Stage::Plain { c: conv(p / "plain"), act, skip });
            stages.push(Stage::Normed(conv(p / "n"), norm(p / "bn4"), act));
        }
        stages
    }

    #[test]
    fn in_enums() {
        let cases = [randn(&[2, 4, 5, 5]), randn(&[1, 4, 8, 3])];
        agree!(
            |p: &nn::Path| Staged { stages: stages(p), head: nn::linear(p / "head", 4, 3, Default::default()) },
            cases,
            |net, xs| net.forward_t(xs, false)
        );
    }

    #[test]
    fn on_parts_of_the_model() {
        let shift =
            |p: nn::Path, by_input| Shift { c: conv(&p / "c"), shift: p.randn("shift", &[4, 1, 1], 0., 1.), by_input };
        agree!(
            |p: &nn::Path| Shifted { blocks: vec![shift(p / 0, true), shift(p / 1, true)] },
            [randn(&[2, 4, 5, 5])],
            |net, xs| nn::Module::forward(net, xs)
        );
    }
}
