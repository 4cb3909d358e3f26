//! Loops over parts of a list, and over what an option holds: `chunks`, `windows`, `for x in &option`.
//!
//! ```text
//! for pair in list.chunks(2) {..}    =>  for pair in (0..list.len().div_ceil(2)).map(|at| &list[2 * at..]) {..}
//! for bias in &self.bias {..}        =>  if let Some(bias) = &self.bias {..}
//! ```

use syn::{Expr, ExprForLoop, parse_quote_spanned, spanned::Spanned};

use crate::syntax::iterator_method::IteratorMethod;
use crate::syntax::peeled;
use crate::trace::{
    Ty,
    desugar::{Surroundings, jumps},
};

/// The chain with the parts of the list that it begins with as slices; `None` where it begins with no parts.
pub(in crate::trace) fn parts(chain: &Expr, around: &mut dyn Surroundings) -> Option<Expr> {
    let Expr::MethodCall(call) = chain else { return None };
    let span = call.method.span();
    let (list, size) = match (&*call.receiver, call.args.first()) {
        (list, Some(size)) if is_place(list) && is_place(size) => (list, size),
        _ => {
            let receiver = Box::new(parts(&call.receiver, around)?);
            return Some(Expr::MethodCall(syn::ExprMethodCall { receiver, ..call.clone() }));
        }
    };
    let at = around.new_name("part", span);
    Some(match IteratorMethod::of(&call.method)? {
        IteratorMethod::Chunks => parse_quote_spanned!(span=> (0..#list.len().div_ceil(#size)).map(|#at|
            &#list[#at * #size..#list.len().min(#at * #size + #size)])),
        IteratorMethod::ChunksExact => parse_quote_spanned!(span=> (0..#list.len() / #size).map(|#at|
            &#list[#at * #size..#at * #size + #size])),
        IteratorMethod::Windows => parse_quote_spanned!(span=> (0..(#list.len() + 1).saturating_sub(#size)).map(|#at|
            &#list[#at..#at + #size])),
        _ => return None,
    })
}

/// Whether it is the same each time it is asked for, and costs nothing.
fn is_place(expr: &Expr) -> bool {
    match expr {
        Expr::Paren(inner) => is_place(&inner.expr),
        Expr::Field(field) => is_place(&field.base),
        Expr::Path(_) | Expr::Lit(_) => true,
        _ => false,
    }
}

/// The loop over what an option holds as an `if let`; `None` where it is over anything else.
pub(in crate::trace) fn over_option(each: &ExprForLoop, around: &dyn Surroundings) -> Option<Expr> {
    if jumps::jumps(&each.body) {
        return None;
    }
    let (option, is_borrowed) = match &*each.expr {
        Expr::MethodCall(call) if call.args.is_empty() && call.method == "iter" => (&*call.receiver, true),
        Expr::MethodCall(call) if call.args.is_empty() && call.method == "into_iter" => (&*call.receiver, false),
        other => (other, false),
    };
    let place = if let Expr::Reference(borrowed) = option { &*borrowed.expr } else { option };
    if !matches!(around.place_ty(peeled(place)), Ty::Option(_)) {
        return None;
    }
    let (pat, body, span) = (&each.pat, &each.body, each.for_token.span);
    let option = if is_borrowed { parse_quote_spanned!(option.span()=> (&#option)) } else { option.clone() };
    Some(parse_quote_spanned!(span=> if let Some(#pat) = #option #body))
}
