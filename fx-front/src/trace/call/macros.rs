//! Calls of macros of the standard library.

use fx_ir::{Arg, Code, Effect, HostOp, Op, template::escaped};
use syn::spanned::Spanned;

use crate::index::Resolved;
use crate::syntax::{comma_operands, enclosed::in_head, path_text};
use crate::trace::types::ty::{is_copy, is_open_list, is_untyped, never};
use crate::trace::{Result, Tracer, Ty, Val, call::panics::arguments, tensor::operator, unsupported};

impl Tracer<'_> {
    pub(in crate::trace) fn macro_call(&mut self, mac: &syn::Macro) -> Result<Val> {
        let name = mac.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        match name.as_str() {
            "vec" => match comma_operands(mac) {
                Some(items) => {
                    let items = self.all(&items)?;
                    Ok(self.list_of_one_type(items))
                }
                None => self.repeated(mac),
            },
            "panic" | "unreachable" | "todo" | "unimplemented" => {
                self.first_of(|tracer| tracer.panics(mac, &name), |tracer| tracer.statement_macro(mac, never()))
            }
            "assert" | "assert_eq" | "assert_ne" => self.first_of(
                |tracer| tracer.asserts(mac, &name),
                |tracer| tracer.statement_macro(mac, Ty::Tuple(Vec::new())),
            ),
            "debug_assert" | "debug_assert_eq" | "debug_assert_ne" if !self.is_home() => self.first_of(
                |tracer| tracer.debug_asserts(mac, &name),
                |tracer| tracer.statement_macro(mac, Ty::Tuple(Vec::new())),
            ),
            "debug_assert" | "debug_assert_eq" | "debug_assert_ne" => self.first_of(
                |tracer| tracer.statement_macro(mac, Ty::Tuple(Vec::new())),
                |tracer| tracer.debug_asserts(mac, &name),
            ),
            "println" | "eprintln" | "print" | "eprint" => self.statement_macro(mac, Ty::Tuple(Vec::new())),
            "trace" | "debug" | "info" | "warn" | "error" if self.is_logging(&mac.path) => {
                self.statement_macro(mac, Ty::Tuple(Vec::new()))
            }
            "cfg" => {
                let code = Code::pure(format!("::core::cfg!({})", escaped(&mac.tokens.to_string())));
                Ok(self.push(Op::Rust(code), Vec::new(), "cfg", Ty::Rust("bool".to_owned()), mac.span()))
            }
            "matches" => match asks(mac) {
                Some(question) => self.expr(&question),
                None => unsupported(mac.span(), "a `matches!` of this form"),
            },
            "bail" => self.refused_by(mac),
            "ensure" => self.ensured(mac),
            _ => unsupported(mac.span(), format!("the macro `{name}!`")),
        }
    }

    /// A `debug_assert!` as the `assert!` that a build with debug assertions makes of it.
    fn debug_asserts(&mut self, mac: &syn::Macro, name: &str) -> Result<Val> {
        let checked: syn::Expr = syn::parse_quote_spanned!(mac.span()=> ::core::cfg!(debug_assertions));
        let name = name.trim_start_matches("debug_");
        self.if_true(&checked, mac.span(), &mut |tracer| tracer.asserts(mac, name), &mut |_| Ok(Val::Unit))
    }

    /// Whether it is a macro of `log` or `tracing`, which takes what `println!` takes.
    fn is_logging(&self, path: &syn::Path) -> bool {
        let text = path_text(path);
        let full = match self.index.resolve(self.module(), &text) {
            Resolved::External(full) => full,
            Resolved::Item(..) => return false,
        };
        ["log::", "tracing::"].iter().any(|krate| full.trim_start_matches("::").starts_with(krate))
    }

    /// `ensure!(condition, ..)`, which leaves with an error where the condition does not hold.
    fn ensured(&mut self, mac: &syn::Macro) -> Result<Val> {
        let condition = mac.parse_body_with(|input: syn::parse::ParseStream| {
            let condition: syn::Expr = input.parse()?;
            input.parse::<proc_macro2::TokenStream>()?;
            Ok(condition)
        });
        let Ok(condition) = condition else { return unsupported(mac.span(), "an `ensure!` of this form") };
        self.if_true(&condition, mac.span(), &mut |_| Ok(Val::Unit), &mut |tracer| tracer.refused_by(mac))
    }

    /// A macro that leaves by `return Err(..)`: from a closure, so that what it returns is an error of the function's.
    fn refused_by(&mut self, mac: &syn::Macro) -> Result<Val> {
        let (syn::ReturnType::Type(_, whole), true) = (&self.function().sig.output, self.errors_propagate()) else {
            return unsupported(mac.span(), "a macro that returns");
        };
        if !self.is_home() {
            let args: Vec<syn::Expr> = match arguments(mac) {
                Ok(args) if is_ensure(mac) => args.into_iter().skip(1).collect(),
                args => args?,
            };
            let message = self.message(&args, mac.span())?.operand();
            let whole = "::std::result::Result<(), ::std::string::String>";
            return Ok(self.refuse(Code::pure("Err($0)"), whole, vec![message], mac.span()));
        }
        let tokens = syn::Expr::Macro(syn::ExprMacro { attrs: Vec::new(), mac: mac.clone() });
        let (code, args) = self.captured(&tokens, mac.span())?;
        let whole = quote::ToTokens::to_token_stream(whole);
        let code = code.wrapped(|checked| format!("(|| -> {whole} {{ {checked}; ::std::unreachable!() }})()"));
        Ok(self.refuse(code, &whole.to_string(), args, mac.span()))
    }

    /// `vec![value; count]`, of numbers, or of what the code around it says.
    fn repeated(&mut self, mac: &syn::Macro) -> Result<Val> {
        let (span, expected) = (mac.span(), self.expects.next.take());
        let parts = mac.parse_body_with(|input: syn::parse::ParseStream| {
            let value: syn::Expr = input.parse()?;
            input.parse::<syn::Token![;]>()?;
            Ok((value, input.parse::<syn::Expr>()?))
        });
        let Ok((value, count)) = parts else { return unsupported(span, "a `vec!` of this form") };
        let (value, count) = (self.expr(&value)?, self.expr(&count)?);
        let own = Some(value.ty()).filter(|ty| is_copy(ty) && !is_untyped(ty)).map(|ty| Ty::List(Box::new(ty)));
        let expected = expected.map(|expected| self.expected_ty(&expected)).filter(|ty| matches!(ty, Ty::List(_)));
        let is_none = matches!(value, Val::Lit(Arg::None, _));
        let is_open_number = matches!(&value, Val::Lit(Arg::Int(_), ty) if is_untyped(ty));
        let open = (is_none || is_open_number).then(|| Ty::List(Box::new(value.ty())));
        let Some(ty) = own.or(expected).or(open) else { return unsupported(span, "`vec![value; count]`") };
        if is_untyped(&ty.element()) && operator::is_number(&count) {
            // What is written to its elements, or what reads them, says of which integer type they are.
            let args = value.arg().into_iter().chain([self.operand(&count, span)?]).collect();
            return Ok(self.host_node_with(Effect::Io, HostOp::Repeat, args, "list", ty, span));
        }
        if is_open_list(&ty) && operator::is_number(&count) {
            // What is written to its elements says of what they are options.
            let args = vec![Arg::None, self.operand(&count, span)?];
            return Ok(self.host_node_with(Effect::Io, HostOp::Repeat, args, "list", ty, span));
        }
        let (Some(spelled), true) = (self.spelling(&ty), operator::is_number(&count)) else {
            return unsupported(span, "`vec![value; count]`");
        };
        let value = match &value {
            Val::Tuple(parts) if parts.iter().all(|part| matches!(part, Val::Lit(Arg::None, _))) => {
                self.operand(&value, span)?
            }
            Val::Lit(Arg::None, _) => Arg::None,
            value => self.exact_operand(value, span)?,
        };
        let list = HostOp::Repeat.of([value, self.operand(&count, span)?]);
        Ok(self.host_node_with(Effect::Io, HostOp::Ascribe(spelled), vec![list], "list", ty, span))
    }

    /// A macro that is run for its effect: its arguments are spelled out, the rest stays as written.
    fn statement_macro(&mut self, mac: &syn::Macro, ty: Ty) -> Result<Val> {
        let tokens = syn::Expr::Macro(syn::ExprMacro { attrs: Vec::new(), mac: mac.clone() });
        let (code, args) = self.captured(&tokens, mac.span())?;
        let value = if ty == never() { Val::Never } else { Val::Unit };
        self.push(Op::Rust(code), args, "effect", ty, mac.span());
        Ok(value)
    }

    /// What the first makes of it, or else the second, with the fault of the first where neither can.
    fn first_of(
        &mut self,
        first: impl FnOnce(&mut Self) -> Result<Val>,
        second: impl FnOnce(&mut Self) -> Result<Val>,
    ) -> Result<Val> {
        let mark = self.checkpoint();
        first(self).or_else(|fault| {
            self.rollback(mark);
            second(self).map_err(|_| fault)
        })
    }
}

fn is_ensure(mac: &syn::Macro) -> bool {
    mac.path.segments.last().is_some_and(|last| last.ident == "ensure")
}

/// `matches!(value, pattern if guard)` as the `match` that it is short for.
fn asks(mac: &syn::Macro) -> Option<syn::Expr> {
    let parts = mac.parse_body_with(|input: syn::parse::ParseStream| {
        let value: syn::Expr = input.parse()?;
        input.parse::<syn::Token![,]>()?;
        let pattern = syn::Pat::parse_multi_with_leading_vert(input)?;
        let guard = if input.peek(syn::Token![if]) {
            input.parse::<syn::Token![if]>()?;
            Some(input.parse::<syn::Expr>()?)
        } else {
            None
        };
        input.parse::<Option<syn::Token![,]>>()?;
        Ok((value, pattern, guard))
    });
    let (value, pattern, guard) = parts.ok()?;
    let guard = guard.map(|guard| quote::quote!(if #guard));
    let value = in_head(&value);
    Some(syn::parse_quote_spanned!(mac.span()=> match #value { #pattern #guard => true, _ => false }))
}
