//! One line per layer: its type name and its tensors under PyTorch's names.
//!
//! `leaf!` and `stateless!` write [`crate::Module`] for the layers of this folder and register them.

use tch::Tensor;

use crate::module::{Role, Visitor};

/// A tensor that a layer may be built without.
pub(super) trait MaybeTensor {
    fn tensor(&self) -> Option<&Tensor>;
}

impl MaybeTensor for Tensor {
    fn tensor(&self) -> Option<&Tensor> {
        Some(self)
    }
}

impl MaybeTensor for Option<Tensor> {
    fn tensor(&self) -> Option<&Tensor> {
        self.as_ref()
    }
}

pub(super) fn show<'a, T: MaybeTensor>(visitor: &mut dyn Visitor<'a>, name: &str, field: &'a T, role: Role) {
    if let Some(tensor) = field.tensor() {
        visitor.tensor(name, tensor, role);
    }
}

/// A layer with tensors: `leaf!(Linear, "Linear", parameters { weight: ws, bias: bs } buffers {} plain {})`.
macro_rules! leaf {
    (
        $layer:ty, $type_name:expr,
        parameters { $($parameter:ident: $p_field:ident),* }
        buffers { $($buffer:ident),* }
        plain { $($plain:ident),* }
        $(mode { $mode:ident })?
    ) => {
        // Any of the lists may be empty, and most of `plain` is `Copy`.
        #[allow(unused_imports, unused_variables, clippy::clone_on_copy)]
        impl $crate::Module for $layer {
            fn type_name(&self) -> &'static str {
                $type_name
            }

            fn visit<'a>(&'a self, visitor: &mut dyn $crate::module::Visitor<'a>) {
                use $crate::module::Role;
                $($crate::nn::leaf::show(visitor, stringify!($parameter), &self.$p_field, Role::Parameter);)*
                $($crate::nn::leaf::show(visitor, stringify!($buffer), &self.$buffer, Role::Buffer);)*
            }

            fn shallow_clone(&self) -> Result<Self, $crate::Error> {
                use $crate::module::Field;
                Ok(Self {
                    $($p_field: self.$p_field.clone_field()?,)*
                    $($buffer: self.$buffer.clone_field()?,)*
                    $($plain: self.$plain.clone(),)*
                    $($mode: self.$mode.clone(),)?
                })
            }

            $(
                fn set_training(&self, training: bool) {
                    self.$mode.set(training);
                }

                fn training(&self) -> Option<bool> {
                    Some(self.$mode.training())
                }
            )?
        }

        $crate::register_module!($layer);
    };
}
pub(super) use leaf;

/// A layer without tensors that computes `forward(xs)` in both modes: `stateless!(ReLU, "ReLU")`.
macro_rules! stateless {
    ($layer:ty, $type_name:expr) => {
        impl $crate::Module for $layer {
            fn type_name(&self) -> &'static str {
                $type_name
            }

            fn visit<'a>(&'a self, _visitor: &mut dyn $crate::module::Visitor<'a>) {}

            fn shallow_clone(&self) -> Result<Self, $crate::Error> {
                Ok(*self)
            }
        }

        $crate::nn::leaf::computes!($layer);
        $crate::register_module!($layer);
    };
}
pub(super) use stateless;

/// tch's `nn::Module` by way of the inherent `forward`.
macro_rules! computes {
    ($layer:ty) => {
        impl tch::nn::Module for $layer {
            fn forward(&self, xs: &tch::Tensor) -> tch::Tensor {
                <$layer>::forward(self, xs)
            }
        }
    };
}
pub(super) use computes;
