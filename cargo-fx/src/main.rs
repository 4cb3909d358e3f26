//! `cargo fx`.
fn main() {}
