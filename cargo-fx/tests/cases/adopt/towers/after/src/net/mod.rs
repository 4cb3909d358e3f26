mod base;
pub(crate) mod parts;

pub use base::{Net, NetFrozen};
pub use parts::Head;

/// No module.
#[derive(Clone)]
pub struct Sizes {
    pub blocks: i64,
}
