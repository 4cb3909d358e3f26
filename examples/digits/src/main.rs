//! Trains a model of digits in floats, quantizes it after training and quantization-aware, and prints the accuracies.

#![allow(clippy::print_stdout, reason = "it prints its result")]

use digits::Budget;

fn main() -> digits::Result<()> {
    println!("{}", digits::run(Budget { first: 20, further: 30 }, &[1, 2, 3, 4, 5])?);
    Ok(())
}
