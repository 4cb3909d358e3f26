//! `#[cfg(..)]`: what of a source is compiled, as far as a build script is told.
//!
//! Cargo tells features and the target; of anything else (`debug_assertions`, flags of rustc) nothing is known, and code
//! under such a condition stays marked.

use syn::visit_mut::VisitMut;

/// The condition of several that must all hold.
const ALL: &str = "all";

/// Is what bears these attributes compiled? `None` where that is not known.
pub fn is_active(attrs: &[syn::Attribute]) -> Option<bool> {
    let conditions = attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
    conditions.map(|attr| attr.parse_args::<syn::Meta>().ok().and_then(|meta| holds(&meta))).fold(Some(true), and)
}

/// Returns whether what bears these attributes is compiled in builds with debug assertions alone.
pub fn is_debug_only(attrs: &[syn::Attribute]) -> bool {
    let mut conditions = attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
    conditions.any(|attr| attr.parse_args::<syn::Meta>().is_ok_and(|meta| asks_for_debug(&meta)))
}

fn asks_for_debug(meta: &syn::Meta) -> bool {
    match meta {
        syn::Meta::Path(path) => path.is_ident("debug_assertions"),
        syn::Meta::List(list) if list.path.is_ident(ALL) => {
            let parse = syn::punctuated::Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated;
            list.parse_args_with(parse).is_ok_and(|parts| parts.iter().any(asks_for_debug))
        }
        _ => false,
    }
}

/// Takes what is not compiled out of a body, and the attributes off what is.
pub fn strip(block: &mut syn::Block) {
    Strip.visit_block_mut(block);
}

fn and(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn holds(meta: &syn::Meta) -> Option<bool> {
    // Outside of a build script nothing is known.
    std::env::var_os("CARGO_CFG_TARGET_OS")?;
    match meta {
        syn::Meta::List(list) => {
            let parse = syn::punctuated::Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated;
            let parts: Vec<Option<bool>> = list.parse_args_with(parse).ok()?.iter().map(holds).collect();
            match list.path.get_ident()?.to_string().as_str() {
                "not" => parts.first().copied().flatten().map(|holds| !holds),
                ALL => parts.into_iter().fold(Some(true), and),
                "any" => parts.into_iter().map(|part| part.map(|holds| !holds)).fold(Some(true), and).map(|none| !none),
                _ => None,
            }
        }
        syn::Meta::NameValue(pair) => {
            let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(value), .. }) = &pair.value else { return None };
            let (name, value) = (pair.path.get_ident()?.to_string(), value.value());
            if name == "feature" {
                return Some(std::env::var_os(format!("CARGO_FEATURE_{}", upper(&value))).is_some());
            }
            let known = std::env::var(format!("CARGO_CFG_{}", upper(&name))).ok()?;
            Some(known.split(',').any(|one| one == value))
        }
        syn::Meta::Path(path) => match path.get_ident()?.to_string().as_str() {
            name @ ("unix" | "windows") => Some(std::env::var_os(format!("CARGO_CFG_{}", upper(name))).is_some()),
            _ => None,
        },
    }
}

fn upper(name: &str) -> String {
    name.to_uppercase().replace('-', "_")
}

/// Takes statements out that are there in debug builds alone.
pub struct StripDebug;

impl VisitMut for StripDebug {
    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        block.stmts.retain_mut(|stmt| !attributes(stmt).is_some_and(|attrs| is_debug_only(attrs)));
        syn::visit_mut::visit_block_mut(self, block);
    }
}

struct Strip;

impl VisitMut for Strip {
    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        block.stmts.retain_mut(|stmt| attributes(stmt).is_none_or(is_kept));
        syn::visit_mut::visit_block_mut(self, block);
    }

    fn visit_expr_match_mut(&mut self, choice: &mut syn::ExprMatch) {
        choice.arms.retain_mut(|arm| is_kept(&mut arm.attrs));
        syn::visit_mut::visit_expr_match_mut(self, choice);
    }
}

/// Returns whether what bears the attributes may be compiled, and takes the conditions off what is for sure.
fn is_kept(attrs: &mut Vec<syn::Attribute>) -> bool {
    let active = is_active(attrs);
    if active == Some(true) {
        attrs.retain(|attr| !attr.path().is_ident("cfg"));
    }
    active != Some(false)
}

/// The attributes of a statement.
pub fn attributes(stmt: &mut syn::Stmt) -> Option<&mut Vec<syn::Attribute>> {
    match stmt {
        syn::Stmt::Local(local) => Some(&mut local.attrs),
        syn::Stmt::Macro(stmt) => Some(&mut stmt.attrs),
        syn::Stmt::Expr(expr, _) => match expr {
            syn::Expr::Assign(expr) => Some(&mut expr.attrs),
            syn::Expr::Binary(expr) => Some(&mut expr.attrs),
            syn::Expr::Block(expr) => Some(&mut expr.attrs),
            syn::Expr::Call(expr) => Some(&mut expr.attrs),
            syn::Expr::ForLoop(expr) => Some(&mut expr.attrs),
            syn::Expr::If(expr) => Some(&mut expr.attrs),
            syn::Expr::Macro(expr) => Some(&mut expr.attrs),
            syn::Expr::Match(expr) => Some(&mut expr.attrs),
            syn::Expr::MethodCall(expr) => Some(&mut expr.attrs),
            syn::Expr::Path(expr) => Some(&mut expr.attrs),
            syn::Expr::Return(expr) => Some(&mut expr.attrs),
            syn::Expr::Tuple(expr) => Some(&mut expr.attrs),
            syn::Expr::While(expr) => Some(&mut expr.attrs),
            _ => None,
        },
        syn::Stmt::Item(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_of_debug_builds() {
        let is_debug = |condition: &str| {
            let mut stmt: syn::Stmt = syn::parse_str(&format!("#[cfg({condition})] f();")).unwrap();
            is_debug_only(attributes(&mut stmt).unwrap())
        };
        assert!(is_debug("debug_assertions") && is_debug("all(debug_assertions, unix)"));
        assert!(!is_debug("not(debug_assertions)") && !is_debug("any(debug_assertions, unix)") && !is_debug("unix"));
    }
}
