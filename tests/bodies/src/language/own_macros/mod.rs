//! Macros that the crate declares by `macro_rules!`: in the file, in another module, inside a body; hygiene, repetitions,
//! recursion, jumps out of a macro.

pub mod early;
pub(crate) mod exported;

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

use self::exported::{clipped, gated};

#[macro_use]
mod shared {
    /// What its own variable holds is no variable of the caller's.
    macro_rules! residual {
        ($x:expr, $($layer:expr),+ $(,)?) => {{
            let h = $x.shallow_clone();
            $(let h = h.apply($layer).relu();)+
            h + $x
        }};
    }
}

macro_rules! mix {
    ($x:expr, $last:expr => $($m:expr),+) => {
        ($($x * $m + $last * (1f64 - $m)),+)
    };
}

macro_rules! total {
    ($one:expr) => { $one };
    ($one:expr, $($rest:expr),+) => { $one + total!($($rest),+) };
}

macro_rules! act {
    (relu $x:expr) => { $x.relu() };
    (gelu($kind:literal) $x:expr) => { $x.gelu($kind) };
    ($x:expr, twice) => {{ let y = act!(relu $x); act!(gelu("tanh") y) }};
}

macro_rules! or_return {
    ($option:expr, $other:expr) => {
        match $option {
            Some(value) => value,
            None => return $other,
        }
    };
}

macro_rules! let_halves {
    ($a:ident, $b:ident = $x:expr) => {
        let parts = $x.chunk(2, -1);
        let $a = parts[0].shallow_clone();
        let $b = &parts[1] * 2.0;
    };
}

/// By a macro of the file, of a module in it, and of another file.
#[derive(Debug, Module)]
pub struct Mixed {
    a: nn::Linear,
    b: nn::Linear,
    m: Tensor,
    n: Tensor,
}

#[traceable(strict)]
impl Mixed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let h = xs.tanh();
        let (p, q) = mix!(xs, &h => &self.m, &self.n);
        let y = residual!(&p, &self.a, &self.b) * 2.0 - residual!(&h + xs, &self.a,);
        let z = gated!(y, q) + total!(&h, h.neg() * 2.0, xs.exp());
        clipped!(act!(z + 1.0, twice); 3.0)
    }
}

/// Statements, among them variables that the caller names, and variables of the macro that the caller has as well.
#[derive(Debug, Module)]
pub struct Halves {
    fc: nn::Linear,
    w: Option<Tensor>,
}

#[traceable(strict)]
impl Halves {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let parts = xs.apply(&self.fc);
        let_halves!(a, b = parts);
        let w = or_return!(&self.w, a - b);
        let_halves!(c, d = &parts * w);
        parts.narrow(1, 0, 2) * a + b - c * d
    }
}

/// A macro inside the body, with a variable of the body's, in the macros of the standard library.
#[derive(Debug, Module)]
pub struct Inside {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Inside {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let scale = xs.mean(Kind::Float);
        macro_rules! scaled {
            ($($t:expr),*) => {
                vec![$($t * &scale),*]
            };
        }
        let one = Tensor::stack(&scaled!(xs + 1.0, xs.apply(&self.fc)), 0);
        assert_eq!(total!(xs.dim(), 1) * 2, 6, "rows: {}", total!(1, 2));
        let all = vec![total!(&one, 1.0), gated!(&one, &scale)];
        Tensor::cat(&all, 0)
    }
}

fn shift(xs: &Tensor) -> Tensor {
    xs + 10.0
}

macro_rules! shifted {
    ($x:expr) => {
        shift($x)
    };
}

macro_rules! checked {
    ($x:expr, $n:expr) => {
        assert!($x.dim() == $n);
        assert!($x.size()[0] < 4, "{:?}", $x.size());
    };
}

/// The macro means the function, where the caller has a variable of that name.
#[derive(Debug, Module)]
pub struct Hidden {
    fc: nn::Linear,
}

#[traceable]
impl Hidden {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        checked!(xs, 2);
        let shift = |xs: &Tensor| xs - 1.0;
        let ys = shift(&xs.apply(&self.fc));
        ys + shifted!(xs)
    }
}

/// A loop with a label, and a jump that the caller hands in.
macro_rules! up_to {
    ($n:expr, $i:ident => $body:block) => {
        'all: for $i in 0..$n {
            for j in 0..2 {
                if $i * j > 2 {
                    break 'all;
                }
            }
            $body
        }
    };
}

#[derive(Debug, Module)]
pub struct Looped {
    fc: nn::Linear,
}

#[traceable]
impl Looped {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (mut ys, j) = (xs.shallow_clone(), 3.0);
        up_to!(xs.size()[0], i => {
            if i == 7 {
                continue;
            }
            ys = ys.apply(&self.fc) + i as f64 * j;
        });
        ys
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, here, randn, root, understood};

    understood!(Hidden: 2 of 3);

    fn linear(p: &nn::Path, name: &str) -> nn::Linear {
        nn::linear(p / name, 4, 4, Default::default())
    }

    #[test]
    fn mixed() {
        let make = |p: &nn::Path| Mixed {
            a: linear(p, "a"),
            b: linear(p, "b"),
            m: p.randn_standard("m", &[4]),
            n: p.randn_standard("n", &[4]),
        };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn halves() {
        for has in [true, false] {
            let make = |p: &nn::Path| Halves { fc: linear(p, "fc"), w: has.then(|| p.randn_standard("w", &[4])) };
            if has {
                agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
            }
        }
    }

    #[test]
    fn inside() {
        agree!(|p| Inside { fc: linear(p, "fc") }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn hidden() {
        let make = |p: &nn::Path| Hidden { fc: linear(p, "fc") };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        let (_vs, net) = root(make);
        let frozen = net.freeze(&here()).unwrap();
        let said = |run: &dyn Fn() -> Tensor| {
            let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_err();
            panic.downcast_ref::<String>().cloned().or(panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap()
        };
        for xs in [randn(&[2, 2, 4]), randn(&[5, 4])] {
            assert_eq!(said(&|| frozen.forward(&xs)), said(&|| net.forward(&xs)));
        }
    }

    #[test]
    fn looped() {
        let cases = [randn(&[2, 4]), randn(&[5, 4])];
        agree!(|p| Looped { fc: linear(p, "fc") }, cases, |net, xs| net.forward(xs));
    }

    #[test]
    fn early() {
        agree!(|p| early::CallsLater { fc: linear(p, "fc") }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }
}
