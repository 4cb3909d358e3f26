//! Floats without a suffix, whose type another branch, an operator or a list says.

use fx_runtime::{Module, Tensor, traceable};

#[derive(Debug, Module)]
pub struct Pushed {
    n: i64,
}
#[traceable]
impl Pushed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut v: Vec<f32> = Vec::new();
        for i in 0..self.n {
            v.push(if i % 2 == 0 { 1.0 } else { i as f32 });
        }
        xs - Tensor::from_slice(&v)
    }
}

#[derive(Debug, Module)]
pub struct Centers {
    count: usize,
    max: f64,
}
#[traceable]
impl Centers {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let step = if self.count == 1 { 0.0 } else { self.max as f32 };
        let scale = self.count as f32 * step;
        let other = match self.count {
            0 => 1.0,
            1 => 2.5,
            n => n as f32,
        };
        let k = if self.count == 1 { 0.5 } else { 1.5 };
        let z = self.max as f32 * k;
        xs * (scale + other + z) as f64
    }
}

#[derive(Debug, Module)]
pub struct Centered {
    count: usize,
    max: f64,
}
#[traceable]
impl Centered {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let centers =
            (0..self.count).map(|at| if at == 0 { 0.0 } else { at as f32 * self.max as f32 }).collect::<Vec<f32>>();
        let by = Some(self.max as f32).map_or(1.0, |x| x * 2.0);
        xs.unsqueeze(-1) - Tensor::from_slice(&centers) * by as f64
    }
}

#[derive(Debug, Module)]
pub struct Filled {
    n: usize,
    o: Option<f32>,
}
#[traceable]
impl Filled {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut mask = vec![0.0f32; self.n];
        for i in 0..self.n {
            mask[i] = if i % 2 == 0 { 1.0 } else { 0.0 };
        }
        let mut v = Vec::new();
        for i in 0..self.n {
            v.push(match i {
                0 => 0.5,
                1 => 1.0,
                k => k as f32,
            });
        }
        let step = match self.o {
            None => 1.0,
            Some(max) => max,
        };
        let mut sum = 0.0;
        for i in 0..self.n {
            sum += i as f32;
        }
        let other: Vec<f32> = (0..self.n).map(|i| if i % 2 == 0 { 1.0 } else { 0.0 }).collect();
        (xs * Tensor::from_slice(&mask) - Tensor::from_slice(&v) + Tensor::from_slice(&other))
            * (step * 2f32 + sum) as f64
    }
}

#[derive(Debug, Module)]
pub struct Axis {
    s: f32,
}
#[traceable]
impl Axis {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let a = Tensor::from_slice(&[1.0f32, 0.0, 0.0, 2.0, 1.0, 0.5, 0.25, 1.0]);
        let b = Tensor::from_slice(&[self.s, 0.0, 1.0, 2.0, 1.0, 0.5, 0.25, 1.0]);
        let c = Tensor::from_slice(&[0, 1, 2, 3, 4, 5, 6, 7i64]);
        xs * a + b - c
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    fn inputs() -> [Tensor; 2] {
        [randn(&[2, 8]), randn(&[3, 8])]
    }

    #[test]
    fn pushed() {
        agree!(|_p| Pushed { n: 8 }, inputs(), |net, xs| net.forward(xs));
    }

    #[test]
    fn centers() {
        for count in [1, 3] {
            agree!(|_p| Centers { count, max: 2.5 }, inputs(), |net, xs| net.forward(xs));
            agree!(|_p| Centered { count, max: 2.5 }, inputs(), |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn filled() {
        for o in [None, Some(0.3)] {
            agree!(|_p| Filled { n: 8, o }, inputs(), |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn axis() {
        agree!(|_p| Axis { s: 0.3 }, inputs(), |net, xs| net.forward(xs));
    }
}
