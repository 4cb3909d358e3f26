//! The compiler behind `fx_pass!`: rewrites in one line, checked when they are compiled.
//!
//! Rules are [read](parse), their names [resolved](resolve) against the op table, the catalog and the
//! [layers](fx_ir::layers), [checked](check) against each other, and [printed](print) as data for the engine of `fx-rewrite`.
//! The result of a phase is data: syntax, then [terms](term), then tokens. On an error the pass still exists, without
//! rules, so that nothing else is reported.
//!
//! **Invariant:** nothing here needs a compiler around it: tokens in, tokens out, so every phase is tested as a function.

mod canonical;
mod check;
mod parse;
mod print;
mod resolve;
mod term;

use fx_front::{diag::Code, report::Faults};
use proc_macro2::TokenStream;
use quote::ToTokens;

use self::parse::{EXAMPLE, PassDef, Passes};

/// The passes of one `fx_pass!` as Rust; `krate` is the path of the crate that the expansion names, `::fx_rewrite` or
/// one that re-exports its modules.
pub fn expand(krate: &TokenStream, input: TokenStream) -> TokenStream {
    let mut faults = Faults::default();
    let mut out = TokenStream::new();
    match syn::parse2::<Passes>(input) {
        Ok(passes) => passes.0.iter().for_each(|pass| out.extend(expand_pass(krate, pass, &mut faults))),
        Err(error) => faults.push_at(Code::RuleSyntax, error.span(), &error.to_string(), EXAMPLE),
    }
    faults.to_tokens(&mut out);
    out
}

fn expand_pass(krate: &TokenStream, pass: &PassDef, faults: &mut Faults) -> TokenStream {
    let mut rules = Vec::new();
    for def in &pass.rules {
        if let Some(rule) = resolve::resolve(def, faults) {
            rules.push((def, rule));
        }
    }
    if rules.len() == pass.rules.len() {
        check::check(pass, &rules, faults);
    }
    let rules: Vec<resolve::Resolved> = rules.into_iter().map(|(_, rule)| rule).collect();
    print::print(krate, pass, if faults.is_empty() { &rules } else { &[] })
}

#[cfg(test)]
mod testing;

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::testing::codes;

    #[test]
    fn a_pass_is_a_struct_and_its_rules() {
        let expanded = super::expand(&quote!(::engine), quote!(pub Twice { |x| x.relu().relu() => x.relu() }));
        let file: syn::Result<syn::File> = syn::parse2(expanded.clone());
        assert!(file.is_ok(), "{expanded}");
        let text = expanded.to_string();
        for part in
            ["pub struct Twice", "use :: engine as __fx", "__fx :: rewrite :: Term :: Call (\"relu\"", "\"twice\""]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn a_faulty_pass_still_exists() {
        let expanded = super::expand(&quote!(::engine), quote!(pub Twice { |x| x.rleu() => x })).to_string();
        assert!(expanded.contains("pub struct Twice") && expanded.contains("compile_error"), "{expanded}");
        assert!(expanded.contains("RuleSet :: new (& [])"), "{expanded}");
    }

    #[test]
    fn every_fault_of_a_pass_is_reported() {
        assert_eq!(codes("A { |x| x.rleu() => x, |y, z| y.relu() => y }"), ["FX0102", "FX0106"]);
        assert_eq!(codes("A { x => y }"), ["FX0101"]);
    }
}
