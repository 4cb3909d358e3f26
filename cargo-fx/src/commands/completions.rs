//! `cargo fx completions`: what a shell needs to complete the other commands.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::{Cli, Outcome};

/// Print a script that teaches your shell to complete `cargo-fx`
///
/// Bash:  cargo fx completions bash > ~/.local/share/bash-completion/completions/cargo-fx
/// Zsh:   cargo fx completions zsh > a file `_cargo-fx` in a folder of your `fpath`
/// Fish:  cargo fx completions fish > ~/.config/fish/completions/cargo-fx.fish
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Options {
    /// For which shell
    shell: Shell,
}

pub(crate) fn run(options: &Options) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "cargo-fx", &mut script);
    Outcome::done(String::from_utf8_lossy(&script).into_owned())
}
