//! A pass that was tried on a live graph, and that the build script runs too: this one file is a module of both.

use fx_rewrite::fx_pass;

fx_pass! {
    /// (a + b) * (a + b) is the square of the sum.
    pub SquareOfSum { |a: Tensor, b: Tensor| (a + b) * (a + b) => (a + b).square() }
}
