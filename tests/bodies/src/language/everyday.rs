//! Small forms that forwards are full of: arrays that are mapped, ranges in variables, options that take each other's place,
//! `?` on an option, names beside layers.

use fx_runtime::{IndexOp, Kind, Module, Tensor, nn, traceable};

/// Projections in one breath, by a closure of the place and by one that a variable holds.
#[derive(Debug, Module)]
pub struct Mapped {
    q: nn::Linear,
    k: nn::Linear,
    v: nn::Linear,
    #[module(skip)]
    heads: i64,
}

#[traceable(strict)]
impl Mapped {
    pub fn forward(&self, xs: &Tensor, memory: Option<&Tensor>) -> Tensor {
        let (b, t, d) = xs.size3().unwrap();
        let source = memory.unwrap_or(xs);
        let split = |ys: Tensor| ys.view([b, -1, self.heads, d / self.heads]).transpose(1, 2);
        let [k, v] = [&self.k, &self.v].map(|layer| split(source.apply(layer)));
        let q = split(xs.apply(&self.q));
        let [q, k] = [q, k].map(|ys| ys * 0.5);
        let [k, v] = [k, v].map(|ys| ys.tanh());
        let mut shift = 0.0;
        let [_, q] = [q.shallow_clone(), q].map(|ys| {
            shift += 1.0;
            ys + shift
        });
        let scores = q.matmul(&k.transpose(-2, -1)).softmax(-1, Kind::Float);
        scores.matmul(&v).transpose(1, 2).reshape([b, t, d])
    }
}

/// Rows of a table by a range that two lookups share.
#[derive(Debug, Module)]
pub struct Ranged {
    cos: Tensor,
    sin: Tensor,
}

#[traceable(strict)]
impl Ranged {
    pub fn forward(&self, xs: &Tensor, offset: usize) -> Tensor {
        let t = xs.size()[0];
        let mut at = offset as i64;
        let range = at..at + t;
        at += 1;
        let (cos, sin) = (self.cos.i(range.clone()), self.sin.i((range, ..)));
        let half = xs.size()[1] / 2;
        let first = ..half;
        let rest = half..;
        let turned = Tensor::cat(&[-xs.i((.., rest)), xs.i((.., first))], 1);
        (xs * cos + turned * sin) * at
    }
}

/// A bias that is handed in or looked up, where there is a table.
#[derive(Debug, Module)]
pub struct Biased {
    table: Option<nn::Embedding>,
    fc: nn::Linear,
    #[module(skip)]
    depth: Option<i64>,
}

#[traceable(strict)]
impl Biased {
    fn bias(&self, t: i64) -> Option<Tensor> {
        let table = self.table.as_ref()?;
        let at = Tensor::arange(t, (Kind::Int64, table.ws.device()));
        Some(at.apply(table))
    }

    pub fn forward(&self, xs: &Tensor, bias: Option<Tensor>, last: Option<Tensor>) -> Tensor {
        let mut ys = xs.apply(&self.fc);
        let bias = bias.or_else(|| self.bias(xs.size()[0]));
        if let Some(bias) = &bias {
            ys += bias;
        }
        if self.depth != Some(0) {
            ys = ys.relu();
        }
        if self.depth == None || Some(2) == self.depth {
            ys = ys * 2.0;
        }
        if self.depth.is_some_and(|depth| depth > 1) {
            ys = ys + 1.0;
        }
        if self.depth.is_none_or(|depth| depth > 1) {
            ys = ys - 3.0;
        }
        match last.or(bias) {
            Some(last) => ys * last,
            None => ys,
        }
    }
}

/// Layers with names, read by code that is not understood.
#[derive(Debug, Module)]
pub struct Named {
    heads: Vec<(String, nn::Linear)>,
}

#[cfg(test)]
crate::check::understood!(Named: 1 of 9);
#[traceable]
impl Named {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut all = std::collections::BTreeMap::new();
        for (name, head) in &self.heads {
            all.insert(name.clone(), xs.apply(head));
        }
        let logits: Vec<&Tensor> = all.values().collect();
        Tensor::cat(&logits, 1)
    }
}

/// Every second layer, every second number, options that are kept on a condition.
#[derive(Debug, Module)]
pub struct Stepped {
    layers: Vec<nn::Linear>,
    width: i64,
}

#[traceable(strict)]
impl Stepped {
    pub fn forward(&self, xs: &Tensor, mask: Option<&Tensor>, list: &[Tensor]) -> Tensor {
        let mut y = xs.shallow_clone();
        for (at, layer) in self.layers.iter().enumerate().step_by(2) {
            y = y.apply(layer) + at as i64;
        }
        for layer in self.layers.iter().skip(1).step_by(2) {
            y = y.apply(layer);
        }
        let frequencies: Vec<f32> =
            (0..self.width).step_by(2).map(|i| 1f32 / 100f32.powf(i as f32 / self.width as f32)).collect();
        let y = y * Tensor::from_slice(&frequencies).sum(Kind::Float);
        let y = list.iter().step_by(2).fold(y, |sum, one| sum + one);
        let deep: Vec<Tensor> =
            list.iter().filter_map(|one| if one.dim() > 1 { Some(one * &y) } else { None }).collect();
        let y = y + Tensor::stack(&deep, 0).sum_dim_intlist([0i64].as_slice(), false, Kind::Float);
        match mask.filter(|mask| mask.dim() > 1).map(|mask| mask + xs) {
            Some(mask) => y * mask,
            None => y,
        }
    }
}

/// Lists that grow by what chains yield.
#[derive(Debug, Module)]
pub struct Extended {
    heads: Vec<nn::Linear>,
    more: Vec<i64>,
}

#[traceable(strict)]
impl Extended {
    pub fn forward(&self, xs: &Tensor, others: &[Tensor]) -> Tensor {
        let mut all = vec![xs.shallow_clone()];
        all.extend(others.iter().map(|one| one.shallow_clone()));
        all.extend(self.heads.iter().map(|head| xs.apply(head)));
        let mut sizes = xs.size();
        sizes.extend(self.more.iter().map(|size| size + 1));
        sizes.extend((0..2).map(|at| at * 2));
        Tensor::cat(&all, 0) * sizes.iter().skip(1).sum::<i64>() + all.len() as i64
    }
}

/// Opaque code that names one input by two names, and is of the type that is written.
#[derive(Debug, Module)]
pub struct NamedTwice {
    fc: nn::Linear,
}

#[cfg(test)]
crate::check::understood!(NamedTwice: 1 of 4);
#[traceable]
impl NamedTwice {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs;
        let sum: Option<Tensor> = Some(xs).xor(None).map(|one| one + ys);
        sum.unwrap_or_else(|| xs.shallow_clone()).apply(&self.fc)
    }
}

/// What an activation is called in a configuration, and the ends of a list of layers.
#[derive(Debug, Module)]
pub struct Worded {
    layers: Vec<nn::Linear>,
    act: String,
    #[module(skip)]
    mode: &'static str,
}

#[traceable(strict)]
impl Worded {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let first = self.layers.iter().next().unwrap();
        let ys = match self.act.as_str() {
            "relu" => xs.apply(first).relu(),
            "gelu" | "gelu_new" => xs.apply(first).gelu("none"),
            other => panic!("no activation is called {other}"),
        };
        let ys = if self.act.starts_with("gelu") && !self.act.is_empty() { ys * 2 } else { ys };
        let ys = if self.act == "gelu" || self.mode != "plain" { ys + 1 } else { ys };
        let last = self.layers.iter().rev().next().unwrap();
        let also = self.layers.iter().next_back().unwrap();
        ys.apply(last) + ys.apply(also) * self.act.len() as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn};

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    #[test]
    fn mapped() {
        let make = |p: &nn::Path| Mapped { q: linear(p / "q"), k: linear(p / "k"), v: linear(p / "v"), heads: 2 };
        let cases = [(randn(&[2, 3, 4]), None), (randn(&[2, 3, 4]), Some(randn(&[2, 5, 4])))];
        agree!(make, cases, |net, (xs, memory)| net.forward(xs, memory.as_ref()));
    }

    #[test]
    fn ranged() {
        let make =
            |p: &nn::Path| Ranged { cos: p.randn("cos", &[8, 4], 0.0, 1.0), sin: p.randn("sin", &[8, 4], 0.0, 1.0) };
        agree!(make, [(randn(&[3, 4]), 0), (randn(&[2, 4]), 5)], |net, (xs, offset)| net.forward(xs, *offset));
    }

    #[test]
    fn biased() {
        for (has_table, depth) in [(true, None), (true, Some(0)), (false, Some(1)), (false, Some(2))] {
            let make = |p: &nn::Path| Biased {
                table: has_table.then(|| nn::embedding(p / "table", 5, 4, Default::default())),
                fc: linear(p / "fc"),
                depth,
            };
            let some = || Some(randn(&[3, 4]));
            let cases = [(some(), some()), (some(), None), (None, some()), (None, None)];
            let cases = cases.map(|(bias, last)| (randn(&[3, 4]), bias, last));
            let copy = |of: &Option<Tensor>| of.as_ref().map(Tensor::copy);
            agree!(make, cases, |net, (xs, bias, last)| net.forward(xs, copy(bias), copy(last)));
        }
    }

    #[test]
    fn named() {
        let make = |p: &nn::Path| Named {
            heads: ["b", "a"].iter().map(|name| ((*name).to_owned(), linear(p / *name))).collect(),
        };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn stepped() {
        let make = |p: &nn::Path| Stepped { layers: (0..5).map(|at| linear(p / at)).collect(), width: 6 };
        let list = || -> Vec<Tensor> { (0..5).map(|_| randn(&[4, 4])).collect() };
        let cases = [None, Some(randn(&[4, 4])), Some(randn(&[4]))].map(|mask| (randn(&[4, 4]), mask, list()));
        agree!(make, cases, |net, (xs, mask, list)| net.forward(xs, mask.as_ref(), list));
    }

    #[test]
    fn named_twice() {
        agree!(|p: &nn::Path| NamedTwice { fc: linear(p / "fc") }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn extended() {
        let make = |p: &nn::Path| Extended { heads: (0..2).map(|at| linear(p / at)).collect(), more: vec![3, 4] };
        let cases =
            [0, 1, 3].map(|count| (randn(&[2, 4]), (0..count).map(|_| randn(&[2, 4])).collect::<Vec<Tensor>>()));
        agree!(make, cases, |net, (xs, others)| net.forward(xs, others));
    }

    #[test]
    fn worded() {
        for (act, mode) in [("relu", "plain"), ("gelu", "plain"), ("gelu_new", "other")] {
            let make = |p: &nn::Path| Worded {
                layers: (0..3).map(|at| nn::linear(p / at, 4, 4, Default::default())).collect(),
                act: act.to_owned(),
                mode,
            };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
        let make = |p: &nn::Path| Worded {
            layers: (0..1).map(|at| nn::linear(p / at, 4, 4, Default::default())).collect(),
            act: "swish".to_owned(),
            mode: "plain",
        };
        let (_vs, net) = crate::check::root(make);
        let frozen = net.freeze(&fx_runtime::Freeze::default()).expect("it is asked when it is called");
        let said = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| frozen.forward(&randn(&[2, 4]))));
        let said = said.expect_err("the same panic");
        assert_eq!(said.downcast_ref::<String>().map(String::as_str), Some("no activation is called swish"));
    }
}
