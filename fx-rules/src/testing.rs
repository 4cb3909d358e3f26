//! Rules as tests write them.

use fx_front::report::Faults;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use crate::parse::{PassDef, Passes};
use crate::resolve::{Resolved, resolve};

/// The one pass of a text.
pub(crate) fn pass(text: &str) -> PassDef {
    match syn::parse_str::<Passes>(text) {
        Ok(mut passes) if passes.0.len() == 1 => passes.0.remove(0),
        Ok(passes) => panic!("{} passes", passes.0.len()),
        Err(error) => panic!("{error}"),
    }
}

/// The one rule of a text, resolved.
pub(crate) fn rule(text: &str) -> Result<Resolved, Vec<String>> {
    let mut faults = Faults::default();
    let pass = pass(&format!("Case {{ {text} }}"));
    resolve(&pass.rules[0], &mut faults).ok_or_else(|| numbers(&faults.to_token_stream()))
}

/// The numbers of what is wrong with a text, in order.
pub(crate) fn codes(text: &str) -> Vec<String> {
    let tokens = text.parse::<TokenStream>().unwrap_or_else(|error| panic!("{error}"));
    numbers(&crate::expand(&quote!(::engine), tokens))
}

fn numbers(tokens: &TokenStream) -> Vec<String> {
    let text = tokens.to_string();
    text.match_indices("[FX").map(|(at, _)| text[at + 1..at + 7].to_owned()).collect()
}
