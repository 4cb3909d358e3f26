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
    for (first, last) in &paths {
        edits.replace(source.range(first.span()).start..source.range(last.span()).end, OURS);
    }
    let mut uses = Uses { source, names: &names, edits, count: 0 };
    uses.visit_file(&source.file);
    paths.len() + uses.count
}

/// The names that a file has for the crate tch.
struct Names {
    names: BTreeSet<String>,
    /// Whether it is an item of the file, by `extern crate`, that paths reach from `self` or `crate` too.
    is_item: bool,
}

impl Names {
    fn has(&self, name: &Ident) -> bool {
        self.names.contains(&name.to_string())
    }

    /// Whether the name of tch may stand behind this one.
    fn is_before(&self, name: &Ident) -> bool {
        self.is_item && (name == "self" || name == "crate")
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if let UseTree::Rename(rename) = &item.tree
            && rename.ident == "tch"
        {
            self.names.insert(rename.rename.to_string());
        }
    }
    fn visit_item_extern_crate(&mut self, item: &'ast syn::ItemExternCrate) {
        if item.ident == "tch" {
            self.is_item = true;
            self.names.extend(item.rename.as_ref().map(|(_, name)| name.to_string()));
        }
    }
}

fn names_of_tch(file: &syn::File) -> Names {
    let mut names = Names { names: BTreeSet::from(["tch".to_owned()]), is_item: false };
    names.visit_file(file);
    names
}

/// Finds the beginning of every path to `tch::nn`: its first name, and tch's.
fn paths_to_nn(tokens: &TokenStream, names: &Names, found: &mut Vec<(Ident, Ident)>) {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => paths_to_nn(&group.stream(), names, found),
            TokenTree::Ident(ident) if names.has(ident) => {
                let (before, behind) = tokens.split_at(at);
                if !is_nn_behind(behind) {
                    continue;
                }
                match before {
                    [outer @ .., TokenTree::Ident(first), a, b]
                        if is_colon(Some(a)) && is_colon(Some(b)) && names.is_before(first) && begins_path(outer) =>
                    {
                        found.push((first.clone(), ident.clone()));
                    }
                    before if begins_path(before) => found.push((ident.clone(), ident.clone())),
                    _ => {}
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
    names: &'s Names,
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
            let UseTree::Path(first) = tree else { continue };
            let path = match &*first.tree {
                UseTree::Path(inner) if self.names.is_before(&first.ident) => inner,
                _ => first,
            };
            if !self.names.has(&path.ident) {
                continue;
            }
            let head = self.source.range(first.ident.span()).start..self.source.range(path.ident.span()).end;
            match &*path.tree {
                UseTree::Group(group) => self.group(item, head, group),
                UseTree::Glob(_) => self.glob(item),
                _ => {}
            }
        }
        visit::visit_item_use(self, item);
    }
}

impl Uses<'_> {
    /// `head` is where the path to tch stands.
    fn group(&mut self, item: &syn::ItemUse, head: Range<usize>, group: &syn::UseGroup) {
        let (ours, rest): (Vec<&UseTree>, Vec<&UseTree>) = group.items.iter().partition(|tree| is_nn(tree));
        if ours.is_empty() {
            return;
        }
        self.count += 1;
        if rest.is_empty() {
            return self.edits.replace(head, OURS);
        }
        let texts: Vec<&str> = ours.iter().map(|tree| self.text(tree.span())).collect();
        let moved = match texts.as_slice() {
            [one] => format!("{OURS}::{one}"),
            many => format!("{OURS}::{{{}}}", many.join(", ")),
        };
        if matches!(item.tree, UseTree::Group(_)) {
            self.edits.insert(head.start, format!("{moved}, "));
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
    fn tch_as_an_item() {
        check(
            "extern crate tch;\nuse self::tch::{nn, Tensor};\n",
            "extern crate tch;\nuse fx_runtime::nn;\nuse self::tch::Tensor;\n",
        );
        check(
            "extern crate tch;\nuse self::tch::nn;\nfn f(x: &crate::tch::nn::Linear, y: &self::tch::nn::Path) {}\n",
            "extern crate tch;\nuse fx_runtime::nn;\nfn f(x: &fx_runtime::nn::Linear, y: &fx_runtime::nn::Path) {}\n",
        );
        check("mod tch;\nuse self::tch::{nn, other};\n", "mod tch;\nuse self::tch::{nn, other};\n");
    }

    #[test]
    fn globs_are_overridden() {
        check("use tch::*;\ntype L = nn::Linear;\n", "use fx_runtime::nn;\nuse tch::*;\ntype L = nn::Linear;\n");
        check("use tch::*;\ntype T = Tensor;\n", "use tch::*;\ntype T = Tensor;\n");
    }
}
