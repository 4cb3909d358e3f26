//! Tuple structs that the forward makes, takes apart and writes to.

use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Debug)]
pub struct Hidden(pub Tensor);

#[derive(Debug)]
pub struct Counted(Tensor, i64, Option<Tensor>);

impl Hidden {
    fn of(xs: &Tensor) -> Self {
        Self(xs.relu())
    }

    fn twice(&self) -> Tensor {
        &self.0 * 2
    }
}

impl Counted {
    fn add(&mut self, xs: &Tensor) {
        self.0 = &self.0 + xs;
        self.1 += 1;
    }
}

#[derive(Debug, Module)]
pub struct Net {
    fc: nn::Linear,
}

impl Net {
    fn encode(&self, xs: &Tensor) -> Counted {
        let ys = self.fc.forward(xs);
        if xs.size()[0] > 2 { Counted(ys, 3, None) } else { Counted(ys.neg(), 1, None) }
    }
}

#[traceable]
impl Net {
    pub fn forward(&self, xs: &Tensor) -> (Tensor, Tensor, i64) {
        let hidden = Hidden::of(&self.fc.forward(xs));
        let Hidden(inner) = &hidden;
        let ys = inner + hidden.twice() + hidden.0.tanh();
        let mut counted = self.encode(xs);
        for _ in 0..2 {
            counted.add(&ys);
            counted.2 = Some(counted.0.relu());
        }
        let Counted(zs, n, last) = counted;
        let zs = match last {
            Some(last) => zs + last,
            None => zs,
        };
        (ys, zs, n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    #[test]
    fn tuple_structs() {
        let make = |p: &nn::Path| Net { fc: nn::linear(p / "fc", 4, 4, Default::default()) };
        agree!(make, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
    }
}
