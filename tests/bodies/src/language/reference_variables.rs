//! Variables that are references to values, in code that runs as it is written.

use fx_runtime::{Module, Tensor, nn, traceable};

trait Act {
    fn act(&self, xs: &Tensor) -> Tensor;
}

struct Plain;

impl Act for Plain {
    fn act(&self, xs: &Tensor) -> Tensor {
        xs.relu()
    }
}

impl Act for &Plain {
    fn act(&self, xs: &Tensor) -> Tensor {
        xs.tanh()
    }
}

#[allow(clippy::needless_borrow, reason = "the impl for the reference is meant")]
fn handed(plain: &Plain, xs: &Tensor) -> Tensor {
    Act::act(plain, xs) + (&plain).act(xs) * 2.0
}

/// Of a struct without fields, for which and for a reference to which there are impls.
#[derive(Debug, Module)]
pub struct ToStruct {
    fc: nn::Linear,
}

#[traceable]
impl ToStruct {
    #[allow(clippy::needless_borrow, reason = "the impl for the reference is meant")]
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let plain = &Plain;
        plain.act(&ys) + (&plain).act(&ys) * 2.0 + Act::act(plain, &ys) * 7.0 + handed(&Plain, &ys)
    }
}

/// Of a tuple and a number.
#[derive(Debug, Module)]
pub struct ToValues {
    fc: nn::Linear,
}

#[traceable]
impl ToValues {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.fc);
        let pair = &(xs.size()[0], 2.5);
        let k = &3;
        let n: i64 = "a-bc".split('-').map(|part| part.len() as i64 * pair.0).rev().sum();
        let m = [1i64, 2, 3].iter().filter(|v| v.ne(&k)).rev().min_by_key(|v| (**v - k).abs()).unwrap() + k;
        ys * n + m
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(ToStruct: 1 of 7);
    understood!(ToValues: 2 of 16);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    #[test]
    fn to_struct() {
        agree!(|p| ToStruct { fc: linear(p) }, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn to_values() {
        agree!(|p| ToValues { fc: linear(p) }, [randn(&[3, 4])], |net, xs| net.forward(xs));
    }
}
