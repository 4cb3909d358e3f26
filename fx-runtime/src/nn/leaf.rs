//! One line per layer: its type name and its tensors under PyTorch's names.
//!
//! `leaf!` and `stateless!` write [`crate::Module`] and what freezing needs for the layers of this folder, and register
//! them; `computes!` writes the doors that panic.

use tch::TchError;

use super::layer::sealed::MaybeTensor;
use crate::Error;
use crate::module::{Role, Visitor};

pub(super) fn show<'a, T: MaybeTensor>(visitor: &mut dyn Visitor<'a>, name: &str, field: &'a T, role: Role) {
    if let Some(tensor) = field.tensor() {
        visitor.tensor(name, tensor, role);
    }
}

/// tch's convention: what has no `f_` in its name panics, at the caller's line.
#[track_caller]
#[expect(clippy::panic, reason = "this is the door that panics")]
pub(super) fn unwrap<T>(result: Result<T, TchError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{}", Error::from(error)),
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

            fn placed(&self, place: &mut $crate::module::Place<'_>) -> Result<Self, $crate::Error> {
                use $crate::nn::layer::sealed::{MaybeTensor, shareable};
                Ok(Self {
                    $($p_field: MaybeTensor::map(&self.$p_field, place)?,)*
                    $($buffer: MaybeTensor::map(&self.$buffer, place)?,)*
                    $($plain: shareable(&self.$plain).clone(),)*
                    $($mode: shareable(&self.$mode).clone(),)?
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

        impl $crate::nn::layer::sealed::Plain for $layer {}

        $crate::nn::layer_entry::register_layer!($layer);
    };
}
pub(super) use leaf;

/// A layer without tensors: `stateless! { /// What forward does. ReLU, "ReLU" }`.
macro_rules! stateless {
    ($(#[$doc:meta])* $layer:ty, $type_name:expr) => {
        impl $crate::Module for $layer {
            fn type_name(&self) -> &'static str {
                $type_name
            }

            fn visit<'a>(&'a self, _visitor: &mut dyn $crate::module::Visitor<'a>) {}

            fn placed(&self, _place: &mut $crate::module::Place<'_>) -> Result<Self, $crate::Error> {
                Ok(*$crate::nn::layer::sealed::shareable(self))
            }
        }

        impl $crate::nn::layer::sealed::Plain for $layer {}

        $crate::nn::leaf::computes! {
            $(#[$doc])*
            $layer
        }
        $crate::nn::layer_entry::register_layer!($layer);
    };
}
pub(super) use stateless;

/// The doors that panic, for a layer that computes the same in both modes: `forward` and tch's `nn::Module`.
macro_rules! computes {
    ($(#[$doc:meta])* $layer:ty) => {
        impl $layer {
            $(#[$doc])*
            #[track_caller]
            pub fn forward(&self, xs: &tch::Tensor) -> tch::Tensor {
                $crate::nn::leaf::unwrap($crate::nn::Layer::f_forward(self, xs))
            }
        }

        impl tch::nn::Module for $layer {
            fn forward(&self, xs: &tch::Tensor) -> tch::Tensor {
                <$layer>::forward(self, xs)
            }
        }
    };
}
pub(super) use computes;
