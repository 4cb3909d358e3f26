//! Which rule a call takes, and what its fragments are.
//!
//! rustc accepts no macro call whose reading is ambiguous, so that to take as much as there is for each repetition finds what
//! rustc finds.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser};

use super::definition::{Count, Kind, Matcher, Repeat, token_at};

/// What a variable of a rule stands for.
#[derive(Clone, Debug)]
pub(super) enum Bound {
    One(TokenStream),
    Each(Vec<Bound>),
}

pub(super) type Bindings = BTreeMap<String, Bound>;

/// What the variables stand for if the tokens are what the matcher asks for.
pub(super) fn matched(matcher: &[Matcher], tokens: &[TokenTree]) -> Option<Bindings> {
    let mut bound = Bindings::new();
    taken(matcher, tokens, &mut bound)?.is_empty().then_some(bound)
}

/// What is left of the tokens behind what the matchers take.
fn taken<'t>(matchers: &[Matcher], tokens: &'t [TokenTree], bound: &mut Bindings) -> Option<&'t [TokenTree]> {
    matchers.iter().try_fold(tokens, |tokens, matcher| match matcher {
        Matcher::Token(token) => behind(token, tokens),
        Matcher::Group(delimiter, inner) => {
            let Some((TokenTree::Group(group), behind)) = tokens.split_first() else { return None };
            let held: Vec<TokenTree> = group.stream().into_iter().collect();
            let is_it = group.delimiter() == *delimiter && taken(inner, &held, bound)?.is_empty();
            is_it.then_some(behind)
        }
        Matcher::Fragment(name, kind) => {
            let (fragment, count) = fragment(*kind, tokens)?;
            bound.insert(name.clone(), Bound::One(fragment));
            tokens.get(count..)
        }
        Matcher::Repeat(repeat) => repeated(repeat, tokens, bound),
    })
}

fn repeated<'t>(repeat: &Repeat<Matcher>, tokens: &'t [TokenTree], bound: &mut Bindings) -> Option<&'t [TokenTree]> {
    let mut each: BTreeMap<String, Vec<Bound>> = names(&repeat.inner).map(|name| (name, Vec::new())).collect();
    let (mut rest, mut count) = (tokens, 0_usize);
    while !rest.is_empty() && (count == 0 || repeat.count != Count::AtMostOnce) {
        let next = if count == 0 { Some(rest) } else { behind(&repeat.separator, rest) };
        let mut found = Bindings::new();
        let Some(left) = next.and_then(|next| taken(&repeat.inner, next, &mut found)) else { break };
        if left.len() == rest.len() {
            break;
        }
        for (name, one) in found {
            each.entry(name).or_default().push(one);
        }
        (rest, count) = (left, count + 1);
    }
    if repeat.count == Count::AtLeastOnce && count == 0 {
        return None;
    }
    bound.extend(each.into_iter().map(|(name, all)| (name, Bound::Each(all))));
    Some(rest)
}

/// The variables of the matchers.
fn names(matchers: &[Matcher]) -> Box<dyn Iterator<Item = String> + '_> {
    Box::new(matchers.iter().flat_map(|matcher| -> Box<dyn Iterator<Item = String>> {
        match matcher {
            Matcher::Token(_) => Box::new(std::iter::empty()),
            Matcher::Fragment(name, _) => Box::new(std::iter::once(name.clone())),
            Matcher::Group(_, inner) | Matcher::Repeat(Repeat { inner, .. }) => names(inner),
        }
    }))
}

/// What is left behind this token, of however many signs; `None` where another one stands there.
fn behind<'t>(token: &[TokenTree], tokens: &'t [TokenTree]) -> Option<&'t [TokenTree]> {
    let is_same = |(a, b): (&TokenTree, &TokenTree)| match (a, b) {
        (TokenTree::Ident(a), TokenTree::Ident(b)) => a == b,
        (TokenTree::Punct(a), TokenTree::Punct(b)) => a.as_char() == b.as_char(),
        (TokenTree::Literal(a), TokenTree::Literal(b)) => a.to_string() == b.to_string(),
        _ => false,
    };
    if token.is_empty() {
        return Some(tokens);
    }
    let (found, behind) = tokens.split_at_checked(token_at(tokens))?;
    (found.len() == token.len() && token.iter().zip(found).all(is_same)).then_some(behind)
}

/// The fragment at the beginning of the tokens, as it is put in, and how many of them it is. What rustc hands on as one thing
/// is one group without brackets.
fn fragment(kind: Kind, tokens: &[TokenTree]) -> Option<(TokenStream, usize)> {
    let first = tokens.first()?;
    let count = match kind {
        Kind::Tt => token_at(tokens),
        Kind::Ident => match first {
            TokenTree::Ident(name) if name != "_" => 1,
            _ => return None,
        },
        Kind::Lifetime => parsed(tokens, |input| input.parse::<syn::Lifetime>().map(drop))?,
        Kind::Literal => {
            let sign = usize::from(matches!(first, TokenTree::Punct(sign) if sign.as_char() == '-'));
            parsed(tokens.get(sign..)?, |input| input.parse::<syn::Lit>().map(drop))? + sign
        }
        Kind::Expr => parsed(tokens, |input| input.parse::<syn::Expr>().map(drop))?,
        Kind::Ty => parsed(tokens, |input| input.parse::<syn::Type>().map(drop))?,
        Kind::Path => parsed(tokens, |input| input.parse::<syn::Path>().map(drop))?,
        Kind::Block => parsed(tokens, |input| input.parse::<syn::Block>().map(drop))?,
        Kind::Pat => parsed(tokens, |input| syn::Pat::parse_multi_with_leading_vert(input).map(drop))?,
        Kind::PatParam => parsed(tokens, |input| syn::Pat::parse_single(input).map(drop))?,
    };
    let fragment: TokenStream = tokens.get(..count)?.iter().cloned().collect();
    Some((if is_one(kind) { as_one(fragment) } else { in_brackets(kind, fragment) }, count))
}

fn is_one(kind: Kind) -> bool {
    matches!(kind, Kind::Expr | Kind::Ty | Kind::Literal)
}

/// A pattern of several cases stays one pattern.
fn in_brackets(kind: Kind, fragment: TokenStream) -> TokenStream {
    let is_several = |tokens: &TokenStream| {
        let pat = syn::Pat::parse_multi_with_leading_vert.parse2(tokens.clone());
        matches!(pat, Ok(syn::Pat::Or(_)))
    };
    let is_open = kind == Kind::Pat && is_several(&fragment);
    if is_open { TokenTree::Group(Group::new(Delimiter::Parenthesis, fragment)).into() } else { fragment }
}

fn as_one(fragment: TokenStream) -> TokenStream {
    let mut trees = fragment.clone().into_iter();
    let (first, second) = (trees.next(), trees.next());
    if matches!((&first, &second), (Some(TokenTree::Group(group)), None) if group.delimiter() == Delimiter::None) {
        return fragment;
    }
    let mut group = Group::new(Delimiter::None, fragment);
    group.set_span(first.map_or_else(Span::call_site, |first| first.span()));
    TokenTree::Group(group).into()
}

/// How many of the tokens `parse` takes.
fn parsed(tokens: &[TokenTree], parse: impl FnOnce(ParseStream) -> syn::Result<()>) -> Option<usize> {
    let stream: TokenStream = tokens.iter().cloned().collect();
    let parser = |input: ParseStream| {
        parse(input)?;
        input.parse::<TokenStream>()
    };
    let rest = parser.parse2(stream).ok()?;
    tokens.len().checked_sub(rest.into_iter().count()).filter(|count| *count > 0)
}
