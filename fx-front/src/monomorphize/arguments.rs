//! What is put in for the parameters of a generic type, spelled so that it means the same everywhere in the crate.

use fx_ir::Arg;
use std::collections::BTreeMap;

use quote::ToTokens;
use syn::{GenericArgument, GenericParam, PathArguments};

use crate::index::{Function, Index, Instance, Name, Resolved, from_root};
use crate::syntax::params::{is_bound, name_of};
use crate::syntax::substitute::Substitution;
use crate::syntax::{only_expr, path_text};

/// Where something is written: the module, and the type of the impl around it.
pub(super) type Site<'s> = (&'s str, Option<&'s syn::Type>);

/// The arguments that a path to the struct gives, or its defaults; `None` where one of them is not known.
pub(super) fn written(index: &Index, site: Site<'_>, of: usize, written: &PathArguments) -> Option<Vec<String>> {
    let args: Vec<&GenericArgument> = match written {
        PathArguments::AngleBracketed(list) => given(list).collect(),
        PathArguments::None => Vec::new(),
        PathArguments::Parenthesized(_) => return None,
    };
    let item = &index.structs[of];
    let params = item.generics.params.iter().filter(|param| is_bound(param));
    let spelled = params.enumerate().map(|(at, param)| match (args.get(at), param) {
        (Some(arg), _) => argument(index, site, arg),
        (None, GenericParam::Type(param)) => exact(index, (&item.module, None), param.default.as_ref()?),
        (None, GenericParam::Const(param)) => constant(index, &item.module, param.default.as_ref()?),
        (None, GenericParam::Lifetime(_)) => None,
    });
    spelled.collect()
}

/// The arguments that an instance has: all but lifetimes.
pub(crate) fn given(list: &syn::AngleBracketedGenericArguments) -> impl Iterator<Item = &GenericArgument> {
    list.args.iter().filter(|arg| !matches!(arg, GenericArgument::Lifetime(_)))
}

/// The names of the parameters that an instance says something for.
pub(super) fn names(generics: &syn::Generics) -> Vec<String> {
    generics.params.iter().filter(|param| is_bound(param)).map(name_of).collect()
}

pub(super) fn argument(index: &Index, site: Site<'_>, arg: &GenericArgument) -> Option<String> {
    match arg {
        // A constant by its name reads as a type.
        GenericArgument::Type(syn::Type::Path(path)) if path.qself.is_none() => {
            let expr = syn::Expr::Path(syn::ExprPath { attrs: Vec::new(), qself: None, path: path.path.clone() });
            constant(index, site.0, &expr).or_else(|| exact(index, site, &syn::Type::Path(path.clone())))
        }
        GenericArgument::Type(ty) => exact(index, site, ty),
        GenericArgument::Const(expr) => constant(index, site.0, expr),
        _ => None,
    }
}

/// A constant whose value the source says.
fn constant(index: &Index, module: &str, expr: &syn::Expr) -> Option<String> {
    match expr {
        syn::Expr::Lit(lit) => Some(lit.to_token_stream().to_string()),
        syn::Expr::Block(block) => constant(index, module, only_expr(&block.block)?),
        syn::Expr::Path(path) => match index.resolve(module, &path_text(&path.path)) {
            Resolved::Item(_, _, Name::Const(Some(Arg::Int(value)), _)) => Some(value.to_string()),
            _ => None,
        },
        _ => None,
    }
}

/// A type by its full path, and by that of all that is put into it.
pub(super) fn exact(index: &Index, site: Site<'_>, ty: &syn::Type) -> Option<String> {
    match ty {
        syn::Type::Path(path) if path.qself.is_none() => exact_path(index, site, &path.path),
        syn::Type::Paren(inner) => exact(index, site, &inner.elem),
        syn::Type::Group(inner) => exact(index, site, &inner.elem),
        syn::Type::Tuple(tuple) => {
            let parts: Option<Vec<String>> = tuple.elems.iter().map(|elem| exact(index, site, elem)).collect();
            Some(format!("({},)", parts?.join(", ")))
        }
        syn::Type::Array(array) => {
            let length = constant(index, site.0, &array.len)?;
            Some(format!("[{}; {length}]", exact(index, site, &array.elem)?))
        }
        _ => None,
    }
}

fn exact_path(index: &Index, (module, owner): Site<'_>, path: &syn::Path) -> Option<String> {
    const PRELUDE: [&str; 18] = [
        "Option", "Vec", "Box", "String", "bool", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8", "usize",
        "isize", "f64", "f32", "char",
    ];
    if path.is_ident("Self") {
        return exact(index, (module, None), owner?);
    }
    let last = path.segments.last()?;
    let plain = || match &last.arguments {
        PathArguments::None => Some(Vec::new()),
        PathArguments::AngleBracketed(list) => {
            list.args.iter().map(|arg| argument(index, (module, owner), arg)).collect::<Option<Vec<String>>>()
        }
        PathArguments::Parenthesized(_) => None,
    };
    let (head, args) = match index.resolve(module, &path_text(path)) {
        Resolved::Item(at, _, Name::Alias(alias)) if last.arguments.is_none() => {
            return exact(index, (&at, None), &alias.ty);
        }
        Resolved::Item(at, name, Name::Struct(id)) if index.structs[id].is_generic() => {
            (format!("{at}::{name}"), written(index, (module, owner), id, &last.arguments)?)
        }
        Resolved::Item(at, name, Name::Struct(_) | Name::Enum(_) | Name::Other) => (format!("{at}::{name}"), plain()?),
        Resolved::External(full) if full.starts_with("crate") => return None,
        Resolved::External(full) if full.contains("::") => (from_root(&full), plain()?),
        Resolved::External(full) if PRELUDE.contains(&full.as_str()) => (full, plain()?),
        _ => return None,
    };
    Some(if args.is_empty() { head } else { format!("{head}<{}>", args.join(", ")) })
}

/// What stands for each parameter of an impl, if it is for this instance.
pub(super) fn of_impl(
    index: &Index,
    function: &Function,
    owner: &syn::Type,
    instance: &Instance,
) -> Option<Substitution> {
    let syn::Type::Path(path) = owner else { return None };
    let Resolved::Item(_, _, Name::Struct(id)) = index.resolve(&function.module, &path_text(&path.path)) else {
        return None;
    };
    let PathArguments::AngleBracketed(list) = &path.path.segments.last().filter(|_| id == instance.of)?.arguments
    else {
        return None;
    };
    let params = names(&function.generics);
    let mut bound = BTreeMap::new();
    for (arg, value) in given(list).zip(&instance.args) {
        let name = arg.to_token_stream().to_string();
        if params.contains(&name) {
            bound.insert(name, value.parse().ok()?);
        } else if argument(index, (&function.module, None), arg).as_ref() != Some(value) {
            return None;
        }
    }
    (bound.len() == params.len()).then(|| {
        add_associated(index, &mut bound);
        bound
    })
}

/// Adds what the associated types of the types are that stand for parameters, where their impls are in the crate.
pub(super) fn add_associated(index: &Index, values: &mut Substitution) {
    let mut found: BTreeMap<String, Option<proc_macro2::TokenStream>> = BTreeMap::new();
    for one in &index.associated {
        let Some(of) = exact(index, (&one.module, None), &one.of) else { continue };
        let is_it = |value: &proc_macro2::TokenStream| value.to_string().replace(' ', "") == of.replace(' ', "");
        for (name, _) in values.iter().filter(|(_, value)| is_it(value)) {
            let ty = exact(index, (&one.module, Some(&one.of)), &one.ty).and_then(|ty| ty.parse().ok());
            // Of two of that name the bounds decide, which are not looked at.
            found.entry(format!("{name}::{}", one.name)).and_modify(|known| *known = None).or_insert(ty);
        }
    }
    values.extend(found.into_iter().filter_map(|(name, ty)| Some((name, ty?))));
}
