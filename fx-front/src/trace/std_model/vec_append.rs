//! `list.append(&mut other)`: the elements of the other move to the list, and the other has none behind it.

use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::syntax::path_text;
use crate::trace::types::ty::{is_copy, is_untyped};
use crate::trace::{Result, Tracer, Ty, Val, place::local_place::LocalPlace, unsupported};

impl Tracer<'_> {
    /// The call on a list of that element type.
    pub(in crate::trace) fn appended(&mut self, list: &Val, element: &Ty, call: &syn::ExprMethodCall) -> Result<Val> {
        let span = call.span();
        if let Some(made) = made_list(call) {
            let (receiver, name) = (&call.receiver, self.fresh_name("appended", span));
            let element =
                Some(element).filter(|element| !is_untyped(element)).and_then(|element| self.spelling(element));
            let element: syn::Type =
                element.and_then(|element| syn::parse_str(&element).ok()).unwrap_or_else(|| syn::parse_quote!(_));
            let filled: syn::Expr = syn::parse_quote_spanned!(span=> {
                let mut #name: Vec<#element> = #made;
                #receiver.append(&mut #name);
            });
            return self.expr(&filled);
        }
        let (Some(other), Some(place)) = (moved_variable(call), self.local_place(&call.receiver)) else {
            return unsupported(span, "the method `append`");
        };
        let held = self.env.read(&path_text(&other.path)).cloned();
        // Numbers that are written out may be of the list's own type only.
        let is_taken = matches!(list, Val::List(_)) || !is_copy(element);
        if let (Some(Val::List(items)), Some(from), true) =
            (&held, self.local_place(&syn::Expr::Path(other.clone())), is_taken)
        {
            self.append_items(list, element, items.clone(), &place, span)?;
            return self.set_local(&from, Val::List(Vec::new()), span).map(|()| Val::Unit);
        }
        let moved = held.map_or(Ty::Unknown, |held| held.ty().element());
        let (list, element) = if *element == Ty::Unknown && moved != Ty::Unknown {
            // What is moved in says of which type all elements are.
            let known = list.clone().with_ty(Ty::List(Box::new(moved.clone())));
            self.set_local(&place, known.clone(), span)?;
            (known, moved)
        } else {
            (list.clone(), element.clone())
        };
        let receiver = &call.receiver;
        let extend: syn::ExprMethodCall = syn::parse_quote_spanned!(span=> #receiver.extend(&#other));
        let clear: syn::Expr = syn::parse_quote_spanned!(span=> #other.clear());
        match self.changed(&list, &element, "extend", &extend) {
            Some(extended) => extended.and_then(|_| self.expr(&clear)),
            None => unsupported(span, "the method `append`"),
        }
    }

    /// Elements that are written out, behind those of a list.
    fn append_items(
        &mut self,
        list: &Val,
        element: &Ty,
        items: Vec<Val>,
        place: &LocalPlace,
        span: Span,
    ) -> Result<()> {
        if let Val::List(own) = list {
            return self.set_local(place, Val::List([own.clone(), items].concat()), span);
        }
        let is_known = |item: &Val| item.ty() != Ty::Unknown && !matches!(item.ty(), Ty::Result(_));
        let same = items.iter().all(|item| is_known(item) && item.ty() == items[0].ty());
        let own = self.spill(list, &place.root, span)?;
        let (Some(id), true) = (own.node(), same) else { return unsupported(span, "the method `append`") };
        for item in &items {
            self.push_item(id, item, span)?;
        }
        let known = match items.first() {
            Some(first) if *element == Ty::Unknown => own.with_ty(Ty::List(Box::new(first.ty()))),
            _ => own,
        };
        self.set_local(place, known, span)
    }
}

/// The code of `list.append(&mut code)` that makes the list which is moved.
fn made_list(call: &syn::ExprMethodCall) -> Option<&syn::Expr> {
    match call.args.first()? {
        syn::Expr::Reference(borrowed) if borrowed.mutability.is_some() => match &*borrowed.expr {
            made @ syn::Expr::Macro(list) => list.mac.path.is_ident("vec").then_some(made),
            made @ syn::Expr::MethodCall(call) => {
                ["collect", "to_vec", "size"].iter().any(|name| call.method == name).then_some(made)
            }
            _ => None,
        },
        _ => None,
    }
}

/// The variable of `list.append(&mut other)`.
fn moved_variable(call: &syn::ExprMethodCall) -> Option<&syn::ExprPath> {
    match call.args.first()? {
        syn::Expr::Reference(borrowed) if borrowed.mutability.is_some() => match &*borrowed.expr {
            syn::Expr::Path(other) => Some(other),
            _ => None,
        },
        _ => None,
    }
}
