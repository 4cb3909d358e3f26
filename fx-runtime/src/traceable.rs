//! What `#[traceable]` makes of a model, for code that takes any model.

use crate::{Freeze, Result};

/// A model that can be frozen: its forward stands in an impl block with `#[traceable]`.
///
/// The attribute implements it; `freeze` is also a method of the model itself, so that the trait need not be in scope.
///
/// ```
/// use fx_runtime::{Freeze, Result, Traceable};
///
/// fn frozen<M: Traceable>(model: &M) -> Result<M::Frozen> {
///     model.freeze(&Freeze::new())
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no frozen form",
    label = "no impl block of this type is `#[traceable]`",
    note = "put `#[traceable]` above the impl block with its `forward`",
    note = "the crate that declares the type needs a build.rs that calls `fx_passes::Build::new().run()`"
)]
pub trait Traceable {
    /// The frozen type.
    type Frozen;

    /// Folds and packs the weights into the frozen type, which computes the same, faster.
    ///
    /// # Errors
    ///
    /// Names the layer and the source line where something cannot be frozen as `options` ask.
    fn freeze(&self, options: &Freeze) -> Result<Self::Frozen>;
}
