//! `Module`: what a model consists of, under PyTorch's names.
//!
//! A module shows its tensors and its children to a [`Visitor`], in the order of declaration; everything else
//! (`named_parameters`, `state_dict`, `train`, `device`, ...) follows from that one method. `#[derive(Module)]` writes
//! it. The trait only looks: it is not tch's `nn::Module`, which computes, and a type usually has both.
//!
//! A field of a module is one of three things, told apart by [`probe`]: a tensor, a module (or an `Option`,
//! `Box`, `Vec`, array or tuple of these), or a hyper-parameter, which is not visited. [`Field`] has the rules. What is
//! behind an `RwLock` or a `Mutex` can be copied, but not shown.

mod collect;
mod containers;
mod field;
mod through;
mod tree;

pub(crate) use collect::modules as named_modules;
pub use field::{Field, probe};
pub use through::{SetTraining, Through};
pub(crate) use tree::Tree;

use tch::{Device, Kind, Tensor};

use crate::Error;

/// What a copy of a module has in place of each of its tensors.
pub type Place<'p> = dyn FnMut(&Tensor) -> Result<Tensor, Error> + 'p;

/// What a tensor of a module is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Trained by an optimizer.
    Parameter,
    /// State that is not trained, for instance a running mean.
    Buffer,
}

impl Role {
    /// In the order of a module's own tensors.
    const ALL: [Self; 2] = [Self::Parameter, Self::Buffer];
}

/// Receives the tensors and children of one module, in the order of declaration.
pub trait Visitor<'a> {
    /// A child module, under the name of its field.
    fn child(&mut self, name: &str, child: &'a dyn Module);
    /// A tensor of the module's own, under PyTorch's name (`weight`, not `ws`).
    fn tensor(&mut self, name: &str, tensor: &'a Tensor, role: Role);
    /// Receives the module that the visited one stands for: what it has, the visited one has, under the same names.
    fn wrapped(&mut self, inner: &'a dyn Module);
}

/// A part of a model that can be looked into. Derived; see the module's documentation.
///
/// The provided methods are compiled anew for each type, so that each only collects what the type shows and leaves the
/// rest to code that is compiled once.
///
/// ```
/// use fx_runtime::{Device, Module, nn};
///
/// let vs = nn::VarStore::new(Device::Cpu);
/// let conv = nn::conv2d(vs.root() / "conv", 3, 8, 3, nn::ConvConfig::default());
/// let names: Vec<_> = conv.named_parameters().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["weight", "bias"]);
/// ```
pub trait Module {
    /// The name of the type without its path, for instance `ResNet18`.
    fn type_name(&self) -> &'static str;

    /// Shows every tensor and child of this module, but not those of its children.
    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>);

    /// A copy whose tensors are what `place` makes of this module's; hyper-parameters are cloned.
    ///
    /// # Errors
    ///
    /// [`Error::NotCloneable`] when a field is neither a tensor, nor a module, nor `Clone`; those of `place`.
    fn placed(&self, place: &mut Place<'_>) -> Result<Self, Error>
    where
        Self: Sized;

    /// A second handle on the same module: tensors share their storage, hyper-parameters are cloned.
    ///
    /// # Errors
    ///
    /// [`Error::NotCloneable`] when a field is neither a tensor, nor a module, nor `Clone`.
    fn shallow_clone(&self) -> Result<Self, Error>
    where
        Self: Sized,
    {
        self.placed(&mut |tensor| Ok(tensor.shallow_clone()))
    }

    /// Sets the mode of this module and all below it: `true` for training, `false` for inference.
    ///
    /// Layers start in inference mode; see [`crate::nn`].
    fn set_training(&self, training: bool) {
        self.visit(&mut through::SetTraining(training));
    }

    /// The mode of this very module; none for modules that behave the same in both.
    fn training(&self) -> Option<bool> {
        None
    }

    /// Puts the module and all below it into training mode.
    fn train(&self) {
        self.set_training(true);
    }

    /// Puts the module and all below it into inference mode.
    fn eval(&self) {
        self.set_training(false);
    }

    /// The direct children with their names.
    fn children(&self) -> Vec<(String, &dyn Module)> {
        collect::Own::of(self).children
    }

    /// All parameters with dotted names, a module's own before those of its children, as PyTorch orders them.
    ///
    /// A tensor that is used in two places is listed under both names.
    fn named_parameters(&self) -> Vec<(String, &Tensor)> {
        collect::Own::of(self).named(&[Role::Parameter])
    }

    /// All buffers with dotted names, in the order of [`Self::named_parameters`].
    fn named_buffers(&self) -> Vec<(String, &Tensor)> {
        collect::Own::of(self).named(&[Role::Buffer])
    }

    /// Parameters and buffers with dotted names, in the order of PyTorch's `state_dict`.
    fn state_dict(&self) -> Vec<(String, &Tensor)> {
        collect::Own::of(self).named(&Role::ALL)
    }

    /// This module, under the empty name, and all below it with dotted names, parents first.
    fn named_modules(&self) -> Vec<(String, &dyn Module)>
    where
        Self: Sized,
    {
        named_modules(self)
    }

    /// The model as a tree, as Python prints one: each module with its type, the shapes of its parameters and its children.
    ///
    /// ```
    /// use fx_runtime::{Device, Module, nn};
    ///
    /// let vs = nn::VarStore::new(Device::Cpu);
    /// let net = nn::seq().add(nn::linear(vs.root() / 0, 4, 3, nn::LinearConfig::default())).add(nn::relu());
    /// let lines = ["Sequential(", "  (0): Linear(weight=[3, 4], bias=[3])", "  (1): ReLU()", ")"];
    /// assert_eq!(net.print_module_tree().trim_end(), lines.join("\n"));
    /// ```
    fn print_module_tree(&self) -> String {
        tree::print(self.type_name(), &collect::Own::of(self))
    }

    /// The device of the first tensor; none for a module without tensors.
    fn device(&self) -> Option<Device> {
        collect::Own::of(self).device()
    }

    /// The dtype that most floating-point numbers have; none for a module without any.
    fn kind(&self) -> Option<Kind> {
        collect::Own::of(self).kind()
    }
}

#[cfg(test)]
mod tests;
