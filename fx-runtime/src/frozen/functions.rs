//! Which function a pointer of the live model's points to.
//!
//! A frozen model has code for the functions that its crate is known to hold pointers to, and calls the pointer where it is
//! to none of them. Addresses say enough for that: a function may have two of them, which makes it unknown here and is
//! slower, and two functions may have one, if the compiler found that their code is the same.

use std::fmt;

use super::{Loader, Saver, State};
use crate::Result;

/// A pointer to a function that is called as it is.
pub struct Pointer<F>(F);

impl<F: Copy> Pointer<F> {
    /// A copy of the pointer; `F` says of which type that is, however many boxes and references it is behind.
    pub fn new(function: &F) -> Self {
        Self(*function)
    }

    /// The function.
    pub fn get(&self) -> F {
        self.0
    }
}

impl<F> fmt::Debug for Pointer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::any::type_name::<F>())
    }
}

/// Another program has the function elsewhere, or not at all.
impl<F> State for Pointer<F> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.refuse(std::any::type_name::<F>());
        Ok(())
    }

    fn load(from: &mut Loader) -> Result<Self> {
        from.unknown_choice()
    }
}

/// The name of the first of these functions that has the address.
pub fn known<F: PartialEq>(function: &F, functions: &[(&'static str, F)]) -> Option<&'static str> {
    functions.iter().find(|(_, one)| one == function).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(x: f64) -> f64 {
        x / 2.0
    }

    fn third(x: f64) -> f64 {
        x / 3.0
    }

    fn square(x: f64) -> f64 {
        x * x
    }

    type Function = fn(f64) -> f64;

    #[test]
    fn a_pointer_is_known_by_its_address() {
        let functions: [(_, Function); 2] = [("half", half), ("third", third)];
        let boxed: Box<Function> = Box::new(third);
        assert_eq!(known::<Function>(&boxed, &functions), Some("third"));
        assert_eq!(known::<Function>(&(square as Function), &functions), None);
        assert!((Pointer::<Function>::new(&boxed).get()(6.0) - 2.0).abs() < 1e-12);
    }
}
