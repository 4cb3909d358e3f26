//! Functions that are values: in fields, behind accessors, chosen by an enum.

use fx_runtime::{Module, Tensor, nn, traceable};

/// Where the functions are, and a pointer whose field nobody else can read.
pub mod activations {
    use fx_runtime::Tensor;

    pub fn gelu_tanh(xs: &Tensor) -> Tensor {
        xs * 0.5 * (((xs.pow_tensor_scalar(3.0) * 0.044715 + xs) * 0.797_884_56).tanh() + 1)
    }

    pub fn squared(xs: &Tensor) -> Tensor {
        let xs = xs.relu();
        &xs * &xs
    }

    #[derive(Clone, Debug)]
    pub struct Function(Box<fn(&Tensor) -> Tensor>);

    impl Function {
        pub fn new(function: Box<fn(&Tensor) -> Tensor>) -> Self {
            Self(function)
        }

        pub fn get(&self) -> &fn(&Tensor) -> Tensor {
            &self.0
        }
    }

    #[derive(Clone, Copy, Debug)]
    pub enum Kind {
        Gelu,
        Squared,
        Tanh,
    }

    impl Kind {
        pub fn boxed(&self) -> Function {
            Function::new(Box::new(match self {
                Kind::Gelu => gelu_tanh,
                Kind::Squared => squared,
                Kind::Tanh => Tensor::tanh,
            }))
        }

        pub fn function(self) -> fn(&Tensor) -> Tensor {
            match self {
                Kind::Gelu => gelu_tanh,
                Kind::Squared => squared,
                Kind::Tanh => Tensor::tanh,
            }
        }
    }
}

/// A pointer in a field.
#[derive(Debug, Module)]
pub struct Pointer {
    fc1: nn::Linear,
    fc2: nn::Linear,
    act: fn(&Tensor) -> Tensor,
}

impl Pointer {
    pub fn new(p: &nn::Path, act: fn(&Tensor) -> Tensor) -> Self {
        let linear = |name: &str| nn::linear(p / name, 6, 6, Default::default());
        Pointer { fc1: linear("fc1"), fc2: linear("fc2"), act }
    }
}

#[traceable]
impl Pointer {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        self.fc2.forward(&(self.act)(&self.fc1.forward(xs)))
    }
}

/// One that is boxed, in another module, and handed out by a method, in each of the layers.
#[derive(Debug, Module)]
pub struct Boxed {
    layers: Vec<Layer>,
    pooled: Option<activations::Function>,
}

#[derive(Debug, Module)]
pub struct Layer {
    fc: nn::Linear,
    act: activations::Function,
}

impl Boxed {
    pub fn new(p: &nn::Path, kinds: &[activations::Kind], pooled: Option<activations::Function>) -> Self {
        let layer = |(at, kind): (usize, &activations::Kind)| Layer {
            fc: nn::linear(p / at, 6, 6, Default::default()),
            act: kind.boxed(),
        };
        Boxed { layers: kinds.iter().enumerate().map(layer).collect(), pooled }
    }
}

#[traceable]
impl Boxed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut xs = xs.shallow_clone();
        for layer in &self.layers {
            xs = (layer.act.get())(&layer.fc.forward(&xs)) + &xs;
        }
        if let Some(pooled) = &self.pooled {
            xs = pooled.get()(&xs);
        }
        xs
    }
}

/// Chosen by an enum and by a number, in the forward.
#[derive(Debug, Module)]
pub struct Chosen {
    fc: nn::Linear,
    kind: activations::Kind,
    depth: i64,
}

#[traceable]
impl Chosen {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let act = self.kind.function();
        let last = if self.depth > 1 { Tensor::sigmoid } else { activations::squared };
        last(&act(&self.fc.forward(xs)))
    }
}

/// Functions with more parameters, methods of a type, and one that is handed over with each call.
#[derive(Debug, Module)]
pub struct Mixed {
    fc: nn::Linear,
    mix: fn(&Tensor, &Tensor, f64) -> Tensor,
}

impl Mixed {
    pub fn plain(a: &Tensor, b: &Tensor, by: f64) -> Tensor {
        a + b * by
    }

    pub fn gated(a: &Tensor, b: &Tensor, by: f64) -> Tensor {
        a.sigmoid() * b * by
    }

    pub fn new(p: &nn::Path, is_gated: bool) -> Self {
        let mix = if is_gated { Self::gated } else { Self::plain };
        Mixed { fc: nn::linear(p / "fc", 6, 6, Default::default()), mix }
    }
}

#[traceable]
impl Mixed {
    pub fn forward(&self, xs: &Tensor, last: fn(&Tensor) -> Tensor) -> Tensor {
        last(&(self.mix)(&self.fc.forward(xs), xs, 0.5))
    }
}

/// A closure that nothing can be told of, and a pointer to no function that generated code can name.
#[derive(Module)]
pub struct Unnamed {
    fc: nn::Linear,
    act: std::sync::Arc<dyn Fn(&Tensor) -> Tensor + Send + Sync>,
}

#[traceable]
impl Unnamed {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        (self.act)(&self.fc.forward(xs)).relu()
    }
}

/// `sqrt` and constants in a formula: the one that is known by another name.
#[derive(Debug, Module)]
pub struct Spelled {
    fc: nn::Linear,
    act: fn(&Tensor) -> Tensor,
}

pub fn gelu_erf(xs: &Tensor) -> Tensor {
    xs * 0.5 * (1.0 + (xs / ((2.0_f64).sqrt())).erf())
}

pub fn gelu_new(xs: &Tensor) -> Tensor {
    use std::f64::consts::PI;
    xs * 0.5 * (((xs.pow_tensor_scalar(3.0f64) * 0.044715 + xs) * ((2f64 / PI).sqrt())).tanh() + 1)
}

impl Spelled {
    pub fn new(p: &nn::Path, is_new: bool) -> Self {
        let act: fn(&Tensor) -> Tensor = if is_new { gelu_new } else { gelu_erf };
        Spelled { fc: nn::linear(p / "fc", 6, 6, Default::default()), act }
    }
}

#[traceable]
impl Spelled {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        (self.act)(&self.fc.forward(xs))
    }
}

#[cfg(test)]
mod tests {
    use super::{activations::Kind, *};
    use crate::check::{agree, here, not_interpreted, randn, root, understood};

    not_interpreted!(Boxed: "interpreting host.call_pointer");
    not_interpreted!(Pointer: "interpreting host.call_pointer");
    not_interpreted!(Spelled: "interpreting host.call_pointer");
    not_interpreted!(Mixed: "interpreting host.call_pointer");

    understood!(Unnamed: 2 of 3);

    fn linear(p: nn::Path) -> nn::Linear {
        nn::linear(p, 6, 6, Default::default())
    }

    /// One that is in no module where generated code could name it, and writes to what it is given.
    fn negated(xs: &Tensor) -> Tensor {
        let mut xs = xs.shallow_clone();
        let _ = xs.neg_();
        xs + 1
    }

    macro_rules! is_whole {
        ($make:expr) => {{
            let (_vs, model) = root($make);
            let graph = model.graph().expect("a graph").to_string();
            assert!(!graph.contains("opaque("), "{graph}");
        }};
    }

    #[test]
    fn pointers() {
        is_whole!(|p| Pointer::new(p, activations::squared));
        for act in [activations::gelu_tanh, activations::squared, Tensor::tanh, negated, |xs: &Tensor| xs * 2.0] {
            agree!(|p| Pointer::new(p, act), [randn(&[3, 6])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn what_is_known_is_saved() {
        let (_vs, net) = root(|p| Pointer::new(p, activations::squared));
        let frozen = net.freeze(&fx_runtime::Freeze::default()).expect("a frozen model");
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("frozen.safetensors");
        frozen.save(&file).expect("a file");
        let loaded = PointerFrozen::load(&file, &here()).expect("a frozen model");
        let xs = randn(&[3, 6]);
        assert!(loaded.forward(&xs).equal(&frozen.forward(&xs)));
        let (_vs, net) = root(|p| Pointer::new(p, negated));
        let frozen = net.freeze(&fx_runtime::Freeze::default()).expect("a frozen model");
        let error = frozen.save(&file).expect_err("a pointer has no form in a file").to_string();
        assert!(error.contains("fn("), "{error}");
    }

    #[test]
    fn boxed() {
        let kinds = [Kind::Gelu, Kind::Squared, Kind::Tanh, Kind::Gelu];
        is_whole!(|p| Boxed::new(p, &kinds, None));
        let pooled = |act: fn(&Tensor) -> Tensor| Some(activations::Function::new(Box::new(act)));
        for pooled in [None, pooled(Tensor::tanh), pooled(negated)] {
            agree!(|p| Boxed::new(p, &kinds, pooled.clone()), [randn(&[3, 6])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn chosen() {
        is_whole!(|p| Chosen { fc: linear(p / "fc"), kind: Kind::Gelu, depth: 1 });
        for (kind, depth) in [(Kind::Gelu, 1), (Kind::Squared, 2), (Kind::Tanh, 3)] {
            agree!(|p| Chosen { fc: linear(p / "fc"), kind, depth }, [randn(&[3, 6])], |net, xs| net.forward(xs));
        }
    }

    #[test]
    fn mixed() {
        is_whole!(|p| Mixed::new(p, false));
        for is_gated in [false, true] {
            for last in [activations::squared, Tensor::tanh, negated] {
                agree!(|p| Mixed::new(p, is_gated), [randn(&[3, 6])], |net, xs| net.forward(xs, last));
            }
        }
    }

    #[test]
    fn unnamed() {
        let by = 3.0;
        agree!(
            |p| Unnamed { fc: linear(p / "fc"), act: std::sync::Arc::new(move |xs: &Tensor| xs * by) },
            [randn(&[3, 6])],
            |net, xs| net.forward(xs)
        );
    }

    #[test]
    fn spelled() {
        is_whole!(|p| Spelled::new(p, true));
        for is_new in [false, true] {
            agree!(|p| Spelled::new(p, is_new), [randn(&[3, 6])], |net, xs| net.forward(xs));
        }
    }
}
