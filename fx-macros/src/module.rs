//! `#[derive(Module)]`: shows every field to the runtime, which tells by its type what it is.

use std::collections::BTreeMap;

use darling::{FromField, util::SpannedValue};
use fx_front::{attrs::ModuleField, diag::Code};
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Data, DeriveInput, Generics, Member, Type, spanned::Spanned};

use crate::{function, report::Faults};

/// The whole expansion.
pub(crate) fn expand(item: TokenStream) -> TokenStream {
    let mut faults = Faults::default();
    match syn::parse2::<DeriveInput>(item) {
        Ok(item) => {
            let fields = fields(&item, &mut faults);
            let accessors = accessors(&item, &fields);
            let module = faults.is_empty().then(|| module(&item, &fields));
            quote!(#module #accessors #faults)
        }
        Err(error) => error.to_compile_error(),
    }
}

/// One field with its options.
struct Field {
    member: Member,
    /// Its name in the state dict.
    name: String,
    options: ModuleField,
}

impl Field {
    /// The identifier without `r#`, or the position.
    fn plain_name(member: &Member) -> String {
        match member {
            Member::Named(ident) => ident.to_string().trim_start_matches("r#").to_owned(),
            Member::Unnamed(index) => index.index.to_string(),
        }
    }
}

fn fields(item: &DeriveInput, faults: &mut Faults) -> Vec<Field> {
    for attr in item.attrs.iter().filter(|attr| attr.path().is_ident("module")) {
        faults.push(Code::UnknownOption, attr, "`#[module(..)]` stands on the struct", "put it on a field");
    }
    let (kind, span) = match &item.data {
        Data::Struct(data) => {
            let fields = data.fields.members().zip(&data.fields);
            let fields = fields.filter_map(|(member, field)| read(member, field, faults)).collect::<Vec<_>>();
            check_names(&fields, faults);
            return fields;
        }
        Data::Enum(data) => ("enum", data.enum_token.span),
        Data::Union(data) => ("union", data.union_token.span),
    };
    let keyword = syn::Ident::new(kind, span);
    let name = &item.ident;
    let message =
        format!("`Module` is derived for structs, and `{name}` is {} {kind}", if kind == "enum" { "an" } else { "a" });
    let help = "make it a struct, with an `Option` for each part that may be missing, or implement `fx_runtime::Module` by hand";
    faults.push(Code::NotAStruct, quote!(#keyword #name), &message, help);
    Vec::new()
}

fn read(member: Member, field: &syn::Field, faults: &mut Faults) -> Option<Field> {
    function::check_all(field.attrs.iter(), faults);
    let options = faults.options(ModuleField::from_field(field))?;
    let name = options.name.as_ref().map_or_else(|| Field::plain_name(&member), |name| name.as_ref().clone());
    Some(Field { member, name, options })
}

fn check_names(fields: &[Field], faults: &mut Faults) {
    let mut seen: BTreeMap<&str, &Field> = BTreeMap::new();
    for field in fields.iter().filter(|field| !field.options.skip.is_present()) {
        let Some(first) = seen.insert(&field.name, field) else {
            continue;
        };
        let (first, second) = (Field::plain_name(&first.member), Field::plain_name(&field.member));
        let message = format!("the fields `{first}` and `{second}` are both named `{}` in the state dict", field.name);
        let at = field.options.name.as_ref().map_or_else(|| field.member.span(), SpannedValue::span);
        let help = "give one another `#[module(name = \"..\")]`";
        faults.push(Code::DuplicateName, syn::Ident::new("name", at), &message, help);
    }
}

fn module(item: &DeriveInput, fields: &[Field]) -> TokenStream {
    let ident = &item.ident;
    let name = ident.to_string();
    let generics = bounded(&item.generics, fields);
    let (params, args, bounds) = generics.split_for_impl();
    let visits = fields.iter().filter_map(visit);
    let clones = fields.iter().map(|field| {
        let (member, name) = (&field.member, Field::plain_name(&field.member));
        quote!(#member: ::fx_runtime::module::clone_field!(#name, &self.#member)?)
    });
    let registration = item.generics.params.is_empty().then(|| quote!(::fx_runtime::register_module!(#ident);));
    quote! {
        #[automatically_derived]
        impl #params ::fx_runtime::Module for #ident #args #bounds {
            fn type_name(&self) -> &'static str {
                #name
            }

            #[allow(unused_variables)]
            fn visit<'fx>(&'fx self, visitor: &mut dyn ::fx_runtime::module::Visitor<'fx>) {
                #(#visits)*
            }

            fn shallow_clone(&self) -> ::core::result::Result<Self, ::fx_runtime::Error> {
                ::core::result::Result::Ok(Self { #(#clones),* })
            }
        }

        #registration
    }
}

fn visit(field: &Field) -> Option<TokenStream> {
    let ModuleField { ty, skip, parameter, buffer, .. } = &field.options;
    let (member, name) = (&field.member, &field.name);
    let role = match (parameter.is_present(), buffer.is_present()) {
        _ if skip.is_present() => return None,
        (false, false) if name.contains("{}") => {
            return Some(quote! {
                for (index, element) in self.#member.iter().enumerate() {
                    ::fx_runtime::module::visit_field!(visitor, &::std::format!(#name, index), element);
                }
            });
        }
        (false, false) => {
            return Some(quote!(::fx_runtime::module::visit_field!(visitor, #name, &self.#member);));
        }
        (true, _) => quote!(::fx_runtime::module::Role::Parameter),
        (_, true) => quote!(::fx_runtime::module::Role::Buffer),
    };
    // The span makes rustc complain about the field's type where it is no tensor.
    let span = ty.span().resolved_at(Span::call_site());
    Some(if argument(ty, "Option").is_some() {
        quote_spanned! {span=>
            if let ::core::option::Option::Some(tensor) = &self.#member {
                visitor.tensor(#name, tensor, #role);
            }
        }
    } else {
        quote_spanned!(span=> visitor.tensor(#name, &self.#member, #role);)
    })
}

/// The generics with `Field` asked of every type parameter that is a part of the model.
///
/// Without it the compiler, which chooses by what it knows of the type, would take such a field for a hyper-parameter.
fn bounded(generics: &Generics, fields: &[Field]) -> Generics {
    let mut bounded = generics.clone();
    for param in generics.type_params() {
        let is_part = |field: &&Field| !field.options.skip.is_present() && holds(&field.options.ty, &param.ident);
        if fields.iter().any(|field| is_part(&field)) {
            let ident = &param.ident;
            bounded.make_where_clause().predicates.push(syn::parse_quote!(#ident: ::fx_runtime::module::Field));
        }
    }
    bounded
}

/// Is the type the parameter, or a container of it that shows its elements?
fn holds(ty: &Type, param: &syn::Ident) -> bool {
    match ty {
        Type::Path(path) if path.path.is_ident(param) => true,
        Type::Array(array) => holds(&array.elem, param),
        Type::Tuple(tuple) => tuple.elems.iter().any(|elem| holds(elem, param)),
        Type::Paren(inner) => holds(&inner.elem, param),
        Type::Group(inner) => holds(&inner.elem, param),
        _ => ["Option", "Box", "Vec"].iter().any(|name| argument(ty, name).is_some_and(|elem| holds(elem, param))),
    }
}

/// `T` of `name<T>`.
fn argument<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == name)?;
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    arguments.args.iter().find_map(|arg| match arg {
        syn::GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

/// A method for each field, by which generated code elsewhere in the crate reads what is private to a module.
fn accessors(item: &DeriveInput, fields: &[Field]) -> Option<TokenStream> {
    if fields.is_empty() {
        return None;
    }
    let ident = &item.ident;
    let (params, args, bounds) = item.generics.split_for_impl();
    let methods = fields.iter().map(|field| {
        let (member, ty) = (&field.member, &field.options.ty);
        let method = format_ident!("fx_{}", Field::plain_name(member));
        quote! {
            #[doc(hidden)]
            #[inline]
            pub(crate) fn #method(&self) -> &#ty {
                &self.#member
            }
        }
    });
    Some(quote! {
        #[automatically_derived]
        #[allow(dead_code, private_interfaces, non_snake_case)]
        impl #params #ident #args #bounds {
            #(#methods)*
        }
    })
}

#[cfg(test)]
mod tests;
