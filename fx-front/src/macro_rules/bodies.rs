//! Calls of the crate's macros in the body of a function, as what they stand for.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};

use super::{MacroRules, groups::InBrackets, hygiene::Hygiene};
use crate::pattern::bound;
use crate::syntax::{add_words, macro_operands};

/// How deep expansions may stand in each other, as for rustc one beside the other in a recursion.
const DEPTH: usize = 64;
/// How many calls of a function are expanded.
const CALLS: usize = 1000;

/// The macros that a body can call.
pub(crate) trait Macros {
    /// The macro of the crate that a path means where the body stands.
    fn find(&self, path: &syn::Path) -> Option<Rc<MacroRules>>;
}

/// A body, and what its function declares.
pub(crate) struct Body<'m> {
    macros: &'m dyn Macros,
    /// The macros that the body declares, as far as they are in scope.
    inside: Vec<Declared>,
    /// What the parameters and the statements so far bind, of the open blocks.
    scope: BTreeSet<String>,
    /// How often the function binds each name.
    bound: BTreeMap<String, usize>,
    /// All names that the function has.
    used: BTreeSet<String>,
    depth: usize,
    calls: usize,
}

/// A macro, and the variables of the function that it can mean: those in scope where a body declares it.
#[derive(Clone)]
struct Declared {
    rules: Rc<MacroRules>,
    scope: BTreeSet<String>,
}

impl Body<'_> {
    /// Writes in the body of a function what calls of the crate's macros stand for.
    pub(crate) fn expand(macros: &dyn Macros, sig: &syn::Signature, block: &mut syn::Block) {
        let mut names = Names { macros, bound: BTreeMap::new() };
        names.visit_signature(sig);
        names.visit_block(block);
        let mut used = BTreeSet::new();
        add_words(block.to_token_stream(), &mut used);
        add_words(sig.to_token_stream(), &mut used);
        let scope = sig.inputs.iter().filter_map(|input| match input {
            syn::FnArg::Typed(typed) => Some(bound(&typed.pat)),
            syn::FnArg::Receiver(_) => None,
        });
        let scope = scope.flatten().collect();
        let mut body = Body { macros, inside: Vec::new(), scope, bound: names.bound, used, depth: 0, calls: 0 };
        body.visit_block_mut(block);
        if body.calls > 0 {
            InBrackets.visit_block_mut(block);
        }
    }

    fn find(&self, path: &syn::Path) -> Option<Declared> {
        let inside = self.inside.iter().rev().find(|known| path.is_ident(&known.rules.name));
        let of_crate = || self.macros.find(path).map(|rules| Declared { rules, scope: BTreeSet::new() });
        inside.cloned().or_else(of_crate)
    }

    /// What the call stands for, parsed as `parse` does, with names that the function does not have for its own variables.
    fn expansion<T>(
        &mut self,
        mac: &syn::Macro,
        parse: impl FnOnce(ParseStream) -> syn::Result<T>,
        (visit, count): (impl FnOnce(&mut Hygiene<'_>, &mut T), impl FnOnce(&mut Names<'_>, &T)),
    ) -> Option<T> {
        let Declared { rules, scope } = self.find(&mac.path)?;
        if self.depth >= DEPTH || self.calls >= CALLS {
            return None;
        }
        let (tokens, formatted) = rules.expanded(mac.tokens.clone(), mac.path.span())?;
        let mut expansion = parse.parse2(tokens).ok()?;
        let mut used = self.used.clone();
        let mut hygiene = Hygiene::new(&mut used);
        visit(&mut hygiene, &mut expansion);
        let Hygiene { own, mut free, has_items, .. } = hygiene;
        free.extend(formatted.iter().cloned());
        // A variable of the caller's is not what the macro means, unless it is the only one of the name, and in scope there.
        let times = |name: &String| self.bound.get(name).copied().unwrap_or(0);
        let is_other = free.iter().any(|name| times(name) > usize::from(scope.contains(name)));
        let is_shown = formatted.iter().any(|name| own.contains_key(name));
        if has_items || is_other || is_shown {
            return None;
        }
        (self.used, self.calls) = (used, self.calls + 1);
        let mut names = Names { macros: self.macros, bound: std::mem::take(&mut self.bound) };
        count(&mut names, &expansion);
        self.bound = names.bound;
        Some(expansion)
    }

    fn as_expr(&mut self, mac: &syn::Macro) -> Option<syn::Expr> {
        let parse = |input: ParseStream| {
            let expr: syn::Expr = input.parse()?;
            input.parse::<Option<syn::Token![;]>>()?;
            Ok(expr)
        };
        let visits = (
            |hygiene: &mut Hygiene<'_>, expr: &mut syn::Expr| hygiene.visit_expr_mut(expr),
            |names: &mut Names<'_>, expr: &syn::Expr| names.visit_expr(expr),
        );
        self.expansion(mac, parse, visits)
    }

    fn as_stmts(&mut self, call: &syn::StmtMacro, is_last: bool) -> Option<Vec<syn::Stmt>> {
        if !call.attrs.is_empty() {
            return None;
        }
        let visits = (
            |hygiene: &mut Hygiene<'_>, stmts: &mut Vec<syn::Stmt>| {
                for stmt in stmts {
                    hygiene.visit_stmt_mut(stmt);
                }
            },
            |names: &mut Names<'_>, stmts: &Vec<syn::Stmt>| stmts.iter().for_each(|stmt| names.visit_stmt(stmt)),
        );
        let mut stmts = self.expansion(&call.mac, syn::Block::parse_within, visits)?;
        let semicolon = call.semi_token.or_else(|| (!is_last).then(Default::default));
        match stmts.last_mut() {
            Some(syn::Stmt::Expr(_, semi @ None)) => *semi = semicolon,
            Some(syn::Stmt::Macro(last)) if last.semi_token.is_none() => last.semi_token = semicolon,
            _ => {}
        }
        Some(stmts)
    }

    /// Visits what was expanded, which may call macros itself.
    fn within(&mut self, visit: impl FnOnce(&mut Self)) {
        self.depth += 1;
        visit(self);
        self.depth -= 1;
    }

    fn statements(&mut self, stmts: Vec<syn::Stmt>) -> Vec<syn::Stmt> {
        let (mut out, count) = (Vec::new(), stmts.len());
        for (at, mut stmt) in stmts.into_iter().enumerate() {
            let expanded = match &stmt {
                syn::Stmt::Macro(call) => self.as_stmts(call, at + 1 == count),
                // At the end of a block it may be statements as well.
                syn::Stmt::Expr(syn::Expr::Macro(syn::ExprMacro { attrs, mac }), None) if at + 1 == count => {
                    self.as_stmts(&syn::StmtMacro { attrs: attrs.clone(), mac: mac.clone(), semi_token: None }, true)
                }
                _ => None,
            };
            if let Some(expanded) = expanded {
                self.within(|body| out.extend(body.statements(expanded)));
                continue;
            }
            if let syn::Stmt::Item(syn::Item::Macro(item)) = &stmt {
                let scope = self.scope.clone();
                self.inside.extend(MacroRules::of(item).map(|rules| Declared { rules: Rc::new(rules), scope }));
            }
            self.visit_stmt_mut(&mut stmt);
            if let syn::Stmt::Local(local) = &stmt {
                self.scope.extend(bound(&local.pat));
            }
            out.push(stmt);
        }
        out
    }

    /// The tokens of a macro of the standard library with the calls in them as what they stand for.
    fn in_tokens(&mut self, tokens: TokenStream) -> TokenStream {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let (mut out, mut at) = (TokenStream::new(), 0);
        while let Some(token) = tokens.get(at) {
            let call = match (token, tokens.get(at + 1), tokens.get(at + 2)) {
                (TokenTree::Ident(_), Some(TokenTree::Punct(sign)), Some(TokenTree::Group(_)))
                    if sign.as_char() == '!' =>
                {
                    syn::parse2::<syn::ExprMacro>(tokens[at..at + 3].iter().cloned().collect()).ok()
                }
                _ => None,
            };
            if let Some(mut expr) = call.and_then(|call| self.as_expr(&call.mac)) {
                self.within(|body| body.visit_expr_mut(&mut expr));
                let mut whole = Group::new(Delimiter::None, expr.into_token_stream());
                whole.set_span(token.span());
                out.extend([TokenTree::Group(whole)]);
                at += 3;
                continue;
            }
            out.extend([match token {
                TokenTree::Group(group) => {
                    let mut inner = Group::new(group.delimiter(), self.in_tokens(group.stream()));
                    inner.set_span(group.span());
                    TokenTree::Group(inner)
                }
                other => other.clone(),
            }]);
            at += 1;
        }
        out
    }
}

impl VisitMut for Body<'_> {
    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        let (outer, scope) = (self.inside.len(), self.scope.clone());
        block.stmts = self.statements(std::mem::take(&mut block.stmts));
        self.scope = scope;
        for known in self.inside.split_off(outer) {
            without_unused(&mut block.stmts, &known.rules.name);
        }
    }

    fn visit_expr_mut(&mut self, expr: &mut syn::Expr) {
        let expanded = match expr {
            syn::Expr::Macro(call) if call.attrs.is_empty() => self.as_expr(&call.mac),
            _ => None,
        };
        match expanded {
            Some(expanded) => {
                *expr = in_group(expanded);
                self.within(|body| body.visit_expr_mut(expr));
            }
            None => visit_mut::visit_expr_mut(self, expr),
        }
    }

    fn visit_macro_mut(&mut self, mac: &mut syn::Macro) {
        if mac.path.segments.last().is_some_and(|last| takes_expressions(&last.ident.to_string())) {
            mac.tokens = self.in_tokens(std::mem::take(&mut mac.tokens));
        }
    }

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}

/// How often patterns bind each name.
struct Names<'m> {
    macros: &'m dyn Macros,
    bound: BTreeMap<String, usize>,
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_pat_ident(&mut self, pat: &'ast syn::PatIdent) {
        *self.bound.entry(pat.ident.to_string()).or_default() += 1;
        visit::visit_pat_ident(self, pat);
    }

    fn visit_item(&mut self, _: &'ast syn::Item) {}

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        let operands = macro_operands(mac);
        let takes_expressions = mac.path.segments.last().is_some_and(|last| takes_expressions(&last.ident.to_string()));
        if self.macros.find(&mac.path).is_some() {
            return;
        }
        if takes_expressions && (!operands.is_empty() || mac.tokens.is_empty()) {
            return operands.iter().for_each(|operand| Names::visit_expr(self, operand));
        }
        // Of another macro it cannot be told what it binds and what it reads.
        let mut mentioned = BTreeSet::new();
        add_words(mac.tokens.clone(), &mut mentioned);
        for name in mentioned {
            *self.bound.entry(name).or_default() += 1;
        }
    }
}

/// Whether it is a macro of the standard library, or one that is used like those, of which the tokens are expressions.
pub(crate) fn takes_expressions(name: &str) -> bool {
    #[rustfmt::skip]
    let known = [
        "vec", "assert", "assert_eq", "assert_ne", "debug_assert", "debug_assert_eq", "debug_assert_ne", "print", "println",
        "eprint", "eprintln", "format", "write", "writeln", "panic", "unreachable", "todo", "unimplemented", "matches", "bail",
        "ensure", "anyhow", "trace", "debug", "info", "warn", "error",
    ];
    known.contains(&name)
}

/// Takes the declaration of the macro out where nothing calls it any more.
fn without_unused(stmts: &mut Vec<syn::Stmt>, name: &str) {
    let is_it = |stmt: &syn::Stmt| match stmt {
        syn::Stmt::Item(syn::Item::Macro(item)) => item.ident.as_ref().is_some_and(|ident| ident == name),
        _ => false,
    };
    let mut left = BTreeSet::new();
    stmts.iter().filter(|stmt| !is_it(stmt)).for_each(|stmt| add_words(stmt.to_token_stream(), &mut left));
    if !left.contains(name) {
        stmts.retain(|stmt| !is_it(stmt));
    }
}

fn in_group(expr: syn::Expr) -> syn::Expr {
    let group_token = syn::token::Group { span: expr.span() };
    syn::Expr::Group(syn::ExprGroup { attrs: Vec::new(), group_token, expr: Box::new(expr) })
}
