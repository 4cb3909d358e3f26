//! `zip`: a loop over two lists at once as one over the first, in whose iterations the second is asked for its element.

use fx_ir::OpId;
use proc_macro2::{Ident, Span};
use quote::format_ident;
use syn::{Expr, parse_quote_spanned};

use crate::syntax::{effects::gives, element_access::ElementAccess, integer_literal, path_text};
use crate::trace::desugar::{
    Surroundings,
    element_name::{hides, with_own_names},
    iterator_chain::is_chain,
    iterator_consumers::has_effects,
};

/// The call of `zip` that the chain ends in, and whether its pairs are numbered.
fn zip_of(chain: &Expr) -> Option<(&syn::ExprMethodCall, bool)> {
    match chain {
        Expr::MethodCall(call) if call.method == "zip" => Some((call, false)),
        Expr::MethodCall(call) if call.method == "enumerate" => match &*call.receiver {
            Expr::MethodCall(zip) if zip.method == "zip" => Some((zip, true)),
            _ => None,
        },
        _ => None,
    }
}

/// A loop over two lists at once as one over the first, in whose iterations the second is asked for its element.
pub(in crate::trace) fn zipped(each: &syn::ExprForLoop, around: &mut dyn Surroundings) -> Option<syn::ExprForLoop> {
    let (zip, is_numbered) = zip_of(&each.expr)?;
    let [other] = zip.args.iter().collect::<Vec<_>>()[..] else { return None };
    // The iterations ask for the elements of a list, under the name that it has in front of the loop.
    if hides(&each.pat, other) || listed(&zip.receiver).is_some() && hides(&each.pat, &zip.receiver) {
        return zipped(&with_own_names(each, around), around);
    }
    let span = each.for_token.span;
    let (turn, pair): (syn::Pat, &syn::Pat) = match (&*each.pat, is_numbered) {
        (syn::Pat::Tuple(tuple), true) if tuple.elems.len() == 2 => (tuple.elems[0].clone(), &tuple.elems[1]),
        (pat, false) => (name(&format_ident!("fx_turn", span = span)), pat),
        _ => return None,
    };
    let syn::Pat::Ident(number) = &turn else { return None };
    let number = &number.ident;
    let mut body = each.body.clone();
    let (a, b) = match pair {
        syn::Pat::Tuple(pair) => (pair.elems.first()?.clone(), pair.elems.get(1)?.clone()),
        syn::Pat::Ident(_) => {
            let (a, b) = (format_ident!("fx_first", span = span), format_ident!("fx_second", span = span));
            let stmts = &each.body.stmts;
            body = parse_quote_spanned!(span=> { let #pair = (#a, #b); #(#stmts)* });
            (name(&a), name(&b))
        }
        _ => return None,
    };
    let second = listed(other);
    // The list that the model holds is the one to loop over: how long it is, is known when it is frozen.
    let first = listed(&zip.receiver).filter(|first| {
        let of_model = second.as_ref().is_some_and(|second| around.is_of_model(second.list));
        of_model && !around.is_of_model(first.list)
    });
    let is_known = listed(&zip.receiver).is_some() || is_chain(&zip.receiver);
    let (over, over_pat, body) = match first {
        Some(first) => (other, b, first.asked(number, &a, &body)),
        // Whether the closures of the first chain are called behind the last element of the second is std's own matter.
        None if is_known && has_effects(&zip.receiver, around) => return None,
        None if is_known => (&*zip.receiver, a, asked(other, number, &b, body)?),
        None => return None,
    };
    let over: Expr = match over {
        Expr::MethodCall(_) => over.clone(),
        list => parse_quote_spanned!(span=> (#list).into_iter()),
    };
    Some(parse_quote_spanned!(span=> for (#number, #over_pat) in #over.enumerate() #body))
}

/// The loop behind `let`s of the lists that are zipped, where they are not variables: `layers.iter().zip(xs.unbind(0))`, and
/// `std::iter::zip(a, b)`; `None` where all of them are, and for another loop.
pub(in crate::trace) fn with_named_lists(
    each: &syn::ExprForLoop,
    fresh: &mut dyn FnMut(&str, Span) -> Ident,
) -> Option<syn::Block> {
    let (mut each, mut lets, span) = (each.clone(), Vec::new(), each.for_token.span);
    if let Expr::Call(call) = &*each.expr
        && let (Expr::Path(path), [a, b]) = (&*call.func, &call.args.iter().collect::<Vec<_>>()[..])
        && ["std::iter::zip", "iter::zip"].contains(&path_text(&path.path).as_str())
    {
        let pairs: Expr = parse_quote_spanned!(span=> (#a).into_iter().zip(#b));
        *each.expr = pairs;
        return Some(parse_quote_spanned!(span=> { #each }));
    }
    let mut name = |list: &mut Expr| {
        let name = fresh("list", span);
        lets.push(parse_quote_spanned!(span=> let #name = #list;));
        *list = Expr::Path(parse_quote_spanned!(span=> #name));
    };
    let body = Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block: each.body.clone() });
    match &mut *each.expr {
        Expr::MethodCall(call) if call.method == "zip" => name_zipped(call, &body, &mut name),
        Expr::MethodCall(call) if call.method == "enumerate" => match &mut *call.receiver {
            Expr::MethodCall(zip) if zip.method == "zip" => name_zipped(zip, &body, &mut name),
            _ => {}
        },
        _ => {}
    }
    let lets: Vec<syn::Stmt> = lets;
    (!lets.is_empty()).then(|| parse_quote_spanned!(span=> { #(#lets)* #each }))
}

/// Names both lists, in the order in which they are made, where the one on the right has no name.
fn name_zipped(zip: &mut syn::ExprMethodCall, body: &Expr, name: &mut dyn FnMut(&mut Expr)) {
    let mut is_unnamed = false;
    zip.args.clone().iter_mut().for_each(|arg| name_list(arg, body, &mut |_| is_unnamed = true));
    if !is_unnamed {
        return;
    }
    name_list(&mut zip.receiver, body, name);
    zip.args.iter_mut().for_each(|arg| name_list(arg, body, name));
}

/// Names the list that a chain without closures goes over, where it is made there, and how many elements it leaves out,
/// where that is computed or the body of the loop writes to it.
fn name_list(chain: &mut Expr, body: &Expr, name: &mut dyn FnMut(&mut Expr)) {
    match chain {
        Expr::MethodCall(call) if call.method == "zip" => name_zipped(call, body, name),
        Expr::MethodCall(call) if ["iter", "into_iter", "skip", "rev"].iter().any(|one| call.method == one) => {
            name_list(&mut call.receiver, body, name);
            call.args.iter_mut().filter(|count| !is_fixed(count, body)).for_each(name);
        }
        Expr::Reference(inner) if inner.mutability.is_none() => name_list(&mut inner.expr, body, name),
        Expr::Paren(inner) => name_list(&mut inner.expr, body, name),
        Expr::MethodCall(call) if OpId::of_method(&call.method.to_string()).is_some() => name(chain),
        Expr::Array(_) => name(chain),
        Expr::Macro(mac) if mac.mac.path.is_ident("vec") => name(chain),
        _ => {}
    }
}

/// Whether the number is the same in each iteration of the loop.
fn is_fixed(count: &Expr, body: &Expr) -> bool {
    match count {
        Expr::Paren(inner) => is_fixed(&inner.expr, body),
        Expr::Path(path) => path.path.get_ident().is_none_or(|name| !gives(body, &name.to_string())),
        count => integer_literal(count).is_some(),
    }
}

/// The body where each list, of those that are zipped on the right, has an element at the number.
fn asked(other: &Expr, number: &Ident, pat: &syn::Pat, body: syn::Block) -> Option<syn::Block> {
    if let Some(listed) = listed(other) {
        return Some(listed.asked(number, pat, &body));
    }
    let (Expr::MethodCall(zip), syn::Pat::Tuple(pair)) = (other, pat) else { return None };
    let (Some(right), [a, b]) =
        (zip.args.first().filter(|_| zip.method == "zip"), &pair.elems.iter().collect::<Vec<_>>()[..])
    else {
        return None;
    };
    asked(&zip.receiver, number, a, asked(right, number, b, body)?)
}

/// A list that stands in a chain by name.
struct Listed<'e> {
    list: &'e Expr,
    /// How many elements are left out.
    skipped: Vec<&'e Expr>,
    /// How the chain yields its elements.
    access: ElementAccess,
    /// Whether the last element is the first.
    is_reversed: bool,
}

impl Listed<'_> {
    /// The body where there is an element at the number.
    fn asked(&self, number: &Ident, pat: &syn::Pat, body: &syn::Block) -> syn::Block {
        let element = self.at(number);
        parse_quote_spanned!(number.span()=> { if let Some(#pat) = #element #body })
    }

    /// The question for the element of an iteration.
    fn at(&self, number: &Ident) -> Expr {
        let (list, skipped, span) = (self.list, &self.skipped, number.span());
        let get = format_ident!("{}", self.access.name(), span = span);
        let at: Expr = parse_quote_spanned!(span=> #number #(+ (#skipped))*);
        // Behind the first element there is none, as there is none at a number that no list reaches.
        let at = if self.is_reversed { parse_quote_spanned!(span=> #list.len().wrapping_sub(#at + 1)) } else { at };
        parse_quote_spanned!(span=> #list.#get(#at))
    }
}

/// The list behind `list.iter()`, `&list` or `list`, if it stands there by name.
fn listed(expr: &Expr) -> Option<Listed<'_>> {
    match expr {
        Expr::MethodCall(call) if call.args.is_empty() && (call.method == "iter" || call.method == "into_iter") => {
            let inner = listed(&call.receiver)?;
            let access = if call.method == "iter" { ElementAccess::Get } else { inner.access };
            Some(Listed { access, ..inner })
        }
        Expr::MethodCall(call) if call.args.is_empty() && call.method == "iter_mut" => {
            Some(Listed { access: ElementAccess::GetMut, ..listed(&call.receiver)? })
        }
        Expr::MethodCall(call) if call.method == "skip" => {
            let mut inner = listed(&call.receiver)?;
            inner.skipped.push(call.args.first()?);
            Some(inner)
        }
        Expr::MethodCall(call) if call.method == "rev" => {
            let inner = listed(&call.receiver)?;
            inner.skipped.is_empty().then_some(Listed { is_reversed: !inner.is_reversed, ..inner })
        }
        Expr::Reference(inner) => {
            let access = if inner.mutability.is_some() { ElementAccess::GetMut } else { ElementAccess::Get };
            Some(Listed { access, ..listed(&inner.expr)? })
        }
        Expr::Path(_) | Expr::Field(_) => {
            Some(Listed { list: expr, skipped: Vec::new(), access: ElementAccess::Taken, is_reversed: false })
        }
        _ => None,
    }
}

fn name(ident: &Ident) -> syn::Pat {
    syn::Pat::Ident(syn::PatIdent {
        attrs: Vec::new(),
        by_ref: None,
        mutability: None,
        ident: ident.clone(),
        subpat: None,
    })
}
