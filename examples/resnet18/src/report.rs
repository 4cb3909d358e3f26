//! What the demo tells: tables and excerpts of source, written wherever the caller wants them.

use std::fmt::Debug;
use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use fx_runtime::Graph;

use crate::classes::Class;
use crate::timing::Samples;

/// Writes the heading of a section.
pub fn heading(out: &mut impl Write, text: &str) -> io::Result<()> {
    writeln!(out, "\n{text}\n{}", "-".repeat(text.len()))
}

/// Writes the medians and minima of eager and frozen and how they compare; one row a batch size.
pub fn timings(out: &mut impl Write, rows: &[(i64, [Samples; 2])]) -> io::Result<()> {
    let mut table = table(&["batch", "", "eager ms", "frozen ms", "eager / frozen"]);
    for (batch, [eager, frozen]) in rows {
        for (what, eager, frozen) in
            [("median", eager.median(), frozen.median()), ("minimum", eager.min(), frozen.min())]
        {
            let ratio = format!("{:.2}x", eager / frozen);
            table.add_row([batch.to_string(), what.into(), format!("{eager:.1}"), format!("{frozen:.1}"), ratio]);
        }
    }
    writeln!(out, "{table}")
}

/// Writes a prediction, one row a class.
pub fn classes(out: &mut impl Write, classes: &[Class]) -> io::Result<()> {
    let mut table = table(&["class", "score", "name"]);
    for class in classes {
        let score = format!("{:.4}", class.score);
        table.add_row([class.index.to_string(), score, class.name.clone().unwrap_or_default()]);
    }
    writeln!(out, "{table}")
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(header);
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Number of operations that a model runs, one after the other.
pub fn operations(graph: &Graph) -> usize {
    graph.nodes().into_iter().filter(|&node| graph.node(node).op.opcode().starts_with("call_")).count()
}

/// Number of packed kernels that a frozen model holds, as its `Debug` lists them.
pub fn kernels(frozen: &impl Debug) -> usize {
    let listed = format!("{frozen:?}");
    ["Conv(", "Linear("].iter().map(|kernel| listed.matches(kernel).count()).sum()
}

/// Number of places where generated code calls an operation of libtorch as it is.
pub fn plain(generated: &str) -> usize {
    excerpt(generated, "pub fn try_forward").matches(".f_").count()
}

/// The item of `source` that begins at the line holding `start`, up to the brace that closes it; empty if there is none.
pub fn excerpt<'a>(source: &'a str, start: &str) -> &'a str {
    let Some(at) = source.find(start) else { return "" };
    let begin = source[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let item = &source[begin..];
    let indent = item.len() - item.trim_start_matches(' ').len();
    let end = format!("\n{}}}", &item[..indent]);
    item.find(&end).map_or(item, |close| &item[..close + end.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_ends_with_its_item() {
        let source = "use a;\nimpl A {\n    fn f() {\n        if b {\n        }\n    }\n}\nfn g() {}\n";
        assert_eq!(excerpt(source, "impl A"), "impl A {\n    fn f() {\n        if b {\n        }\n    }\n}");
        assert_eq!(excerpt(source, "fn f"), "    fn f() {\n        if b {\n        }\n    }");
        assert_eq!(excerpt(source, "fn h"), "");
    }

    #[test]
    fn a_table_of_classes() -> io::Result<()> {
        let mut out = Vec::new();
        let cat = Class { index: 281, score: 0.5, name: Some("tabby".into()) };
        classes(&mut out, &[cat])?;
        let text = String::from_utf8_lossy(&out);
        assert!(
            text.lines().last().is_some_and(|line| line.split_whitespace().eq(["281", "0.5000", "tabby"])),
            "{text}"
        );
        Ok(())
    }
}
