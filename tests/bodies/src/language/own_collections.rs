//! Lists of the crate's own, which `collect` makes, and which loops go over.

use fx_runtime::{Module, Tensor, nn, traceable};

/// A list of the crate's own, with what makes one of tensors.
pub struct Sequence(Vec<Tensor>);

impl FromIterator<Tensor> for Sequence {
    fn from_iter<I: IntoIterator<Item = Tensor>>(items: I) -> Self {
        Sequence(items.into_iter().collect())
    }
}

/// The same, with something done to each of them.
pub struct Rectified(Vec<Tensor>);

impl FromIterator<Tensor> for Rectified {
    fn from_iter<I: IntoIterator<Item = Tensor>>(items: I) -> Self {
        let mut all = Vec::new();
        for item in items {
            all.push(item.relu());
        }
        Rectified(all)
    }
}

#[derive(Debug, Module)]
pub struct OwnCollections {
    layers: Vec<nn::Linear>,
}

#[traceable(strict)]
impl OwnCollections {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let outs: Sequence = self.layers.iter().map(|layer| xs.apply(layer)).collect();
        let rows = xs.unbind(0).into_iter().collect::<Rectified>();
        &outs.0[0] + &outs.0[1] * &rows.0[0]
    }
}

/// Numbers that deref to their list.
pub struct Steps(Vec<i64>);

impl std::ops::Deref for Steps {
    type Target = Vec<i64>;

    fn deref(&self) -> &Vec<i64> {
        &self.0
    }
}

/// A list of the crate's own, written out and gone over.
#[derive(Debug, Module)]
pub struct OwnSteps {
    fc: nn::Linear,
}

#[traceable]
impl OwnSteps {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.apply(&self.fc);
        let steps = Steps(vec![1, 2, 5]);
        for step in steps.iter() {
            ys = ys * 2 + *step;
        }
        ys * steps.len() as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(OwnSteps: 2 of 5);

    fn linears(p: &nn::Path) -> Vec<nn::Linear> {
        (0..2).map(|at| nn::linear(p / at, 4, 4, Default::default())).collect()
    }

    #[test]
    fn own_collections() {
        agree!(|p: &nn::Path| OwnCollections { layers: linears(p) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn own_steps() {
        let make = |p: &nn::Path| OwnSteps { fc: nn::linear(p, 4, 4, Default::default()) };
        agree!(make, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
    }
}
