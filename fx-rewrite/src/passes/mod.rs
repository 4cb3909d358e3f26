//! The passes: each a file with its tests beside it, and what several of them share. [`Pipeline::inference`] has their order.
//!
//! None of them knows a weight. A pass that folds or packs writes freeze-time nodes, Rust calls into the runtime's
//! `frozen`, which the emitter prints into `freeze`. None of them moves a node past an effect.
//!
//! [`Pipeline::inference`]: crate::pipeline::Pipeline::inference

#![cfg_attr(test, allow(clippy::needless_raw_string_hashes, reason = "expect-test writes its snapshots so"))]

#[macro_use]
mod described;

mod affine_norm;
mod common_subexpressions;
mod dead_code;
mod fold_batch_norm;
mod fold_layer_scale;
mod fold_leading_norm;
mod fold_scale;
mod fuse_epilogue;
mod group_pointwise;
mod hoist_frozen;
mod layout_safe;
mod lower_functions;
mod lower_modules;
mod merge_arms;
mod merge_linears;
mod name;
mod norm;
mod pack_kernels;
mod plain_layers;
mod remove_identity;
mod sink_into_arms;
#[cfg(test)]
mod testing;

pub use affine_norm::AffineNorm;
pub use common_subexpressions::CommonSubexpressions;
pub use dead_code::DeadCode;
pub use fold_batch_norm::FoldBatchNorm;
pub use fold_layer_scale::FoldLayerScale;
pub use fold_leading_norm::FoldLeadingNorm;
pub use fold_scale::FoldScale;
pub use fuse_epilogue::FuseEpilogue;
pub use group_pointwise::GroupPointwise;
pub use hoist_frozen::HoistFrozen;
pub use layout_safe::LayoutSafe;
pub use lower_modules::LowerModules;
pub use merge_arms::MergeArms;
pub use merge_linears::MergeLinears;
pub use name::layer_name;
pub use pack_kernels::PackKernels;
pub use remove_identity::RemoveIdentity;
pub use sink_into_arms::SinkIntoArms;
