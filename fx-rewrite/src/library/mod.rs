//! The rules that come with fx, a file a family, all written in [`fx_pass!`](crate::fx_pass).
//!
//! They run on the graph as it was traced, cleaned of what only hands its input on, before layers are lowered. What is
//! spelled out in elementary ops becomes the one op that says it, which a kernel can then absorb.
//!
//! A rule that spells an activation takes its operand to be floating-point, as the activation does: where the elementary
//! ops would have turned integers into floats on the way, the activation refuses them.

mod activation;
mod arithmetic;
mod attention;
mod join;
mod layout;
mod linear;
mod norm;
mod table;

pub use activation::Activations;
pub use arithmetic::Arithmetic;
pub use attention::Attention;
pub use join::Joins;
pub use layout::Layout;
pub use linear::Linears;
pub use norm::Norms;
pub use table::table;

use crate::pass::Pass;
use crate::passes::SinkIntoArms;

/// The library's passes in the order in which they run.
pub fn passes() -> Vec<Box<dyn Pass>> {
    vec![
        Box::new(Arithmetic),
        Box::new(Layout),
        Box::new(Joins),
        Box::new(SinkIntoArms),
        Box::new(Activations),
        Box::new(Norms),
        Box::new(Attention),
        Box::new(Linears),
    ]
}
