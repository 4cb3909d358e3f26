//! Which expressions yield what a variable can be written through.

use fx_ir::Op;
use quote::ToTokens;
use syn::{Expr, ReturnType, Stmt, Type};

use crate::index::Index;
use crate::trace::{Tracer, Val, entry::signature::holds_reference};

/// Methods of the standard library whose results are, or hold, a `&mut` into what they are called on.
const METHODS: [&str; 28] = [
    "and_modify",
    "as_deref_mut",
    "as_mut",
    "as_mut_slice",
    "back_mut",
    "by_ref",
    "chunks_exact_mut",
    "chunks_mut",
    "deref_mut",
    "drain",
    "entry",
    "first_mut",
    "front_mut",
    "get_mut",
    "get_or_insert",
    "get_or_insert_with",
    "insert_entry",
    "iter_mut",
    "last_entry",
    "last_mut",
    "make_mut",
    "or_default",
    "or_insert",
    "or_insert_with",
    "split_at_mut",
    "split_first_mut",
    "split_last_mut",
    "values_mut",
];
/// Methods that hand on what they are called on, or a part of it.
const PASSING: [&str; 7] = ["expect", "unwrap", "unwrap_or", "ok_or", "ok_or_else", "ok", "peekable"];

/// Methods by which a container keeps what it is handed.
const KEEPING: [&str; 9] =
    ["insert", "push", "push_back", "push_front", "extend", "append", "entry", "get_or_insert", "replace"];

/// Methods whose results refer to what lies in the variable that they are called on.
const LENDING: [&str; 5] = ["as_ref", "as_deref", "as_slice", "first", "last"];

impl Tracer<'_> {
    /// Whether the variables of code that is kept as opaque code, which are copies, could be written through its value.
    pub(in crate::trace) fn borrows_a_copy(&self, expr: &Expr, value: &Val) -> bool {
        let op = self.whole_of(value).map(|id| &self.graph.node(id).op);
        matches!(op, Some(Op::Rust(code)) if code.opaque.is_some()) && borrows(self.index, expr)
    }
}

/// Whether it is a call by which a container may keep a reference to a variable: `map.insert(0, &xs)`.
pub(in crate::trace) fn is_kept(expr: &Expr) -> bool {
    let Expr::MethodCall(call) = expr else { return false };
    let is_place = |arg: &Expr| matches!(arg, Expr::Path(_) | Expr::Field(_) | Expr::Index(_));
    let is_lent = |arg: &Expr| match arg {
        Expr::Reference(borrowed) => is_place(&borrowed.expr),
        Expr::MethodCall(call) => LENDING.contains(&call.method.to_string().as_str()) && is_place(&call.receiver),
        _ => false,
    };
    let is_any = |arg: &Expr| match arg {
        Expr::Tuple(tuple) => tuple.elems.iter().any(is_lent),
        arg => is_lent(arg),
    };
    KEEPING.contains(&call.method.to_string().as_str()) && call.args.iter().any(is_any)
}

/// May a variable be written through the expression's value? As far as its form tells, and the signatures of the crate's
/// functions of that name.
pub(in crate::trace) fn borrows(index: &Index, expr: &Expr) -> bool {
    let lends_too = |expr: &Expr| borrows(index, expr);
    match expr {
        Expr::Reference(reference) => reference.mutability.is_some(),
        Expr::Paren(inner) => lends_too(&inner.expr),
        Expr::Group(inner) => lends_too(&inner.expr),
        Expr::Try(inner) => lends_too(&inner.expr),
        Expr::Tuple(tuple) => tuple.elems.iter().any(lends_too),
        Expr::Array(array) => array.elems.iter().any(lends_too),
        Expr::Struct(made) => made.fields.iter().any(|field| lends_too(&field.expr)),
        Expr::Call(call) => {
            let Expr::Path(path) = &*call.func else { return call.args.iter().any(lends_too) };
            let name = path.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
            let is_variant = name.starts_with(char::is_uppercase);
            METHODS.contains(&name.as_str())
                || is_variant && call.args.iter().any(lends_too)
                || function_lends(index, &name)
        }
        Expr::MethodCall(call) => {
            let name = call.method.to_string();
            METHODS.contains(&name.as_str())
                || PASSING.contains(&name.as_str()) && lends_too(&call.receiver)
                || function_lends(index, &name)
        }
        Expr::Block(block) => ends_lending(index, &block.block),
        Expr::Unsafe(block) => ends_lending(index, &block.block),
        Expr::If(branch) => {
            let other = branch.else_branch.as_ref();
            ends_lending(index, &branch.then_branch) || other.is_some_and(|(_, other)| lends_too(other))
        }
        Expr::Match(choice) => choice.arms.iter().any(|arm| lends_too(&arm.body)),
        _ => false,
    }
}

fn ends_lending(index: &Index, block: &syn::Block) -> bool {
    matches!(block.stmts.last(), Some(Stmt::Expr(expr, None)) if borrows(index, expr))
}

/// Whether a function of the crate, of that name, has a `&mut` in its result.
fn function_lends(index: &Index, name: &str) -> bool {
    let writes = |ty: &Type| holds_reference(ty) && ty.to_token_stream().to_string().contains("mut ");
    let named = index.fns.iter().filter(|function| function.sig.ident == name);
    named.into_iter().any(|function| matches!(&function.sig.output, ReturnType::Type(_, ty) if writes(ty)))
}
