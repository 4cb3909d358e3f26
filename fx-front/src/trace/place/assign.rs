//! Assignments: to variables, to parts of structs and tuples, to elements of lists, and to state.

use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;

use crate::syntax::{makes_result, path_text, targets::is_destructuring};
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
            // Under the variable's name it is a `Result`, and not what is in it.
            None if makes_result(&assign.right) => return unsupported(assign.right.span(), "a result that has a name"),
            None => self.moved_into(&assign.right)?,
        };
        self.assign_value(&assign.left, value, (assign.right.span(), assign.span()))
    }

    /// Lets the target hold the value, which stands in the code at the first of the spans; the second is the assignment's.
    fn assign_value(&mut self, target: &syn::Expr, value: Val, (from, span): (Span, Span)) -> Result<Val> {
        match target {
            syn::Expr::Path(path) if path.path.get_ident().is_some() => {
                let name = path_text(&path.path);
                if let Some(place) = self.assigned_option(&name) {
                    return self.write(&place, &value, span);
                }
                if matches!(self.env.read(&name), Some(Val::MutRef(..))) {
                    return unsupported(path.span(), "a reference that is given another place");
                }
                if matches!(value, Val::MutRef(..)) {
                    return unsupported(from, "a second name for what is written to");
                }
                self.name_after(&name, &value);
                if self.env.assign(&name, value) {
                    Ok(Val::Unit)
                } else {
                    unsupported(path.span(), "an unknown variable")
                }
            }
            syn::Expr::Paren(inner) => self.assign_value(&inner.expr, value, (from, span)),
            destructuring if is_destructuring(destructuring) => {
                for (target, part) in self.parts_of_targets(destructuring, &value)? {
                    self.assign_value(target, part, (from, span))?;
                }
                Ok(Val::Unit)
            }
            syn::Expr::Infer(_) => Ok(Val::Unit),
            syn::Expr::Index(item) => match self.place(target, true)? {
                Some(place) => {
                    if let Some(list) = place.target().base() {
                        self.refuse_temporary(list, &value, span)?;
                    }
                    self.write(&place, &value, span)?;
                    self.learn_element(&item.expr, &value.ty());
                    Ok(Val::Unit)
                }
                None => self.set_item(item, &value, span),
            },
            other => match self.local_place(other) {
                Some(place) => self.set_local(&place, value, span).map(|()| Val::Unit),
                None => self.assign_to_state(other, &value, span),
            },
        }
    }

    /// The targets of a destructuring assignment, each with its part of the value, before one of them is written to.
    fn parts_of_targets<'e>(&mut self, target: &'e syn::Expr, value: &Val) -> Result<Vec<(&'e syn::Expr, Val)>> {
        let targets: Vec<(String, &syn::Expr)> = match target {
            syn::Expr::Struct(fields) if matches!(value.ty(), Ty::Struct(_)) && fields.rest.is_none() => {
                let named = fields.fields.iter().map(|field| (field.member.to_token_stream().to_string(), &field.expr));
                named.collect()
            }
            syn::Expr::Call(call) if matches!(value.ty(), Ty::Struct(_)) => {
                call.args.iter().enumerate().map(|(at, arg)| (at.to_string(), arg)).collect()
            }
            syn::Expr::Tuple(syn::ExprTuple { elems, .. }) | syn::Expr::Array(syn::ExprArray { elems, .. }) => {
                elems.iter().enumerate().map(|(at, elem)| (at.to_string(), elem)).collect()
            }
            other => return unsupported(other.span(), "an assignment of this form"),
        };
        let mut parts = Vec::new();
        for (at, (member, part_target)) in targets.iter().enumerate() {
            let span = part_target.span();
            match part_target {
                syn::Expr::Infer(_) => continue,
                // Nothing stands behind it that would be counted from the end.
                syn::Expr::Range(range) if range.start.is_none() && range.end.is_none() && at + 1 == targets.len() => {
                    continue;
                }
                syn::Expr::Range(_) => return unsupported(span, "an assignment of this form"),
                _ => {}
            }
            let part = match target {
                syn::Expr::Tuple(_) => self.tuple_part(value, at, span)?,
                syn::Expr::Array(_) => self.array_part(value, at, span)?,
                _ => self.field(value, member, span)?,
            };
            parts.push((*part_target, part));
        }
        Ok(parts)
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
