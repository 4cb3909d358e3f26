//! What the attributes of an item say to the scan.

use super::Scan;

impl Scan<'_> {
    /// The attributes with `#[trace]` as `#[traceable]` where a `use` renames it so.
    pub(super) fn attributes(&self, attrs: &[syn::Attribute], module: &str) -> Vec<syn::Attribute> {
        let mut attrs = attrs.to_vec();
        for attr in &mut attrs {
            let path = match &mut attr.meta {
                syn::Meta::Path(path) => path,
                syn::Meta::List(list) => &mut list.path,
                syn::Meta::NameValue(_) => continue,
            };
            if let Some(name) = path.get_ident() {
                *path = syn::Ident::new(&self.renamed(&name.to_string(), module), name.span()).into();
            }
        }
        attrs
    }
}

pub(super) fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

pub(super) fn is_test(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|attr| {
        let cfg = attr.path().is_ident("cfg") && attr.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"));
        cfg || attr.path().is_ident("test")
    })
}

pub(super) fn derives(attrs: &[syn::Attribute], name: &str, declared: &dyn Fn(&str) -> String) -> bool {
    let mut found = false;
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("derive")) {
        let _ = attr.parse_nested_meta(|meta| {
            found |= meta.path.segments.last().is_some_and(|last| declared(&last.ident.to_string()) == name);
            Ok(())
        });
    }
    found
}

pub(super) fn path_attribute(attrs: &[syn::Attribute]) -> Option<String> {
    attrs.iter().find(|attr| attr.path().is_ident("path")).and_then(|attr| match &attr.meta {
        syn::Meta::NameValue(pair) => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    })
}
