//! The types of a builder function's variables, as far as its source tells them.

use fx_ir::LayerRow;
use fx_ir::host::methods::{Receiver, method};
use quote::ToTokens;
use syn::{Expr, Type, parse_quote};

pub(super) use super::type_facts::is_complete;
use super::type_facts::{held, is_bare_number, is_new_list, is_tensor, literal, named, tensor_result};
use super::{Lowering, Site, returns_module};
use crate::index::{Name, Resolved, Ty};
use crate::syntax::yields_bool;
use crate::syntax::{comma_operands, path_text};
use fx_ir::catalog::{ChainMethod, PathMethod};

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
fn declare(pat: &syn::Pat, ty: Option<&Type>, locals: &mut Locals) {
    match (pat, ty) {
        (syn::Pat::Ident(one), ty) if one.subpat.is_none() => locals.declare(&one.ident.to_string(), ty.cloned()),
        (syn::Pat::Tuple(parts), Some(Type::Tuple(types))) if parts.elems.len() == types.elems.len() => {
            parts.elems.iter().zip(&types.elems).for_each(|(part, ty)| declare(part, Some(ty), locals));
        }
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
        let mut ty = written.filter(is_complete).or_else(|| self.infer(site, init?, locals));
        if let (None, syn::Pat::Ident(name), Some(init)) = (&ty, pat, init)
            && is_new_list(init)
        {
            let element = self.appended(site, &name.ident.to_string(), rest, &mut locals.clone());
            ty = element.map(|element| parse_quote!(Vec<#element>));
        }
        declare(pat, ty.as_ref(), locals);
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
                declare(&each.pat, None, &mut inner);
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

    /// The type of an expression; `None` unless it is certain.
    pub(super) fn infer(&mut self, site: &Site<'_>, expr: &Expr, locals: &Locals) -> Option<Type> {
        match expr {
            Expr::Paren(inner) => self.infer(site, &inner.expr, locals),
            Expr::Group(inner) => self.infer(site, &inner.expr, locals),
            Expr::Path(path) => path.path.get_ident().and_then(|name| locals.ty(&name.to_string())),
            Expr::Cast(cast) => Some((*cast.ty).clone()),
            Expr::Unary(unary) => self.infer(site, &unary.expr, locals),
            Expr::Reference(inner) => {
                let ty = self.infer(site, &inner.expr, locals)?;
                Some(parse_quote!(&#ty))
            }
            Expr::Lit(lit) => literal(&lit.lit),
            Expr::Tuple(tuple) => {
                let parts = tuple.elems.iter().map(|part| self.infer(site, part, locals));
                let parts = parts.collect::<Option<Vec<Type>>>()?;
                Some(parse_quote!((#(#parts,)*)))
            }
            Expr::Struct(literal) => {
                let path = &literal.path;
                Some(parse_quote!(#path))
            }
            Expr::Binary(binary) => self.binary(site, binary, locals),
            Expr::Field(field) => self.field(site, field, locals),
            Expr::Block(block) => self.tail(site, &block.block, locals),
            Expr::If(branch) => self.tail(site, &branch.then_branch, locals),
            Expr::Match(choice) => choice.arms.iter().find_map(|arm| self.infer(site, &arm.body, locals)),
            Expr::MethodCall(call) => self.method(site, call, locals),
            Expr::Call(call) => self.call(site, call, locals),
            Expr::Macro(list) if list.mac.path.is_ident("vec") => {
                let element = self.infer(site, comma_operands(&list.mac)?.first()?, locals)?;
                Some(parse_quote!(Vec<#element>))
            }
            _ => None,
        }
    }

    fn tail(&mut self, site: &Site<'_>, block: &syn::Block, locals: &Locals) -> Option<Type> {
        match block.stmts.last()? {
            syn::Stmt::Expr(expr, None) => self.infer(site, expr, locals),
            _ => None,
        }
    }

    fn binary(&mut self, site: &Site<'_>, binary: &syn::ExprBinary, locals: &Locals) -> Option<Type> {
        use syn::BinOp;
        match binary.op {
            BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_) | BinOp::Div(_) | BinOp::Rem(_) => {
                self.arithmetic(site, [&binary.left, &binary.right], locals)
            }
            op if yields_bool(&op) => Some(parse_quote!(bool)),
            _ => None,
        }
    }

    /// The variable of `if let Some(x) = option`, and its type.
    pub(super) fn held_by(&mut self, site: &Site<'_>, condition: &Expr, locals: &Locals) -> Option<(String, Type)> {
        let Expr::Let(condition) = condition else { return None };
        let syn::Pat::TupleStruct(some) = &*condition.pat else { return None };
        let Some(syn::Pat::Ident(name)) = some.elems.first().filter(|_| some.path.is_ident("Some")) else {
            return None;
        };
        let option = self.infer(site, &condition.expr, locals)?;
        let is_option = matches!(self.index.ty(&site.module, None, &option), Ty::Option(_));
        is_option.then(|| (name.ident.to_string(), held(option)))
    }

    /// The type of what `a + b` makes: a tensor where one of them is one, and else that of both, of which one may be a bare
    /// number.
    fn arithmetic(&mut self, site: &Site<'_>, sides: [&Expr; 2], locals: &Locals) -> Option<Type> {
        let types = sides.map(|side| self.infer(site, side, locals));
        if types.iter().flatten().any(is_tensor) {
            return Some(parse_quote!(::fx_runtime::Tensor));
        }
        match (types, sides.map(is_bare_number)) {
            ([Some(ty), _], [_, true]) | ([_, Some(ty)], [true, _]) => Some(ty),
            ([Some(left), Some(right)], _) => (left == right).then_some(left),
            _ => None,
        }
    }

    fn field(&mut self, site: &Site<'_>, field: &syn::ExprField, locals: &Locals) -> Option<Type> {
        let base = self.infer(site, &field.base, locals)?;
        let name = match (&field.member, &base) {
            (syn::Member::Named(name), _) => name,
            (syn::Member::Unnamed(at), Type::Tuple(tuple)) => {
                return tuple.elems.get(usize::try_from(at.index).ok()?).cloned();
            }
            (syn::Member::Unnamed(_), _) => return None,
        };
        match self.index.ty(&site.module, None, &base) {
            Ty::Struct(id) => {
                let found = self.index.field(id, &name.to_string())?;
                let spelling = self.index.spelling(&self.index.field_ty(id, found))?;
                syn::parse_str(&spelling).ok()
            }
            Ty::Rust(spelling) if spelling.ends_with("::ConvConfig") => match name.to_string().as_str() {
                "stride" | "padding" | "dilation" | "groups" => Some(parse_quote!(i64)),
                "bias" => Some(parse_quote!(bool)),
                _ => None,
            },
            _ => None,
        }
    }

    fn method(&mut self, site: &Site<'_>, call: &syn::ExprMethodCall, locals: &Locals) -> Option<Type> {
        let name = call.method.to_string();
        let closure = |arg: Option<&Expr>| match arg {
            Some(Expr::Closure(closure)) => Some((*closure.body).clone()),
            _ => None,
        };
        if ChainMethod::of_name(&name).is_some() {
            return self.infer(site, &call.receiver, locals);
        }
        match name.as_str() {
            "clone" => {
                let receiver = self.infer(site, &call.receiver, locals)?;
                return Some(if let Type::Reference(lent) = receiver { *lent.elem } else { receiver });
            }
            "unwrap" | "expect" => return self.infer(site, &call.receiver, locals).map(held),
            "map" => {
                // Of an option; of an iterator it is `collect` that is asked for.
                let option = self.infer(site, &call.receiver, locals)?;
                let held = self.infer(site, &closure(call.args.first())?, locals)?;
                let is_option = matches!(self.index.ty(&site.module, None, &option), Ty::Option(_));
                return is_option.then(|| parse_quote!(Option<#held>));
            }
            "then" => {
                let held = self.infer(site, &closure(call.args.first())?, locals)?;
                return Some(parse_quote!(Option<#held>));
            }
            "collect" => {
                let Expr::MethodCall(map) = &*call.receiver else { return None };
                let held = self.infer(site, &closure(map.args.first().filter(|_| map.method == "map"))?, locals)?;
                return Some(parse_quote!(Vec<#held>));
            }
            _ => {}
        }
        let receiver = self.infer(site, &call.receiver, locals)?;
        match self.index.ty(&site.module, None, &receiver) {
            Ty::Tensor => tensor_result(&name),
            ty @ Ty::Struct(_) => self.declared(site, self.index.method(&ty, &name)?),
            Ty::Rust(path) if path.ends_with("::Path") => match PathMethod::of_name(&name)? {
                PathMethod::Path => Some(receiver),
                PathMethod::Variable => Some(parse_quote!(::fx_runtime::Tensor)),
            },
            receiver => self.computed(&receiver, &name, call.args.len()),
        }
    }

    /// The type of what a method of the standard library computes of a number or a list, by its row.
    fn computed(&self, receiver: &Ty, name: &str, arity: usize) -> Option<Type> {
        let receiver = self.index.ir_type(receiver);
        let row = method(name, Receiver::of_type(&receiver)?).filter(|row| !row.mutates && row.arity == arity)?;
        match row.type_of(&receiver, &vec![fx_ir::Type::Unknown; arity]) {
            fx_ir::Type::Rust(name) => syn::parse_str(&name).ok(),
            _ => None,
        }
    }

    fn call(&mut self, site: &Site<'_>, call: &syn::ExprCall, locals: &Locals) -> Option<Type> {
        let Expr::Path(path) = &*call.func else { return None };
        let text = path_text(&path.path);
        if text == "Some" {
            let held = self.infer(site, call.args.first()?, locals)?;
            return Some(parse_quote!(Option<#held>));
        }
        match self.index.resolve(&site.module, &text) {
            Resolved::Item(_, _, Name::Fn(id)) if returns_module(&self.index.fns[id].sig) => {
                self.lowered_type(id, site)
            }
            Resolved::Item(_, _, Name::Fn(id)) => self.declared(site, id),
            Resolved::External(full) if full.contains("nn::") => {
                let name = full.rsplit("::").next()?;
                let leaf = syn::Ident::new(LayerRow::of_constructor(name)?.name, proc_macro2::Span::call_site());
                Some(parse_quote!(::fx_runtime::nn::#leaf))
            }
            _ => {
                let (head, name) = text.rsplit_once("::")?;
                let owner: Type = syn::parse_str(head).ok()?;
                match self.index.ty(&site.module, None, &owner) {
                    Ty::Tensor => tensor_result(name),
                    ty @ Ty::Struct(_) => self.declared(site, self.index.method(&ty, name)?),
                    _ => None,
                }
            }
        }
    }

    /// The type that a function of the crate is declared to return, as it is written at the site.
    fn declared(&self, site: &Site<'_>, id: usize) -> Option<Type> {
        let function = &self.index.fns[id];
        let syn::ReturnType::Type(_, written) = &function.sig.output else { return None };
        let plain = !matches!(**written, Type::Reference(_) | Type::ImplTrait(_));
        let mentions_self = written.to_token_stream().into_iter().any(|token| token.to_string() == "Self");
        if plain && !mentions_self && function.module == site.module && is_complete(written) {
            return Some((**written).clone());
        }
        let ty = self.index.ty(&function.module, function.owner.as_ref(), written);
        let spelling = self.index.spelling(&ty).filter(|_| plain)?;
        syn::parse_str(&spelling).ok()
    }
}
