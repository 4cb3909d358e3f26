//! What one Rust source file must be like: short, opened by its `//!`, and without unsafe code outside its one place.

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use super::Finding;

/// The most lines that a file may have, tests not counted.
const FILE_LINES: usize = 350;

/// The most lines that a function may have, from its `fn` to its last brace.
const FUNCTION_LINES: usize = 60;

/// A file with this line is a table, one fact a row, and may be of any length.
const TABLE: &str = "// tidy: table";

/// The one module that calls C, where each unsafe block says why it is sound.
const UNSAFE: [&str; 2] = ["fx-runtime/src/ffi/", "tests/bodies/"];

pub(super) fn check(name: &str, text: &str) -> Vec<Finding> {
    let finding = |line, what| Finding { place: name.to_owned(), line, what };
    let mut findings = Vec::new();
    if !text.trim_start().starts_with("//!") {
        findings.push(finding(1, "the file does not open with `//!`: one sentence, then the idea".to_owned()));
    }
    let file = match syn::parse_file(text) {
        Ok(file) => file,
        Err(error) => {
            findings.push(finding(error.span().start().line, format!("does not parse: {error}")));
            return findings;
        }
    };
    if !is_test_file(name) && !text.lines().any(|line| line.trim() == TABLE) {
        let mut lengths = Lengths::default();
        lengths.visit_file(&file);
        let lines = text.lines().count() - lengths.test_lines;
        if lines > FILE_LINES {
            findings.push(finding(0, format!("{lines} lines of production code, more than {FILE_LINES}")));
        }
        findings.extend(lengths.long.into_iter().map(|(line, function, lines)| {
            finding(line, format!("`{function}` has {lines} lines, more than {FUNCTION_LINES}"))
        }));
    }
    if !UNSAFE.iter().any(|place| name.starts_with(place)) {
        let mut lines = Vec::new();
        // A file that syn has parsed is a token stream.
        unsafe_lines(text.parse().unwrap_or_default(), &mut lines);
        findings.extend(lines.into_iter().map(|line| finding(line, format!("`unsafe` outside `{}`", UNSAFE[0]))));
    }
    findings
}

/// Files that hold nothing but tests.
fn is_test_file(name: &str) -> bool {
    name.split('/').any(|part| part == "tests" || part == "tests.rs")
}

/// The lines of functions and of test modules.
#[derive(Default)]
struct Lengths {
    test_lines: usize,
    /// Line, name and length of each function that is too long.
    long: Vec<(usize, String, usize)>,
}

impl Lengths {
    fn function(&mut self, sig: &syn::Signature, block: &syn::Block) {
        let first = sig.fn_token.span.start().line;
        let lines = block.span().end().line + 1 - first;
        if lines > FUNCTION_LINES {
            self.long.push((first, sig.ident.to_string(), lines));
        }
    }
}

impl<'ast> Visit<'ast> for Lengths {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attrs = match item {
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if attrs.iter().any(is_cfg_test) {
            let span = item.span();
            self.test_lines += span.end().line + 1 - span.start().line;
        } else {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

fn is_cfg_test(attr: &syn::Attribute) -> bool {
    attr.path().is_ident("cfg") && attr.parse_args::<syn::Ident>().is_ok_and(|ident| ident == "test")
}

/// The lines of the word `unsafe` as a token: not in comments and strings, but in macros' arguments.
fn unsafe_lines(tokens: TokenStream, lines: &mut Vec<usize>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) if ident == "unsafe" => lines.push(ident.span().start().line),
            TokenTree::Group(group) => unsafe_lines(group.stream(), lines),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FILE_LINES, FUNCTION_LINES, check};

    #[track_caller]
    fn found(name: &str, text: &str, expected: &[&str]) {
        let findings: Vec<_> = check(name, text).iter().map(ToString::to_string).collect();
        assert_eq!(findings.len(), expected.len(), "{findings:?}");
        for (finding, expected) in findings.iter().zip(expected) {
            assert!(finding.contains(expected), "`{expected}` is not in `{finding}`");
        }
    }

    #[test]
    fn opening() {
        found("a/src/b.rs", "//! Good.\nfn f() {}\n", &[]);
        found("a/src/b.rs", "fn f() {}\n", &["a/src/b.rs:1: the file does not open"]);
    }

    #[test]
    fn lengths() {
        let body = "    g();\n".repeat(FUNCTION_LINES);
        found(
            "a/src/b.rs",
            &format!("//! A.\nimpl S {{\nfn long() {{\n{body}}}\n}}\n"),
            &["b.rs:3: `long` has 62 lines, more than 60"],
        );
        let many = "fn f() {}\n".repeat(FILE_LINES - 1);
        found("a/src/b.rs", &format!("//! A.\n{many}"), &[]);
        found("a/src/b.rs", &format!("//! A.\n{many}fn g() {{}}\n"), &["351 lines of production code, more than 350"]);
        found("a/src/b.rs", &format!("//! A.\n// tidy: table\n{many}fn g() {{}}\n"), &[]);
        found("a/src/b.rs", &format!("//! A.\n{many}#[cfg(test)]\nmod tests {{\n fn f() {{}}\n}}\n"), &[]);
        found("a/src/tests.rs", &format!("//! A.\n{many}{many}"), &[]);
    }

    #[test]
    fn unsafe_code() {
        let text = "//! An unsafe comment.\nfn f() { let s = \"unsafe\";\n m!(unsafe {}) }\n";
        found("a/src/b.rs", text, &["b.rs:3: `unsafe` outside"]);
        found("fx-runtime/src/ffi/mkldnn.rs", text, &[]);
    }
}
