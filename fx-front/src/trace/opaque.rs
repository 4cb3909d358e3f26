//! Code that is carried along: the user's tokens, with the variables they mention as arguments.

use std::collections::BTreeMap;

use fx_ir::{Arg, Code, Effect, Op};
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit::Visit;

use super::{Result, Tracer, Ty, Unknown, Val, place, signature::Signature, unknown};

impl Tracer<'_> {
    /// Carries an expression along as it is, because of `fault`; the fault itself where that cannot be done.
    pub(super) fn carried(&mut self, expr: &syn::Expr, fault: Unknown) -> Result<Val> {
        if let Some(escape) = escape(expr) {
            return Err(if matches!(expr, syn::Expr::Return(_) | syn::Expr::Break(_) | syn::Expr::Continue(_)) {
                fault
            } else {
                Unknown { span: escape, reason: fault.reason }
            });
        }
        let (template, args, written) = self.captured_with_writes(expr, expr.span())?;
        let mark = self.mark();
        let code = Code { template, effect: Effect::Io, fallible: false, opaque: Some(fault.reason.clone()) };
        let value = self.push(Op::Rust(code), args, "opaque", Ty::Unknown, expr.span());
        if written.is_empty() {
            self.report_opaque(fault.span, &fault.reason);
            return Ok(value);
        }
        let Some(id) = value.node() else {
            self.rollback(mark);
            return Err(fault);
        };
        let part = |tracer: &mut Self, position: usize, name: &str, ty: Ty| {
            tracer.push(Op::TupleGet(position), vec![id.into()], name, ty, expr.span())
        };
        for (position, name) in written.iter().enumerate() {
            let ty = self.env.read(name).map_or(Ty::Unknown, Val::ty);
            let next = part(self, position + 1, name, ty);
            self.env.assign(name, next);
        }
        self.report_opaque(fault.span, &fault.reason);
        Ok(part(self, 0, "opaque_value", Ty::Unknown))
    }

    /// The whole function as one call of the user's own, when not even a piece of it can be understood.
    pub(super) fn whole(&mut self, signature: &Signature, fault: &Unknown) -> Arg {
        let params = self.graph.region(self.graph.body()).params.clone();
        let mut args: Vec<Arg> = Vec::new();
        let mut spelled = Vec::new();
        let mut inputs = params.iter().skip(usize::from(signature.has_receiver));
        for param in &signature.params {
            match param.fixed {
                Some(known) => spelled.push(known.to_string()),
                None => {
                    args.extend(inputs.next().map(|&id| Arg::Node(id)));
                    let at = args.len() - 1 + usize::from(signature.has_receiver);
                    spelled.push(if param.is_ref { format!("&${at}") } else { format!("${at}") });
                }
            }
        }
        let receiver = if signature.has_receiver { "$0." } else { "" };
        args.splice(0..0, params.iter().take(usize::from(signature.has_receiver)).map(|&id| Arg::Node(id)));
        let call = format!("{receiver}{}({})", signature.name, spelled.join(", "));
        let code = Code { fallible: signature.output.is_result, ..Code::opaque(call, fault.reason.clone()) };
        let span = fault.span;
        self.report_opaque(span, &fault.reason);
        let value = self.push(Op::Rust(code), args, "forward", signature.output.ty.clone(), span);
        value.arg().unwrap_or(Arg::None)
    }

    /// A template for code that writes to no variable of its surroundings.
    pub(super) fn captured(&mut self, expr: &syn::Expr, span: Span) -> Result<(String, Vec<Arg>)> {
        let (template, args, written) = self.captured_with_writes(expr, span)?;
        match written.first() {
            Some(name) => unknown(span, format!("code that writes to `{name}`")),
            None => Ok((template, args)),
        }
    }

    /// The template, its arguments, and the variables that the code writes to, which the template hands over in a
    /// tuple after the value.
    fn captured_with_writes(&mut self, expr: &syn::Expr, span: Span) -> Result<(String, Vec<Arg>, Vec<String>)> {
        let mut capture = Capture { free: BTreeMap::new(), fields: BTreeMap::new(), whole_self: false };
        let tokens = capture.stream(expr.to_token_stream(), &|name| self.env.has(name));
        let mut args = Vec::new();
        let mut lines = String::new();
        for name in capture.free.keys() {
            let Some(value) = self.env.read(name).cloned() else { continue };
            let spelled = self.spell_owned(&value, &mut args, span)?;
            lines.push_str(&format!("let mut {name} = {spelled};\n"));
        }
        let receiver = self.frames.last().and_then(|frame| frame.receiver.clone());
        if let Some(receiver) = &receiver {
            for name in capture.fields.keys() {
                let value = self.field(receiver, name, span)?;
                let spelled = self.spell(&value, &mut args, span)?;
                lines.push_str(&format!("let self_{name} = &{spelled};\n"));
            }
            if capture.whole_self {
                let spelled = self.spell(receiver, &mut args, span)?;
                lines.push_str(&format!("let this = &{spelled};\n"));
            }
        } else if capture.whole_self || !capture.fields.is_empty() {
            return unknown(span, "`self` without a receiver");
        }
        let written: Vec<String> = writes(expr).into_iter().filter(|name| capture.free.contains_key(name)).collect();
        let code = tokens.to_string();
        let tail = if written.is_empty() { code } else { format!("let value = {code};\n(value, {},)", written.join(", ")) };
        Ok((if lines.is_empty() && written.is_empty() { tail } else { format!("{{\n{lines}{tail}\n}}") }, args, written))
    }

    /// A call that is not understood, with every argument understood by itself: `f(&$0, $1)`.
    pub(super) fn template_call<'e>(
        &mut self,
        head: String,
        mut args: Vec<Arg>,
        exprs: impl IntoIterator<Item = &'e syn::Expr>,
        span: Span,
    ) -> Result<(String, Vec<Arg>)> {
        let mut spelled = Vec::new();
        for expr in exprs {
            let value = self.expr(expr)?;
            let borrowed = matches!(expr, syn::Expr::Reference(_));
            let text = if borrowed { self.spell(&value, &mut args, span)? } else { self.spell_owned(&value, &mut args, span)? };
            spelled.push(if borrowed { format!("&{}", text.trim_start_matches('&')) } else { text });
        }
        Ok((format!("{head}({})", spelled.join(", ")), args))
    }

    /// What the user would call the field of the value; used to label layers.
    pub(super) fn label_of(&self, value: &Val, fallback: &str) -> String {
        match self.path_of(value) {
            Some(path) if !path.is_empty() => path,
            Some(_) | None => fallback.to_owned(),
        }
    }

    /// Gives a node that stands for a part of the model its name there.
    pub(super) fn set_path(&mut self, value: &Val, base: &Val, name: &str) {
        if let (Some(node), Some(path)) = (value.node(), self.path_of(base)) {
            self.paths.insert(node, place::join(&path, name));
        }
    }

}

/// Rewrites tokens so that they no longer mention `self`, and notes what they do mention.
struct Capture {
    free: BTreeMap<String, ()>,
    fields: BTreeMap<String, ()>,
    whole_self: bool,
}

impl Capture {
    fn stream(&mut self, tokens: TokenStream, is_variable: &dyn Fn(&str) -> bool) -> TokenStream {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut out = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            at += self.token(&tokens, at, is_variable, &mut out);
        }
        out.into_iter().collect()
    }

    /// Takes the tokens from `at` on that belong together; yields how many.
    fn token(&mut self, all: &[TokenTree], at: usize, is_variable: &dyn Fn(&str) -> bool, out: &mut Vec<TokenTree>) -> usize {
        match &all[at] {
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), self.stream(group.stream(), is_variable));
                inner.set_span(group.span());
                out.push(TokenTree::Group(inner));
                1
            }
            TokenTree::Ident(ident) if ident == "self" => self.receiver(all, at, out),
            TokenTree::Ident(ident) => {
                let name = ident.to_string();
                let is_member = at > 0 && is_dot(&all[at - 1]) && !(at > 1 && is_dot(&all[at - 2]));
                let is_path = all.get(at + 1).is_some_and(is_colon) && all.get(at + 2).is_some_and(is_colon);
                if !is_member && !is_path && is_variable(&name) {
                    self.free.insert(name, ());
                }
                out.push(all[at].clone());
                1
            }
            TokenTree::Literal(literal) => {
                self.inline_format(&literal.to_string(), is_variable);
                out.push(all[at].clone());
                1
            }
            TokenTree::Punct(_) => {
                out.push(all[at].clone());
                1
            }
        }
    }

    fn receiver(&mut self, all: &[TokenTree], at: usize, out: &mut Vec<TokenTree>) -> usize {
        let field = match (all.get(at + 1), all.get(at + 2), all.get(at + 3)) {
            (_, Some(_), Some(TokenTree::Group(group))) if group.delimiter() == Delimiter::Parenthesis => None,
            (Some(dot), Some(TokenTree::Ident(name)), _) if is_dot(dot) => Some(name.to_string()),
            (Some(dot), Some(TokenTree::Literal(index)), _) if is_dot(dot) => Some(index.to_string()),
            _ => None,
        };
        let span = all[at].span();
        if let Some(name) = field {
            // The place, not a reference to it: `&self.fc` stays a `&Linear`.
            let reference = Ident::new(&format!("self_{name}"), span);
            out.push(TokenTree::Group(Group::new(Delimiter::Parenthesis, quote::quote!(*#reference))));
            self.fields.insert(name, ());
            return 3;
        }
        self.whole_self = true;
        out.push(TokenTree::Ident(Ident::new("this", span)));
        1
    }

    /// `"{x}"` mentions `x`.
    fn inline_format(&mut self, literal: &str, is_variable: &dyn Fn(&str) -> bool) {
        for piece in literal.split('{').skip(1) {
            let name: String = piece.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if is_variable(&name) {
                self.free.insert(name, ());
            }
        }
    }
}

fn is_dot(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == '.')
}

fn is_colon(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':')
}

/// Where the expression leaves its surroundings: `return`, or `?` and jumps that are not its own.
fn escape(expr: &syn::Expr) -> Option<Span> {
    struct Find {
        found: Option<Span>,
        loops: u32,
    }
    impl<'ast> Visit<'ast> for Find {
        fn visit_expr_return(&mut self, ret: &'ast syn::ExprReturn) {
            self.found = self.found.or(Some(ret.span()));
        }
        fn visit_expr_try(&mut self, question: &'ast syn::ExprTry) {
            self.found = self.found.or(Some(question.span()));
        }
        fn visit_expr_break(&mut self, jump: &'ast syn::ExprBreak) {
            if self.loops == 0 {
                self.found = self.found.or(Some(jump.span()));
            }
        }
        fn visit_expr_continue(&mut self, jump: &'ast syn::ExprContinue) {
            if self.loops == 0 {
                self.found = self.found.or(Some(jump.span()));
            }
        }
        fn visit_expr_for_loop(&mut self, each: &'ast syn::ExprForLoop) {
            self.loops += 1;
            syn::visit::visit_expr_for_loop(self, each);
            self.loops -= 1;
        }
        fn visit_expr_while(&mut self, each: &'ast syn::ExprWhile) {
            self.loops += 1;
            syn::visit::visit_expr_while(self, each);
            self.loops -= 1;
        }
        fn visit_expr_loop(&mut self, each: &'ast syn::ExprLoop) {
            self.loops += 1;
            syn::visit::visit_expr_loop(self, each);
            self.loops -= 1;
        }
        fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
    }
    let mut find = Find { found: None, loops: 0 };
    find.visit_expr(expr);
    find.found
}

/// The plain variables that the expression writes to.
pub(super) fn writes(expr: &syn::Expr) -> Vec<String> {
    struct Find(Vec<String>);
    impl Find {
        fn target(&mut self, expr: &syn::Expr) {
            match expr {
                syn::Expr::Path(path) => self.0.extend(path.path.get_ident().map(ToString::to_string)),
                syn::Expr::Tuple(parts) => parts.elems.iter().for_each(|part| self.target(part)),
                syn::Expr::Index(index) => self.target(&index.expr),
                syn::Expr::Field(field) => self.target(&field.base),
                _ => {}
            }
        }
    }
    impl<'ast> Visit<'ast> for Find {
        fn visit_expr_assign(&mut self, assign: &'ast syn::ExprAssign) {
            self.target(&assign.left);
            syn::visit::visit_expr_assign(self, assign);
        }
        fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
            if super::operator::is_compound(&binary.op) {
                self.target(&binary.left);
            }
            syn::visit::visit_expr_binary(self, binary);
        }
        fn visit_expr_reference(&mut self, reference: &'ast syn::ExprReference) {
            if reference.mutability.is_some() {
                self.target(&reference.expr);
            }
            syn::visit::visit_expr_reference(self, reference);
        }
        fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
            const MUTATORS: &[&str] =
                &["push", "extend", "insert", "pop", "clear", "truncate", "append", "remove", "drain", "split_off", "take", "replace", "reverse", "sort"];
            if MUTATORS.iter().any(|name| call.method == name) {
                self.target(&call.receiver);
            }
            syn::visit::visit_expr_method_call(self, call);
        }
    }
    let mut find = Find(Vec::new());
    find.visit_expr(expr);
    find.0.sort();
    find.0.dedup();
    find.0
}
