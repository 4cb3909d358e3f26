//! Struct literals: the value is one node, and what its fields are stays known.

use std::rc::Rc;

use fx_ir::HostOp;
use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;

use crate::index::{Name, Resolved};
use crate::trace::{Result, Tracer, Ty, Val, tracer::Unwritten, unsupported, value::Shape};

impl Tracer<'_> {
    /// `Output { logits, hidden }`: a value of the user's made of values that are known.
    pub(in crate::trace) fn structure(&mut self, literal: &syn::ExprStruct) -> Result<Val> {
        let written = literal.path.to_token_stream().to_string();
        let ty = self.enum_of(&written.replace(' ', "")).map_or_else(
            || {
                syn::parse_str::<syn::Type>(&written)
                    .map_or(Ty::Unknown, |ty| self.index.ty(self.module(), self.function().owner.as_ref(), &ty))
            },
            |(ty, _)| ty,
        );
        let fields = self.given_fields(literal, &ty)?;
        match self.struct_node(literal, &ty, &fields) {
            Ok(value) => Ok(value),
            Err(fault) => self.struct_of_parts(&ty, fields).ok_or(fault),
        }
    }

    /// The fields that the literal gives the struct, with their values.
    fn given_fields(&mut self, literal: &syn::ExprStruct, ty: &Ty) -> Result<Vec<(String, Val)>> {
        let mut fields = Vec::new();
        for field in &literal.fields {
            let member = field.member.to_token_stream().to_string();
            let known = match ty {
                Ty::Struct(owner) => self.index.field(*owner, &member),
                _ => None,
            };
            let value = self.gathering(known.map(|known| &known.ty), |tracer| tracer.moved_into(&field.expr))?;
            fields.push((member, value));
        }
        if let Some(rest) = &literal.rest {
            let base = self.expr(rest)?;
            for member in self.other_fields(ty, &fields, rest.span())? {
                let value = self.field(&base, &member, rest.span())?;
                fields.push((member, value));
            }
        }
        Ok(fields)
    }

    /// The struct as one node.
    fn struct_node(&mut self, literal: &syn::ExprStruct, ty: &Ty, fields: &[(String, Val)]) -> Result<Val> {
        let (path, span) = (self.qualified(&literal.path)?, literal.span());
        let mut args = Vec::new();
        for (member, value) in fields {
            args.push(self.field_operand(value, ty, member, span)?);
        }
        let names = fields.iter().map(|(member, _)| member.clone()).collect();
        let value = self.host_node(HostOp::Struct((path, names)), args, "made", ty.clone(), span);
        if let Some(id) = value.node() {
            self.facts.set_made(id, fields.to_vec());
            if let Some(variant) = literal.path.segments.last().filter(|_| self.index.is_enum(ty)) {
                let held = fields.iter().map(|(_, value)| value.clone()).collect();
                self.facts.set_variant(id, (variant.ident.to_string(), held));
            }
        }
        Ok(value)
    }

    /// A struct that generated code cannot make, as the values of its fields; `None` where not all of them are known.
    fn struct_of_parts(&mut self, ty: &Ty, mut fields: Vec<(String, Val)>) -> Option<Val> {
        let (Ty::Struct(owner), Unwritten::ByParts { .. }) = (ty.clone(), self.unwritten) else { return None };
        // What a function hands back that is no part of another is a whole struct; one of its own items it does not.
        let is_own_item =
            self.index.modules.get(&self.index.structs[owner].module).is_some_and(|module| module.is_body);
        if self.is_module(ty) || self.is_entry() && !is_own_item {
            return None;
        }
        let names: Vec<String> = self.index.structs[owner].fields.iter().map(|field| field.name.clone()).collect();
        let mut parts = Vec::new();
        for name in &names {
            let at = fields.iter().position(|(member, _)| member == name)?;
            let ty = self.index.field(owner, name).map(|field| self.index.field_ty(owner, field));
            let part = self.of_field(fields.swap_remove(at).1, &ty.unwrap_or(Ty::Unknown));
            if part.ty() == Ty::Unknown {
                return None;
            }
            parts.push(part);
        }
        self.unwritten = Unwritten::ByParts { is_used: true };
        Some(Val::Fields(Rc::new(Shape { owner, names }), parts))
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

    /// The fields that `..base` gives a struct literal.
    fn other_fields(&self, ty: &Ty, given: &[(String, Val)], span: Span) -> Result<Vec<String>> {
        let Ty::Struct(owner) = ty else { return unsupported(span, "`..` of a value of a type that is not known") };
        let names = self.index.structs[*owner].fields.iter().map(|field| field.name.clone());
        Ok(names.filter(|name| !given.iter().any(|(member, _)| member == name)).collect())
    }
}
