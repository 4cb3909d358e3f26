//! How is a node written in Rust? Expressions of host operations, of calls of tch's methods and of literals: text, from a
//! graph alone. The build script prints frozen types with it, the runtime folders of live graphs.

pub mod call;
pub mod host;
pub mod names;
pub mod value;
