//! What the code around an expression says of its type: the type of a `let`, and what a function hands over.
//!
//! It goes down to where the value comes from: through blocks, the arms of an `if` or a `match`, `Ok`, `Some` and the
//! parts of a tuple. A value that says nothing of its own type, as an empty list does, has this one.

use std::collections::HashMap;

use fx_ir::{Arg, HostOp, NodeId};
use proc_macro2::Span;
use quote::ToTokens;

use crate::syntax::{mentions, written_types::type_args};
use crate::trace::desugar::array_conversion::ArrayConversion;
use crate::trace::std_model::convert::is_conversion;
use crate::trace::types::ty::is_copy;
use crate::trace::{
    Result, Tracer, Ty, Val,
    entry::signature::{holds_reference, is_vec, part_type, value_type},
};

/// A type that is written in the user's code.
#[derive(Clone, Debug)]
pub(in crate::trace) struct Expectation {
    written: syn::Type,
    /// The function that it is written in.
    function: usize,
}

/// What is asked of the values that are traced.
#[derive(Debug, Default)]
pub(in crate::trace) struct Expectations {
    /// Of what is traced next.
    pub(in crate::trace) next: Option<Expectation>,
    /// Of what the branches of a node hand over.
    of: HashMap<NodeId, Expectation>,
}

impl Expectations {
    /// What is asked of what is traced next is asked of the branches of `owner`.
    pub(in crate::trace) fn expect_of(&mut self, owner: NodeId) {
        match self.next.take() {
            Some(expected) => self.of.insert(owner, expected),
            None => self.of.remove(&owner),
        };
    }

    pub(in crate::trace) fn of(&self, owner: NodeId) -> Option<Expectation> {
        self.of.get(&owner).cloned()
    }
}

impl Expectation {
    /// Of what a parameter of the function is given.
    pub(in crate::trace) fn of_parameter(written: &syn::Type, function: usize) -> Expectation {
        Expectation { written: written.clone(), function }
    }

    /// Of a part of a tuple.
    pub(in crate::trace) fn part(&self, at: usize) -> Option<Expectation> {
        part_type(&self.written, at).map(|written| Expectation { written: written.clone(), function: self.function })
    }

    /// Whether it is a `Vec`.
    pub(in crate::trace) fn is_vec(&self) -> bool {
        is_vec(&self.written)
    }

    /// Of what is in an option.
    pub(in crate::trace) fn held(&self) -> Option<Expectation> {
        let syn::Type::Path(path) = &self.written else { return None };
        path.path.segments.last().filter(|last| last.ident == "Option")?;
        let written = type_args(&path.path).next()?;
        Some(Expectation { written: written.clone(), function: self.function })
    }
}

impl Tracer<'_> {
    /// The type as it is written in the function that is being traced; none where it borrows something.
    pub(in crate::trace) fn written(&self, ty: &syn::Type) -> Option<Expectation> {
        let function = self.frames.last()?.function;
        (!holds_reference(ty)).then(|| Expectation { written: ty.clone(), function })
    }

    /// What the function that is being traced hands over.
    pub(in crate::trace) fn expected_of_function(&self) -> Option<Expectation> {
        let ty = value_type(&self.function().sig.output).filter(|_| self.closures == 0)?;
        self.written(ty)
    }

    /// Traces what is put where something of the type is expected, which says whether a `Vec` is gathered there.
    pub(in crate::trace) fn gathering<T>(&mut self, ty: Option<&syn::Type>, trace: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.expects_vec;
        self.expects_vec = ty.and_then(gathers_vec).or(outer);
        let value = trace(self);
        self.expects_vec = outer;
        value
    }

    /// The type as it is written, and the module that it is written in.
    pub(in crate::trace) fn expected_as_written<'e>(&self, expected: &'e Expectation) -> (&'e syn::Type, &str) {
        (&expected.written, &self.index.fns[expected.function].module)
    }

    pub(in crate::trace) fn expected_ty(&self, expected: &Expectation) -> Ty {
        let function = &self.index.fns[expected.function];
        self.index.ty(&function.module, function.owner.as_ref(), &expected.written)
    }

    /// The type, where it is a number or a truth value.
    pub(in crate::trace) fn expected_number(&self, expected: Option<&Expectation>) -> Option<Ty> {
        expected.map(|expected| self.expected_ty(expected)).filter(is_copy)
    }

    /// `Some(vec![a, b])`, where the code around it says that it is a `Vec`, and of what.
    pub(in crate::trace) fn expected_vec(
        &mut self,
        some: &Val,
        expected: Option<&Expectation>,
    ) -> Result<Option<(Arg, Ty)>> {
        let Val::Some(inner) = some else { return Ok(None) };
        let held = expected.and_then(Expectation::held).filter(Expectation::is_vec);
        let (Val::List(items), Some(held)) = (&**inner, held) else { return Ok(None) };
        let ty = self.expected_ty(&held);
        let Ty::List(element) = &ty else { return Ok(None) };
        let mut operands = Vec::new();
        for item in items {
            let item = self.of_written_type(item.clone(), element);
            operands.push(self.exact_operand(&item, Span::call_site())?);
        }
        let list = self.vec_of(operands, element);
        Ok(Some((HostOp::Some.on(list), Ty::Option(Box::new(ty)))))
    }

    /// What is asked of an expression, for the expressions in it that its value comes from.
    pub(in crate::trace) fn push_expectation(&mut self, expr: &syn::Expr, expected: Option<&Expectation>) {
        self.expects.next = match expr {
            syn::Expr::If(_)
            | syn::Expr::Match(_)
            | syn::Expr::Block(_)
            | syn::Expr::Paren(_)
            | syn::Expr::Group(_)
            | syn::Expr::Tuple(_)
            | syn::Expr::Macro(_) => expected.cloned(),
            syn::Expr::MethodCall(call) if hands_on(&call.method) => expected.cloned(),
            syn::Expr::MethodCall(call) if is_conversion(call) || ArrayConversion::taken(call).is_some() => {
                expected.cloned()
            }
            syn::Expr::Call(call) if call.args.len() == 1 => match call.func.to_token_stream().to_string().as_str() {
                "Ok" => expected.cloned(),
                "Some" => expected.and_then(Expectation::held),
                _ => None,
            },
            _ => None,
        };
    }

    /// Of the values of branches of which one is `None`, as `xs.into()` is in another, an option is asked.
    pub(in crate::trace) fn expect_option<'e>(&mut self, branches: impl Iterator<Item = &'e syn::Expr>) {
        let (mut is_option, mut converts) = (false, false);
        for value in branches.map(last) {
            is_option |= matches!(value, syn::Expr::Path(path) if path.path.is_ident("None"));
            converts |= matches!(value, syn::Expr::MethodCall(call) if call.method == "into");
        }
        if is_option && converts && self.expects.next.is_none() {
            self.expects.next = self.written(&syn::parse_quote!(Option<_>));
        }
    }

    /// Whether an option of a tensor is asked for.
    pub(in crate::trace) fn expects_tensor_option(&self, expected: Option<&Expectation>) -> bool {
        let ty = expected.map(|expected| self.expected_ty(expected));
        matches!(ty, Some(Ty::Option(held)) if matches!(*held, Ty::Tensor | Ty::Unknown))
    }
}

/// Whether what is expected of the method's value is expected within the call.
fn hands_on(method: &syn::Ident) -> bool {
    ["collect", "into", "then", "then_some"].iter().any(|name| method == name)
}

/// The expression that the value of a block comes from.
fn last(expr: &syn::Expr) -> &syn::Expr {
    match expr {
        syn::Expr::Block(block) => match block.block.stmts.last() {
            Some(syn::Stmt::Expr(value, None)) => last(value),
            _ => expr,
        },
        expr => expr,
    }
}

/// Other types that `collect` makes.
const OTHERS: [&str; 8] =
    ["BTreeMap", "BTreeSet", "BinaryHeap", "HashMap", "HashSet", "IndexMap", "LinkedList", "VecDeque"];

/// Whether what a value of the type is gathered into is a `Vec`; `None` where a part of it may be.
pub(in crate::trace) fn gathers_vec(ty: &syn::Type) -> Option<bool> {
    let has = |name: &str| mentions(ty, &syn::Ident::new(name, Span::call_site()));
    match ty {
        _ if OTHERS.into_iter().any(has) => Some(false),
        syn::Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Vec") => Some(true),
        _ => (!has("Vec")).then_some(false),
    }
}
