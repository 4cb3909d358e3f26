//! A file that is not there: rustc says so, and the build script says what that means for it.

mod elsewhere;

fn main() {}
