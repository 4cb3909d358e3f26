//! What a crate's own build counted: the lines of its report. Unlike a count from outside it knows the crate's features.

use fx_ir::Place;
use fx_passes::Coverage;

/// The models of a report, as counted there.
pub(super) fn counted(report: &str) -> Vec<Coverage> {
    report.lines().filter_map(one).collect()
}

/// "`Net` (src/net.rs:12): 11 of 12 operations understood, 91.6 %".
fn one(line: &str) -> Option<Coverage> {
    let (name, rest) = line.strip_prefix('`')?.split_once("` (")?;
    let (place, rest) = rest.split_once("): ")?;
    let (file, at) = place.rsplit_once(':')?;
    let (counts, _) = rest.split_once(" operations understood")?;
    let (known, all) = counts.split_once(" of ")?;
    let (known, all): (usize, usize) = (known.parse().ok()?, all.parse().ok()?);
    Some(Coverage {
        name: name.to_owned(),
        place: Place { file: file.to_owned(), line: at.parse().ok()? },
        known,
        carried: all.checked_sub(known)?,
        opaque: Vec::new(),
        is_frozen: true,
        is_saved: true,
    })
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn lines_that_count() {
        let found = counted(
            "`Net`: at most 3 tensors\n`Net` (src/a/net.rs:12): 11 of 12 operations understood, 91.6 %\nsrc/a.rs:1: carried\n",
        );
        let counts: Vec<_> =
            found.iter().map(|one| (one.name.as_str(), one.place.line, one.known, one.carried)).collect();
        assert_eq!(counts, [("Net", 12, 11, 1)]);
    }
}
