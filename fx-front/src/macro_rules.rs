//! Macros that the crate declares by `macro_rules!`, expanded in the bodies of its functions before these are traced.
//!
//! Expansion is syntax to syntax, as rustc's: [`definition`] reads the rules, [`matching`] finds the one that a call takes,
//! [`transcription`] writes what it stands for, and [`hygiene`] gives the variables that this declares names that the
//! function does not have. [`bodies`] walks a function's body; [`groups`] writes fragments that stay together in brackets.
//!
//! A macro with anything else than expressions, identifiers, types, patterns, blocks, paths, literals, lifetimes and token
//! trees in its rules is not expanded, and neither is a call whose expansion declares items, or mentions by name what a
//! variable of the caller hides: such calls stay as they are written.

mod bodies;
mod definition;
mod groups;
mod hygiene;
mod matching;
mod transcription;

use proc_macro2::{Span, TokenStream, TokenTree};

pub(crate) use self::bodies::{Body, Macros, takes_expressions};
use self::definition::Rule;

/// A macro of the crate's.
#[derive(Debug)]
pub(crate) struct MacroRules {
    /// Its name.
    pub(crate) name: String,
    /// Its rules; `None` where one of them is not understood.
    rules: Option<Vec<Rule>>,
}

impl MacroRules {
    /// The macro that the item declares; `None` where the item declares none.
    pub(crate) fn of(item: &syn::ItemMacro) -> Option<MacroRules> {
        let name = item.ident.as_ref().filter(|_| item.mac.path.is_ident("macro_rules"))?;
        // A part of the crate may be built without it.
        let is_plain = !item.attrs.iter().any(|attr| attr.path().is_ident("cfg") || attr.path().is_ident("cfg_attr"));
        let rules = if is_plain { definition::rules(item.mac.tokens.clone()) } else { None };
        Some(MacroRules { name: name.to_string(), rules })
    }

    /// What a call with these tokens stands for, and the names in its format strings. Names that the macro's own code has are
    /// marked, as [`hygiene`] wants them.
    fn expanded(&self, call: TokenStream, span: Span) -> Option<(TokenStream, Vec<String>)> {
        let call: Vec<TokenTree> = call.into_iter().collect();
        let rules = self.rules.as_ref()?;
        let (rule, bindings) = rules.iter().find_map(|rule| Some((rule, matching::matched(&rule.matcher, &call)?)))?;
        let tokens = transcription::written(&rule.body, &bindings, span)?;
        Some((tokens, transcription::formatted(&rule.body)))
    }
}

#[cfg(test)]
mod tests;
