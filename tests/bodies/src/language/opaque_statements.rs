//! Calls that are opaque code, as statements and at the end of functions that return a `Result`.

use fx_runtime::{Module, Tensor, nn, traceable};
use tch::{Reduction, TchError};

/// A value that acts when it is dropped, at the end of its statement.
#[derive(Debug, Module)]
pub struct Spliced {
    fc: nn::Linear,
}

#[traceable]
impl Spliced {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc).view([-1, 2, 2]);
        let mut shape = ys.size();
        shape.splice(shape.len() - 2.., std::iter::once(4));
        ys.reshape(&shape).relu()
    }
}

/// The same, which may fail.
#[derive(Debug, Module)]
pub struct Replaced {
    fc: nn::Linear,
}

fn replaced(xs: &Tensor) -> Result<Tensor, TchError> {
    let mut all = vec![xs.shallow_clone()];
    all.splice(0..1, std::iter::once(xs.f_relu()?));
    Ok(all.pop().unwrap())
}

#[traceable]
impl Replaced {
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        let ys = replaced(xs)?;
        ys.f_mul(&xs.apply(&self.fc))
    }
}

/// A `Result` at the end of a function, of code that leaves it with an error before.
#[derive(Debug, Module)]
pub struct Loss {
    fc: nn::Linear,
}

#[traceable]
impl Loss {
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor, TchError> {
        let reduction = match xs.size()[0] {
            1 => Reduction::Mean,
            _ => Reduction::None,
        };
        let loss = xs.apply(&self.fc).f_mse_loss(xs, reduction);
        loss?.f_div_scalar(2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, not_interpreted, randn, understood};

    understood!(Spliced: 4 of 7);
    understood!(Replaced: 2 of 8);
    not_interpreted!(Loss: "takes `int` for `reduction`");

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    fn cases() -> [Tensor; 4] {
        [1, 2, 3, 4].map(|rows| randn(&[rows, 4]))
    }

    #[test]
    fn let_go_at_once() {
        agree!(|p: &nn::Path| Spliced { fc: linear(p) }, cases(), |net, xs| net.forward(xs));
        agree!(|p: &nn::Path| Replaced { fc: linear(p) }, cases(), |net, xs| net.forward(xs).unwrap());
    }

    #[test]
    fn results_at_the_end() {
        agree!(|p: &nn::Path| Loss { fc: linear(p) }, cases(), |net, xs| net.forward(xs).unwrap());
    }
}
