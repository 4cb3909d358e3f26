//! `tch::nn` becomes `fx_runtime::nn`, in `use` lines and in paths, code in macros included.

use std::collections::BTreeSet;
use std::ops::Range;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use syn::UseTree;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use super::edit::Edits;
use super::source::Source;

/// The crate whose `nn` has the same names.
const OURS: &str = "fx_runtime";

/// Adds the edits of a file, and yields how many places of it change.
pub(super) fn edit(source: &Source, edits: &mut Edits) -> usize {
    let names = names_of_tch(&source.file);
    let mut paths = Vec::new();
    paths_to_nn(&source.tokens, &names, &mut paths);
    for ident in &paths {
        edits.replace(source.range(ident.span()), OURS);
    }
    let mut uses = Uses { source, names: &names, edits, count: 0 };
    uses.visit_file(&source.file);
    paths.len() + uses.count
}

/// The names that the file has for the crate tch.
fn names_of_tch(file: &syn::File) -> BTreeSet<String> {
    struct Names(BTreeSet<String>);
    impl<'ast> Visit<'ast> for Names {
        fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
            if let UseTree::Rename(rename) = &item.tree
                && rename.ident == "tch"
            {
                self.0.insert(rename.rename.to_string());
            }
        }
        fn visit_item_extern_crate(&mut self, item: &'ast syn::ItemExternCrate) {
            if let Some((_, name)) = item.rename.as_ref().filter(|_| item.ident == "tch") {
                self.0.insert(name.to_string());
            }
        }
    }
    let mut names = Names(BTreeSet::from(["tch".to_owned()]));
    names.visit_file(file);
    names.0
}

/// Finds `tch` wherever `tch::nn` stands at the beginning of a path.
fn paths_to_nn(tokens: &TokenStream, names: &BTreeSet<String>, found: &mut Vec<Ident>) {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => paths_to_nn(&group.stream(), names, found),
            TokenTree::Ident(ident) if names.contains(&ident.to_string()) => {
                let (before, behind) = tokens.split_at(at);
                if is_nn_behind(behind) && begins_path(before) {
                    found.push(ident.clone());
                }
            }
            _ => {}
        }
    }
}

fn is_colon(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == ':')
}

fn is_nn_behind(tokens: &[TokenTree]) -> bool {
    let is_nn = matches!(tokens.get(3), Some(TokenTree::Ident(name)) if name == "nn");
    is_nn && is_colon(tokens.get(1)) && is_colon(tokens.get(2))
}

/// Returns whether a path begins behind these tokens: they do not end in `a::`.
fn begins_path(before: &[TokenTree]) -> bool {
    let [.., name, first, second] = before else { return true };
    let goes_on = is_colon(Some(first)) && is_colon(Some(second));
    !(goes_on && matches!(name, TokenTree::Ident(name) if name != "use" && name != "return" && name != "in"))
}

/// `use tch::{nn, Tensor}`, and `use tch::*`.
struct Uses<'s> {
    source: &'s Source,
    names: &'s BTreeSet<String>,
    edits: &'s mut Edits,
    count: usize,
}

impl<'ast> Visit<'ast> for Uses<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let trees: Vec<&UseTree> = match &item.tree {
            UseTree::Group(group) => group.items.iter().collect(),
            tree => vec![tree],
        };
        for tree in trees {
            let UseTree::Path(path) = tree else { continue };
            if !self.names.contains(&path.ident.to_string()) {
                continue;
            }
            match &*path.tree {
                UseTree::Group(group) => self.group(item, path, group),
                UseTree::Glob(_) => self.glob(item),
                _ => {}
            }
        }
        visit::visit_item_use(self, item);
    }
}

impl Uses<'_> {
    fn group(&mut self, item: &syn::ItemUse, path: &syn::UsePath, group: &syn::UseGroup) {
        let (ours, rest): (Vec<&UseTree>, Vec<&UseTree>) = group.items.iter().partition(|tree| is_nn(tree));
        if ours.is_empty() {
            return;
        }
        self.count += 1;
        if rest.is_empty() {
            return self.edits.replace(self.source.range(path.ident.span()), OURS);
        }
        let texts: Vec<&str> = ours.iter().map(|tree| self.text(tree.span())).collect();
        let moved = match texts.as_slice() {
            [one] => format!("{OURS}::{one}"),
            many => format!("{OURS}::{{{}}}", many.join(", ")),
        };
        if matches!(item.tree, UseTree::Group(_)) {
            self.edits.insert(self.source.range(path.ident.span()).start, format!("{moved}, "));
        } else {
            self.statement(item, &moved);
        }
        self.leave_out(group, &rest);
    }

    /// Puts a `use` of its own before the item, with the item's attributes and visibility.
    fn statement(&mut self, item: &syn::ItemUse, moved: &str) {
        let first = item.span();
        let head = self.source.between(first, item.use_token.span).to_owned();
        let colons = if item.leading_colon.is_some() { "::" } else { "" };
        let at = self.source.range(first).start;
        let line = self.source.line_like(at);
        self.edits.insert(at, format!("{head} {colons}{moved};{line}"));
    }

    /// Takes out of the braces what is not in `rest`.
    fn leave_out(&mut self, group: &syn::UseGroup, rest: &[&UseTree]) {
        let braces = group.brace_token.span;
        let (open, close) = (self.source.range(braces.open()), self.source.range(braces.close()));
        let inner = self.source.text.get(open.end..close.start).unwrap_or_default();
        if inner.contains('\n') || inner.contains("/*") {
            return group.items.pairs().filter(|pair| is_nn(pair.value())).for_each(|pair| {
                let comma = pair.punct().map(|comma| self.source.range(comma.span).end);
                let range = self.source.range(pair.value().span());
                self.remove(range.start..comma.unwrap_or(range.end));
            });
        }
        let kept: Vec<&str> = rest.iter().map(|tree| self.text(tree.span())).collect();
        match kept.as_slice() {
            [one] if *one != "self" && !one.starts_with("self ") => {
                self.edits.replace(open.start..close.end, (*one).to_owned());
            }
            many => self.edits.replace(open.end..close.start, many.join(", ")),
        }
    }

    /// Removes a part of a list that goes over several lines.
    fn remove(&mut self, range: Range<usize>) {
        let line = self.source.whole_line(range.clone());
        let behind = self.source.text.get(range.end..).unwrap_or_default();
        let spaces = behind.len() - behind.trim_start_matches(' ').len();
        let end = if line == range { range.end + spaces } else { line.end };
        self.edits.replace(line.start..end, "");
    }

    /// `use tch::*` brings in tch's `nn`, which a line of its own overrides.
    fn glob(&mut self, item: &syn::ItemUse) {
        let is_used = self.source.text.contains("nn::") && !self.source.text.contains("fx_runtime::nn");
        if is_used && self.count == 0 {
            self.count += 1;
            self.statement(item, &format!("{OURS}::nn"));
        }
    }

    fn text(&self, span: Span) -> &str {
        self.source.text.get(self.source.range(span)).unwrap_or_default()
    }
}

fn is_nn(tree: &UseTree) -> bool {
    match tree {
        UseTree::Path(path) => path.ident == "nn",
        UseTree::Name(name) => name.ident == "nn",
        UseTree::Rename(rename) => rename.ident == "nn",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Edits, Source, edit};

    fn check(before: &str, after: &str) {
        let adopted = |text: &str| {
            let source = Source::parse("a.rs".into(), "a.rs", text.to_owned()).ok()?;
            let mut edits = Edits::default();
            edit(&source, &mut edits);
            Some(edits.applied(text))
        };
        assert_eq!(adopted(before).as_deref(), Some(after));
        assert_eq!(adopted(after).as_deref(), Some(after), "a second time");
    }

    #[test]
    fn lines_and_groups() {
        check("use tch::nn;\n", "use fx_runtime::nn;\n");
        check("pub use ::tch::nn::{Module, *};\n", "pub use ::fx_runtime::nn::{Module, *};\n");
        check("use tch::{nn, Tensor};\n", "use fx_runtime::nn;\nuse tch::Tensor;\n");
        check("use tch::{nn, nn::Module};\n", "use fx_runtime::{nn, nn::Module};\n");
        check(
            "use tch::{Device, nn::{self, Module}, Kind, nn::Path as P}; // all\n",
            "use fx_runtime::{nn::{self, Module}, nn::Path as P};\nuse tch::{Device, Kind}; // all\n",
        );
        check(
            "use std::{fmt, io};\nuse tch::{self, nn};\n",
            "use std::{fmt, io};\nuse fx_runtime::nn;\nuse tch::{self};\n",
        );
        check("use {std::fmt, tch::{nn, Tensor}};\n", "use {std::fmt, fx_runtime::nn, tch::Tensor};\n");
        check(
            "mod a {\n    #[cfg(test)]\n    pub(crate) use tch::{nn, Kind};\n}\n",
            "mod a {\n    #[cfg(test)]\n    pub(crate) use fx_runtime::nn;\n    #[cfg(test)]\n    pub(crate) use tch::Kind;\n}\n",
        );
    }

    #[test]
    fn lists_over_lines_keep_their_comments() {
        check(
            "use tch::{\n    nn::{\n        self, Module,\n    },\n    Kind, // dtypes\n    Tensor,\n};\n",
            "use fx_runtime::nn::{\n        self, Module,\n    };\nuse tch::{\n    Kind, // dtypes\n    Tensor,\n};\n",
        );
    }

    #[test]
    fn paths_anywhere() {
        check(
            "fn f(p: &tch::nn::Path) -> Vec<tch::nn::Linear> { vec![tch::nn::linear(p, 1, 2, Default::default())] }\n",
            "fn f(p: &fx_runtime::nn::Path) -> Vec<fx_runtime::nn::Linear> { vec![fx_runtime::nn::linear(p, 1, 2, Default::default())] }\n",
        );
        check(
            "use mine::tch::nn;\nfn f(x: ::tch::nn::Linear) {}\n",
            "use mine::tch::nn;\nfn f(x: ::fx_runtime::nn::Linear) {}\n",
        );
        check("use tch as t;\ntype L = t::nn::Linear;\n", "use tch as t;\ntype L = fx_runtime::nn::Linear;\n");
    }

    #[test]
    fn globs_are_overridden() {
        check("use tch::*;\ntype L = nn::Linear;\n", "use fx_runtime::nn;\nuse tch::*;\ntype L = nn::Linear;\n");
        check("use tch::*;\ntype T = Tensor;\n", "use tch::*;\ntype T = Tensor;\n");
    }
}
