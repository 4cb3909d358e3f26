mod base;
mod parts;

pub use base::Net;

/// No module.
#[derive(Clone)]
pub struct Sizes {
    pub blocks: i64,
}
