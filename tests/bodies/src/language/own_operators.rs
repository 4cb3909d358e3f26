//! Operators that the crate declares for types of its own: in each ownership, with numbers and tensors, in place, by index.

use std::ops::{Add, AddAssign, Index, Mul, MulAssign, Neg};

use fx_runtime::{Module, Tensor, nn, traceable};

pub struct Complex {
    re: Tensor,
    im: Tensor,
}

impl Mul for &Complex {
    type Output = Complex;
    fn mul(self, o: Self) -> Complex {
        Complex { re: &self.re * &o.re - &self.im * &o.im, im: &self.re * &o.im + &self.im * &o.re }
    }
}

impl Mul<&Tensor> for &Complex {
    type Output = Complex;
    fn mul(self, by: &Tensor) -> Complex {
        Complex { re: &self.re * by, im: &self.im * by }
    }
}

impl Mul<f64> for Complex {
    type Output = Complex;
    fn mul(self, by: f64) -> Complex {
        Complex { re: self.re * by, im: self.im * by }
    }
}

impl Mul<Complex> for f64 {
    type Output = Complex;
    fn mul(self, of: Complex) -> Complex {
        of * (self + 1.0)
    }
}

impl Add for Complex {
    type Output = Complex;
    fn add(mut self, o: Complex) -> Complex {
        self.re += o.re;
        self.im += o.im;
        self
    }
}

impl AddAssign<&Complex> for Complex {
    fn add_assign(&mut self, o: &Complex) {
        self.re = &self.re + &o.re;
        self.im += &o.im;
    }
}

impl AddAssign<f64> for Complex {
    fn add_assign(&mut self, by: f64) {
        self.re += by;
    }
}

impl MulAssign<&Tensor> for Complex {
    fn mul_assign(&mut self, by: &Tensor) {
        *self = &*self * by;
    }
}

impl Neg for Complex {
    type Output = Self;
    fn neg(self) -> Self::Output {
        Complex { re: -self.re, im: -self.im }
    }
}

impl Index<usize> for Complex {
    type Output = Tensor;
    fn index(&self, at: usize) -> &Tensor {
        if at == 0 { &self.re } else { &self.im }
    }
}

fn scaled_in_place(value: &mut Complex, by: &Tensor) {
    *value *= by;
    *value += 1.5;
}

/// A layer with an operator.
#[derive(Debug, Module)]
pub struct Gain {
    fc: nn::Linear,
    by: f64,
}

impl Mul<&Tensor> for &Gain {
    type Output = Tensor;
    fn mul(self, xs: &Tensor) -> Tensor {
        xs.apply(&self.fc) * self.by
    }
}

#[derive(Debug, Module)]
pub struct OwnOperators {
    re: nn::Linear,
    im: nn::Linear,
    gain: Gain,
    layers: Vec<nn::Linear>,
}

impl OwnOperators {
    fn new(p: &nn::Path) -> OwnOperators {
        let fc = |name: &str| nn::linear(p / name, 4, 4, Default::default());
        let layers = (0..2).map(|at| fc(&format!("layer_{at}"))).collect();
        OwnOperators { re: fc("re"), im: fc("im"), gain: Gain { fc: fc("gain"), by: 2.0 }, layers }
    }
}

#[traceable(strict, entry = ["forward", "in_place", "in_a_loop"])]
impl OwnOperators {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let c = Complex { re: xs.apply(&self.re), im: xs.apply(&self.im) };
        let square = &c * &c;
        let sum = 0.5 * square + c * 2.0;
        let scaled = &-sum * xs;
        &self.gain * &scaled.re - &scaled[1] / (&scaled[0].square() + 1.0)
    }

    pub fn in_place(&self, xs: &Tensor) -> Tensor {
        let mut c = Complex { re: xs.apply(&self.re), im: xs.apply(&self.im) };
        scaled_in_place(&mut c, xs);
        c += &Complex { re: xs.relu(), im: xs.tanh() };
        c += 2.0;
        c.re * c.im
    }

    pub fn in_a_loop(&self, xs: &Tensor) -> Tensor {
        let by = Complex { re: xs.tanh(), im: xs.sigmoid() };
        let mut sum = Complex { re: xs.zeros_like(), im: xs.ones_like() };
        for layer in &self.layers {
            sum += &Complex { re: xs.apply(layer), im: xs.relu() };
            sum = &sum * &by + Complex { re: xs.copy(), im: xs.copy() };
        }
        sum.re + sum.im
    }
}

/// Two impls on values and on references to them, which of which a variable's name does not tell.
pub struct Signed(Tensor);

impl Mul for Signed {
    type Output = Signed;
    fn mul(self, o: Signed) -> Signed {
        Signed(self.0 * o.0)
    }
}

impl Mul for &Signed {
    type Output = Signed;
    fn mul(self, o: &Signed) -> Signed {
        Signed(-(&self.0 * &o.0))
    }
}

#[derive(Debug, Module)]
pub struct TwoOwnerships {}

#[traceable]
impl TwoOwnerships {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (a, b) = (Signed(xs.relu()), Signed(xs.tanh()));
        let by_reference = &a * &b;
        let c = a * b;
        by_reference.0 + c.0 * 3.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(TwoOwnerships: 4 of 6);

    #[test]
    fn own_operators() {
        agree!(OwnOperators::new, [randn(&[2, 4])], |net, xs| net.forward(xs));
        agree!(OwnOperators::new, [randn(&[2, 4])], |net, xs| net.in_place(xs));
        agree!(OwnOperators::new, [randn(&[2, 4])], |net, xs| net.in_a_loop(xs));
    }

    #[test]
    fn two_ownerships() {
        agree!(|_: &nn::Path| TwoOwnerships {}, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }
}
