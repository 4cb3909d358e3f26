//! What users write in attributes: `#[traceable(..)]`, `#[fx(..)]` and `#[module(..)]`, each as a table of options.
//!
//! The macros read them strictly and report what is wrong; the scan of a build script reads the same tables and leaves
//! the complaints to the macros. A complaint is one sentence on what is wrong, and one on what to do.
#![allow(clippy::needless_continue, reason = "what darling derives for fields")]

use darling::{
    FromField, FromMeta,
    ast::NestedMeta,
    util::{Flag, SpannedValue},
};
use fx_ir::Arg;
use proc_macro2::TokenStream;
use syn::{Attribute, ImplItem, ImplItemFn, ItemImpl, Meta};

/// The options of `#[traceable(..)]`.
#[derive(Clone, Debug, Default, FromMeta)]
#[darling(default)]
pub struct TraceableOptions {
    /// `strict`: code that is not understood is an error, not kept as opaque code.
    pub strict: bool,
    /// `unroll`: a loop over layers becomes one line for each layer.
    pub unroll: bool,
    /// `entry = "encode"`, `entry = ["encode", "decode"]`: the functions to trace, where they are not `forward` or
    /// `forward_t`; none where the option is not given.
    #[darling(with = entry_names)]
    pub entry: Vec<syn::LitStr>,
    /// `specialize(mask = None, flag = true)`: parameters that have a known value in the frozen type.
    pub specialize: Specialize,
}

impl TraceableOptions {
    /// The functions that are looked for where no entry is named, in this order.
    pub const ENTRIES: [&'static str; 2] = ["forward", "forward_t"];

    /// Reads what stands between the parentheses of `#[traceable(..)]`.
    pub fn parse(options: TokenStream) -> darling::Result<TraceableOptions> {
        Self::from_list(&NestedMeta::parse_meta_list(options)?)
    }

    /// The options of the `#[traceable]` among `attrs`, under a `cfg_attr` too; `None` if there is none.
    ///
    /// Faulty options count as none written: the macro reports them.
    pub fn of(attrs: &[Attribute]) -> Option<TraceableOptions> {
        let found = attrs.iter().find_map(|attr| find(&attr.meta, "traceable"))?;
        let options = match found {
            Meta::List(list) => Self::parse(list.tokens).unwrap_or_default(),
            _ => Self::default(),
        };
        Some(options)
    }

    /// The functions to trace, in the order in which they are named; without those that the impl does not have.
    pub fn entry_fns<'a>(&self, item: &'a ItemImpl) -> Vec<&'a ImplItemFn> {
        if self.entry.is_empty() {
            return Self::ENTRIES.into_iter().find_map(|name| method(item, name)).into_iter().collect();
        }
        self.entry.iter().filter_map(|name| method(item, &name.value())).collect()
    }

    /// At which place among the functions to trace this one stands.
    pub fn place_of(&self, name: &syn::Ident) -> usize {
        self.entry.iter().position(|entry| name == entry.value().as_str()).unwrap_or(self.entry.len())
    }
}

/// The method of that name.
pub fn method<'a>(item: &'a ItemImpl, name: &str) -> Option<&'a ImplItemFn> {
    item.items.iter().find_map(|inner| match inner {
        ImplItem::Fn(function) if function.sig.ident == name => Some(function),
        _ => None,
    })
}

fn entry_names(option: &Meta) -> darling::Result<Vec<syn::LitStr>> {
    let wrong = |tokens: &dyn quote::ToTokens| {
        darling::Error::custom(
            "`entry` takes the names of functions. Write `entry = \"encode\"` or `entry = [\"encode\", \"decode\"]`",
        )
        .with_span(&tokens.to_token_stream())
    };
    let name = |value: &syn::Expr| match value {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(name), .. }) => Ok(name.clone()),
        other => Err(wrong(other)),
    };
    let Meta::NameValue(pair) = option else { return Err(wrong(option)) };
    let syn::Expr::Array(list) = &pair.value else { return name(&pair.value).map(|name| vec![name]) };
    if list.elems.is_empty() {
        return Err(wrong(list));
    }
    let mut errors = darling::Error::accumulator();
    let mut names: Vec<syn::LitStr> = Vec::new();
    for elem in &list.elems {
        let Some(written) = errors.handle(name(elem)) else { continue };
        if names.iter().any(|known| known.value() == written.value()) {
            let twice = format!("`{}` is named twice. Name every function once", written.value());
            errors.push(darling::Error::custom(twice).with_span(&written));
        }
        names.push(written);
    }
    errors.finish_with(names)
}

/// The known values of `specialize(train = false, depth = 3)`, in order.
#[derive(Clone, Debug, Default)]
pub struct Specialize(pub Vec<(syn::Ident, Arg)>);

impl Specialize {
    /// The known value of the parameter.
    pub fn value(&self, name: &str) -> Option<&Arg> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

impl FromMeta for Specialize {
    fn from_list(items: &[NestedMeta]) -> darling::Result<Self> {
        let mut errors = darling::Error::accumulator();
        let pairs = items.iter().filter_map(|item| errors.handle(specialized(item))).collect();
        errors.finish_with(Specialize(pairs))
    }
}

fn specialized(item: &NestedMeta) -> darling::Result<(syn::Ident, Arg)> {
    let NestedMeta::Meta(Meta::NameValue(pair)) = item else {
        return Err(darling::Error::custom("`specialize` takes values. Write `parameter = value`").with_span(item));
    };
    let value = literal(&pair.value).ok_or_else(|| {
        darling::Error::custom("the value of a specialized parameter is a literal. Write `train = false`")
            .with_span(&pair.value)
    })?;
    let name = pair.path.get_ident().cloned();
    let name = name.ok_or_else(|| darling::Error::custom("a parameter has a plain name").with_span(&pair.path))?;
    Ok((name, value))
}

fn literal(value: &syn::Expr) -> Option<Arg> {
    match value {
        syn::Expr::Path(path) if path.path.is_ident("None") => Some(Arg::None),
        value => crate::syntax::literal(value),
    }
}

/// What `#[fx(..)]` on a function says about calls of it.
#[derive(Clone, Copy, Debug, Default, FromMeta)]
#[darling(default, and_then = Self::check)]
pub struct FnOptions {
    /// `leaf`: a call is one node; the body is not looked into.
    pub leaf: Flag,
    /// `inline`: the body is traced in place of the call.
    pub inline: Flag,
    /// `pure`: a call may be merged with an equal one or dropped if unused.
    pub pure: Flag,
}

impl FnOptions {
    /// Reads what stands between the parentheses of `#[fx(..)]`.
    ///
    /// # Errors
    /// Every unknown option, and options that exclude each other.
    pub fn parse(options: TokenStream) -> darling::Result<FnOptions> {
        Self::from_list(&NestedMeta::parse_meta_list(options)?)
    }

    /// The options of the `#[fx]` among `attrs`; faulty ones count as none written.
    pub fn of(attrs: &[Attribute]) -> FnOptions {
        match attrs.iter().find_map(|attr| find(&attr.meta, "fx")) {
            Some(Meta::List(list)) => Self::parse(list.tokens).unwrap_or_default(),
            _ => FnOptions::default(),
        }
    }

    fn check(self) -> darling::Result<Self> {
        exclusive(("leaf", self.leaf), &[("inline", self.inline)]).map(|()| self)
    }
}

/// A field of a `#[derive(Module)]` struct with its `#[module(..)]`.
#[derive(Clone, Debug, FromField)]
#[darling(attributes(module), and_then = Self::check)]
pub struct ModuleField {
    /// Its name; `None` in a tuple struct.
    pub ident: Option<syn::Ident>,
    /// Its type.
    pub ty: syn::Type,
    /// `name = "fc"`: its name in the state dict; dots make levels (`"layer1.0"`). `{}` stands for the position of an
    /// element of a list (`"layers.encoder_layer_{}"`).
    #[darling(default)]
    pub name: Option<SpannedValue<String>>,
    /// `skip`: not a part of the model.
    #[darling(default)]
    pub skip: Flag,
    /// `parameter`: a tensor that is trained, whether or not it requires a gradient now.
    #[darling(default)]
    pub parameter: Flag,
    /// `buffer`: a tensor of the state dict that is not trained.
    #[darling(default)]
    pub buffer: Flag,
}

impl ModuleField {
    fn check(self) -> darling::Result<Self> {
        let name = self.name.as_ref().map(|name| ("name", name.span()));
        let skip = ("skip", self.skip);
        let mut errors = darling::Error::accumulator();
        errors.handle(exclusive(skip, &[("parameter", self.parameter), ("buffer", self.buffer)]));
        errors.handle(exclusive(("parameter", self.parameter), &[("buffer", self.buffer)]));
        if let (true, Some((option, span))) = (self.skip.is_present(), name) {
            errors.push(clash("skip", option).with_span(&span));
        }
        if let Some(name) = self.name.as_ref().filter(|name| name.split('.').any(str::is_empty)) {
            errors.push(
                darling::Error::custom("a part of the name is empty. Dots stand between its parts: `layer1.0`")
                    .with_span(&name.span()),
            );
        }
        errors.finish_with(self)
    }
}

fn exclusive(first: (&str, Flag), others: &[(&str, Flag)]) -> darling::Result<()> {
    match others.iter().find(|(_, other)| first.1.is_present() && other.is_present()) {
        Some((name, other)) => Err(clash(first.0, name).with_span(&other.span())),
        None => Ok(()),
    }
}

fn clash(first: &str, second: &str) -> darling::Error {
    darling::Error::custom(format!("`{first}` and `{second}` exclude each other. Drop one of them"))
}

/// The attribute whose path ends in `name`, itself or as what a `cfg_attr` adds.
fn find(meta: &Meta, name: &str) -> Option<Meta> {
    if meta.path().segments.last().is_some_and(|last| last.ident == name) {
        return Some(meta.clone());
    }
    let Meta::List(list) = meta else { return None };
    if !list.path.is_ident("cfg_attr") {
        return None;
    }
    let parser = syn::punctuated::Punctuated::<Meta, syn::Token![,]>::parse_terminated;
    let parts = list.parse_args_with(parser).ok()?;
    parts.iter().skip(1).find_map(|part| find(part, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> TokenStream {
        text.parse().expect("tokens")
    }

    fn messages<T>(result: darling::Result<T>) -> Vec<String> {
        result.err().map(|error| error.flatten().into_iter().map(|one| one.to_string()).collect()).unwrap_or_default()
    }

    #[test]
    fn reads_every_option() {
        let written = tokens(r#"strict, unroll = true, entry = "encode", specialize(train = false, depth = -3)"#);
        let options = TraceableOptions::parse(written).expect("known options");
        assert!(options.strict && options.unroll);
        assert_eq!(options.entry.iter().map(syn::LitStr::value).collect::<Vec<_>>(), ["encode"]);
        let known: Vec<_> = options.specialize.0.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
        assert_eq!(known, [("train".to_owned(), Arg::Bool(false)), ("depth".to_owned(), Arg::Int(-3))]);
    }

    #[test]
    fn names_every_unknown_option_at_once() {
        let found = messages(TraceableOptions::parse(tokens("strct, specialize(x, y = z()), nonsense = 1")));
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(found[0], "Unknown field: `strct`. Did you mean `strict`?");
    }

    #[test]
    fn finds_the_attribute_under_any_path_and_under_cfg_attr() {
        let of = |attr: &str| {
            let item: syn::ItemStruct = syn::parse_str(&format!("{attr} struct S;")).expect("a struct");
            TraceableOptions::of(&item.attrs)
        };
        assert!(of("#[derive(A)]").is_none());
        assert!(of("#[traceable]").is_some());
        assert!(of("#[cfg_attr(all(a, b), c, fx_runtime::traceable(strict))]").is_some_and(|options| options.strict));
    }

    #[test]
    fn entries_are_forward_or_forward_t_or_the_named_ones() {
        let item: ItemImpl = syn::parse_quote!(impl Net { fn forward_t() {} fn encode() {} fn forward() {} });
        let entries = |options: &str| {
            let options = TraceableOptions::parse(tokens(options)).expect("known options");
            options.entry_fns(&item).iter().map(|entry| entry.sig.ident.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(entries(""), ["forward"]);
        assert_eq!(entries(r#"entry = "encode""#), ["encode"]);
        assert_eq!(entries(r#"entry = ["forward_t", "decode", "encode"]"#), ["forward_t", "encode"]);
        assert_eq!(entries(r#"entry = "decode""#), [""; 0]);
    }

    #[test]
    fn says_what_is_wrong_with_a_list_of_entries() {
        let found = |options: &str| messages(TraceableOptions::parse(tokens(options)));
        assert_eq!(found(r#"entry = ["a", "b", "a"]"#), ["`a` is named twice. Name every function once at entry"]);
        assert_eq!(found("entry = []").len(), 1);
        assert_eq!(found("entry = [a, 1]").len(), 2);
    }

    #[test]
    fn says_which_options_exclude_each_other() {
        let field = |attr: &str| {
            let item: syn::ItemStruct = syn::parse_str(&format!("struct S {{ {attr} x: T }}")).expect("a struct");
            item.fields.iter().flat_map(|field| messages(ModuleField::from_field(field))).collect::<Vec<_>>()
        };
        assert_eq!(field(r#"#[module(name = "layer1.0", buffer)]"#), [""; 0]);
        assert_eq!(field("#[module(skip, buffer)]"), ["`skip` and `buffer` exclude each other. Drop one of them"]);
        assert_eq!(
            field("#[module(buffer, parameter)]"),
            ["`parameter` and `buffer` exclude each other. Drop one of them"]
        );
        assert_eq!(field(r#"#[module(name = "a..b", skip)]"#).len(), 2);
        let function = messages(FnOptions::parse(tokens("inline, leaf, pure")));
        assert_eq!(function, ["`leaf` and `inline` exclude each other. Drop one of them"]);
    }
}
