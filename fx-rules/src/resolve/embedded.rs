//! Rust inside a replacement: `rust!(..)`, in which captures stand for their values.
//!
//! What the table of host operations has is read as such, so that passes see what it does: calls, methods, fields, indices,
//! operators, casts, tuples, lists and what is made of them. Anything else, such as closures, blocks and macros, stays text
//! that is carried into the generated code.

use fx_ir::HostOp;
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::{Expr, UnOp};

use super::Resolver;
use crate::parse::spelled;
use crate::term::{Embedded, Literal, Tmpl};

impl Resolver<'_> {
    /// `rust!(path(&conv.ws, bn)?; Type)`; without a type it yields a tensor.
    pub(crate) fn tmpl_rust(&mut self, tokens: &TokenStream) -> Tmpl {
        let mut tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
        let is_semicolon = |token: &TokenTree| matches!(token, TokenTree::Punct(sign) if sign.as_char() == ';');
        let ty = tokens.iter().position(is_semicolon).map(|at| {
            let ty: TokenStream = tokens.drain(at..).skip(1).collect();
            spelled(ty)
        });
        let fallible = matches!(tokens.last(), Some(TokenTree::Punct(sign)) if sign.as_char() == '?');
        if fallible {
            tokens.pop();
        }
        let tokens: TokenStream = tokens.into_iter().collect();
        let expr = syn::parse2::<Expr>(tokens.clone()).ok();
        if let Some((op, args)) = expr.as_ref().and_then(|expr| self.operation(expr)) {
            return Tmpl::Rust { code: Embedded::Op(op), args, fallible, tensors: 1, ty };
        }
        let form = match expr {
            Some(Expr::Block(_)) => "Block",
            Some(Expr::Reference(_)) => "Reference",
            _ => "Value",
        };
        let mut args = Vec::new();
        let filled = self.holes(tokens, &mut args);
        let template = spelled(filled).replace("__hole", "$");
        Tmpl::Rust { code: Embedded::Text(template, form), args, fallible, tensors: 1, ty }
    }

    /// The host operation that an expression is; None of what the table does not have, which stays text.
    fn operation(&mut self, expr: &Expr) -> Option<(HostOp, Vec<Tmpl>)> {
        Some(match expr {
            Expr::Paren(inner) => self.operation(&inner.expr)?,
            Expr::Call(call) => {
                let Expr::Path(path) = &*call.func else { return None };
                let is_value = path.path.get_ident().is_some_and(|name| self.known(name).is_some());
                if is_value {
                    return None;
                }
                (called(path), self.operands(&call.args)?)
            }
            Expr::MethodCall(call) if call.turbofish.is_none() => {
                let mut args = vec![self.receiver(&call.receiver)?];
                args.extend(self.operands(&call.args)?);
                (HostOp::Method(call.method.to_string()), args)
            }
            Expr::Field(field) => {
                (HostOp::Field(spelled(field.member.to_token_stream())), vec![self.receiver(&field.base)?])
            }
            Expr::Index(index) => (HostOp::Item, vec![self.receiver(&index.expr)?, self.operand(&index.index)?]),
            Expr::Reference(reference) if reference.mutability.is_none() => {
                (HostOp::Ref, vec![self.operand(&reference.expr)?])
            }
            Expr::Unary(unary) => {
                let op = match unary.op {
                    UnOp::Neg(_) => HostOp::Neg,
                    UnOp::Not(_) => HostOp::Not,
                    _ => return None,
                };
                (op, vec![self.operand(&unary.expr)?])
            }
            Expr::Binary(binary) => {
                let sign = spelled(binary.op.to_token_stream());
                let computes = !sign.ends_with('=') || matches!(sign.as_str(), "==" | "!=" | "<=" | ">=");
                let op = computes.then_some(HostOp::Binary(sign))?;
                (op, vec![self.operand(&binary.left)?, self.operand(&binary.right)?])
            }
            Expr::Cast(cast) => (HostOp::Cast(spelled(cast.ty.to_token_stream())), vec![self.operand(&cast.expr)?]),
            Expr::Tuple(tuple) if !tuple.elems.is_empty() => (HostOp::Tuple, self.operands(&tuple.elems)?),
            Expr::Array(array) => (HostOp::Array, self.operands(&array.elems)?),
            Expr::Macro(call) if call.mac.path.is_ident("vec") => {
                let items = call.mac.parse_body_with(Punctuated::<Expr, syn::Token![,]>::parse_terminated).ok()?;
                (HostOp::Vec, self.operands(&items)?)
            }
            Expr::Path(_) | Expr::Lit(_) => (HostOp::Use, vec![self.operand(expr)?]),
            _ => return None,
        })
    }

    fn operands<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) -> Option<Vec<Tmpl>> {
        exprs.into_iter().map(|expr| self.operand(expr)).collect()
    }

    /// The receiver of a method, a field or an index: a reference there would bind less tightly than it does.
    fn receiver(&mut self, expr: &Expr) -> Option<Tmpl> {
        let mut bare = expr;
        while let Expr::Paren(inner) = bare {
            bare = &inner.expr;
        }
        if matches!(bare, Expr::Reference(_)) { None } else { self.operand(bare) }
    }

    /// An operand: a capture, a literal, a path, or an operation.
    fn operand(&mut self, expr: &Expr) -> Option<Tmpl> {
        Some(match expr {
            Expr::Paren(inner) => self.operand(&inner.expr)?,
            Expr::Lit(lit) => match &lit.lit {
                syn::Lit::Int(int) if int.suffix().is_empty() => Tmpl::Literal(Literal::Int(int.base10_parse().ok()?)),
                syn::Lit::Float(float) if float.suffix().is_empty() => {
                    Tmpl::Literal(Literal::Float(float.base10_parse().ok()?))
                }
                syn::Lit::Bool(known) => Tmpl::Literal(Literal::Bool(known.value)),
                syn::Lit::Str(text) => Tmpl::Literal(Literal::Str(text.value())),
                _ => return None,
            },
            Expr::Path(path) => match path.path.get_ident() {
                Some(name) if name == "None" => Tmpl::Literal(Literal::Absent),
                Some(name) => self
                    .known(name)
                    .map_or_else(|| Tmpl::Literal(Literal::Path(name.to_string())), |known| self.used(known)),
                None => Tmpl::Literal(Literal::Path(spelled(path.to_token_stream()))),
            },
            other => {
                let (op, args) = self.operation(other)?;
                Tmpl::Expr(op, args)
            }
        })
    }

    /// The tokens with every capture replaced by its hole.
    fn holes(&mut self, tokens: TokenStream, args: &mut Vec<Tmpl>) -> TokenStream {
        let mut after_dot = false;
        let mut out = TokenStream::new();
        for token in tokens {
            let is_dot = matches!(&token, TokenTree::Punct(sign) if sign.as_char() == '.');
            let token = match token {
                TokenTree::Group(group) => {
                    let inner = self.holes(group.stream(), args);
                    TokenTree::Group(proc_macro2::Group::new(group.delimiter(), inner))
                }
                TokenTree::Ident(name) if !after_dot => self.hole(&name, args).unwrap_or(TokenTree::Ident(name)),
                other => other,
            };
            after_dot = is_dot;
            token.to_tokens(&mut out);
        }
        out
    }

    fn hole(&mut self, name: &Ident, args: &mut Vec<Tmpl>) -> Option<TokenTree> {
        let known = self.known(name)?;
        args.push(self.used(known));
        Some(TokenTree::Ident(Ident::new(&format!("__hole{}", args.len() - 1), name.span())))
    }

    /// The capture or the value of a `let` that the name stands for.
    fn known(&self, name: &Ident) -> Option<Tmpl> {
        let bound = self.let_names.iter().rev().find(|(known, _)| name == known).map(|(_, value)| value.clone());
        bound.or_else(|| self.slot_of(name).map(Tmpl::Capture))
    }

    /// The value, which the replacement reads.
    fn used(&mut self, known: Tmpl) -> Tmpl {
        if let Tmpl::Capture(slot) = known {
            self.captures[slot].used += 1;
        }
        known
    }
}

/// The operation that calls the function at a path.
fn called(path: &syn::ExprPath) -> HostOp {
    let segments = &path.path.segments;
    let of_runtime = path.path.leading_colon.filter(|_| segments[0].ident == "fx_runtime").and(segments.get(1));
    let rest: Punctuated<_, syn::Token![::]> = segments.iter().skip(2).collect();
    let rest = spelled(rest.to_token_stream());
    match of_runtime {
        Some(module) if module.ident == "frozen" => HostOp::Runtime(rest),
        Some(module) if module.ident == "nn" => HostOp::Nn(rest),
        _ if path.path.is_ident("Some") => HostOp::Some,
        _ => HostOp::Call(spelled(path.to_token_stream())),
    }
}
