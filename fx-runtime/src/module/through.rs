//! Visitors of derived and provided code: one that looks through a module that stands for another (an enum of layers is
//! the layer that it holds), one that sets the mode of all it is shown.

use tch::Tensor;

use super::{Module, Role, Visitor};

/// Shows the one module that the visited one stands for, without a name of its own.
#[doc(hidden)]
#[allow(missing_debug_implementations, reason = "lives for one call, in derived code")]
pub struct Through<'v, 'a>(pub &'v mut dyn Visitor<'a>);

impl<'a> Visitor<'a> for Through<'_, 'a> {
    fn child(&mut self, _name: &str, child: &'a dyn Module) {
        self.0.wrapped(child);
    }

    fn tensor(&mut self, name: &str, tensor: &'a Tensor, role: Role) {
        self.0.tensor(name, tensor, role);
    }

    fn wrapped(&mut self, inner: &'a dyn Module) {
        self.0.wrapped(inner);
    }
}

/// Puts all that it is shown into training mode, or out of it.
#[doc(hidden)]
#[derive(Debug)]
pub struct SetTraining(pub bool);

impl<'a> Visitor<'a> for SetTraining {
    fn child(&mut self, _name: &str, child: &'a dyn Module) {
        child.set_training(self.0);
    }

    fn tensor(&mut self, _name: &str, _tensor: &'a Tensor, _role: Role) {}

    fn wrapped(&mut self, inner: &'a dyn Module) {
        inner.set_training(self.0);
    }
}
