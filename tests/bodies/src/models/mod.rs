//! Whole models as libraries and papers have them, where the parts above meet: one that was wrong as a whole goes here.

pub mod attention;
pub mod composite;
pub mod encoders;
pub mod entries;
pub mod gathered;
pub mod generative;
pub mod generic;
pub mod library_transformers;
pub mod private_parts;
pub mod pyramids;
pub mod recurrent_states;
pub mod residual_stages;
pub mod sequence;
pub mod steps;
pub mod text_encoders;
pub mod vision;
