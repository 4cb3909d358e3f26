//! The lines that a comparing script and `fx-bench` exchange, one command and one answer each.
//!
//! ```text
//! <- "ready {json}"                        once the model is loaded and frozen
//! -> "run N"       <- "[ms, ms, ...]"      one untimed call, then N timed ones, each synchronised
//! -> "check"       <- "[v0, ..., v7]"      first 8 values of the output, as f32
//! -> "output"      <- "[v0, v1, ...]"      all values of the output, as f32
//! -> "quit"
//! ```

use std::error::Error;
use std::io::{BufRead, Write};
use std::time::Instant;

use fx_runtime::{Kind, Tensor};
use serde_json::{Value, json};

/// Values of the output that `check` answers with.
const CHECKED: i64 = 8;

/// One contender.
#[expect(missing_debug_implementations, reason = "two closures have nothing to show")]
pub struct Contender<'a> {
    /// Runs the model once.
    pub call: &'a dyn Fn() -> Result<Tensor, fx_runtime::Error>,
    /// Waits until the device has done all that it was given.
    pub synchronize: &'a dyn Fn(),
}

impl Contender<'_> {
    /// Says `ready`, then obeys `commands` until `quit` or their end.
    ///
    /// A command that is not known, and a model that fails, end it with an error.
    pub fn serve(&self, ready: &Value, commands: impl BufRead, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
        writeln!(out, "ready {ready}")?;
        out.flush()?;
        for command in commands.lines() {
            let command = command?;
            let answer = match command.split_whitespace().collect::<Vec<_>>().as_slice() {
                ["run", calls] => self.run(calls.parse().map_err(|e| format!("`{command}`: {e}"))?)?,
                ["check"] => self.values(Some(CHECKED))?,
                ["output"] => self.values(None)?,
                ["quit"] => break,
                _ => return Err(format!("unknown command `{command}`; there are: run N, check, output, quit").into()),
            };
            writeln!(out, "{answer}")?;
            out.flush()?;
        }
        Ok(())
    }

    /// Milliseconds of `calls` calls, after one that is not timed.
    fn run(&self, calls: usize) -> Result<Value, fx_runtime::Error> {
        self.milliseconds()?;
        Ok(json!((0..calls).map(|_| self.milliseconds()).collect::<Result<Vec<_>, _>>()?))
    }

    fn milliseconds(&self) -> Result<f64, fx_runtime::Error> {
        let start = Instant::now();
        drop((self.call)()?);
        (self.synchronize)();
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }

    /// The values of the output, at most so many.
    fn values(&self, most: Option<i64>) -> Result<Value, Box<dyn Error>> {
        let output = (self.call)()?.f_flatten(0, -1)?;
        let count = output.size1()?;
        let count = most.map_or(count, |most| most.min(count));
        Ok(json!(Vec::<f32>::try_from(output.f_narrow(0, 0, count)?.f_to_kind(Kind::Float)?)?))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn talk(commands: &str) -> (Result<String, String>, usize) {
        let calls = Cell::new(0);
        let contender = Contender {
            call: &|| {
                calls.set(calls.get() + 1);
                Ok(Tensor::from_slice(&[0.5f32; 10]).view([2, 5]))
            },
            synchronize: &|| (),
        };
        let mut out = Vec::new();
        let served = contender.serve(&json!({"model": "m"}), commands.as_bytes(), &mut out);
        let said = String::from_utf8_lossy(&out).into_owned();
        (served.map(|()| said).map_err(|e| e.to_string()), calls.get())
    }

    #[test]
    fn runs_one_call_more_than_asked() {
        let (said, calls) = talk("run 3\nquit\nrun 9\n");
        assert_eq!(calls, 4);
        let said = said.unwrap_or_default();
        let (ready, times) = said.split_once('\n').unwrap_or_default();
        assert_eq!(ready, r#"ready {"model":"m"}"#);
        assert_eq!(serde_json::from_str::<Vec<f64>>(times).map(|times| times.len()).ok(), Some(3), "{times}");
    }

    #[test]
    fn checks_eight_values() {
        let (said, _) = talk("check\n");
        assert_eq!(said.as_deref().map(|said| said.lines().nth(1)), Ok(Some("[0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5]")));
    }

    #[test]
    fn gives_the_whole_output() {
        let (said, _) = talk("output\n");
        assert_eq!(
            said.as_deref().map(|said| said.lines().nth(1)),
            Ok(Some("[0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5]"))
        );
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        assert_eq!(
            talk("walk\n").0.err().as_deref(),
            Some("unknown command `walk`; there are: run N, check, output, quit")
        );
        assert!(talk("run fast\n").0.is_err());
    }
}
