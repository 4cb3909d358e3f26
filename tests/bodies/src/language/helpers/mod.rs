//! Helper methods and free functions: here, in other modules, private, under other names.

mod attention;
pub(crate) mod checked;
pub(crate) mod limits;
pub mod rope;

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

use self::rope::{self as positions, rotate};

#[derive(Debug, Module)]
pub struct MultiHead {
    q: nn::Linear,
    k: nn::Linear,
    v: nn::Linear,
    heads: i64,
}

impl MultiHead {
    fn split_heads(&self, xs: &Tensor) -> Tensor {
        let (b, n, c) = xs.size3().unwrap();
        xs.view((b, n, self.heads, c / self.heads)).transpose(1, 2)
    }

    fn merge(xs: Tensor) -> Tensor {
        xs.transpose(1, 2).contiguous().flatten(2, 3)
    }
}

#[traceable]
impl MultiHead {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let q = self.split_heads(&self.q.forward(xs));
        let k = self.split_heads(&self.k.forward(xs));
        let v = self.split_heads(&self.v.forward(xs));
        let ys = attention::scaled(&q, &k, &v);
        Self::merge(ys)
    }
}

/// Functions of a nested module with private parts.
#[derive(Debug, Module)]
pub struct Rotary {
    proj: nn::Linear,
    base: f64,
}

#[traceable]
impl Rotary {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let freqs = positions::frequencies(xs, self.base);
        let xs = rotate(&self.proj.forward(xs), &freqs);
        positions::halves(&xs)
    }
}

/// A free function that is traceable itself.
#[traceable]
pub fn hard_swish(xs: &Tensor) -> Tensor {
    xs * (xs + 3.0).clamp(0., 6.) / 6.0
}

/// ... and one that is called by a model.
#[traceable]
pub fn scaled_tanh(xs: &Tensor, scale: f64) -> Tensor {
    let ys = xs.tanh();
    ys * scale
}

#[derive(Debug, Module)]
pub struct CallsFree {
    fc: nn::Linear,
}

#[traceable]
impl CallsFree {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        scaled_tanh(&hard_swish(&self.fc.forward(xs)), 0.5)
    }
}

/// A struct in a nested module, with private fields and private methods.
mod inner {
    use super::*;

    #[derive(Debug, Module)]
    pub struct Gate {
        weight: nn::Linear,
        floor: f64,
    }

    impl Gate {
        pub fn new(p: nn::Path) -> Gate {
            Gate { weight: nn::linear(&p / "weight", 4, 4, Default::default()), floor: FLOOR }
        }

        fn shift(&self, xs: &Tensor) -> Tensor {
            private(xs) + self.floor + FLOOR
        }

        pub fn forward(&self, xs: &Tensor) -> Tensor {
            self.shift(&self.weight.forward(xs)).sigmoid() * xs
        }
    }

    const FLOOR: f64 = 0.25;

    fn private(xs: &Tensor) -> Tensor {
        xs.mean_dim(-1, true, Kind::Float) - xs
    }

    pub(super) mod deeper {
        use super::*;

        #[traceable]
        impl super::Gate {
            pub fn twice(&self, xs: &Tensor) -> Tensor {
                self.forward(&self.forward(xs))
            }

            pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
                let _ = train;
                private(&self.twice(xs))
            }
        }
    }
}

pub use inner::Gate;

#[derive(Debug, Module)]
pub struct UsesPrivate {
    gate: inner::Gate,
}

#[traceable]
impl UsesPrivate {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.gate.forward(xs) + self.gate.twice(xs)
    }
}

/// Recursion, mutual helpers, a helper with `&mut`.
#[derive(Debug, Module)]
pub struct Recursive {
    fc: nn::Linear,
}

impl Recursive {
    fn deep(&self, xs: &Tensor, depth: usize) -> Tensor {
        if depth == 0 { xs.shallow_clone() } else { self.deep(&self.fc.forward(xs).relu(), depth - 1) }
    }
}

fn bump(list: &mut Vec<Tensor>, xs: &Tensor) -> usize {
    list.push(xs + 1);
    list.len()
}

#[traceable]
impl Recursive {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut seen = vec![];
        let ys = self.deep(xs, 3);
        let n = bump(&mut seen, &ys);
        let n = n + bump(&mut seen, xs);
        Tensor::stack(&seen, 0) * n as f64
    }
}

/// Helpers that take options, tuples and closures, with defaults inside.
fn attend(q: &Tensor, kv: (&Tensor, &Tensor), mask: Option<&Tensor>, act: impl Fn(&Tensor) -> Tensor) -> Tensor {
    let scores = q.matmul(&kv.0.transpose(-2, -1));
    let scores = match mask {
        None => scores,
        Some(mask) => scores + mask,
    };
    act(&scores).matmul(kv.1)
}

#[derive(Debug, Module)]
pub struct HelperShapes {
    fc: nn::Linear,
}

#[traceable]
impl HelperShapes {
    pub fn forward(&self, xs: &Tensor, mask: Option<&Tensor>) -> Tensor {
        let h = self.fc.forward(xs);
        let ys = attend(&h, (xs, &h), mask, |scores| scores.softmax(-1, Kind::Float));
        attend(&ys, (&h, xs), None, Tensor::sigmoid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, here, randn, understood};

    understood!(Recursive: 6 of 9);

    fn linear(p: &nn::Path, name: &str) -> nn::Linear {
        nn::linear(p / name, 4, 4, Default::default())
    }

    #[test]
    fn multi_head() {
        let make = |p: &nn::Path| MultiHead { q: linear(p, "q"), k: linear(p, "k"), v: linear(p, "v"), heads: 2 };
        agree!(make, [randn(&[2, 3, 4]), randn(&[1, 7, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn rotary() {
        agree!(|p| Rotary { proj: linear(p, "p"), base: 100.0 }, [randn(&[2, 3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn free_functions() {
        let frozen = HardSwishFrozen::freeze(&here()).expect("a frozen function");
        let graph = hard_swish_graph().expect("a graph");
        assert!(graph.lint().is_ok());
        crate::check::same(&[randn(&[5]), randn(&[2, 3])], |xs| hard_swish(xs), |xs| frozen.hard_swish(xs));
        agree!(|p| CallsFree { fc: linear(p, "fc") }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn private_parts() {
        agree!(|p| Gate::new(p / "gate"), [randn(&[2, 4])], |net, xs| net.forward_t(xs, false));
        agree!(|p| UsesPrivate { gate: Gate::new(p / "gate") }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn recursive() {
        agree!(|p| Recursive { fc: linear(p, "fc") }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn helper_shapes() {
        let cases = [(randn(&[4, 4]), None), (randn(&[2, 4, 4]), Some(randn(&[4, 4])))];
        agree!(|p| HelperShapes { fc: linear(p, "fc") }, cases, |net, (xs, mask)| net.forward(xs, mask.as_ref()));
    }
}
