//! `use` lines in bodies and blocks: names are looked for from the innermost block outwards, in each its items and named `use`
//! lines before what a `*` brings in.

use fx_runtime::{Module, Tensor, nn, traceable};

mod deep {
    use fx_runtime::Tensor;

    pub const STEPS: i64 = 3;

    pub fn bent(xs: &Tensor) -> Tensor {
        xs - 1.0
    }

    pub fn other(xs: &Tensor) -> Tensor {
        xs * 100.0
    }

    pub fn scaled(xs: &Tensor, by: i64) -> Tensor {
        xs * by
    }

    pub mod further {
        pub const PARTS: i64 = 11;
    }
}

const STEPS: i64 = 5;

fn bent(xs: &Tensor) -> Tensor {
    xs.cos()
}

trait Twice {
    fn named(&self, xs: &Tensor) -> Tensor {
        use deep::bent;
        bent(xs) * 2.0
    }

    fn starred(&self, xs: &Tensor) -> Tensor {
        use deep::*;
        bent(xs) * STEPS
    }
}

fn starred(xs: &Tensor) -> Tensor {
    use deep::*;
    fn bent(xs: &Tensor) -> Tensor {
        xs.tanh()
    }
    bent(xs) * STEPS
}

/// Functions of inner blocks and other names for functions, behind a `use` of the body.
#[derive(Debug, Module)]
pub struct ByBlocks {
    fc: nn::Linear,
}

impl Twice for ByBlocks {}

#[traceable]
impl ByBlocks {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        use deep::{bent, scaled};
        let ys = xs.apply(&self.fc);
        let both = vec![bent(&ys), scaled(&ys, 2)];
        let of_block = {
            fn bent(xs: &Tensor) -> Tensor {
                xs.sin()
            }
            fn scaled(xs: &Tensor) -> Tensor {
                xs * 7.0
            }
            bent(&ys) + scaled(&ys)
        };
        let renamed = {
            use deep::other as bent;
            bent(&ys)
        };
        let bent = both[0].relu();
        of_block + renamed + bent + &both[1]
    }
}

/// What a `*` brings in goes before the items of the module and of blocks outside, and behind those of its own block.
#[derive(Debug, Module)]
pub struct ByStars {
    fc: nn::Linear,
}

impl Twice for ByStars {}

#[traceable]
impl ByStars {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let of_module = bent(&ys) * STEPS;
        let of_star = {
            use deep::*;
            bent(&ys) * STEPS
        };
        let of_block = {
            use deep::*;
            const STEPS: i64 = 8;
            let inner = {
                use deep::*;
                STEPS
            };
            bent(&ys) * STEPS + inner
        };
        let behind = {
            use deep::further::*;
            use deep::other as bent;
            bent(&ys) * PARTS
        };
        of_module + of_star + of_block + behind + starred(&ys) + self.named(&ys) + self.starred(&ys)
    }
}

/// Constants of a `use` in patterns.
#[derive(Debug, Module)]
pub struct ByPatterns {
    fc: nn::Linear,
}

#[traceable]
impl ByPatterns {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (ys, rows) = (xs.apply(&self.fc), xs.size()[0]);
        let named = {
            use deep::STEPS;
            match rows {
                STEPS => ys.relu(),
                other => &ys * other,
            }
        };
        let starred = {
            use deep::*;
            match rows {
                STEPS => ys.sin(),
                other => ys.tanh() * other,
            }
        };
        named + starred
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, not_interpreted, randn};

    not_interpreted!(ByPatterns: "cannot be compared with");

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn cases() -> [Tensor; 3] {
        [1, 3, 5].map(|rows| randn(&[rows, 4]))
    }

    #[test]
    fn of_blocks() {
        agree!(|p| ByBlocks { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn of_stars() {
        agree!(|p| ByStars { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }

    #[test]
    fn in_patterns() {
        agree!(|p| ByPatterns { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
    }
}
