//! Layers behind pointers, and in lists of other kinds than `Vec`.

use std::{collections::VecDeque, rc::Rc, sync::Arc};

use fx_runtime::{Module, Tensor, nn, traceable};

/// Layers for which no kernel is packed, behind every kind of pointer.
#[derive(Debug, Module)]
pub struct Shared<'a> {
    table: Rc<nn::Embedding>,
    boxed: Box<nn::Embedding>,
    tables: Vec<Arc<nn::Embedding>>,
    norm: Option<Box<nn::LayerNorm>>,
    fc: &'a nn::Linear,
    last: &'a nn::LayerNorm,
}

#[traceable]
impl<'a> Shared<'a> {
    pub fn forward(&self, ids: &Tensor) -> Tensor {
        let mut xs = self.table.forward(ids) + self.boxed.forward(ids);
        for table in &self.tables {
            xs = xs + table.forward(ids);
        }
        let xs = match &self.norm {
            Some(norm) => self.fc.forward(&norm.forward(&xs)),
            None => self.fc.forward(&xs),
        };
        self.last.forward(&xs)
    }
}

/// Lists of layers that code which is carried along reads as they are.
#[derive(Debug, Module)]
pub struct Lists {
    array: [nn::Linear; 2],
    #[module(skip)]
    queue: VecDeque<f64>,
    vec: Vec<nn::Linear>,
}

#[traceable]
impl Lists {
    pub fn forward(&self, xs: &Tensor, name: &str) -> Tensor {
        let wide = |fc: &&nn::Linear| fc.ws.size()[0] > name.len() as i64;
        let ys = self.array.iter().filter(wide).map(|fc| fc.forward(xs)).sum::<Tensor>();
        let zs = self.vec.iter().filter(wide).map(|fc| fc.forward(xs)).sum::<Tensor>();
        ys + zs * self.queue.iter().sum::<f64>()
    }
}

/// An activation, which models hold behind pointers.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    Relu,
    Scaled(f64),
}

impl Act {
    fn apply(&self, xs: &Tensor) -> Tensor {
        match self {
            Act::Relu => xs.relu(),
            Act::Scaled(by) => xs * *by,
        }
    }
}

/// Enums behind pointers, asked by a method of theirs and by the forward.
#[derive(Debug, Module)]
pub struct Chosen {
    first: Box<Act>,
    last: Option<Arc<Act>>,
}

#[traceable(strict)]
impl Chosen {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let xs = self.first.apply(xs) * 1.5;
        let xs = match *self.first {
            Act::Relu => xs + 1.0,
            Act::Scaled(by) => xs * (by + 2.0),
        };
        match &self.last {
            Some(act) => act.apply(&xs),
            None => xs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, not_interpreted, randn};
    use fx_runtime::Kind;

    not_interpreted!(Lists: "two numbers of one type");

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    #[test]
    fn shared() {
        let (_vs, (fc, last)) =
            crate::check::root(|p| (linear(p / "fc"), nn::layer_norm(p / "last", vec![4], Default::default())));
        for full in [true, false] {
            let table = |p: nn::Path| nn::embedding(p, 6, 4, Default::default());
            let make = |p: &nn::Path| Shared {
                table: Rc::new(table(p / 0)),
                boxed: Box::new(table(p / 1)),
                tables: vec![Arc::new(table(p / 2)), Arc::new(table(p / 3))],
                norm: full.then(|| Box::new(nn::layer_norm(p / "norm", vec![4], Default::default()))),
                fc: &fc,
                last: &last,
            };
            agree!(make, [Tensor::from_slice(&[1i64, 5, 0]).to_kind(Kind::Int64)], |net, ids| net.forward(ids));
        }
    }

    #[test]
    fn chosen() {
        for (first, last) in
            [(Act::Relu, None), (Act::Scaled(0.5), Some(Act::Relu)), (Act::Relu, Some(Act::Scaled(3.0)))]
        {
            let make = |_: &nn::Path| Chosen { first: Box::new(first), last: last.map(Arc::new) };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn lists() {
        let make = |p: &nn::Path| Lists {
            array: [linear(p / 0), linear(p / 1)],
            queue: VecDeque::from([0.5, 1.0]),
            vec: vec![linear(p / 2)],
        };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs, "abc"));
    }
}
