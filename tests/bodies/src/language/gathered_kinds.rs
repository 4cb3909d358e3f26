//! What `collect` gathers where it is no `Vec`, and where the code around it asks for something else.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fx_runtime::{Module, Tensor, nn, traceable};

/// Sets, maps and queues that functions, fields, arguments and variables say.
pub struct Kinds {
    outs: Vec<Tensor>,
    kinds: BTreeSet<i64>,
}

fn size(kinds: BTreeSet<i64>) -> i64 {
    kinds.len() as i64
}

#[derive(Debug, Module)]
pub struct OtherKinds {
    layers: Vec<nn::Linear>,
    #[module(skip)]
    numbers: Vec<i64>,
}

impl OtherKinds {
    fn kinds(&self) -> BTreeSet<i64> {
        self.numbers.iter().map(|k| k % 2).collect()
    }

    fn both(&self, xs: &Tensor) -> (Vec<Tensor>, BTreeSet<i64>) {
        (self.layers.iter().map(|layer| xs.apply(layer)).collect(), self.numbers.iter().map(|k| k % 2).collect())
    }

    fn nested(&self) -> Vec<BTreeSet<i64>> {
        (0..2i64).map(|k| self.numbers.iter().map(|n| (n + k) % 2).collect()).collect()
    }
}

#[traceable(entry = ["of_functions", "of_places", "of_variables"])]
impl OtherKinds {
    pub fn of_functions(&self, xs: &Tensor) -> Tensor {
        let kinds = self.kinds();
        let (outs, both) = self.both(xs);
        &outs[0] * (kinds.len() + 10 * both.len()) as i64 + self.nested()[1].len() as i64
    }

    pub fn of_places(&self, xs: &Tensor) -> Tensor {
        let n = size(self.numbers.iter().map(|k| k % 2).collect());
        let kinds = Kinds {
            outs: self.layers.iter().map(|layer| xs.apply(layer)).collect(),
            kinds: self.numbers.iter().map(|k| k % 2).collect(),
        };
        &kinds.outs[0] * (10 * kinds.kinds.len() as i64 + n)
    }

    pub fn of_variables(&self, xs: &Tensor) -> Tensor {
        let mut queue: VecDeque<i64> = (0..xs.size()[0]).map(|k| k + 2).collect();
        let first = queue.pop_front().unwrap();
        let nested: Vec<BTreeSet<i64>> = vec![self.numbers.iter().map(|k| k % 2).collect()];
        let map = self.numbers.iter().map(|k| (k % 2, vec![*k])).collect::<BTreeMap<i64, Vec<i64>>>();
        xs * first + (nested[0].len() + 10 * map.len()) as i64
    }
}

/// A `Vec` in a function whose caller asks for something else.
#[derive(Debug, Module)]
pub struct ListsWithin {
    layers: Vec<nn::Linear>,
}

impl ListsWithin {
    fn outs(&self, xs: &Tensor) -> Vec<Tensor> {
        self.layers.iter().map(|layer| xs.apply(layer)).collect()
    }
}

#[traceable(strict)]
impl ListsWithin {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys: Tensor = Tensor::cat(&self.outs(xs), 0);
        ys.relu()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(OtherKinds: 1 of 48);

    fn linears(p: &nn::Path) -> Vec<nn::Linear> {
        (0..2).map(|at| nn::linear(p / at, 4, 4, Default::default())).collect()
    }

    #[test]
    fn other_kinds() {
        let make = |p: &nn::Path| OtherKinds { layers: linears(p), numbers: vec![1, 3, 5] };
        agree!(make, [randn(&[2, 4])], |net, xs| net.of_functions(xs));
        agree!(make, [randn(&[2, 4])], |net, xs| net.of_places(xs));
        agree!(make, [randn(&[2, 4])], |net, xs| net.of_variables(xs));
    }

    #[test]
    fn lists_within() {
        agree!(|p: &nn::Path| ListsWithin { layers: linears(p) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }
}
