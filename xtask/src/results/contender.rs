//! One contender: a process that answers `run N` and `check`.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::machine;
use super::workload::Workload;

/// How a contender is started.
#[derive(Clone, Debug)]
pub(super) struct Command {
    /// What it is called in the report.
    pub(super) name: String,
    program: PathBuf,
    args: Vec<String>,
    variant: Option<String>,
}

impl Command {
    /// A variant of `fx-bench`.
    pub(super) fn ours(bench: &Path, variant: &str) -> Self {
        let name = format!("fx {variant}");
        Self { name, program: bench.to_owned(), args: Vec::new(), variant: Some(variant.to_owned()) }
    }

    /// The same under another name.
    pub(super) fn called(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// A rival that the script knows.
    pub(super) fn rival(python: &Path, script: &Path, rival: &str) -> Self {
        let args = [script.to_string_lossy().into_owned(), "--rival".to_owned(), rival.to_owned()].into();
        Self { name: rival.to_owned(), program: python.to_owned(), args, variant: None }
    }

    /// Starts it and waits until it is ready.
    pub(super) fn start(&self, workload: &Workload, device: &str) -> Result<Contender, String> {
        let mut command = std::process::Command::new(&self.program);
        command.args(&self.args).args(["--model", &workload.model, "--batch", &workload.batch.to_string()]);
        command.args(["--dtype", &workload.dtype, "--device", device]);
        if let Some(variant) = &self.variant {
            command.env("FX_VARIANT", variant);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("cannot start: {error}"))?;
        let (Some(commands), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("cannot be talked to".to_owned());
        };
        let said = said_on(child.stderr.take());
        let answers = BufReader::new(answers);
        let mut contender = Contender { child, commands, answers, said: Some(said), ready: Value::Null };
        let line = contender.line()?;
        let ready = line.strip_prefix("ready ").and_then(|json| serde_json::from_str(json).ok());
        contender.ready = ready.ok_or_else(|| format!("it should be ready, and said `{line}`"))?;
        Ok(contender)
    }
}

/// A contender that is ready.
pub(super) struct Contender {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    said: Option<JoinHandle<String>>,
    /// What it said of itself.
    ready: Value,
}

impl Contender {
    /// Milliseconds that it took to make the model ready, the first call not included.
    pub(super) fn prepared_ms(&self) -> f64 {
        self.ready["freeze_ms"].as_f64().unwrap_or(0.0)
    }

    /// Versions of what it is made of, by name.
    pub(super) fn versions(&self) -> BTreeMap<String, String> {
        serde_json::from_value(self.ready["versions"].clone()).unwrap_or_default()
    }

    /// Milliseconds of `calls` calls.
    pub(super) fn run(&mut self, calls: usize) -> Result<Vec<f64>, String> {
        self.ask(&format!("run {calls}"))
    }

    /// The first values of the output, and how long it took to get them.
    pub(super) fn check(&mut self) -> Result<(Vec<f64>, Duration), String> {
        let start = Instant::now();
        let values = self.ask("check")?;
        Ok((values, start.elapsed()))
    }

    /// From here on the peak of memory is counted anew.
    pub(super) fn forget_peak(&self) {
        machine::forget_peak(self.child.id());
    }

    /// Peak of memory in MiB, where the system tells.
    pub(super) fn peak_mib(&self) -> Option<f64> {
        machine::peak_mib(self.child.id())
    }

    fn ask(&mut self, command: &str) -> Result<Vec<f64>, String> {
        let sent = writeln!(self.commands, "{command}").and_then(|()| self.commands.flush());
        sent.map_err(|_| self.last_words())?;
        let line = self.line()?;
        serde_json::from_str(&line).map_err(|_| format!("it answered `{command}` with `{line}`"))
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(count) if count > 0 => Ok(line.trim_end().to_owned()),
            _ => Err(self.last_words()),
        }
    }

    /// What a process that ended had to say.
    fn last_words(&mut self) -> String {
        let _ = self.child.kill();
        let said = self.said.take().and_then(|said| said.join().ok()).unwrap_or_default();
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it ended without a word");
        last.trim().to_owned()
    }
}

impl Drop for Contender {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = writeln!(self.commands, "quit");
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Gathers what a process writes to its standard error, so that it is not held up.
fn said_on(stream: Option<ChildStderr>) -> JoinHandle<String> {
    std::thread::spawn(move || stream.and_then(|stream| std::io::read_to_string(stream).ok()).unwrap_or_default())
}
