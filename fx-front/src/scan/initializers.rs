//! Code that stands in no function: what constants and statics begin with, and what macros are given that stand where items
//! do.

use crate::index::{Initializer, InitializerCode};

/// The code of an item that is in none of its functions.
pub(super) fn of(item: &syn::Item, module: &str) -> Vec<Initializer> {
    let made = |code: InitializerCode, owner: Option<&syn::Type>| Initializer {
        module: module.to_owned(),
        owner: owner.cloned(),
        code,
    };
    match item {
        syn::Item::Const(item) => vec![made(of_expr(&item.expr), None)],
        syn::Item::Static(item) => vec![made(of_expr(&item.expr), None)],
        syn::Item::Macro(item) if !item.mac.path.is_ident("macro_rules") => vec![made(of_macro(&item.mac), None)],
        syn::Item::Impl(item) => {
            let code = item.items.iter().filter_map(|inner| match inner {
                syn::ImplItem::Const(constant) => Some(of_expr(&constant.expr)),
                syn::ImplItem::Macro(call) => Some(of_macro(&call.mac)),
                _ => None,
            });
            code.map(|code| made(code, Some(&item.self_ty))).collect()
        }
        syn::Item::Trait(item) => {
            let code = item.items.iter().filter_map(|inner| match inner {
                syn::TraitItem::Const(constant) => constant.default.as_ref().map(|(_, value)| of_expr(value)),
                syn::TraitItem::Macro(call) => Some(of_macro(&call.mac)),
                _ => None,
            });
            code.map(|code| made(code, None)).collect()
        }
        _ => Vec::new(),
    }
}

fn of_expr(expr: &syn::Expr) -> InitializerCode {
    InitializerCode::Expr(Box::new(expr.clone()))
}

fn of_macro(mac: &syn::Macro) -> InitializerCode {
    match mac.parse_body() {
        Ok(expr) => InitializerCode::Expr(Box::new(expr)),
        Err(_) => InitializerCode::Tokens(mac.tokens.clone()),
    }
}
