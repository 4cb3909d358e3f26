//! How an error looks to the user: the message, its number, and the way out, at the token.

use fx_front::diag::Code;
use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// Collects the errors of one item; they are reported together.
#[derive(Default)]
pub(crate) struct Faults(Option<syn::Error>);

impl Faults {
    /// Adds an error about the tokens.
    pub(crate) fn push(&mut self, code: Code, tokens: impl ToTokens, message: &str, help: &str) {
        self.add(syn::Error::new_spanned(tokens, text(code, message, help)));
    }

    /// Adds an error of syn's.
    pub(crate) fn add(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// Takes the options out of darling's answer; where it complains, each complaint is added and there are none.
    ///
    /// `known` lists the options that there are, for an unknown one that resembles none of them.
    pub(crate) fn options<T>(&mut self, answer: darling::Result<T>, known: &str) -> Option<T> {
        match answer {
            Ok(options) => Some(options),
            Err(errors) => {
                for error in errors.flatten() {
                    let (message, help) = words(&error.to_string(), known);
                    self.add(syn::Error::new(error.span(), text(Code::UnknownOption, &message, &help)));
                }
                None
            }
        }
    }

    /// Is there none?
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl ToTokens for Faults {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(self.0.as_ref().map(syn::Error::to_compile_error));
    }
}

/// Tokens that stand for what the attribute itself covers.
pub(crate) fn attribute() -> TokenStream {
    proc_macro2::Ident::new("traceable", Span::call_site()).into_token_stream()
}

fn text(code: Code, message: &str, help: &str) -> String {
    let help = if help.is_empty() { String::new() } else { format!("\n= help: {help}") };
    format!("{message} [{}]{help}", code.number())
}

/// darling's sentence in our words: lower case, no full stop, what to do apart.
fn words(sentence: &str, known: &str) -> (String, String) {
    let (message, help) = match sentence.split_once(". Did you mean ") {
        Some((message, better)) => (message, format!("did you mean {better}")),
        None => (sentence, format!("known here: {known}")),
    };
    let message = message.replace("Unknown field: ", "unknown option ").replace("Duplicate field ", "given twice: ");
    let mut chars = message.trim_end_matches('.').chars();
    let lower = chars.next().map(|first| first.to_lowercase().chain(chars).collect());
    (lower.unwrap_or_default(), help)
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn speaks_as_the_other_diagnostics_do() {
        let words = |sentence| words(sentence, "`a`, `b`");
        let (message, help) = words("Unknown field: `strct`. Did you mean `strict`?");
        assert_eq!((message.as_str(), help.as_str()), ("unknown option `strct`", "did you mean `strict`?"));
        let (message, help) = words("Unknown field: `zzz`");
        assert_eq!((message.as_str(), help.as_str()), ("unknown option `zzz`", "known here: `a`, `b`"));
    }
}
