//! Graphs taken apart: what a procedural pass asks for when a model is to run in pieces.
//!
//! [`split_module`] makes a graph of each part that a callback names, and one that calls them; [`partition`](fn@partition) finds the
//! largest parts that some backend can take; [`split_constants`] separates what does not depend on an input;
//! [`fold_constants`] and [`normalize_arguments`] bring a graph into the form that patterns expect. The words are those of
//! torch.fx's `passes`; unlike there, an order that an effect makes counts like one that data makes.

mod arguments;
mod constants;
mod dependencies;
mod partition;
mod split;
#[cfg(test)]
mod tests;

pub use arguments::normalize_arguments;
pub use constants::{fold_constants, split_constants};
pub use partition::partition;
pub use split::{Part, Split, SplitError, split_module};
