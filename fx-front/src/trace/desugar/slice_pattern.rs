//! Patterns of slices that name a part: `[first, rest @ ..]` as a test of the length, and the elements and the part by their
//! positions.
//!
//! ```text
//! match list {                      if list.len() == 0 { a } else {
//!     [] => a,                 =>       let first = &list[0]; let rest = &list[1..];
//!     [first, rest @ ..] => b           b
//! }                                 }
//! ```

use proc_macro2::{Ident, Literal};
use syn::{Expr, Pat, parse_quote_spanned, spanned::Spanned};

use crate::syntax::matches_all;

/// What the pattern asks of the slice of that name, and what it binds to which of its parts.
pub(in crate::trace) struct SliceTest {
    pub(in crate::trace) test: Expr,
    pub(in crate::trace) bound: Vec<(Pat, Expr)>,
}

impl SliceTest {
    /// Of a pattern that takes each element; `None` for any other.
    pub(in crate::trace) fn of(pat: &Pat, list: &Ident) -> Option<SliceTest> {
        let Pat::Slice(slice) = pat else { return None };
        let (count, span) = (slice.elems.len(), pat.span());
        let rest = slice.elems.iter().position(is_rest);
        let length = Literal::usize_unsuffixed(count - usize::from(rest.is_some()));
        let test = match rest {
            Some(_) => parse_quote_spanned!(span=> #list.len() >= #length),
            None => parse_quote_spanned!(span=> #list.len() == #length),
        };
        let mut bound = Vec::new();
        for (at, elem) in slice.elems.iter().enumerate() {
            // How many elements from this one on there are to the end of the pattern.
            let (number, left) = (Literal::usize_unsuffixed(at), count - at);
            let from_end = |left: usize| -> Expr {
                let left = Literal::usize_unsuffixed(left);
                parse_quote_spanned!(span=> #list.len() - #left)
            };
            let is_rest = rest == Some(at);
            bound.push(match elem {
                Pat::Rest(_) | Pat::Wild(_) => continue,
                Pat::Ident(name) if is_rest && left == 1 => {
                    (part_name(name)?, parse_quote_spanned!(span=> &#list[#number..]))
                }
                Pat::Ident(name) if is_rest => {
                    let end = from_end(left - 1);
                    (part_name(name)?, parse_quote_spanned!(span=> &#list[#number..#end]))
                }
                Pat::Ident(syn::PatIdent { by_ref: None, .. }) | Pat::Tuple(_) if matches_all(elem) => {
                    let at = if rest.is_some_and(|rest| at > rest) { from_end(left) } else { number_of(at, elem) };
                    (elem.clone(), parse_quote_spanned!(span=> &#list[#at]))
                }
                _ => return None,
            });
        }
        Some(SliceTest { test, bound })
    }
}

/// The `match` on the slice of that name as decisions by its length; `None` where no pattern names a part, or where one asks
/// for more than the length.
pub(in crate::trace) fn by_length(choice: &syn::ExprMatch, list: &Ident) -> Option<Expr> {
    if !choice.arms.iter().any(|arm| names_part(&arm.pat)) || choice.arms.iter().any(|arm| arm.guard.is_some()) {
        return None;
    }
    let mut decision: Option<Expr> = None;
    for arm in choice.arms.iter().rev() {
        let (body, span) = (&arm.body, arm.pat.span());
        let (test, block): (Option<Expr>, syn::Block) = match &arm.pat {
            Pat::Wild(_) => (None, parse_quote_spanned!(span=> { #body })),
            pat => {
                let SliceTest { test, bound } = SliceTest::of(pat, list)?;
                let (pats, parts): (Vec<Pat>, Vec<Expr>) = bound.into_iter().unzip();
                (Some(test), parse_quote_spanned!(span=> { #(let #pats = #parts;)* #body }))
            }
        };
        // One of the arms takes the slice, the last where no other does.
        decision = Some(match (test, decision) {
            (Some(test), Some(other)) => parse_quote_spanned!(span=> if #test #block else { #other }),
            _ => parse_quote_spanned!(span=> #block),
        });
    }
    decision
}

/// Whether the pattern is one of a slice that names a part of it.
pub(in crate::trace) fn names_part(pat: &Pat) -> bool {
    let is_named = |elem: &Pat| is_rest(elem) && !matches!(elem, Pat::Rest(_));
    matches!(pat, Pat::Slice(slice) if slice.elems.iter().any(is_named))
}

/// Whether it is `..` or `name @ ..`.
fn is_rest(elem: &Pat) -> bool {
    match elem {
        Pat::Rest(_) => true,
        Pat::Ident(syn::PatIdent { subpat: Some((_, inner)), .. }) => matches!(**inner, Pat::Rest(_)),
        _ => false,
    }
}

/// The variable of `name @ ..`.
fn part_name(name: &syn::PatIdent) -> Option<Pat> {
    name.by_ref.is_none().then(|| Pat::Ident(syn::PatIdent { subpat: None, ..name.clone() }))
}

fn number_of(at: usize, elem: &Pat) -> Expr {
    let at = Literal::usize_unsuffixed(at);
    parse_quote_spanned!(elem.span()=> #at)
}
