//! The notation of rules as syntax: names, captures, expressions; what they mean is found out later.

use fx_ir::Operator;
use proc_macro2::{Ident, TokenStream};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, BinOp, Expr, Token, Type, Visibility, braced};

/// An example of a rule, for those who write another thing.
pub(crate) const EXAMPLE: &str = "a rule reads `|x| x * x.sigmoid() => x.silu()`";

/// `/// doc  pub Name { rule, rule }`
pub(crate) struct PassDef {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) name: Ident,
    pub(crate) rules: Vec<RuleDef>,
}

/// `name: |x, conv: Conv2D| pattern => replacement if guard`
pub(crate) struct RuleDef {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) label: Option<Ident>,
    pub(crate) captures: Vec<CaptureDef>,
    pub(crate) before: Expr,
    pub(crate) after: Expr,
    pub(crate) guard: Option<Expr>,
}

/// `conv: Conv2D`
pub(crate) struct CaptureDef {
    pub(crate) name: Ident,
    pub(crate) ty: Option<Type>,
}

/// The passes of one `fx_pass!`.
pub(crate) struct Passes(pub(crate) Vec<PassDef>);

impl Parse for Passes {
    fn parse(input: ParseStream<'_>) -> syn::Result<Passes> {
        let mut passes = Vec::new();
        while !input.is_empty() {
            passes.push(input.parse()?);
        }
        Ok(Passes(passes))
    }
}

impl Parse for PassDef {
    fn parse(input: ParseStream<'_>) -> syn::Result<PassDef> {
        let attrs = input.call(Attribute::parse_outer)?;
        let (vis, name) = (input.parse()?, input.parse()?);
        let body;
        braced!(body in input);
        let mut rules = Vec::new();
        while !body.is_empty() {
            rules.push(body.parse()?);
            if body.peek(Token![,]) {
                body.parse::<Token![,]>()?;
            } else if !body.is_empty() {
                return Err(body.error("rules are parted by commas"));
            }
        }
        Ok(PassDef { attrs, vis, name, rules })
    }
}

impl Parse for RuleDef {
    fn parse(input: ParseStream<'_>) -> syn::Result<RuleDef> {
        let attrs = input.call(Attribute::parse_outer)?;
        let label = if input.peek2(Token![:]) {
            let label = input.parse()?;
            input.parse::<Token![:]>()?;
            Some(label)
        } else {
            None
        };
        input.parse::<Token![|]>()?;
        let mut captures = Vec::new();
        while !input.peek(Token![|]) {
            captures.push(input.parse()?);
            if !input.peek(Token![|]) {
                input.parse::<Token![,]>()?;
            }
        }
        input.parse::<Token![|]>()?;
        let before = input.parse()?;
        input.parse::<Token![=>]>()?;
        let after = input.parse()?;
        let guard = if input.peek(Token![if]) {
            input.parse::<Token![if]>()?;
            Some(input.parse()?)
        } else {
            None
        };
        Ok(RuleDef { attrs, label, captures, before, after, guard })
    }
}

impl Parse for CaptureDef {
    fn parse(input: ParseStream<'_>) -> syn::Result<CaptureDef> {
        let name = input.parse()?;
        let ty = if input.peek(Token![:]) {
            input.parse::<Token![:]>()?;
            Some(Type::without_plus(input)?)
        } else {
            None
        };
        Ok(CaptureDef { name, ty })
    }
}

/// The operator that a sign of Rust's stands for in a rule.
pub(crate) fn operator_of(sign: &BinOp) -> Option<Operator> {
    Some(match sign {
        BinOp::Add(_) => Operator::Add,
        BinOp::Sub(_) => Operator::Sub,
        BinOp::Mul(_) => Operator::Mul,
        BinOp::Div(_) => Operator::Div,
        _ => return None,
    })
}

/// The text of the doc comments, lines joined.
pub(crate) fn doc_of(attrs: &[Attribute]) -> String {
    let lines = attrs.iter().filter_map(|attr| match &attr.meta {
        syn::Meta::NameValue(doc) if doc.path.is_ident("doc") => match &doc.value {
            Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    });
    let lines: Vec<String> = lines.map(|line| line.trim().to_owned()).take_while(|line| !line.is_empty()).collect();
    lines.join(" ")
}

/// Tokens as their author would write them.
pub(crate) fn spelled(tokens: TokenStream) -> String {
    let mut out = String::new();
    spell(tokens, &mut out);
    out.trim().to_owned()
}

fn spell(tokens: TokenStream, out: &mut String) {
    use proc_macro2::{Delimiter, Spacing, TokenTree};
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{ ", " }"),
                    Delimiter::None => ("", ""),
                };
                if out.ends_with([')', ']']) && group.delimiter() == Delimiter::Brace {
                    out.push(' ');
                }
                out.push_str(open);
                spell(group.stream(), out);
                out.truncate(out.trim_end().len());
                out.push_str(close);
            }
            TokenTree::Punct(sign) => match sign.as_char() {
                '.' | '?' | '!' | '#' | '\'' => out.push(sign.as_char()),
                ':' => out.push(':'),
                ',' | ';' => {
                    out.push(sign.as_char());
                    out.push(' ');
                }
                '&' if sign.spacing() == Spacing::Alone && out.ends_with(" &") => out.push_str("& "),
                '&' if sign.spacing() == Spacing::Alone => out.push('&'),
                '-' | '*' if out.is_empty() || out.ends_with(['(', '[', ' ', '=']) => out.push(sign.as_char()),
                other => {
                    if !out.ends_with(' ') && !joins(out) {
                        out.push(' ');
                    }
                    out.push(other);
                    if sign.spacing() == Spacing::Alone {
                        out.push(' ');
                    }
                }
            },
            word => {
                if out.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                    out.push(' ');
                }
                out.push_str(&word.to_string());
            }
        }
    }
}

/// Returns whether the text ends in the first half of a sign like `=>`.
fn joins(out: &str) -> bool {
    out.ends_with(['=', '<', '>', '&', '|', '!', '-', '+', '*', '/'])
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;
    use crate::testing::pass;

    #[test]
    fn a_rule_has_captures_two_sides_and_a_guard() {
        let pass = pass("pub Fold { first: |x, conv: Conv2D| conv(x) => x if conv.calls() == 1, |x| x.relu() => x }");
        assert_eq!((pass.name.to_string(), pass.rules.len()), ("Fold".to_owned(), 2));
        let [first, second] = &pass.rules[..] else { panic!("two rules") };
        assert_eq!(first.label.as_ref().map(ToString::to_string).as_deref(), Some("first"));
        let typed: Vec<bool> = first.captures.iter().map(|capture| capture.ty.is_some()).collect();
        assert_eq!(typed, [false, true]);
        assert_eq!((first.guard.is_some(), second.label.is_some(), second.guard.is_some()), (true, false, false));
    }

    #[test]
    fn rules_are_parted_by_commas() {
        assert!(syn::parse_str::<Passes>("A { |x| x.relu() => x |y| y.relu() => y }").is_err());
    }

    #[test]
    fn tokens_are_spelled_as_their_author_does() {
        let tokens = quote!({
            let s = x.sigmoid();
            x * -s
        })
        .into_iter()
        .collect();
        assert_eq!(spelled(tokens), "{ let s = x.sigmoid(); x * -s }");
    }

    #[test]
    fn doc_comments_end_at_an_empty_line() {
        assert_eq!(doc_of(&pass("/// One\n/// two.\n///\n/// Three.\npub A { |x| x.relu() => x }").attrs), "One two.");
    }
}
