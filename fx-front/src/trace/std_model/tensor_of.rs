//! Tensors of the host's numbers: `Tensor::from_slice(&sizes)` and `Tensor::from(number)`.

use fx_ir::{Arg, Effect, HostOp, Op, ops};
use syn::spanned::Spanned;

use crate::syntax::peeled;
use crate::trace::types::ty::{is_copy, is_untyped};
use crate::trace::{Result, Tracer, Ty, Val};

impl Tracer<'_> {
    /// `Tensor::from_slice(&sizes)` of numbers that the source gives, and whose type it says; `None` of anything else.
    pub(in crate::trace) fn tensor_of_numbers(&mut self, data: &syn::Expr) -> Result<Option<Val>> {
        let mark = self.checkpoint();
        let list = self.expr(data);
        if let Ok(list @ Val::Node(_, Ty::List(element), _)) = &list
            && is_copy(element)
            && !is_untyped(element)
        {
            let args = vec![self.operand(list, data.span())?];
            let effect = if self.is_spilled(list) { Effect::Io } else { Effect::Pure };
            let name = self.numbers_name();
            return Ok(Some(self.host_node_with(effect, HostOp::TensorOf, args, &name, Ty::Tensor, data.span())));
        }
        if let Ok(Val::List(items)) = list {
            // A suffix at one of the numbers says it of all.
            let said = items.iter().map(Val::ty).find(|ty| !is_untyped(ty));
            let said = said.or_else(|| default_type(data)).unwrap_or(Ty::Unknown);
            let items: Vec<Val> = items.into_iter().map(|item| self.of_written_type(item, &said)).collect();
            let is_known = |item: &Val| is_numeric(item) && item.ty() == items[0].ty();
            if !items.is_empty() && items.iter().all(is_known) {
                let numbers = items.iter().map(|item| self.operand(item, data.span())).collect::<Result<Vec<Arg>>>()?;
                let args = vec![HostOp::Array.of(numbers)];
                let name = self.numbers_name();
                return Ok(Some(self.host_node(HostOp::TensorOf, args, &name, Ty::Tensor, data.span())));
            }
        }
        self.rollback(mark);
        Ok(None)
    }

    /// A name for a tensor of numbers, which no other in the graph has: a live graph knows such tensors by it.
    fn numbers_name(&self) -> String {
        let is_one = |op: &Op| op.host() == Some(&HostOp::TensorOf);
        match self.graph.nodes().into_iter().filter(|&id| is_one(&self.graph.node(id).op)).count() {
            0 => "numbers".to_owned(),
            count => format!("numbers_{count}"),
        }
    }

    /// `Tensor::from(number)` of a number whose type is known: a tensor without dimensions; `None` of anything else.
    pub(in crate::trace) fn tensor_of_number(&mut self, number: &syn::Expr) -> Result<Option<Val>> {
        let (mark, span) = (self.checkpoint(), number.span());
        if let Ok(value) = self.expr(number).map(|value| self.of_default_type(value, number))
            && is_numeric(&value)
        {
            let args = vec![HostOp::Array.of([self.operand(&value, span)?])];
            let name = self.numbers_name();
            let numbers = self.host_node(HostOp::TensorOf, args, &name, Ty::Tensor, span);
            return self.op_call(ops::SQUEEZE, ops::SQUEEZE.name(), Some(&numbers), &[], span).map(Some);
        }
        self.rollback(mark);
        Ok(None)
    }
}

impl Tracer<'_> {
    /// A number without a suffix as rustc takes it where nothing says its type: the call takes numbers of all types.
    fn of_default_type(&mut self, value: Val, number: &syn::Expr) -> Val {
        match literal_type(peeled(number)) {
            Some(ty) if is_untyped(&value.ty()) => self.of_written_type(value, &Ty::Rust(ty.to_owned())),
            _ => value,
        }
    }
}

/// The type that rustc takes numbers for of which nothing says another, where all that says it is a list of literals.
fn default_type(data: &syn::Expr) -> Option<Ty> {
    let data = match peeled(data) {
        syn::Expr::Reference(list) => peeled(&list.expr),
        list => list,
    };
    let syn::Expr::Array(list) = data else { return None };
    let first = list.elems.first().and_then(literal_type)?;
    list.elems.iter().all(|item| literal_type(item) == Some(first)).then(|| Ty::Rust(first.to_owned()))
}

/// The type of a number without a suffix, and of what is computed from such numbers alone.
fn literal_type(item: &syn::Expr) -> Option<&'static str> {
    use syn::BinOp::{Add, Div, Mul, Rem, Sub};
    match item {
        syn::Expr::Paren(inner) => literal_type(&inner.expr),
        syn::Expr::Binary(sum) if matches!(sum.op, Add(_) | Sub(_) | Mul(_) | Div(_) | Rem(_)) => {
            literal_type(&sum.left).filter(|left| literal_type(&sum.right) == Some(left))
        }
        syn::Expr::Unary(syn::ExprUnary { op: syn::UnOp::Neg(_), expr, .. }) => literal_type(expr),
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Float(number), .. }) if number.suffix().is_empty() => Some("f64"),
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(number), .. }) if number.suffix().is_empty() => Some("i32"),
        _ => None,
    }
}

/// Whether it is a number of a type that is known.
fn is_numeric(value: &Val) -> bool {
    let ty = value.ty();
    let is_bool = ty == Ty::Rust("bool".to_owned());
    matches!(value, Val::Lit(Arg::Int(_) | Arg::Float(_), _) | Val::Node(..))
        && is_copy(&ty)
        && !is_untyped(&ty)
        && !is_bool
        && !matches!(ty, Ty::Tuple(_) | Ty::Option(_))
}
