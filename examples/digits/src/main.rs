//! Trains a model of digits in floats, quantizes it after training and quantization-aware, and prints the accuracies.

#![expect(clippy::print_stdout, reason = "it prints its result")]

fn main() -> digits::Result<()> {
    let report = digits::run(digits::Budget { first: 15, further: 15 })?;
    println!("{report}");
    Ok(())
}
