//! Variants of the crate's enums that the forward makes: which it is stays known where nothing else decides.

use fx_ir::HostOp;
use quote::ToTokens;
use syn::spanned::Spanned;

use crate::syntax::matches_all;
use crate::syntax::path_text;

use crate::trace::{Result, Tracer, Ty, Val};

/// An arm, and what it binds.
pub(in crate::trace) type KnownArm<'c> = (&'c syn::Arm, Vec<(&'c syn::Pat, Val)>);

impl Tracer<'_> {
    /// `Out::Pair(a, b)`: the variant of that name and path, of an enum of the crate, made of these values.
    pub(in crate::trace) fn variant_made(
        &mut self,
        (owner, name): (Ty, &str),
        path: &syn::Path,
        call: &syn::ExprCall,
        values: Vec<Val>,
    ) -> Result<Val> {
        let variants = self.index.variants(&owner).unwrap_or_default();
        let fields = variants.iter().find(|variant| variant.name == name).map_or(&[][..], |variant| &variant.fields);
        let mut args = Vec::new();
        for (at, (arg, value)) in call.args.iter().zip(&values).enumerate() {
            let ty = fields.get(at).map(|(_, ty)| ty);
            args.push(self.operand_of_type(value, ty, arg.span())?);
        }
        let op = HostOp::Construct(self.qualified(path)?);
        let value = self.host_node(op, args, "made", owner, call.span());
        if let Some(id) = value.node() {
            self.facts.set_variant(id, (name.to_owned(), values));
        }
        Ok(value)
    }

    /// The arm that a variant takes which the forward has made, and what it binds; `None` where that is not known.
    pub(in crate::trace) fn arm_of_variant<'c>(
        &self,
        choice: &'c syn::ExprMatch,
        subject: &Val,
    ) -> Option<KnownArm<'c>> {
        let (name, values) = self.facts.variants.get(&subject.node()?)?;
        for arm in &choice.arms {
            if arm.guard.is_some() {
                return None;
            }
            let bound: Vec<(&syn::Pat, Val)> = match &arm.pat {
                pat if matches_all(pat) => vec![(pat, subject.clone())],
                syn::Pat::TupleStruct(pat) if is_last(&pat.path, name) => {
                    if pat.elems.len() != values.len() || !pat.elems.iter().all(matches_all) {
                        return None;
                    }
                    pat.elems.iter().zip(values.iter().cloned()).collect()
                }
                syn::Pat::Struct(pat) if is_last(&pat.path, name) => self.bound_fields(pat, subject)?,
                syn::Pat::TupleStruct(pat) if !is_last(&pat.path, name) => continue,
                syn::Pat::Struct(pat) if !is_last(&pat.path, name) => continue,
                syn::Pat::Path(pat) if !is_last(&pat.path, name) => continue,
                _ => return None,
            };
            return Some((arm, bound));
        }
        None
    }

    /// What the pattern of a variant binds of the fields that the forward has given it; `None` where it asks for more.
    fn bound_fields<'c>(&self, pat: &'c syn::PatStruct, subject: &Val) -> Option<Vec<(&'c syn::Pat, Val)>> {
        let given = self.facts.made.get(&subject.node()?)?;
        let field = |field: &'c syn::FieldPat| {
            let member = field.member.to_token_stream().to_string();
            let (_, value) = given.iter().find(|(name, _)| *name == member)?;
            matches_all(&field.pat).then(|| (&*field.pat, value.clone()))
        };
        pat.fields.iter().map(field).collect()
    }
}

fn is_last(path: &syn::Path, name: &str) -> bool {
    path_text(path).rsplit("::").next() == Some(name)
}
