//! `#[derive(Module)]` on an enum: a module that is one of several, for instance a convolution or a linear layer.
//!
//! It has the fields of the variant that it is. What a variant of one nameless field holds leaves no trace in names,
//! as an `Option` leaves none: `enum Proj { Conv(nn::Conv2D), Linear(nn::Linear) }` in a field `proj` has
//! `proj.weight`, whichever it is.

use fx_front::report::Faults;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{DataEnum, DeriveInput, Fields, Variant};

use super::{Field, bounds::bounded, fields_of, place, registration, visit};

/// One variant with the options of its fields.
struct Arm<'a> {
    variant: &'a Variant,
    fields: Vec<Field>,
}

/// The implementation of `Module`.
pub(super) fn module(item: &DeriveInput, data: &DataEnum, faults: &mut Faults) -> TokenStream {
    let arms = data.variants.iter().map(|variant| Arm { variant, fields: fields_of(&variant.fields, faults) });
    let arms: Vec<Arm> = arms.collect();
    let ident = &item.ident;
    let name = ident.to_string();
    let generics = bounded(item, arms.iter().flat_map(|arm| &arm.fields));
    let (params, args, bounds) = generics.split_for_impl();
    let (visits, copies) = (arms.iter().map(Arm::visit), arms.iter().map(Arm::place));
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
                match *self { #(#visits)* }
            }

            #[inline]
            #[allow(unused)]
            fn placed(
                &self,
                place: &mut ::fx_runtime::module::Place<'_>,
            ) -> ::core::result::Result<Self, ::fx_runtime::Error> {
                use ::fx_runtime::module::probe::{CloneNothing as _, ViaClone as _, ViaField as _, ViaLock as _};
                ::core::result::Result::Ok(match *self { #(#copies)* })
            }
        }

        #registration
    }
}

impl Arm<'_> {
    /// `Self::Variant { a: ref field_0, .. }`, and the names that it binds.
    fn pattern(&self) -> (TokenStream, Vec<TokenStream>) {
        let names: Vec<syn::Ident> = (0..self.fields.len()).map(|at| format_ident!("field_{at}")).collect();
        let (variant, members) = (&self.variant.ident, self.fields.iter().map(|field| &field.member));
        let pattern = quote!(Self::#variant { #(#members: ref #names),* });
        (pattern, names.into_iter().map(|name| quote!(#name)).collect())
    }

    fn visit(&self) -> TokenStream {
        let (pattern, names) = self.pattern();
        let visits = self.fields.iter().zip(&names).filter_map(|(field, at)| visit(field, at));
        let through = self.is_wrapper().then(|| quote!(let visitor = &mut ::fx_runtime::module::Through(visitor);));
        quote!(#pattern => { #through #(#visits)* })
    }

    fn place(&self) -> TokenStream {
        let (pattern, names) = self.pattern();
        let variant = &self.variant.ident;
        let copies = self.fields.iter().zip(&names).map(|(field, at)| place(field, at));
        quote!(#pattern => Self::#variant { #(#copies),* },)
    }

    /// One field without a name of its own.
    fn is_wrapper(&self) -> bool {
        let named = |field: &Field| field.options.name.is_some();
        matches!(self.variant.fields, Fields::Unnamed(_)) && self.fields.len() == 1 && !self.fields.iter().any(named)
    }
}
