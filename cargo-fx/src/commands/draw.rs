//! `cargo fx draw`: a model as a picture.

use std::fs;
use std::path::PathBuf;

use clap::ValueEnum;
use serde_json::json;

use crate::Outcome;
use crate::driver::{Model, asked};
use crate::failure::Failure;

/// Draw the graph of a model: SVG, Graphviz' DOT, or Mermaid
///
/// Exit code: 0 done, 2 the model cannot be built, constructed or traced, or the file cannot be written.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo fx draw --model my_crate::Net -o net.svg\n  cargo fx draw --model my_crate::Net --frozen --form \
                  mermaid"
)]
pub(crate) struct Options {
    #[command(flatten)]
    model: Model,
    /// The graph as it is frozen, with packed kernels
    #[arg(long)]
    frozen: bool,
    /// The form; by default what the file's name ends in says, and else SVG
    #[arg(long, value_enum)]
    form: Option<Form>,
    /// The file; without one the drawing is printed
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Form {
    Dot,
    Svg,
    Mermaid,
}

pub(crate) fn run(options: &Options) -> Result<Outcome, Failure> {
    let ending = options.output.as_ref().and_then(|path| path.extension()?.to_str());
    let form = options.form.unwrap_or(match ending {
        Some("dot" | "gv") => Form::Dot,
        Some("mmd" | "mermaid" | "md") => Form::Mermaid,
        _ => Form::Svg,
    });
    let form = form.to_possible_value().map(|form| form.get_name().to_owned());
    let drawn = asked(&options.model, &json!({ "draw": { "form": form } }), options.frozen)?;
    match &options.output {
        Some(path) if drawn.code == 0 => {
            fs::write(path, &drawn.text).map_err(|source| Failure::Write { path: path.clone(), source })?;
            Ok(Outcome::done(String::new()))
        }
        _ => Ok(drawn),
    }
}
