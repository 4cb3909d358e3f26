//! Layers in maps, under their names.

use std::collections::{BTreeMap, HashMap};

use fx_runtime::{Module, Tensor, nn, traceable};

/// In the order that a list gives.
#[derive(Debug, Module)]
pub struct Ordered {
    heads: BTreeMap<String, nn::Linear>,
    order: Vec<String>,
}

#[traceable]
impl Ordered {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        for name in &self.order {
            if let Some(head) = self.heads.get(name) {
                ys = ys.apply(head).relu();
            }
        }
        ys
    }
}

/// By literals.
#[derive(Debug, Module)]
pub struct Named {
    layers: HashMap<&'static str, nn::Linear>,
}

#[traceable]
impl Named {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs.apply(&self.layers["a"]).relu();
        ys.apply(&self.layers["b"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Ordered: 0 of 7);
    understood!(Named: 1 of 5);

    fn linear(p: &nn::Path, name: &str) -> nn::Linear {
        nn::linear(p / name, 4, 4, Default::default())
    }

    #[test]
    fn ordered() {
        let heads = |p: &nn::Path| ["a", "b", "c"].map(|name| (name.to_owned(), linear(p, name))).into();
        let order = || ["b", "a", "d"].map(str::to_owned).into();
        agree!(|p| Ordered { heads: heads(p), order: order() }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn named() {
        let layers = |p: &nn::Path| ["a", "b"].map(|name| (name, linear(p, name))).into();
        agree!(|p| Named { layers: layers(p) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }
}
