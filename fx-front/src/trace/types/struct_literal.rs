//! Struct literals: the value is one node, and what its fields are stays known.

use fx_ir::{Arg, HostOp};
use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;

use crate::index::{Name, Resolved, is_within};
use crate::trace::{RefKind, Result, Tracer, Ty, Val, entry::signature::is_vec, unsupported};

impl Tracer<'_> {
    /// `Output { logits, hidden }`: a value of the user's made of values that are known.
    pub(in crate::trace) fn structure(&mut self, literal: &syn::ExprStruct) -> Result<Val> {
        let span = literal.span();
        let path = self.qualified(&literal.path)?;
        let written = literal.path.to_token_stream().to_string();
        let ty = self.enum_of(&written.replace(' ', "")).map_or_else(
            || {
                syn::parse_str::<syn::Type>(&written)
                    .map_or(Ty::Unknown, |ty| self.index.ty(self.module(), self.function().owner.as_ref(), &ty))
            },
            |(ty, _)| ty,
        );
        let (mut args, mut fields) = (Vec::new(), Vec::new());
        for field in &literal.fields {
            let value = self.expr(&field.expr)?;
            let member = field.member.to_token_stream().to_string();
            args.push(self.field_operand(&value, &ty, &member, span)?);
            fields.push((member, value));
        }
        if let Some(rest) = &literal.rest {
            let base = self.expr(rest)?;
            for member in self.other_fields(&ty, &fields, rest.span())? {
                let value = self.field(&base, &member, rest.span())?;
                args.push(self.field_operand(&value, &ty, &member, span)?);
                fields.push((member, value));
            }
        }
        let names = fields.iter().map(|(member, _)| member.clone()).collect();
        let value = self.host_node(HostOp::Struct((path, names)), args, "made", ty, span);
        if let Some(id) = value.node() {
            self.facts.set_made(id, fields);
        }
        Ok(value)
    }

    /// `Wrapper(xs)` as `Wrapper { 0: xs }`; `None` if it is no tuple struct of the crate.
    pub(in crate::trace) fn tuple_struct(
        &self,
        path: &syn::Path,
        text: &str,
        call: &syn::ExprCall,
    ) -> Option<syn::ExprStruct> {
        let owner = match text {
            "Self" => self.index.ty(self.module(), None, self.function().owner.as_ref()?),
            text => match self.index.resolve(self.module(), text) {
                Resolved::Item(_, _, Name::Struct(id)) => Ty::Struct(id),
                _ => return None,
            },
        };
        let Ty::Struct(id) = owner else { return None };
        let item = self.index.structs.get(id).filter(|item| !item.is_generic() && item.instance.is_none())?;
        let is_tuple =
            item.fields.len() == call.args.len() && item.fields.iter().all(|field| field.name.parse::<u32>().is_ok());
        let fields = call.args.iter().enumerate().map(|(at, value)| {
            let at = syn::Index { index: u32::try_from(at).unwrap_or(0), span: value.span() };
            let field: syn::FieldValue = syn::parse_quote_spanned!(value.span()=> #at: #value);
            field
        });
        let fields: Vec<syn::FieldValue> = fields.collect();
        is_tuple.then(|| syn::parse_quote_spanned!(call.span()=> #path { #(#fields),* }))
    }

    /// A struct by its fields, as a literal.
    pub(in crate::trace) fn struct_operand(&mut self, value: &Val, span: Span) -> Result<Arg> {
        let Val::Fields(shape, parts) = value else { return unsupported(span, "a value that cannot be written down") };
        let ty = Ty::Struct(shape.owner);
        let fields = &self.index.structs[shape.owner].fields;
        let home = self.home();
        let is_read = fields.iter().all(|field| field.scope.as_ref().is_none_or(|scope| is_within(home, scope)));
        let Some(path) = self.spelling(&ty).filter(|path| is_read && !path.contains('<')) else {
            return unsupported(span, "a struct of the crate that cannot be made here");
        };
        let mut args = Vec::new();
        for (name, part) in shape.names.iter().zip(parts) {
            args.push(self.field_operand(part, &ty, name, span)?);
        }
        Ok(HostOp::Struct((path, shape.names.clone())).of(args))
    }

    /// The fields that `..base` gives a struct literal.
    fn other_fields(&self, ty: &Ty, given: &[(String, Val)], span: Span) -> Result<Vec<String>> {
        let Ty::Struct(owner) = ty else { return unsupported(span, "`..` of a value of a type that is not known") };
        let names = self.index.structs[*owner].fields.iter().map(|field| field.name.clone());
        Ok(names.filter(|name| !given.iter().any(|(member, _)| member == name)).collect())
    }

    /// The value of a field of a struct literal of type `owner`.
    fn field_operand(&mut self, value: &Val, owner: &Ty, member: &str, span: Span) -> Result<Arg> {
        let field = match owner {
            Ty::Struct(owner) => self.index.field(*owner, member),
            _ => None,
        };
        match value {
            Val::Lit(Arg::None, _) => Ok(Arg::None),
            Val::Node(_, Ty::Tensor, RefKind::Ref) if field.is_some_and(|field| owns(&field.ty)) => {
                Ok(HostOp::Handle.on(self.operand(value, span)?))
            }
            Val::List(items) if field.is_some_and(|field| is_vec(&field.ty)) => {
                Ok(HostOp::Vec.of(self.exact_operands(items, span)?))
            }
            value => self.exact_operand(value, span),
        }
    }
}

/// Whether a value of the type is no reference.
fn owns(ty: &syn::Type) -> bool {
    !matches!(ty, syn::Type::Reference(_))
}
