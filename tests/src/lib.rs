//! Models as users write them, small ones: what the tests across the crates trace, freeze and compare.
//!
//! The build script traces them all; each stands for something that a frozen model can get wrong.
//!
//! A module with the name of a module of `tests/all` holds the models of that test: `arms`, `effects`, `folding`,
//! `masks`, `merging` (with `leading`) and `rules`. The others, `constant`, `convolutions`, `dense`, `pointwise` and
//! `residual`, are models of every sort, for the tests that go through all of them by `tests/all/subject.rs`:
//! `bad_input`, `differential`, `goldens`, `saved`, `threads`.
#![allow(clippy::cast_possible_wrap, reason = "tch wants i64, and no model has 2^63 layers")]

pub mod arms;
pub mod constant;
pub mod convolutions;
pub mod dense;
pub mod effects;
pub mod folding;
pub mod leading;
pub mod leaves;
pub mod masks;
pub mod merging;
pub mod pointwise;
pub mod residual;
pub mod rules;
pub mod torch_fx;
