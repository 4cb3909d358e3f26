mod base;
mod parts;

pub use base::Net;
pub use parts::Head;

/// No module.
#[derive(Clone)]
pub struct Sizes {
    pub blocks: i64,
}
