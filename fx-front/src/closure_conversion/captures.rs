//! What a closure captures, and its body with `self.conv` for a captured `conv`.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::visit_mut::{self, VisitMut};

use crate::syntax::format_names;

/// The closure's body with every captured variable as a field of `self`, and the names of those variables; `Err` names
/// one that stands in a macro, where it cannot be replaced.
pub(crate) fn rewritten(closure: &syn::ExprClosure, locals: &[String]) -> Result<(syn::Expr, Vec<String>), String> {
    let mut rewrite = Rewrite { locals, hidden: vec![BTreeSet::new()], found: BTreeSet::new(), lost: None };
    for input in &closure.inputs {
        rewrite.hide(input);
    }
    let mut body = (*closure.body).clone();
    rewrite.visit_expr_mut(&mut body);
    match rewrite.lost {
        Some(name) => Err(name),
        None => Ok((body, locals.iter().filter(|name| rewrite.found.contains(*name)).cloned().collect())),
    }
}

/// Those of the names that the code binds wherever it mentions them.
pub(crate) fn never_captured(code: &syn::Expr, names: &BTreeSet<String>) -> BTreeSet<String> {
    let whole: syn::ExprClosure = syn::parse_quote!(|| #code);
    let is_own = |name: &String| rewritten(&whole, std::slice::from_ref(name)).is_ok_and(|(_, found)| found.is_empty());
    names.iter().filter(|name| is_own(name)).cloned().collect()
}

struct Rewrite<'l> {
    locals: &'l [String],
    /// Names that the closure itself binds, innermost scope last.
    hidden: Vec<BTreeSet<String>>,
    found: BTreeSet<String>,
    lost: Option<String>,
}

impl Rewrite<'_> {
    fn hide(&mut self, pat: &syn::Pat) {
        let names = crate::pattern::bound(pat);
        if let Some(scope) = self.hidden.last_mut() {
            scope.extend(names);
        }
    }

    fn is_captured(&self, name: &str) -> bool {
        self.locals.iter().any(|local| local == name) && !self.hidden.iter().any(|scope| scope.contains(name))
    }

    fn scoped(&mut self, run: impl FnOnce(&mut Self)) {
        self.hidden.push(BTreeSet::new());
        run(self);
        self.hidden.pop();
    }

    /// A macro whose arguments are expressions is looked into; in another nothing captured may stand.
    fn macro_tokens(&mut self, tokens: &mut TokenStream) {
        let parse = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        if let Ok(mut args) = syn::parse::Parser::parse2(parse, tokens.clone()) {
            args.iter_mut().for_each(|arg| self.visit_expr_mut(arg));
            *tokens = args.to_token_stream();
        }
        self.look_for_lost(tokens);
    }

    fn look_for_lost(&mut self, tokens: &TokenStream) {
        let mut after_dot = false;
        for token in tokens.clone() {
            match &token {
                TokenTree::Group(group) => self.look_for_lost(&group.stream()),
                TokenTree::Ident(name) if !after_dot && self.is_captured(&name.to_string()) => {
                    self.lost = Some(name.to_string());
                }
                TokenTree::Literal(text) => {
                    let text = text.to_string();
                    let inline = format_names(&text).find(|name| self.is_captured(name));
                    self.lost = inline.map(str::to_owned).or(self.lost.take());
                }
                _ => {}
            }
            after_dot = matches!(&token, TokenTree::Punct(dot) if dot.as_char() == '.');
        }
    }
}

impl VisitMut for Rewrite<'_> {
    fn visit_expr_mut(&mut self, expr: &mut syn::Expr) {
        if let syn::Expr::Path(path) = expr
            && let Some(name) = path.path.get_ident().cloned()
            && self.is_captured(&name.to_string())
        {
            self.found.insert(name.to_string());
            let field = syn::parse2(quote_spanned!(name.span()=> self.#name));
            *expr = field.unwrap_or_else(|_| expr.clone());
            return;
        }
        visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_field_value_mut(&mut self, field: &mut syn::FieldValue) {
        field.colon_token.get_or_insert_with(Default::default);
        visit_mut::visit_field_value_mut(self, field);
    }

    fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
        self.macro_tokens(&mut call.tokens);
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        self.scoped(|rewrite| visit_mut::visit_block_mut(rewrite, block));
    }

    fn visit_local_mut(&mut self, local: &mut syn::Local) {
        if let Some(init) = &mut local.init {
            self.visit_local_init_mut(init);
        }
        self.hide(&local.pat);
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
        self.scoped(|rewrite| {
            closure.inputs.iter().for_each(|input| rewrite.hide(input));
            rewrite.visit_expr_mut(&mut closure.body);
        });
    }

    fn visit_expr_for_loop_mut(&mut self, each: &mut syn::ExprForLoop) {
        self.visit_expr_mut(&mut each.expr);
        self.scoped(|rewrite| {
            rewrite.hide(&each.pat);
            rewrite.visit_block_mut(&mut each.body);
        });
    }

    fn visit_expr_if_mut(&mut self, branch: &mut syn::ExprIf) {
        self.scoped(|rewrite| {
            rewrite.visit_expr_mut(&mut branch.cond);
            rewrite.visit_block_mut(&mut branch.then_branch);
        });
        if let Some((_, other)) = &mut branch.else_branch {
            self.visit_expr_mut(other);
        }
    }

    fn visit_expr_while_mut(&mut self, each: &mut syn::ExprWhile) {
        self.scoped(|rewrite| visit_mut::visit_expr_while_mut(rewrite, each));
    }

    fn visit_expr_let_mut(&mut self, condition: &mut syn::ExprLet) {
        self.visit_expr_mut(&mut condition.expr);
        self.hide(&condition.pat);
    }

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        self.scoped(|rewrite| {
            rewrite.hide(&arm.pat);
            visit_mut::visit_arm_mut(rewrite, arm);
        });
    }

    fn visit_pat_mut(&mut self, _: &mut syn::Pat) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(closure: &str, want: &str, captured: &[&str]) {
        let closure: syn::ExprClosure = syn::parse_str(closure).expect("a closure");
        let locals = ["conv", "bn", "b1", "n"].map(str::to_owned);
        let (body, found) = rewritten(&closure, &locals).expect("nothing is lost");
        let want: syn::Expr = syn::parse_str(want).expect("an expression");
        assert_eq!(body.to_token_stream().to_string(), want.to_token_stream().to_string());
        assert_eq!(found, captured);
    }

    #[test]
    fn captured_variables_become_fields() {
        check(
            "|xs, train| xs.apply(&conv).apply_t(&bn, train)",
            "xs.apply(&self.conv).apply_t(&self.bn, train)",
            &["conv", "bn"],
        );
    }

    #[test]
    fn a_variable_of_the_closure_hides_the_captured_one_from_its_declaration_on() {
        check(
            "|xs| { let b1 = xs.apply(&b1); if n == 1 { let n = 2; b1 * n } else { b1 * n } }",
            "{ let b1 = xs.apply(&self.b1); if self.n == 1 { let n = 2; b1 * n } else { b1 * self.n } }",
            &["b1", "n"],
        );
        check("|conv| conv.map(|bn| bn + n)", "conv.map(|bn| bn + self.n)", &["n"]);
    }

    #[test]
    fn macros_are_looked_into() {
        check(
            "|xs| { assert!(n > 1); vec![xs.apply(&conv)] }",
            "{ assert!(self.n > 1); vec![xs.apply(&self.conv)] }",
            &["conv", "n"],
        );
        let closure: syn::ExprClosure = syn::parse_str("|xs| { println!(\"{n}\"); xs.relu() }").expect("a closure");
        assert_eq!(rewritten(&closure, &["n".to_owned()]).err().as_deref(), Some("n"));
    }
}
