//! Checks and panics of the user's, in whatever file they stand: a check is control flow one side of which does not come
//! back.

use fx_ir::{Arg, Effect, HostOp};
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Expr, parse_quote_spanned, spanned::Spanned};

use crate::syntax::comma_operands;
use crate::trace::types::operand::typed_literal;
use crate::trace::types::ty::{is_copy, is_untyped, never};
use crate::trace::{Result, Tracer, Ty, Val, desugar::format_string, unsupported};

/// What a panic says: text, or a format string where there are operands.
#[derive(Clone, Default)]
pub(in crate::trace) struct Message {
    text: String,
    operands: Vec<Arg>,
}

impl Message {
    fn of_text(text: impl Into<String>) -> Message {
        Message { text: text.into(), operands: Vec::new() }
    }

    /// As a format string.
    fn template(&self) -> String {
        if self.operands.is_empty() { self.text.replace('{', "{{").replace('}', "}}") } else { self.text.clone() }
    }

    /// The two, one behind the other.
    fn then(self, next: Message) -> Message {
        if self.operands.is_empty() && next.operands.is_empty() {
            return Message::of_text(self.text + &next.text);
        }
        let text = self.template() + &next.template();
        Message { text, operands: self.operands.into_iter().chain(next.operands).collect() }
    }

    /// The operand that is the text.
    pub(in crate::trace) fn operand(self) -> Arg {
        HostOp::Format(self.template()).of(self.operands)
    }
}

impl Tracer<'_> {
    /// `panic!(..)` and what is short for it.
    pub(in crate::trace) fn panics(&mut self, mac: &syn::Macro, name: &str) -> Result<Val> {
        let args = arguments(mac)?;
        let (alone, before) = match name {
            "unreachable" => ("internal error: entered unreachable code", "internal error: entered unreachable code: "),
            "todo" => ("not yet implemented", "not yet implemented: "),
            "unimplemented" => ("not implemented", "not implemented: "),
            _ => ("explicit panic", ""),
        };
        let message = match args.as_slice() {
            [] => Message::of_text(alone),
            args => Message::of_text(before).then(self.message(args, mac.span())?),
        };
        Ok(self.panic(message, mac.span()))
    }

    /// `assert!`, `assert_eq!` or `assert_ne!`.
    pub(in crate::trace) fn asserts(&mut self, mac: &syn::Macro, name: &str) -> Result<Val> {
        let (args, span) = (arguments(mac)?, mac.span());
        match (name, args.as_slice()) {
            ("assert", [condition, said @ ..]) => {
                let source = written(condition);
                if source.is_none() && said.is_empty() {
                    return unsupported(span, "an assertion that a macro has written");
                }
                self.if_true(condition, span, &mut |_| Ok(Val::Unit), &mut |tracer| {
                    let message = match said {
                        [] => Message::of_text(format!("assertion failed: {}", source.clone().unwrap_or_default())),
                        said => tracer.message(said, span)?,
                    };
                    Ok(tracer.panic(message, span))
                })
            }
            (_, [left, right, said @ ..]) => self.asserts_alike(name == "assert_eq", [left, right], said, span),
            _ => unsupported(span, "an assertion of this form"),
        }
    }

    fn asserts_alike(&mut self, is_equal: bool, sides: [&Expr; 2], said: &[Expr], span: Span) -> Result<Val> {
        const SIDES: [&str; 2] = ["fx_left", "fx_right"];
        let values = [self.expr(sides[0])?, self.expr(sides[1])?];
        let both = self.sides(sides, &values, span)?;
        let (sign, condition): (&str, Expr) = if is_equal {
            ("==", parse_quote_spanned!(span=> fx_left == fx_right))
        } else {
            ("!=", parse_quote_spanned!(span=> fx_left != fx_right))
        };
        let variables: Vec<(String, Val)> = SIDES.iter().map(ToString::to_string).zip(values).collect();
        self.with_variables(&variables, |tracer| {
            tracer.if_true(&condition, span, &mut |_| Ok(Val::Unit), &mut |tracer| {
                let mut message = Message::of_text(format!("assertion `left {sign} right` failed"));
                if !said.is_empty() {
                    message = message.then(Message::of_text(": ")).then(tracer.message(said, span)?);
                }
                Ok(tracer.panic(message.then(both.clone()), span))
            })
        })
    }

    /// What an assertion says of its two sides: their values, or as [`Tracer::message`] what is written.
    fn sides(&mut self, sides: [&Expr; 2], values: &[Val; 2], span: Span) -> Result<Message> {
        let mark = self.checkpoint();
        let shown = values.iter().map(|value| self.format_operand(value, span)).collect::<Result<Vec<Arg>>>();
        shown.map(|operands| Message { text: "\n  left: {:?}\n right: {:?}".to_owned(), operands }).or_else(|fault| {
            self.rollback(mark);
            let [left, right] = sides.map(source_of);
            if self.is_home() { Err(fault) } else { Ok(Message::of_text(format!("\n  left: {left}\n right: {right}"))) }
        })
    }

    /// What the arguments of a formatting macro say. In a file whose names generated code cannot spell, what cannot be
    /// computed is said as it is written.
    pub(in crate::trace) fn message(&mut self, args: &[Expr], span: Span) -> Result<Message> {
        let mark = self.checkpoint();
        self.formatted(args, span).or_else(|fault| {
            self.rollback(mark);
            let written: Vec<String> = args.iter().map(source_of).collect();
            if self.is_home() { Err(fault) } else { Ok(Message::of_text(written.join(", "))) }
        })
    }

    fn formatted(&mut self, args: &[Expr], span: Span) -> Result<Message> {
        let Some((text, values)) = format_string::positional(args) else {
            return unsupported(span, "a message of this form");
        };
        if values.is_empty() {
            return Ok(Message::of_text(text.replace("{{", "{").replace("}}", "}")));
        }
        let mut operands = Vec::new();
        for value in &values {
            let value = self.expr(value)?;
            operands.push(self.format_operand(&value, span)?);
        }
        Ok(Message { text, operands })
    }

    /// The value as an operand of a formatting macro, which looks at it by reference.
    fn format_operand(&mut self, value: &Val, span: Span) -> Result<Arg> {
        fn is_plain(value: &Val) -> bool {
            match value {
                Val::Some(inner) => is_plain(inner),
                other => matches!(other, Val::Node(..) | Val::Lit(..) | Val::List(_) | Val::Tuple(_)),
            }
        }
        if !is_plain(value) || !self.is_shown(&value.ty()) {
            return unsupported(span, "a message that shows what is not known");
        }
        match value {
            // A literal looks the same in any type that it fits into.
            Val::Lit(number @ Arg::Int(_), ty) if is_untyped(ty) => {
                Ok(typed_literal(number, &Ty::Rust("i64".to_owned())))
            }
            Val::Some(inner) => Ok(HostOp::Some.on(self.format_operand(inner, span)?)),
            value => self.operand(value, span),
        }
    }

    /// Whether generated code has a value of that type, or a reference to one, where the user's code has it.
    fn is_shown(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Tensor => true,
            Ty::Rust(name) if self.index.is_enum(ty) => !self.index.is_behind_pointer(name),
            Ty::Rust(name) => is_copy(ty) || fx_ir::scalar::is_plain(name),
            Ty::List(inner) | Ty::Option(inner) => self.is_shown(inner),
            Ty::Tuple(parts) => parts.iter().all(|part| self.is_shown(part)),
            _ => false,
        }
    }

    fn panic(&mut self, message: Message, span: Span) -> Val {
        let Message { text, operands } = message;
        self.host_node_with(Effect::Io, HostOp::Panic(text), operands, "panic", never(), span);
        Val::Never
    }
}

pub(in crate::trace) fn arguments(mac: &syn::Macro) -> Result<Vec<Expr>> {
    comma_operands(mac).map_or_else(|| unsupported(mac.span(), "a macro of this form"), Ok)
}

/// The expression as it is written, or by its tokens.
fn source_of(expr: &Expr) -> String {
    written(expr).unwrap_or_else(|| expr.to_token_stream().to_string())
}

/// The expression as it is written; `None` of one that a macro has put together. Of names there may be longer spellings by now.
fn written(expr: &Expr) -> Option<String> {
    fn signs(tokens: TokenStream, all: &mut String) {
        for token in tokens {
            match token {
                TokenTree::Punct(sign) if sign.as_char() != ':' => all.push(sign.as_char()),
                TokenTree::Group(group) => {
                    all.push('(');
                    signs(group.stream(), all);
                    all.push(')');
                }
                _ => {}
            }
        }
    }
    let text = expr.span().source_text()?;
    let (source, tokens): (TokenStream, TokenStream) = (text.parse().ok()?, expr.to_token_stream());
    let is_same = source.to_string() == tokens.to_string();
    let [source, tokens] = [source, tokens].map(|tokens| {
        let mut all = String::new();
        signs(tokens, &mut all);
        all
    });
    (is_same || !source.is_empty() && source == tokens).then_some(text)
}
