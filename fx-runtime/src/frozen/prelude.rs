//! The traits whose methods generated code calls, under no name, so that they collide with none of the user's.

pub use super::At as _;
pub use super::Group as _;
pub use crate::Module as _;
pub use crate::nn::{Layer as _, Module as _, ModuleT as _, RNN as _};
pub use tch::IndexOp as _;

// The crate of the user may be of an edition whose own prelude lacks them.
pub use std::convert::{TryFrom as _, TryInto as _};
pub use std::iter::FromIterator as _;
