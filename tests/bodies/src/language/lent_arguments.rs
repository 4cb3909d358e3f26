//! Numbers, dtypes and devices that are lent, and read with a star.

use fx_runtime::{Device, Kind, Module, Tensor, nn, traceable};

fn mask(n: i64, device: &Device) -> Tensor {
    Tensor::ones([n, n], (Kind::Float, *device)).tril(0)
}

fn zeros(n: i64, options: &(Kind, Device)) -> Tensor {
    Tensor::zeros([n], *options)
}

/// Lent to helpers.
#[derive(Debug, Module)]
pub struct Lends {
    fc: nn::Linear,
}

#[traceable(strict)]
impl nn::Module for Lends {
    fn forward(&self, x: &Tensor) -> Tensor {
        let n = x.size()[0];
        let device = x.device();
        let kind = &x.kind();
        let m = mask(n, &device);
        let z = zeros(n, &(*kind, device));
        let one = |kind: &Kind| Tensor::ones([n, 1], (*kind, device));
        (m.matmul(&x.apply(&self.fc)) + z.unsqueeze(-1) + one(&Kind::Float)).to_kind(*kind)
    }
}

/// Lent by the caller, and by a field.
#[derive(Debug, Module)]
pub struct Lent {
    fc: nn::Linear,
    device: Device,
}

#[traceable(strict)]
impl Lent {
    pub fn forward(&self, x: &Tensor, device: &Device, scale: &f64, n: &i64, causal: &bool) -> Tensor {
        let m = Tensor::ones([*n, *n], (Kind::Float, *device)) + mask(*n, device) + mask(*n, &self.device);
        let own = &self.device;
        let m = m + Tensor::ones([*n, *n], (x.kind(), *own)) * *scale;
        let m = if *causal && *n > 1 { m.tril(0) } else { m };
        m.matmul(&x.apply(&self.fc)) * scale.sqrt()
    }
}

#[derive(Debug, Module)]
pub struct Masked {
    fc: nn::Linear,
}
impl Masked {
    fn step(&self, xs: &Tensor, mask: Option<&Tensor>) -> Tensor {
        let ys = xs.apply(&self.fc);
        if ys.size()[0] != xs.size()[0] {
            eprintln!("shapes {:?} {:?}", ys.size(), mask.map(|m| m.size()));
            panic!("shapes");
        }
        match mask {
            Some(m) => ys * m,
            None => ys,
        }
    }
}
#[traceable]
impl Masked {
    pub fn forward(&self, xs: &Tensor, raw: Option<&Tensor>) -> Tensor {
        let mask = raw.map(|m| if m.dim() == 2 { m.shallow_clone() } else { m.flatten(0, -1) });
        self.step(xs, mask.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, device, randn};
    use fx_runtime::nn::Module as _;

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p / "fc", 4, 4, Default::default())
    }

    #[test]
    fn lends() {
        agree!(|p| Lends { fc: linear(p) }, [randn(&[2, 4]), randn(&[5, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn lent() {
        let cases = [(randn(&[2, 4]), true), (randn(&[5, 4]), false)];
        agree!(|p| Lent { fc: linear(p), device: p.device() }, cases, |net, (xs, causal)| {
            net.forward(xs, &device(), &0.25, &xs.size()[0], causal)
        });
    }

    #[test]
    fn masked() {
        let make = |p: &nn::Path| Masked { fc: nn::linear(p, 4, 4, Default::default()) };
        let cases = [(randn(&[2, 4]), None), (randn(&[2, 4]), Some(randn(&[2, 4])))];
        agree!(make, cases, |net, (xs, mask)| net.forward(xs, mask.as_ref()));
    }
}
