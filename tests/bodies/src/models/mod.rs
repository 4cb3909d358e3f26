//! Whole models, each in the style of its field.

pub mod composite;
pub mod generative;
pub mod sequence;
pub mod vision;
