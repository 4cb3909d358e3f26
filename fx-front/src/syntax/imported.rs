//! What `use` lines inside a function body bring in.

use quote::{ToTokens, quote};

/// A name that a `use` line brings in, `_` among them, and the path that it stands for; none for a `*`.
pub(crate) fn imported(item: &syn::ItemUse) -> Vec<(syn::Ident, syn::Path)> {
    let mut names = Vec::new();
    let mut prefix = Vec::new();
    gather(&item.tree, &mut prefix, &mut names);
    let leading = item.leading_colon;
    let path = |segments: Vec<syn::Ident>| syn::Path {
        leading_colon: leading,
        segments: segments.into_iter().map(syn::PathSegment::from).collect(),
    };
    names.into_iter().map(|(name, segments)| (name, path(segments))).collect()
}

/// The paths of which a `use` line brings in all that there is, as text.
pub(crate) fn globs(item: &syn::ItemUse) -> Vec<String> {
    fn gather(tree: &syn::UseTree, prefix: &str, found: &mut Vec<String>) {
        match tree {
            syn::UseTree::Path(path) if prefix.is_empty() => gather(&path.tree, &path.ident.to_string(), found),
            syn::UseTree::Path(path) => gather(&path.tree, &format!("{prefix}::{}", path.ident), found),
            syn::UseTree::Glob(_) => found.push(prefix.to_owned()),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| gather(tree, prefix, found)),
            syn::UseTree::Name(_) | syn::UseTree::Rename(_) => {}
        }
    }
    let mut found = Vec::new();
    gather(&item.tree, "", &mut found);
    found.retain(|path| !path.is_empty() && item.leading_colon.is_none());
    found
}

/// The `use` lines of a body, as source. Those of the blocks inside it bring in no names, which may differ from block to
/// block, but the traits whose methods are called there.
pub(crate) fn uses(block: &syn::Block) -> Vec<String> {
    struct Inner(Vec<String>);
    impl<'ast> syn::visit::Visit<'ast> for Inner {
        fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
            let lines = imported(item).into_iter().map(|(_, path)| quote!(use #path as _;).to_string());
            for line in lines {
                if !self.0.contains(&line) {
                    self.0.push(line);
                }
            }
        }

        fn visit_item_fn(&mut self, _: &'ast syn::ItemFn) {}
    }
    let (mut own, mut inner) = (Vec::new(), Inner(Vec::new()));
    for stmt in &block.stmts {
        match stmt {
            syn::Stmt::Item(syn::Item::Use(item)) => own.push(item.to_token_stream().to_string()),
            other => syn::visit::Visit::visit_stmt(&mut inner, other),
        }
    }
    own.extend(inner.0);
    own
}

fn gather(tree: &syn::UseTree, prefix: &mut Vec<syn::Ident>, names: &mut Vec<(syn::Ident, Vec<syn::Ident>)>) {
    let with = |prefix: &[syn::Ident], last: &syn::Ident| -> Vec<syn::Ident> {
        prefix.iter().chain((last != "self").then_some(last)).cloned().collect()
    };
    match tree {
        syn::UseTree::Path(path) => {
            prefix.push(path.ident.clone());
            gather(&path.tree, prefix, names);
            prefix.pop();
        }
        syn::UseTree::Name(name) => {
            let path = with(prefix, &name.ident);
            names.extend(path.last().cloned().map(|last| (last, path)));
        }
        syn::UseTree::Rename(name) => names.push((name.rename.clone(), with(prefix, &name.ident))),
        syn::UseTree::Glob(_) => {}
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| gather(tree, prefix, names)),
    }
}
