//! Expressions: the one dispatch over the syntax of Rust.

use fx_ir::{Arg, Op, host::Yields};
use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::index::{Name, Resolved};
use crate::syntax::{integer_literal, is_compound, is_err, literal, path_text};
use crate::trace::types::ty::rounded;
use crate::trace::{
    OnError, RefKind, Result, Tracer, Ty, Val,
    asked::{Asked, base},
    desugar::{labelled_block::as_call, result_chain::with_question_inside},
    tensor::{const_fold, op_type::enum_of_tch},
    unsupported,
};

impl Tracer<'_> {
    /// The value of an expression: understood, or kept as opaque code as it is.
    pub(in crate::trace) fn expr<'e>(&mut self, asked: impl Into<Asked<'e>>) -> Result<Val> {
        let Asked { expr, is_base, on_error } = asked.into();
        let value = self.understood_or_opaque(expr, is_base, on_error)?;
        Ok(if is_base { value } else { self.copied_element(expr, value) })
    }

    fn understood_or_opaque(&mut self, expr: &syn::Expr, is_base: bool, on_error: OnError) -> Result<Val> {
        let (mark, expected) = (self.checkpoint(), self.expects.next.take());
        self.push_expectation(expr, expected.as_ref());
        let value = self.understood(expr, on_error);
        if matches!(value, Ok(Val::Never)) || self.env.is_unreachable() {
            // An operand does not come to its end, and so neither does the expression, whatever it is.
            let reached = self.env.set_unreachable(self.graph.region(self.region).nodes.len());
            self.graph.truncate(self.region, reached);
            return Ok(Val::Never);
        }
        value.or_else(|fault| {
            self.rollback(mark);
            if self.trials > 0 {
                return Err(fault);
            }
            let (mut code, operands) = self.traced_operands(expr, &mut |tracer, operand| tracer.expr(operand));
            if is_base && matches!(&code, syn::Expr::Index(item) if !matches!(*item.index, syn::Expr::Range(_))) {
                // The element stays where it is.
                code = syn::parse_quote_spanned!(code.span()=> &#code);
            }
            self.expects.next = expected;
            self.with_variables(&operands, |tracer| tracer.opaque_expr(&code, fault))
        })
    }

    /// An expression on the way to the one that something is asked of.
    pub(in crate::trace) fn expr_before(&mut self, expr: &syn::Expr) -> Result<Val> {
        let expected = self.expects.next.take();
        let value = self.expr(base(expr));
        self.expects.next = expected;
        value
    }

    /// The parts of a tuple, of each of which is asked what is asked of it there.
    pub(in crate::trace) fn tuple_parts(&mut self, tuple: &syn::ExprTuple) -> Result<Vec<Val>> {
        let expected = self.expects.next.take();
        let mut values = Vec::new();
        for (at, part) in tuple.elems.iter().enumerate() {
            self.expects.next = expected.as_ref().and_then(|expected| expected.part(at));
            values.push(self.moved_into(part)?);
        }
        Ok(values)
    }

    fn understood(&mut self, expr: &syn::Expr, on_error: OnError) -> Result<Val> {
        if let Some(decision) = self.split_by_option(expr)? {
            return self.expr(&decision);
        }
        match expr {
            syn::Expr::Lit(lit) => literal_value(&lit.lit),
            syn::Expr::Path(path) => self.path(path),
            syn::Expr::Paren(inner) => self.expr(&inner.expr),
            syn::Expr::Group(inner) => self.expr(&inner.expr),
            syn::Expr::Reference(inner) if inner.mutability.is_none() => self.shared_ref(inner),
            syn::Expr::Reference(inner) => self.mut_ref(inner),
            syn::Expr::Unary(unary) => self.unary_expr(unary),
            syn::Expr::Binary(binary) if is_compound(&binary.op) => self.compound(binary),
            syn::Expr::Binary(binary) => self.binary(binary),
            syn::Expr::Assign(assign) => self.assign(assign),
            syn::Expr::MethodCall(call) => self.method_call(call, on_error),
            syn::Expr::Call(call) => self.call(call, on_error),
            syn::Expr::Field(field) => match self.field_by_deref(field) {
                Some(value) => value,
                None => self.field_expr(field),
            },
            syn::Expr::Index(index) => self.index_expr(index),
            syn::Expr::Tuple(tuple) if tuple.elems.is_empty() => Ok(Val::Unit),
            syn::Expr::Tuple(tuple) => self.tuple_parts(tuple).map(Val::Tuple),
            syn::Expr::Array(array) => {
                let items = array.elems.iter().map(|elem| self.moved_into(elem)).collect::<Result<Vec<_>>>()?;
                Ok(self.list_of_one_type(items))
            }
            syn::Expr::Repeat(repeat) => match literals(repeat) {
                Some(items) => self.all(&items).map(Val::List),
                None => unsupported(repeat.span(), "`[value; count]` is not understood"),
            },
            syn::Expr::Block(block) if block.label.is_none() => self.block(&block.block, false),
            syn::Expr::Block(block) => match as_call(block) {
                Some(call) => self.expr(&call),
                None => unsupported(block.span(), "a block that other jumps leave"),
            },
            syn::Expr::If(branch) => self.branch(branch, false),
            syn::Expr::Match(choice) => self.choice(choice, false),
            syn::Expr::ForLoop(each) => self.for_loop(each),
            syn::Expr::While(each) => self.while_loop(each),
            syn::Expr::Loop(each) => self.endless_loop(each),
            syn::Expr::Try(inner) => self.question(inner),
            syn::Expr::Closure(closure) => {
                let own = self.with_own_numbers(closure)?;
                Ok(self.closure(own.as_ref().unwrap_or(closure)))
            }
            syn::Expr::Struct(literal) => self.structure(literal),
            syn::Expr::Macro(call) => self.macro_call(&call.mac),
            syn::Expr::Cast(cast) => self.cast(cast),
            syn::Expr::Return(ret) if self.is_entry() || ret.expr.as_deref().is_some_and(is_err) => self.leave(ret),
            other => unsupported(other.span(), format!("{} is not understood", kind_of(other))),
        }
    }

    /// `&value`.
    fn shared_ref(&mut self, inner: &syn::ExprReference) -> Result<Val> {
        if let Some(looked_at) = self.borrowed_option(&inner.expr)? {
            return Ok(looked_at);
        }
        // A place that is not understood is kept as opaque code with its `&`, since it cannot be moved out of.
        let is_place = matches!(&*inner.expr, syn::Expr::Index(_) | syn::Expr::Field(_));
        let value = if is_place { self.understood(&inner.expr, OnError::Return) } else { self.expr(&inner.expr) }?;
        let is_behind = matches!(&*inner.expr, syn::Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Deref(_)));
        let value = if is_behind { self.unboxed(value, inner.span()) } else { value };
        let deep = matches!(value, Val::Node(_, _, RefKind::Ref | RefKind::RefRef))
            && !matches!(&*inner.expr, syn::Expr::Unary(_))
            && !(matches!(&*inner.expr, syn::Expr::Index(_)) && self.is_borrowed_element(&value));
        Ok(value.with_ref_kind(if deep { RefKind::RefRef } else { RefKind::Ref }))
    }

    /// Whether it is an element of a list, which generated code has by reference where the user's has its place.
    fn is_borrowed_element(&self, value: &Val) -> bool {
        let Val::Node(id, _, RefKind::Ref) = value else { return false };
        self.graph.node(*id).op.host().is_some_and(|op| op.yields() == Yields::Reference)
    }

    /// The values of expressions in their order.
    pub(in crate::trace) fn all<'e>(&mut self, exprs: impl IntoIterator<Item = &'e syn::Expr>) -> Result<Vec<Val>> {
        exprs.into_iter().map(|expr| self.expr(expr)).collect()
    }

    fn path(&mut self, path: &syn::ExprPath) -> Result<Val> {
        if path.qself.is_some() {
            return unsupported(path.span(), "an associated item of a trait");
        }
        if path.path.is_ident("self") {
            if let Some(own) = self.env.read("self") {
                return self.read_variable(&own.clone().behind(), "self", path.span());
            }
            let receiver = self.frames.last().and_then(|frame| frame.receiver.clone());
            return receiver.map_or_else(|| unsupported(path.span(), "`self` without a receiver"), Ok);
        }
        if let Some(ident) = path.path.get_ident() {
            let name = ident.to_string();
            if let Some(value) = self.env.read(&name).cloned() {
                return match value {
                    // What is done to these is done where they lie, whoever does it.
                    Val::MutRef(_, inner) if matches!(*inner, Val::Node(_, Ty::Tensor | Ty::List(_), _)) => Ok(*inner),
                    Val::Never => unsupported(path.span(), format!("the variable `{name}`, whose value is not known")),
                    value => self.read_variable(&value, &name, path.span()),
                };
            }
            if name == "None" && path.path.segments[0].arguments.is_none() {
                return Ok(Val::Lit(Arg::None, Ty::Option(Box::new(Ty::Unknown))));
            }
        }
        let external = match self.index.resolve(self.module(), &path_text(&path.path)) {
            Resolved::External(full) => full,
            Resolved::Item(..) => String::new(),
        };
        if let Some(known) = const_fold::constant(&external) {
            return Ok(known);
        }
        let text = match self.qualified(&path.path) {
            Err(fault) => {
                let known = self.private_constant(&path.path).or_else(|| self.function_as_closure(&path.path));
                return known.ok_or(fault);
            }
            // A function of an instance of a generic type, whose path is none that a call could be written by.
            Ok(text) if text.starts_with('<') && self.function_of_path(&path_text(&path.path)).is_some() => {
                return self
                    .function_as_closure(&path.path)
                    .map_or_else(|| unsupported(path.span(), format!("the function `{text}`")), Ok);
            }
            Ok(text) => text,
        };
        if matches!(path_text(&path.path).as_str(), "None" | "Option::None") {
            let ty = none_of(&path.path).map(|ty| self.index.ty(self.module(), self.function().owner.as_ref(), ty));
            return Ok(Val::Lit(Arg::None, Ty::Option(Box::new(ty.unwrap_or(Ty::Unknown)))));
        }
        let ty = self.enum_of(&path_text(&path.path)).map(|(ty, _)| ty).or_else(|| enum_of_tch(&external));
        Ok(Val::Lit(Arg::Path(text), ty.unwrap_or_else(|| self.item_ty(&path.path))))
    }

    /// The value of a constant whose name generated code cannot spell.
    fn private_constant(&self, path: &syn::Path) -> Option<Val> {
        if let Some(known) = self.associated_constant(path) {
            return Some(Val::Lit(known.value.clone()?, self.index.ty(&known.module, None, &known.ty)));
        }
        let Resolved::Item(module, _, Name::Const(Some(value), ty)) =
            self.index.resolve(self.module(), &path_text(path))
        else {
            return None;
        };
        Some(Val::Lit(value, self.index.ty(&module, None, &ty)))
    }

    fn question(&mut self, inner: &syn::ExprTry) -> Result<Val> {
        if let Some(value) = self.question_on_option(&inner.expr)? {
            return Ok(value);
        }
        if let Some(value) = self.in_other_words(&inner.expr)? {
            return Ok(value);
        }
        if self.errors_propagate()
            && let Some(inside) = with_question_inside(&inner.expr)
        {
            return self.expr(&inside);
        }
        let on_error = if self.errors_propagate() { OnError::Propagate } else { OnError::Return };
        let value = self.expr(Asked { on_error, ..Asked::from(&inner.expr) })?;
        if !self.errors_propagate() && value.node().is_some_and(|id| self.facts.is_result(id)) {
            return unsupported(inner.span(), "`?` in a function whose error the code around its call may look at");
        }
        match value.ty() {
            Ty::Option(_) if !matches!(self.infer_ty(&inner.expr), Ty::Result(_)) => {
                unsupported(inner.span(), "`?` on an option")
            }
            Ty::Unknown => unsupported(inner.span(), "`?` on a value of a type that is not known"),
            _ => self.unwrapped(value, inner.span()),
        }
    }

    /// The value without the `Result` around it, whose error leaves the function.
    pub(in crate::trace) fn unwrapped(&mut self, value: Val, span: Span) -> Result<Val> {
        let Val::Node(id, ty, _) = &value else { return Ok(value) };
        let id = *id;
        match ty.clone() {
            Ty::Result(inner) => {
                if self.facts.take_result(id) {
                    if self.graph.has_users(id) || self.env.count(&value) > 0 {
                        return unsupported(span, "a result that has a name");
                    }
                    match &mut self.edit_node(id).op {
                        Op::Host(host) => host.fallible = true,
                        Op::Rust(code) => code.fallible = true,
                        _ => {}
                    }
                }
                Ok(value.with_ty(*inner))
            }
            Ty::Unknown if self.returns_result() => unsupported(span, "a result of a type that is not known"),
            _ => Ok(value),
        }
    }

    pub(in crate::trace) fn returns_result(&self) -> bool {
        match &self.function().sig.output {
            syn::ReturnType::Type(_, ty) => matches!(self.index.ty(self.module(), None, ty), Ty::Result(_)),
            syn::ReturnType::Default => false,
        }
    }
}

/// `Tensor` of `None::<Tensor>` and of `Option::<Tensor>::None`.
fn none_of(path: &syn::Path) -> Option<&syn::Type> {
    let lists = path.segments.iter().filter_map(|segment| match &segment.arguments {
        syn::PathArguments::AngleBracketed(list) => Some(list),
        _ => None,
    });
    lists.flat_map(|list| &list.args).find_map(|arg| match arg {
        syn::GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

fn literal_value(lit: &syn::Lit) -> Result<Val> {
    let typed = |arg, ty: &str| Ok(Val::Lit(arg, Ty::Rust(ty.to_owned())));
    let float = |number: f64, ty: &str| typed(Arg::Float(rounded(number, ty)), ty);
    match lit {
        syn::Lit::Int(int) if matches!(int.suffix(), "f64" | "f32") => match int.base10_parse() {
            Ok(number) => float(number, int.suffix()),
            Err(_) => unsupported(int.span(), "a float of this form"),
        },
        syn::Lit::Int(int) => match int.base10_parse() {
            Ok(number) => typed(Arg::Int(number), if int.suffix().is_empty() { "integer" } else { int.suffix() }),
            Err(_) => unsupported(int.span(), "an integer that does not fit into 64 bits"),
        },
        syn::Lit::Float(lit) => match lit.base10_parse() {
            Ok(number) => float(number, if lit.suffix().is_empty() { "float" } else { lit.suffix() }),
            Err(_) => unsupported(lit.span(), "a float of this form"),
        },
        syn::Lit::Bool(bool) => typed(Arg::Bool(bool.value), "bool"),
        syn::Lit::Str(text) => typed(Arg::Str(text.value()), "&str"),
        other => unsupported(other.span(), "a literal of this form"),
    }
}

/// The elements of `[0; 8]`; none where they are no literals, or many.
fn literals(repeat: &syn::ExprRepeat) -> Option<Vec<syn::Expr>> {
    let count = integer_literal(&repeat.len).and_then(|count| usize::try_from(count).ok())?;
    (literal(&repeat.expr).is_some() && count <= MOST_WRITTEN_OUT).then(|| vec![(*repeat.expr).clone(); count])
}

/// The most elements of `[value; count]` that are written out.
const MOST_WRITTEN_OUT: usize = 64;

fn kind_of(expr: &syn::Expr) -> &'static str {
    match expr {
        syn::Expr::Async(_) | syn::Expr::Await(_) => "`async` code",
        syn::Expr::Break(_) => "`break`",
        syn::Expr::Continue(_) => "`continue`",
        syn::Expr::Loop(_) => "`loop`",
        syn::Expr::Range(_) => "a range here",
        syn::Expr::Return(_) => "`return` here",
        syn::Expr::Struct(_) => "a struct literal",
        syn::Expr::Unsafe(_) => "`unsafe` code",
        _ => "an expression of this form",
    }
}
