//! Arms of a `match` with a guard, or with a name for all that they match, as arms without.

use syn::spanned::Spanned;

use crate::syntax::{
    enclosed::{at_end, in_head},
    matches_all, may_both, mentions, names_of,
};

/// What stands for the subject of a `match` in the arms of which a guard was.
pub(in crate::trace) const GUARDED: &str = "guarded_value";

/// `p if g => a` as `p => if g { a } else { the arms behind it that `p` leaves open }`, for the first guard; `None` where
/// no arm has one, where too much would be written twice, or where an arm behind it would see what `p` binds in place of a
/// variable of its own.
pub(in crate::trace) fn without_guard(choice: &syn::ExprMatch) -> Option<syn::ExprMatch> {
    let at = choice.arms.iter().position(|arm| arm.guard.is_some())?;
    let subject = syn::Ident::new(GUARDED, choice.match_token.span);
    let guarded = &choice.arms[at];
    let behind = choice.arms[at + 1..].iter().filter(|arm| may_both(&guarded.pat, &arm.pat));
    let mut others: Vec<syn::Arm> =
        behind.map(|arm| syn::Arm { comma: Some(<syn::Token![,]>::default()), ..arm.clone() }).collect();
    let hidden = names_of(&guarded.pat);
    let sees = |arm: &syn::Arm, name: &String| {
        let name = syn::Ident::new(name.trim_start_matches("r#"), choice.match_token.span);
        !names_of(&arm.pat).contains(&name.to_string()) && mentions(arm, &name) && !begins_with_own(arm, &name)
    };
    if others.iter().any(|arm| hidden.iter().any(|name| sees(arm, name))) {
        return None;
    }
    let copied = others.iter().filter(|arm| arm.guard.is_some()).count();
    let is_total = matches_all(&guarded.pat);
    if copied > 2 && !is_total {
        return None;
    }
    // What is left of the patterns need not look exhaustive to rustc.
    if !others.iter().any(|arm| arm.guard.is_none() && matches_all(&arm.pat)) {
        others.push(syn::parse_quote_spanned!(choice.match_token.span=> _ => ::std::unreachable!(),));
    }
    let mut arms = choice.arms.clone();
    let (_, guard) = arms[at].guard.take()?;
    let (guard, body) = (in_head(&guard), &arms[at].body);
    arms[at].body =
        syn::parse_quote_spanned!(guard.span()=> if #guard { #body } else { match #subject { #(#others)* } });
    if is_total {
        arms.truncate(at + 1);
    }
    Some(syn::ExprMatch { expr: syn::parse_quote_spanned!(choice.match_token.span=> #subject), arms, ..choice.clone() })
}

/// Whether the arm begins with a `let` of a variable of that name, made of other values.
fn begins_with_own(arm: &syn::Arm, name: &syn::Ident) -> bool {
    let syn::Expr::Block(body) = &*arm.body else { return false };
    let Some(syn::Stmt::Local(first)) = body.block.stmts.first() else { return false };
    let is_of_others = first.init.as_ref().is_some_and(|init| init.diverge.is_none() && !mentions(&init.expr, name));
    let is_guarded = arm.guard.as_ref().is_some_and(|(_, guard)| mentions(guard, name));
    is_of_others && !is_guarded && !mentions(&arm.pat, name) && names_of(&first.pat).contains(&name.to_string())
}

/// `n @ 1..=3 => a` as `1..=3 => { let n = the value; a }`; `None` where no arm is so.
pub(in crate::trace) fn without_names(choice: &syn::ExprMatch) -> Option<syn::ExprMatch> {
    let is_named = |arm: &syn::Arm| matches!(&arm.pat, syn::Pat::Ident(name) if name.subpat.is_some());
    choice.arms.iter().any(is_named).then_some(())?;
    let subject = syn::Ident::new(GUARDED, choice.match_token.span);
    let mut arms = choice.arms.clone();
    for arm in &mut arms {
        let syn::Pat::Ident(syn::PatIdent { ident, by_ref: None, subpat: Some((_, inner)), .. }) = arm.pat.clone()
        else {
            continue;
        };
        let body = &arm.body;
        arm.body = syn::parse_quote_spanned!(ident.span()=> { let #ident = #subject; #body });
        if let Some((_, guard)) = &mut arm.guard {
            let test = at_end(guard);
            **guard = syn::parse_quote_spanned!(ident.span()=> { let #ident = #subject; #test });
        }
        arm.pat = *inner;
    }
    Some(syn::ExprMatch { expr: syn::parse_quote_spanned!(choice.match_token.span=> #subject), arms, ..choice.clone() })
}
