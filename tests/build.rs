//! Traces the crate's models and writes their frozen types, as a user's build script does; some models have rules of
//! their own.

mod passes;

fn main() {
    passes::build().run();
}
