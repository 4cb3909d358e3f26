//! What a rule makes of a call: its tokens, with what the call gave it.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};

pub(super) use super::definition::formatted;
use super::definition::{Part, Repeat};
use super::hygiene::marked;
use super::matching::{Bindings, Bound};
use crate::syntax::substitute::placed;

/// The tokens of the parts, at the place of the call; `None` where they repeat what the call has in another number.
pub(super) fn written(parts: &[Part], bindings: &Bindings, span: Span) -> Option<TokenStream> {
    let mut out = TokenStream::new();
    for part in parts {
        match part {
            Part::Token(token) => out.extend(placed(token.clone().into(), span)),
            Part::Name(name) => out.extend([TokenTree::Ident(Ident::new(&marked(name), span))]),
            Part::Variable(name) => match bindings.get(name)? {
                Bound::One(tokens) => out.extend(tokens.clone()),
                Bound::Each(_) => return None,
            },
            Part::Group(delimiter, inner) => {
                let mut group = Group::new(*delimiter, written(inner, bindings, span)?);
                group.set_span(span);
                out.extend([TokenTree::Group(group)]);
            }
            Part::Repeat(repeat) => {
                for (at, bindings) in iterations(repeat, bindings)?.iter().enumerate() {
                    if at > 0 {
                        out.extend(placed(repeat.separator.iter().cloned().collect(), span));
                    }
                    out.extend(written(&repeat.inner, bindings, span)?);
                }
            }
        }
    }
    Some(out)
}

/// What the variables stand for in each iteration.
fn iterations(repeat: &Repeat<Part>, bindings: &Bindings) -> Option<Vec<Bindings>> {
    let mut names = Vec::new();
    mentioned(&repeat.inner, &mut names);
    let repeated: Vec<(&String, &Vec<Bound>)> = names
        .into_iter()
        .filter_map(|name| match bindings.get(name) {
            Some(Bound::Each(all)) => Some((name, all)),
            _ => None,
        })
        .collect();
    let count = repeated.first()?.1.len();
    if repeated.iter().any(|(_, all)| all.len() != count) {
        return None;
    }
    let iteration = |at: usize| {
        let mut inner = bindings.clone();
        inner.extend(repeated.iter().filter_map(|(name, all)| Some(((*name).clone(), all.get(at)?.clone()))));
        inner
    };
    Some((0..count).map(iteration).collect())
}

/// The variables that the parts mention.
fn mentioned<'p>(parts: &'p [Part], names: &mut Vec<&'p String>) {
    for part in parts {
        match part {
            Part::Variable(name) => names.push(name),
            Part::Group(_, inner) | Part::Repeat(Repeat { inner, .. }) => mentioned(inner, names),
            Part::Token(_) | Part::Name(_) => {}
        }
    }
}
