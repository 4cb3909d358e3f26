//! Calls into the crate: a function whose body is known is traced in place.

use fx_ir::{Host, HostOp, LayerRow, Op};

use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::diag::{Code, Severity};
use crate::frozen;
use crate::index::Resolved;
use crate::syntax::written_types::typed_params;
use crate::trace::types::ty::is_copy;
use crate::trace::{Env, Frame, OnError, RefKind, Result, Tracer, Ty, Unsupported, Val, asked, unsupported};

/// The parameters, each with what is handed over for it, that are borrowed a place of the caller's.
fn lent_to(sig: &syn::Signature, receiver: Option<&Val>, args: &[Val]) -> Vec<(String, Val)> {
    let named = typed_params(sig).zip(args).filter_map(|(param, value)| match &*param.pat {
        syn::Pat::Ident(name) => Some((name.ident.to_string(), value.clone())),
        _ => None,
    });
    let receiver = receiver.map(|value| ("self".to_owned(), value.clone()));
    named.chain(receiver).filter(|(_, value)| matches!(value, Val::MutRef(..))).collect()
}

/// Whether `mut self` is a value of the function's own, whose parts it may write to.
fn has_own(sig: &syn::Signature) -> bool {
    sig.receiver().is_some_and(|own| own.reference.is_none() && own.mutability.is_some())
}

/// What is handed to a function that is called as it is.
fn handed_to_call(value: Val) -> Val {
    match value {
        Val::MutRef(_, inner) if matches!(*inner, Val::Node(_, Ty::Tensor | Ty::List(_), _)) => *inner,
        value => value,
    }
}

/// Whether a method does nothing but hand out a field: `&self.0`.
fn is_accessor(block: &syn::Block) -> bool {
    fn is_place(expr: &syn::Expr) -> bool {
        match expr {
            syn::Expr::Path(path) => path.path.is_ident("self"),
            syn::Expr::Field(field) => is_place(&field.base),
            syn::Expr::Reference(inner) => is_place(&inner.expr),
            syn::Expr::Paren(inner) => is_place(&inner.expr),
            syn::Expr::Unary(syn::ExprUnary { op: syn::UnOp::Deref(_), expr, .. }) => is_place(expr),
            _ => false,
        }
    }
    matches!(block.stmts.as_slice(), [syn::Stmt::Expr(value, None)] if is_place(value))
}

impl Tracer<'_> {
    /// Traces the function's body where it is called; its own early returns stay its own.
    pub(in crate::trace) fn inline(
        &mut self,
        function: usize,
        receiver: Option<Val>,
        args: Vec<Val>,
        span: Span,
    ) -> Result<Val> {
        self.inline_with(function, receiver, args, OnError::Return, span)
    }

    /// The same, where it is known what becomes of an error of the function's.
    pub(in crate::trace) fn inline_with(
        &mut self,
        function: usize,
        receiver: Option<Val>,
        args: Vec<Val>,
        errors: OnError,
        span: Span,
    ) -> Result<Val> {
        let callee = &self.index.fns[function];
        let constants = std::mem::take(&mut self.constants);
        let is_lent = matches!(receiver, Some(Val::MutRef(..) | Val::Place(_)));
        if callee.writes_self() && !is_lent && (callee.fx.leaf.is_present() || !self.may_write_to(receiver.as_ref())) {
            return unsupported(span, format!("`{}` takes `&mut self`", callee.sig.ident));
        }
        if callee.fx.leaf.is_present() {
            let args: Vec<Val> = args.into_iter().map(handed_to_call).collect();
            return self.leaf_call(function, callee.fx, receiver.as_ref(), &args, span);
        }
        if self.frames.iter().any(|frame| frame.function == function) {
            return self.recursion(function, span);
        }
        let args: Vec<Val> = args.into_iter().map(Val::handed_on).collect();
        if let Some(value) = self.outlined_call(function, receiver.as_ref(), &args, errors, span) {
            return Ok(value);
        }
        let mark = self.checkpoint();
        let handed = (receiver.clone(), args.iter().cloned().map(handed_to_call).collect::<Vec<Val>>());
        let borrowed = lent_to(&callee.sig, receiver.as_ref(), &args);
        self.enter(Env::new());
        for (name, value) in &constants {
            self.env.declare(name, value.clone());
        }
        if let Some(own) = receiver.as_ref().filter(|own| is_lent || has_own(&callee.sig) && self.is_apart(own)) {
            self.env.declare("self", own.clone());
        }
        let receiver = receiver.map(Val::behind);
        let modules = self.modules_within(receiver.as_ref());
        self.inlined.insert(function);
        self.frames.push(Frame { function, receiver, modules, errors });
        let value = self.within_frame(function, args, span);
        self.frames.pop();
        let inner = self.leave_env();
        let left = borrowed.iter().filter_map(|(name, _)| inner.read(name).cloned()).collect();
        let value = value.and_then(|value| self.give_back(left, span).map(|()| value));
        match value {
            Ok(value) => Ok(value),
            Err(fault) => {
                self.rollback(mark);
                self.called(function, (handed.0.as_ref(), &handed.1), &fault, (errors, span))
            }
        }
    }

    /// What the function hands over, whose frame is the innermost. What returns in it returns from it, whatever closure
    /// calls it.
    fn within_frame(&mut self, function: usize, args: Vec<Val>, span: Span) -> Result<Val> {
        let callee = &self.index.fns[function];
        let (closures, told) = (std::mem::take(&mut self.closures), self.opaque.len());
        // What the caller's variable is says nothing of the lists in here.
        let expects_vec = self.expects_vec.take();
        let value = self.bind_params(function, args, span).and_then(|()| self.body(&callee.block));
        let value = value.and_then(|value| self.typed(value, function)).map(Val::handed_on);
        let value = value.and_then(|value| self.keeps_types(callee, told).map(|()| value));
        (self.closures, self.expects_vec) = (closures, expects_vec);
        value
    }

    /// The fault of a function that is being inlined already.
    fn recursion(&mut self, function: usize, span: Span) -> Result<Val> {
        let message = format!("`{}` calls itself", self.index.fns[function].sig.ident);
        let help = "a loop can be traced, a recursion cannot";
        self.report(Code::Recursion, Severity::Warning, span, message.clone(), help);
        unsupported(span, message)
    }

    /// The call of a function that cannot be inlined, where it may stay one.
    fn called(
        &mut self,
        function: usize,
        (receiver, args): (Option<&Val>, &[Val]),
        fault: &Unsupported,
        (errors, span): (OnError, Span),
    ) -> Result<Val> {
        let callee = &self.index.fns[function];
        if callee.fx.pure.is_present() {
            return self.leaf_call(function, callee.fx, receiver, args, span);
        }
        if frozen::is_entry(callee)
            && let Some(value) = self.part_call(function, receiver, args, errors, span)
        {
            return Ok(value);
        }
        if let Some(value) = self.asked(function, receiver, fault, span) {
            return Ok(value);
        }
        if callee.fx.inline.is_present() {
            let message = format!("`{}` cannot be inlined: {}", callee.sig.ident, fault.reason);
            let help = "write it with ops that are known, or drop `inline` to have it carried along as it is";
            self.report(Code::Opaque, Severity::Error, fault.span, message, help);
        }
        // The fault lies in the callee; at the call it is the call that is not understood.
        let reason = format!("`{}` ({}): {}", callee.sig.ident, callee.place(fault.span), fault.reason);
        let told = Unsupported { span, reason };
        self.opaque_call(function, (receiver, args), &told, (errors, span)).ok_or(told)
    }

    /// `self.activation.get_fn()` as it is: a method without arguments of a field of the model that is no layer.
    fn asked(&mut self, function: usize, receiver: Option<&Val>, fault: &Unsupported, span: Span) -> Option<Val> {
        let callee = &self.index.fns[function];
        let is_plain = callee.sig.inputs.len() == 1 && callee.sig.generics.params.is_empty() && !callee.writes_self();
        let is_named = callee.is_visible_from(self.home());
        let value = receiver.filter(|value| matches!(value.ty(), Ty::Struct(_)) && !self.is_module(&value.ty()))?;
        let syn::ReturnType::Type(_, output) = &callee.sig.output else { return None };
        self.path_of(value).filter(|_| is_plain && is_named && !callee.fx.inline.is_present())?;
        let ty = self.index.ty(&callee.module, callee.owner.as_ref(), output);
        let is_lent = matches!(**output, syn::Type::Reference(_));
        let args = vec![self.operand(value, span).ok()?];
        let name = callee.sig.ident.to_string();
        let op = if is_accessor(&callee.block) && (ty.is_function() || is_copy(&ty) && !is_lent) {
            Op::Host(Host::pure(HostOp::CallMethod(name.clone())))
        } else {
            self.report_opaque(span, &fault.reason, self.operations_of(function));
            Op::Rust(fx_ir::Code::opaque(format!("$0.{name}()"), fault.reason.clone()))
        };
        let value = self.push(op, args, &name, ty, span);
        Some(if is_lent { value.with_ref_kind(RefKind::Ref) } else { value })
    }

    /// A method of a struct of the crate, or of a value of a type of it.
    pub(in crate::trace) fn struct_method(
        &mut self,
        receiver: Val,
        call: &syn::ExprMethodCall,
        errors: OnError,
    ) -> Result<Val> {
        let name = call.method.to_string();
        let ty = receiver.ty();
        let (inherent, of_traits) = self.index.methods_of(&ty, &name);
        let is_own = !inherent.is_empty() || !of_traits.is_empty() || self.derefs(&ty) && !self.is_module(&ty);
        if matches!(name.as_str(), "as_ref" | "borrow") && !is_own {
            return Ok(receiver);
        }
        let operands: Vec<&syn::Expr> = call.args.iter().collect();
        let Some(id) = self.function_of(&ty, &name, &operands) else {
            // Whatever is a `Module` is a `ModuleT` as well.
            if name == "forward_t" && self.index.method(&receiver.ty(), "forward").is_some() {
                let args = self.all(&call.args)?;
                return self.forward(&receiver, args, call.span());
            }
            if name == "clone"
                && let Some(copy) = self.derived_clone(&receiver, call.span())
            {
                return Ok(copy);
            }
            let behind = self.method_behind(&receiver, call, errors);
            return behind.unwrap_or_else(|| unsupported(call.method.span(), format!("the method `{name}`")));
        };
        let receiver = self.receiver_of(id, receiver, call)?;
        let args = call.args.iter().enumerate().map(|(at, arg)| self.handed_to(arg, (id, at)));
        let args = args.collect::<Result<Vec<Val>>>()?;
        if let Some(fx) = self.leaf_field(&receiver) {
            return self.leaf_call(id, fx, Some(&receiver), &args, call.span());
        }
        self.inline_with(id, Some(receiver), args, errors, call.span())
    }

    /// A method of a layer: its forward, one of a trait of the crate, one of a recurrent layer; `None` for any other.
    pub(in crate::trace) fn layer_method(
        &mut self,
        layer: &Val,
        ty: &Ty,
        call: &syn::ExprMethodCall,
        errors: OnError,
    ) -> Result<Option<Val>> {
        let name = call.method.to_string();
        let is_forward = matches!(name.as_str(), "forward" | "forward_t");
        if self.index.method(ty, &name).is_some_and(|id| !is_forward || self.has_trait_of(id)) {
            if !is_forward {
                return self.struct_method(layer.clone(), call, errors).map(Some);
            }
            // The layer's own trait may be in scope as well.
            return unsupported(call.method.span(), format!("`{name}` of a layer by a trait of the crate"));
        }
        let Ty::Leaf(kind) = ty else { return Ok(None) };
        if !is_forward && LayerRow::of_type(kind).is_none_or(|row| row.state.is_none()) {
            return Ok(None);
        }
        let args = self.all(&call.args)?;
        if is_forward { self.forward(layer, args, call.span()) } else { self.recurrent(layer, &name, call, &args) }
            .map(Some)
    }

    /// Whether the trait that a method is of has a name in the module.
    fn has_trait_of(&self, method: usize) -> bool {
        let name = self.index.fns[method].of_trait.as_ref();
        name.is_some_and(|name| matches!(self.index.resolve(self.module(), name), Resolved::Item(..)))
    }

    /// Whether the method is `forward_t` of a type that has `forward` alone.
    pub(in crate::trace) fn is_module_of_crate(&self, ty: &Ty, name: &str) -> bool {
        name == "forward_t" && self.index.method(ty, "forward").is_some()
    }

    /// What the `#[fx(..)]` on the field says that holds the module, if that is `leaf`.
    pub(in crate::trace) fn leaf_field(&self, module: &Val) -> Option<crate::attrs::FnOptions> {
        let node = self.graph.node(self.field_behind(module.node()?));
        let Op::GetAttr(field) = &node.op else { return None };
        let fx_ir::Type::Module(owner) = &self.graph.node(node.input(0)?).ty else { return None };
        let owner = self.index.struct_at(owner)?;
        self.index.field(owner, field).map(|field| field.fx).filter(|fx| fx.leaf.is_present())
    }

    /// What the value derefs to; `None` where its type has no `Deref`.
    pub(in crate::trace) fn dereferenced(&mut self, value: &Val, span: Span) -> Option<Result<Val>> {
        let method = self.index.method(&value.ty(), "deref").filter(|_| self.derefs(&value.ty()))?;
        Some(self.inline(method, Some(value.clone()), Vec::new(), span))
    }

    /// `base.name` where the field is none of the struct's own, but of what that derefs to.
    pub(in crate::trace) fn field_by_deref(&mut self, field: &syn::ExprField) -> Option<Result<Val>> {
        let name = match &field.member {
            syn::Member::Named(name) => name.to_string(),
            syn::Member::Unnamed(_) => return None,
        };
        let ty = match self.infer_ty(&field.base) {
            Ty::Unknown => self.chain_ty(&field.base),
            known => known,
        };
        let Ty::Struct(owner) = ty else { return None };
        if self.index.field(owner, &name).is_some() || self.index.method(&ty, "deref").is_none() {
            return None;
        }
        let base = self.expr(asked::base(&field.base));
        let behind = base.and_then(|base| self.dereferenced(&base, field.span()).unwrap_or(Ok(base)));
        Some(behind.and_then(|behind| self.field(&behind, &name, field.span())))
    }

    /// A method of what the value derefs to, where its own type has none of that name.
    pub(in crate::trace) fn method_behind(
        &mut self,
        value: &Val,
        call: &syn::ExprMethodCall,
        errors: OnError,
    ) -> Option<Result<Val>> {
        match self.dereferenced(value, call.span())? {
            Ok(behind) => Some(self.on_value(behind, call, errors)),
            Err(fault) => Some(Err(fault)),
        }
    }
}
