//! `Key`: how the build script and the macro know that they speak of the same item.
//!
//! Both see the same source, but not the same tokens: rustc expands `cfg_attr`, turns doc comments into attributes and
//! forgets how punctuation was spaced. What survives is the sequence of *leaf tokens* of the type, the entry's signature
//! and its body, without attributes. Its hash is the key, and a position in it finds a token again on the other side.

use std::fmt;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Block, Signature, Type};

/// The identity of a `#[traceable]` item: its name and a hash of its code.
///
/// Two items with the same type name, signature and body have the same key; their files and lines tell them apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The type's name without path and generics, or the name of the free function.
    pub name: String,
    /// FNV-1a over the leaf tokens.
    pub hash: u64,
}

impl Key {
    /// The key of an impl for `self_ty` whose entry has this signature and body.
    pub fn of_method(self_ty: &Type, sig: &Signature, block: &Block) -> Key {
        let mut all = Vec::new();
        collect(self_ty.to_token_stream(), &mut all);
        all.extend(leaves(sig, block));
        Key { name: type_name(self_ty), hash: hash(&all) }
    }

    /// The key of a function of an impl for `self_ty` that is no entry.
    pub fn of_constructor(self_ty: &Type, sig: &Signature, block: &Block) -> Key {
        let Key { name, hash } = Key::of_method(self_ty, sig, block);
        Key { name: format!("{name}_{}", plain(&sig.ident.to_string())), hash }
    }

    /// The key of a free function.
    pub fn of_fn(sig: &Signature, block: &Block) -> Key {
        Key { name: plain(&sig.ident.to_string()), hash: hash(&leaves(sig, block)) }
    }

    /// Reads what [`Display`](fmt::Display) writes.
    pub fn parse(text: &str) -> Option<Key> {
        let (name, hash) = text.split_once('#')?;
        Some(Key { name: name.to_owned(), hash: u64::from_str_radix(hash, 16).ok()? })
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{:016x}", self.name, self.hash)
    }
}

/// A token that holds no other; the two delimiters of a group count as one each.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The token as text.
    pub text: String,
    /// Where it is.
    pub span: Span,
}

/// The leaf tokens of an entry, attributes left out, depth first: first those of its signature, then of its body.
pub fn leaves(sig: &Signature, block: &Block) -> Vec<Leaf> {
    let mut all = Vec::new();
    collect(sig.to_token_stream(), &mut all);
    collect(block.to_token_stream(), &mut all);
    all
}

/// The first and the last leaf that lie within `span`, which is of the same parsed file; `None` if none does.
pub fn leaf_range(leaves: &[Leaf], span: Span) -> Option<(usize, usize)> {
    let (file, start, end) = (span.file(), span.start(), span.end());
    let is_within = |leaf: &Leaf| leaf.span.start() >= start && leaf.span.end() <= end && leaf.span.file() == file;
    let first = leaves.iter().position(is_within)?;
    let last = leaves.iter().rposition(is_within)?;
    Some((first, last))
}

fn collect(tokens: TokenStream, into: &mut Vec<Leaf>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                let bang = tokens.next_if(|next| matches!(next, TokenTree::Punct(next) if next.as_char() == '!'));
                let attribute = |next: &TokenTree| matches!(next, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket);
                if tokens.next_if(attribute).is_none() {
                    into.push(Leaf { text: "#".to_owned(), span: punct.span() });
                    into.extend(bang.map(|bang| Leaf { text: "!".to_owned(), span: bang.span() }));
                }
            }
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    // What a `macro_rules` fragment leaves behind; no such thing stands in a file.
                    Delimiter::None => {
                        collect(group.stream(), into);
                        continue;
                    }
                };
                into.push(Leaf { text: open.to_owned(), span: group.span_open() });
                collect(group.stream(), into);
                into.push(Leaf { text: close.to_owned(), span: group.span_close() });
            }
            // rustc reads a file with Windows' line ends as if it had Unix's.
            TokenTree::Literal(literal) => {
                into.push(Leaf { text: literal.to_string().replace("\r\n", "\n"), span: literal.span() });
            }
            leaf => into.push(Leaf { text: leaf.to_string(), span: leaf.span() }),
        }
    }
}

/// Over the tokens' texts, a zero byte after each.
fn hash(leaves: &[Leaf]) -> u64 {
    fnv(leaves.iter().flat_map(|leaf| leaf.text.bytes().chain([0])))
}

/// FNV-1a, 64 bits (<http://www.isthe.com/chongo/tech/comp/fnv>).
///
/// The hash of the standard library may differ from one release to the next, and a build script may have been built by
/// another one than the macro.
pub fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    bytes.fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

pub(crate) fn type_name(ty: &Type) -> String {
    match ty {
        Type::Path(path) => path.path.segments.last().map_or_else(String::new, |last| plain(&last.ident.to_string())),
        Type::Reference(inner) => type_name(&inner.elem),
        Type::Paren(inner) => type_name(&inner.elem),
        Type::Group(inner) => type_name(&inner.elem),
        _ => "Unnamed".to_owned(),
    }
}

fn plain(ident: &str) -> String {
    ident.trim_start_matches("r#").to_owned()
}

#[cfg(test)]
mod tests {
    use proc_macro2::{Group, Punct, Spacing};

    use super::*;

    const SOURCE: &str = r#"
        /// A block.
        #[cfg_attr(feature = "x", inline)]
        impl crate::model::Block<'_> {
            /// Runs it.
            pub fn forward(&self, r#in: &Tensor) -> Tensor {
                //! Inner.
                #[cfg(feature = "x")]
                let ys = r#in.relu() && x.0.1 <<= -1.5e3_f64;
                /* gone */ println!("a\
                    b {}", b'c', 'd', r"e"); // gone
                'outer: for (i, l) in self.layers.iter().enumerate() { if i != 0 || l >= 2 { break 'outer } }
                match ys { A | B => {} #[allow(x)] _ => () }
                ys::<i64>(|a| a..=b)
            }
        }
    "#;

    fn key(file: &syn::File) -> (Key, usize) {
        let syn::Item::Impl(item) = &file.items[0] else { unreachable!("an impl") };
        let syn::ImplItem::Fn(entry) = &item.items[0] else { unreachable!("a function") };
        (Key::of_method(&item.self_ty, &entry.sig, &entry.block), leaves(&entry.sig, &entry.block).len())
    }

    fn parse(source: &str) -> syn::File {
        syn::parse_file(source).expect("the source parses")
    }

    /// As rustc hands them over to a macro: doc comments as attributes, each punctuation's spacing as it pleases.
    fn odd(tokens: TokenStream) -> TokenStream {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let is_punct = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(_)));
        let odd = tokens.iter().enumerate().map(|(at, token)| match token {
            TokenTree::Punct(punct) if punct.as_char() != '\'' && !is_punct(at + 1) => {
                Punct::new(punct.as_char(), Spacing::Joint).into()
            }
            TokenTree::Group(group) => Group::new(group.delimiter(), odd(group.stream())).into(),
            other => other.clone(),
        });
        odd.collect()
    }

    #[test]
    fn is_the_same_from_a_file_and_from_a_macros_tokens() {
        let from_file = key(&parse(SOURCE));
        let tokens: TokenStream = SOURCE.parse().expect("the source has tokens");
        assert_eq!(key(&syn::parse2(odd(tokens.clone())).expect("odd tokens parse")), from_file);
        let spaced = tokens.to_string().replace(" (", "\n(").replace("< ", "<\t");
        assert_eq!(key(&parse(&spaced)), from_file);
        assert_eq!(key(&parse(&SOURCE.replace('\n', "\r\n"))), from_file);
    }

    #[test]
    fn ignores_attributes_and_invisible_groups() {
        let plain = "impl crate::model::Block<'_> { fn f(&self) -> i64 { self.a + 1 } }";
        let dressed = "#[a] impl crate::model::Block<'_> { #[b] pub fn f(&self) -> i64 { #![c] #[d(e)] self.a + 1 } }";
        assert_eq!(key(&parse(plain)), key(&parse(dressed)));
        let one = Group::new(Delimiter::None, quote::quote!(1));
        let grouped = syn::parse_quote!(impl crate::model::Block<'_> { fn f(&self) -> i64 { self.a + #one } });
        assert_eq!(key(&parse(plain)), key(&grouped));
    }

    #[test]
    fn differs_where_the_code_does() {
        let base = "impl Block { fn f(&self) -> i64 { g(a)(b) } }";
        for other in ["g(a(b))", "g(a)(c)", "g(a)((b))", "g(ab)()", "r#g(a)(b)", "g(\"a\")(b)"] {
            assert_ne!(key(&parse(base)).0, key(&parse(&base.replace("g(a)(b)", other))).0, "{other}");
        }
        assert_ne!(key(&parse(base)).0.hash, key(&parse(&base.replace("Block", "Other"))).0.hash);
    }

    #[test]
    fn is_stable_and_reads_its_own_text() {
        let (key, _) = key(&parse("impl Net<f32> { fn forward(&self) {} }"));
        assert_eq!(key.to_string(), "Net#dd7aaff904e65aa5");
        assert_eq!(Key::parse(&key.to_string()), Some(key));
        assert_eq!(Key::parse("Net"), None);
    }

    #[test]
    fn finds_tokens_by_their_place() {
        let file = parse("fn f(x: &T) -> T {\n    x.relu(self.conv1)\n}");
        let syn::Item::Fn(item) = &file.items[0] else { unreachable!("a function") };
        let all = leaves(&item.sig, &item.block);
        let texts =
            |span| leaf_range(&all, span).map(|(first, last)| (all[first].text.as_str(), all[last].text.as_str()));
        assert_eq!(texts(item.sig.ident.span()), Some(("f", "f")));
        assert_eq!(texts(item.block.brace_token.span.join()), Some(("{", "}")));
        let syn::Stmt::Expr(call, None) = &item.block.stmts[0] else { unreachable!("an expression") };
        assert_eq!(texts(syn::spanned::Spanned::span(call)), Some(("x", ")")));
        assert_eq!(texts(Span::call_site()), None);
        let other = parse("fn f(x: &T) -> T {\n    x.relu(self.conv1)\n}");
        assert_eq!(texts(syn::spanned::Spanned::span(&other)), None, "the same place in another file");
    }
}
