//! What generated code is written in: packed kernels, the frame of a frozen model, folding.
//!
//! `freeze` of a model makes one [`Frame`] and packs each weight once ([`Conv::pack`], [`Linear::pack`],
//! [`Frame::param`]); `try_forward` enters the frame, checks its inputs and runs the kernels in a row. Every kernel is
//! chosen at freeze time from device and dtype, and every choice has the plain ATen composition behind it: for what the
//! fast kernel cannot do, and as the oracle of its tests.
//!
//! **NaN and infinity.** oneDNN's fused relu and clamp, and cuDNN's, turn NaN into a number. Where a weight of the model
//! is not finite they are left unfused, so that NaN reaches the result as it does eagerly. A NaN that comes in with the
//! input is not looked for, and a fused relu may hide it, unless the model is frozen with `Freeze::exact_nan`.
//!
//! **Gradients.** A frozen model runs under `no_grad`, not in inference mode. The packed kernels bypass autograd anyway,
//! for other operators inference mode was measured to save at most 0.7 µs each, and it would make results that refuse
//! in-place changes and the training of what comes after. There is no C entry point for it either, only private parts
//! of C++ classes.

mod accepts;
pub(crate) mod activation;
#[doc(hidden)]
pub mod at;
pub mod attention;
mod captured;
mod captured_state;
pub(crate) mod clock;
pub(crate) mod coded_table;
mod composed;
mod conv;
mod conv_params;
mod dynamic;
mod epilogue;
pub mod fold;
mod foreign_state;
mod functions;
mod group;
pub(crate) mod int8;
pub(crate) mod integer_product;
mod iterations;
mod kinds;
pub(crate) mod leaf;
mod linear;
mod lists;
mod matrix;
mod methods;
pub mod norm;
mod one_pass;
mod own_state;
mod owned;
mod part;
mod pool;
pub mod prelude;
mod product;
mod select;
mod store;
mod window;

#[cfg(test)]
pub(crate) mod oracle;

pub use crate::at;
pub use activation::Activation;
pub use at::{At, behind, or_panic};

pub use captured::Captured;
#[doc(hidden)]
pub use captured::probe;
pub use captured_state::{CapturedState, no_copy};
pub use composed::{convolution, linear, product};
pub use conv::Conv;
pub use conv_params::{ConvLayer, ConvParams};
#[doc(hidden)]
pub use foreign_state::probe as cells;
pub use functions::{Pointer, known};
pub(crate) use group::uncompiled;
pub use group::{Arithmetic, Group, Number, PointwiseOps, Results};
pub use iterations::{Iterations, iterations};
pub use kinds::at_least_float;
pub use leaf::Leaf;
pub use linear::Linear;
pub use lists::{exactly, option_of_slice, option_of_text};
pub(crate) use matrix::PackedMatrix;
pub use owned::{IntoOwned, lent, owned, owned_option, shallow_clones};
pub use part::Part;
pub use pool::{Pair, max_pool2d};
pub use product::Product;
pub use store::{device_of_store, kind_of_store};

pub use crate::cuda::{Arguments, Graphs, Outputs};
pub use crate::ffi::Param;
pub use crate::frame::state_cell::{CellValue, Foreign, Saved, StateCell, copied_tensor, handles};
pub use crate::frame::{Frame, Freezing, Scope};
pub use crate::nn::chain;
pub use crate::saved::{Loader, Saver, State, own};
#[doc(hidden)]
pub use crate::saved::{SavedAs, load, save};
