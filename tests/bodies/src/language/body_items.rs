//! Items inside a forward: constants, statics, functions, types and what they implement.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// Constants and statics, used before they are declared as well.
#[derive(Debug, Module)]
pub struct Values {
    layer: nn::Linear,
}

#[traceable(strict)]
impl Values {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.layer) * SCALE;
        const SCALE: f64 = 0.5;
        const SHAPE: [i64; 2] = [-1, 2];
        const KIND: Kind = Kind::Double;
        static OFFSET: i64 = 3;
        fn scaled(xs: &Tensor) -> Tensor {
            const EPS: f64 = 1e-2;
            xs * (SCALE + EPS)
        }
        (scaled(&ys) + OFFSET).view(SHAPE).to_kind(KIND)
    }
}

/// Functions that no closure stands for.
#[derive(Debug, Module)]
pub struct Functions {
    layer: nn::Linear,
}

#[traceable(strict)]
impl Functions {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        fn first<'a>(a: &'a Tensor, _: &Tensor) -> &'a Tensor {
            a
        }
        fn twice<F: Fn(&Tensor) -> Tensor>(xs: &Tensor, f: F) -> Tensor {
            f(&f(xs))
        }
        type Halves = (Tensor, Tensor);
        fn halves(xs: &Tensor) -> Halves {
            (xs.narrow(-1, 0, 2), xs.narrow(-1, 2, 2))
        }
        let ys = twice(xs, |xs| xs.apply(&self.layer).relu());
        let (a, b): Halves = halves(first(&ys, xs));
        a - b
    }
}

/// Structs, by their parts.
#[derive(Debug, Module)]
pub struct Structs {
    layer: nn::Linear,
}

#[traceable(strict)]
impl Structs {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        struct State {
            sum: Tensor,
            steps: i64,
        }
        impl State {
            fn new(sum: Tensor) -> Self {
                Self { sum, steps: 0 }
            }
            fn mean(&self) -> Tensor {
                &self.sum / self.steps.max(1)
            }
        }
        struct View<'a> {
            of: &'a Tensor,
        }
        impl View<'_> {
            fn through(&self, layer: &nn::Linear) -> Tensor {
                self.of.apply(layer)
            }
        }
        let mut state = State::new(xs.neg());
        for at in 0..xs.size()[0] {
            state = State { sum: state.sum + View { of: xs }.through(&self.layer) * at, steps: state.steps + 1 };
        }
        let state = if xs.size()[0] > 2 { State { sum: xs.relu(), ..state } } else { state };
        state.mean()
    }
}

/// Types of which generated code needs the whole leave the forward as it is written.
#[derive(Debug, Module)]
pub struct Whole {
    layer: nn::Linear,
}

#[traceable]
impl Whole {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        #[derive(Clone, Copy)]
        enum Mode {
            Plain,
            Scaled(f64),
        }
        struct Part {
            xs: Tensor,
            mode: Mode,
        }
        trait Weighed {
            fn weighed(&self) -> Tensor;
        }
        impl Weighed for Part {
            fn weighed(&self) -> Tensor {
                match self.mode {
                    Mode::Plain => self.xs.relu(),
                    Mode::Scaled(by) => &self.xs * by,
                }
            }
        }
        let mode = if xs.size()[0] > 2 { Mode::Plain } else { Mode::Scaled(2.0) };
        let mode = std::env::var("FX_NO_SUCH_VARIABLE").map_or(mode, |_| Mode::Plain);
        let all = vec![Part { xs: xs.apply(&self.layer), mode }, Part { xs: xs.neg(), mode: Mode::Scaled(0.5) }];
        all.iter().map(|part| part.weighed()).fold(xs.zeros_like(), |sum, part| sum + part)
    }
}

/// The same of an enum alone.
#[derive(Debug, Module)]
pub struct OwnEnum {
    layer: nn::Linear,
}

#[traceable]
impl OwnEnum {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        enum Mode {
            Plain,
            Scaled(f64),
        }
        let mode = if xs.size()[0] > 2 { Mode::Plain } else { Mode::Scaled(2.0) };
        let ys = xs.apply(&self.layer);
        match mode {
            Mode::Plain => ys.relu(),
            Mode::Scaled(by) => ys * by,
        }
    }
}

/// A trait whose methods are called, brought in by another name than its own where opaque code calls one.
#[derive(Debug, Module)]
pub struct UnnamedTraits {
    layer: nn::Linear,
}

#[traceable]
impl UnnamedTraits {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.layer);
        let least = {
            use std::ops::Mul as _;
            [xs, &ys].into_iter().min_by_key(|one| one.size()[0]).unwrap().mul(2)
        };
        least + ys
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Whole: 0 of 10);
    understood!(OwnEnum: 0 of 4);
    understood!(UnnamedTraits: 1 of 7);

    fn layer(p: &nn::Path) -> nn::Linear {
        nn::linear(p / "l", 4, 4, Default::default())
    }

    #[test]
    fn values() {
        agree!(|p: &nn::Path| Values { layer: layer(p) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn functions() {
        agree!(|p: &nn::Path| Functions { layer: layer(p) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn structs() {
        let cases = [randn(&[2, 4]), randn(&[3, 4])];
        agree!(|p: &nn::Path| Structs { layer: layer(p) }, cases, |net, xs| net.forward(xs));
    }

    #[test]
    fn whole() {
        let cases = [randn(&[2, 4]), randn(&[3, 4])];
        agree!(|p: &nn::Path| Whole { layer: layer(p) }, cases, |net, xs| net.forward(xs));
    }

    #[test]
    fn own_enum() {
        let cases = [randn(&[2, 4]), randn(&[3, 4])];
        agree!(|p: &nn::Path| OwnEnum { layer: layer(p) }, cases, |net, xs| net.forward(xs));
    }

    #[test]
    fn unnamed_traits() {
        let cases = [randn(&[2, 4]), randn(&[3, 4])];
        agree!(|p: &nn::Path| UnnamedTraits { layer: layer(p) }, cases, |net, xs| net.forward(xs));
    }
}
