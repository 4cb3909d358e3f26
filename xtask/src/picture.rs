//! `cargo xtask picture`: the way from source to kernels, as an SVG for the README and the book.
//!
//! Its colours follow the reader's choice of dark or light, which browsers tell an image. A test says where the file is not
//! what this writes.

use std::fmt::Write as _;
use std::fs;

use crate::failure::{Failure, Result};
use crate::workspace::Workspace;

/// The file, from the workspace on.
const PATH: &str = "docs/src/pipeline.svg";

/// `picture` can be told nothing yet.
#[derive(clap::Args)]
pub(crate) struct Options {}

pub(crate) fn run(workspace: &Workspace, _: &Options) -> Result<()> {
    let path = workspace.root.join(PATH);
    fs::write(&path, svg()).map_err(|error| Failure::file("write", &path, &error))
}

/// A row of the picture: what happens when.
struct Lane {
    title: &'static str,
    steps: [Step; 4],
}

/// A box: what is done, and two lines of what it means.
struct Step {
    name: &'static str,
    lines: [&'static str; 2],
}

const fn step(name: &'static str, first: &'static str, second: &'static str) -> Step {
    Step { name, lines: [first, second] }
}

/// The nodes are those of ResNet-18, as `cargo fx view` counts them.
const LANES: [Lane; 2] = [
    Lane {
        title: "cargo build: no weights, no libtorch",
        steps: [
            step("your forward", "src/model.rs,", "as you wrote it"),
            step("trace", "a graph that keeps if, for", "and match: 71 nodes"),
            step("passes", "clean, recognise, fold,", "fuse, pack: 26 nodes"),
            step("generated type", "plain Rust in OUT_DIR,", "compiled with your crate"),
        ],
    },
    Lane {
        title: "run time: nothing is traced or compiled",
        steps: [
            step("weights", "a .safetensors file,", "or a model in training"),
            step("freeze", "folds and packs", "weights, once"),
            step("forward", "one call a kernel,", "from many threads"),
            step("kernels", "oneDNN, MKL, AMX,", "loops of fx, ATen"),
        ],
    },
];

const WIDTH: usize = 192;
const HEIGHT: usize = 76;
const GAP: usize = 32;
const MARGIN: usize = 16;
const LANE: usize = 136;

const STYLE: &str = "\
text { font-family: system-ui, sans-serif; font-size: 13px; fill: #1f2328 }\n\
.name { font-weight: 600; font-size: 15px }\n\
.lane { fill: #59636e }\n\
rect { fill: #f6f8fa; stroke: #59636e }\n\
path { fill: none; stroke: #59636e; stroke-width: 1.5 }\n\
.head { fill: #59636e; stroke: none }\n\
@media (prefers-color-scheme: dark) {\n\
text { fill: #f0f6fc }\n\
.lane { fill: #9198a1 }\n\
rect { fill: #212830; stroke: #9198a1 }\n\
path { stroke: #9198a1 }\n\
.head { fill: #9198a1 }\n\
}\n";

fn svg() -> String {
    let width = 2 * MARGIN + 4 * WIDTH + 3 * GAP;
    let height = 2 * LANE;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\">\n<title>The way from source to kernels</title>\n<style>\n{STYLE}</style>\n\
         <defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto\"><path class=\"head\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n"
    );
    for (number, lane) in LANES.iter().enumerate() {
        let top = number * LANE + 32;
        text(&mut out, "lane", (MARGIN, top - 10), lane.title);
        for (at, step) in lane.steps.iter().enumerate() {
            let left = MARGIN + at * (WIDTH + GAP);
            let _ = writeln!(out, "<rect x=\"{left}\" y=\"{top}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"6\"/>");
            text(&mut out, "name", (left + 12, top + 24), step.name);
            text(&mut out, "line", (left + 12, top + 45), step.lines[0]);
            text(&mut out, "line", (left + 12, top + 63), step.lines[1]);
            if at > 0 {
                let middle = top + HEIGHT / 2;
                arrow(&mut out, &format!("M{} {middle}H{}", left - GAP + 4, left - 4));
            }
        }
    }
    // The generated type is what `freeze` makes and `forward` runs.
    let (from, to) = (MARGIN + 3 * (WIDTH + GAP) + WIDTH / 2, MARGIN + WIDTH + GAP + WIDTH / 2);
    let (below, middle, above) = (32 + HEIGHT + 4, 32 + HEIGHT + 14, LANE + 32 - 4);
    arrow(&mut out, &format!("M{from} {below}V{middle}H{to}V{above}"));
    out + "</svg>\n"
}

/// Writing to a string cannot fail.
fn text(out: &mut String, class: &str, (x, y): (usize, usize), text: &str) {
    let _ = writeln!(out, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{text}</text>");
}

fn arrow(out: &mut String, path: &str) {
    let _ = writeln!(out, "<path marker-end=\"url(#head)\" d=\"{path}\"/>");
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{PATH, svg};
    use crate::workspace::Workspace;

    #[test]
    fn the_picture_is_up_to_date() {
        let file = fs::read_to_string(Workspace::of_this_build().root.join(PATH)).unwrap_or_default();
        assert!(file == svg(), "`cargo xtask picture` writes `{PATH}` anew");
    }
}
