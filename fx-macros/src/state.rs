//! `#[derive(State)]`: a type is saved field by field under the fields' names, and put together again from them.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Expr, Field, Fields, Generics, Ident, Member, MetaNameValue, Type};

use crate::primitive::is_primitive;

/// The whole expansion.
pub(crate) fn expand(item: TokenStream) -> TokenStream {
    match syn::parse2::<DeriveInput>(item) {
        Ok(item) => state(&item, Each::State).unwrap_or_else(|error| error.to_compile_error()),
        Err(error) => error.to_compile_error(),
    }
}

/// The state of a type of the user's that is a module. A field whose type has none is told when a value is saved.
pub(crate) fn of_module(item: &DeriveInput) -> Option<TokenStream> {
    if !item.generics.params.is_empty() {
        return None;
    }
    let mut item = item.clone();
    // What attributes say is said to `Module`.
    match &mut item.data {
        Data::Struct(data) => data.fields.iter_mut().for_each(|field| field.attrs.clear()),
        Data::Enum(data) => {
            data.variants.iter_mut().flat_map(|variant| &mut variant.fields).for_each(|field| field.attrs.clear());
        }
        Data::Union(_) => return None,
    }
    state(&item, Each::Own).ok()
}

/// How a field is saved.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Each {
    /// Its type has a state.
    State,
    /// Its type may have a state.
    Own,
}

impl Each {
    /// Saves what the reference `at` leads to: an expression.
    fn save(self, ty: &Type, at: &TokenStream) -> TokenStream {
        match self {
            Each::State => quote!(::fx_runtime::frozen::State::save(#at, to)),
            Each::Own => quote!((&&::fx_runtime::frozen::own::OfType::<#ty>::new()).save(#at, to)),
        }
    }

    /// Saves the fields, each with its name, its type and the reference that leads to it: the end of a block.
    fn save_fields(self, fields: &[(String, &Type, TokenStream)]) -> TokenStream {
        match self {
            Each::State if fields.len() > 1 => {
                let parts = fields.iter().map(|(name, _, at)| quote!((#name, #at)));
                quote!(to.fields(&[#(#parts),*]))
            }
            _ => {
                let saves = fields.iter().map(|(name, ty, at)| self.save_field(name, ty, at));
                quote!(#(#saves)* ::core::result::Result::Ok(()))
            }
        }
    }

    fn save_field(self, name: &str, ty: &Type, at: &TokenStream) -> TokenStream {
        match self {
            Each::State => quote!(to.field(#name, #at)?;),
            Each::Own if is_primitive(ty) => Each::State.save_field(name, ty, at),
            Each::Own => quote!((&&::fx_runtime::frozen::own::OfType::<#ty>::new()).save_field(#name, #at, to)?;),
        }
    }

    fn load(self, ty: &Type) -> TokenStream {
        match self {
            Each::State => quote!(::fx_runtime::frozen::State::load(from)?),
            Each::Own => quote!((&&::fx_runtime::frozen::own::OfType::<#ty>::new()).load(from)?),
        }
    }

    fn load_field(self, name: &str, ty: &Type) -> TokenStream {
        match self {
            Each::State => quote!(from.field(#name)?),
            Each::Own if is_primitive(ty) => Each::State.load_field(name, ty),
            Each::Own => quote!((&&::fx_runtime::frozen::own::OfType::<#ty>::new()).load_field(#name, from)?),
        }
    }
}

fn state(item: &DeriveInput, each: Each) -> syn::Result<TokenStream> {
    let (save, load) = match &item.data {
        Data::Struct(data) => of_struct(&data.fields, each),
        Data::Enum(data) => {
            let variants = data.variants.iter().map(|variant| of_variant(&variant.ident, &variant.fields, each));
            let (saves, loads): (Vec<_>, Vec<_>) = variants.unzip();
            (
                quote!(match self { #(#saves)* }),
                quote!(match from.choice()?.as_str() { #(#loads)* _ => from.unknown_choice() }),
            )
        }
        Data::Union(data) => return Err(syn::Error::new_spanned(data.union_token, "a union has no state")),
    };
    let traits = (each == Each::Own).then(|| {
        quote!(
            use ::fx_runtime::frozen::own::{Otherwise as _, ViaState as _};
        )
    });
    let ident = &item.ident;
    let generics = bounded(&item.generics);
    let (params, args, bounds) = generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        #[allow(unused)]
        impl #params ::fx_runtime::frozen::State for #ident #args #bounds {
            #[inline]
            fn save(&self, to: &mut ::fx_runtime::frozen::Saver) -> ::fx_runtime::Result<()> {
                #traits
                #save
            }

            #[inline]
            fn load(from: &mut ::fx_runtime::frozen::Loader) -> ::fx_runtime::Result<Self> {
                #traits
                #load
            }
        }
    })
}

fn of_struct(fields: &Fields, each: Each) -> (TokenStream, TokenStream) {
    let parts: Vec<_> = saved(fields).map(|(member, name, ty)| (name, ty, quote!(&self.#member))).collect();
    let (loads, members) = loads(fields, each);
    (each.save_fields(&parts), quote!(#loads ::core::result::Result::Ok(Self { #(#members),* })))
}

/// A variant is known by its name; where it holds one thing, that has no name of its own.
fn of_variant(variant: &Ident, fields: &Fields, each: Each) -> (TokenStream, TokenStream) {
    let name = variant.to_string();
    if let Fields::Unnamed(one) = fields
        && one.unnamed.len() == 1
    {
        let ty = &one.unnamed[0].ty;
        let (save, load) = (each.save(ty, &quote!(inner)), each.load(ty));
        return (
            quote!(Self::#variant(inner) => { to.choose(#name); #save }),
            quote!(#name => ::core::result::Result::Ok(Self::#variant(#load)),),
        );
    }
    let bound = saved(fields).map(|(member, name, _)| {
        let local = local(&name);
        quote!(#member: #local)
    });
    let part = |(_, name, ty): (Member, String, _)| {
        let local = local(&name);
        (name, ty, quote!(#local))
    };
    let parts: Vec<_> = saved(fields).map(part).collect();
    let saves = each.save_fields(&parts);
    let (loads, members) = loads(fields, each);
    (
        quote! {
            Self::#variant { #(#bound,)* .. } => {
                to.choose(#name);
                #saves
            }
        },
        quote!(#name => { #loads ::core::result::Result::Ok(Self::#variant { #(#members),* }) }),
    )
}

/// The fields that are saved, with their names in the file and their types.
fn saved(fields: &Fields) -> impl Iterator<Item = (Member, String, &Type)> + '_ {
    fields.members().zip(fields).filter(|(_, field)| default(field).is_none()).map(|(member, field)| {
        let name = plain_name(&member);
        (member, name, &field.ty)
    })
}

/// The most fields that [`Loader::fields`](::fx_runtime::frozen::Loader) loads in one go.
const TOGETHER: usize = 8;

/// Statements that load fields, and what each member is given. Fields are loaded in tuples, since rustc drops all that are
/// loaded before each `?`.
fn loads(fields: &Fields, each: Each) -> (TokenStream, Vec<TokenStream>) {
    let names: Vec<String> = saved(fields).map(|(_, name, _)| name).collect();
    let together = each == Each::State && names.len() > 1;
    let load = |(member, field): (Member, &Field)| {
        let name = plain_name(&member);
        match default(field) {
            Some(Ok(value)) => quote!(#member: #value),
            Some(Err(error)) => error.to_compile_error(),
            None if together => {
                let local = local(&name);
                quote!(#member: #local)
            }
            None => {
                let load = each.load_field(&name, &field.ty);
                quote!(#member: #load)
            }
        }
    };
    let statements = names.chunks(TOGETHER).filter(|_| together).map(|names| {
        let locals = names.iter().map(|name| local(name));
        quote!(let (#(#locals,)*) = from.fields([#(#names),*])?;)
    });
    (statements.collect(), fields.members().zip(fields).map(load).collect())
}

/// The variable that holds a field.
fn local(field: &str) -> Ident {
    quote::format_ident!("field_{field}")
}

/// `#[state(default = ..)]`: not saved, and this value when it is loaded.
fn default(field: &Field) -> Option<syn::Result<Expr>> {
    let attr = field.attrs.iter().find(|attr| attr.path().is_ident("state"))?;
    Some(attr.parse_args::<MetaNameValue>().map(|option| option.value))
}

fn plain_name(member: &Member) -> String {
    match member {
        Member::Named(ident) => ident.to_string().trim_start_matches("r#").to_owned(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

fn bounded(generics: &Generics) -> Generics {
    let mut bounded = generics.clone();
    for param in generics.type_params() {
        let ident = &param.ident;
        bounded.make_where_clause().predicates.push(syn::parse_quote!(#ident: ::fx_runtime::frozen::State));
    }
    bounded
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use quote::quote;

    fn check(item: proc_macro2::TokenStream, expected: &Expect) {
        let file = syn::parse2(super::expand(item)).expect("the expansion parses");
        expected.assert_eq(&prettyplease::unparse(&file));
    }

    #[test]
    fn fields_under_their_names() {
        check(
            quote!(
                struct Blocks<T> {
                    conv1: Conv,
                    r#type: T,
                    #[state(default = Init::Const(0.0))]
                    init: Init,
                }
            ),
            &expect![[r#"
                #[automatically_derived]
                #[allow(unused)]
                impl<T> ::fx_runtime::frozen::State for Blocks<T>
                where
                    T: ::fx_runtime::frozen::State,
                {
                    #[inline]
                    fn save(&self, to: &mut ::fx_runtime::frozen::Saver) -> ::fx_runtime::Result<()> {
                        to.fields(&[("conv1", &self.conv1), ("type", &self.r#type)])
                    }
                    #[inline]
                    fn load(from: &mut ::fx_runtime::frozen::Loader) -> ::fx_runtime::Result<Self> {
                        let (field_conv1, field_type) = from.fields(["conv1", "type"])?;
                        ::core::result::Result::Ok(Self {
                            conv1: field_conv1,
                            r#type: field_type,
                            init: Init::Const(0.0),
                        })
                    }
                }
            "#]],
        );
    }

    #[test]
    fn a_choice_by_its_name() {
        check(
            quote!(
                enum Act {
                    Relu,
                    LeakyRelu(f64),
                    Clamp(f64, f64),
                }
            ),
            &expect![[r#"
                #[automatically_derived]
                #[allow(unused)]
                impl ::fx_runtime::frozen::State for Act {
                    #[inline]
                    fn save(&self, to: &mut ::fx_runtime::frozen::Saver) -> ::fx_runtime::Result<()> {
                        match self {
                            Self::Relu { .. } => {
                                to.choose("Relu");
                                ::core::result::Result::Ok(())
                            }
                            Self::LeakyRelu(inner) => {
                                to.choose("LeakyRelu");
                                ::fx_runtime::frozen::State::save(inner, to)
                            }
                            Self::Clamp { 0: field_0, 1: field_1, .. } => {
                                to.choose("Clamp");
                                to.fields(&[("0", field_0), ("1", field_1)])
                            }
                        }
                    }
                    #[inline]
                    fn load(from: &mut ::fx_runtime::frozen::Loader) -> ::fx_runtime::Result<Self> {
                        match from.choice()?.as_str() {
                            "Relu" => ::core::result::Result::Ok(Self::Relu {}),
                            "LeakyRelu" => {
                                ::core::result::Result::Ok(
                                    Self::LeakyRelu(::fx_runtime::frozen::State::load(from)?),
                                )
                            }
                            "Clamp" => {
                                let (field_0, field_1) = from.fields(["0", "1"])?;
                                ::core::result::Result::Ok(Self::Clamp {
                                    0: field_0,
                                    1: field_1,
                                })
                            }
                            _ => from.unknown_choice(),
                        }
                    }
                }
            "#]],
        );
    }
}
