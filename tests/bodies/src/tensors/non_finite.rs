//! NaN, infinities and negative zeros in inputs, weights and residuals: what a model that is frozen to keep them yields is
//! what eager yields.

use fx_runtime::{Module, Tensor, nn, traceable};

/// A convolution and a linear layer, each with what follows it and what is added to it.
#[derive(Debug, Module)]
pub struct Fused {
    conv: nn::Conv2D,
    fc: nn::Linear,
    act: i64,
}

impl Fused {
    fn new(p: &nn::Path, act: i64) -> Fused {
        let conv = nn::ConvConfig { padding: 1, ..Default::default() };
        Fused { conv: nn::conv2d(p / "conv", 8, 8, 3, conv), fc: nn::linear(p / "fc", 8, 8, Default::default()), act }
    }
}

#[traceable(strict)]
impl Fused {
    pub fn forward(&self, xs: &Tensor, rows: &Tensor) -> (Tensor, Tensor, Tensor, Tensor) {
        let (ys, zs) = (xs.apply(&self.conv), rows.apply(&self.fc));
        let (ys, zs) = match self.act {
            0 => (ys.relu(), zs.relu()),
            1 => (ys.clamp(0.0, 6.0), zs.clamp(0.0, 6.0)),
            2 => (ys.clamp(-0.5, 0.5), zs.clamp(-0.5, 0.5)),
            3 => (ys.leaky_relu(), zs.leaky_relu()),
            4 => (ys.silu(), zs.silu()),
            5 => (ys.gelu("none"), zs.gelu("none")),
            6 => (ys.sigmoid(), zs.sigmoid()),
            7 => (ys.tanh(), zs.tanh()),
            8 => (ys.hardswish(), zs.hardswish()),
            9 => (ys.elu(), zs.elu()),
            10 => (ys.gelu("tanh"), zs.gelu("tanh")),
            11 => (ys.mish(), zs.mish()),
            12 => (ys.abs(), zs.abs()),
            13 => (ys.hardsigmoid(), zs.hardsigmoid()),
            _ => (ys.softplus(), zs.softplus()),
        };
        let (sum, total) = ((xs.apply(&self.conv) + xs).relu(), (rows.apply(&self.fc) + rows).relu());
        (ys, zs, sum, total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, alone, randn, root};
    use fx_runtime::Freeze;

    const ACTS: i64 = 15;
    const ODD: [f64; 4] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0];

    /// Random numbers, one of which is another.
    fn with(size: &[i64], odd: f64) -> Tensor {
        let tensor = randn(size);
        let _ = tensor.view([-1]).get(5).fill_(odd);
        tensor
    }

    /// Which results differ from eager's.
    fn differences(net: &Fused, options: &Freeze, (xs, rows): (&Tensor, &Tensor), what: &str) -> Vec<String> {
        let frozen = net.freeze(options).expect("a frozen model");
        let _alone = alone();
        // Of an infinity ATen's own gelu makes NaN in rows and inf where channels lie together, as kernels have them.
        let channels_last = xs.permute([0, 2, 3, 1]).contiguous().permute([0, 3, 1, 2]);
        let expected = tch::no_grad(|| net.forward(&channels_last, rows));
        let found = frozen.forward(xs, rows);
        let differs = |found: &Tensor, expected: &Tensor, of: &str| {
            let first = |tensor: &Tensor| tensor.view([-1]).narrow(0, 0, 12).to_string(120).unwrap_or_default();
            let text = || format!("{what}, {of}: frozen {} eager {}", first(found), first(expected));
            (!found.allclose(expected, 1e-5, 1e-5, true)).then(text)
        };
        let all = [
            differs(&found.0, &expected.0, "convolution"),
            differs(&found.1, &expected.1, "linear layer"),
            differs(&found.2, &expected.2, "residual of a convolution"),
            differs(&found.3, &expected.3, "residual of a linear layer"),
        ];
        all.into_iter().flatten().collect()
    }

    #[test]
    fn fused() {
        agree!(|p| Fused::new(p, 0), [(randn(&[2, 8, 5, 5]), randn(&[3, 8]))], |net, (xs, rows)| net.forward(xs, rows));
    }

    #[test]
    fn of_inputs_and_residuals() {
        let mut found = Vec::new();
        for act in 0..ACTS {
            let (_vs, net) = root(|p| Fused::new(p, act));
            for odd in ODD {
                let (xs, rows) = (with(&[2, 8, 12, 12], odd), with(&[3, 8], odd));
                let what = format!("activation {act}, {odd} in the input");
                found.extend(differences(&net, &Freeze::new().exact_nan(true), (&xs, &rows), &what));
            }
        }
        assert!(found.is_empty(), "{}", found.join("\n"));
    }

    #[test]
    fn of_weights() {
        let mut found = Vec::new();
        for act in 0..ACTS {
            for odd in ODD {
                let (_vs, net) = root(|p| Fused::new(p, act));
                tch::no_grad(|| {
                    let _ = net.conv.ws.view([-1]).get(7).fill_(odd);
                    let _ = net.fc.ws.view([-1]).get(7).fill_(odd);
                });
                let (xs, rows) = (randn(&[2, 8, 12, 12]), randn(&[3, 8]));
                let what = format!("activation {act}, {odd} in the weights");
                found.extend(differences(&net, &Freeze::new(), (&xs, &rows), &what));
            }
        }
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}
