//! Assignments: to variables, to parts of structs and tuples, to elements of lists, and to state.

use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::syntax::path_text;
use crate::trace::types::ty::is_open_list;
use crate::trace::{Result, Tracer, Ty, Val, place::exchange::TAKE, unsupported};

impl Tracer<'_> {
    /// `place = value`.
    pub(in crate::trace) fn assign(&mut self, assign: &syn::ExprAssign) -> Result<Val> {
        if is_default(&assign.right)
            && let Some(place) = self.place(&assign.left, true)?
        {
            return self.exchanged_for(&place, TAKE, None, assign.span()).map(|_| Val::Unit);
        }
        let value = match self.handed_reference(&assign.right) {
            Some(place) => place,
            None => self.expr(&assign.right)?,
        };
        match &*assign.left {
            syn::Expr::Path(path) if path.path.get_ident().is_some() => {
                let name = path_text(&path.path);
                if let Some(place) = self.assigned_option(&name) {
                    return self.write(&place, &value, assign.span());
                }
                if matches!(self.env.read(&name), Some(Val::MutRef(..))) {
                    return unsupported(path.span(), "a reference that is given another place");
                }
                if matches!(value, Val::MutRef(..)) {
                    return unsupported(assign.right.span(), "a second name for what is written to");
                }
                self.name_after(&name, &value);
                if self.env.assign(&name, value) {
                    Ok(Val::Unit)
                } else {
                    unsupported(path.span(), "an unknown variable")
                }
            }
            syn::Expr::Tuple(targets) => {
                for (position, target) in targets.elems.iter().enumerate() {
                    let syn::Expr::Path(path) = target else {
                        return unsupported(target.span(), "an assignment of this form");
                    };
                    let part = self.tuple_part(&value, position, target.span())?;
                    self.env.assign(&path_text(&path.path), part);
                }
                Ok(Val::Unit)
            }
            syn::Expr::Infer(_) => Ok(Val::Unit),
            syn::Expr::Index(item) => match self.place(&assign.left, true)? {
                Some(place) => {
                    self.write(&place, &value, assign.span())?;
                    self.learn_element(&item.expr, &value.ty());
                    Ok(Val::Unit)
                }
                None => self.set_item(item, &value, assign.span()),
            },
            other => match self.local_place(other) {
                Some(place) => self.set_local(&place, value, assign.span()).map(|()| Val::Unit),
                None => self.assign_to_state(other, &value, assign.span()),
            },
        }
    }

    /// What is written to an element of a list of options or numbers says of what they are, where nothing else did.
    fn learn_element(&mut self, list: &syn::Expr, element: &Ty) {
        let syn::Expr::Path(path) = list else { return };
        let name = path_text(&path.path);
        let known = Ty::List(Box::new(element.clone()));
        match self.env.read(&name).cloned() {
            Some(list @ Val::Node(id, ..)) if is_open_list(&list.ty()) && !is_open_list(&known) => {
                self.settle_open_list(id, &known);
                self.env.assign(&name, list.with_ty(known));
            }
            Some(list) => drop(self.numbers_of_used_type(list, element)),
            _ => {}
        }
    }

    fn assign_to_state(&mut self, target: &syn::Expr, value: &Val, span: Span) -> Result<Val> {
        match self.place(target, true)? {
            Some(place) => self.write(&place, value, span),
            None => unsupported(target.span(), "an assignment to something other than a variable"),
        }
    }
}

/// `Default::default()`, whose type what it is assigned to says.
fn is_default(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::Call(syn::ExprCall { func, args, .. }) if args.is_empty() => {
            matches!(&**func, syn::Expr::Path(path) if path.qself.is_none() && path_text(&path.path) == "Default::default")
        }
        _ => false,
    }
}
