//! Inputs behind pointers and references of references, and mutable ones that nobody writes to.

use std::rc::Rc;

use fx_runtime::nn::Path;
use fx_runtime::{Module, Tensor, nn, traceable};

/// A shared one.
#[derive(Debug, Module)]
pub struct SharedInput {
    layer: nn::Linear,
}

#[traceable]
impl SharedInput {
    pub fn new(p: &Path) -> SharedInput {
        SharedInput { layer: nn::linear(p / "l", 4, 4, Default::default()) }
    }

    pub fn forward(&self, xs: &Rc<Tensor>) -> Tensor {
        xs.apply(&self.layer).relu() + xs.as_ref()
    }
}

/// A boxed one.
#[derive(Debug, Module)]
pub struct BoxedInput {
    layer: nn::Linear,
}

#[traceable]
impl BoxedInput {
    pub fn new(p: &Path) -> BoxedInput {
        BoxedInput { layer: nn::linear(p / "l", 4, 4, Default::default()) }
    }

    pub fn forward(&self, xs: &Box<Tensor>) -> Tensor {
        xs.apply(&self.layer).relu() + &**xs
    }
}

/// A reference to a reference.
#[derive(Debug, Module)]
pub struct TwiceReferred {
    layer: nn::Linear,
}

#[traceable]
impl TwiceReferred {
    pub fn new(p: &Path) -> TwiceReferred {
        TwiceReferred { layer: nn::linear(p / "l", 4, 4, Default::default()) }
    }

    pub fn forward(&self, xs: &&Tensor) -> Tensor {
        xs.apply(&self.layer).relu() + *xs
    }
}

/// One that may be written to.
#[derive(Debug, Module)]
pub struct LeftAsItIs {
    layer: nn::Linear,
}

#[traceable]
impl LeftAsItIs {
    pub fn new(p: &Path) -> LeftAsItIs {
        LeftAsItIs { layer: nn::linear(p / "l", 4, 4, Default::default()) }
    }

    pub fn forward(&self, xs: &Tensor, state: &mut Tensor) -> Tensor {
        xs.apply(&self.layer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{numbers_agree, randn};

    #[test]
    fn shared_input() {
        numbers_agree!(SharedInput::new, [randn(&[3, 4])], |net, xs| net.forward(&Rc::new(xs.shallow_clone())));
    }

    #[test]
    fn boxed_input() {
        numbers_agree!(BoxedInput::new, [randn(&[3, 4])], |net, xs| net.forward(&Box::new(xs.shallow_clone())));
    }

    #[test]
    fn twice_referred() {
        numbers_agree!(TwiceReferred::new, [randn(&[3, 4])], |net, xs| net.forward(&&*xs));
    }

    #[test]
    fn left_as_it_is() {
        numbers_agree!(LeftAsItIs::new, [randn(&[3, 4])], |net, xs| net.forward(xs, &mut xs.shallow_clone()));
    }
}
