//! The types of a builder function's variables, as far as its source tells them.

use fx_ir::LayerRow;
use fx_ir::host::methods::{Receiver, method};
use quote::ToTokens;
use syn::{Expr, Type, parse_quote, spanned::Spanned};

use super::locals::Locals;
use super::type_facts::{held, is_bare_number, is_complete, is_tensor, listed, literal, tensor_result, unreferenced};
use super::{Lowering, Site, constructors::Use, returns_module};
use crate::index::{Name, Resolved, Ty};
use crate::syntax::yields_bool;
use crate::syntax::{comma_operands, path_text};
use fx_ir::catalog::{ChainMethod, PathMethod};

impl Lowering<'_> {
    /// The type of an expression; `None` unless it is certain.
    pub(super) fn infer(&mut self, site: &Site<'_>, expr: &Expr, locals: &Locals) -> Option<Type> {
        match expr {
            Expr::Paren(inner) => self.infer(site, &inner.expr, locals),
            Expr::Group(inner) => self.infer(site, &inner.expr, locals),
            Expr::Path(path) => self.path(site, &path.path, locals),
            Expr::Cast(cast) => Some((*cast.ty).clone()),
            Expr::Unary(syn::ExprUnary { op: syn::UnOp::Deref(_), expr, .. }) => {
                self.infer(site, expr, locals).map(unreferenced)
            }
            Expr::Unary(unary) => self.infer(site, &unary.expr, locals),
            Expr::Reference(inner) => {
                let ty = self.infer(site, &inner.expr, locals)?;
                Some(parse_quote!(&#ty))
            }
            Expr::Lit(lit) => literal(&lit.lit),
            Expr::Tuple(tuple) => {
                let parts = tuple.elems.iter().map(|part| self.infer(site, part, locals));
                let parts: Vec<Type> = parts.map(|part| part.unwrap_or_else(|| parse_quote!(_))).collect();
                Some(parse_quote!((#(#parts,)*)))
            }
            Expr::Array(array) => {
                let (element, length) = (self.infer(site, array.elems.first()?, locals)?, array.elems.len());
                Some(parse_quote!([#element; #length]))
            }
            Expr::Index(index) if !matches!(*index.index, Expr::Range(_)) => {
                self.infer(site, &index.expr, locals).and_then(|list| listed(&list).cloned())
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

    /// A variable, a constant, or a variant of an enum.
    fn path(&mut self, site: &Site<'_>, path: &syn::Path, locals: &Locals) -> Option<Type> {
        if let Some(known) = path.get_ident().and_then(|name| locals.ty(&name.to_string())) {
            return Some(known);
        }
        if path.is_ident("self") {
            return self.index.fns[site.id].owner.clone();
        }
        let text = path_text(path);
        match self.index.resolve(&site.module, &text) {
            Resolved::Item(module, _, Name::Const(_, ty)) if module == site.module => Some(*ty),
            _ => self.variant_of(site, &text),
        }
    }

    /// The enum of which the path names a variant.
    fn variant_of(&self, site: &Site<'_>, path: &str) -> Option<Type> {
        let (of, variant) = path.rsplit_once("::")?;
        let of: Type = syn::parse_str(of).ok()?;
        let variants = self.index.variants(&self.index.ty(&site.module, None, &of))?;
        variants.iter().any(|known| known.name == variant).then_some(of)
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
        let base = unreferenced(self.infer(site, &field.base, locals)?);
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
                self.called_type((id, path.span()), site, Use::Value)
            }
            Resolved::Item(_, _, Name::Fn(id)) => self.declared(site, id),
            Resolved::External(full) if full.contains("nn::") => {
                let name = full.rsplit("::").next()?;
                let leaf = syn::Ident::new(LayerRow::of_constructor(name)?.name, proc_macro2::Span::call_site());
                Some(parse_quote!(::fx_runtime::nn::#leaf))
            }
            _ => {
                if let Some(of) = self.variant_of(site, &text) {
                    return Some(of);
                }
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
    pub(super) fn declared(&self, site: &Site<'_>, id: usize) -> Option<Type> {
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
