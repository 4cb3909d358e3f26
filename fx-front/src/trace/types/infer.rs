//! The type of an expression from its form alone, for code that is kept as opaque code: what it is, or nothing.

use crate::trace::std_model::method_type::{is_text, keeps_type};
use fx_ir::{OpId, catalog};

use crate::index::{Name, Resolved};
use crate::syntax::iterator_method::{IteratorMethod, Role};
use crate::syntax::path_text;
use crate::syntax::{arguments::handed_to, counters::counted_with, written_types::typed_params};
use crate::syntax::{is_compound, only_expr, yields_bool};
use crate::trace::types::ty::{is_copy, is_untyped};
use crate::trace::{
    Tracer, Ty,
    tensor::op_type::{host_type, result_type},
};

impl Tracer<'_> {
    /// The type of the expression's value; `Unknown` unless it is certain.
    pub(in crate::trace) fn infer_ty(&self, expr: &syn::Expr) -> Ty {
        match expr {
            syn::Expr::Paren(inner) => self.infer_ty(&inner.expr),
            syn::Expr::Group(inner) => self.infer_ty(&inner.expr),
            syn::Expr::Path(path) => match path.path.get_ident().map(ToString::to_string) {
                Some(name) if self.env.has(&name) => self.variable(&name),
                _ => self.unit_struct(path),
            },
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Bool(_), .. }) => Ty::Rust("bool".to_owned()),
            syn::Expr::Cast(cast) => self.index.ty(self.module(), None, &cast.ty),
            syn::Expr::Binary(binary) => self.guess_binary(binary),
            syn::Expr::MethodCall(call) => self.guess_method(call),
            syn::Expr::Call(call) => self.guess_call(call),
            syn::Expr::Struct(literal) => {
                let ty = syn::TypePath { qself: literal.qself.clone(), path: literal.path.clone() };
                let ty = self.index.ty(self.module(), self.function().owner.as_ref(), &ty.into());
                if matches!(ty, Ty::Struct(_)) { ty } else { Ty::Unknown }
            }
            syn::Expr::Block(block) => self.guess_block(&block.block),
            syn::Expr::Unsafe(block) => self.guess_block(&block.block),
            syn::Expr::If(branch) => match &branch.else_branch {
                Some((_, other)) => agreed(&self.guess_block(&branch.then_branch), &self.infer_ty(other)),
                None => Ty::Tuple(Vec::new()),
            },
            syn::Expr::Try(question) => match self.infer_ty(&question.expr) {
                Ty::Result(inner) if is_copy(&inner) || *inner == Ty::Tensor => *inner,
                _ => Ty::Unknown,
            },
            syn::Expr::ForLoop(_) | syn::Expr::While(_) | syn::Expr::Assign(_) => Ty::Tuple(Vec::new()),
            syn::Expr::Macro(call) => match call.mac.path.segments.last().map(|last| last.ident.to_string()).as_deref()
            {
                Some("format") => Ty::Rust("String".to_owned()),
                Some("cfg" | "matches") => Ty::Rust("bool".to_owned()),
                _ => Ty::Unknown,
            },
            _ => Ty::Unknown,
        }
    }

    /// The type of a loop's number, as what it is compared with or added to says, or a `let` of it.
    pub(in crate::trace) fn counter_ty(&self, body: &syn::Block, name: &syn::Ident) -> Option<Ty> {
        let (others, types) = counted_with(body, name);
        let of_others = others.iter().map(|other| match self.infer_ty(other) {
            Ty::Unknown => self.chain_ty(other),
            known => known,
        });
        let written = types.iter().map(|ty| self.index.ty(self.module(), None, ty));
        let is_integer = |ty: &Ty| matches!(ty, Ty::Rust(name) if fx_ir::scalar::is_integer(name));
        let handed = handed_to(body, name).into_iter().filter_map(|(callee, at)| self.parameter_ty(&callee, at));
        of_others.chain(written).chain(handed).find(is_integer)
    }

    /// The type of a parameter, where all functions of the crate that have this name agree on it.
    fn parameter_ty(&self, callee: &str, at: usize) -> Option<Ty> {
        let named = self.index.fns.iter().filter(|function| function.sig.ident == callee);
        let mut types = named.filter_map(|function| {
            let param = typed_params(&function.sig).nth(at);
            param.map(|param| self.index.ty(&function.module, function.owner.as_ref(), &param.ty))
        });
        let first = types.next()?;
        types.all(|ty| ty == first).then_some(first)
    }

    /// The struct without fields that the path names.
    fn unit_struct(&self, path: &syn::ExprPath) -> Ty {
        let ty = syn::TypePath { qself: path.qself.clone(), path: path.path.clone() };
        match self.index.ty(self.module(), self.function().owner.as_ref(), &ty.into()) {
            Ty::Struct(id) if self.index.structs[id].fields.is_empty() => Ty::Struct(id),
            _ => Ty::Unknown,
        }
    }

    fn variable(&self, name: &str) -> Ty {
        self.env.read(name).map_or(Ty::Unknown, crate::trace::Val::ty)
    }

    /// A block of one expression: variables that others declare are not known here.
    fn guess_block(&self, block: &syn::Block) -> Ty {
        only_expr(block).map_or(Ty::Unknown, |expr| self.infer_ty(expr))
    }

    fn guess_binary(&self, binary: &syn::ExprBinary) -> Ty {
        if is_compound(&binary.op) {
            return Ty::Tuple(Vec::new());
        }
        if yields_bool(&binary.op) {
            return Ty::Rust("bool".to_owned());
        }
        let (left, right) = (self.infer_ty(operand(&binary.left)), self.infer_ty(operand(&binary.right)));
        match (&left, &right) {
            (Ty::Struct(_), _) | (_, Ty::Struct(_)) => Ty::Unknown,
            (Ty::Tensor, _) | (_, Ty::Tensor) => Ty::Tensor,
            (a, b) if a == b && is_copy(a) && !is_untyped(a) => left,
            _ => Ty::Unknown,
        }
    }

    /// Whether the expression is a field that holds a module of tch's of a type that nothing says.
    fn is_module_object(&self, expr: &syn::Expr) -> bool {
        let syn::Expr::Field(field) = operand(expr) else { return false };
        let Ty::Struct(owner) = self.chain_ty(&field.base) else { return false };
        let name = quote::ToTokens::to_token_stream(&field.member).to_string();
        let module = &self.index.structs[owner].module;
        self.index.field(owner, &name).is_some_and(|field| self.index.is_module_object(module, &field.ty))
    }

    fn guess_method(&self, call: &syn::ExprMethodCall) -> Ty {
        let name = call.method.to_string();
        let receiver = match self.infer_ty(operand(&call.receiver)) {
            Ty::Unknown => self.chain_ty(operand(&call.receiver)),
            known => known,
        };
        if let (Ty::Unknown, Some(ty)) = (&receiver, consumed_type(&call.method))
            && self.is_iterator(&call.receiver)
        {
            return ty;
        }
        match (&receiver, name.as_str()) {
            (Ty::Tensor, "i" | "apply" | "apply_t") | (Ty::Leaf(_), "forward" | "forward_t") => Ty::Tensor,
            (Ty::Unknown, "forward" | "forward_t") if self.is_module_object(&call.receiver) => Ty::Tensor,
            (Ty::Tensor, "is_empty") => Ty::Rust("bool".to_owned()),
            (Ty::Tensor, _) => self.of_tensor(&name),
            (Ty::List(element), "pop") => Ty::Option(element.clone()),
            (Ty::Option(inner), "unwrap" | "expect" | "unwrap_or" | "unwrap_or_else" | "unwrap_or_default")
                if **inner != Ty::Unknown =>
            {
                (**inner).clone()
            }
            (Ty::Result(inner), "unwrap" | "expect" | "unwrap_or" | "unwrap_or_else" | "unwrap_or_default")
                if is_copy(inner) || **inner == Ty::Tensor =>
            {
                (**inner).clone()
            }
            (Ty::Result(_), "context" | "with_context" | "wrap_err" | "wrap_err_with" | "map_err" | "or_else") => {
                receiver
            }
            (Ty::Result(inner), "ok") => Ty::Option(inner.clone()),
            (Ty::Option(inner), "ok_or" | "ok_or_else" | "context" | "with_context") => Ty::Result(inner.clone()),
            (text, "parse") if is_text(text) => Ty::Result(Box::new(self.turbofish_ty(call))),
            (_, "len") => Ty::Rust("usize".to_owned()),
            (_, "is_empty" | "is_some" | "is_none" | "is_ok" | "is_err") => Ty::Rust("bool".to_owned()),
            (Ty::Struct(_), _) => {
                self.method_of(&receiver, &name).map_or(Ty::Unknown, |id| self.index.returned_value(id))
            }
            (Ty::Rust(owner), _) if owner.starts_with("::") => {
                self.index.extern_method(owner, &name).unwrap_or(Ty::Unknown)
            }
            (ty, name) if is_copy(ty) && keeps_type(self.index, name, ty) => receiver,
            _ => Ty::Unknown,
        }
    }

    /// The type `T` of `text.parse::<T>()`.
    fn turbofish_ty(&self, call: &syn::ExprMethodCall) -> Ty {
        match call.turbofish.as_ref().and_then(|list| list.args.first()) {
            Some(syn::GenericArgument::Type(ty)) => self.index.ty(self.module(), None, ty),
            _ => Ty::Unknown,
        }
    }

    /// Whether it is an iterator over a list: `list.iter()`, with adaptors behind it.
    fn is_iterator(&self, expr: &syn::Expr) -> bool {
        let syn::Expr::MethodCall(call) = operand(expr) else { return false };
        let of_list = |ty: &Ty| matches!(ty, Ty::List(_));
        match IteratorMethod::of(&call.method).map(|method| (method, method.role())) {
            Some((IteratorMethod::Iter | IteratorMethod::IntoIter, _)) => {
                of_list(&self.infer_ty(&call.receiver)) || of_list(&self.chain_ty(operand(&call.receiver)))
            }
            Some((_, Role::Adapt)) => self.is_iterator(&call.receiver),
            _ => false,
        }
    }

    fn of_tensor(&self, name: &str) -> Ty {
        match (host_type(name), OpId::of_method(name)) {
            (Some(Ty::Result(_)), _) => Ty::Unknown,
            (Some(ty), _) => ty,
            (None, Some(_)) if name.starts_with("f_") => Ty::Unknown,
            (None, Some(_)) => catalog::lookup(name).map_or(Ty::Unknown, result_type),
            (None, None) => self.method_of(&Ty::Tensor, name).map_or(Ty::Unknown, |id| self.index.returned_value(id)),
        }
    }

    fn guess_call(&self, call: &syn::ExprCall) -> Ty {
        let syn::Expr::Path(path) = &*call.func else { return Ty::Unknown };
        let text = path_text(&path.path);
        if self.env.has(&text) {
            return Ty::Unknown;
        }
        match self.index.resolve(self.module(), &text) {
            Resolved::Item(_, _, Name::Fn(id)) => return self.index.returned_value(id),
            Resolved::External(full) => {
                if let Some(ty) = self.index.extern_returned(&full) {
                    return ty;
                }
            }
            Resolved::Item(..) => {}
        }
        let Some((head, name)) = text.rsplit_once("::") else { return Ty::Unknown };
        let owner = syn::parse_str::<syn::Type>(head).ok();
        let owner = owner.map(|ty| self.index.ty(self.module(), self.function().owner.as_ref(), &ty));
        match owner {
            Some(Ty::Result(_) | Ty::Unknown) | None => Ty::Unknown,
            Some(ty) if name == "try_from" => Ty::Result(Box::new(ty)),
            Some(Ty::Tensor) => self.of_tensor(name),
            Some(ty @ Ty::Rust(_)) if self.is_variant_of(&ty, name) => ty,
            Some(ty) => self.index.method(&ty, name).map_or(Ty::Unknown, |id| self.index.returned_value(id)),
        }
    }
}

/// The type of what the method computes from all elements, where it is the same for all iterators.
fn consumed_type(method: &syn::Ident) -> Option<Ty> {
    match IteratorMethod::of(method)? {
        IteratorMethod::Position => Some(Ty::Option(Box::new(Ty::Rust("usize".to_owned())))),
        IteratorMethod::Count => Some(Ty::Rust("usize".to_owned())),
        IteratorMethod::Any | IteratorMethod::All => Some(Ty::Rust("bool".to_owned())),
        _ => None,
    }
}

fn agreed(a: &Ty, b: &Ty) -> Ty {
    if a == b { a.clone() } else { Ty::Unknown }
}

/// `x` of `&x`, `*x` and `-x`, whose type is the same here.
fn operand(expr: &syn::Expr) -> &syn::Expr {
    match expr {
        syn::Expr::Reference(inner) => operand(&inner.expr),
        syn::Expr::Unary(inner) if !matches!(inner.op, syn::UnOp::Not(_)) => operand(&inner.expr),
        syn::Expr::Paren(inner) => operand(&inner.expr),
        other => other,
    }
}
