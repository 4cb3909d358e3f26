//! Jumps with labels, and `return`s out of loops, as plain jumps and flags.
//!
//! ```text
//! 'outer: for a in x {                    for a in x {
//!     for b in y {                            let mut outer_breaks = false;
//!         if c { break 'outer; }      =>      for b in y { if c { outer_breaks = true; break; } }
//!     }                                       if outer_breaks { break; }
//!     rest                                    rest
//! }                                       }
//! ```
//!
//! A `return` out of a loop of an inlined function is a jump with a label, behind which the value waits.

use proc_macro2::Span;
use syn::{Block, Expr, Stmt, parse_quote_spanned, spanned::Spanned, visit::Visit, visit_mut::VisitMut};

use crate::syntax::unused_name;

/// The loop without jumps that bear its label, and without the label.
pub(in crate::trace) fn without_label<L: Loop>(each: &L) -> L {
    let mut each = each.clone();
    if let Some(label) = each.label().take() {
        let body = each.body();
        body.stmts = statements(&body.stmts, &label.name);
    }
    each
}

/// What the loops have in common.
pub(in crate::trace) trait Loop: Clone {
    fn label(&mut self) -> &mut Option<syn::Label>;
    fn body(&mut self) -> &mut Block;
}

macro_rules! loops {
    ($($ty:ident)+) => {
        $(impl Loop for syn::$ty {
            fn label(&mut self) -> &mut Option<syn::Label> {
                &mut self.label
            }
            fn body(&mut self) -> &mut Block {
                &mut self.body
            }
        })+
    };
}
loops!(ExprForLoop ExprWhile ExprLoop);

/// The statements of a loop's own body.
fn statements(stmts: &[Stmt], label: &syn::Lifetime) -> Vec<Stmt> {
    stmts.iter().flat_map(|stmt| statement(stmt, label)).collect()
}

fn statement(stmt: &Stmt, label: &syn::Lifetime) -> Vec<Stmt> {
    let mut find = Find { label, breaks: false, continues: false };
    find.visit_stmt(stmt);
    if !find.breaks && !find.continues {
        return vec![stmt.clone()];
    }
    let span = stmt.span();
    let mut stmt = stmt.clone();
    if !is_loop(&stmt) {
        Own { label }.visit_stmt_mut(&mut stmt);
        return vec![stmt];
    }
    let breaks = unused_name(&format!("{}_breaks", label.ident), &stmt, span);
    let continues = unused_name(&format!("{}_continues", label.ident), &stmt, span);
    Inner { label, breaks: &breaks, continues: &continues }.visit_stmt_mut(&mut stmt);
    let mut all = Vec::new();
    if find.breaks {
        all.push(parse_quote_spanned!(span=> let mut #breaks = false;));
    }
    if find.continues {
        all.push(parse_quote_spanned!(span=> let mut #continues = false;));
    }
    all.push(stmt);
    if find.breaks {
        all.push(parse_quote_spanned!(span=> if #breaks { break; }));
    }
    if find.continues {
        all.push(parse_quote_spanned!(span=> if #continues { continue; }));
    }
    all
}

pub(in crate::trace) fn is_loop(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Expr(Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_), _))
}

struct Find<'l> {
    label: &'l syn::Lifetime,
    breaks: bool,
    continues: bool,
}

impl<'ast> Visit<'ast> for Find<'_> {
    fn visit_expr_break(&mut self, jump: &'ast syn::ExprBreak) {
        self.breaks |= jump.label.as_ref() == Some(self.label);
    }
    fn visit_expr_continue(&mut self, jump: &'ast syn::ExprContinue) {
        self.continues |= jump.label.as_ref() == Some(self.label);
    }
    fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
}

/// Jumps at the loop's own level lose their label; loops inside of a block or of an `if` are seen to in their iteration.
struct Own<'l> {
    label: &'l syn::Lifetime,
}

impl VisitMut for Own<'_> {
    fn visit_expr_break_mut(&mut self, jump: &mut syn::ExprBreak) {
        jump.label.take_if(|label| label == self.label);
    }
    fn visit_expr_continue_mut(&mut self, jump: &mut syn::ExprContinue) {
        jump.label.take_if(|label| label == self.label);
    }
    fn visit_block_mut(&mut self, block: &mut Block) {
        block.stmts = statements(&block.stmts, self.label);
    }
    fn visit_expr_closure_mut(&mut self, _: &mut syn::ExprClosure) {}
}

/// Jumps out of a loop inside set a flag and leave that loop; what stands behind it asks for the flag.
struct Inner<'l> {
    label: &'l syn::Lifetime,
    breaks: &'l syn::Ident,
    continues: &'l syn::Ident,
}

impl VisitMut for Inner<'_> {
    fn visit_block_mut(&mut self, block: &mut Block) {
        let (breaks, continues) = (self.breaks, self.continues);
        let mut stmts = Vec::new();
        for mut stmt in std::mem::take(&mut block.stmts) {
            let span = stmt.span();
            let flag = match &stmt {
                Stmt::Expr(Expr::Break(jump), _) if jump.label.as_ref() == Some(self.label) => Some(breaks),
                Stmt::Expr(Expr::Continue(jump), _) if jump.label.as_ref() == Some(self.label) => Some(continues),
                _ => None,
            };
            if let Some(flag) = flag {
                stmts.push(parse_quote_spanned!(span=> #flag = true;));
                stmts.push(parse_quote_spanned!(span=> break;));
                continue;
            }
            let mut find = Find { label: self.label, breaks: false, continues: false };
            find.visit_stmt(&stmt);
            let leaves = is_loop(&stmt) && (find.breaks || find.continues);
            self.visit_stmt_mut(&mut stmt);
            stmts.push(stmt);
            if leaves && find.breaks {
                stmts.push(parse_quote_spanned!(span=> if #breaks { break; }));
            }
            if leaves && find.continues {
                stmts.push(parse_quote_spanned!(span=> if #continues { break; }));
            }
        }
        block.stmts = stmts;
    }
    fn visit_expr_closure_mut(&mut self, _: &mut syn::ExprClosure) {}
}

/// A loop of a function that returns a value of that type, and what stands behind it, without `return` in the loop; `None` where
/// there is none in it.
pub(in crate::trace) fn without_return(stmt: &Stmt, rest: &[Stmt], yields: &syn::Type) -> Option<Block> {
    if !is_loop(stmt) {
        return None;
    }
    let mut left = Left { found: false };
    let mut stmt = stmt.clone();
    let name = syn::Lifetime::new("'fx_left", Span::call_site());
    let label = syn::Label { name, colon_token: <syn::Token![:]>::default() };
    match &mut stmt {
        Stmt::Expr(Expr::ForLoop(each), _) => left.in_loop(each, &label),
        Stmt::Expr(Expr::While(each), _) => left.in_loop(each, &label),
        Stmt::Expr(Expr::Loop(each), _) => left.in_loop(each, &label),
        _ => {}
    }
    let span = stmt.span();
    left.found.then(|| {
        let rest: Block = match rest {
            // The function ends in the loop, which does not come to an end.
            [] => parse_quote_spanned!(span=> { ::core::unreachable!() }),
            rest => parse_quote_spanned!(span=> { #(#rest)* }),
        };
        parse_quote_spanned!(span=> {
            let mut fx_returned: Option<#yields> = None;
            #stmt
            match fx_returned { Some(fx_value) => fx_value, None => #rest }
        })
    })
}

/// `return x` as `{ fx_returned = Some(x); break 'fx_left }`.
struct Left {
    found: bool,
}

impl Left {
    fn in_loop<L: Loop>(&mut self, each: &mut L, label: &syn::Label) {
        self.visit_block_mut(each.body());
        if self.found && each.label().is_none() {
            *each.label() = Some(label.clone());
        } else {
            // A loop with a label of its own would have to be known by two.
            self.found = false;
        }
    }
}

impl VisitMut for Left {
    fn visit_block_mut(&mut self, block: &mut Block) {
        let mut stmts = Vec::new();
        for mut stmt in std::mem::take(&mut block.stmts) {
            let span = stmt.span();
            if let Stmt::Expr(Expr::Return(syn::ExprReturn { expr: Some(value), .. }), _) = &stmt {
                self.found = true;
                stmts.push(parse_quote_spanned!(span=> fx_returned = Some(#value);));
                stmts.push(parse_quote_spanned!(span=> break 'fx_left;));
                continue;
            }
            self.visit_stmt_mut(&mut stmt);
            stmts.push(stmt);
        }
        block.stmts = stmts;
    }
    fn visit_expr_closure_mut(&mut self, _: &mut syn::ExprClosure) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::ToTokens;

    #[test]
    fn jumps_with_labels_are_flags() {
        let check = |source: &str, want: &str| {
            let each: syn::ExprForLoop = syn::parse_str(source).expect("a loop");
            let want: syn::ExprForLoop = syn::parse_str(want).expect("a loop");
            assert_eq!(without_label(&each).to_token_stream().to_string(), want.to_token_stream().to_string());
        };
        check("'a: for x in y { if c { break 'a; } continue 'a; }", "for x in y { if c { break; } continue; }");
        check(
            "'a: for x in y { for z in x { if c { continue 'a; } f(); } g(); }",
            "for x in y { let mut a_continues = false;
               for z in x { if c { a_continues = true; break; } f(); }
               if a_continues { continue; } g(); }",
        );
        check(
            "'a: for x in y { for z in x { while z { break 'a; } f(); } }",
            "for x in y { let mut a_breaks = false;
               for z in x { while z { a_breaks = true; break; } if a_breaks { break; } f(); }
               if a_breaks { break; } }",
        );
    }

    #[test]
    fn a_return_out_of_a_loop_waits_behind_it() {
        let body: Block = syn::parse_str("{ for x in y { if c { return x; } } z }").expect("a block");
        let want = "{ let mut fx_returned: Option<::fx_runtime::Tensor> = None;
            'fx_left: for x in y { if c { fx_returned = Some(x); break 'fx_left; } }
            match fx_returned { Some(fx_value) => fx_value, None => { z } } }";
        let want: Block = syn::parse_str(want).expect("a block");
        let tensor: syn::Type = syn::parse_quote!(::fx_runtime::Tensor);
        let found = without_return(&body.stmts[0], &body.stmts[1..], &tensor).expect("a return");
        assert_eq!(found.to_token_stream().to_string(), want.to_token_stream().to_string());
        assert!(without_return(&body.stmts[1], &[], &tensor).is_none());
    }
}
