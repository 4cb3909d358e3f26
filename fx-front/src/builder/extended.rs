//! Chains that a constructor adds to when their struct is made already, line by line:
//!
//! ```text
//! let mut net = Net { seq: nn::seq() };                       let mut net = Net { seq: nn::seq().add(fc).add_fn(f) };
//! net.seq = net.seq.add(fc);                            =>
//! net.seq = net.seq.add_fn(f);
//! ```

use std::borrow::Cow;

use quote::ToTokens;
use syn::{
    Expr, Stmt,
    visit::{self, Visit},
};

use crate::pattern::bound;
use crate::syntax::{contains_return, mentions};

/// The block with what its statements add to the field in the literal that makes the struct; `makes` accepts the type of that.
pub(super) fn in_one<'b>(
    block: &'b syn::Block,
    field: &str,
    makes: &dyn Fn(&syn::Path) -> bool,
) -> Cow<'b, syn::Block> {
    let made = |stmt: &Stmt| {
        let Stmt::Local(syn::Local { pat: syn::Pat::Ident(name), init: Some(init), .. }) = stmt else { return None };
        let Expr::Struct(literal) = &*init.expr else { return None };
        (name.mutability.is_some() && makes(&literal.path)).then(|| name.ident.clone())
    };
    let Some((at, name)) = block.stmts.iter().enumerate().find_map(|(at, stmt)| Some((at, made(stmt)?))) else {
        return Cow::Borrowed(block);
    };
    let mut whole = block.clone();
    let mut next = at + 1;
    while let Some(stmt) = whole.stmts.get(next) {
        // Behind another variable of the name, and where the struct may have left, nothing is known.
        let added = added_to(stmt, &name, field).cloned();
        let is_hidden = matches!(stmt, Stmt::Local(local) if bound(&local.pat).iter().any(|bound| name == bound));
        if is_hidden || leaves(stmt) || added.is_none() && is_used_whole(stmt, &name) {
            break;
        }
        match added.and_then(|added| with_base(&added, &name, field, literal_value(&mut whole.stmts[at], field)?)) {
            Some(added) => {
                if let Some(value) = literal_value(&mut whole.stmts[at], field) {
                    *value = added;
                }
                whole.stmts.remove(next);
            }
            None => next += 1,
        }
    }
    Cow::Owned(whole)
}

/// Whether the statement may leave the function with a value.
fn leaves(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Expr(expr, _) => contains_return(expr),
        Stmt::Local(local) => local.init.as_ref().is_some_and(|init| {
            contains_return(&init.expr) || init.diverge.as_ref().is_some_and(|(_, other)| contains_return(other))
        }),
        Stmt::Item(_) | Stmt::Macro(_) => false,
    }
}

/// Whether the statement mentions the struct as a whole, which may put another in its place: `mem::replace(&mut net, other)`.
fn is_used_whole(stmt: &Stmt, name: &syn::Ident) -> bool {
    struct Find<'n>(&'n syn::Ident, bool);
    impl<'ast> Visit<'ast> for Find<'_> {
        fn visit_expr_field(&mut self, field: &'ast syn::ExprField) {
            if !matches!(&*field.base, Expr::Path(path) if path.path.is_ident(self.0)) {
                visit::visit_expr_field(self, field);
            }
        }
        fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
            self.1 |= path.path.is_ident(self.0);
        }
        fn visit_macro(&mut self, call: &'ast syn::Macro) {
            self.1 |= mentions(&call.tokens, self.0);
        }
    }
    let mut find = Find(name, false);
    find.visit_stmt(stmt);
    find.1
}

/// The value of `name.field = value;`.
fn added_to<'s>(stmt: &'s Stmt, name: &syn::Ident, field: &str) -> Option<&'s Expr> {
    match stmt {
        Stmt::Expr(Expr::Assign(assign), Some(_)) if is_field(&assign.left, name, field) => Some(&assign.right),
        _ => None,
    }
}

/// `base.add(..)` for `name.field.add(..)`; `None` for anything else, and where an argument reads the struct.
fn with_base(added: &Expr, name: &syn::Ident, field: &str, base: &Expr) -> Option<Expr> {
    match added {
        Expr::MethodCall(call) if !call.args.iter().any(|arg| mentions(arg, name)) => {
            let receiver = Box::new(with_base(&call.receiver, name, field, base)?);
            Some(Expr::MethodCall(syn::ExprMethodCall { receiver, ..call.clone() }))
        }
        place => is_field(place, name, field).then(|| base.clone()),
    }
}

fn is_field(place: &Expr, name: &syn::Ident, field: &str) -> bool {
    let Expr::Field(place) = place else { return false };
    let is_of = matches!(&*place.base, Expr::Path(path) if path.path.is_ident(name));
    is_of && place.member.to_token_stream().to_string() == field
}

/// What the literal of the `let` gives the field.
fn literal_value<'s>(stmt: &'s mut Stmt, field: &str) -> Option<&'s mut Expr> {
    let Stmt::Local(syn::Local { init: Some(init), .. }) = stmt else { return None };
    let Expr::Struct(literal) = &mut *init.expr else { return None };
    let mut fields = literal.fields.iter_mut();
    fields.find(|value| value.member.to_token_stream().to_string() == field).map(|value| &mut value.expr)
}
