//! The variables of a builder function and their types.

use syn::{Expr, Type, parse_quote};

use super::{
    Lowering, Site,
    constructors::{Use, use_of},
    type_facts::{is_complete, is_new_list, named},
};

/// The variables of a function in the order of their declaration, with their types where those are known.
#[derive(Clone, Default)]
pub(super) struct Locals(Vec<(String, Option<Type>)>);

impl Locals {
    pub(super) fn declare(&mut self, name: &str, ty: Option<Type>) {
        self.0.retain(|(known, _)| known != name);
        self.0.push((name.to_owned(), ty));
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn ty(&self, name: &str) -> Option<Type> {
        self.0.iter().find(|(known, _)| known == name).and_then(|(_, ty)| ty.clone())
    }
}

/// Declares what a pattern binds to a value of this type.
pub(super) fn declare(pat: &syn::Pat, ty: Option<&Type>, locals: &mut Locals) {
    match (pat, ty) {
        (syn::Pat::Ident(one), ty) if one.subpat.is_none() => locals.declare(&one.ident.to_string(), ty.cloned()),
        (syn::Pat::Tuple(parts), Some(Type::Tuple(types))) if parts.elems.len() == types.elems.len() => {
            parts.elems.iter().zip(&types.elems).for_each(|(part, ty)| declare(part, Some(ty), locals));
        }
        (syn::Pat::Tuple(parts), Some(Type::Reference(lent))) => match &*lent.elem {
            Type::Tuple(types) if parts.elems.len() == types.elems.len() => {
                let parts = parts.elems.iter().zip(&types.elems);
                parts.for_each(|(part, ty)| declare(part, Some(&parse_quote!(&#ty)), locals));
            }
            _ => crate::pattern::bound(pat).into_iter().for_each(|name| locals.declare(&name, None)),
        },
        (syn::Pat::Reference(inner), Some(Type::Reference(lent))) => declare(&inner.pat, Some(&lent.elem), locals),
        (syn::Pat::Paren(inner), ty) => declare(&inner.pat, ty, locals),
        (syn::Pat::Type(typed), _) => declare(&typed.pat, Some(&typed.ty), locals),
        _ => crate::pattern::bound(pat).into_iter().for_each(|name| locals.declare(&name, None)),
    }
}

impl Lowering<'_> {
    /// The variables at the end of a function's statements.
    pub(super) fn locals(&mut self, site: &Site<'_>, stmts: &[syn::Stmt]) -> Locals {
        let mut locals = Locals::default();
        for input in &site.sig.inputs {
            let syn::FnArg::Typed(typed) = input else { continue };
            declare(&typed.pat, Some(&typed.ty), &mut locals);
        }
        for (at, stmt) in stmts.iter().enumerate() {
            if let syn::Stmt::Local(local) = stmt {
                self.declare_local(site, local, &stmts[at + 1..], &mut locals);
            }
        }
        locals
    }

    /// Declares what a `let` binds, before the statements of `rest`.
    pub(super) fn declare_local(
        &mut self,
        site: &Site<'_>,
        local: &syn::Local,
        rest: &[syn::Stmt],
        locals: &mut Locals,
    ) {
        let (pat, written) = match &local.pat {
            syn::Pat::Type(typed) => (&*typed.pat, Some((*typed.ty).clone())),
            other => (other, None),
        };
        let init = local.init.as_ref().map(|init| &*init.expr);
        let mut ty = written.filter(is_complete).or_else(|| self.initial(site, init?, use_of(local, rest), locals));
        if let (None, syn::Pat::Ident(name), Some(init)) = (&ty, pat, init)
            && is_new_list(init)
        {
            let element = self.appended(site, &name.ident.to_string(), rest, &mut locals.clone());
            ty = element.map(|element| parse_quote!(Vec<#element>));
        }
        declare(pat, ty.as_ref(), locals);
    }

    /// The type of the first value of a variable that is used so.
    fn initial(&mut self, site: &Site<'_>, init: &Expr, as_what: Use, locals: &Locals) -> Option<Type> {
        match init {
            Expr::Call(call) => match self.builder_called(site, call) {
                Some(id) => self.called_type(id, site, as_what),
                None => self.infer(site, init, locals),
            },
            _ => self.infer(site, init, locals),
        }
    }

    /// The type of what these statements append to the list of that name.
    fn appended(&mut self, site: &Site<'_>, list: &str, stmts: &[syn::Stmt], locals: &mut Locals) -> Option<Type> {
        for (at, stmt) in stmts.iter().enumerate() {
            match stmt {
                syn::Stmt::Local(local) => self.declare_local(site, local, &stmts[at + 1..], locals),
                syn::Stmt::Expr(expr, _) => {
                    let found = self.appended_by(site, list, expr, locals);
                    if found.is_some() {
                        return found;
                    }
                }
                _ => {}
            }
        }
        None
    }

    fn appended_by(&mut self, site: &Site<'_>, list: &str, expr: &Expr, locals: &Locals) -> Option<Type> {
        let mut inner = locals.clone();
        match expr {
            Expr::MethodCall(call) if call.method == "push" && named(&call.receiver, list) => {
                self.infer(site, call.args.first()?, locals)
            }
            Expr::ForLoop(each) => {
                self.declare_element(site, &each.pat, &each.expr, &mut inner);
                self.appended(site, list, &each.body.stmts, &mut inner)
            }
            Expr::While(each) => self.appended(site, list, &each.body.stmts, &mut inner),
            Expr::Loop(each) => self.appended(site, list, &each.body.stmts, &mut inner),
            Expr::Block(block) => self.appended(site, list, &block.block.stmts, &mut inner),
            Expr::If(branch) => {
                let found = self.appended(site, list, &branch.then_branch.stmts, &mut inner);
                found.or_else(|| self.appended_by(site, list, &branch.else_branch.as_ref()?.1, locals))
            }
            _ => None,
        }
    }
}
