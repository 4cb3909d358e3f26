//! Links between the pages of the repository, and the table of contents of the book.

use std::path::Path;

use super::Finding;

/// The folder of the book's chapters, and the file that lists them.
const CHAPTERS: &str = "docs/src/";
const SUMMARY: &str = "docs/src/SUMMARY.md";

/// The links of a page that lead nowhere, and whether it is a chapter that `summary` does not list.
pub(super) fn check(root: &Path, name: &str, text: &str, summary: &str) -> Vec<Finding> {
    let folder = root.join(name).parent().map(Path::to_path_buf).unwrap_or_default();
    let mut findings = Vec::new();
    let mut is_code = false;
    for (line, number) in text.lines().zip(1..) {
        is_code ^= line.trim_start().starts_with("```");
        if is_code {
            continue;
        }
        for link in links(line) {
            let path = link.split('#').next().unwrap_or(link);
            let is_ours = !path.is_empty() && !path.contains("://") && !path.contains(' ') && path.contains(['.', '/']);
            if is_ours && !path.contains("::") && !folder.join(path).exists() {
                let what = format!("links to `{path}`, which is not there");
                findings.push(Finding { place: name.to_owned(), line: number, what });
            }
        }
    }
    let chapter = name.strip_prefix(CHAPTERS).filter(|_| name != SUMMARY);
    if let Some(chapter) = chapter.filter(|chapter| !links_of(summary).any(|link| link == *chapter)) {
        let what = format!("`{chapter}` is no chapter of {SUMMARY}");
        findings.push(Finding { place: name.to_owned(), line: 0, what });
    }
    findings
}

/// The text of the table of contents.
pub(super) fn summary(root: &Path) -> String {
    std::fs::read_to_string(root.join(SUMMARY)).unwrap_or_default()
}

fn links_of(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(links)
}

/// The targets of `[text](target)`.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::check;

    #[test]
    fn links_that_lead_nowhere() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let of = |name: &str, text: &str| {
            check(root, name, text, "[a](one.md)").iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            of("a.md", "[x](Cargo.toml) [y](https://a.b/c) [z](#here) [w](src/main.rs#top)"),
            Vec::<String>::new()
        );
        assert_eq!(of("a.md", "\n[x](none.md)"), ["a.md:2: links to `none.md`, which is not there"]);
        assert_eq!(of("a.md", "```\n[x](none.md)\n```"), Vec::<String>::new());
        assert_eq!(of("docs/src/one.md", ""), Vec::<String>::new());
        assert_eq!(of("docs/src/two.md", ""), ["docs/src/two.md: `two.md` is no chapter of docs/src/SUMMARY.md"]);
    }
}
