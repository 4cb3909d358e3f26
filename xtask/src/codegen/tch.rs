//! tch's methods on `Tensor`, read from its sources with syn.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use quote::ToTokens as _;
use syn::{FnArg, GenericParam, ImplItem, Item, Pat, ReturnType, TypeParamBound, Visibility};

use crate::failure::{Failure, Result};

/// A method, or an associated function, of `tch::Tensor`.
#[derive(Clone, Debug)]
pub(super) struct Method {
    /// Its name; for a generated one, that of the infallible form.
    pub(super) name: String,
    pub(super) receiver: Receiver,
    /// Names and types as written, in one spelling: `impl IntList`, `Option<T>`.
    pub(super) params: Vec<(String, String)>,
    /// The type of the result, `()` if none; without `Result` where it has one.
    pub(super) result: String,
    /// Whether the source's own signature returns a `Result`.
    pub(super) fallible: bool,
}

/// How a method takes its tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Receiver {
    Ref,
    Mut,
    /// None: an associated function, called as `Tensor::cat(..)`.
    Free,
}

/// The generated methods: each has a form `f_x`, which is read here, and one without `f_`.
pub(super) fn parse_generated(text: &str) -> Result<Vec<Method>> {
    let mut methods = parse_handwritten(text)?;
    methods.retain(|method| method.name.starts_with("f_"));
    for method in &mut methods {
        method.name.replace_range(..2, "");
    }
    Ok(methods)
}

/// Gives the methods that tch hides behind its operators their `g_`: `f_add` is beside `g_add`, for `add` is `+`.
pub(super) fn apply_prefixes(methods: &mut [Method], infallible: &str) {
    let names: BTreeSet<&str> = infallible
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub fn "))
        .filter_map(|line| line.split(['(', '<']).next())
        .collect();
    for method in methods {
        let hidden = format!("g_{}", method.name);
        if names.contains(hidden.as_str()) {
            method.name = hidden;
        }
    }
}

/// The files with methods that tch's authors wrote by hand.
pub(super) fn handwritten_files(sources: &Path) -> Result<Vec<PathBuf>> {
    let folder = sources.join("tensor");
    let mut files = vec![sources.join("nn/init.rs"), sources.join("nn/module.rs"), sources.join("wrappers/tensor.rs")];
    for entry in fs::read_dir(&folder).map_err(|error| Failure::file("read", &folder, &error))? {
        files.push(entry.map_err(|error| Failure::file("read", &folder, &error))?.path());
    }
    files.sort();
    Ok(files)
}

/// All public methods in `impl Tensor` blocks.
pub(super) fn parse_handwritten(text: &str) -> Result<Vec<Method>> {
    let file =
        syn::parse_file(text).map_err(|error| Failure::new("cannot parse tch's sources").looked(error.to_string()))?;
    let impls = file.items.iter().filter_map(|item| match item {
        Item::Impl(item) if item.trait_.is_none() && is_tensor(&item.self_ty) => Some(item),
        _ => None,
    });
    let methods = impls.flat_map(|item| &item.items).filter_map(|item| match item {
        ImplItem::Fn(method) if matches!(method.vis, Visibility::Public(_)) => Some(&method.sig),
        _ => None,
    });
    Ok(methods.map(parse_method).collect())
}

fn is_tensor(ty: &syn::Type) -> bool {
    matches!(ty, syn::Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Tensor"))
}

fn parse_method(sig: &syn::Signature) -> Method {
    let receiver = match sig.receiver() {
        Some(receiver) if receiver.mutability.is_some() => Receiver::Mut,
        Some(_) => Receiver::Ref,
        None => Receiver::Free,
    };
    let (result, fallible) = match &sig.output {
        ReturnType::Default => ("()".to_owned(), false),
        ReturnType::Type(_, ty) => {
            let text = spelled(ty);
            match text.strip_prefix("Result<").and_then(|text| text.strip_suffix(",TchError>")) {
                Some(inside) => (inside.to_owned(), true),
                None => (text, false),
            }
        }
    };
    let params = sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(typed) => match &*typed.pat {
            Pat::Ident(name) => Some((name.ident.to_string(), resolved(sig, &spelled(&typed.ty)))),
            _ => None,
        },
        FnArg::Receiver(_) => None,
    });
    Method { name: sig.ident.to_string(), receiver, params: params.collect(), result, fallible }
}

/// A type in one spelling, without blanks but after `impl`.
fn spelled(ty: &syn::Type) -> String {
    let text = ty.to_token_stream().to_string();
    text.replace("impl ", "impl\u{1}").replace("mut ", "mut\u{1}").replace(' ', "").replace('\u{1}', " ")
}

/// A generic parameter's bound in its place: `S` with `S: Into<Scalar>` is `impl Into<Scalar>`. A slice of anything but
/// tensors is told apart from `&[T]`, which is one of tensors.
fn resolved(sig: &syn::Signature, ty: &str) -> String {
    let bound = |name: &str| {
        sig.generics.params.iter().find_map(|param| match param {
            GenericParam::Type(param) if param.ident == name => param.bounds.iter().find_map(|bound| match bound {
                TypeParamBound::Trait(bound) => Some(bound.to_token_stream().to_string().replace(' ', "")),
                _ => None,
            }),
            _ => None,
        })
    };
    match bound(ty) {
        Some(bound) => format!("impl {bound}"),
        None if ty == "&[T]" && bound("T").is_none_or(|bound| bound != "Borrow<Tensor>") => {
            "&[impl Element]".to_owned()
        }
        None => ty.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Receiver, apply_prefixes, parse_generated};

    #[test]
    fn reads_a_signature() {
        let mut methods = parse_generated(
            "impl Tensor { pub fn f_add_<S: Into<Scalar>>(&mut self, other: S, dim: impl IntList, b: Option<T>)
                 -> Result<(Tensor, Tensor), TchError> { todo!() } fn private() {} }",
        )
        .unwrap();
        apply_prefixes(&mut methods, "pub fn g_add_<S: Into<Scalar>>(");
        let method = &methods[0];
        assert_eq!((method.name.as_str(), method.receiver, method.fallible), ("g_add_", Receiver::Mut, true));
        assert_eq!(method.result, "(Tensor,Tensor)");
        let types: Vec<_> = method.params.iter().map(|(_, ty)| ty.as_str()).collect();
        assert_eq!(types, ["impl Into<Scalar>", "impl IntList", "Option<T>"]);
    }
}
