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

/// Given in a struct that borrows them, of which code that is not understood reads a part.
#[derive(Debug, Module)]
pub struct Tables {
    tables: Vec<nn::Embedding>,
}

pub struct Rows<'a> {
    rows: &'a [Tensor],
    name: &'a str,
}

#[traceable]
impl Tables {
    pub fn forward(&self, given: &Rows<'_>) -> Result<Tensor, String> {
        if given.rows.len() != self.tables.len() {
            return Err(format!("{}: {} lists for {}", given.name, given.rows.len(), self.tables.len()));
        }
        let doublings = std::iter::successors(Some(1), |at| (at * 2 < given.rows.len()).then_some(at * 2)).count();
        let each = self.tables.iter().zip(given.rows.iter()).map(|(table, rows)| rows.apply(table));
        Ok(Tensor::cat(&each.collect::<Vec<Tensor>>(), 0) * doublings as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, device, randn, understood};
    use fx_runtime::nn::Module as _;

    understood!(Tables: 3 of 11);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p / "fc", 4, 4, Default::default())
    }

    #[test]
    fn given_by_a_struct_of_references() {
        let make = |p: &nn::Path| Tables {
            tables: (0..3).map(|at| nn::embedding(p / at, 5, 4, Default::default())).collect(),
        };
        let rows = |lists: i64| (0..lists).map(|at| Tensor::from_slice(&[at, 4 - at])).collect::<Vec<Tensor>>();
        agree!(make, [rows(3), rows(2)], |net, rows| {
            net.forward(&Rows { rows, name: "rows" })
                .map_err(|error| error.to_string().len())
                .unwrap_or(Tensor::from(0))
        });
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
