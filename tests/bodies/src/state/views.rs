//! Fields that one entry writes to through a view, a second handle or a function, and that another one reads.

use fx_runtime::{IndexOp, Module, Tensor, nn, traceable};

/// A ring buffer, of which each call writes a part.
#[derive(Debug, Module)]
pub struct Ring {
    fc: nn::Linear,
    ring: Tensor,
    sums: Tensor,
    last: Tensor,
}

fn write(to: &Tensor, xs: &Tensor) {
    let mut row = to.select(0, 1);
    row += xs.select(0, 0);
}

#[traceable(entry = ["push", "read"])]
impl Ring {
    pub fn push(&mut self, xs: &Tensor) -> Tensor {
        let _ = self.ring.narrow(1, 0, 3).copy_(&xs.narrow(1, 0, 3));
        write(&self.sums, xs);
        let _ = self.last.shallow_clone().i((.., 1..)).copy_(&xs.i((.., ..3)));
        self.ring.apply(&self.fc)
    }

    pub fn read(&self) -> Tensor {
        &self.ring * 2 + &self.sums + &self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::*;

    #[test]
    fn entries_see_what_others_write_by_views() {
        let make = |p: &nn::Path| {
            let held = |name: &str| p.randn(name, &[2, 4], 0.0, 1.0).set_requires_grad(false);
            let fc = nn::linear(p / "fc", 4, 4, nn::LinearConfig::default());
            Ring { fc, ring: held("ring"), sums: held("sums"), last: held("last") }
        };
        let (_vs, mut net) = root(make);
        let mut frozen = net.freeze(&fx_runtime::Freeze::default()).unwrap();
        for _ in 0..3 {
            let xs = randn(&[2, 4]);
            let eager = fx_runtime::tch::no_grad(|| net.push(&xs));
            frozen.push(&xs).close(&eager);
            frozen.read().close(&fx_runtime::tch::no_grad(|| net.read()));
        }
    }
}
