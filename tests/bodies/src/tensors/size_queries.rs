//! Sizes of tensors that may have other dimensions: `if let Ok((b, c)) = xs.size2()`, `xs.size2().unwrap_or((0, 0))`.

use fx_runtime::{Module, Tensor, nn, traceable};

/// Decisions by how many dimensions the input has.
#[derive(Debug, Module)]
pub struct Flattened {
    fc: nn::Linear,
    table: Tensor,
}

#[traceable(strict)]
impl Flattened {
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor, tch::TchError> {
        let flat = match xs.size3() {
            Ok((b, t, d)) => xs.view([b * t, d]),
            Err(_) => xs.shallow_clone(),
        };
        let Ok((rows, _)) = flat.f_relu()?.size2() else { return Ok(xs.sum(fx_runtime::Kind::Float)) };
        let ys = if let Ok((b, _)) = xs.size2() { flat.apply(&self.fc) * b } else { flat.apply(&self.fc) };
        let is_square = self.table.size2().is_ok_and(|(rows, columns)| rows == columns);
        let ys = if xs.size3().is_err() && is_square { ys.matmul(&self.table) } else { ys };
        Ok(ys / rows)
    }
}

/// What stands in place of sizes that are not there.
#[derive(Debug, Module)]
pub struct Sizes {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Sizes {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (b, c) = xs.size2().unwrap_or((0, 0));
        let (rows, steps, width) = xs.size3().unwrap_or_else(|_| (b, 1, c));
        let (first, _) = xs.size2().unwrap_or_default();
        let count = xs.size1().map_or(1, |only| only + 1);
        let area = xs.size2().map(|(rows, columns)| rows * columns).unwrap_or(count);
        let ys = xs.reshape([rows * steps, width]).apply(&self.fc);
        let axes = xs.size3().ok();
        match axes {
            Some((1, _, width)) => ys * width,
            Some((rows, ..)) => ys + rows,
            None => ys * (area + first),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    #[test]
    fn decisions() {
        for rows in [4, 2] {
            let make = |p: &nn::Path| Flattened {
                fc: nn::linear(p / "fc", 4, 4, Default::default()),
                table: p.var("table", &[rows, 4], nn::Init::Const(0.5)),
            };
            let inputs = [randn(&[3, 4]), randn(&[2, 3, 4]), randn(&[2, 1, 3, 4])];
            agree!(make, inputs, |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn in_place_of_sizes() {
        let make = |p: &nn::Path| Sizes { fc: nn::linear(p / "fc", 4, 4, Default::default()) };
        agree!(make, [randn(&[3, 4]), randn(&[1, 3, 4]), randn(&[2, 3, 4])], |net, xs| net.forward(xs));
    }
}
