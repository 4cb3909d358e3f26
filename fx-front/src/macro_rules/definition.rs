//! The rules of a macro, read from its declaration.

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};

use crate::syntax::format_names;

/// `(matcher) => { body }`.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) matcher: Vec<Matcher>,
    pub(super) body: Vec<Part>,
}

/// What a rule asks of a call.
#[derive(Debug)]
pub(super) enum Matcher {
    /// This token, which may be of several signs.
    Token(Vec<TokenTree>),
    /// Tokens in brackets.
    Group(Delimiter, Vec<Matcher>),
    /// `$name:kind`.
    Fragment(String, Kind),
    /// `$(..),*`.
    Repeat(Repeat<Matcher>),
}

/// What a rule makes of a call.
#[derive(Debug)]
pub(super) enum Part {
    /// A token.
    Token(TokenTree),
    /// A word that may name a variable or a label of the macro's own.
    Name(String),
    /// Tokens in brackets.
    Group(Delimiter, Vec<Part>),
    /// `$name`.
    Variable(String),
    /// `$(..),*`.
    Repeat(Repeat<Part>),
}

/// Something that is there several times.
#[derive(Debug)]
pub(super) struct Repeat<T> {
    pub(super) inner: Vec<T>,
    pub(super) separator: Vec<TokenTree>,
    pub(super) count: Count,
}

/// How often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    Any,
    AtLeastOnce,
    AtMostOnce,
}

/// What a fragment is parsed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Expr,
    Ident,
    Ty,
    Tt,
    Literal,
    Pat,
    PatParam,
    Block,
    Path,
    Lifetime,
}

impl Kind {
    fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "expr" | "expr_2021" => Kind::Expr,
            "ident" => Kind::Ident,
            "ty" => Kind::Ty,
            "tt" => Kind::Tt,
            "literal" => Kind::Literal,
            "pat" => Kind::Pat,
            "pat_param" => Kind::PatParam,
            "block" => Kind::Block,
            "path" => Kind::Path,
            "lifetime" => Kind::Lifetime,
            _ => return None,
        })
    }
}

/// Macros of the language that tell where they stand, or what they were given as text.
const PLACES: &[&str] = &["stringify", "line", "column", "file", "module_path", "dbg", "concat"];

/// The rules in the tokens of a declaration; `None` where one is not understood.
pub(super) fn rules(tokens: TokenStream) -> Option<Vec<Rule>> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut rules = Vec::new();
    let mut rest = tokens.as_slice();
    while let [TokenTree::Group(matcher), arrow, end, TokenTree::Group(body), behind @ ..] = rest {
        if !is_sign(arrow, '=') || !is_sign(end, '>') {
            return None;
        }
        rules.push(Rule { matcher: matchers(matcher.stream())?, body: parts(body.stream())? });
        rest = match behind {
            [semicolon, behind @ ..] if is_sign(semicolon, ';') => behind,
            behind => behind,
        };
    }
    rest.is_empty().then_some(rules)
}

fn matchers(tokens: TokenStream) -> Option<Vec<Matcher>> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let (mut out, mut rest) = (Vec::new(), tokens.as_slice());
    while let [first, behind @ ..] = rest {
        (out, rest) = match (first, behind) {
            (dollar, [TokenTree::Group(group), behind @ ..]) if is_sign(dollar, '$') => {
                let (repeat, behind) = repeated(group, behind, &matchers)?;
                (with(out, Matcher::Repeat(repeat)), behind)
            }
            (dollar, [TokenTree::Ident(name), colon, TokenTree::Ident(kind), behind @ ..])
                if is_sign(dollar, '$') && is_sign(colon, ':') =>
            {
                (with(out, Matcher::Fragment(name.to_string(), Kind::named(&kind.to_string())?)), behind)
            }
            (dollar, _) if is_sign(dollar, '$') => return None,
            (TokenTree::Group(group), behind) => {
                (with(out, Matcher::Group(group.delimiter(), matchers(group.stream())?)), behind)
            }
            _ => {
                let (token, behind) = rest.split_at(token_at(rest));
                (with(out, Matcher::Token(token.to_vec())), behind)
            }
        };
    }
    Some(out)
}

fn parts(tokens: TokenStream) -> Option<Vec<Part>> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(token) = tokens.get(at) {
        let behind = &tokens[at + 1..];
        let left = match (token, behind) {
            (dollar, [TokenTree::Ident(name), behind @ ..]) if is_sign(dollar, '$') => {
                out.push(if name == "crate" {
                    Part::Token(name.clone().into())
                } else {
                    Part::Variable(name.to_string())
                });
                behind
            }
            (dollar, [TokenTree::Group(group), behind @ ..]) if is_sign(dollar, '$') => {
                let (repeat, behind) = repeated(group, behind, &parts)?;
                out.push(Part::Repeat(repeat));
                behind
            }
            (dollar, _) if is_sign(dollar, '$') => return None,
            (hash, [TokenTree::Group(attribute), behind @ ..]) if is_sign(hash, '#') => {
                if mentions_variable(attribute.stream()) {
                    return None;
                }
                out.extend([Part::Token(token.clone()), Part::Token(attribute.clone().into())]);
                behind
            }
            (TokenTree::Group(group), behind) => {
                out.push(Part::Group(group.delimiter(), parts(group.stream())?));
                behind
            }
            (TokenTree::Ident(name), behind) => {
                let text = name.to_string();
                let is_macro = behind.first().is_some_and(|next| is_sign(next, '!'))
                    && matches!(behind.get(1), Some(TokenTree::Group(_)));
                if text.starts_with("r#") || is_macro && PLACES.contains(&text.as_str()) {
                    return None;
                }
                let is_name = !is_macro && !is_part_of_path(&tokens, at) && syn::parse_str::<syn::Ident>(&text).is_ok();
                out.push(if is_name { Part::Name(text) } else { Part::Token(token.clone()) });
                behind
            }
            (_, behind) => {
                out.push(Part::Token(token.clone()));
                behind
            }
        };
        at = tokens.len() - left.len();
    }
    Some(out)
}

/// `$(inner) separator count`, of which the group is the first, and what stands behind it.
fn repeated<'t, T>(
    group: &Group,
    behind: &'t [TokenTree],
    inner: &dyn Fn(TokenStream) -> Option<Vec<T>>,
) -> Option<(Repeat<T>, &'t [TokenTree])> {
    let count = |token: &TokenTree| match token {
        TokenTree::Punct(sign) if sign.as_char() == '*' => Some(Count::Any),
        TokenTree::Punct(sign) if sign.as_char() == '+' => Some(Count::AtLeastOnce),
        TokenTree::Punct(sign) if sign.as_char() == '?' => Some(Count::AtMostOnce),
        _ => None,
    };
    let length = match behind.first().and_then(count) {
        Some(_) => 0,
        None => token_at(behind),
    };
    let (separator, behind) = behind.split_at_checked(length)?;
    let (last, behind) = behind.split_first()?;
    if group.delimiter() != Delimiter::Parenthesis {
        return None;
    }
    Some((Repeat { inner: inner(group.stream())?, separator: separator.to_vec(), count: count(last)? }, behind))
}

/// Whether the word is a part of a longer path, a field or a method.
fn is_part_of_path(tokens: &[TokenTree], at: usize) -> bool {
    let is = |at: Option<usize>, sign| at.and_then(|at| tokens.get(at)).is_some_and(|token| is_sign(token, sign));
    let before = |back: usize| at.checked_sub(back);
    let is_member = is(before(1), '.') && !is(before(2), '.');
    is_member || is(before(1), ':') && is(before(2), ':') || is(Some(at + 1), ':') && is(Some(at + 2), ':')
}

/// How many of the tokens are one for rustc: signs that belong together, a lifetime, or one token.
pub(super) fn token_at(tokens: &[TokenTree]) -> usize {
    const SIGNS: &[&str] = &[
        "<<=", ">>=", "...", "..=", "&&", "||", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=",
        "<<", ">>", "->", "=>", "::", "..", "<-",
    ];
    let text: String = tokens
        .iter()
        .take(3)
        .map_while(|token| match token {
            TokenTree::Punct(sign) => Some(sign),
            _ => None,
        })
        .scan(true, |is_joint, sign| {
            let goes_on = *is_joint;
            *is_joint = sign.spacing() == Spacing::Joint;
            goes_on.then(|| sign.as_char())
        })
        .collect();
    if text == "'" {
        return 2;
    }
    SIGNS.iter().find(|sign| text.starts_with(**sign)).map_or(1, |sign| sign.len())
}

pub(super) fn is_sign(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

fn mentions_variable(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => mentions_variable(group.stream()),
        token => is_sign(&token, '$'),
    })
}

/// The names that the format strings of these parts show.
pub(super) fn formatted(parts: &[Part]) -> Vec<String> {
    let names = |part: &Part| match part {
        Part::Token(TokenTree::Literal(literal)) => format_names(&literal.to_string()).map(str::to_owned).collect(),
        Part::Group(_, inner) | Part::Repeat(Repeat { inner, .. }) => formatted(inner),
        _ => Vec::new(),
    };
    parts.iter().flat_map(names).collect()
}

fn with<T>(mut list: Vec<T>, one: T) -> Vec<T> {
    list.push(one);
    list
}
