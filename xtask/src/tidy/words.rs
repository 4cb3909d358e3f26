//! Words that have no place in the repository, for they point at something that a clone does not hold.

use super::Finding;

/// Each with what it would point at.
const WORDS: [(&str, &str); 8] = [
    ("/work/", "a path of one machine"),
    ("../shared", "a folder beside one checkout"),
    ("CONTRACT.md", "a note that is not in the repository"),
    ("DESIGN.md", "a note that is not in the repository"),
    ("FEATURES.md", "a note that is not in the repository"),
    ("STYLE.md", "a note that is not in the repository"),
    ("this session", "the sitting in which a line was written"),
    ("earlier session", "the sitting in which a line was written"),
];

/// This file lists the words, and so may hold them.
const SELF: &str = "xtask/src/tidy/words.rs";

pub(super) fn check(name: &str, text: &str) -> Vec<Finding> {
    if name == SELF {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let words = WORDS.iter().filter(|(word, _)| line.contains(word)).map(|(word, what)| (*word, *what));
        let task = names_task(line).then_some(("issue <number>", "a list of tasks that is not in the repository"));
        findings.extend(words.chain(task).map(|(word, what)| Finding {
            place: name.to_owned(),
            line: index + 1,
            what: format!("`{word}` points at {what}"),
        }));
    }
    findings
}

/// Whether a line speaks of a task by a small number. Numbers of public trackers have more digits.
fn names_task(line: &str) -> bool {
    let line = line.to_lowercase();
    line.match_indices("issue ").any(|(place, word)| {
        let rest = line[place + word.len()..].trim_start_matches('#');
        let digits = rest.chars().take_while(char::is_ascii_digit).count();
        (1..=2).contains(&digits)
    })
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn points_outside() {
        assert_eq!(check("a.md", "see Issue #7\nsee DESIGN.md").len(), 2);
        assert_eq!(check("a.md", "see pytorch issue 12345; an issue; a session of onnxruntime").len(), 0);
    }
}
