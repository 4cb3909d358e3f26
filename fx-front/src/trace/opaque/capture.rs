//! The tokens of opaque code: rewritten so that they mean the same in the generated function.
//!
//! `self.fc` becomes `(*self_fc)`, `Self` the model's type, and a variable that can only be reached where it is a
//! placeholder for that place.

use crate::syntax::{bound_names, format_names, is_compound, names_of};
use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit::Visit;
use syn::visit_mut::VisitMut;

/// What opaque code mentions.
#[derive(Default)]
pub(in crate::trace) struct Capture {
    /// Variables that it gets as variables of its own.
    pub(in crate::trace) variables: BTreeSet<String>,
    /// Variables that it reaches where they are, in the order of their placeholders.
    pub(in crate::trace) places: Vec<String>,
    /// Those among both that stand inside of a format string.
    pub(in crate::trace) formatted: BTreeSet<String>,
    /// Fields of the receiver.
    pub(in crate::trace) fields: BTreeSet<String>,
    /// Whether the receiver itself is mentioned.
    pub(in crate::trace) whole_self: bool,
    owner: Option<TokenStream>,
}

/// What a name is to the code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::trace) enum Mention {
    /// No variable.
    None,
    /// A variable that can be copied or shared.
    Variable,
    /// A variable that can only be reached where it is.
    Place,
}

type Lookup<'l> = &'l dyn Fn(&str) -> Mention;

impl Capture {
    /// The tokens of the expression, rewritten.
    pub(in crate::trace) fn rewrite(
        &mut self,
        expr: &syn::Expr,
        owner: Option<TokenStream>,
        lookup: Lookup<'_>,
    ) -> TokenStream {
        self.owner = owner;
        let mut expr = expr.clone();
        Explicit.visit_expr_mut(&mut expr);
        self.rewrite_tokens(expr.to_token_stream(), lookup)
    }

    /// What stands for the place of that position until the place is known.
    pub(in crate::trace) fn placeholder(position: usize) -> String {
        format!("fx_place_{position}_")
    }

    fn rewrite_tokens(&mut self, tokens: TokenStream, lookup: Lookup<'_>) -> TokenStream {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut out = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            at += self.token(&tokens, at, lookup, &mut out);
        }
        out.into_iter().collect()
    }

    /// Takes the tokens from `at` on that belong together; yields how many.
    fn token(&mut self, all: &[TokenTree], at: usize, lookup: Lookup<'_>, out: &mut Vec<TokenTree>) -> usize {
        match &all[at] {
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), self.rewrite_tokens(group.stream(), lookup));
                inner.set_span(group.span());
                out.push(TokenTree::Group(inner));
            }
            TokenTree::Ident(ident) if ident == "self" => return self.rewrite_receiver(all, at, out),
            TokenTree::Ident(ident) if ident == "Self" && self.owner.is_some() => {
                let owner = self.owner.clone().unwrap_or_default();
                let is_path = all.get(at + 1).is_some_and(is_colon);
                out.extend(if is_path { quote::quote!(<#owner>) } else { owner });
            }
            TokenTree::Ident(ident) => out.push(TokenTree::Ident(self.name(ident, all, at, lookup))),
            TokenTree::Literal(literal) => {
                self.inline_format(&literal.to_string(), lookup);
                out.push(all[at].clone());
            }
            TokenTree::Punct(_) => out.push(all[at].clone()),
        }
        1
    }

    fn name(&mut self, ident: &Ident, all: &[TokenTree], at: usize, lookup: Lookup<'_>) -> Ident {
        let name = ident.to_string();
        let is_member = at > 0 && is_dot(&all[at - 1]) && !(at > 1 && is_dot(&all[at - 2]));
        let is_path = all.get(at + 1).is_some_and(is_colon) && all.get(at + 2).is_some_and(is_colon);
        let is_label = all.get(at + 1).is_some_and(is_colon) && !is_path;
        // A path may begin with a parameter of the function that is inlined.
        let is_generic = is_path && matches!(lookup(&name), Mention::Place);
        if is_member || is_label || is_path && !is_generic {
            return ident.clone();
        }
        match lookup(&name) {
            Mention::None => ident.clone(),
            Mention::Variable => {
                self.variables.insert(name);
                ident.clone()
            }
            Mention::Place => Ident::new(&Self::placeholder(self.place(name)), ident.span()),
        }
    }

    fn place(&mut self, name: String) -> usize {
        self.places.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.places.push(name);
            self.places.len() - 1
        })
    }

    fn rewrite_receiver(&mut self, all: &[TokenTree], at: usize, out: &mut Vec<TokenTree>) -> usize {
        let field = match (all.get(at + 1), all.get(at + 2), all.get(at + 3)) {
            (_, Some(_), Some(TokenTree::Group(group))) if group.delimiter() == Delimiter::Parenthesis => None,
            (_, Some(_), Some(colon)) if is_colon(colon) => None,
            (Some(dot), Some(TokenTree::Ident(name)), _) if is_dot(dot) => Some(name.to_string()),
            (Some(dot), Some(TokenTree::Literal(index)), _) if is_dot(dot) => Some(index.to_string()),
            _ => None,
        };
        let span = all[at].span();
        if let Some(name) = field {
            // The place, not a reference to it: `&self.fc` stays a `&Linear`.
            let reference = Ident::new(&format!("self_{}", name.trim_start_matches("r#")), span);
            out.push(TokenTree::Group(Group::new(Delimiter::Parenthesis, quote::quote!(*#reference))));
            self.fields.insert(name);
            return 3;
        }
        self.whole_self = true;
        out.push(TokenTree::Ident(Ident::new("this", span)));
        1
    }

    /// `"{x}"` mentions `x`.
    fn inline_format(&mut self, literal: &str, lookup: Lookup<'_>) {
        for name in format_names(literal) {
            match lookup(name) {
                Mention::None => continue,
                Mention::Variable => _ = self.variables.insert(name.to_owned()),
                Mention::Place => _ = self.place(name.to_owned()),
            }
            self.formatted.insert(name.to_owned());
        }
    }
}

/// `Point { x }` as `Point { x: x }`, so that the value can be another expression.
struct Explicit;

impl VisitMut for Explicit {
    fn visit_field_value_mut(&mut self, field: &mut syn::FieldValue) {
        field.colon_token.get_or_insert_with(|| syn::Token![:](Span::call_site()));
        syn::visit_mut::visit_field_value_mut(self, field);
    }
}

/// The code with a second handle where it moves one of these tensors, which it has to hand back when it is done: variables
/// by their names, parts of tuples by the variable's name and their positions (`x.0`).
pub(in crate::trace) fn with_handles(expr: &syn::Expr, names: BTreeSet<String>) -> syn::Expr {
    let mut expr = expr.clone();
    if !names.is_empty() {
        Handles(names).visit_expr_mut(&mut expr);
    }
    expr
}

/// The variables of which the code moves a part (`x.0`, as a value), tensors of the first list left out.
pub(in crate::trace) fn moved_parts(expr: &syn::Expr, names: &[String]) -> BTreeSet<(String, usize)> {
    let mut parts = Parts { names, found: BTreeSet::new() };
    parts.visit_expr(expr);
    parts.found
}

struct Parts<'n> {
    names: &'n [String],
    found: BTreeSet<(String, usize)>,
}

impl Parts<'_> {
    /// What is looked at or written where it is.
    fn place(&mut self, expr: &syn::Expr) {
        if !matches!(expr, syn::Expr::Field(_)) {
            self.visit_expr(expr);
        }
    }
}

impl<'ast> Visit<'ast> for Parts<'_> {
    fn visit_expr(&mut self, expr: &'ast syn::Expr) {
        match expr {
            syn::Expr::Field(syn::ExprField { base, member: syn::Member::Unnamed(index), .. }) => {
                if let syn::Expr::Path(path) = &**base
                    && let Some(name) = path.path.get_ident().map(ToString::to_string)
                    && self.names.contains(&name)
                {
                    self.found.insert((name, index.index as usize));
                }
            }
            syn::Expr::MethodCall(call) => {
                self.place(&call.receiver);
                call.args.iter().for_each(|arg| self.visit_expr(arg));
            }
            syn::Expr::Reference(borrowed) => self.place(&borrowed.expr),
            syn::Expr::Field(field) => self.place(&field.base),
            syn::Expr::Assign(assign) => {
                self.place(&assign.left);
                self.visit_expr(&assign.right);
            }
            other => syn::visit::visit_expr(self, other),
        }
    }
}

struct Handles(BTreeSet<String>);

impl Handles {
    fn is_one(&self, expr: &syn::Expr) -> bool {
        let named = |expr: &syn::Expr| match expr {
            syn::Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
            _ => None,
        };
        let name = match expr {
            syn::Expr::Field(syn::ExprField { base, member: syn::Member::Unnamed(index), .. }) => {
                named(base).map(|base| format!("{base}.{}", index.index))
            }
            other => named(other),
        };
        name.is_some_and(|name| self.0.contains(&name))
    }

    /// Visits code in which these names stand for other variables.
    fn within(&mut self, bound: &BTreeSet<String>, visit: impl FnOnce(&mut Self)) {
        let outer = self.0.clone();
        self.hide(bound);
        visit(self);
        self.0 = outer;
    }

    fn hide(&mut self, bound: &BTreeSet<String>) {
        self.0.retain(|name| !bound.contains(name.split('.').next().unwrap_or(name)));
    }

    /// What is looked at or written where it is.
    fn place(&mut self, expr: &mut syn::Expr) {
        if !self.is_one(expr) {
            self.visit_expr_mut(expr);
        }
    }
}

impl VisitMut for Handles {
    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        let outer = self.0.clone();
        for stmt in &mut block.stmts {
            self.visit_stmt_mut(stmt);
            if let syn::Stmt::Local(local) = stmt {
                self.hide(&names_of(&local.pat));
            }
        }
        self.0 = outer;
    }

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        self.within(&names_of(&arm.pat), |inner| {
            if let Some((_, guard)) = &mut arm.guard {
                inner.visit_expr_mut(guard);
            }
            inner.visit_expr_mut(&mut arm.body);
        });
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
        let bound = closure.inputs.iter().flat_map(names_of).collect();
        self.within(&bound, |inner| inner.visit_expr_mut(&mut closure.body));
    }

    fn visit_expr_for_loop_mut(&mut self, each: &mut syn::ExprForLoop) {
        self.visit_expr_mut(&mut each.expr);
        self.within(&names_of(&each.pat), |inner| inner.visit_block_mut(&mut each.body));
    }

    fn visit_expr_if_mut(&mut self, branch: &mut syn::ExprIf) {
        self.visit_expr_mut(&mut branch.cond);
        self.within(&bound_names(&branch.cond), |inner| inner.visit_block_mut(&mut branch.then_branch));
        if let Some((_, otherwise)) = &mut branch.else_branch {
            self.visit_expr_mut(otherwise);
        }
    }

    fn visit_expr_while_mut(&mut self, each: &mut syn::ExprWhile) {
        self.visit_expr_mut(&mut each.cond);
        self.within(&bound_names(&each.cond), |inner| inner.visit_block_mut(&mut each.body));
    }

    fn visit_expr_mut(&mut self, expr: &mut syn::Expr) {
        match expr {
            moved if self.is_one(moved) => *moved = syn::parse_quote!(#moved.shallow_clone()),
            syn::Expr::MethodCall(call) => {
                self.place(&mut call.receiver);
                call.args.iter_mut().for_each(|arg| self.visit_expr_mut(arg));
            }
            syn::Expr::Reference(borrowed) => self.place(&mut borrowed.expr),
            syn::Expr::Field(field) => self.place(&mut field.base),
            syn::Expr::Index(index) => {
                self.place(&mut index.expr);
                self.visit_expr_mut(&mut index.index);
            }
            syn::Expr::Assign(assign) if !matches!(*assign.left, syn::Expr::Tuple(_)) => {
                self.place(&mut assign.left);
                self.visit_expr_mut(&mut assign.right);
            }
            syn::Expr::Assign(assign) => self.visit_expr_mut(&mut assign.right),
            syn::Expr::Binary(binary) if is_compound(&binary.op) => {
                self.place(&mut binary.left);
                self.visit_expr_mut(&mut binary.right);
            }
            other => syn::visit_mut::visit_expr_mut(self, other),
        }
    }
}

fn is_dot(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == '.')
}

fn is_colon(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':')
}
