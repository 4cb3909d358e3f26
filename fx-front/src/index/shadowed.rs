//! Names of Rust's prelude of which a module has others, by a declaration or a `use` of its own.
//!
//! The user's code names its own by a path, `self::Some`, and generated code in such a module the prelude's by theirs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};

use super::{Index, Resolved};

/// A name of the prelude and its path, as generated code writes them.
pub type Prelude = (&'static str, &'static str);

const PRELUDE: &[Prelude] = &[
    ("Some", "::core::option::Option::Some"),
    ("None", "::core::option::Option::None"),
    ("Ok", "::core::result::Result::Ok"),
    ("Err", "::core::result::Result::Err"),
    ("Option", "::core::option::Option"),
    ("Vec", "::std::vec::Vec"),
    ("Box", "::std::boxed::Box"),
    ("String", "::std::string::String"),
    ("drop", "::core::mem::drop"),
    ("Into", "::core::convert::Into"),
    ("From", "::core::convert::From"),
    ("AsRef", "::core::convert::AsRef"),
    ("Default", "::core::default::Default"),
    ("Clone", "::core::clone::Clone"),
    ("Iterator", "::core::iter::Iterator"),
    ("Fn", "::core::ops::Fn"),
    ("FnMut", "::core::ops::FnMut"),
    ("Send", "::core::marker::Send"),
    ("Sync", "::core::marker::Sync"),
];

/// Further names of the language and its prelude, which generated code writes nowhere by a path.
const GIVEN: &[&str] = &[
    "AsMut",
    "Copy",
    "DoubleEndedIterator",
    "Drop",
    "Eq",
    "ExactSizeIterator",
    "Extend",
    "FnOnce",
    "FromIterator",
    "IntoIterator",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Result",
    "Sized",
    "ToOwned",
    "ToString",
    "TryFrom",
    "TryInto",
    "str",
];

/// Whether the name is one of Rust's prelude.
pub(crate) fn is_of_prelude(name: &str) -> bool {
    PRELUDE.iter().any(|(known, _)| *known == name) || GIVEN.contains(&name)
}

impl Index {
    /// The names of the prelude that mean something else in the module.
    pub fn shadowed(&self, module: &str) -> Vec<Prelude> {
        let is_other = |(name, path): &&Prelude| match self.resolve(module, name) {
            Resolved::Item(..) => true,
            // Of whichever of the standard crates it is named.
            Resolved::External(full) => {
                full.contains("::") && !full.ends_with(path.trim_start_matches("::core").trim_start_matches("::std"))
            }
        };
        PRELUDE.iter().filter(is_other).copied().collect()
    }

    /// Gives such names one spelling in all that the functions of the crate say: the crate's own are paths, and the variants
    /// of `Option` and `Result` are bare.
    pub(crate) fn spell_prelude(&mut self) {
        let own: BTreeMap<String, Vec<&'static str>> =
            self.modules.keys().map(|module| (module.clone(), self.own_of_prelude(module))).collect();
        for function in &mut self.fns {
            let mut spelling = Spelling(own.get(&function.module).map_or(&[], Vec::as_slice));
            spelling.visit_signature_mut(&mut function.sig);
            spelling.visit_block_mut(&mut function.block);
        }
    }

    /// The names of the prelude that are items of the crate in the module.
    fn own_of_prelude(&self, module: &str) -> Vec<&'static str> {
        let is_own = |name: &&str| match self.resolve(module, name) {
            Resolved::Item(..) => true,
            // A variant of an enum of the crate's, which it is not indexed by.
            Resolved::External(full) => {
                let owner = full.rsplit_once("::").map(|(owner, _)| self.resolve(module, owner));
                owner.is_some_and(|owner| matches!(owner, Resolved::Item(..)))
            }
        };
        PRELUDE.iter().map(|(name, _)| *name).filter(is_own).collect()
    }
}

/// One spelling for names of the prelude, of which the module has these others.
struct Spelling<'n>(&'n [&'static str]);

impl VisitMut for Spelling<'_> {
    fn visit_path_mut(&mut self, path: &mut syn::Path) {
        visit_mut::visit_path_mut(self, path);
        let is_own = |name: &syn::Ident| self.0.iter().any(|own| name == own);
        let first = path.segments.first().filter(|_| path.leading_colon.is_none());
        if let Some(first) = first.filter(|first| is_own(&first.ident)) {
            let here = syn::Ident::new("self", first.ident.span());
            path.segments.insert(0, here.into());
        } else if let Some(variant) = variant_of_prelude(path) {
            *path = variant.into();
        }
    }

    fn visit_pat_mut(&mut self, pat: &mut syn::Pat) {
        visit_mut::visit_pat_mut(self, pat);
        let syn::Pat::Ident(name) = pat else { return };
        let is_variant = name.ident == "None" && name.by_ref.is_none() && name.subpat.is_none();
        if is_variant && self.0.contains(&"None") {
            let name = &name.ident;
            *pat = syn::Pat::Path(syn::parse_quote_spanned!(name.span()=> self::#name));
        }
    }
}

/// `Some` of `Option::Some`, and the like, with the path of the type or without.
fn variant_of_prelude(path: &syn::Path) -> Option<syn::Ident> {
    let count = path.segments.len();
    let plain = path.segments.iter().all(|segment| segment.arguments.is_none());
    let last = path.segments.last().filter(|_| plain && count > 1)?;
    let words: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    let owner = match last.ident.to_string().as_str() {
        "Some" | "None" => ["Option", "option::Option"],
        "Ok" | "Err" => ["Result", "result::Result"],
        _ => return None,
    };
    let [name, full] = owner;
    let before = words[..count - 1].join("::");
    let is_full = ["std::", "core::"].iter().any(|krate| before.strip_prefix(krate) == Some(full));
    let is_it = is_full || before == name && path.leading_colon.is_none();
    is_it.then(|| last.ident.clone())
}

/// Generated source in which these names of the prelude stand as their paths.
pub fn spelled_out<'s>(source: &'s str, names: &[Prelude]) -> Cow<'s, str> {
    if names.is_empty() {
        return source.into();
    }
    source.parse().map_or(source.into(), |tokens| spelled(tokens, names).to_string().into())
}

fn spelled(tokens: TokenStream, names: &[Prelude]) -> TokenStream {
    // The two characters before the token, where they are no space.
    let (mut out, mut before) = (TokenStream::new(), [' ', ' ']);
    for token in tokens {
        let is_first = before[1] != '.' && before != [':', ':'];
        let last = if let TokenTree::Punct(punct) = &token { punct.as_char() } else { ' ' };
        before = [before[1], last];
        match token {
            TokenTree::Group(group) => {
                let mut inner = proc_macro2::Group::new(group.delimiter(), spelled(group.stream(), names));
                inner.set_span(group.span());
                out.extend([TokenTree::Group(inner)]);
            }
            TokenTree::Ident(ident) => {
                let path = names.iter().find(|(name, _)| is_first && ident == name).map(|(_, path)| *path);
                match path.and_then(|path| path.parse::<TokenStream>().ok()) {
                    Some(path) => out.extend(path),
                    None => ident.to_tokens(&mut out),
                }
            }
            other => out.extend([other]),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelled_out_but_for_parts_of_paths() {
        let names = [PRELUDE[0], PRELUDE[8]];
        let source = "fn f (a : Maybe) { drop (x) ; P { a : Some (b) } ; y . drop () ; match a { Some (b) => self :: Some (b) , } }";
        let expected = "fn f (a : Maybe) { :: core :: mem :: drop (x) ; \
                        P { a : :: core :: option :: Option :: Some (b) } ; y . drop () ; match a { \
                        :: core :: option :: Option :: Some (b) => self :: Some (b) , } }";
        assert_eq!(spelled_out(source, &names), expected);
    }
}
