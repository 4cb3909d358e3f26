//! Names that could meet those of generated code.

use fx_runtime::{Module, Tensor, nn, traceable};

/// Fields and locals named like what generated code uses.
#[derive(Debug, Module)]
pub struct Frame {
    frame: nn::Linear,
    scope: nn::Linear,
    fx: nn::Linear,
    t: nn::Linear,
    options: f64,
    this: f64,
    value: f64,
    self_frame: f64,
}

#[traceable]
impl Frame {
    pub fn forward(&self, scope: &Tensor, t: &Tensor) -> Tensor {
        let frame = self.frame.forward(scope);
        let fx = self.fx.forward(&frame) + t;
        let options = self.scope.forward(&fx) * self.options;
        let this = self.t.forward(&options) * self.this;
        let value = this + self.value + self.self_frame;
        let at = value.relu();
        let drop = &at + &value;
        let frozen = at + drop;
        frozen
    }
}

/// Variants, constants and structs that are in scope under the names of variables.
pub mod lower_case {
    use fx_runtime::{Module, Tensor, nn, traceable};

    use self::Activation::{relu, tanh};
    use self::others::*;

    #[allow(non_camel_case_types)]
    #[derive(Debug, Clone, Copy)]
    pub enum Activation {
        relu,
        tanh,
    }

    pub mod others {
        #[allow(non_camel_case_types)]
        pub struct fc;
        #[allow(non_upper_case_globals)]
        pub const neg: i64 = 1;
        #[allow(non_upper_case_globals)]
        pub static xs: f64 = 2.0;
    }

    #[derive(Debug, Module)]
    pub struct Net {
        fc: nn::Linear,
        activation: Activation,
    }

    impl Net {
        pub fn new(p: &nn::Path, deep: bool) -> Self {
            let linear = nn::linear(p / "fc", 4, 4, Default::default());
            Net { fc: linear, activation: if deep { tanh } else { relu } }
        }
    }

    #[traceable]
    impl Net {
        pub fn forward(&self, input: &Tensor) -> Tensor {
            let ys = match self.activation {
                relu => self.fc.forward(input).relu(),
                tanh => self.fc.forward(&input.relu()).tanh().neg() * input,
            };
            ys * neg + xs
        }
    }
}

/// Raw identifiers, keywords as fields, names with digits and underscores.
#[derive(Debug, Module)]
pub struct Raw {
    r#type: nn::Linear,
    r#match: f64,
    __: f64,
    layer_1: nn::Linear,
    layer_1_2: nn::Linear,
}

#[traceable]
impl Raw {
    pub fn forward(&self, r#in: &Tensor) -> Tensor {
        let r#loop = self.r#type.forward(r#in) * self.r#match;
        let x_1 = self.layer_1.forward(&r#loop);
        let x_1_2 = self.layer_1_2.forward(&x_1);
        let x = &x_1 + x_1_2;
        let _x = x + self.__;
        let größe = _x.tanh();
        größe
    }
}

/// Names of types in the way: `Result`, `Vec`, `Option`, `String` of the user's own.
pub mod shadowed {
    use fx_runtime::{Module, Tensor, nn, traceable};

    pub struct Error;
    #[derive(Debug, Clone, Copy)]
    pub struct Arg(pub f64);

    #[derive(Debug, Module)]
    pub struct Net {
        fc: nn::Linear,
        arg: Arg,
    }

    #[traceable]
    impl Net {
        pub fn forward(&self, xs: &Tensor) -> Tensor {
            let ys = self.fc.forward(xs);
            ys * self.arg.0
        }
    }

    pub fn net(p: &nn::Path) -> Net {
        Net { fc: nn::linear(p / "fc", 4, 4, Default::default()), arg: Arg(0.5) }
    }
}

/// A second `Net` in the same crate.
pub mod again {
    use fx_runtime as f;
    use fx_runtime::{Module as Derive, Tensor as T, nn::Linear as Fc, traceable as trace};

    #[derive(Debug, Derive)]
    pub struct Net {
        pub fc: Fc,
    }

    #[trace]
    impl Net {
        pub fn forward(&self, xs: &T) -> T {
            let k = f::Kind::Float;
            self.fc.forward(xs).softmax(-1, k)
        }
    }
}

/// Underscores, unused parameters, patterns as parameters.
#[derive(Debug, Module)]
pub struct Patterns {
    fc: nn::Linear,
}

#[traceable]
impl Patterns {
    pub fn forward(&self, (a, b): (&Tensor, &Tensor), _unused: i64, _: bool) -> Tensor {
        let _ = self.fc.forward(a);
        let (_, c) = (a, self.fc.forward(b));
        let _d = c.relu();
        let ref e = c;
        let f @ _ = e + a;
        f
    }
}

/// Mutable parameters and parameters that are shadowed.
#[derive(Debug, Module)]
pub struct Parameters {
    fc: nn::Linear,
}

#[traceable]
impl Parameters {
    pub fn forward(&self, mut xs: Tensor, mut n: i64, scale: f64) -> Tensor {
        xs = self.fc.forward(&xs);
        n += 1;
        let scale = scale * 2.0;
        {
            let scale = 3.0;
            xs = xs * scale;
        }
        let n = n as f64;
        xs * scale + n
    }
}

/// An entry under another name, beside other methods.
#[derive(Debug, Module)]
pub struct Encoder {
    fc: nn::Linear,
}

#[traceable(entry = "encode")]
impl Encoder {
    pub fn new(p: &nn::Path) -> Self {
        Self { fc: nn::linear(p / "fc", 4, 4, Default::default()) }
    }

    pub fn encode(&self, xs: &Tensor) -> Tensor {
        self.inner(xs).relu()
    }

    fn inner(&self, xs: &Tensor) -> Tensor {
        self.fc.forward(xs)
    }
}

/// Parts in modules that have all their names by globs from the one around them, one of which has other names too.
pub mod globbed {
    use fx_runtime::{Kind, Module, Tensor, nn, traceable};

    mod rotary {
        use fx_runtime::Tensor;

        pub(super) fn rotated(xs: &Tensor) -> Tensor {
            xs.flip([-1])
        }
    }

    mod norm {
        use super::{rotary::*, *};

        #[derive(Debug, Module)]
        pub(super) struct Rms {
            pub(super) scale: Tensor,
            pub(super) fc: nn::Linear,
        }

        impl Rms {
            pub(super) fn forward(&self, xs: &Tensor) -> Tensor {
                let mean = (xs * xs).mean_dim(-1, true, Kind::Float);
                rotated(&(self.fc.forward(xs) * (mean + 1e-5).rsqrt() * &self.scale))
            }
        }
    }

    /// The model around them.
    #[derive(Debug, Module)]
    pub struct Globbed {
        norm: norm::Rms,
    }

    impl Globbed {
        pub fn new(p: &nn::Path) -> Self {
            let fc = nn::linear(p / "fc", 4, 4, Default::default());
            Globbed { norm: norm::Rms { scale: p.randn_standard("scale", &[4]), fc } }
        }
    }

    #[traceable(strict)]
    impl Globbed {
        pub fn forward(&self, xs: &Tensor) -> Tensor {
            self.norm.forward(xs).relu()
        }
    }
}

/// Variables that change their names with each other, before code that is carried along.
#[derive(Debug, Module)]
pub struct Swapped {
    by: i64,
}

fn weighed(parts: &[f64]) -> f64 {
    let mut parts = parts.to_vec();
    parts.sort_by(|a, b| b.total_cmp(a));
    parts.iter().zip([3.0, 2.0, 1.0]).map(|(part, weight)| part * weight).sum()
}

#[traceable]
impl Swapped {
    pub fn forward(&self, xs: &Tensor, ys: &Tensor) -> Tensor {
        let (xs, ys) = (ys, xs);
        let first = (|| weighed(&[xs.double_value(&[0, 0]), ys.double_value(&[0, 0]) * 2.0]))();
        let a = xs.relu();
        let b = ys.neg();
        let (b, a) = (a, b);
        let mut sum = xs.zeros_like();
        for step in 0..self.by {
            let mut kept = std::collections::BTreeMap::new();
            kept.insert(0, &a);
            kept.insert(step + 1, &b);
            sum = sum + kept[&0] * step - kept[&(step + 1)] * self.by;
        }
        sum * first
    }
}

/// The variable of a loop, which opaque code names beside what is held for one iteration.
#[derive(Debug, Module)]
pub struct Iterated {
    maybe: Option<i64>,
    n: i64,
}

#[traceable]
impl Iterated {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        for h in 0..self.n {
            let k: Option<i64> = self.maybe;
            match (k.map(|one| one + xs.size()[0]), k.is_some_and(|one| one > 1)) {
                (Some(g), true) => {
                    let upto = match k {
                        Some(n) if n > 1 => n - 1,
                        Some(n) => n * 3,
                        None => g,
                    };
                    let all: Vec<Tensor> = (0..(match k {
                        Some(n) if n > 1 => n - 1,
                        Some(n) => n * 3,
                        None => g,
                    }) % 4)
                        .map(|n| (xs + n) * (h % 5))
                        .collect();
                    ys = all.iter().fold(ys, |a, b| a.tanh() + b) + upto;
                }
                (Some(_), false) => ys = ys.cos(),
                (None, _) => {}
            }
        }
        ys
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, not_interpreted, randn, understood};

    not_interpreted!(Net: "got neg");

    understood!(Patterns: 0 of 3);
    understood!(Swapped: 4 of 14);

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    #[test]
    fn globbed() {
        agree!(super::globbed::Globbed::new, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn fields() {
        let make = |p: &nn::Path| Frame {
            frame: linear(p / 0),
            scope: linear(p / 1),
            fx: linear(p / 2),
            t: linear(p / 3),
            options: 0.5,
            this: 0.6,
            value: 0.7,
            self_frame: 0.8,
        };
        agree!(make, [(randn(&[2, 4]), randn(&[2, 4]))], |net, (scope, t)| net.forward(scope, t));
    }

    #[test]
    fn lower_case() {
        for deep in [false, true] {
            agree!(|p| lower_case::Net::new(p, deep), [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn raw() {
        let make = |p: &nn::Path| Raw {
            r#type: linear(p / 0),
            r#match: 0.5,
            __: 0.1,
            layer_1: linear(p / 1),
            layer_1_2: linear(p / 2),
        };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn swapped() {
        for by in [0, 1, 3] {
            let inputs = [(randn(&[2, 4]), randn(&[2, 4]))];
            agree!(|_| Swapped { by }, inputs, |net, (a, b)| net.forward(a, b));
        }
    }

    #[test]
    fn shadowed_types() {
        agree!(shadowed::net, [randn(&[2, 4])], |net, xs| net.forward(xs));
        agree!(|p| again::Net { fc: linear(p / 0) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn patterns() {
        agree!(|p| Patterns { fc: linear(p / 0) }, [(randn(&[2, 4]), randn(&[2, 4]))], |net, (a, b)| net.forward(
            (&*a, &*b),
            1,
            true
        ));
    }

    #[test]
    fn parameters() {
        agree!(|p| Parameters { fc: linear(p / 0) }, [randn(&[2, 4])], |net, xs| net.forward(
            xs.shallow_clone(),
            2,
            0.5
        ));
    }

    #[test]
    fn iterated() {
        for maybe in [None, Some(1), Some(4)] {
            agree!(|_| Iterated { maybe, n: 3 }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn entry() {
        agree!(Encoder::new, [randn(&[2, 4])], |net, xs| net.encode(xs));
    }
}
