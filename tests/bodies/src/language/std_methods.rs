//! Methods of the standard library's numbers and options, which one table of the graph's crate describes.

use fx_runtime::{Module, Tensor, traceable};

/// Options that meet, and numbers with methods beyond the elementary ones.
#[derive(Debug, Module)]
pub struct Methods {
    limit: Option<i64>,
    scale: Option<f64>,
}

#[traceable(strict)]
impl Methods {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let n = xs.size()[1];
        let ys = match self.limit.zip(self.scale) {
            Some((limit, scale)) => xs * (limit as f64 * scale),
            None => xs + 1.0,
        };
        let ys = if n.div_euclid(4).is_positive() { ys.relu() } else { ys * 0.5 };
        ys * (n as f64).hypot(2.0).to_radians() + n.wrapping_add(3).signum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    #[test]
    fn options_and_numbers() {
        let cases = [randn(&[2, 3]), randn(&[1, 8])];
        agree!(|_| Methods { limit: Some(3), scale: Some(0.5) }, cases, |net, xs| net.forward(xs));
        agree!(|_| Methods { limit: Some(3), scale: None }, cases, |net, xs| net.forward(xs));
    }
}
