//! Which types of the crate lie behind pointers: a `Box`, an `Rc` or an `Arc` is the type that it points to for the
//! tracer, and generated code that takes such a value apart has to look through it.

use syn::visit::Visit;

use super::{Index, Name, Ty};

impl Index {
    /// Returns whether a declaration of the crate has the type of that spelling behind a pointer.
    pub fn is_behind_pointer(&self, spelling: &str) -> bool {
        let sought = Ty::Rust(spelling.to_owned());
        let has = |module: &str, ty: &syn::Type| {
            let mut pointers = Pointers { index: self, module, sought: &sought, found: false };
            pointers.visit_type(ty);
            pointers.found
        };
        let of_name = |module: &str, name: &Name| match name {
            Name::Alias(alias) => has(module, &alias.ty),
            Name::Enum(variants) => variants.iter().flat_map(|variant| &variant.fields).any(|(_, ty)| has(module, ty)),
            _ => false,
        };
        let taken = |sig: &syn::Signature, module: &str| {
            sig.inputs.iter().any(|input| matches!(input, syn::FnArg::Typed(typed) if has(module, &typed.ty)))
        };
        self.structs.iter().any(|item| item.fields.iter().any(|field| has(&item.module, &field.ty)))
            || self.modules.iter().any(|(at, module)| module.names.values().any(|name| of_name(at, name)))
            || self.fns.iter().any(|function| taken(&function.sig, &function.module))
    }
}

struct Pointers<'i> {
    index: &'i Index,
    module: &'i str,
    sought: &'i Ty,
    found: bool,
}

impl Visit<'_> for Pointers<'_> {
    fn visit_path_segment(&mut self, segment: &syn::PathSegment) {
        if ["Box", "Rc", "Arc"].iter().any(|name| segment.ident == name)
            && let syn::PathArguments::AngleBracketed(list) = &segment.arguments
        {
            self.found |= list.args.iter().any(|argument| {
                matches!(argument, syn::GenericArgument::Type(ty) if self.index.ty(self.module, None, ty) == *self.sought)
            });
        }
        syn::visit::visit_path_segment(self, segment);
    }
}
