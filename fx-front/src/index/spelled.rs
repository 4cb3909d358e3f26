//! Types as generated code elsewhere in the crate has to write them: in full, and with what they hold.

use crate::syntax::path_text;

use super::{Index, Name, Resolved, Ty, from_root, resolve::interior_of};

/// A type that has a path which means the same everywhere.
#[derive(Debug)]
pub struct Spelled {
    /// The type.
    pub text: String,
    /// Whether it is made of tensors, numbers and text alone.
    pub is_plain: bool,
    /// Whether it is a `Vec`, or a `RefCell` of one.
    pub is_vec: bool,
}

/// What the standard library's types hold are values like others.
const PLAIN: &[(&str, &str)] =
    &[("Option", "Option"), ("Vec", "Vec"), ("VecDeque", "::std::collections::VecDeque"), ("String", "String")];

impl Index {
    /// The type, written in `module`, as it is written in `home`.
    pub fn spelled(&self, home: &str, module: &str, ty: &syn::Type) -> Option<Spelled> {
        match ty {
            syn::Type::Paren(inner) => self.spelled(home, module, &inner.elem),
            syn::Type::Group(inner) => self.spelled(home, module, &inner.elem),
            syn::Type::Tuple(tuple) => {
                let parts: Option<Vec<Spelled>> =
                    tuple.elems.iter().map(|elem| self.spelled(home, module, elem)).collect();
                let parts = parts?;
                let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
                let end = if texts.is_empty() { "" } else { "," };
                let is_plain = parts.len() <= 4 && parts.iter().all(|part| part.is_plain);
                Some(Spelled { text: format!("({}{end})", texts.join(", ")), is_plain, is_vec: false })
            }
            syn::Type::Array(array) => {
                let elem = self.spelled(home, module, &array.elem)?;
                let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(len), .. }) = &array.len else { return None };
                let text = format!("[{}; {}]", elem.text, len.base10_digits());
                Some(Spelled { text, is_vec: false, ..elem })
            }
            syn::Type::Path(path) if path.qself.is_none() => self.spelled_path(home, module, &path.path),
            _ => None,
        }
    }

    fn spelled_path(&self, home: &str, module: &str, path: &syn::Path) -> Option<Spelled> {
        let last = path.segments.last()?;
        let args = match &last.arguments {
            syn::PathArguments::None => Vec::new(),
            syn::PathArguments::AngleBracketed(list) => {
                let args = list.args.iter().map(|arg| match arg {
                    syn::GenericArgument::Type(ty) => self.spelled(home, module, ty),
                    _ => None,
                });
                args.collect::<Option<Vec<Spelled>>>()?
            }
            syn::PathArguments::Parenthesized(_) => return None,
        };
        let texts: Vec<&str> = args.iter().map(|arg| arg.text.as_str()).collect();
        let list = if texts.is_empty() { String::new() } else { format!("<{}>", texts.join(", ")) };
        let name = last.ident.to_string();
        let is_scalar = fx_ir::scalar::is_scalar(&name) && path.segments.len() == 1;
        let known = PLAIN.iter().find(|(known, _)| *known == name);
        let resolved = self.resolve(module, &path_text(path));
        let is_vec = match &resolved {
            Resolved::External(_) if name == "Vec" => true,
            Resolved::External(full) if interior_of(full) == Some("RefCell") => {
                args.first().is_some_and(|of| of.is_vec)
            }
            _ => false,
        };
        let (text, is_plain) = match resolved {
            Resolved::Item(at, _, Name::Alias(alias)) if args.is_empty() => return self.spelled(home, &at, &alias.ty),
            Resolved::Item(at, name, _) => (self.path_from(home, &at, &name)?, false),
            Resolved::External(_) if self.path_is_tensor(module, path) => ("::fx_runtime::Tensor".to_owned(), true),
            Resolved::External(_) if is_scalar => (name, true),
            Resolved::External(_) if known.is_some() => (known?.1.to_owned(), true),
            Resolved::External(full) if interior_of(&full).is_some() => {
                // What is in a `Cell` is copied where it is a number alone.
                let is_known = name == "RefCell" || args.iter().all(|arg| fx_ir::scalar::is_scalar(&arg.text));
                (format!("::std::cell::{}", interior_of(&full)?), is_known)
            }
            Resolved::External(full) if ["nn::LSTMState", "nn::GRUState"].iter().any(|state| full.ends_with(state)) => {
                (format!("::fx_runtime::nn::{name}"), true)
            }
            Resolved::External(full) if full.contains("::") => (from_root(&full), false),
            Resolved::External(name) if ["Box", "Result"].contains(&name.as_str()) => (name, false),
            Resolved::External(_) => return None,
        };
        let is_plain = is_plain && args.iter().all(|arg| arg.is_plain);
        Some(Spelled { text: format!("{text}{list}"), is_plain, is_vec })
    }

    fn path_is_tensor(&self, module: &str, path: &syn::Path) -> bool {
        let ty = syn::Type::Path(syn::TypePath { qself: None, path: path.clone() });
        self.ty(module, None, &ty) == Ty::Tensor
    }
}
