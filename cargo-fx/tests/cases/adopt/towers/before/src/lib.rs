pub mod gates;
pub mod net;
mod towers;
pub mod wide;

pub use net::{Net, Sizes};
