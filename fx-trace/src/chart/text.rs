//! A chart in letters: a line for each bar, for a terminal.

use std::fmt::Write as _;

use super::{Chart, fitted, short_number};

/// The parts of a cell that a bar can end in, in eighths.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

impl Chart {
    /// The chart in lines of at most `width` letters: for each name the bars of control, test and difference, the last with
    /// its sign.
    pub fn text(&self, width: usize) -> String {
        let label = self.series.iter().map(|series| series.chars().count()).max().unwrap_or(0).min(16);
        let mut text = format!("{} ({})\n", self.title, self.axis);
        if self.groups.is_empty() {
            text += "  no difference\n";
        }
        let largest = self.groups.iter().flat_map(|group| group.bars).map(f64::abs).fold(0.0, f64::max);
        // Two for the indentation, one on each side of the bar, nine for the number.
        let room = width.saturating_sub(label + 13).max(8);
        for (group, name) in self.groups.iter().zip(self.labels(width)) {
            let _ = writeln!(text, "{name}");
            for ((series, value), is_difference) in self.series.iter().zip(group.bars).zip([false, false, true]) {
                let number = short_number(value);
                let number = if is_difference && value > 0.0 { format!("+{number}") } else { number };
                let series = fitted(series, label);
                let line = format!("  {series:<label$} {number:>9} {}", bar(value.abs() / largest, room));
                let _ = writeln!(text, "{}", line.trim_end());
            }
        }
        text
    }
}

/// A bar of a share of the room.
fn bar(share: f64, room: usize) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a line"
    )]
    let eighths = (share.clamp(0.0, 1.0) * room as f64 * 8.0).round() as usize;
    let mut bar = "█".repeat(eighths / 8);
    bar.extend((eighths % 8).checked_sub(1).and_then(|part| EIGHTHS.get(part)));
    bar
}
