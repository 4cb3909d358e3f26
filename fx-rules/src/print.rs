//! A pass as Rust: a unit struct, its rules in a `static`, and the engine to run them.

use fx_ir::Operator;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::parse::{PassDef, doc_of};
use crate::resolve::Resolved;
use crate::term::{Capture, Embedded, Kind, Literal, Pat, Tmpl};
use fx_ir::layers::FieldType;

/// The whole expansion of one pass; `krate` is the path of the crate that has the engine.
///
/// Everything below calls that crate `__fx`.
pub(crate) fn print(krate: &TokenStream, pass: &PassDef, rules: &[Resolved]) -> TokenStream {
    let PassDef { attrs, vis, name, .. } = pass;
    let (slug, doc) = (hyphened(&name.to_string()), one_line(&doc_of(attrs)));
    let rules = rules.iter().enumerate().map(|(at, rule)| print_rule(rule, &slug, at, rules.len()));
    let static_name = format_ident!("__FX_RULES");
    quote! {
        #(#attrs)*
        #[derive(Clone, Copy, Debug)]
        #vis struct #name;

        const _: () = {
            use #krate as __fx;

            static #static_name: __fx::rewrite::RuleSet = __fx::rewrite::RuleSet::new(&[#(#rules),*]);

            impl __fx::pass::Pass for #name {
                fn name(&self) -> &'static str {
                    #slug
                }

                fn doc(&self) -> &'static str {
                    #doc
                }

                fn run(
                    &self,
                    graph: &mut __fx::Graph,
                    cx: &__fx::pass::PassContext,
                ) -> __fx::pass::Changed {
                    #static_name.run(#slug, graph, cx).changed()
                }

                fn rules(&self) -> ::core::option::Option<&'static __fx::rewrite::RuleSet> {
                    ::core::option::Option::Some(&#static_name)
                }
            }
        };
    }
}

fn print_rule(rule: &Resolved, slug: &str, at: usize, count: usize) -> TokenStream {
    let name = match &rule.label {
        Some(label) => format!("{slug}.{}", hyphened(&label.to_string())),
        None if count == 1 => slug.to_owned(),
        None => format!("{slug}.{}", at + 1),
    };
    let (doc, [before, after, guard]) = (one_line(&rule.doc), &rule.text);
    let captures = rule.captures.iter().map(print_capture);
    let terms = rule.before.iter().map(print_pat);
    let guards = rule.guards.iter().map(|(condition, used)| {
        let lets = used.iter().map(|&slot| bind(&rule.captures, slot));
        let text = crate::parse::spelled(quote!(#condition));
        quote! {
            __fx::rewrite::Guard {
                text: #text,
                holds: {
                    #[allow(unused_imports, unused_parens, clippy::all, reason = "the guard as it was written")]
                    fn holds(found: &__fx::rewrite::Found<'_>) -> bool {
                        use __fx::rewrite::guard::*;
                        #(#lets)*
                        #condition
                    }
                    holds
                },
            }
        }
    });
    let computed = rule.computed.iter().map(|(value, used)| {
        let lets = used.iter().map(|&slot| bind(&rule.captures, slot));
        quote! {
            {
                #[allow(unused_imports, unused_braces, clippy::all, reason = "the value as it was written")]
                fn compute(found: &__fx::rewrite::Found<'_>) -> __fx::rewrite::Argument {
                    use __fx::rewrite::guard::*;
                    #(#lets)*
                    __fx::rewrite::IntoArgument::into_argument(#value)
                }
                compute
            }
        }
    });
    let lets = rule.lets.iter().map(|(names, value)| {
        let value = print_tmpl(value);
        quote!(__fx::rewrite::Let { names: &[#(#names),*], value: #value })
    });
    let values = rule.after.iter().map(print_tmpl);
    quote! {
        __fx::rewrite::Rule {
            name: #name,
            doc: #doc,
            text: __fx::rewrite::Text { before: #before, after: #after, guard: #guard },
            captures: &[#(#captures),*],
            before: &[#(#terms),*],
            guards: &[#(#guards),*],
            computed: &[#(#computed),*],
            lets: &[#(#lets),*],
            after: &[#(#values),*],
        }
    }
}

/// A capture as Rust sees it: a literal by its value, anything else as what can be asked.
fn bind(captures: &[Capture], slot: usize) -> TokenStream {
    let Capture { name, kind, .. } = &captures[slot];
    let method = match kind {
        Kind::Float => quote!(float),
        Kind::Int => quote!(int),
        Kind::Bool => quote!(bool),
        Kind::Ints => quote!(ints),
        Kind::Tensors => quote!(values),
        Kind::Value | Kind::Tensor | Kind::Module(_) => quote!(value),
    };
    quote!(let #name = found.#method(#slot);)
}

fn print_capture(capture: &Capture) -> TokenStream {
    let name = capture.name.to_string();
    let kind = match &capture.kind {
        Kind::Value => quote!(Value),
        Kind::Tensor => quote!(Tensor),
        Kind::Float => quote!(Float),
        Kind::Int => quote!(Int),
        Kind::Bool => quote!(Bool),
        Kind::Ints => quote!(Ints),
        Kind::Tensors => quote!(Tensors),
        Kind::Module(layer) => quote!(Module(#layer)),
    };
    quote!(__fx::rewrite::Capture { name: #name, kind: __fx::rewrite::Kind::#kind })
}

fn print_literal(literal: &Literal) -> TokenStream {
    match literal {
        Literal::Int(number) => quote!(Int(#number)),
        Literal::Float(number) => quote!(Float(#number)),
        Literal::Bool(value) => quote!(Bool(#value)),
        Literal::Str(text) => quote!(Str(#text)),
        Literal::Absent => quote!(Absent),
        Literal::Path(path) => quote!(Path(#path)),
    }
}

fn print_pat(pat: &Pat) -> TokenStream {
    let term = match pat {
        Pat::Any => quote!(Any),
        Pat::Capture(slot) => quote!(Capture(#slot)),
        Pat::Optional(slot) => quote!(Optional(#slot)),
        Pat::Rest(None) => quote!(Rest),
        Pat::Rest(Some(slot)) => quote!(RestOf(#slot)),
        Pat::Collect(slot) => quote!(Collect(#slot)),
        Pat::Repeat(inner) => {
            let inner = print_pat(inner);
            quote!(Repeat(&#inner))
        }
        Pat::Literal(literal) => print_literal(literal),
        Pat::List(parts) => {
            let parts = parts.iter().map(print_pat);
            quote!(List(&[#(#parts),*]))
        }
        Pat::Call(op, params) => {
            let name = op.name();
            let params = params.iter().map(|(position, name, part)| {
                let term = print_pat(part);
                quote!(__fx::rewrite::Param { position: #position, name: #name, term: #term })
            });
            quote!(Call(#name, &[#(#params),*]))
        }
        Pat::Operator(operator, parts) => {
            let (operator, parts) = (variant(*operator), parts.iter().map(print_pat));
            quote!(Operator(__fx::rewrite::Operator::#operator, &[#(#parts),*]))
        }
        Pat::Module(slot, parts) => {
            let parts = parts.iter().map(print_pat);
            quote!(Module(#slot, &[#(#parts),*]))
        }
        Pat::Field(slot, path) => quote!(Field(#slot, &[#(#path),*])),
        Pat::Either(parts) => {
            let parts = parts.iter().map(print_pat);
            quote!(Either(&[#(#parts),*]))
        }
        Pat::Named(slot, inner) => {
            let inner = print_pat(inner);
            quote!(Named(#slot, &#inner))
        }
    };
    quote!(__fx::rewrite::Term::#term)
}

fn print_tmpl(tmpl: &Tmpl) -> TokenStream {
    let template = match tmpl {
        Tmpl::Capture(slot) => quote!(Capture(#slot)),
        Tmpl::Let(at) => quote!(Let(#at)),
        Tmpl::Part(at, part) => quote!(Part(#at, #part)),
        Tmpl::Splice(slot) => quote!(Splice(#slot)),
        Tmpl::Literal(literal) => print_literal(literal),
        Tmpl::List(parts) => {
            let parts = parts.iter().map(print_tmpl);
            quote!(List(&[#(#parts),*]))
        }
        Tmpl::Call(op, args) => {
            let (name, args) = (op.name(), args.iter().map(print_tmpl));
            quote!(Call(#name, &[#(#args),*]))
        }
        Tmpl::Operator(operator, parts) => {
            let (operator, parts) = (variant(*operator), parts.iter().map(print_tmpl));
            quote!(Operator(__fx::rewrite::Operator::#operator, &[#(#parts),*]))
        }
        Tmpl::Neg(inner) => {
            let inner = print_tmpl(inner);
            quote!(Neg(&#inner))
        }
        Tmpl::Module(slot, args) => {
            let args = args.iter().map(print_tmpl);
            quote!(Module(#slot, &[#(#args),*]))
        }
        Tmpl::Field(slot, path) => {
            let path = path.iter().map(|(name, ty)| print_field(name, *ty));
            quote!(Field(#slot, &[#(#path),*]))
        }
        Tmpl::Or(parts) => {
            let parts = parts.iter().map(print_tmpl);
            quote!(Or(&[#(#parts),*]))
        }
        Tmpl::Computed(at) => quote!(Computed(#at)),
        Tmpl::Expr(op, args) => {
            let (name, words, args) = (op.name(), op.words(), args.iter().map(print_tmpl));
            quote!(Expr(#name, &[#(#words),*], &[#(#args),*]))
        }
        Tmpl::Rust { code, args, fallible, tensors, ty } => {
            let yields = ty.as_ref().map_or_else(|| quote!(Tensors(#tensors)), |ty| quote!(Rust(#ty)));
            let args = args.iter().map(print_tmpl);
            print_embedded(
                code,
                &quote! {
                    args: &[#(#args),*],
                    fallible: #fallible,
                    yields: __fx::rewrite::Yields::#yields,
                },
            )
        }
    };
    quote!(__fx::rewrite::Template::#template)
}

/// A step of a path through a layer, and what it yields.
fn print_field(name: &str, ty: FieldType) -> TokenStream {
    let ty = match ty {
        FieldType::Tensor => quote!(Tensor),
        FieldType::OptTensor => quote!(OptTensor),
        FieldType::Rust(spelling) => quote!(Rust(#spelling)),
        FieldType::Config(_) => quote!(Rust("_")),
    };
    quote!((#name, __fx::rewrite::FieldType::#ty))
}

fn variant(operator: Operator) -> TokenStream {
    match operator {
        Operator::Add => quote!(Add),
        Operator::Sub => quote!(Sub),
        Operator::Mul => quote!(Mul),
        Operator::Div => quote!(Div),
    }
}

/// Rust in a replacement, beside what its two kinds have in common.
fn print_embedded(code: &Embedded, rest: &TokenStream) -> TokenStream {
    match code {
        Embedded::Op(op) => {
            let (name, words) = (op.name(), op.words());
            quote!(Host(__fx::rewrite::HostCall { name: #name, words: &[#(#words),*], #rest }))
        }
        Embedded::Text(template, form) => {
            let form = quote::format_ident!("{form}");
            quote!(Rust(__fx::rewrite::Rust { template: #template, form: __fx::rewrite::RustForm::#form, #rest }))
        }
    }
}

/// `SigmoidToSilu` as `sigmoid-to-silu`, `gelu_tanh` as `gelu-tanh`.
fn hyphened(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.extend(if c == '_' { '-' } else { c }.to_lowercase());
    }
    out
}

/// A sentence as the passes' one-line docs are: no full stop, and no capital where the first word is an ordinary one.
fn one_line(doc: &str) -> String {
    let doc = doc.trim_end_matches('.');
    let mut chars = doc.chars();
    match (chars.next(), doc.chars().nth(1)) {
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain(chars).collect(),
        _ => doc.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_hyphens() {
        assert_eq!(["SigmoidToSilu", "gelu_tanh", "X"].map(hyphened), ["sigmoid-to-silu", "gelu-tanh", "x"]);
    }
}
