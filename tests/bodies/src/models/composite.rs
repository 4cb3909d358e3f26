//! How models are put together: by closures, trait objects, generics, enums, options of all kinds.

use fx_runtime::{IndexOp, Kind, Module, Tensor, fx, nn, traceable};

fn conv_bn(p: nn::Path, c_in: i64, c_out: i64, stride: i64) -> impl nn::ModuleT + use<> {
    let config = nn::ConvConfig { stride, padding: 1, bias: false, ..Default::default() };
    nn::seq_t()
        .add(nn::conv2d(&p / "conv", c_in, c_out, 3, config))
        .add(nn::batch_norm2d(&p / "bn", c_out, Default::default()))
        .add_fn(|xs| xs.relu())
}

fn residual(p: nn::Path, width: i64, scale: f64) -> impl nn::ModuleT + use<> {
    let body = conv_bn(&p / "body", width, width, 1);
    let gate = if scale > 0.5 { Some(nn::conv2d(&p / "gate", width, width, 1, Default::default())) } else { None };
    nn::func_t(move |xs, train| {
        let ys = xs.apply_t(&body, train);
        let ys = match &gate {
            Some(gate) => xs.apply(gate).sigmoid() * ys,
            None => ys,
        };
        xs + ys * scale
    })
}

/// A model of closures; `#[traceable]` on the function that builds it writes `ClosureNet`.
#[traceable]
pub fn closure_net(p: &nn::Path, depth: i64, classes: Option<i64>) -> nn::FuncT<'static> {
    let stem = conv_bn(p / "stem", 3, 4, 2);
    let mut blocks = nn::seq_t();
    for i in 0..depth {
        blocks = blocks.add(residual(p / "blocks" / i, 4, 0.25 * i as f64));
        if i % 2 == 0 {
            blocks = blocks.add_fn(|xs| xs.clamp(-4.0, 4.0));
        }
    }
    let fc = classes.map(|n| nn::linear(p / "fc", 4, n, Default::default()));
    nn::func_t(move |xs, train| {
        xs.apply_t(&stem, train).apply_t(&blocks, train).adaptive_avg_pool2d([1, 1]).flat_view().apply_opt(&fc)
    })
}

/// Another constructor of the same model.
#[traceable]
pub fn deep_closure_net(p: &nn::Path) -> impl nn::ModuleT + use<> {
    closure_net(p, 4, Some(5))
}

/// A chain is a model too.
#[traceable]
pub fn chain_net(p: &nn::Path, hidden: &[i64]) -> nn::Sequential {
    let mut seq = nn::seq();
    let mut width = 6;
    for (i, &next) in hidden.iter().enumerate() {
        seq = seq.add(nn::linear(p / i, width, next, Default::default()));
        if i + 1 != hidden.len() {
            seq = seq.add_fn(|xs| xs.gelu("none"));
        }
        width = next;
    }
    seq
}

/// A multilayer perceptron whose constructor writes pairs of layers in a loop.
#[derive(Debug, Module)]
pub struct Mlp {
    net: nn::Sequential,
}

impl Mlp {
    fn new(p: &nn::Path, sizes: &[i64]) -> Self {
        let mut net = nn::seq();
        for (i, pair) in sizes.windows(2).enumerate() {
            net = net.add(nn::linear(p / format!("net_{i}"), pair[0], pair[1], Default::default()));
            net = net.add_fn(|xs| xs.relu());
        }
        Mlp { net }
    }
}

#[traceable]
impl nn::Module for Mlp {
    fn forward(&self, xs: &Tensor) -> Tensor {
        self.net.forward(xs)
    }
}

/// A closure of the chain captures a number of the constructor's.
#[derive(Debug, Module)]
pub struct Leaky {
    net: nn::Sequential,
}

impl Leaky {
    fn new(p: &nn::Path, slope: f64) -> Self {
        let net = nn::seq()
            .add(nn::linear(p / "0", 4, 4, Default::default()))
            .add_fn(move |xs| xs.maximum(&(xs * slope)))
            .add(nn::linear(p / "2", 4, 2, Default::default()));
        Leaky { net }
    }
}

#[traceable]
impl Leaky {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.net)
    }
}

/// A submodule that is not looked into, and a function that is one call.
#[derive(Debug, Module)]
pub struct Kept {
    #[fx(leaf)]
    inner: Mlp,
    fc: nn::Linear,
}

#[fx(leaf, pure)]
fn positions(len: i64, like: &Tensor) -> Tensor {
    Tensor::arange(len, (Kind::Float, like.device()))
}

#[fx(inline)]
fn doubled(xs: &Tensor) -> Tensor {
    xs * 2.0
}

#[traceable]
impl Kept {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let len = xs.size()[1];
        let ys = nn::Module::forward(&self.inner, &(xs + positions(len, xs)));
        doubled(&self.fc.forward(&ys)) + positions(len, xs).sum(Kind::Float)
    }
}

/// Parameters whose values are known in the frozen type.
#[derive(Debug, Module)]
pub struct Special {
    fc: nn::Linear,
}

#[traceable(specialize(flag = true, power = 2, mask = None))]
impl Special {
    pub fn forward(&self, xs: &Tensor, flag: bool, power: f64, mask: Option<&Tensor>) -> Tensor {
        let ys = if flag { self.fc.forward(xs) } else { xs.shallow_clone() };
        let ys = match mask {
            Some(mask) => ys * mask,
            None => ys,
        };
        ys.pow_tensor_scalar(power)
    }
}

/// Loops of a length that the source tells, written out.
#[derive(Debug, Module)]
pub struct Unrolled {
    blocks: [nn::Linear; DEPTH],
}

const DEPTH: usize = 3;

#[traceable(unroll)]
impl Unrolled {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut xs = xs.shallow_clone();
        for (i, block) in self.blocks.iter().enumerate() {
            xs = &xs + block.forward(&xs).relu();
            if i == 1 {
                continue;
            }
            xs = xs * 0.5;
        }
        for i in 0..DEPTH {
            xs = self.blocks[i].forward(&xs);
        }
        xs
    }
}

/// Kinds of blocks in an enum, and one of them a trait object.
#[derive(Debug)]
enum Stage {
    Conv(nn::Conv2D),
    Norm(nn::BatchNorm),
    Act,
}

#[derive(Debug, Module)]
pub struct Staged {
    #[module(skip)]
    stages: std::sync::Arc<Vec<Stage>>,
    fc: nn::Linear,
}

#[traceable]
impl Staged {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut xs = xs.shallow_clone();
        for stage in self.stages.iter() {
            xs = match stage {
                Stage::Conv(conv) => xs.apply(conv),
                Stage::Norm(norm) => xs.apply_t(norm, false),
                Stage::Act => xs.relu(),
            };
        }
        xs.mean_dim(&[2i64, 3][..], false, Kind::Float).apply(&self.fc)
    }
}

/// A module over any module.
#[derive(Debug, Module)]
pub struct Skip<M: nn::Module + Module> {
    inner: M,
}

impl<M: nn::Module + Module> nn::Module for Skip<M> {
    fn forward(&self, xs: &Tensor) -> Tensor {
        xs + self.inner.forward(xs)
    }
}

#[derive(Debug, Module)]
pub struct UsesSkip {
    a: Skip<nn::Linear>,
    b: Skip<Mlp>,
}

#[traceable]
impl UsesSkip {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.a).apply(&self.b)
    }
}

/// A model in a box, by its traits only.
#[derive(Debug, Module)]
pub struct Boxed {
    #[module(skip)]
    inner: std::sync::Arc<dyn Computes>,
    fc: nn::Linear,
}

pub trait Computes: std::fmt::Debug + Send + Sync {
    fn compute(&self, xs: &Tensor) -> Tensor;
}

#[derive(Debug)]
struct Scale(f64);

impl Computes for Scale {
    fn compute(&self, xs: &Tensor) -> Tensor {
        xs * self.0
    }
}

#[traceable]
impl Boxed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.inner.compute(xs);
        self.fc.forward(&ys).relu()
    }
}

/// A method of a trait that only has a body there.
pub trait Activate {
    fn activated(&self) -> Tensor;

    fn twice(&self) -> Tensor {
        self.activated() * 2.0
    }
}

impl Activate for Tensor {
    fn activated(&self) -> Tensor {
        self * self.sigmoid()
    }
}

#[derive(Debug, Module)]
pub struct Extended {
    fc: nn::Linear,
}

#[traceable]
impl Extended {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        tch::no_grad(|| {
            let ys = self.fc.forward(xs).twice();
            let [rows, cols] = ys.size()[..] else { unreachable!("two axes") };
            let ys = ys.view([rows * cols]);
            ys.i(0..rows).activated()
        })
    }
}

/// Several weights by one product, sums of squares, tuples in tuples.
#[derive(Debug, Module)]
pub struct Statistics {
    weights: [Tensor; 2],
}

#[traceable]
impl Statistics {
    pub fn forward(&self, (xs, ys): (&Tensor, &Tensor)) -> ((Tensor, Tensor), [f64; 2]) {
        let [a, b] = &self.weights;
        let (mean, var) = (xs.mean(Kind::Float), xs.var(true));
        let scaled = (xs - &mean) / (&var + 1e-5).sqrt();
        let mixed = scaled.matmul(a) + ys.matmul(b);
        let norm = mixed.square().sum(Kind::Float).sqrt();
        let numbers = [mean.double_value(&[]), norm.double_value(&[])];
        ((mixed, norm), numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Close, agree, not_interpreted, randn, root, understood};
    use fx_runtime::{Freeze, nn::Module as _, nn::ModuleT as _};

    not_interpreted!(Kept: "the function `self::positions`");

    understood!(Leaky: 2 of 3);
    understood!(Boxed: 2 of 4);

    #[test]
    fn functions_that_build_models_of_closures() {
        for (depth, classes) in [(0, None), (1, Some(3)), (5, Some(3))] {
            agree!(|p| ClosureNet::new(p, depth, classes), [randn(&[2, 3, 8, 8])], |net, xs| net.forward_t(xs, false));
            let (vs, built) = root(|p| closure_net(p, depth, classes));
            let (mut copy, net) = root(|p| ClosureNet::new(p, depth, classes));
            copy.copy(&vs).unwrap();
            let frozen = net.freeze(&Freeze::default()).unwrap();
            let xs = randn(&[2, 3, 8, 8]);
            frozen.forward_t(&xs, false).close(&tch::no_grad(|| built.forward_t(&xs, false)));
        }
        agree!(ClosureNet::deep_closure_net, [randn(&[2, 3, 8, 8])], |net, xs| net.forward_t(xs, false));
        for hidden in [&[][..], &[4], &[4, 5, 3]] {
            agree!(|p| ChainNet::new(p, hidden), [randn(&[2, 6])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn chains_that_constructors_build_in_loops() {
        for sizes in [&[4, 4][..], &[4, 8, 8, 2]] {
            agree!(|p| Mlp::new(p, sizes), [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
        agree!(|p| Leaky::new(p, 0.1), [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn options_of_the_tracer() {
        let make =
            |p: &nn::Path| Kept { inner: Mlp::new(p, &[4, 4]), fc: nn::linear(p / "fc", 4, 4, Default::default()) };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        let make = |p: &nn::Path| Special { fc: nn::linear(p, 4, 4, Default::default()) };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs, true, 2.0, None));
        let (_vs, net) = root(make);
        let frozen = net.freeze(&Freeze::default()).unwrap();
        let xs = randn(&[2, 4]);
        assert!(frozen.try_forward(&xs, false, 2.0, None).is_err());
        assert!(frozen.try_forward(&xs, true, 3.0, None).is_err());
        assert!(frozen.try_forward(&xs, true, 2.0, Some(&xs)).is_err());
        let make = |p: &nn::Path| Unrolled { blocks: [0, 1, 2].map(|i| nn::linear(p / i, 4, 4, Default::default())) };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn modules_of_many_kinds() {
        let make = |p: &nn::Path| Staged {
            stages: std::sync::Arc::new(vec![
                Stage::Conv(nn::conv2d(p / "conv", 3, 4, 3, Default::default())),
                Stage::Norm(nn::batch_norm2d(p / "norm", 4, Default::default())),
                Stage::Act,
            ]),
            fc: nn::linear(p / "fc", 4, 2, Default::default()),
        };
        agree!(make, [randn(&[2, 3, 6, 6])], |net, xs| net.forward(xs));
        let make = |p: &nn::Path| UsesSkip {
            a: Skip { inner: nn::linear(p / "a", 4, 4, Default::default()) },
            b: Skip { inner: Mlp::new(&(p / "b"), &[4, 4]) },
        };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        let make = |p: &nn::Path| Boxed {
            inner: std::sync::Arc::new(Scale(0.5)),
            fc: nn::linear(p / "fc", 4, 2, Default::default()),
        };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn rust_around_tensors() {
        let make = |p: &nn::Path| Extended { fc: nn::linear(p / "fc", 4, 2, Default::default()) };
        agree!(make, [randn(&[3, 4])], |net, xs| net.forward(xs));
        let make = |p: &nn::Path| Statistics { weights: [0, 1].map(|i| p.randn(&format!("w{i}"), &[4, 3], 0.0, 1.0)) };
        agree!(make, [(randn(&[2, 4]), randn(&[2, 4]))], |net, (a, b)| {
            let ((mixed, norm), [mean, length]) = net.forward((a, b));
            (mixed, norm, (mean, length))
        });
    }
}
