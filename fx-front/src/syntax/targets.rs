//! What a piece of code writes to or dereferences, with the variables that it binds itself.

use syn::visit::Visit;

use crate::{
    pattern,
    syntax::{is_compound, macro_operands},
};

/// Hands over every expression that is written to: by an assignment, through `&mut`, or by a method that `mutates`.
pub(crate) fn each_target(
    expr: &syn::Expr,
    mutates: &dyn Fn(&syn::ExprMethodCall) -> bool,
    each: &mut dyn FnMut(&syn::Expr),
) {
    each_target_in_scope(expr, mutates, &mut |written, _| each(written));
}

/// The same, with the variables that the expression itself binds around what is written to.
pub(crate) fn each_target_in_scope(
    expr: &syn::Expr,
    mutates: &dyn Fn(&syn::ExprMethodCall) -> bool,
    target: &mut dyn FnMut(&syn::Expr, &[String]),
) {
    Find { kind: Kind::Writes(mutates), target, bound: Vec::new() }.visit_expr(expr);
}

/// Hands over every expression that is dereferenced, with the variables that `expr` itself binds around it.
pub(crate) fn each_deref_in_scope(expr: &syn::Expr, each: &mut dyn FnMut(&syn::Expr, &[String])) {
    Find { kind: Kind::Derefs, target: each, bound: Vec::new() }.visit_expr(expr);
}

/// Returns whether the left side of an assignment is taken apart: `(a, b) = pair`.
pub(crate) fn is_destructuring(target: &syn::Expr) -> bool {
    matches!(target, syn::Expr::Tuple(_) | syn::Expr::Array(_) | syn::Expr::Struct(_) | syn::Expr::Call(_))
}

/// Hands over what an assignment writes to: its left side, or the parts of that which are no `_`.
pub(crate) fn each_assigned<'e>(target: &'e syn::Expr, each: &mut dyn FnMut(&'e syn::Expr)) {
    match target {
        syn::Expr::Tuple(parts) => parts.elems.iter().for_each(|part| each_assigned(part, each)),
        syn::Expr::Array(parts) => parts.elems.iter().for_each(|part| each_assigned(part, each)),
        syn::Expr::Call(parts) => parts.args.iter().for_each(|part| each_assigned(part, each)),
        syn::Expr::Struct(parts) => parts.fields.iter().for_each(|field| each_assigned(&field.expr, each)),
        syn::Expr::Paren(inner) => each_assigned(&inner.expr, each),
        syn::Expr::Infer(_) | syn::Expr::Range(_) => {}
        place => each(place),
    }
}

/// What is looked for.
enum Kind<'f> {
    /// What is written to; the function knows the methods that change what they are called on.
    Writes(&'f dyn Fn(&syn::ExprMethodCall) -> bool),
    Derefs,
}

/// Walks code, and knows what is bound around each place.
struct Find<'f> {
    kind: Kind<'f>,
    target: &'f mut dyn FnMut(&syn::Expr, &[String]),
    bound: Vec<String>,
}
impl Find<'_> {
    fn in_own_scope(&mut self, names: Vec<String>, visit: impl FnOnce(&mut Self)) {
        let around = self.bound.len();
        self.bound.extend(names);
        visit(self);
        self.bound.truncate(around);
    }
    fn hand_over_written(&mut self, written: &syn::Expr) {
        if matches!(self.kind, Kind::Writes(_)) {
            (self.target)(written, &self.bound);
        }
    }
}
impl<'ast> Visit<'ast> for Find<'_> {
    fn visit_expr_assign(&mut self, assign: &'ast syn::ExprAssign) {
        each_assigned(&assign.left, &mut |target| self.hand_over_written(target));
        syn::visit::visit_expr_assign(self, assign);
    }
    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        if is_compound(&binary.op) {
            self.hand_over_written(&binary.left);
        }
        syn::visit::visit_expr_binary(self, binary);
    }
    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        if matches!((&self.kind, unary.op), (Kind::Derefs, syn::UnOp::Deref(_))) {
            (self.target)(&unary.expr, &self.bound);
        }
        syn::visit::visit_expr_unary(self, unary);
    }
    fn visit_expr_reference(&mut self, reference: &'ast syn::ExprReference) {
        if reference.mutability.is_some() {
            self.hand_over_written(&reference.expr);
        }
        syn::visit::visit_expr_reference(self, reference);
    }
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if matches!(self.kind, Kind::Writes(mutates) if mutates(call)) {
            self.hand_over_written(&call.receiver);
        }
        syn::visit::visit_expr_method_call(self, call);
    }
    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        let operands = macro_operands(mac);
        // These call `write_fmt` of the first one.
        if mac.path.segments.last().is_some_and(|last| last.ident == "write" || last.ident == "writeln")
            && let Some(written) = operands.first()
        {
            self.hand_over_written(written);
        }
        for operand in &operands {
            self.visit_expr(operand);
        }
    }
    fn visit_local(&mut self, local: &'ast syn::Local) {
        // A name is bound behind its value.
        if let Some(init) = &local.init {
            syn::visit::visit_local_init(self, init);
        }
        self.bound.extend(pattern::bound(&local.pat));
    }
    fn visit_expr_let(&mut self, condition: &'ast syn::ExprLet) {
        self.visit_expr(&condition.expr);
        self.bound.extend(pattern::bound(&condition.pat));
    }
    fn visit_expr_block(&mut self, block: &'ast syn::ExprBlock) {
        self.in_own_scope(Vec::new(), |find| syn::visit::visit_expr_block(find, block));
    }
    fn visit_expr_unsafe(&mut self, block: &'ast syn::ExprUnsafe) {
        self.in_own_scope(Vec::new(), |find| syn::visit::visit_expr_unsafe(find, block));
    }
    fn visit_expr_loop(&mut self, each: &'ast syn::ExprLoop) {
        self.in_own_scope(Vec::new(), |find| syn::visit::visit_expr_loop(find, each));
    }
    fn visit_expr_while(&mut self, each: &'ast syn::ExprWhile) {
        self.in_own_scope(Vec::new(), |find| syn::visit::visit_expr_while(find, each));
    }
    fn visit_expr_if(&mut self, branch: &'ast syn::ExprIf) {
        // What the condition binds is not bound in the other branch.
        self.in_own_scope(Vec::new(), |find| {
            find.visit_expr(&branch.cond);
            branch.then_branch.stmts.iter().for_each(|stmt| syn::visit::visit_stmt(find, stmt));
        });
        if let Some((_, otherwise)) = &branch.else_branch {
            self.visit_expr(otherwise);
        }
    }
    fn visit_expr_for_loop(&mut self, each: &'ast syn::ExprForLoop) {
        self.visit_expr(&each.expr);
        self.in_own_scope(pattern::bound(&each.pat), |find| {
            each.body.stmts.iter().for_each(|stmt| syn::visit::visit_stmt(find, stmt));
        });
    }
    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        self.in_own_scope(pattern::bound(&arm.pat), |find| syn::visit::visit_arm(find, arm));
    }
    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        let params = closure.inputs.iter().flat_map(pattern::bound).collect();
        self.in_own_scope(params, |find| syn::visit::visit_expr_closure(find, closure));
    }
}
