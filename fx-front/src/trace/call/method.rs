//! Method calls: on layers and structs of the crate, on options and lists, on what is not known.

use fx_ir::{Arg, Effect, HostOp, host};
use syn::{Expr, spanned::Spanned};

use crate::syntax::{element_access::ElementAccess, peeled};
use crate::trace::std_model::method_type::{is_plain, is_text, method_type};
use crate::trace::std_model::option::known_to_be_there;
use crate::trace::types::ty::{GRU_STATE, LSTM_STATE, is_copy, is_state, is_store, is_untyped};
use crate::trace::{
    OnError, RefKind, Result, Tracer, Ty, Val,
    asked::{Asked, base},
    desugar::{
        method_paths::{element_of_iterator, with_closures},
        option,
        range_variable::contained,
        size_query::with_mapped_option,
        slice_split::{parts_at, unwrapped_split},
    },
    tensor::{const_fold, operator},
    types::expectation::Expectation,
    unsupported,
};

impl Tracer<'_> {
    pub(in crate::trace) fn method_call(&mut self, call: &syn::ExprMethodCall, errors: OnError) -> Result<Val> {
        let expected = self.expects.next.take();
        let with_closures = with_closures(call, &|name| self.is_callable(name));
        let call = with_closures.as_ref().unwrap_or(call);
        let with_captures = self.with_own_captures(call)?;
        let call = with_captures.as_ref().unwrap_or(call);
        let converted = self.by_try_from(call, expected.as_ref());
        let call = converted.as_ref().unwrap_or(call);
        if let Some(value) = self.by_expectation(call, expected.as_ref())? {
            return Ok(value);
        }
        if let Some(value) = self.by_form(call, errors)? {
            return Ok(value);
        }
        let name = call.method.to_string();
        let is_unwrapped = matches!(name.as_str(), "unwrap" | "expect");
        let of_receiver = if is_unwrapped { OnError::Propagate } else { OnError::Return };
        let receiver = self.expr(Asked { on_error: of_receiver, ..base(&call.receiver) })?.behind();
        if let Some(value) = self.method_of_callable(&receiver, call, errors)? {
            return Ok(value);
        }
        if let (Val::Place(_), false) = (&receiver, matches!(peeled(&call.receiver), Expr::Path(_))) {
            return self.on_value(receiver, call, errors);
        }
        let receiver = self.tensor_receiver(&receiver, call)?.unwrap_or(receiver);
        if let Some(value) = self.converted_value(&receiver, call, expected.as_ref())? {
            return Ok(value);
        }
        match receiver.ty() {
            Ty::Tensor => return self.tensor_method(receiver, call),
            Ty::Rust(ty) if ty == "bool" && (name == "then" || name == "then_some") => {
                return self.asked_of(receiver, call, expected);
            }
            ty @ Ty::Leaf(_) => {
                if let Some(value) = self.layer_method(&receiver, &ty, call, errors)? {
                    return Ok(value);
                }
            }
            // A struct by its parts is what a function's `Ok` held.
            ty @ Ty::Struct(_)
                if is_unwrapped && matches!(receiver, Val::Fields(..)) && self.index.method(&ty, &name).is_none() =>
            {
                return Ok(receiver);
            }
            Ty::Struct(_) => return self.struct_method(receiver, call, errors),
            ty @ Ty::Rust(_) if self.has_method(&ty, &name) || self.is_module_of_crate(&ty, &name) => {
                return self.struct_method(receiver, call, errors);
            }
            _ => {}
        }
        if let Some(known) = known_to_be_there(&receiver, &name) {
            return Ok(known);
        }
        self.method_of_value(receiver, &name, call)
    }

    /// A method of a value that is there already, as of a guard that a call yields: that of a variable which holds it.
    pub(in crate::trace) fn on_value(
        &mut self,
        value: Val,
        call: &syn::ExprMethodCall,
        errors: OnError,
    ) -> Result<Val> {
        let name = self.fresh_name("receiver", call.receiver.span());
        let receiver = syn::parse_quote_spanned!(call.receiver.span()=> #name);
        let named = syn::ExprMethodCall { receiver: Box::new(receiver), ..call.clone() };
        self.with_variables(&[(name.to_string(), value)], |tracer| tracer.method_call(&named, errors))
    }

    /// A method of an option, a list or a number.
    pub(in crate::trace) fn method_of_value(
        &mut self,
        receiver: Val,
        name: &str,
        call: &syn::ExprMethodCall,
    ) -> Result<Val> {
        if let (Val::Some(held), "as_ref" | "as_deref") = (&receiver, name) {
            return Ok(Val::Some(Box::new((**held).clone().borrowed())));
        }
        match (name, receiver.ty()) {
            ("kind" | "device", ty) if call.args.is_empty() && is_store(&ty) => {
                return self.of_store(&receiver, name, call.span());
            }
            ("unwrap" | "expect", ty) => {
                if let Some(value) = self.taken_out(&receiver, ty, call) {
                    return Ok(value);
                }
            }
            ("as_ref" | "as_deref" | "borrow" | "as_slice", ty) if ty != Ty::Unknown => {
                return Ok(self.unboxed(receiver, call.span()).with_ref_kind(RefKind::Ref));
            }
            ("as_mut" | "as_deref_mut", Ty::Option(held))
                if matches!(receiver, Val::Some(_) | Val::Lit(Arg::None, _)) =>
            {
                let is_value = matches!(&receiver, Val::Some(held) if !matches!(**held, Val::Place(_)));
                if is_value && !self.is_module(&held) {
                    return unsupported(call.method.span(), "a mutable borrow of what an option holds");
                }
                return Ok(receiver);
            }
            ("as_mut" | "as_deref_mut", ty) if self.is_stateful() && self.is_module(&ty) => {
                return Ok(receiver.with_ref_kind(RefKind::Ref));
            }
            ("map", Ty::Option(_)) => return self.map_option(receiver, call),
            ("unwrap_or" | "or", _) if matches!(receiver, Val::Lit(Arg::None, _)) && call.args.len() == 1 => {
                return self.expr(&call.args[0]);
            }
            ("unwrap_or" | "or", Ty::Option(inner)) if is_number(&inner) => {}
            (
                "unwrap_or" | "unwrap_or_else" | "unwrap_or_default" | "map_or" | "map_or_else" | "and_then" | "or"
                | "or_else" | "filter" | "is_some_and" | "is_none_or",
                Ty::Option(_),
            ) => {
                return self.option_as_match(receiver, name, call);
            }
            (_, Ty::Map { key, .. }) => {
                if let Some(value) = self.map_method(&receiver, &key, call) {
                    return value;
                }
            }
            ("map", Ty::List(_)) if matches!(receiver, Val::List(_)) => return self.array_map(receiver, call),
            (_, Ty::List(element)) => {
                if let Some(value) = self.list_method(&receiver, &element, name, call) {
                    return value;
                }
            }
            _ => {}
        }
        self.host_method(receiver, name, call)
    }

    /// A call that its form tells apart, or the place that it is on; `None` for any other.
    fn by_form(&mut self, call: &syn::ExprMethodCall, errors: OnError) -> Result<Option<Val>> {
        if let Some((list, element)) = element_of_iterator(call)
            && matches!(self.chain_ty(list), Ty::List(held) if self.is_module(&held))
        {
            return self.method_call(&element, errors).map(Some);
        }
        if let Some((option, nested)) = option::method_of_zip(call)
            && self.is_option(option)
        {
            return self.method_call(&nested, errors).map(Some);
        }
        if let Some((option, both)) = option::value_of_zip(call)
            && self.is_option(option)
        {
            return self.choice(&both, false).map(Some);
        }
        if let Some(receiver) = self.with_iterator_inlined(&call.receiver) {
            let chain = syn::ExprMethodCall { receiver: Box::new(receiver), ..call.clone() };
            return self.method_call(&chain, errors).map(Some);
        }
        if let Some((lists, chain)) = self.on_held(call)? {
            return self.with_variables(&lists, |tracer| tracer.method_call(&chain, errors)).map(Some);
        }
        if let Some(value) = self.chain_value(call, &mut |tracer, each| tracer.for_loop(each)) {
            return value.map(Some);
        }
        if let Some(value) = self.iterator_method(call)? {
            return Ok(Some(value));
        }
        if let Some(value) = self.converted_or(call)? {
            return Ok(Some(value));
        }
        if let Some(value) = self.by_parts(call, errors)? {
            return Ok(Some(value));
        }
        if let Some(held) = self.filled_option(call)? {
            let value = self.expr(&held)?;
            // A reference would hold on to the variable, to which other code may write.
            return Ok(Some(match value.node() {
                Some(id) if value.is_tensor() => {
                    self.materialize(HostOp::Handle.on(id), "held", Ty::Tensor, call.span())
                }
                _ => value,
            }));
        }
        for trace in [Self::interior_method, Self::place_method, Self::element_mapped, Self::field_method] {
            if let Some(value) = trace(self, call)? {
                return Ok(Some(value));
            }
        }
        if let Some(value) = self.on_unwrapped(call, &mut |tracer, call| tracer.method_call(call, errors))? {
            return Ok(Some(value));
        }
        self.option_method(call)
    }

    /// What is gathered or converted to what the code around the call asks for; `None` for any other call.
    fn by_expectation(&mut self, call: &syn::ExprMethodCall, expected: Option<&Expectation>) -> Result<Option<Val>> {
        if call.method == "collect"
            && let Some(list) = self.collected(call, expected)?
        {
            return Ok(Some(list));
        }
        self.converted_array(call, expected)
    }

    /// A method of the sizes of a tensor, of a range that is written out, or of a list by its parts; `None` for any other call.
    fn by_parts(&mut self, call: &syn::ExprMethodCall, errors: OnError) -> Result<Option<Val>> {
        if let Some(mapped) = with_mapped_option(call) {
            return self.method_call(&mapped, errors).map(Some);
        }
        if let Some(value) = self.size_method(call, &mut |tracer, expr| tracer.expr(expr))? {
            return Ok(Some(value));
        }
        if let Some(test) = contained(call) {
            return self.expr(&test).map(Some);
        }
        let split_at = || parts_at(call).filter(|(list, _)| matches!(self.chain_ty(list), Ty::List(_)));
        if let Some(parts) = unwrapped_split(call).or_else(|| split_at().map(|(_, parts)| parts)) {
            return self.all(&parts).map(|parts| Some(Val::Tuple(parts)));
        }
        if let Some(numbers) = self.concatenated_numbers(call) {
            return Ok(Some(numbers));
        }
        Ok(None)
    }

    /// `list.first().map(|x| ..)` and the like of a list at a place whose elements are no values; `None` for anything else.
    fn element_mapped(&mut self, call: &syn::ExprMethodCall) -> Result<Option<Val>> {
        let name = call.method.to_string();
        let of_element =
            matches!(peeled(&call.receiver), Expr::MethodCall(inner) if ElementAccess::of(&inner.method).is_some());
        if !of_element || !matches!(name.as_str(), "map" | "map_or" | "map_or_else" | "and_then") {
            return Ok(None);
        }
        let mark = self.checkpoint();
        let is_at_place = self.place_test(&call.receiver)?.is_some();
        self.rollback(mark);
        if !is_at_place {
            return Ok(None);
        }
        let mut choice = if name == "map" { option::mapped(call)?.1 } else { option::matched(&name, call)? };
        choice.expr.clone_from(&call.receiver);
        self.choice(&choice, false).map(Some)
    }

    /// A method of a number, a list or an option that only computes.
    fn host_method(&mut self, receiver: Val, name: &str, call: &syn::ExprMethodCall) -> Result<Val> {
        if matches!(name, "clone" | "to_owned") && receiver.node().is_some() && self.has_clone(&receiver.ty()) {
            return Ok(self.user_clone(&receiver, receiver.ty(), call.span()));
        }
        // A method is called on a number of a type that is known; of a float without a suffix it is this one.
        let is_float = receiver.ty() == Ty::Rust("float".to_owned());
        let receiver = if is_float { self.of_written_type(receiver, &Ty::Rust("f64".to_owned())) } else { receiver };
        if let ("sqrt", Some(known)) = (name, const_fold::sqrt(&receiver)) {
            return Ok(known);
        }
        if let Some(known) = self.number_of_half(&receiver, name) {
            return Ok(known);
        }
        if let (Val::List(items), true) = (&receiver, call.args.is_empty()) {
            // How many it has is known, of what may not be: it may have none.
            match name {
                "len" => return Ok(Val::Lit(count(items.len()), Ty::Rust("usize".to_owned()))),
                "is_empty" => return Ok(Val::Lit(Arg::Bool(items.is_empty()), Ty::Rust("bool".to_owned()))),
                _ => {}
            }
        }
        let values = self.all(&call.args)?;
        let types: Vec<Ty> = values.iter().map(Val::ty).collect();
        let receiver = match types.first() {
            // `1.max(n)`: the literal is of the other's type.
            Some(ty) if is_number(ty) && is_untyped(&receiver.ty()) && host::methods::takes_own_type(name) => {
                self.of_written_type(receiver, ty)
            }
            _ => receiver,
        };
        let ty = match (name, receiver.ty()) {
            ("len", Ty::List(_)) => Ty::Rust("usize".to_owned()),
            ("is_empty", Ty::List(_)) | ("is_some" | "is_none", Ty::Option(_)) => Ty::Rust("bool".to_owned()),
            ("copied" | "cloned", Ty::Option(inner)) if is_number(&inner) => return Ok(receiver),
            ("h" | "c", ty) if is_state(&ty, LSTM_STATE) => Ty::Tensor,
            ("value", ty) if is_state(&ty, GRU_STATE) => Ty::Tensor,
            ("clone" | "to_vec" | "to_owned", Ty::List(element)) if is_number(&element) => Ty::List(element),
            ("as_str", ty) if is_text(&ty) => {
                let args = vec![self.operand(&receiver, call.span())?];
                let ty = Ty::Rust("&str".to_owned());
                return Ok(self.host_node(HostOp::Slice("..".to_owned()), args, name, ty, call.span()));
            }
            (name, ty) => match method_type(self.index, name, &ty, &types).filter(|_| is_plain(&ty) || is_text(&ty)) {
                Some(known) => known,
                None => return unsupported(call.method.span(), format!("the method `{name}`")),
            },
        };
        let mut args = vec![self.operand(&receiver, call.span())?];
        for (value, arg) in values.iter().zip(&call.args) {
            if !operator::is_number(value) && !is_plain(&value.ty()) && !is_text(&value.ty()) {
                return unsupported(arg.span(), format!("the method `{name}`"));
            }
            args.push(self.operand(value, arg.span())?);
        }
        let is_list = matches!(receiver.ty(), Ty::List(_));
        let effect = if is_list && self.is_spilled(&receiver) { Effect::Io } else { Effect::Pure };
        Ok(self.host_node_with(effect, HostOp::Method(name.to_owned()), args, name, ty, call.span()))
    }
}

/// How many there are, as a literal.
pub(in crate::trace) fn count(len: usize) -> Arg {
    Arg::Int(i64::try_from(len).unwrap_or(i64::MAX))
}

/// Whether it is a number of a known type.
fn is_number(ty: &Ty) -> bool {
    is_copy(ty) && !is_untyped(ty) && *ty != Ty::Rust("bool".to_owned())
}
