//! `#[derive(Module)]`: shows every field to the runtime, which tells by its type what it is.
//!
//! An enum has the fields of the variant that it is, see [`variants`].

use std::collections::BTreeMap;

use darling::{FromField, util::SpannedValue};
use fx_front::{attrs::ModuleField, diag::Code, report::Faults};
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Data, DeriveInput, Member, Type, spanned::Spanned};

use self::bounds::bounded;
use crate::primitive::is_primitive;
use crate::{function, state};

mod bounds;
mod variants;

/// The whole expansion.
pub(crate) fn expand(item: TokenStream) -> TokenStream {
    let mut faults = Faults::default();
    match syn::parse2::<DeriveInput>(item) {
        Ok(item) => {
            check_item(&item, &mut faults);
            let (module, accessors) = if let Data::Enum(data) = &item.data {
                (variants::module(&item, data, &mut faults), None)
            } else {
                let fields = fields(&item, &mut faults);
                (module(&item, &fields), accessors(&item, &fields))
            };
            let module = faults.is_empty().then_some(module);
            let state = faults.is_empty().then(|| state::of_module(&item)).flatten();
            quote!(#module #state #accessors #faults)
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

fn check_item(item: &DeriveInput, faults: &mut Faults) {
    for attr in item.attrs.iter().filter(|attr| attr.path().is_ident("module")) {
        faults.push(Code::UnknownOption, attr, "`#[module(..)]` stands on the type", "put it on a field");
    }
    if let Data::Union(data) = &item.data {
        let (keyword, name) = (&data.union_token, &item.ident);
        let message = format!("`Module` is derived for structs and enums, and `{name}` is a union");
        let help = "make it an enum, or implement `fx_runtime::Module` by hand";
        faults.push(Code::NotAStruct, quote!(#keyword #name), &message, help);
    }
}

fn fields(item: &DeriveInput, faults: &mut Faults) -> Vec<Field> {
    match &item.data {
        Data::Struct(data) => fields_of(&data.fields, faults),
        _ => Vec::new(),
    }
}

fn fields_of(fields: &syn::Fields, faults: &mut Faults) -> Vec<Field> {
    let read: Vec<Field> =
        fields.members().zip(fields).filter_map(|(member, field)| read(member, field, faults)).collect();
    check_names(&read, faults);
    read
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
    let generics = bounded(item, fields);
    let (params, args, bounds) = generics.split_for_impl();
    let in_self = |field: &Field| {
        let member = &field.member;
        quote!(&self.#member)
    };
    let visits = fields.iter().filter_map(|field| visit(field, &in_self(field)));
    let copies = fields.iter().map(|field| place(field, &in_self(field)));
    let registration = registration(item);
    quote! {
        #[automatically_derived]
        impl #params ::fx_runtime::Module for #ident #args #bounds {
            #[inline]
            fn type_name(&self) -> &'static str {
                #name
            }

            #[inline]
            #[allow(unused)]
            fn visit<'fx>(&'fx self, visitor: &mut dyn ::fx_runtime::module::Visitor<'fx>) {
                use ::fx_runtime::module::probe::{ViaField as _, VisitNothing as _};
                #(#visits)*
            }

            #[inline]
            #[allow(unused)]
            fn placed(
                &self,
                place: &mut ::fx_runtime::module::Place<'_>,
            ) -> ::core::result::Result<Self, ::fx_runtime::Error> {
                use ::fx_runtime::module::probe::{CloneNothing as _, ViaClone as _, ViaField as _, ViaLock as _};
                ::core::result::Result::Ok(Self { #(#copies),* })
            }
        }

        #registration
    }
}

/// Generic types are not found in a `Sequential`.
fn registration(item: &DeriveInput) -> Option<TokenStream> {
    let ident = &item.ident;
    item.generics.params.is_empty().then(|| quote!(::fx_runtime::register_module!(#ident);))
}

/// `member: copy`, of the field that the reference `at` leads to. The function that it is in has the traits of
/// `module::probe` in scope.
fn place(field: &Field, at: &TokenStream) -> TokenStream {
    let (member, name) = (&field.member, Field::plain_name(&field.member));
    if is_primitive(&field.options.ty) {
        return quote!(#member: *#at);
    }
    quote!(#member: (&&&::fx_runtime::module::probe::Probe(#at)).place_as(#name, place)?)
}

/// Shows the field that the reference `at` leads to. The function that it is in has the traits of
/// `module::probe` in scope.
fn visit(field: &Field, at: &TokenStream) -> Option<TokenStream> {
    let ModuleField { ty, skip, parameter, buffer, .. } = &field.options;
    let name = &field.name;
    let role = match (parameter.is_present(), buffer.is_present()) {
        _ if skip.is_present() => return None,
        (false, false) if name.contains("{}") => {
            return Some(quote! {
                for (index, element) in (#at).iter().enumerate() {
                    (&&&::fx_runtime::module::probe::Probe(element)).visit(&::std::format!(#name, index), visitor);
                }
            });
        }
        (false, false) if is_primitive(ty) => return None,
        (false, false) => {
            return Some(quote!((&&&::fx_runtime::module::probe::Probe(#at)).visit(#name, visitor);));
        }
        (true, _) => quote!(::fx_runtime::module::Role::Parameter),
        (_, true) => quote!(::fx_runtime::module::Role::Buffer),
    };
    // The span makes rustc complain about the field's type where it is no tensor.
    let span = ty.span().resolved_at(Span::call_site());
    Some(if argument(ty, "Option").is_some() {
        quote_spanned! {span=>
            if let ::core::option::Option::Some(tensor) = #at {
                visitor.tensor(#name, tensor, #role);
            }
        }
    } else {
        quote_spanned!(span=> visitor.tensor(#name, #at, #role);)
    })
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
