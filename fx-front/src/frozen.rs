//! Which function of a `#[traceable]` item is frozen, or why none is and the item stays as the user wrote it.

mod left;

use std::collections::BTreeMap;

use proc_macro2::Span;
use quote::ToTokens;
use syn::{spanned::Spanned, visit::Visit};

pub use self::left::Left;
use crate::{
    closure_conversion::{CLOSURE_HELP, yields_closure},
    diag::Code,
    index::{Function, Index, Ty},
    monomorphize::given,
    syntax::params::is_bound,
    trace::{holds_reference, value_type},
};

/// One method of a frozen type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The function of a `#[traceable]` item.
    pub item: usize,
    /// The one to trace: the same, or its form for the one instance of its type.
    pub function: usize,
}

/// What is frozen together with the function of an item, itself included: the entries of its type, in the order in which
/// they are named.
///
/// # Errors
/// What a frozen type cannot mirror.
pub fn entries(index: &Index, item: usize) -> Result<Vec<Entry>, Left> {
    let function = entry(index, item)?;
    let Some(template) = template(index, function) else { return Ok(vec![Entry { item, function }]) };
    let mut found: Vec<Entry> = candidates_of(index, template)
        .filter_map(|Entry { item, .. }| Some(Entry { item, function: entry(index, item).ok()? }))
        .filter(|other| is_together(index, function, other.function))
        .collect();
    found.sort_by_key(|entry| place_of(&index.fns[entry.item]));
    Ok(found)
}

/// The function to trace for the entry of an item: the entry itself, or its form for the one instance of its type.
///
/// # Errors
/// What a frozen type cannot mirror.
pub fn entry(index: &Index, item: usize) -> Result<usize, Left> {
    let found = candidate(index, item)?;
    let name = &index.fns[item].sig.ident;
    let Some(template) = template(index, found) else { return Ok(found) };
    let first = candidates_of(index, template)
        .take_while(|other| other.item < item)
        .find(|other| !is_together(index, other.function, found) || index.fns[other.item].sig.ident == *name);
    match first {
        None => Ok(found),
        Some(Entry { item: first, .. }) => {
            let reason = format!("its type is frozen by `{}` already", index.fns[first].sig.ident);
            let help = "keep `#[traceable]` on the one that is to be frozen; the other is inlined where it is called";
            Err(Left::new(Code::DuplicateName, name.span(), reason, help))
        }
    }
}

/// Whether they are of one type, and declared where one file of generated code can serve them.
fn is_together(index: &Index, one: usize, other: usize) -> bool {
    let (one, other) = (&index.fns[one], &index.fns[other]);
    one.module == other.module && owner(index, one) == owner(index, other)
}

/// Where it stands among the entries that its item names.
fn place_of(function: &Function) -> usize {
    function.traceable.as_ref().map_or(0, |options| options.place_of(&function.sig.ident))
}

/// The functions to trace for the items of one struct, or of the instances of a generic one, in the order of the items.
fn candidates_of(index: &Index, template: usize) -> impl Iterator<Item = Entry> {
    let all = index.candidates.get_or_init(|| {
        let mut all: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
        for item in (0..index.fns.len()).filter(|&item| is_entry(&index.fns[item])) {
            let function = candidate(index, item).ok();
            if let Some((function, template)) = function.and_then(|id| Some((id, self::template(index, id)?))) {
                all.entry(template).or_default().push((item, function));
            }
        }
        all
    });
    all.get(&template).into_iter().flatten().map(|&(item, function)| Entry { item, function })
}

/// The function to trace, whatever else is traced.
fn candidate(index: &Index, item: usize) -> Result<usize, Left> {
    let function = &index.fns[item];
    signature(function)?;
    if yields_closure(index, function) {
        let reason = format!("`{}` yields a closure, into which a frozen type cannot look", function.sig.ident);
        return Err(Left::new(Code::Signature, function.sig.output.span(), reason, CLOSURE_HELP));
    }
    lent_output(index, function)?;
    let found = instance(index, item)?;
    let span = function.sig.ident.span();
    if function.owner.is_some() {
        match self::owner(index, &index.fns[found]) {
            Some(Ty::Struct(id)) if is_module(index, id) => {}
            Some(Ty::Struct(_)) => {
                let reason = "it is no `Module`, so that its parts cannot be seen";
                return Err(Left::new(Code::Signature, span, reason, "derive `fx_runtime::Module` on it"));
            }
            Some(ty) if index.is_enum(&ty) => {
                let help = "put `#[traceable]` on a struct that holds it: `struct Net { inner: Model }`";
                return Err(Left::new(
                    Code::Signature,
                    span,
                    "it is an enum, and a frozen type is made of a struct",
                    help,
                ));
            }
            _ => {
                let help = "put `#[traceable]` on the struct that holds it, where its methods are inlined";
                return Err(Left::new(Code::Signature, span, "it is no struct of this crate", help));
            }
        }
    }
    Ok(found)
}

/// The function itself, or its form for the one instance of its type.
fn instance(index: &Index, item: usize) -> Result<usize, Left> {
    const ALIAS: &str = "an alias in the crate says which type to freeze: `type Small = Net<Block>;`";
    let function = &index.fns[item];
    let span = function.sig.ident.span();
    if !function.generics.params.iter().any(is_bound) {
        return match &function.owner {
            Some(written) if has_arguments(written) && owner(index, function) == Some(Ty::Unknown) => {
                let reason = "what is put in for its parameters has no path that means the same everywhere";
                Err(Left::new(Code::Signature, span, reason, ALIAS))
            }
            _ => Ok(item),
        };
    }
    match function.instances.as_slice() {
        &[instance] => match hidden(index, &index.fns[instance]) {
            None => Ok(instance),
            Some(name) => {
                let reason = format!("what is put in for its parameters is private: `{name}`");
                Err(Left::new(Code::Signature, span, reason, "make it visible where the impl stands: `pub(crate)`"))
            }
        },
        [] => {
            let reason = "it has parameters, and nothing in the crate says what is put in for them";
            Err(Left::new(Code::Signature, span, reason, ALIAS))
        }
        many => {
            let reason = format!("it has parameters, for which the crate puts in {}", all(index, many));
            let help = "put `#[traceable]` on the model that holds it, where each form of it is inlined";
            Err(Left::new(Code::Signature, span, reason, help))
        }
    }
}

/// Whether it is the function of a `#[traceable]` item as the user wrote it.
pub fn is_entry(function: &Function) -> bool {
    function.key.is_some() && !function.is_derived
}

/// The struct, or the generic struct of an instance, that a function is of.
fn template(index: &Index, function: usize) -> Option<usize> {
    match owner(index, &index.fns[function]) {
        Some(Ty::Struct(id)) => Some(index.structs[id].instance.as_ref().map_or(id, |instance| instance.of)),
        _ => None,
    }
}

/// Whether it derives `Module`, or implement it by hand.
fn is_module(index: &Index, id: usize) -> bool {
    let by_hand = |function: &Function| {
        let names = ["visit", "type_name"].iter().any(|name| function.sig.ident == name);
        names && function.of_trait.as_deref() == Some("Module") && owner(index, function) == Some(Ty::Struct(id))
    };
    index.structs[id].is_module || index.fns.iter().any(by_hand)
}

fn owner(index: &Index, function: &Function) -> Option<Ty> {
    function.owner.as_ref().map(|owner| index.ty(&function.module, None, owner))
}

fn has_arguments(ty: &syn::Type) -> bool {
    let syn::Type::Path(path) = ty else { return false };
    match path.path.segments.last().map(|last| &last.arguments) {
        Some(syn::PathArguments::AngleBracketed(list)) => given(list).next().is_some(),
        _ => false,
    }
}

/// What the crate puts in for the parameters in each instance.
fn all(index: &Index, instances: &[usize]) -> String {
    let args = |&id: &usize| {
        let Some(Ty::Struct(of)) = owner(index, &index.fns[id]) else { return None };
        index.structs[of].instance.as_ref().map(|instance| format!("`{}`", instance.args.join(", ")))
    };
    instances.iter().filter_map(args).collect::<Vec<String>>().join(" and ")
}

/// A type among what is put in that generated code beside the impl cannot name.
fn hidden(index: &Index, function: &Function) -> Option<String> {
    let Some(Ty::Struct(id)) = owner(index, function) else { return None };
    let args = &index.structs[id].instance.as_ref()?.args;
    let words = args.iter().flat_map(|arg| arg.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':'));
    let paths = words.filter(|word| word.starts_with("crate::"));
    let mut hidden = paths.filter(|path| match path.rsplit_once("::") {
        Some((module, name)) => index.path_from(&function.module, module, name).is_none(),
        None => false,
    });
    hidden.next().map(ToOwned::to_owned)
}

/// What the signature alone forbids.
fn signature(function: &Function) -> Result<(), Left> {
    let sig = &function.sig;
    let name = &sig.ident;
    let plain = "trace a plain function, and call it from this one";
    let forms = [
        (sig.asyncness.map(|token| token.span()), "is `async`"),
        (sig.unsafety.map(|token| token.span()), "is `unsafe`"),
        (sig.variadic.as_ref().map(Spanned::span), "is variadic"),
    ];
    for (span, what) in forms {
        if let Some(span) = span {
            let reason = format!("`{name}` {what}");
            return Err(Left::new(Code::Signature, span, reason, plain));
        }
    }
    let receiver = |span: Span, reason: String| Err(Left::new(Code::Receiver, span, reason, "make it `&self`"));
    match sig.receiver() {
        Some(taken) if takes_model(taken) => Ok(()),
        Some(taken) => receiver(taken.span(), format!("`{name}` does not take the model by `&self`")),
        None if function.owner.is_some() => receiver(name.span(), format!("`{name}` has no receiver")),
        None => Ok(()),
    }
}

/// A frozen type owns what it hands over: of a reference to a tensor a handle, of any other reference nothing.
fn lent_output(index: &Index, function: &Function) -> Result<(), Left> {
    let Some(ty) = value_type(&function.sig.output) else { return Ok(()) };
    let held = match ty {
        syn::Type::Reference(reference) if index.ty(&function.module, None, &reference.elem) == Ty::Tensor => {
            &reference.elem
        }
        other => other,
    };
    let is_lent = holds_reference(held) || names_lifetime(held);
    let is_static = held.to_token_stream().to_string() == "& 'static str";
    if !is_lent || is_static {
        return Ok(());
    }
    let written = ty.to_token_stream().to_string().replace("& ", "&");
    let reason = format!("`{}` yields `{written}`, and a frozen type lends nothing", function.sig.ident);
    Err(Left::new(
        Code::Signature,
        ty.span(),
        reason,
        "hand over the values themselves: a `shallow_clone()` copies no numbers",
    ))
}

/// Whether the type has a lifetime of its own: `View<'a>`.
fn names_lifetime(ty: &syn::Type) -> bool {
    struct Find(bool);
    impl<'ast> Visit<'ast> for Find {
        fn visit_lifetime(&mut self, lifetime: &'ast syn::Lifetime) {
            self.0 |= lifetime.ident != "static";
        }
    }
    let mut find = Find(false);
    find.visit_type(ty);
    find.0
}

/// Whether it is `&self` or `&mut self`.
fn takes_model(receiver: &syn::Receiver) -> bool {
    match &*receiver.ty {
        syn::Type::Reference(reference) => {
            matches!(&*reference.elem, syn::Type::Path(path) if path.path.is_ident("Self"))
        }
        _ => false,
    }
}
