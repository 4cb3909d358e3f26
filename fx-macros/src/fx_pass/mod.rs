//! `fx_pass!`: rewrites in one line, checked when they are compiled.
//!
//! A rule is read ([`parse`]), its names are resolved against the op table, the catalog and the layers
//! ([`pattern`], [`template`]), rules are checked against each other ([`check`]) and printed as data for the engine of
//! `fx-rewrite` ([`print`]). On an error the pass still exists, without rules, so that nothing else is reported.

mod canonical;
mod check;
mod embedded;
mod field;
mod guard;
mod list;
mod parse;
mod pattern;
mod print;
mod rule;
mod schema;
mod template;
mod term;
mod yields;

use proc_macro2::TokenStream;
use quote::ToTokens;

use crate::report::Faults;

/// The passes of one `fx_pass!`; the crate that the expansion names is where its caller found the macro.
pub(crate) fn expand(krate: &TokenStream, input: TokenStream) -> TokenStream {
    let mut faults = Faults::default();
    let mut out = TokenStream::new();
    match syn::parse2::<parse::Passes>(input) {
        Ok(passes) => passes.0.iter().for_each(|pass| out.extend(expand_pass(krate, pass, &mut faults))),
        Err(error) => faults.syntax(&error),
    }
    faults.to_tokens(&mut out);
    out
}

fn expand_pass(krate: &TokenStream, pass: &parse::PassDef, faults: &mut Faults) -> TokenStream {
    let mut rules = Vec::new();
    for def in &pass.rules {
        if let Some(rule) = rule::resolve(def, faults) {
            rules.push((def, rule));
        }
    }
    if rules.len() == pass.rules.len() {
        check::check(pass, &rules, faults);
    }
    let rules: Vec<rule::Resolved> = rules.into_iter().map(|(_, rule)| rule).collect();
    print::print(krate, pass, if faults.is_empty() { &rules } else { &[] })
}
