//! What is done with tensors themselves: shapes, slices, dtypes, writes in place, random numbers.

pub mod handles;
pub mod in_place;
pub mod non_finite;
pub mod precision;
pub mod random;
pub mod shapes;
pub mod size_queries;
pub mod slicing;
pub mod written_weights;
