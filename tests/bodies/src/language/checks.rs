//! Checks of shapes, as every real model has them, in functions of another file.

use fx_runtime::{Module, Tensor, nn, traceable};

use super::helpers::checked;

/// What a check says.
#[derive(Debug)]
pub enum Refusal {
    Rank(usize),
    Width { found: i64 },
}

/// Checks that panic.
#[derive(Debug, Module)]
pub struct Asserts {
    fc: nn::Linear,
    heads: i64,
}

#[traceable(strict)]
impl Asserts {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        assert_eq!(4 % self.heads, 0, "4 does not divide by {}", self.heads);
        let (xs, rows) = checked::parted(xs);
        let ys = checked::asserted(&xs, &self.fc);
        let (ys, scale) = match rows {
            1 => (ys, 0.5),
            rows => {
                assert!(rows < 7, "{rows} rows");
                (ys.relu(), 1.0)
            }
        };
        ys * scale
    }
}

/// Checks that return.
#[derive(Debug, Module)]
pub struct Refuses {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Refuses {
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor, Refusal> {
        let (xs, rows) = checked::refused(xs)?;
        Ok(xs.apply(&self.fc) * rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p / "fc", 4, 4, Default::default())
    }

    #[test]
    fn asserts() {
        let cases = [randn(&[1, 4]), randn(&[2, 4]), randn(&[2, 2, 4])];
        agree!(|p| Asserts { fc: linear(p), heads: 2 }, cases, |net, xs| net.forward(xs));
    }

    #[test]
    fn what_a_check_says_is_what_it_says_eagerly() {
        let vs = nn::VarStore::new(fx_runtime::Device::Cpu);
        let net = Asserts { fc: linear(&vs.root()), heads: 2 };
        let frozen = net.freeze(&fx_runtime::Freeze::default()).unwrap();
        let said = |run: &dyn Fn() -> Tensor| {
            let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_err();
            panic.downcast_ref::<String>().cloned().or(panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap()
        };
        for shape in [&[2, 5][..], &[0, 4], &[8, 4], &[2, 2, 3], &[1, 2, 2, 4]] {
            let xs = randn(shape);
            assert_eq!(said(&|| frozen.forward(&xs)), said(&|| net.forward(&xs)), "{shape:?}");
        }
    }

    #[test]
    fn refuses() {
        let cases = [randn(&[2, 4]), randn(&[2, 3, 4]), randn(&[4]), randn(&[2, 5])];
        agree!(|p| Refuses { fc: linear(p) }, cases, |net, xs| net.forward(xs).map_err(|error| format!("{error:?}")));
    }
}
