//! Maps of tensors that a forward by `&mut self` keeps from call to call: keys and values by layer.

use std::collections::{BTreeMap, HashMap};

use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// Each layer takes its keys and values out and puts longer ones in.
#[derive(Debug, Module)]
pub struct ByLayer {
    layers: Vec<nn::Linear>,
    #[module(skip)]
    cache: HashMap<usize, (Tensor, Tensor)>,
}

#[traceable]
impl ByLayer {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        for at in 0..self.layers.len() {
            let zs = ys.apply(&self.layers[at]);
            let (keys, values) = match self.cache.remove(&at) {
                Some((keys, values)) => {
                    (Tensor::cat(&[keys, zs.shallow_clone()], 0), Tensor::cat(&[values, zs.relu()], 0))
                }
                None => (zs.shallow_clone(), zs.relu()),
            };
            ys = zs.matmul(&keys.tr()).softmax(-1, Kind::Float).matmul(&values);
            self.cache.insert(at, (keys, values));
        }
        ys
    }
}

/// The sum of what came before, by the number of rows.
#[derive(Debug, Module)]
pub struct ByRows {
    layer: nn::Linear,
    #[module(skip)]
    sums: BTreeMap<i64, Vec<Tensor>>,
}

#[traceable]
impl ByRows {
    pub fn forward(&mut self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.layer);
        let before: Tensor = self.sums.get(&xs.size()[0]).map_or(ys.zeros_like(), |all| all.iter().sum());
        self.sums.insert(xs.size()[0], vec![ys.shallow_clone(), before.shallow_clone()]);
        ys + before * 0.5
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{in_a_row, randn, understood};

    understood!(ByLayer: 5 of 14);
    understood!(ByRows: 4 of 8);

    #[test]
    fn by_layer() {
        let make = |p: &nn::Path| ByLayer {
            layers: (0..2).map(|at| nn::linear(p / at, 4, 4, Default::default())).collect(),
            cache: HashMap::new(),
        };
        in_a_row!(make, vec![randn(&[2, 4]), randn(&[1, 4]), randn(&[3, 4])]);
    }

    #[test]
    fn begun_before_it_is_frozen() {
        let make = |p: &nn::Path| ByLayer {
            layers: (0..2).map(|at| nn::linear(p / at, 4, 4, Default::default())).collect(),
            cache: HashMap::from([(1, (randn(&[2, 4]), randn(&[2, 4])))]),
        };
        in_a_row!(make, vec![randn(&[2, 4]), randn(&[1, 4])]);
    }

    #[test]
    fn by_rows() {
        let make =
            |p: &nn::Path| ByRows { layer: nn::linear(p / "l", 4, 4, Default::default()), sums: BTreeMap::new() };
        in_a_row!(make, vec![randn(&[2, 4]), randn(&[1, 4]), randn(&[2, 4]), randn(&[2, 4])]);
    }
}
