//! Shell scripts that tests run in place of programs.
//!
//! A process of its own writes them: what this one has open for writing, a child that another test starts just then has
//! open too, and a file that is open for writing cannot be run.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a script that can be run.
pub(crate) fn write(path: &Path, commands: &str) {
    let mut shell = Command::new("sh");
    shell.args(["-c", "cat > \"$0\" && chmod +x \"$0\""]).arg(path).stdin(Stdio::piped());
    let mut child = shell.spawn().unwrap();
    write!(child.stdin.take().unwrap(), "#!/bin/sh\n{commands}\n").unwrap();
    assert!(child.wait().unwrap().success(), "the shell writes `{}`", path.display());
}
