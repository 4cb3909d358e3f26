//! Python and its pip, which fetch and unpack wheels.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::folder::{is_right, wrong_version};
use super::{Host, VERSION};
use crate::failure::{Failure, Result};

/// Prints the version and the folder of the installed PyTorch.
const PRINT_PYTORCH: &str = "import os, torch; print(torch.__version__); print(os.path.dirname(torch.__file__))";

/// How many of pip's last lines are shown when it fails.
const LAST_LINES: usize = 6;

/// What pip says when it cannot reach its index, in the wording of its versions.
const NO_NETWORK: [&str; 7] = [
    "name resolution",
    "NewConnectionError",
    "Could not fetch URL",
    "Connection",
    "from versions: none",
    "timed out",
    "Network is unreachable",
];

/// A Python interpreter.
pub(super) struct Python {
    program: PathBuf,
    host: Host,
}

impl Python {
    /// The first of `python3` and `python` on the path.
    pub(super) fn find(host: &Host) -> Result<Self> {
        let folders: Vec<PathBuf> = env::split_paths(&host.path).collect();
        let found = ["python3", "python"]
            .iter()
            .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
            .find(|program| program.is_file());
        match found {
            Some(program) => Ok(Self { program, host: host.clone() }),
            None => Err(Failure::new("there is no Python 3, which fetches libtorch")
                .looked(format!("looked for `python3` and `python` on PATH: {}", host.path.to_string_lossy()))
                .help("install Python 3 with pip (Debian, Ubuntu: `apt install python3 python3-pip`)")
                .help(format!("or unpack libtorch {VERSION} yourself and let LIBTORCH name its folder"))),
        }
    }

    /// The folder of the installed PyTorch, which must be of our version.
    pub(super) fn pytorch(&self) -> Result<PathBuf> {
        let output = self.output(self.command().args(["-c", PRINT_PYTORCH]))?;
        if !output.status.success() {
            return Err(Failure::new("LIBTORCH_USE_PYTORCH is set, but this Python has no PyTorch")
                .looked(format!("looked with `{}`", self.program.display()))
                .looked_all(last_lines(&output.stderr))
                .help(format!("`{} -m pip install torch=={VERSION}`", self.program.display()))
                .help("or unset LIBTORCH_USE_PYTORCH: `cargo xtask setup` then fetches what is needed"));
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines = text.lines();
        match (lines.next(), lines.next()) {
            (Some(version), _) if !is_right(version) => {
                Err(wrong_version(&format!("the PyTorch of `{}`", self.program.display()), version))
            }
            (Some(_), Some(home)) => Ok(PathBuf::from(home)),
            _ => Err(Failure::new("cannot read where PyTorch is").looked(format!("Python printed: {text}"))),
        }
    }

    /// That there is a pip, asked before anything is begun.
    pub(super) fn check_pip(&self) -> Result<()> {
        let output = self.output(self.command().args(["-m", "pip", "--version"]))?;
        if output.status.success() {
            return Ok(());
        }
        Err(Failure::new("this Python has no pip, which fetches libtorch")
            .looked(format!("looked with `{} -m pip --version`", self.program.display()))
            .looked_all(last_lines(&output.stderr))
            .help("install pip (Debian, Ubuntu: `apt install python3-pip`; elsewhere: `python3 -m ensurepip`)")
            .help(format!("or unpack libtorch {VERSION} yourself and let LIBTORCH name its folder")))
    }

    /// Runs pip, with its files of passage in `scratch`. Its progress goes to the terminal. A failure shows `args` and
    /// spares the reader `more`.
    pub(super) fn pip(&self, args: &[&str], more: &[String], scratch: &Path) -> Result<()> {
        let mut command = self.command();
        command.args(["-m", "pip", "--disable-pip-version-check"]).args(args).args(more).env("TMPDIR", scratch);
        let output = self.output(command.stdout(Stdio::inherit()).stderr(Stdio::piped()))?;
        if output.status.success() {
            return Ok(());
        }
        let lines = last_lines(&output.stderr);
        let said = String::from_utf8_lossy(&output.stderr);
        let failure = Failure::new(format!("pip could not fetch libtorch ({})", output.status))
            .looked(format!("ran `{} -m pip {}`; it said:", self.program.display(), args.join(" ")))
            .looked_all(lines);
        Err(if NO_NETWORK.iter().any(|words| said.contains(words)) {
            failure
                .help("the package index was not reached: check the network, and HTTPS_PROXY or PIP_INDEX_URL if used")
                .help(format!("or bring libtorch {VERSION} from elsewhere and let LIBTORCH name its folder"))
        } else {
            failure
                .help("upgrade pip if it is older than 20 (`python3 -m pip install --upgrade pip`) and try again")
                .help(format!("or unpack libtorch {VERSION} yourself and let LIBTORCH name its folder"))
        })
    }

    /// Unpacks parts of a wheel, each a pair of a name in the wheel (a folder's ends in `/`) and a path.
    pub(super) fn unpack(&self, wheel: &Path, parts: &[(&str, &Path)]) -> Result<()> {
        let mut command = self.command();
        command.args(["-c", include_str!("unpack.py")]).arg(wheel);
        command.args(parts.iter().map(|(from, to)| format!("{from}={}", to.display())));
        let output = self.output(&mut command)?;
        if output.status.success() {
            return Ok(());
        }
        Err(Failure::new(format!("cannot unpack `{}`", wheel.display()))
            .looked_all(last_lines(&output.stderr))
            .help("run `cargo xtask setup` again: what was begun has been removed"))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env("PATH", &self.host.path);
        command
    }

    fn output(&self, command: &mut Command) -> Result<Output> {
        command.output().map_err(|error| Failure::file("run", &self.program, &error))
    }
}

/// The last lines of what a tool printed, blank ones left out.
fn last_lines(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].iter().map(|line| format!("| {line}")).collect()
}
