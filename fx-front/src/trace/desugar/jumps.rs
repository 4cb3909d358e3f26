//! `break` and `continue` of a loop's own, as `if`s.
//!
//! `if c { continue } rest` is `if c {} else { rest }`. A `break` sets a flag under which the rest of the iteration and all
//! iterations after it do nothing, so that a loop over layers that may stop early is still a loop over layers.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::{Block, Expr, Stmt, parse_quote_spanned, spanned::Spanned, visit::Visit};

use crate::syntax::{enclosed::in_head, has_else, unused_name};
use crate::trace::{Result, desugar::returns::hides, unsupported};

/// A body without jumps.
pub(in crate::trace) struct Straight {
    pub(in crate::trace) body: Block,
    /// Whether it sets the flag.
    pub(in crate::trace) breaks: bool,
}

/// The body with its own jumps as `if`s; `None` where they stand in a place that is not understood.
pub(in crate::trace) fn straight(body: &Block, flag: &syn::Ident) -> Option<Straight> {
    let mut rewrite = Rewrite { flag, breaks: false, copies: 0 };
    let stmts = rewrite.statements(&body.stmts)?;
    Some(Straight { body: Block { brace_token: body.brace_token, stmts }, breaks: rewrite.breaks })
}

/// Whether the body has a `break` or `continue` of this loop.
pub(in crate::trace) fn jumps(body: &Block) -> bool {
    let mut find = Find { found: false };
    find.visit_block(body);
    find.found
}

struct Find {
    found: bool,
}

impl<'ast> Visit<'ast> for Find {
    // A jump with a label is out of a block in the loop: those of loops have none any more.
    fn visit_expr_break(&mut self, jump: &'ast syn::ExprBreak) {
        self.found |= jump.label.is_none();
        syn::visit::visit_expr_break(self, jump);
    }
    fn visit_expr_continue(&mut self, jump: &'ast syn::ExprContinue) {
        self.found |= jump.label.is_none();
    }
    fn visit_expr_for_loop(&mut self, _: &'ast syn::ExprForLoop) {}
    fn visit_expr_while(&mut self, _: &'ast syn::ExprWhile) {}
    fn visit_expr_loop(&mut self, _: &'ast syn::ExprLoop) {}
    fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
}

struct Rewrite<'f> {
    flag: &'f syn::Ident,
    breaks: bool,
    /// How often what follows an `if` was written twice.
    copies: u32,
}

impl Rewrite<'_> {
    fn statements(&mut self, stmts: &[Stmt]) -> Option<Vec<Stmt>> {
        let jumps = |stmt: &Stmt| {
            let mut find = Find { found: false };
            find.visit_stmt(stmt);
            find.found
        };
        let Some(at) = stmts.iter().position(jumps) else { return Some(stmts.to_vec()) };
        let (before, rest) = (stmts[..at].to_vec(), &stmts[at + 1..]);
        let is_let_else = matches!(&stmts[at], Stmt::Local(local) if has_else(local));
        if !is_let_else && hides(&stmts[at], rest, &|_| true) {
            return None;
        }
        let last = match &stmts[at] {
            Stmt::Expr(Expr::Continue(jump), _) if jump.label.is_none() => None,
            Stmt::Expr(Expr::Break(jump), _) if jump.label.is_none() && jump.expr.is_none() => {
                self.breaks = true;
                let flag = self.flag;
                Some(parse_quote_spanned!(jump.span()=> #flag = true;))
            }
            Stmt::Expr(Expr::If(branch), _) => Some(Stmt::Expr(self.branch(branch, rest)?, None)),
            Stmt::Expr(Expr::Match(choice), _) => Some(Stmt::Expr(self.choice(choice, None, rest)?, None)),
            Stmt::Expr(Expr::Block(block), _) if block.label.is_none() => {
                let stmts = self.continued(&block.block.stmts, rest)?;
                Some(parse_quote_spanned!(block.block.brace_token.span.open()=> { #(#stmts)* }))
            }
            Stmt::Local(local) => Some(Stmt::Expr(self.local(local, rest)?, None)),
            _ => return None,
        };
        Some(before.into_iter().chain(last).collect())
    }

    /// `if c { a } else { b } rest` as `if c { a rest } else { b rest }`, without the rest where it is not reached.
    fn branch(&mut self, branch: &syn::ExprIf, rest: &[Stmt]) -> Option<Expr> {
        let then = self.continued(&branch.then_branch.stmts, rest)?;
        let other = match &branch.else_branch {
            Some((_, other)) => match &**other {
                Expr::Block(block) => self.continued(&block.block.stmts, rest)?,
                nested => self.continued(&[Stmt::Expr(nested.clone(), None)], rest)?,
            },
            None => self.continued(&[], rest)?,
        };
        let cond = &branch.cond;
        Some(parse_quote_spanned!(branch.if_token.span=> if #cond { #(#then)* } else { #(#other)* }))
    }

    fn continued(&mut self, stmts: &[Stmt], rest: &[Stmt]) -> Option<Vec<Stmt>> {
        if leaves(stmts) {
            return self.statements(stmts);
        }
        self.copies += 1;
        if self.copies > 8 {
            return None;
        }
        let mut whole = stmts.to_vec();
        if let Some(Stmt::Expr(_, semi @ None)) = whole.last_mut() {
            *semi = Some(<syn::Token![;]>::default());
        }
        whole.extend_from_slice(rest);
        self.statements(&whole)
    }

    /// `match x { p => a, q => continue } rest` as `match x { p => { a; rest } q => {} }`; with `let y = ` in front of it
    /// what an arm evaluates to goes into `y`.
    fn choice(&mut self, choice: &syn::ExprMatch, target: Option<&syn::Pat>, rest: &[Stmt]) -> Option<Expr> {
        let mut choice = choice.clone();
        for arm in &mut choice.arms {
            let body = match (&*arm.body, target) {
                (Expr::Block(block), None) if block.label.is_none() => block.block.stmts.clone(),
                (body @ (Expr::Break(_) | Expr::Continue(_) | Expr::Return(_)), _) => {
                    vec![Stmt::Expr(body.clone(), Some(<syn::Token![;]>::default()))]
                }
                (Expr::Block(block), Some(_)) if leaves(&block.block.stmts) => block.block.stmts.clone(),
                (body, None) => vec![Stmt::Expr(body.clone(), Some(<syn::Token![;]>::default()))],
                (body, Some(target)) => vec![parse_quote_spanned!(body.span()=> let #target = #body;)],
            };
            let body = self.continued(&body, rest)?;
            *arm.body = parse_quote_spanned!(arm.body.span()=> { #(#body)* });
        }
        Some(Expr::Match(choice))
    }

    fn local(&mut self, local: &syn::Local, rest: &[Stmt]) -> Option<Expr> {
        let init = local.init.as_ref()?;
        match &*init.expr {
            Expr::Match(choice) if init.diverge.is_none() => self.choice(choice, Some(&local.pat), rest),
            _ => self.let_else(local, rest),
        }
    }

    /// `let pattern = value else { continue }; rest` as `if let pattern = value { rest } else {}`.
    fn let_else(&mut self, local: &syn::Local, rest: &[Stmt]) -> Option<Expr> {
        let init = local.init.as_ref()?;
        let (_, other) = init.diverge.as_ref()?;
        let Expr::Block(other) = &**other else { return None };
        let other = self.continued(&other.block.stmts, &[])?;
        let rest = self.statements(rest)?;
        let (pat, value) = (&local.pat, in_head(&init.expr));
        Some(parse_quote_spanned!(local.let_token.span=> if let #pat = #value { #(#rest)* } else { #(#other)* }))
    }
}

/// Whether the statements end in a jump.
fn leaves(stmts: &[Stmt]) -> bool {
    matches!(stmts.last(), Some(Stmt::Expr(Expr::Break(_) | Expr::Continue(_) | Expr::Return(_), _)))
}

/// The body of a loop without jumps, and the flag that a `break` of it sets.
pub(in crate::trace) fn without_jumps(each: &impl ToTokens, body: &syn::Block) -> Result<(syn::Block, Option<Ident>)> {
    if !jumps(body) {
        return Ok((body.clone(), None));
    }
    let flag = unused_name("stopped", each, body.brace_token.span.open());
    let Some(straight) = straight(body, &flag) else {
        return unsupported(body.brace_token.span.open(), "a `break` or `continue` of this form");
    };
    if !straight.breaks {
        return Ok((straight.body, None));
    }
    let inner = &straight.body;
    let guarded = parse_quote_spanned!(body.brace_token.span.open()=> { if !#flag #inner });
    Ok((guarded, Some(flag)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, want: &str, breaks: bool) {
        let body: Block = syn::parse_str(body).expect("a block");
        let want: Block = syn::parse_str(want).expect("a block");
        let found = straight(&body, &syn::Ident::new("done", proc_macro2::Span::call_site())).expect("understood");
        assert_eq!(found.body.to_token_stream().to_string(), want.to_token_stream().to_string());
        assert_eq!(found.breaks, breaks);
    }

    #[test]
    fn a_jump_is_an_if_around_the_rest() {
        check("{ if c { continue; } a(); }", "{ if c { } else { a(); } }", false);
        check("{ a(); if c { b(); break; } d(); }", "{ a(); if c { b(); done = true; } else { d(); } }", true);
        check(
            "{ let Some(x) = y else { continue }; if x { break } z(); }",
            "{ if let Some(x) = y { if x { done = true; } else { z(); } } else { } }",
            true,
        );
        check(
            "{ let x = match y { Some(x) => x, None => continue }; z(); }",
            "{ match y { Some(x) => { let x = x; z(); }, None => { } } }",
            false,
        );
        check("{ { a(); if c { continue; } } b(); }", "{ { a(); if c { } else { b(); } } }", false);
        check(
            "{ match y { A => a(), B => { b(); break; } } z(); }",
            "{ match y { A => { a(); z(); }, B => { b(); done = true; } } }",
            true,
        );
    }

    #[test]
    fn the_rest_sees_no_variable_of_a_branch() {
        let hidden = [
            "{ if c { let k = 1; if d { continue; } } a(k); }",
            "{ if let Some(k) = c { if d { continue; } } a(k); }",
            "{ match c { Some(k) => b(), None => continue } a(k); }",
            "{ { let k = 1; if d { continue; } } a(k); }",
        ];
        let done = syn::Ident::new("done", proc_macro2::Span::call_site());
        for body in hidden {
            let block: Block = syn::parse_str(body).expect("a block");
            assert!(straight(&block, &done).is_none(), "{body}");
        }
        check(
            "{ if c(|k| k) { for k in b { d(k); } continue; } a(k); }",
            "{ if c(|k| k) { for k in b { d(k); } } else { a(k); } }",
            false,
        );
    }

    #[test]
    fn jumps_of_inner_loops_are_their_own() {
        let body: Block = syn::parse_str("{ for x in y { break; } }").expect("a block");
        assert!(!jumps(&body));
    }
}
