//! Calls of builder functions, as calls of what those are lowered to, and closures of chains as layers.

use fx_ir::catalog::ChainMethod;
use quote::format_ident;
use syn::{parse_quote, visit_mut::VisitMut};

use super::{
    Lowering, Site,
    constructors::{Use, use_of},
    locals::{Locals, declare},
};

pub(super) struct Calls<'l, 'a, 's> {
    pub(super) lowering: &'l mut Lowering<'a>,
    pub(super) site: &'l Site<'s>,
    /// The variables in scope.
    pub(super) locals: Locals,
    pub(super) fault: Option<String>,
    /// Whether anything is made of other layers.
    pub(super) is_other: bool,
}

impl Calls<'_, '_, '_> {
    /// The statements of a block, whose variables are in scope one after another.
    pub(super) fn stmts(&mut self, stmts: &mut [syn::Stmt]) {
        for at in 0..stmts.len() {
            let (done, rest) = stmts.split_at_mut(at + 1);
            let Some(stmt) = done.last_mut() else { return };
            let written = stmt.clone();
            self.visit_stmt_mut(stmt);
            if let (syn::Stmt::Local(local), syn::Stmt::Local(syn::Local { init: Some(init), .. })) = (&written, stmt)
                && let (Use::Layer, syn::Expr::Call(call)) = (use_of(local, rest), &mut *init.expr)
            {
                self.replace(call, Use::Layer);
            }
            if let syn::Stmt::Local(local) = &written {
                self.lowering.declare_local(self.site, local, rest, &mut self.locals);
            }
        }
    }

    /// What runs with these variables in scope, whose types are not known.
    fn within(&mut self, names: &[String], run: impl FnOnce(&mut Self)) {
        let outer = self.locals.clone();
        for name in names {
            self.locals.declare(name, None);
        }
        run(self);
        self.locals = outer;
    }

    /// A call of a builder function as one of what that is lowered to.
    fn replace(&mut self, call: &mut syn::ExprCall, as_what: Use) {
        let Some(id) = self.lowering.builder_called(self.site, call) else { return };
        match self.lowering.called(id, self.site, as_what) {
            Ok(Some(made)) => {
                let here = format!("{}::", self.site.module);
                let short = made.call.strip_prefix(&here).unwrap_or(&made.call);
                if let Ok(path) = syn::parse_str(short) {
                    self.is_other = true;
                    *call.func = syn::Expr::Path(path);
                }
            }
            Ok(None) => {}
            Err(reason) => self.fault = Some(reason),
        }
    }

    /// The body of a closure, of whose parameters one has a known position and type.
    fn closure(&mut self, closure: &mut syn::ExprClosure, known: Option<&(usize, syn::Type)>) {
        let names: Vec<String> = closure.inputs.iter().flat_map(crate::pattern::bound).collect();
        self.within(&names, |calls| {
            if let Some((pat, ty)) = known.and_then(|(at, ty)| Some((closure.inputs.iter().nth(*at)?, ty))) {
                declare(pat, Some(ty), &mut calls.locals);
            }
            calls.visit_expr_mut(&mut closure.body);
        });
    }
}

impl VisitMut for Calls<'_, '_, '_> {
    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        self.within(&[], |calls| calls.stmts(&mut block.stmts));
    }

    fn visit_expr_for_loop_mut(&mut self, each: &mut syn::ExprForLoop) {
        self.visit_expr_mut(&mut each.expr);
        self.within(&[], |calls| {
            calls.lowering.declare_element(calls.site, &each.pat, &each.expr, &mut calls.locals);
            calls.visit_block_mut(&mut each.body);
        });
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
        self.closure(closure, None);
    }

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        self.within(&crate::pattern::bound(&arm.pat), |calls| syn::visit_mut::visit_arm_mut(calls, arm));
    }

    fn visit_expr_if_mut(&mut self, branch: &mut syn::ExprIf) {
        let held = self.lowering.held_by(self.site, &branch.cond, &self.locals);
        self.within(&crate::pattern::bound_in(&branch.cond), |calls| {
            if let Some((name, ty)) = held {
                calls.locals.declare(&name, Some(ty));
            }
            syn::visit_mut::visit_expr_if_mut(calls, branch);
        });
    }

    fn visit_expr_while_mut(&mut self, each: &mut syn::ExprWhile) {
        self.within(&crate::pattern::bound_in(&each.cond), |calls| syn::visit_mut::visit_expr_while_mut(calls, each));
    }

    /// A closure in a chain keeps the place at which the user added it; one that captures variables becomes a struct.
    fn visit_expr_method_call_mut(&mut self, call: &mut syn::ExprMethodCall) {
        let element = self.lowering.element_param(self.site, call, &self.locals);
        self.visit_expr_mut(&mut call.receiver);
        for arg in &mut call.args {
            match arg {
                syn::Expr::Closure(closure) => self.closure(closure, element.as_ref()),
                other => self.visit_expr_mut(other),
            }
        }
        if let Some(layer) = self.lowering.capturing_layer(self.site, call, &self.locals) {
            call.method = format_ident!("{}", ChainMethod::Add.name(), span = call.method.span());
            call.args = [layer].into_iter().collect();
            self.is_other = true;
            return;
        }
        let method = ChainMethod::of_name(&call.method.to_string());
        if let (Some(ChainMethod::Add), Some(syn::Expr::Call(made))) = (method, call.args.first_mut()) {
            self.replace(made, Use::Layer);
        }
        let with_place = method.and_then(ChainMethod::with_place);
        if let (Some(method), 1) = (with_place, call.args.len()) {
            let place = crate::syntax::call_position(&call.method);
            call.method = format_ident!("{}", method.name(), span = call.method.span());
            call.args.insert(0, parse_quote!(#place));
        }
    }

    fn visit_expr_call_mut(&mut self, call: &mut syn::ExprCall) {
        syn::visit_mut::visit_expr_call_mut(self, call);
        self.replace(call, Use::Value);
    }
}
