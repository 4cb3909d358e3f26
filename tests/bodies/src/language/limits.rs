//! What torch.fx's documentation and users list as its limits, row by row, and what happens here instead.

use fx_runtime::{Kind, Module, Tensor, nn, traceable};
use tch::IndexOp;

/// `if x.sum() > 0`, `for r in x`, `[*x]`, `int(x.shape[0])`, `range(x.shape[0])`, `x in [..]`, `max(x.shape[0], 3)`,
/// `assert x.shape[0] == 3`, `len(x)`: errors there, Rust here.
#[derive(Debug, Module)]
pub struct Host {
    fc: nn::Linear,
}

#[traceable(strict)]
impl Host {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        assert!(xs.size()[0] <= 3);
        let mut ys = if xs.sum(Kind::Float).double_value(&[]) > 0.0 { self.fc.forward(xs) } else { xs.neg() };
        for i in 0..xs.size()[0] {
            let row = xs.i(i);
            ys = ys + row;
        }
        let rows: Vec<Tensor> = xs.unbind(0);
        let n = std::cmp::max(xs.size()[0], 3);
        let known = [1, 2, 3].contains(&xs.size()[0]);
        let len = xs.size().len() as i64;
        if known { ys * n + len + &rows[0] } else { ys }
    }
}

/// `x[0] = 1`: an error there, a write that is seen here.
#[derive(Debug, Module)]
pub struct Item {}

#[traceable]
impl Item {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = xs + 1;
        let _ = ys.i(0).fill_(9.0);
        ys
    }
}

/// `isinstance(x, Tensor)`: silently the wrong branch there; here what an input may be is an enum, and matched.
#[derive(Debug)]
pub enum Input {
    Tokens(Tensor),
    Embedded { values: Tensor, scale: f64 },
}

#[derive(Debug, Module)]
pub struct Kinds {
    embed: nn::Embedding,
}

#[traceable]
impl Kinds {
    pub fn forward(&self, input: &Input) -> Tensor {
        let xs = match input {
            Input::Tokens(ids) => self.embed.forward(ids),
            Input::Embedded { values, scale } => values * *scale,
        };
        xs.relu()
    }
}

/// `torch.randn(2)` in forward: frozen to one sample there, drawn at every call here.
#[derive(Debug, Module)]
pub struct Sample {}

#[traceable]
impl Sample {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        xs + Tensor::randn([2], (Kind::Float, xs.device()))
    }
}

/// `1 if self.training else 2`: baked there; here inference says so, and training is refused.
#[derive(Debug, Module)]
pub struct Mode {}

#[traceable]
impl Mode {
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Tensor {
        let factor = if train { 1.0 } else { 2.0 };
        xs * factor
    }
}

/// `y.add_(5)` whose result is not used, then dead-code elimination: deleted there, kept here.
#[derive(Debug, Module)]
pub struct Unused {}

#[traceable]
impl Unused {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs.view([-1]);
        let _ = ys.g_add_scalar_(5.0);
        xs.relu()
    }
}

/// `F.relu(y, inplace=True)`, `F.dropout(x)` unused: both deleted there, one with its random numbers.
#[derive(Debug, Module)]
pub struct Draws {}

#[traceable]
impl Draws {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut ys = xs * 1.0;
        let _ = ys.relu_();
        let _ = xs.dropout(0.5, true);
        let noise = xs.rand_like();
        ys + noise
    }
}

/// `x += 1`: out of place there, so that the caller's tensor no longer changes; in place here.
#[derive(Debug, Module)]
pub struct Compound {}

#[traceable]
impl Compound {
    pub fn forward(&self, mut xs: Tensor) -> Tensor {
        xs += 1;
        xs * 2
    }
}

/// `self.calls += 1`, `print()`: once, while tracing, there; at every call here.
#[derive(Debug, Module)]
pub struct Effects {
    calls: std::sync::Arc<std::sync::atomic::AtomicI64>,
}

#[traceable]
impl Effects {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let before = self.calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        println!("call {before}");
        xs + before
    }
}

/// A convolution used once with and once without its batch norm: folded into both there (max error 2.19).
#[derive(Debug, Module)]
pub struct Reused {
    conv: nn::Conv2D,
    bn: nn::BatchNorm,
}

#[traceable]
impl Reused {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let normed = self.bn.forward(&self.conv.forward(xs));
        normed + self.conv.forward(xs)
    }
}

/// Another value for what was a known argument: an assertion at run time there, an ordinary parameter here.
#[derive(Debug, Module)]
pub struct Argument {}

#[traceable]
impl Argument {
    pub fn forward(&self, xs: &Tensor, flag: bool, times: i64) -> Tensor {
        if flag { xs * times } else { xs.neg() }
    }
}

/// A cached constant that is changed in place: drifts from call to call there.
#[derive(Debug, Module)]
pub struct Drift {}

#[traceable]
impl Drift {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut constant = Tensor::from_slice(&[1f32, 2.0, 3.0]);
        constant += 1;
        let _ = constant.g_mul_scalar_(2.0);
        xs + constant
    }
}

mod replaced {
    use fx_runtime::{Module, Tensor, nn, traceable};

    /// A forward that puts another layer in place of its own, which no frozen type can.
    #[derive(Debug, Module)]
    pub struct Replaced {
        pub fc: nn::Linear,
    }

    #[traceable]
    impl Replaced {
        pub fn forward(&mut self, xs: &Tensor) -> Tensor {
            let vs = nn::VarStore::new(fx_runtime::Device::Cpu);
            self.fc = nn::linear(vs.root(), 4, 4, Default::default());
            self.fc.forward(xs)
        }
    }
}
pub use replaced::{Replaced, ReplacedFrozen};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Close, agree, device, here, randn, root, understood};
    use fx_runtime::Freeze;

    understood!(Replaced: 0 of 1);
    understood!(Effects: 0 of 3);

    #[test]
    fn a_skipped_item_has_a_type_without_values() {
        assert_eq!(size_of::<Option<ReplacedFrozen>>(), 0);
    }

    #[test]
    fn host_code_on_values_of_tensors() {
        let make = |p: &nn::Path| Host { fc: nn::linear(p / "fc", 4, 4, Default::default()) };
        agree!(make, [randn(&[2, 4]), -randn(&[2, 4]).abs(), randn(&[3, 4]).abs()], |net, xs| net.forward(xs));
    }

    #[test]
    fn items_are_assigned() {
        agree!(|_| Item {}, [randn(&[2, 4])], |net, xs| net.forward(xs));
    }

    #[test]
    fn kinds_of_inputs_are_told_apart_at_every_call() {
        let (_vs, net) = root(|p| Kinds { embed: nn::embedding(p / "embed", 5, 4, Default::default()) });
        let frozen = net.freeze(&Freeze::default()).unwrap();
        let inputs = [
            Input::Tokens(Tensor::from_slice(&[1i64, 3]).to_device(device())),
            Input::Embedded { values: randn(&[2, 4]), scale: 0.5 },
        ];
        for input in &inputs {
            frozen.forward(input).close(&net.forward(input));
        }
    }

    #[test]
    fn samples_are_drawn_at_every_call() {
        agree!(|_| Sample {}, [randn(&[3, 2])], |net, xs| net.forward(xs));
        let (_vs, net) = root(|_| Sample {});
        let frozen = net.freeze(&here()).unwrap();
        let xs = randn(&[3, 2]);
        let _alone = crate::check::alone();
        assert_ne!(frozen.forward(&xs), frozen.forward(&xs));
    }

    #[test]
    fn the_mode_is_a_parameter() {
        agree!(|_| Mode {}, [randn(&[3, 2])], |net, xs| net.forward_t(xs, false));
        let (_vs, net) = root(|_| Mode {});
        let frozen = net.freeze(&here()).unwrap();
        assert!(frozen.try_forward_t(&randn(&[2]), true).is_err());
    }

    #[test]
    fn a_write_whose_result_is_not_used_is_kept() {
        agree!(|_| Unused {}, [randn(&[3, 2])], |net, xs| net.forward(xs));
        agree!(|_| Draws {}, [randn(&[3, 2])], |net, xs| net.forward(xs));
    }

    #[test]
    fn compound_assignment_is_in_place() {
        agree!(|_| Compound {}, [randn(&[3, 2])], |net, xs| net.forward(xs.shallow_clone()));
    }

    #[test]
    fn effects_happen_at_every_call_and_not_while_freezing() {
        let calls = std::sync::Arc::new(std::sync::atomic::AtomicI64::new(0));
        let (_vs, net) = root(|_| Effects { calls: calls.clone() });
        let frozen = net.freeze(&here()).unwrap();
        assert!(net.graph().is_ok());
        let xs = randn(&[2]);
        for call in 0..3 {
            frozen.forward(&xs).close(&(&xs + call));
        }
        assert_eq!(calls.load(std::sync::atomic::Ordering::SeqCst), 3);
    }

    #[test]
    fn a_layer_with_two_uses_is_not_folded_into_one() {
        let make = |p: &nn::Path| {
            let mut bn = nn::batch_norm2d(p / "bn", 4, Default::default());
            tch::no_grad(|| {
                let _ = bn.running_mean.uniform_(-1.0, 1.0);
                let _ = bn.running_var.uniform_(0.5, 2.0);
            });
            Reused { conv: nn::conv2d(p / "conv", 3, 4, 3, Default::default()), bn }
        };
        agree!(make, [randn(&[2, 3, 5, 5])], |net, xs| net.forward(xs));
    }

    #[test]
    fn arguments_are_arguments() {
        for (flag, times) in [(true, 2), (false, 2), (true, 5)] {
            agree!(|_| Argument {}, [randn(&[3, 2])], |net, xs| net.forward(xs, flag, times));
        }
    }

    #[test]
    fn constants_do_not_drift() {
        agree!(|_| Drift {}, [randn(&[2, 3])], |net, xs| net.forward(xs));
    }
}
