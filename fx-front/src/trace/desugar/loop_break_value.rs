//! `loop { .. break value }` as a loop whose value waits behind it.
//!
//! ```text
//! let y = loop {                       let mut fx_broken = None;
//!     if c { break x; }          =>    loop { if c { fx_broken = Some(x); break; } rest }
//!     rest                             let y = match fx_broken { Some(fx_value) => fx_value, None => unreachable!() };
//! };
//! ```

use syn::{Block, Expr, Stmt, parse_quote_spanned, spanned::Spanned, visit_mut::VisitMut};

/// The loop without values behind its `break`s, and the value; `None` where there is none.
pub(in crate::trace) fn with_value(each: &syn::ExprLoop) -> Option<Block> {
    let mut each = each.clone();
    let label = each.label.as_ref().map(|label| label.name.clone());
    let name = match &label {
        Some(label) => quote::format_ident!("fx_broken_{}", label.ident),
        None => quote::format_ident!("fx_broken"),
    };
    let mut breaks = Breaks { label, name, depth: 0, found: false };
    breaks.visit_block_mut(&mut each.body);
    let (name, span) = (breaks.name, each.loop_token.span);
    breaks.found.then(|| {
        parse_quote_spanned!(span=> {
            let mut #name = None;
            #each
            match #name { Some(fx_value) => fx_value, None => ::std::unreachable!() }
        })
    })
}

struct Breaks {
    label: Option<syn::Lifetime>,
    /// The variable in which the value waits.
    name: syn::Ident,
    /// How many loops are between.
    depth: u32,
    found: bool,
}

impl Breaks {
    /// The statements that stand for the jump, if it is one of this loop's with a value.
    fn waiting(&mut self, expr: &Expr) -> Option<[Stmt; 2]> {
        let Expr::Break(jump) = expr else { return None };
        let value = jump.expr.as_ref()?;
        let is_own = match &jump.label {
            Some(label) => Some(label) == self.label.as_ref(),
            None => self.depth == 0,
        };
        self.found |= is_own;
        let (name, label, span) = (&self.name, &jump.label, jump.span());
        is_own.then(|| [parse_quote_spanned!(span=> #name = Some(#value);), parse_quote_spanned!(span=> break #label;)])
    }

    fn inside(&mut self, visit: impl FnOnce(&mut Self)) {
        self.depth += 1;
        visit(self);
        self.depth -= 1;
    }
}

impl VisitMut for Breaks {
    fn visit_block_mut(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            let waiting = match &stmt {
                Stmt::Expr(expr, _) => self.waiting(expr),
                _ => None,
            };
            if let Some(waiting) = waiting {
                block.stmts.extend(waiting);
                continue;
            }
            self.visit_stmt_mut(&mut stmt);
            block.stmts.push(stmt);
        }
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        match self.waiting(expr) {
            Some(waiting) => *expr = parse_quote_spanned!(expr.span()=> { #(#waiting)* }),
            None => syn::visit_mut::visit_expr_mut(self, expr),
        }
    }

    fn visit_expr_loop_mut(&mut self, each: &mut syn::ExprLoop) {
        self.inside(|breaks| syn::visit_mut::visit_expr_loop_mut(breaks, each));
    }

    fn visit_expr_while_mut(&mut self, each: &mut syn::ExprWhile) {
        self.inside(|breaks| syn::visit_mut::visit_expr_while_mut(breaks, each));
    }

    fn visit_expr_for_loop_mut(&mut self, each: &mut syn::ExprForLoop) {
        self.inside(|breaks| syn::visit_mut::visit_expr_for_loop_mut(breaks, each));
    }

    fn visit_expr_closure_mut(&mut self, _: &mut syn::ExprClosure) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::ToTokens;

    #[test]
    fn a_value_waits_behind_its_loop() {
        let check = |source: &str, want: &str| {
            let each: syn::ExprLoop = syn::parse_str(source).expect("a loop");
            let found = with_value(&each).map(|block| block.to_token_stream().to_string());
            let want: Block = syn::parse_str(want).expect("a block");
            assert_eq!(found, Some(want.to_token_stream().to_string()));
        };
        check(
            "loop { if c { break x; } match y { Some(z) => break z, None => f() } }",
            "{ let mut fx_broken = None;
               loop { if c { fx_broken = Some(x); break; } match y { Some(z) => { fx_broken = Some(z); break; }, None => f() } }
               match fx_broken { Some(fx_value) => fx_value, None => ::std::unreachable!() } }",
        );
        check(
            "'a: loop { loop { break 'a 1; } }",
            "{ let mut fx_broken_a = None; 'a: loop { loop { fx_broken_a = Some(1); break 'a; } }
               match fx_broken_a { Some(fx_value) => fx_value, None => ::std::unreachable!() } }",
        );
        let plain: syn::ExprLoop = syn::parse_str("loop { loop { break 1; } break; }").expect("a loop");
        assert!(with_value(&plain).is_none(), "the value is that of the loop inside");
    }
}
