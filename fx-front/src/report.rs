//! How an error looks to the user: the message, its number, and the way out, at the token.

use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;

use crate::diag::Code;

/// Collects the errors of one item; they are reported together.
#[derive(Debug, Default)]
pub struct Faults(Option<syn::Error>);

impl Faults {
    /// Adds an error about the tokens.
    pub fn push(&mut self, code: Code, tokens: impl ToTokens, message: &str, help: &str) {
        self.add(syn::Error::new_spanned(tokens, text(code, message, help)));
    }

    /// Adds an error at the place.
    pub fn push_at(&mut self, code: Code, span: Span, message: &str, help: &str) {
        self.add(syn::Error::new(span, text(code, message, help)));
    }

    /// Adds an error of syn's.
    pub fn add(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// Takes the options out of darling's answer; where it complains, each complaint is added and there are none.
    pub fn options<T>(&mut self, answer: darling::Result<T>) -> Option<T> {
        match answer {
            Ok(options) => Some(options),
            Err(errors) => {
                for error in errors.flatten() {
                    let (message, help) = words(&error.to_string());
                    self.push_at(Code::UnknownOption, error.span(), &message, &help);
                }
                None
            }
        }
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl ToTokens for Faults {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(self.0.as_ref().map(syn::Error::to_compile_error));
    }
}

/// A token at the place of the attribute; `item` is any token of the item below it.
pub fn attribute(item: Span) -> Ident {
    // With the user's own hygiene rustc has no need to say that a macro is to blame.
    Ident::new("attribute", item.located_at(Span::call_site()))
}

fn text(code: Code, message: &str, help: &str) -> String {
    let help = if help.is_empty() { String::new() } else { format!("\n= help: {help}") };
    format!("{message} [{}]{help}", code.number())
}

/// darling's sentences in our words: lower case, no full stop, the second one is what to do.
fn words(sentences: &str) -> (String, String) {
    let ours = sentences.replace("Unknown field: ", "unknown option ").replace("Duplicate field ", "given twice: ");
    let ours = ours.replace("Available values: ", "known here: ");
    // At the end stands the option, which the caret shows already.
    let ours = match ours.rsplit_once(" at ") {
        Some((before, option)) if !option.contains([' ', '`']) => before,
        _ => &ours,
    };
    let (message, help) = ours.split_once(". ").unwrap_or((ours, ""));
    (phrase(message), phrase(help))
}

fn phrase(sentence: &str) -> String {
    let mut chars = sentence.trim_end_matches('.').chars();
    let first = chars.next();
    first.map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn speaks_as_the_other_diagnostics_do() {
        let check = |sentences, message: &str, help: &str| {
            assert_eq!(words(sentences), (message.to_owned(), help.to_owned()));
        };
        check("Unknown field: `strct`. Did you mean `strict`?", "unknown option `strct`", "did you mean `strict`?");
        check("Unknown field: `z`. Available values: `a`, `b`", "unknown option `z`", "known here: `a`, `b`");
        check("Unexpected type `int` at specialize/train", "unexpected type `int`", "");
        check("Duplicate field `name`", "given twice: `name`", "");
    }
}
