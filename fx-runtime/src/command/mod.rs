//! What `cargo fx` does with a live model: [`command`], which the program that it writes calls.
//!
//! That program holds nothing but the call that constructs the model; what is asked comes as JSON, its one argument
//! (`request.rs`), and what is answered goes to standard output (`answer.rs`).

mod answer;
mod bench;
mod input;
mod progress;
mod quantization;
mod request;
mod view;

use std::fmt::Display;
use std::io::{self, Write as _};
use std::process::ExitCode;

use tch::{Device, nn};

use self::answer::Answer;
#[doc(hidden)]
pub use self::input::random_input;
use self::request::Request;
use crate::graph_module::GraphModule;
use crate::{Error, Result};

/// Why a command fails, whatever failed.
type Failure = Box<dyn std::error::Error>;

/// How a command ends that could not do what it was asked, as `cargo fx` ends.
const FAILED: u8 = 2;

/// Answers the question that the program's argument asks about a model: the `main` of the program that `cargo fx` writes.
///
/// The model is constructed with fresh weights, the same in each run, and its weights are loaded where the question names a file.
///
/// ```no_run
/// # use fx_runtime::GraphModule;
/// # struct Net;
/// # impl Net {
/// #     fn new(_: &fx_runtime::nn::Path) -> Net { Net }
/// #     fn graph_module(&self) -> fx_runtime::Result<GraphModule> { unimplemented!() }
/// # }
/// fn main() -> std::process::ExitCode {
///     fx_runtime::command(|p| Ok(Net::new(p).graph_module()?))
/// }
/// ```
pub fn command(construct: impl FnOnce(&nn::Path<'_>) -> Result<GraphModule, Failure>) -> ExitCode {
    progress::report();
    let answer = std::env::args().nth(1).ok_or_else(no_question).and_then(|question| answered(&question, construct));
    match answer.and_then(|answer| printed(&answer)) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => told(&failure),
    }
}

fn answered(
    question: &str,
    construct: impl FnOnce(&nn::Path<'_>) -> Result<GraphModule, Failure>,
) -> Result<Answer, Failure> {
    let request = Request::parse(question)?;
    tch::manual_seed(0);
    let vs = nn::VarStore::new(Device::Cpu);
    let module = construct(&vs.root())?;
    if let Some(weights) = &request.weights {
        crate::load_weights(&vs, weights)?;
    }
    module.eval();
    tch::no_grad(|| answer::to(&request, module))
}

fn no_question() -> Failure {
    let what = "running this program by itself".to_owned();
    Error::Unsupported { what, help: "`cargo fx graph --help` says how it is run".to_owned() }.into()
}

fn printed(answer: &Answer) -> Result<u8, Failure> {
    match io::stdout().lock().write_all(answer.text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(answer.code),
    }
}

fn told(failure: &dyn Display) -> ExitCode {
    let _ = writeln!(io::stderr(), "error: {failure}");
    ExitCode::from(FAILED)
}

#[cfg(test)]
mod tests;
