//! Functions, closures and parts of a model that a condition chooses, and that are called behind it.

use fx_runtime::{Module, Tensor, nn, traceable};

/// A method that a flag chooses.
#[derive(Debug, Module)]
pub struct ByFlag {
    fc: nn::Linear,
    #[module(skip)]
    causal: bool,
}

impl ByFlag {
    fn causal(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.fc).relu()
    }

    fn full(&self, xs: &Tensor) -> Tensor {
        xs.apply(&self.fc).tanh()
    }
}

#[traceable]
impl ByFlag {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        fn once(xs: &Tensor) -> Tensor {
            xs.sin()
        }
        fn twice(xs: &Tensor) -> Tensor {
            xs.sin().sin()
        }
        let attend = if self.causal { Self::causal } else { Self::full };
        let wave = match xs.dim() {
            2 => once,
            _ => twice,
        };
        attend(self, &wave(xs))
    }
}

/// An activation with what belongs to it.
#[derive(Debug, Clone, Module)]
pub enum Activation {
    Leaky(f64),
    Scaled(f64),
    Plain,
    Own,
}

/// A boxed closure that a method makes for a variant, called twice.
#[derive(Debug, Module)]
pub struct ByVariant {
    fc: nn::Linear,
    act: Activation,
}

impl ByVariant {
    fn act(&self) -> Box<dyn Fn(&Tensor) -> Tensor + '_> {
        match &self.act {
            Activation::Leaky(slope) => Box::new(move |xs| xs * *slope + xs.relu()),
            Activation::Scaled(scale) => Box::new(|xs| xs.exp() * *scale),
            Activation::Plain => Box::new(Tensor::relu),
            Activation::Own => Box::new(|xs| xs.apply(&self.fc)),
        }
    }
}

#[traceable]
impl ByVariant {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let act = self.act();
        let ys = act(&xs.apply(&self.fc));
        act(&(ys + 1))
    }
}

/// A function by its name, none of which is known for some, and one that each iteration chooses.
#[derive(Debug, Module)]
pub struct ByText {
    fc: nn::Linear,
    #[module(skip)]
    act: String,
}

impl ByText {
    fn act(&self) -> Box<dyn Fn(&Tensor) -> Tensor + '_> {
        match self.act.as_str() {
            "relu" => Box::new(|xs| xs.relu()),
            "fc" => Box::new(|xs| xs.apply(&self.fc)),
            other => panic!("unknown activation {other}"),
        }
    }
}

#[traceable]
impl ByText {
    pub fn forward(&self, xs: &Tensor, count: i64) -> Tensor {
        let act = self.act();
        let mut ys = act(xs);
        for i in 0..count {
            let wave = if i % 2 == 0 { |xs: &Tensor| xs.sin() } else { |xs: &Tensor| xs.cos() };
            ys = wave(&act(&ys));
        }
        ys
    }
}

fn twice(act: &dyn Fn(&Tensor) -> Tensor, xs: &Tensor) -> Tensor {
    act(&act(xs))
}

fn thrice<F: Fn(&Tensor) -> Tensor>(act: F, xs: &Tensor) -> Tensor {
    act(&act(&act(xs)))
}

/// Closures behind pointers of all kinds, handed to functions and kept in lists.
#[derive(Debug, Module)]
pub struct Pointers {
    fc: nn::Linear,
}

#[traceable]
impl Pointers {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let rows = xs.size()[0];
        let act: Box<dyn Fn(&Tensor) -> Tensor> = if rows > 2 {
            Box::new(move |xs| {
                if xs.dim() > 2 {
                    return xs.relu();
                }
                xs * rows
            })
        } else {
            Box::new(|xs: &Tensor| xs.tanh())
        };
        let ys = twice(&act, xs);
        let zs = thrice(&act, &twice(act.as_ref(), &ys));
        let shared: std::rc::Rc<dyn Fn(&Tensor) -> Tensor + '_> = std::rc::Rc::new(|xs| xs.apply(&self.fc));
        let other = shared.clone();
        let steps: Vec<Box<dyn Fn(&Tensor) -> Tensor>> = vec![Box::new(|xs| xs.sin()), Box::new(Tensor::tanh)];
        steps.iter().fold(other(&shared(&zs)), |xs, step| step(&xs))
    }
}

/// What the parts have in common.
pub trait Block {
    /// Computes, and keeps what it made on the way.
    fn run(&self, xs: &Tensor, kept: &mut Vec<Tensor>, scale: i64) -> Tensor;
}

/// A linear layer.
#[derive(Debug, Module)]
pub struct Dense {
    fc: nn::Linear,
}

impl Block for Dense {
    fn run(&self, xs: &Tensor, kept: &mut Vec<Tensor>, scale: i64) -> Tensor {
        let ys = xs.apply(&self.fc) * scale;
        kept.push(ys.relu());
        ys
    }
}

/// A gain.
#[derive(Debug, Module)]
pub struct Gain {
    gain: Tensor,
}

impl Block for Gain {
    fn run(&self, xs: &Tensor, kept: &mut Vec<Tensor>, _scale: i64) -> Tensor {
        kept.push(xs.sin());
        xs * &self.gain
    }
}

/// Either part.
#[derive(Debug, Module)]
pub enum Either {
    Dense(Dense),
    Gain(Gain),
}

impl Either {
    fn block(&self) -> &dyn Block {
        match self {
            Self::Dense(dense) => dense,
            Self::Gain(gain) => gain,
        }
    }
}

/// References to parts of different types, by a flag and by variants.
#[derive(Debug, Module)]
pub struct Parts {
    dense: Dense,
    gain: Gain,
    blocks: Vec<Either>,
    norm: nn::LayerNorm,
    #[module(skip)]
    first: bool,
}

impl Parts {
    fn pick(&self, other: bool) -> &dyn Block {
        if self.first ^ other { &self.dense } else { &self.gain }
    }
}

#[traceable]
impl Parts {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut kept: Vec<Tensor> = Vec::new();
        let ys = self.pick(false).run(&xs.relu(), &mut kept, xs.size()[0]);
        let mut ys = self.pick(true).run(&ys, &mut kept, 3);
        for block in &self.blocks {
            ys = block.block().run(&ys, &mut kept, 2);
        }
        let last: &dyn nn::Module = if self.first { &self.dense.fc } else { &self.norm };
        last.forward(&ys) + &kept[0] + &kept[1]
    }
}

/// A trait's method beside one of the type's own, by the same name.
pub trait Named {
    /// The trait's.
    fn named(&self, xs: &Tensor) -> Tensor;
}

impl Dense {
    fn named(&self, xs: &Tensor) -> Tensor {
        xs.sin()
    }
}

impl Named for Dense {
    fn named(&self, xs: &Tensor) -> Tensor {
        Dense::named(self, xs).apply(&self.fc)
    }
}

impl Named for Gain {
    fn named(&self, xs: &Tensor) -> Tensor {
        xs * &self.gain
    }
}

/// A reference to parts of which one has a method of its own by the name of the trait's.
#[derive(Debug, Module)]
pub struct Ambiguous {
    dense: Dense,
    gain: Gain,
    #[module(skip)]
    first: bool,
}

impl Ambiguous {
    fn pick(&self) -> &dyn Named {
        if self.first { &self.dense } else { &self.gain }
    }
}

#[traceable]
impl Ambiguous {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.pick().named(&xs.relu())
    }
}

/// A length that a list has when the closure is made.
#[derive(Debug, Module)]
pub struct LengthThen {
    fc: nn::Linear,
}

#[traceable]
impl LengthThen {
    pub fn forward(&self, xs: &Tensor, count: i64) -> Tensor {
        let mut all = vec![xs.relu()];
        for i in 0..count {
            all.push(xs.tanh() + i);
        }
        let scale: Box<dyn Fn(&Tensor) -> Tensor> = if all.len() > 2 {
            let length = all.len() as i64;
            Box::new(move |xs| xs * length)
        } else {
            Box::new(|xs| xs.tanh())
        };
        all.push(xs.sin());
        let ys = scale(&all[0]);
        all.pop();
        all.pop();
        scale(&ys.apply(&self.fc)) + all.len() as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::*;

    understood!(Ambiguous: 1 of 3);
    understood!(LengthThen: 4 of 16);

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, nn::LinearConfig::default())
    }

    fn dense(p: nn::Path) -> Dense {
        Dense { fc: linear(p / "fc") }
    }

    fn gain(p: nn::Path) -> Gain {
        Gain { gain: p.randn_standard("gain", &[4]) }
    }

    #[test]
    fn by_flag() {
        for causal in [false, true] {
            let inputs = [randn(&[3, 4]), randn(&[2, 3, 4])];
            agree!(|p| ByFlag { fc: linear(p / 0), causal }, inputs, |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn by_variant() {
        for act in [Activation::Leaky(0.1), Activation::Scaled(0.5), Activation::Plain, Activation::Own] {
            let make = |p: &nn::Path| ByVariant { fc: linear(p / 0), act: act.clone() };
            agree!(make, [randn(&[3, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn by_text() {
        for act in ["relu", "fc"] {
            let make = |p: &nn::Path| ByText { fc: linear(p / 0), act: act.to_owned() };
            agree!(make, [randn(&[3, 4])], |net, xs| net.forward(xs, 3));
        }
    }

    #[test]
    fn pointers() {
        let inputs = [randn(&[2, 4]), randn(&[3, 4]), randn(&[3, 2, 4])];
        agree!(|p| Pointers { fc: linear(p / 0) }, inputs, |net, xs| net.forward(xs));
    }

    #[test]
    fn parts() {
        for first in [false, true] {
            let make = |p: &nn::Path| Parts {
                dense: dense(p / "dense"),
                gain: gain(p / "gain"),
                blocks: vec![Either::Gain(gain(p / "a")), Either::Dense(dense(p / "b"))],
                norm: nn::layer_norm(p / "norm", vec![4], nn::LayerNormConfig::default()),
                first,
            };
            agree!(make, [randn(&[3, 4])], |net, xs| net.forward(xs));
            let make = |p: &nn::Path| Ambiguous { dense: dense(p / "dense"), gain: gain(p / "gain"), first };
            agree!(make, [randn(&[3, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn length_then() {
        for count in [0, 3] {
            agree!(|p| LengthThen { fc: linear(p / 0) }, [randn(&[3, 4])], |net, xs| net.forward(xs, count));
        }
    }
}
