//! Enums of modules and of modes, matched in forward.

use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Activation {
    Relu,
    Gelu,
    Leaky(f64),
    Power { exponent: i64 },
}

impl Activation {
    fn apply(self, xs: &Tensor) -> Tensor {
        match self {
            Activation::Relu => xs.relu(),
            Activation::Gelu => xs.gelu("tanh"),
            Activation::Leaky(slope) => xs.maximum(&(xs * slope)),
            Activation::Power { exponent } => xs.pow_tensor_scalar(exponent),
        }
    }
}

#[derive(Debug, Module)]
pub struct Mlp {
    fc1: nn::Linear,
    fc2: nn::Linear,
    act: Activation,
}

#[traceable]
impl Mlp {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let h = self.act.apply(&self.fc1.forward(xs));
        let h = match self.act {
            Activation::Relu | Activation::Gelu => h,
            Activation::Leaky(slope) if slope > 0.5 => h * slope,
            Activation::Leaky(_) => h.neg(),
            _ => h.abs(),
        };
        self.fc2.forward(&h)
    }
}

/// An enum whose variants are layers.
#[derive(Debug, Module)]
pub enum Block {
    Conv(nn::Conv2D),
    Norm(nn::BatchNorm),
    Pair(nn::Conv2D, nn::BatchNorm),
    Pool,
}

#[derive(Debug, Module)]
pub struct Dynamic {
    blocks: Vec<Block>,
}

#[traceable]
impl Dynamic {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut xs = xs.shallow_clone();
        for block in &self.blocks {
            xs = match block {
                Block::Conv(conv) => xs.apply(conv),
                Block::Norm(bn) => xs.apply_t(bn, false),
                Block::Pair(conv, bn) => xs.apply(conv).apply_t(bn, false).relu(),
                Block::Pool => xs.max_pool2d_default(2),
            };
        }
        xs
    }
}

/// An enum with a method of its own, and `matches!`.
#[derive(Debug, Clone, PartialEq)]
pub enum Pooling {
    Mean,
    Max,
    Token(i64),
}

#[derive(Debug, Module)]
pub struct Pooled {
    fc: nn::Linear,
    pooling: Pooling,
}

#[traceable]
impl Pooled {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        use Pooling::*;
        let pooled = match &self.pooling {
            Mean => xs.mean_dim(1, false, xs.kind()),
            Max => xs.amax(1, false),
            Token(at) => xs.select(1, *at),
        };
        let ys = self.fc.forward(&pooled);
        if matches!(self.pooling, Pooling::Token(_)) || self.pooling == Max { ys.tanh() } else { ys }
    }
}

/// An enum as an input, a string as a mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    Classify,
    Embed,
}

#[derive(Debug, Module)]
pub struct Tasks {
    fc: nn::Linear,
    mode: String,
}

#[traceable(strict)]
impl Tasks {
    pub fn forward(&self, xs: &Tensor, task: Task) -> Tensor {
        let ys = match task {
            Task::Classify => self.fc.forward(xs),
            Task::Embed => xs.shallow_clone(),
        };
        match self.mode.as_str() {
            "relu" => ys.relu(),
            "tanh" => ys.tanh(),
            other => panic!("no mode {other}"),
        }
    }
}

/// Variants as the numbers that stand for them.
#[derive(Debug, Clone, Copy)]
#[repr(i64)]
pub enum Mode {
    Bilinear = 0,
    Nearest = 1,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Size {
    Small = 2,
    Middle,
    Large = 7,
}

#[derive(Debug, Module)]
pub struct Numbered {
    fc: nn::Linear,
    mode: Mode,
    size: Option<Size>,
    modes: Vec<Mode>,
}

fn number_of(mode: &Mode) -> i64 {
    *mode as i64 + 1
}

#[traceable(strict)]
impl Numbered {
    pub fn forward(&self, xs: &Tensor, size: Size, other: &Mode) -> Tensor {
        let mut ys = xs.apply(&self.fc) * (self.mode as i64) + self.mode as i64 as f64;
        ys = ys * (size as u8 as i64) + *other as i64 + number_of(other) + number_of(&self.mode) + Mode::Nearest as i64;
        if let Some(size) = self.size {
            ys = ys * size as i64;
        }
        for (at, mode) in self.modes.iter().enumerate() {
            ys = ys + (*mode as usize + at) as i64;
        }
        ys.sum_dim_intlist([self.mode as i64].as_slice(), true, None)
    }
}

/// A trait object.
#[derive(Debug, Module)]
pub struct Boxed {
    fc: nn::Linear,
    act: fn(&Tensor) -> Tensor,
}

#[traceable]
impl Boxed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.fc.forward(xs);
        (self.act)(&ys) + xs
    }
}

/// What `matches!` asks of values of each kind.
#[derive(Debug, Module)]
pub struct Asked {
    pooling: Pooling,
    maybe: Option<f64>,
    names: Vec<i64>,
}

#[traceable(strict)]
impl Asked {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut n = 0;
        if matches!(self.pooling, Pooling::Mean | Pooling::Token(_)) {
            n += 1;
        }
        if matches!(&self.pooling, Pooling::Token(k) if *k > 0) {
            n += 2;
        }
        if matches!(xs.size()[0], 1..=2 | 7,) {
            n += 4;
        }
        if matches!(self.maybe, None) {
            n += 8;
        }
        if matches!(self.names.as_slice(), [_, 3]) {
            n += 16;
        }
        xs * n
    }
}

/// A list of variants, which is asked for one by a method of its own, and for that of a field.
#[derive(Debug, Clone)]
pub struct TaskList {
    tasks: Vec<Task>,
}

impl TaskList {
    fn has(&self, task: Task) -> bool {
        self.tasks.contains(&task)
    }
}

#[derive(Debug, Module)]
pub struct Listed {
    fc: nn::Linear,
    own: Task,
    list: TaskList,
}

#[traceable(strict)]
impl Listed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.shallow_clone();
        if self.list.has(Task::Classify) {
            ys = ys.apply(&self.fc);
        }
        if self.list.has(Task::Embed) | self.list.tasks.is_empty() {
            ys = ys.relu();
        }
        if self.list.tasks.contains(&self.own) { ys + xs } else { ys }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, not_interpreted, randn, understood};

    not_interpreted!(Boxed: "interpreting host.call_pointer");

    understood!(Pooled: 5 of 6);

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 4, 4, Default::default())
    }

    #[test]
    fn activations() {
        for act in [
            Activation::Relu,
            Activation::Gelu,
            Activation::Leaky(0.1),
            Activation::Leaky(0.9),
            Activation::Power { exponent: 3 },
        ] {
            agree!(|p| Mlp { fc1: linear(p / 1), fc2: linear(p / 2), act }, [randn(&[2, 4])], |net, xs| net
                .forward(xs));
        }
    }

    #[test]
    fn dynamic() {
        let conv = |p: nn::Path| nn::conv2d(p, 3, 3, 3, nn::ConvConfig { padding: 1, ..Default::default() });
        let norm = |p: nn::Path| nn::batch_norm2d(p, 3, Default::default());
        let make = |p: &nn::Path| Dynamic {
            blocks: vec![
                Block::Conv(conv(p / 0)),
                Block::Norm(norm(p / 1)),
                Block::Pool,
                Block::Pair(conv(p / 2), norm(p / 3)),
            ],
        };
        agree!(make, [randn(&[2, 3, 4, 4]), randn(&[1, 3, 6, 8])], |net, xs| net.forward(xs));
    }

    #[test]
    fn pooled() {
        for pooling in [Pooling::Mean, Pooling::Max, Pooling::Token(0)] {
            let make = |p: &nn::Path| Pooled { fc: linear(p / 0), pooling: pooling.clone() };
            agree!(make, [randn(&[2, 3, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn tasks() {
        let make = |p: &nn::Path| Tasks { fc: linear(p / 0), mode: "tanh".to_owned() };
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs, Task::Classify));
        agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs, Task::Embed));
    }

    #[test]
    fn lists_of_variants() {
        for tasks in [vec![], vec![Task::Embed], vec![Task::Classify], vec![Task::Embed, Task::Classify]] {
            let list = TaskList { tasks };
            let make = |p: &nn::Path| Listed { fc: linear(p / 0), own: Task::Embed, list: list.clone() };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn numbers() {
        let (small, large) = (Size::Small, Size::Large);
        for (mode, size) in [(Mode::Bilinear, None), (Mode::Nearest, Some(large)), (Mode::Nearest, Some(Size::Middle))]
        {
            let modes = vec![Mode::Nearest, Mode::Bilinear];
            let make = |p: &nn::Path| Numbered { fc: linear(p / 0), mode, size, modes: modes.clone() };
            agree!(make, [randn(&[2, 4])], |net, xs| net.forward(xs, small, &Mode::Bilinear));
            agree!(make, [randn(&[3, 4])], |net, xs| net.forward(xs, large, &Mode::Nearest));
        }
    }

    #[test]
    fn pointers() {
        agree!(|p| Boxed { fc: linear(p / 0), act: |xs| xs.sigmoid() }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn asked() {
        for pooling in [Pooling::Mean, Pooling::Token(0), Pooling::Token(1)] {
            let make = |_: &nn::Path| Asked { pooling: pooling.clone(), maybe: None, names: vec![2, 3] };
            agree!(make, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
        }
    }
}
