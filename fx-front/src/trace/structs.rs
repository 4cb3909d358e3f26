//! Struct literals: the value is one node, and what its fields are stays known.

use fx_ir::Arg;
use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;

use super::{Form, Result, Tracer, Ty, Val, signature::is_vec, unknown};
use crate::index::{Name, Resolved, is_within};

impl Tracer<'_> {
    /// `Output { logits, hidden }`: a value of the user's made of values that are known.
    pub(super) fn structure(&mut self, literal: &syn::ExprStruct) -> Result<Val> {
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
        let (mut args, mut spelled, mut fields) = (Vec::new(), Vec::new(), Vec::new());
        for field in &literal.fields {
            let value = self.expr(&field.expr)?;
            let member = field.member.to_token_stream().to_string();
            let text = self.spell_field(&value, &ty, &member, &mut args, span)?;
            spelled.push(format!("{member}: {text}"));
            fields.push((member, value));
        }
        if let Some(rest) = &literal.rest {
            let base = self.expr(rest)?;
            for member in self.other_fields(&ty, &fields, rest.span())? {
                let value = self.field(&base, &member, rest.span())?;
                let text = self.spell_field(&value, &ty, &member, &mut args, span)?;
                spelled.push(format!("{member}: {text}"));
                fields.push((member, value));
            }
        }
        let template = format!("{path} {{ {} }}", spelled.join(", "));
        let value = self.host(&template, args, "made", ty, span);
        self.made.extend(value.node().map(|id| (id, fields)));
        Ok(value)
    }

    /// `Wrapper(xs)` as `Wrapper { 0: xs }`; `None` if it is no tuple struct of the crate.
    pub(super) fn tuple_struct(&self, path: &syn::Path, text: &str, call: &syn::ExprCall) -> Option<syn::ExprStruct> {
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
    pub(super) fn spell_fields(&mut self, value: &Val, args: &mut Vec<Arg>, span: Span) -> Result<String> {
        let Val::Fields(shape, parts) = value else { return unknown(span, "a value that cannot be written down") };
        let ty = Ty::Struct(shape.owner);
        let fields = &self.index.structs[shape.owner].fields;
        let home = self.home();
        let is_read = fields.iter().all(|field| field.scope.as_ref().is_none_or(|scope| is_within(home, scope)));
        let Some(path) = self.spelling(&ty).filter(|path| is_read && !path.contains('<')) else {
            return unknown(span, "a struct of the crate that cannot be made here");
        };
        let mut spelled = Vec::new();
        for (name, part) in shape.names.iter().zip(parts) {
            spelled.push(format!("{name}: {}", self.spell_field(part, &ty, name, args, span)?));
        }
        Ok(format!("{path} {{ {} }}", spelled.join(", ")))
    }

    /// The fields that `..base` gives a struct literal.
    fn other_fields(&self, ty: &Ty, given: &[(String, Val)], span: Span) -> Result<Vec<String>> {
        let Ty::Struct(owner) = ty else { return unknown(span, "`..` of a value of a type that is not known") };
        let names = self.index.structs[*owner].fields.iter().map(|field| field.name.clone());
        Ok(names.filter(|name| !given.iter().any(|(member, _)| member == name)).collect())
    }

    /// The value of a field of a struct literal of type `owner`.
    fn spell_field(
        &mut self,
        value: &Val,
        owner: &Ty,
        member: &str,
        args: &mut Vec<Arg>,
        span: Span,
    ) -> Result<String> {
        let field = match owner {
            Ty::Struct(owner) => self.index.field(*owner, member),
            _ => None,
        };
        match value {
            Val::Lit(Arg::None, _) => Ok("None".to_owned()),
            Val::Node(_, Ty::Tensor, Form::Ref) if field.is_some_and(|field| owns(&field.ty)) => {
                Ok(format!("{}.shallow_clone()", self.spell(value, args, span)?))
            }
            Val::List(items) if field.is_some_and(|field| is_vec(&field.ty)) => {
                let items: Result<Vec<String>> =
                    items.iter().map(|item| self.spell_exactly(item, args, span)).collect();
                Ok(format!("vec![{}]", items?.join(", ")))
            }
            value => self.spell_exactly(value, args, span),
        }
    }
}

/// Is a value of the type no reference?
fn owns(ty: &syn::Type) -> bool {
    !matches!(ty, syn::Type::Reference(_))
}
