//! Texts: names of heads and of activations, in lists, maps and parameters.

use std::collections::HashMap;

use fx_runtime::{Module, Tensor, nn, traceable};

/// Words of a list of texts, matched.
#[derive(Debug, Module)]
pub struct Words {
    fc: nn::Linear,
    name: String,
}

#[traceable]
impl Words {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let words: Vec<&str> = self.name.split('_').collect();
        let mut ys = xs.apply(&self.fc);
        for word in &words {
            match *word {
                "res" => ys = ys + xs,
                "relu" => ys = ys.relu(),
                _ => {}
            }
        }
        for word in words {
            ys = match word {
                "res" => ys.tanh(),
                _ => ys * 2.0,
            };
        }
        ys
    }
}

/// A text that an argument is, looked up in a map and told in a panic.
#[derive(Debug, Module)]
pub struct Tasks {
    heads: HashMap<String, nn::Linear>,
}

#[traceable]
impl Tasks {
    pub fn forward(&self, xs: &Tensor, task: &str) -> Tensor {
        let head = self.heads.get(task).unwrap_or_else(|| panic!("no task {task}"));
        xs.apply(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Words: 5 of 8);
    understood!(Tasks: 0 of 7);

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    #[test]
    fn words() {
        for name in ["res_relu", "relu", "x_res"] {
            let make = |p: &nn::Path| Words { fc: linear(p / "fc"), name: name.to_owned() };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn tasks() {
        let make = |p: &nn::Path| Tasks {
            heads: ["a", "b"].iter().map(|name| ((*name).to_owned(), linear(p / *name))).collect(),
        };
        agree!(make, [(randn(&[2, 4]), "a".to_owned())], |net, (xs, task)| net.forward(xs, task));
    }
}
