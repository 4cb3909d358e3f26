//! A field that holds a parameter is a part of the model, unless it says that it is none.

use fx_runtime::Module;

#[derive(Clone)]
pub struct Choice<P>(P);

#[derive(Module)]
pub struct Skipped<P: Clone> {
    #[module(skip)]
    choice: Choice<P>,
}

#[derive(Module)]
pub struct Shown<P> {
    choice: Choice<P>,
}

fn look(_: &impl Module) {}

fn main() {
    look(&Skipped { choice: Choice(1) });
    look(&Shown { choice: Choice(1) });
}
