//! Lists that are converted to arrays and taken apart: `let [a, b]: [Tensor; 2] = list.try_into().unwrap()`.

use fx_ir::{Arg, Effect, HostOp};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::index::{Name, Resolved};
use crate::syntax::{integer_literal, path_text};
use crate::trace::types::{expectation::Expectation, ty::is_copy};
use crate::trace::{
    RefKind, Result, Tracer, Ty, Val,
    desugar::array_conversion::{ArrayConversion, is_taken_apart},
    flow::matched::Continuation,
    unsupported,
};

/// More elements than this are not taken one by one.
const MOST: usize = 64;

impl<'a> Tracer<'a> {
    /// `let [a, b]: [Tensor; 2] = list.try_into().unwrap()`: a list that has to be so long, or the function leaves with an
    /// error: `list.try_into().map_err(|_| ..)?`; `None` for anything else.
    pub(in crate::trace) fn array_of(&mut self, pat: &syn::Pat, init: &syn::Expr) -> Result<Option<Val>> {
        let Some((conversion, error)) = ArrayConversion::unwrapped(init) else { return Ok(None) };
        let (pat, count) = match pat {
            syn::Pat::Type(syn::PatType { pat, ty, .. }) => (&**pat, self.length_of_type(ty, self.module())),
            pat => (pat, conversion.length.and_then(|length| self.known_length(length, self.module()))),
        };
        let is_apart = matches!(pat, syn::Pat::Slice(_));
        let Some(count) = count.filter(|_| is_apart || matches!(pat, syn::Pat::Ident(_))) else { return Ok(None) };
        let mark = self.checkpoint();
        let (list, span) = (self.expr(conversion.list)?, init.span());
        if !matches!(list.ty(), Ty::List(_)) || !matches!(list, Val::Node(..) | Val::List(_)) {
            return unsupported(span, "the method `try_into`");
        }
        if let Some(error) = error {
            let (name, length) = (self.fresh_name("list", span), proc_macro2::Literal::i64_unsuffixed(count));
            let check: syn::Expr = syn::parse_quote_spanned!(span=> if #name.len() != #length {
                return Err(::core::convert::From::from(#error));
            });
            let known = [(name.to_string(), list.clone())];
            if self.with_variables(&known, |tracer| tracer.expr(&check)).is_err() {
                self.rollback(mark);
                return Ok(None);
            }
        }
        if is_apart { self.exactly(&list, count, span) } else { self.elements_of_array(&list, count, span) }.map(Some)
    }

    /// `list.try_into().unwrap()`, where the code around it asks for an array, and `<[Tensor; 2]>::try_from(list).unwrap()`:
    /// the elements of a list that has to be so long. `None` for any other call.
    pub(in crate::trace) fn converted_array(
        &mut self,
        call: &syn::ExprMethodCall,
        expected: Option<&Expectation>,
    ) -> Result<Option<Val>> {
        let Some(conversion) = ArrayConversion::taken(call) else { return Ok(None) };
        let said = conversion.length.and_then(|length| self.known_length(length, self.module()));
        let expected = expected.map(|expected| self.expected_as_written(expected));
        let Some(count) = said.or_else(|| expected.and_then(|(ty, module)| self.length_of_type(ty, module))) else {
            return Ok(None);
        };
        let mark = self.checkpoint();
        let list = self.expr(conversion.list)?;
        if !matches!(list.ty(), Ty::List(_)) || !matches!(list, Val::Node(..) | Val::List(_)) {
            self.rollback(mark);
            return Ok(None);
        }
        self.elements_of_array(&list, count, call.span()).map(Some)
    }

    /// The length of an array type of the module, also by another name, where it is known.
    pub(in crate::trace) fn length_of_type(&self, ty: &syn::Type, module: &str) -> Option<i64> {
        match ty {
            syn::Type::Array(array) => self.known_length(&array.len, module),
            syn::Type::Paren(inner) => self.length_of_type(&inner.elem, module),
            syn::Type::Path(path) if path.qself.is_none() => match self.index.resolve(module, &path_text(&path.path)) {
                Resolved::Item(at, _, Name::Alias(alias)) if alias.generics.params.is_empty() => {
                    self.length_of_type(&alias.ty, &at)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The length of an array, where it is a number, or a constant of the module that is one.
    fn known_length(&self, length: &syn::Expr, module: &str) -> Option<i64> {
        let syn::Expr::Path(path) = length else { return integer_literal(length) };
        let name = path_text(&path.path);
        let known = match self.env.read(&name).filter(|_| module == self.module()) {
            Some(Val::Lit(known, _)) => Some(known.clone()),
            Some(_) => None,
            None => match self.index.resolve(module, &name) {
                Resolved::Item(_, _, Name::Const(known, _)) => known,
                _ => None,
            },
        };
        match known {
            Some(Arg::Int(length)) => Some(length),
            _ => None,
        }
    }

    /// The elements of the list, one by one, which has to be so long.
    fn elements_of_array(&mut self, list: &Val, length: i64, span: Span) -> Result<Val> {
        let array = self.exactly(list, length, span)?;
        let Ty::List(element) = list.ty() else { return Ok(array) };
        let count = usize::try_from(length).ok().filter(|&count| count <= MOST);
        let Some(count) = count.filter(|_| *element == Ty::Tensor || is_copy(&element)) else {
            return unsupported(span, "the method `try_into`");
        };
        if matches!(array, Val::List(_)) {
            return Ok(array);
        }
        let items = (0..count).map(|at| Ok(self.item_at(&array, &element, at, span)?.with_ref_kind(RefKind::Value)));
        items.collect::<Result<_>>().map(Val::List)
    }

    /// `if let Ok(pattern) = conversion { then } else { otherwise }`; `None` where that is no conversion of a list.
    pub(in crate::trace) fn if_array(
        &mut self,
        conversion: &syn::Expr,
        pat: &syn::Pat,
        span: Span,
        then: Continuation<'_, 'a>,
        otherwise: Continuation<'_, 'a>,
    ) -> Result<Option<Val>> {
        let Some(ArrayConversion { list, length: Some(length) }) = ArrayConversion::of(conversion) else {
            return Ok(None);
        };
        let (Some(count), true) = (integer_literal(length), is_taken_apart(pat)) else { return Ok(None) };
        let mark = self.checkpoint();
        let list = self.expr_before(list)?;
        let (name, at) = (self.fresh_name("list", span), conversion.span());
        let is_so_long: syn::Expr = syn::parse_quote_spanned!(at=> #name.len() == #length);
        let known = [(name.to_string(), list.clone())];
        let test = match &list {
            Val::Node(_, Ty::List(_), _) => self.with_variables(&known, |tracer| tracer.expr(&is_so_long))?,
            Val::List(items) => {
                Val::Lit(Arg::Bool(i64::try_from(items.len()) == Ok(count)), Ty::Rust("bool".to_owned()))
            }
            _ => {
                self.rollback(mark);
                return Ok(None);
            }
        };
        let then = &mut |tracer: &mut Self| {
            let array = tracer.exactly(&list, count, at)?;
            tracer.bind(pat, array)?;
            then(tracer)
        };
        self.if_value(&test, (at, span), then, otherwise).map(Some)
    }

    /// The list, which has to be so long.
    fn exactly(&mut self, list: &Val, length: i64, span: Span) -> Result<Val> {
        if let Val::List(items) = list {
            let is_so_long = i64::try_from(items.len()) == Ok(length);
            return if is_so_long { Ok(list.clone()) } else { unsupported(span, "an array of another length") };
        }
        let args = vec![self.operand(list, span)?, Arg::Int(length)];
        // What code before it pushes to the list has to be there.
        let effect = if self.is_spilled(list) { Effect::Io } else { Effect::Pure };
        Ok(self.host_node_with(effect, HostOp::Exactly, args, "array", list.ty(), span))
    }
}
