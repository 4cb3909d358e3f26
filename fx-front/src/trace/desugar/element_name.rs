//! Names for the elements of a chain, which nothing in the loop over it has.

use syn::{Expr, parse_quote_spanned, spanned::Spanned};

use crate::syntax::iterator_method::IteratorMethod;
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
