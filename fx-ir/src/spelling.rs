//! The spelling of a Rust type between angle brackets, where the text form has it.

/// The distance to the `>` that closes what was opened before the text; an arrow's does not count.
pub(crate) fn spelling_length(text: &str) -> Option<usize> {
    let (mut depth, mut before) = (0_usize, ' ');
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if before == '-' => {}
            '>' if depth == 0 => return Some(at),
            '>' => depth -= 1,
            '\n' => return None,
            _ => {}
        }
        before = c;
    }
    None
}
