//! `Sequential`, built in every way.

use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
pub struct Inline {
    seq: nn::Sequential,
}

impl Inline {
    pub fn new(p: &nn::Path) -> Inline {
        let hidden = 8;
        Inline {
            seq: nn::seq()
                .add(nn::linear(p / "0", 4, hidden, Default::default()))
                .add_fn(|xs| xs.relu())
                .add(nn::linear(p / "2", hidden, 3, Default::default()))
                .add_fn(|xs| xs.tanh() * 2.0),
        }
    }
}

#[traceable]
impl nn::Module for Inline {
    fn forward(&self, xs: &Tensor) -> Tensor {
        self.seq.forward(xs)
    }
}

/// Layers, one of them of the crate's own, that are made before they are added.
#[derive(Debug, Module)]
pub struct Beforehand {
    layers: nn::Sequential,
}

impl Beforehand {
    pub fn new(p: &nn::Path) -> Beforehand {
        let first = nn::linear(p / "first", 4, 8, Default::default());
        let last = nn::linear(p / "last", 8, 4, Default::default());
        let mut layers = nn::seq().add(first).add(Swish).add(last);
        for at in 0..2 {
            let inline = Inline { seq: nn::seq().add(nn::linear(p / at, 4, 4, Default::default())) };
            layers = layers.add(inline);
        }
        Beforehand { layers }
    }
}

#[derive(Debug, Module)]
pub struct Swish;

impl nn::Module for Swish {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs * xs.sigmoid()
    }
}

#[traceable(strict)]
impl Beforehand {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.layers)
    }
}

fn stage(p: nn::Path, c: i64, n: i64) -> nn::SequentialT {
    let mut stage = nn::seq_t();
    for i in 0..n {
        stage = stage.add(nn::conv2d(&p / i, c, c, 3, nn::ConvConfig { padding: 1, ..Default::default() }));
    }
    stage.add_fn(|xs| xs.relu())
}

#[derive(Debug, Module)]
pub struct Stages {
    stem: nn::SequentialT,
    stages: Vec<nn::SequentialT>,
    head: nn::SequentialT,
}

impl Stages {
    pub fn new(p: &nn::Path) -> Stages {
        let mut stem = nn::seq_t().add(nn::conv2d(p / "stem", 3, 4, 1, Default::default()));
        stem = stem.add(nn::batch_norm2d(p / "norm", 4, Default::default()));
        let stem = stem.add_fn_t(|xs, train| xs.dropout(0.5, train));
        let stages = (0..2).map(|i| stage(p / "stage" / i, 4, i + 1)).collect();
        let head = nn::seq_t().add_fn(|xs| xs.adaptive_avg_pool2d([1, 1]).flat_view()).add(nn::linear(
            p / "head",
            4,
            2,
            Default::default(),
        ));
        Stages { stem, stages, head }
    }
}

#[traceable]
impl Stages {
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        let mut xs = self.stem.forward_t(xs, train);
        for stage in &self.stages {
            xs = xs.apply_t(stage, train);
        }
        xs.apply_t(&self.head, train)
    }
}

/// An empty chain is the identity.
#[derive(Debug, Module)]
pub struct Downsample {
    conv: nn::Conv2D,
    downsample: nn::SequentialT,
}

impl Downsample {
    pub fn new(p: &nn::Path, out: i64) -> Downsample {
        let downsample =
            if out == 3 { nn::seq_t() } else { nn::seq_t().add(nn::conv2d(p / "down", 3, out, 1, Default::default())) };
        Downsample { conv: nn::conv2d(p / "conv", 3, out, 1, Default::default()), downsample }
    }
}

#[traceable]
impl nn::ModuleT for Downsample {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        (xs.apply(&self.conv) + xs.apply_t(&self.downsample, train)).relu()
    }
}

/// A module of the user's inside a chain.
#[derive(Debug, Module)]
pub struct Block {
    fc: nn::Linear,
}

impl nn::Module for Block {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs + self.fc.forward(xs).relu()
    }
}

#[derive(Debug, Module)]
pub struct Custom {
    seq: nn::Sequential,
}

impl Custom {
    pub fn new(p: &nn::Path) -> Custom {
        let block = |name: &str| Block { fc: nn::linear(p / name, 4, 4, Default::default()) };
        Custom { seq: nn::seq().add(block("a")).add(nn::relu()).add(block("b")) }
    }
}

#[traceable]
impl Custom {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let all = self.seq.forward_all(xs, None);
        self.seq.forward(xs) + &all[1]
    }
}

/// Chains behind pointers, in tuple structs, and gathered from sizes.
#[derive(Debug, Module)]
pub struct Tower(nn::Sequential);

fn tower(p: nn::Path, sizes: &[i64]) -> nn::Sequential {
    sizes.windows(2).enumerate().fold(nn::seq(), |seq, (at, pair)| {
        seq.add(nn::linear(&p / at as i64, pair[0], pair[1], Default::default())).add_fn(|xs| xs.relu())
    })
}

#[derive(Debug, Module)]
pub struct Behind {
    boxed: Box<nn::Sequential>,
    maybe: Option<Box<nn::SequentialT>>,
    tower: Tower,
}

impl Behind {
    pub fn new(p: &nn::Path, resized: bool) -> Behind {
        let maybe = nn::seq_t().add(nn::linear(p / "maybe", 4, 4, Default::default())).add_fn(|xs| xs.tanh());
        Behind {
            boxed: Box::new(tower(p / "boxed", &[4, 8, 4])),
            maybe: if resized { Some(Box::new(maybe)) } else { None },
            tower: Tower(tower(p / "tower", &[4, 4])),
        }
    }
}

#[traceable]
impl nn::ModuleT for Behind {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        let ys = self.boxed.forward(xs);
        let ys = match &self.maybe {
            Some(maybe) => maybe.forward_t(&ys, train),
            None => ys,
        };
        ys + self.tower.0.forward(xs)
    }
}

#[cfg(test)]
mod tests {
    use fx_runtime::nn::{Module as _, ModuleT as _};

    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(Custom: 7 of 14);

    #[test]
    fn inline() {
        agree!(Inline::new, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn beforehand() {
        agree!(Beforehand::new, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn stages() {
        agree!(Stages::new, [randn(&[2, 3, 4, 4]), randn(&[1, 3, 7, 5])], |net, xs| net.forward_t(xs, false));
    }

    #[test]
    fn downsample() {
        for out in [3, 5] {
            agree!(|p| Downsample::new(p, out), [randn(&[2, 3, 4, 4])], |net, xs| net.forward_t(xs, false));
        }
    }

    #[test]
    fn custom() {
        agree!(Custom::new, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn behind() {
        for resized in [true, false] {
            agree!(|p| Behind::new(p, resized), [randn(&[2, 4])], |net, xs| net.forward_t(xs, false));
        }
        let (_vs, net) = crate::check::root(|p| Behind::new(p, true));
        let frozen = net.freeze(&fx_runtime::Freeze::default()).expect("a frozen model");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("frozen.safetensors");
        frozen.save(&path).expect("no closure is kept");
    }
}
