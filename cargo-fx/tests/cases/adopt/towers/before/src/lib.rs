pub mod gates;
pub mod net;
mod towers;

pub use net::{Net, Sizes};
