//! Chains of layers that are kept in lists, arrays, options and enums, made by functions, and put into one another.

use fx_runtime::nn::Module as _;
use fx_runtime::{Module, Tensor, nn, traceable};

fn conv(p: nn::Path, i: i64, o: i64) -> nn::Conv2D {
    nn::conv2d(p, i, o, 3, nn::ConvConfig { padding: 1, ..Default::default() })
}

fn conv_bn(p: nn::Path, i: i64, o: i64) -> nn::SequentialT {
    nn::seq_t()
        .add(conv(&p / "conv", i, o))
        .add(nn::batch_norm2d(&p / "bn", o, Default::default()))
        .add_fn(|xs| xs.relu())
}

/// Chains pushed to a list.
#[derive(Debug, Module)]
pub struct Pushed {
    stages: Vec<nn::SequentialT>,
}

impl Pushed {
    fn new(p: &nn::Path, n: i64) -> Pushed {
        let mut stages = vec![];
        for i in 0..n {
            stages.push(conv_bn(p / i, 3, 3));
        }
        Pushed { stages }
    }
}

#[traceable(strict)]
impl Pushed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        for stage in &self.stages {
            ys = ys.apply_t(stage, false);
        }
        ys
    }
}

/// Chains collected, and one called by its number.
#[derive(Debug, Module)]
pub struct Collected {
    stages: Vec<nn::SequentialT>,
    lone: Vec<nn::Sequential>,
}

impl Collected {
    fn new(p: &nn::Path) -> Collected {
        let stages = (0..3).map(|i| conv_bn(p / i, 3, 3)).collect::<Vec<_>>();
        let lone = vec![nn::seq().add(conv(p / "lone", 3, 4)).add_fn(|xs| xs.tanh())];
        Collected { stages, lone }
    }
}

#[traceable(strict)]
impl Collected {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.stages.iter().fold(xs.shallow_clone(), |ys, stage| ys.apply_t(stage, false));
        self.lone[0].forward(&ys)
    }
}

/// An array of chains.
#[derive(Debug, Module)]
pub struct Arrayed {
    branches: [nn::Sequential; 2],
}

impl Arrayed {
    fn new(p: &nn::Path) -> Arrayed {
        let branch = |p: nn::Path| nn::seq().add(nn::linear(&p / 0, 4, 8, Default::default())).add_fn(|xs| xs.relu());
        Arrayed { branches: [branch(p / "a"), branch(p / "b")] }
    }
}

#[traceable(strict)]
impl Arrayed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys: Vec<Tensor> = self.branches.iter().map(|branch| xs.apply(branch)).collect();
        Tensor::cat(&ys, -1)
    }
}

/// The same in a struct without names.
#[derive(Debug, Module)]
pub struct Heads([nn::Sequential; 3]);

#[derive(Debug, Module)]
pub struct Ensemble {
    core: nn::Linear,
    heads: Heads,
}

fn head(p: nn::Path) -> nn::Sequential {
    nn::seq().add(nn::linear(&p / "fc", 8, 1, Default::default())).add_fn(Tensor::tanh)
}

impl Ensemble {
    fn new(p: &nn::Path) -> Ensemble {
        let core = nn::linear(p / "core", 4, 8, Default::default());
        Ensemble { core, heads: Heads(std::array::from_fn(|at| head(p / format!("head{at}")))) }
    }
}

#[traceable(strict)]
impl Ensemble {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let core = xs.apply(&self.core);
        let ys = self.heads.0.iter().map(|head| head.forward(&core)).collect::<Vec<_>>();
        Tensor::cat(&ys, -1) + self.heads.0[1].forward(&core)
    }
}

/// Functions that yield functions' chains, and chains of chains.
#[derive(Debug, Module)]
pub struct Nested {
    net: nn::SequentialT,
}

fn block(p: nn::Path, c: i64, n: i64) -> nn::SequentialT {
    let mut seq = nn::seq_t();
    for i in 0..n {
        seq = seq.add(conv_bn(&p / i, c, c));
    }
    seq
}

impl Nested {
    fn new(p: &nn::Path) -> Nested {
        let stem = nn::seq_t().add(conv_bn(p / "stem", 3, 4)).add(nn::func_t(|xs, train| xs.dropout(0.5, train)));
        let head = nn::seq().add(nn::func(|xs| xs.mean_dim([2, 3].as_slice(), false, None))).add(nn::linear(
            p / "fc",
            4,
            2,
            Default::default(),
        ));
        Nested { net: nn::seq_t().add(stem).add(block(p / "body", 4, 2)).add(head) }
    }
}

#[traceable(strict)]
impl Nested {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply_t(&self.net, false)
    }
}

/// A chain that holds blocks, each of which holds a chain.
#[derive(Debug, Module)]
pub struct Residual {
    body: nn::SequentialT,
}

impl Residual {
    fn new(p: nn::Path, c: i64) -> Residual {
        Residual { body: nn::seq_t().add(conv_bn(&p / 0, c, c)).add(conv(&p / 1, c, c)) }
    }
}

impl nn::ModuleT for Residual {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        (xs + xs.apply_t(&self.body, train)).relu()
    }
}

#[derive(Debug, Module)]
pub struct Blocks {
    layers: Vec<nn::SequentialT>,
}

impl Blocks {
    fn make_layer(p: nn::Path, c: i64, n: i64) -> nn::SequentialT {
        let mut layer = nn::seq_t();
        for i in 0..n {
            layer = layer.add(Residual::new(&p / i, c));
        }
        layer
    }

    fn new(p: &nn::Path) -> Blocks {
        Blocks { layers: [1, 2].iter().enumerate().map(|(i, &n)| Self::make_layer(p / i as i64, 3, n)).collect() }
    }
}

#[traceable(strict)]
impl Blocks {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        for layer in self.layers.iter() {
            ys = ys.apply_t(layer, false);
        }
        ys
    }
}

/// A chain that may hold modules of the type that holds the chain.
#[derive(Debug, Module)]
pub struct Tree {
    fc: nn::Linear,
    below: nn::Sequential,
}

impl Tree {
    fn new(p: nn::Path, depth: i64) -> Tree {
        let fc = nn::linear(&p / "fc", 4, 4, Default::default());
        let mut below = nn::seq();
        if depth > 0 {
            below = below.add(Tree::new(&p / "below", depth - 1));
        }
        Tree { fc, below }
    }
}

#[traceable]
impl nn::Module for Tree {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.fc).relu().apply(&self.below)
    }
}

/// Chains in the variants of an enum.
#[derive(Debug, Module)]
pub enum Head {
    Plain(nn::Linear),
    Deep(nn::Sequential),
    Wide { a: nn::Sequential, b: nn::Linear },
}

impl Head {
    fn new(p: nn::Path, depth: usize) -> Head {
        let linear = |name: &str| nn::linear(&p / name, 4, 4, Default::default());
        match depth {
            0 => Head::Plain(linear("fc")),
            1 => Head::Deep(nn::seq().add(linear("0")).add_fn(|xs| xs.relu()).add(linear("2"))),
            _ => Head::Wide { a: nn::seq().add(linear("a")).add_fn(|xs| xs.gelu("none")), b: linear("b") },
        }
    }
}

impl nn::Module for Head {
    fn forward(&self, xs: &Tensor) -> Tensor {
        match self {
            Head::Plain(fc) => fc.forward(xs),
            Head::Deep(seq) => seq.forward(xs),
            Head::Wide { a, b } => a.forward(xs) + b.forward(xs),
        }
    }
}

#[derive(Debug, Module)]
pub struct Headed {
    head: Head,
}

#[traceable(strict)]
impl Headed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.head.forward(xs).relu()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Tree: 2 of 3);

    #[test]
    fn pushed() {
        agree!(|p| Pushed::new(p, 2), [randn(&[2, 3, 4, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn collected() {
        agree!(Collected::new, [randn(&[2, 3, 4, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn arrayed() {
        agree!(Arrayed::new, [randn(&[2, 4])], |net, xs| net.forward(xs));
        agree!(Ensemble::new, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn nested() {
        agree!(Nested::new, [randn(&[2, 3, 4, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn blocks() {
        agree!(Blocks::new, [randn(&[2, 3, 4, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn tree() {
        for depth in [0, 2] {
            agree!(|p: &nn::Path| Tree::new(p / "tree", depth), [randn(&[2, 4])], |net, xs| nn::Module::forward(
                net, xs
            ));
        }
    }

    #[test]
    fn headed() {
        for depth in 0..3 {
            agree!(|p: &nn::Path| Headed { head: Head::new(p / "head", depth) }, [randn(&[2, 4])], |net, xs| net
                .forward(xs));
        }
    }
}
