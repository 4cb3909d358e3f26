//! Numbers written with a suffix, or of the type that a `let` or a parameter gives them.

use fx_runtime::{Kind, Module, Tensor, traceable};

/// Every way to say of which type a number is.
#[derive(Debug, Module)]
pub struct Literals {
    scale: f64,
}

fn scaled(base: f64, by: f32) -> f64 {
    base.ln() * by.sqrt() as f64
}

#[traceable]
impl Literals {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        const HALF: f64 = 0.5;
        // In double precision, where the last digits of a number count.
        let xs = &xs.to_kind(Kind::Double);
        let d = xs.size()[1];
        let s = self.scale;
        let base: f64 = 10000.0;
        let single: f32 = 0.1;
        let product: f64 = 2.0 * 3.0;
        let count: i32 = 3;
        let k = 10f64;
        let logs = 10000f64.ln() + 10000.0_f64.ln() + base.ln() + product.sqrt() + HALF.sqrt();
        let ys = xs * (1f64 / (d as f64).sqrt()) + 2f64.powi(-1) + 2f64.powi(count) + k * s;
        let ys = ys * (1e-5f32.sqrt() as f64) + (0.1f32 as f64) + (single as f64) + (-0.5f32).abs() as f64;
        let mixed = (d as f32) * 0.1 + 2f32 * (d as f32) + 3u8 as f32;
        let power = 2i64.pow(3) + 2_i64 * d + (2 * 3i64).pow(2) + 7u16 as i64;
        let ys = ys * logs + mixed as f64 + power + scaled(100.0, 0.3) + k.max(1.0);
        (ys + 0.1f32 as f64) * 10f64 / 3f64
    }
}

/// Numbers that loops and branches hand over.
#[derive(Debug, Module)]
pub struct Carried {
    scale: f64,
}

#[traceable]
impl Carried {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        // In double precision, where the last digits of a number count.
        let xs = &xs.to_kind(Kind::Double);
        let d = xs.size()[1];
        let mut k = 10f64;
        for _ in 0..d {
            k = k.sqrt() + self.scale;
        }
        let chosen = if d > 2 { 10f64 } else { 2.5f64 };
        let single = if d > 2 { 0.1f32 } else { 0.3f32 };
        let mut m: f64 = 4.0;
        while m.sqrt() > 1.5 {
            m = m.sqrt();
        }
        xs * chosen.sqrt() + k + m + single.sqrt() as f64 + single as f64
    }
}

/// Numbers of a list, each of which is written out where it is used: one of them only behind the one that decides.
#[derive(Debug, Module)]
pub struct WrittenOut {
    scale: f64,
}

#[traceable(strict)]
impl WrittenOut {
    pub fn forward(&self, xs: &Tensor, n: i64) -> Tensor {
        let by = [n, 2, 0];
        let is_found = by.iter().any(|by| 8 / by == 4);
        xs * self.scale + is_found as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    #[test]
    fn literals() {
        agree!(|_| Literals { scale: 0.3 }, [randn(&[2, 4]), randn(&[3, 5])], |net, xs| net.forward(xs));
    }

    #[test]
    fn carried() {
        agree!(|_| Carried { scale: 0.3 }, [randn(&[2, 2]), randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn written_out() {
        for n in [1, 2, 3] {
            agree!(|_| WrittenOut { scale: 0.3 }, [randn(&[2, 2]), randn(&[2, 4])], |net, xs| net.forward(xs, n));
        }
    }
}
