//! Closures: in a body, in a field, in a builder.

use fx_runtime::nn::ModuleT;
use fx_runtime::{Kind, Module, Tensor, nn, traceable};

/// Closures that capture, called more than once.
#[derive(Debug, Module)]
pub struct Local {
    fc: nn::Linear,
    scale: f64,
}

#[traceable]
impl Local {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let scaled = |t: &Tensor| t * self.scale;
        let project = |t: &Tensor| -> Tensor {
            let t = self.fc.forward(t);
            t.relu()
        };
        let ys = project(&scaled(xs));
        let mix = |a: Tensor, b: Tensor| (a + b) / 2;
        let mut zs = mix(project(&ys), scaled(&ys));
        let mut count = 0;
        let mut tick = || count += 1;
        tick();
        tick();
        zs = zs + count;
        [1.0, 2.0].iter().map(|factor| &zs * *factor).fold(zs.zeros_like(), |a, b| a + b)
    }
}

/// tch's vision style: a block is a closure.
fn block<'a>(p: nn::Path, c: i64) -> nn::FuncT<'a> {
    let conv = nn::conv2d(&p / "conv", c, c, 3, nn::ConvConfig { padding: 1, bias: false, ..Default::default() });
    let bn = nn::batch_norm2d(&p / "bn", c, Default::default());
    nn::func_t(move |xs, train| (xs.apply(&conv).apply_t(&bn, train) + xs).relu())
}

#[derive(Debug)]
pub struct Hidden(nn::FuncT<'static>);

#[derive(Debug, Module)]
pub struct ClosureField {
    block: nn::SequentialT,
    head: nn::Conv2D,
}

impl ClosureField {
    pub fn new(p: &nn::Path) -> Self {
        let block = nn::seq_t().add(block(p / "a", 3)).add(block(p / "b", 3)).add_fn(|xs| xs.avg_pool2d_default(2));
        ClosureField { block, head: nn::conv2d(p / "head", 3, 2, 1, Default::default()) }
    }
}

#[traceable]
impl ModuleT for ClosureField {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        xs.apply_t(&self.block, train).apply(&self.head)
    }
}

/// Closures that return early, with a value and with an error.
#[derive(Debug, Module)]
pub struct Returns {
    fc: nn::Linear,
}

#[traceable]
impl Returns {
    pub fn forward(&self, xs: &Tensor) -> Result<Tensor, String> {
        let checked = |t: &Tensor| {
            if t.dim() == 2 {
                return self.fc.forward(t);
            }
            t.neg()
        };
        let refused = |t: &Tensor| -> Result<Tensor, String> {
            if t.size()[0] > 2 {
                return Err("too long".to_owned());
            }
            Err(format!("{} axes", t.dim()))
        };
        let ys = checked(xs);
        let zs = refused(&ys).unwrap_or(ys.relu());
        if xs.dim() > 3 {
            return refused(&zs);
        }
        Ok(checked(&zs) + zs)
    }
}

/// `no_grad` and autocast as closures.
#[derive(Debug, Module)]
pub struct Guarded {
    fc: nn::Linear,
}

#[traceable]
impl Guarded {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mean = tch::no_grad(|| xs.mean_dim(-1, true, Kind::Float));
        let ys = tch::autocast(false, || self.fc.forward(&(xs - &mean)));
        ys.detach() + mean
    }
}

/// Function items as values.
#[derive(Debug, Module)]
pub struct Pointers {
    fc: nn::Linear,
    gelu: bool,
}

fn gelu(xs: &Tensor) -> Tensor {
    xs.gelu("none")
}

#[traceable]
impl Pointers {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let act: fn(&Tensor) -> Tensor = if self.gelu { gelu } else { Tensor::relu };
        let ys = act(&self.fc.forward(xs));
        let f = gelu;
        f(&ys)
    }
}

fn scaled(factor: f64) -> impl Fn(&Tensor) -> Tensor {
    move |xs| xs * factor
}

fn either(last: bool, factor: f64) -> (impl Fn(&Tensor) -> Tensor, f64) {
    (move |xs: &Tensor| if last { xs + factor } else { xs.tanh() * factor }, factor)
}

/// A closure sees what was in scope where it was written, whatever bears the name where it is called.
#[derive(Debug, Module)]
pub struct Seen {
    fc: nn::Linear,
}

#[traceable]
impl Seen {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let factor = 2.0;
        let shadowed = |t: &Tensor| self.fc.forward(t) * factor;
        let factor = 3.0;
        let ys = shadowed(xs) + factor;
        let mut count = 5.0;
        let copied = move |t: &Tensor| t + count;
        count += 1.0;
        let ys = copied(&ys) * count;
        let xs = &ys * 0.5;
        let ys = scaled(7.0)(&xs) + factor;
        let made = scaled(factor);
        let factor = 11.0;
        let (other, last) = either(ys.dim() > 2, 0.25);
        made(&ys) + other(&ys) * factor + last
    }
}

/// Functions and closures that say what they hand over, where nothing else says it.
#[derive(Debug, Module)]
pub struct Parsed {
    fc: nn::Linear,
}

impl Parsed {
    fn order(&self, xs: &Tensor) -> Vec<i64> {
        Vec::try_from(xs.argsort(-1, true)).unwrap()
    }

    fn four(&self, xs: &Tensor) -> [f64; 4] {
        let numbers: Vec<f64> = Vec::try_from(xs).unwrap();
        numbers.try_into().unwrap()
    }
}

#[traceable]
impl Parsed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.fc.forward(xs);
        let at = |i: i64| -> Vec<f64> { Vec::try_from(ys.get(i)).unwrap() };
        let mut keep: Vec<i64> = Vec::new();
        for i in self.order(&ys.get(0)) {
            let mut fresh = true;
            for &j in &keep {
                fresh = fresh && at(0)[j as usize] * 2.0 > at(1)[i as usize];
            }
            if fresh {
                keep.push(i);
            }
        }
        let factors = self.four(&ys.get(1));
        ys.index_select(1, &Tensor::from_slice(&keep)) * factors[2] + factors[3]
    }
}

/// A closure whose error stays in the forward.
#[derive(Debug, Module)]
pub struct LookedAt {
    fc: nn::Linear,
}

#[traceable]
impl LookedAt {
    pub fn forward(&self, xs: &Tensor, width: i64) -> Tensor {
        let ys = xs.apply(&self.fc);
        let viewed: Result<Tensor, tch::TchError> = (|| {
            let zs = ys.f_view([-1, width])?;
            Ok(zs.relu())
        })();
        match viewed {
            Ok(zs) => zs.sum(Kind::Float) + ys,
            Err(_) => ys.neg(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{agree, randn, understood};

    understood!(ClosureField: 2 of 4);
    understood!(Returns: 0 of 15);
    understood!(Guarded: 1 of 6);
    understood!(Parsed: 9 of 17);
    understood!(LookedAt: 1 of 10);

    fn linear(p: &nn::Path) -> nn::Linear {
        nn::linear(p / "fc", 4, 4, Default::default())
    }

    #[test]
    fn local() {
        agree!(|p| Local { fc: linear(p), scale: 0.5 }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn seen() {
        agree!(|p| Seen { fc: linear(p) }, [randn(&[2, 4]), randn(&[2, 3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn errors_that_are_looked_at() {
        for width in [2, 3, 4, 7] {
            agree!(|p| LookedAt { fc: linear(p) }, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs, width));
        }
    }

    #[test]
    fn parsed() {
        agree!(|p| Parsed { fc: linear(p) }, [randn(&[2, 4]), randn(&[3, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn fields() {
        agree!(ClosureField::new, [randn(&[2, 3, 4, 4])], |net, xs| net.forward_t(xs, false));
    }

    #[test]
    fn returns() {
        let cases = [randn(&[2, 4]), randn(&[3, 4]), randn(&[2, 2, 4]), randn(&[1, 2, 2, 4])];
        agree!(|p| Returns { fc: linear(p) }, cases, |net, xs| net.forward(xs));
    }

    #[test]
    fn guarded() {
        agree!(|p| Guarded { fc: linear(p) }, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn pointers() {
        for gelu in [true, false] {
            agree!(|p| Pointers { fc: linear(p), gelu }, [randn(&[2, 4])], |net, xs| net.forward(xs));
        }
    }
}
