//! Variants of the crate's enums that the forward makes: which it is stays known where nothing else decides.

use fx_ir::HostOp;
use syn::spanned::Spanned;

use crate::syntax::matches_all;
use crate::syntax::path_text;

use crate::trace::{Result, Tracer, Val};

impl Tracer<'_> {
    /// `Out::Pair(a, b)`; `None` if it is no variant of an enum of the crate.
    pub(in crate::trace) fn variant_made(
        &mut self,
        path: &syn::Path,
        text: &str,
        call: &syn::ExprCall,
    ) -> Result<Option<Val>> {
        let Some((owner, name)) = self.enum_of(text) else { return Ok(None) };
        let (mut args, mut values) = (Vec::new(), Vec::new());
        for arg in &call.args {
            let value = self.expr(arg)?;
            args.push(self.exact_operand(&value, arg.span())?);
            values.push(value);
        }
        let op = HostOp::Construct(self.qualified(path)?);
        let value = self.host_node(op, args, "made", owner, call.span());
        if let Some(id) = value.node() {
            self.facts.set_variant(id, (name.to_owned(), values));
        }
        Ok(Some(value))
    }

    /// The arm that a variant takes which the forward has made; `None` where that is not known.
    pub(in crate::trace) fn choice_by_variant(
        &mut self,
        choice: &syn::ExprMatch,
        subject: &Val,
        tail: bool,
    ) -> Option<Result<Val>> {
        let (name, values) = self.facts.variants.get(&subject.node()?)?.clone();
        for arm in &choice.arms {
            if arm.guard.is_some() {
                return None;
            }
            let bound: Vec<(&syn::Pat, Val)> = match &arm.pat {
                pat if matches_all(pat) => vec![(pat, subject.clone())],
                syn::Pat::TupleStruct(pat) if is_last(&pat.path, &name) => {
                    if pat.elems.len() != values.len() || !pat.elems.iter().all(matches_all) {
                        return None;
                    }
                    pat.elems.iter().zip(values.iter().cloned()).collect()
                }
                syn::Pat::TupleStruct(pat) if !is_last(&pat.path, &name) => continue,
                syn::Pat::Struct(pat) if !is_last(&pat.path, &name) => continue,
                syn::Pat::Path(pat) if !is_last(&pat.path, &name) => continue,
                _ => return None,
            };
            self.env.open();
            let held = bound.into_iter().try_for_each(|(pat, value)| self.bind(pat, value));
            let value = held.and_then(|()| self.last_expr(&arm.body, tail));
            self.env.close();
            return Some(value);
        }
        None
    }
}

fn is_last(path: &syn::Path, name: &str) -> bool {
    path_text(path).rsplit("::").next() == Some(name)
}
