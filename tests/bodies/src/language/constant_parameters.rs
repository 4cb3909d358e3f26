//! Functions with constant parameters, for which a call says what is put in.

use fx_runtime::{Module, Tensor, nn, traceable};

const WIDE: i64 = 2;

fn times<const N: i64>(xs: &Tensor) -> Tensor {
    xs * N
}

fn cut<const N: i64, const IS_UP: bool>(xs: &Tensor) -> Tensor {
    let ys = times::<N>(xs);
    if IS_UP { ys.relu() } else { ys.chunk(N, 1)[0].repeat([1, N]) }
}

#[derive(Debug, Module)]
pub struct Counted {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Counted {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = times::<3>(&xs.apply(&self.fc));
        ys + cut::<WIDE, true>(xs) + cut::<{ 1 + 1 }, false>(xs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    #[test]
    fn put_in() {
        let make = |p: &nn::Path| Counted { fc: nn::linear(p, 4, 4, Default::default()) };
        agree!(make, [1, 3].map(|rows| randn(&[rows, 4])), |net, xs| net.forward(xs));
    }
}
