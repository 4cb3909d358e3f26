//! Guards: Rust conditions, one by one, each of which asks about what was found.

use fx_front::diag::Code;
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::Expr;
use syn::visit::Visit;

use super::Resolver;
use crate::term::Kind;

impl Resolver<'_> {
    /// The conditions of a guard, each with the captures that it mentions.
    pub(crate) fn guards(&mut self, guard: Option<&Expr>) -> Option<Vec<(Expr, Vec<usize>)>> {
        let Some(guard) = guard else { return Some(Vec::new()) };
        let mut conditions = Vec::new();
        split(guard, &mut conditions);
        let mut guards = Vec::new();
        for condition in conditions {
            let used = self.mentioned(condition);
            if used.is_empty() {
                self.check_names(condition)?;
                let help = "ask about a capture: `is_freeze_time(w)`, `conv.users() == 1`";
                self.faults.push(Code::EmptyGuard, condition, "the guard asks nothing about what was found", help);
                return None;
            }
            self.check_names(condition)?;
            self.check_freeze_time(condition)?;
            guards.push((condition.clone(), used));
        }
        Some(guards)
    }

    /// The captures that Rust code mentions; they count as used.
    pub(crate) fn mentioned(&mut self, expr: &Expr) -> Vec<usize> {
        let mut names = Vec::new();
        idents(expr.to_token_stream(), &mut names);
        let slots: Vec<usize> =
            (0..self.captures.len()).filter(|&slot| names.contains(&self.captures[slot].name.to_string())).collect();
        for &slot in &slots {
            self.captures[slot].used += 1;
        }
        slots
    }

    /// A bare name in a guard is a capture.
    fn check_names(&mut self, condition: &Expr) -> Option<()> {
        struct Names(Vec<Ident>, bool);
        impl<'ast> Visit<'ast> for Names {
            fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
                let name = path.path.get_ident().filter(|name| name.to_string().starts_with(char::is_lowercase));
                self.0.extend(name.cloned());
            }
            fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
                call.args.iter().for_each(|arg| self.visit_expr(arg));
            }
            fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {
                self.1 = true;
            }
            fn visit_block(&mut self, _: &'ast syn::Block) {
                self.1 = true;
            }
            fn visit_expr_let(&mut self, _: &'ast syn::ExprLet) {
                self.1 = true;
            }
        }
        let mut names = Names(Vec::new(), false);
        names.visit_expr(condition);
        // Names that the guard itself binds are rustc's to judge.
        if names.1 {
            return Some(());
        }
        for name in names.0 {
            self.slot(&name)?;
        }
        Some(())
    }

    /// Fields of a layer are known when the model is there, which is not now.
    fn check_freeze_time(&mut self, condition: &Expr) -> Option<()> {
        struct Fields(Vec<syn::ExprField>);
        impl<'ast> Visit<'ast> for Fields {
            fn visit_expr_field(&mut self, field: &'ast syn::ExprField) {
                self.0.push(field.clone());
            }
        }
        let mut fields = Fields(Vec::new());
        fields.visit_expr(condition);
        for field in fields.0 {
            let mut base = &*field.base;
            while let Expr::Field(inner) = base {
                base = &inner.base;
            }
            let Expr::Path(path) = base else { continue };
            let slot = path.path.get_ident().and_then(|name| self.slot_of(name));
            if let Some(slot) = slot
                && matches!(self.captures[slot].kind, Kind::Module(_))
            {
                let name = &self.captures[slot].name;
                let message = format!("what the layer `{name}` holds is not known at build time");
                let help = "put the question into the replacement, where it is asked of the live model";
                self.faults.push(Code::FreezeTimeGuard, &field, &message, help);
                return None;
            }
        }
        Some(())
    }
}

/// The parts of `a && b && c`.
fn split<'e>(guard: &'e Expr, out: &mut Vec<&'e Expr>) {
    match guard {
        Expr::Binary(binary) if matches!(binary.op, syn::BinOp::And(_)) => {
            split(&binary.left, out);
            split(&binary.right, out);
        }
        Expr::Paren(inner) if matches!(&*inner.expr, Expr::Binary(binary) if matches!(binary.op, syn::BinOp::And(_))) =>
        {
            split(&inner.expr, out);
        }
        one => out.push(one),
    }
}

/// Every name that is no field and no method.
pub(crate) fn idents(tokens: TokenStream, out: &mut Vec<String>) {
    let mut after_dot = false;
    for token in tokens {
        match token {
            TokenTree::Ident(name) if !after_dot => out.push(name.to_string()),
            TokenTree::Group(group) => idents(group.stream(), out),
            TokenTree::Punct(sign) => {
                after_dot = sign.as_char() == '.';
                continue;
            }
            _ => {}
        }
        after_dot = false;
    }
}
