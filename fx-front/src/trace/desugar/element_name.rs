//! Names for the elements of a chain, which nothing in the loop over it has.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Expr, ExprForLoop, Pat, parse_quote, parse_quote_spanned, spanned::Spanned};

use crate::pattern;
use crate::syntax::{format_names, iterator_method::IteratorMethod};
use crate::trace::desugar::Surroundings;

/// A name for the element of a chain; of one with parts, which generated code has by reference, a name for each part.
pub(in crate::trace) fn element_of(over: &Expr, around: &mut dyn Surroundings) -> Expr {
    let span = over.span();
    if let Expr::MethodCall(call) = over {
        match (IteratorMethod::of(&call.method), call.args.first()) {
            (Some(IteratorMethod::Enumerate), None) => {
                let (number, inner) = (around.new_name("number", span), element_of(&call.receiver, around));
                return parse_quote_spanned!(span=> (#number, #inner));
            }
            (Some(IteratorMethod::Zip), Some(other)) => {
                let (one, other) = (element_of(&call.receiver, around), element_of(other, around));
                return parse_quote_spanned!(span=> (#one, #other));
            }
            (Some(method), _) if method.yields_elements() => return element_of(&call.receiver, around),
            _ => {}
        }
    }
    let item = around.new_name("item", span);
    parse_quote_spanned!(span=> #item)
}

/// Whether the pattern binds a name that the code has for another variable.
pub(in crate::trace) fn hides(pat: &syn::Pat, code: &impl ToTokens) -> bool {
    pattern::bound(pat).iter().any(|name| has_variable(code.to_token_stream(), name))
}

/// Whether a word of the tokens may be a variable of that name: behind a single dot it is a field or a method.
fn has_variable(tokens: TokenStream, name: &str) -> bool {
    let mut dots = 0;
    tokens.into_iter().any(|token| {
        let is_member = dots == 1;
        dots = match &token {
            TokenTree::Punct(mark) if mark.as_char() == '.' => dots + 1,
            _ => 0,
        };
        match token {
            TokenTree::Ident(word) => word == name && !is_member,
            TokenTree::Group(group) => has_variable(group.stream(), name),
            TokenTree::Literal(text) => format_names(&text.to_string()).any(|shown| shown == name),
            TokenTree::Punct(_) => false,
        }
    })
}

/// The loop with names for its elements that nothing else has; its body begins by taking them apart by the user's names.
pub(in crate::trace) fn with_own_names(each: &syn::ExprForLoop, around: &mut dyn Surroundings) -> syn::ExprForLoop {
    let (item, pat, over, stmts) = (element_of(&each.expr, around), &each.pat, &each.expr, &each.body.stmts);
    parse_quote_spanned!(each.for_token.span=> for #item in #over { let #pat = #item; #(#stmts)* })
}

/// A loop over numbered elements whose variable is the pair, with a name for each part: `for pair in xs.iter().enumerate() {..}`
/// as `for (number, item) in xs.iter().enumerate() { let pair = (number, item); .. }`. `None` for any other.
pub(in crate::trace) fn by_parts(each: &ExprForLoop, around: &mut dyn Surroundings) -> Option<ExprForLoop> {
    let is_whole = matches!(&*each.pat, Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none());
    if !is_whole || !is_numbered(&each.expr) {
        return None;
    }
    let (pat, element) = (&each.pat, element_of(&each.expr, around));
    let mut body = each.body.clone();
    body.stmts.insert(0, parse_quote_spanned!(pat.span()=> let #pat = #element;));
    Some(ExprForLoop { pat: Box::new(parse_quote!(#element)), body, ..each.clone() })
}

/// Whether the elements of the chain are pairs of a number and an element.
fn is_numbered(over: &Expr) -> bool {
    let Expr::MethodCall(call) = over else { return false };
    match IteratorMethod::of(&call.method) {
        Some(IteratorMethod::Enumerate) => true,
        Some(method) => method.yields_elements() && is_numbered(&call.receiver),
        None => false,
    }
}
