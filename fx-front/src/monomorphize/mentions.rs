//! Where a crate says what it puts into its generic types.

use fx_ir::LayerRow;
use quote::ToTokens;
use syn::{Expr, PathArguments, visit::Visit};

use super::{arguments, is_bound};
use crate::index::{Function, Index, Instance, Name, Resolved};
use crate::syntax::path_text;

/// The instances that the crate names in the functions from `fns` on and in the structs from `structs` on, and, the
/// first time, in aliases and enums.
pub(super) fn of(index: &Index, fns: usize, structs: usize) -> Vec<Instance> {
    let mut all = Vec::new();
    for item in index.structs[structs..].iter().filter(|item| !item.is_generic()) {
        let mut find = Find::new(index, &item.module, None);
        item.fields.iter().for_each(|field| find.visit_type(&field.ty));
        all.extend(find.found);
    }
    for function in &index.fns[fns..] {
        all.extend(of_function(index, function));
    }
    if structs == 0 {
        for (module, contents) in &index.modules {
            let mut find = Find::new(index, module, None);
            for name in contents.names.values() {
                match name {
                    Name::Alias(alias) => find.visit_type(&alias.ty),
                    Name::Enum(variants) => {
                        variants.iter().flat_map(|variant| &variant.fields).for_each(|(_, ty)| find.visit_type(ty));
                    }
                    _ => {}
                }
            }
            all.extend(find.found);
        }
    }
    all
}

/// What one function names; a generic impl names nothing, its instances do.
fn of_function(index: &Index, function: &Function) -> Vec<Instance> {
    if function.generics.params.iter().any(is_bound) {
        return Vec::new();
    }
    let mut find = Find::new(index, &function.module, function.owner.as_ref());
    find.params = arguments::names(&function.sig.generics);
    if let Some(owner) = &function.owner {
        find.visit_type(owner);
    }
    for input in &function.sig.inputs {
        if let syn::FnArg::Typed(typed) = input
            && let syn::Pat::Ident(name) = &*typed.pat
        {
            find.locals.push((name.ident.to_string(), (*typed.ty).clone()));
        }
    }
    find.visit_signature(&function.sig);
    find.visit_block(&function.block);
    find.found
}

struct Find<'a> {
    index: &'a Index,
    module: &'a str,
    owner: Option<&'a syn::Type>,
    /// The parameters of the function itself, which stand for no one type.
    params: Vec<String>,
    /// The variables whose type is known.
    locals: Vec<(String, syn::Type)>,
    found: Vec<Instance>,
}

impl<'a> Find<'a> {
    fn new(index: &'a Index, module: &'a str, owner: Option<&'a syn::Type>) -> Find<'a> {
        Find { index, module, owner, params: Vec::new(), locals: Vec::new(), found: Vec::new() }
    }

    /// The generic struct that the path, without its arguments, names.
    fn generic(&self, path: &str) -> Option<usize> {
        match self.index.resolve(self.module, path) {
            Resolved::Item(_, _, Name::Struct(id)) if self.index.structs[id].is_generic() => Some(id),
            _ => None,
        }
    }

    fn add(&mut self, of: usize, args: &PathArguments) {
        let text = args.to_token_stream().to_string();
        let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        if words.any(|word| self.params.iter().any(|param| param == word)) {
            return;
        }
        let Some(args) = arguments::written(self.index, (self.module, self.owner), of, args) else { return };
        self.found.push(Instance { of, args });
    }

    /// `Net::new(p, Basic::new(p))` and `Net { block }` say by their values what they are made of.
    fn made(&mut self, of: usize, params: &[String], values: &[(&syn::Type, &Expr)]) {
        let args: Option<Vec<String>> = params.iter().map(|param| self.put_in(param, values)).collect();
        if let Some(args) = args {
            self.found.push(Instance { of, args });
        }
    }

    /// The parameters of a function's impl in the order in which they stand in its type, if that is this struct.
    fn params_of_owner(&self, function: &Function, of: usize) -> Option<Vec<String>> {
        let Some(syn::Type::Path(owner)) = &function.owner else { return None };
        let resolved = self.index.resolve(&function.module, &path_text(&owner.path));
        let is_it = matches!(resolved, Resolved::Item(_, _, Name::Struct(id)) if id == of);
        let PathArguments::AngleBracketed(list) = &owner.path.segments.last().filter(|_| is_it)?.arguments else {
            return None;
        };
        Some(arguments::given(list).map(|arg| arg.to_token_stream().to_string()).collect())
    }

    /// What these values, of these declared types, put in for the parameter.
    fn put_in(&self, param: &str, values: &[(&syn::Type, &Expr)]) -> Option<String> {
        values.iter().find_map(|(declared, value)| {
            let is_it = matches!(declared, syn::Type::Path(path) if path.path.is_ident(param));
            let ty = self.type_of(value).filter(|_| is_it)?;
            arguments::exact(self.index, (self.module, self.owner), &ty)
        })
    }

    /// The type of a value, where its form says it.
    fn type_of(&self, value: &Expr) -> Option<syn::Type> {
        match value {
            Expr::Paren(inner) => self.type_of(&inner.expr),
            Expr::Path(path) => {
                let name = path.path.get_ident()?.to_string();
                self.locals.iter().rev().find(|(known, _)| *known == name).map(|(_, ty)| ty.clone())
            }
            Expr::Struct(literal) => {
                let path = &literal.path;
                Some(syn::parse_quote!(#path))
            }
            Expr::Call(call) => {
                let Expr::Path(path) = &*call.func else { return None };
                self.made_by(&path.path)
            }
            _ => None,
        }
    }

    /// What the function makes: a layer of `nn`, what it says that it returns, or its own type.
    fn made_by(&self, path: &syn::Path) -> Option<syn::Type> {
        let text = path_text(path);
        let returned = |function: &Function, own: Option<&syn::Path>| match &function.sig.output {
            syn::ReturnType::Type(_, ty) if matches!(&**ty, syn::Type::Path(path) if path.path.is_ident("Self")) => {
                own.map(|own| syn::parse_quote!(#own))
            }
            syn::ReturnType::Type(_, ty) => {
                arguments::exact(self.index, (&function.module, None), ty).and_then(|text| syn::parse_str(&text).ok())
            }
            syn::ReturnType::Default => None,
        };
        match self.index.resolve(self.module, &text) {
            Resolved::Item(_, _, Name::Fn(id)) => returned(&self.index.fns[id], None),
            Resolved::External(full) if full.contains("nn::") => {
                let leaf = LayerRow::of_constructor(full.rsplit("::").next()?)?.name;
                syn::parse_str(&format!("::fx_runtime::nn::{leaf}")).ok()
            }
            _ => {
                let (owner, name) = text.rsplit_once("::")?;
                let own: syn::Path = syn::parse_str(owner).ok()?;
                let ty = self.index.ty(self.module, self.owner, &syn::parse_quote!(#own));
                let method = self.index.method(&ty, name).filter(|_| ty != crate::index::Ty::Unknown)?;
                returned(&self.index.fns[method], Some(&own))
            }
        }
    }
}

impl<'ast> Visit<'ast> for Find<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let mut text = String::new();
        for segment in &path.segments {
            text = if text.is_empty() { segment.ident.to_string() } else { format!("{text}::{}", segment.ident) };
            if !segment.arguments.is_none()
                && let Some(of) = self.generic(&text)
            {
                self.add(of, &segment.arguments);
            }
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_type_path(&mut self, ty: &'ast syn::TypePath) {
        // `Net` where every parameter has a default.
        if ty.path.segments.iter().all(|segment| segment.arguments.is_none())
            && let Some(of) = self.generic(&path_text(&ty.path))
        {
            self.add(of, &PathArguments::None);
        }
        syn::visit::visit_type_path(self, ty);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        syn::visit::visit_local(self, local);
        let (pat, written) = match &local.pat {
            syn::Pat::Type(typed) => (&*typed.pat, Some((*typed.ty).clone())),
            pat => (pat, None),
        };
        let syn::Pat::Ident(name) = pat else { return };
        let inferred = || local.init.as_ref().and_then(|init| self.type_of(&init.expr));
        if let Some(ty) = written.or_else(inferred) {
            self.locals.push((name.ident.to_string(), ty));
        }
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        syn::visit::visit_expr_call(self, call);
        let Expr::Path(path) = &*call.func else { return };
        let text = path_text(&path.path);
        let Some((head, name)) = text.rsplit_once("::") else { return };
        let has_args = path.path.segments.iter().any(|segment| !segment.arguments.is_none());
        let Some(of) = self.generic(head).filter(|_| !has_args) else { return };
        let Some((function, params)) = self.index.fns.iter().find_map(|function| {
            let params = self.params_of_owner(function, of).filter(|_| function.sig.ident == name)?;
            Some((function, params))
        }) else {
            return;
        };
        let declared = function.sig.inputs.iter().filter_map(|input| match input {
            syn::FnArg::Typed(typed) => Some(&*typed.ty),
            syn::FnArg::Receiver(_) => None,
        });
        let values: Vec<(&syn::Type, &Expr)> = declared.zip(&call.args).collect();
        self.made(of, &params, &values);
    }

    fn visit_expr_struct(&mut self, literal: &'ast syn::ExprStruct) {
        syn::visit::visit_expr_struct(self, literal);
        let has_args = literal.path.segments.iter().any(|segment| !segment.arguments.is_none());
        let Some(of) = self.generic(&path_text(&literal.path)).filter(|_| !has_args) else { return };
        let item = &self.index.structs[of];
        let values = literal.fields.iter().filter_map(|value| {
            let syn::Member::Named(name) = &value.member else { return None };
            let field = item.fields.iter().find(|field| *name == field.name)?;
            Some((&field.ty, &value.expr))
        });
        let values: Vec<(&syn::Type, &Expr)> = values.collect();
        self.made(of, &arguments::names(&item.generics), &values);
    }
}
