//! Statements that make a value whose type has a `Drop` of the crate's: it runs where the block ends, which generated code
//! has in another place.

use syn::spanned::Spanned;
use syn::visit::Visit;

use crate::index::{Name, Resolved};
use crate::syntax::{comma_operands, path_text};
use crate::trace::{Result, Tracer, Ty, unsupported};

impl Tracer<'_> {
    /// Refuses a statement that itself makes such a value: the code around it is kept as it is.
    pub(in crate::trace) fn refuse_dropped(&self, stmt: &syn::Stmt) -> Result<()> {
        if self.makes_dropped(stmt) {
            return unsupported(stmt.span(), "a value with a `Drop` of the crate's");
        }
        Ok(())
    }

    /// Returns whether the statement itself makes such a value; the blocks within it are looked at when they are traced.
    fn makes_dropped(&self, stmt: &syn::Stmt) -> bool {
        if !self.index.declares_drop() {
            return false;
        }
        let mut find = Find { tracer: self, found: false };
        find.visit_stmt(stmt);
        find.found
    }

    /// Whether the path names such a type, or a function that returns one.
    fn is_dropped_path(&self, path: &syn::ExprPath) -> bool {
        let text = path_text(&path.path);
        if self.env.has(&text) {
            return false;
        }
        let module = self.module();
        let owner = self.function().owner.as_ref();
        let ty_of = |path: syn::TypePath| self.index.ty(module, owner, &path.into());
        if self.index.has_drop(&ty_of(syn::TypePath { qself: path.qself.clone(), path: path.path.clone() })) {
            return true;
        }
        if let Resolved::Item(_, _, Name::Fn(id)) = self.index.resolve(module, &text) {
            return self.returns_dropped(id);
        }
        let head = text.rsplit_once("::").and_then(|(head, name)| Some((syn::parse_str(head).ok()?, name)));
        head.is_some_and(|(head, name)| {
            let method = self.index.method(&ty_of(head), name);
            method.is_some_and(|id| self.returns_dropped(id))
        })
    }

    /// Whether what the function returns is, or holds, a value of such a type.
    fn returns_dropped(&self, id: usize) -> bool {
        let function = &self.index.fns[id];
        let mut types = Types(Vec::new());
        types.visit_return_type(&function.sig.output);
        let is_dropped = |ty: syn::TypePath| {
            self.index.has_drop(&self.index.ty(&function.module, function.owner.as_ref(), &ty.into()))
        };
        types.0.into_iter().any(is_dropped)
    }
}

struct Find<'t, 'i> {
    tracer: &'t Tracer<'i>,
    found: bool,
}

impl Find<'_, '_> {
    /// Whether the method, of the crate as far as is known, returns such a value.
    fn is_dropped_method(&self, call: &syn::ExprMethodCall) -> bool {
        let index = self.tracer.index;
        match self.tracer.chain_ty(&call.receiver) {
            Ty::Unknown => {
                let is_it = |id: &usize| {
                    let sig = &index.fns[*id].sig;
                    sig.ident == call.method && sig.receiver().is_some()
                };
                (0..index.fns.len()).filter(is_it).any(|id| self.tracer.returns_dropped(id))
            }
            known => {
                let method = index.method(&known, &call.method.to_string());
                method.is_some_and(|id| self.tracer.returns_dropped(id))
            }
        }
    }
}

impl<'ast> Visit<'ast> for Find<'_, '_> {
    fn visit_expr(&mut self, expr: &'ast syn::Expr) {
        match expr {
            // What stands in blocks is looked at where they are traced, and a closure's where it is called.
            syn::Expr::Block(_) | syn::Expr::Unsafe(_) | syn::Expr::Loop(_) | syn::Expr::Closure(_) => return,
            syn::Expr::If(branch) => {
                self.visit_expr(&branch.cond);
                return branch.else_branch.iter().for_each(|(_, other)| self.visit_expr(other));
            }
            syn::Expr::While(each) => return self.visit_expr(&each.cond),
            syn::Expr::ForLoop(each) => return self.visit_expr(&each.expr),
            syn::Expr::Path(path) => self.found |= self.tracer.is_dropped_path(path),
            syn::Expr::Struct(literal) => {
                let (qself, path) = (literal.qself.clone(), literal.path.clone());
                self.found |= self.tracer.is_dropped_path(&syn::ExprPath { attrs: Vec::new(), qself, path });
            }
            syn::Expr::MethodCall(call) => self.found |= self.is_dropped_method(call),
            syn::Expr::Macro(call) => comma_operands(&call.mac).iter().flatten().for_each(|item| self.visit_expr(item)),
            _ => {}
        }
        syn::visit::visit_expr(self, expr);
    }

    fn visit_item(&mut self, _: &'ast syn::Item) {}
}

/// The paths of a type, but those behind references.
struct Types(Vec<syn::TypePath>);

impl<'ast> Visit<'ast> for Types {
    fn visit_type_path(&mut self, path: &'ast syn::TypePath) {
        self.0.push(path.clone());
        syn::visit::visit_type_path(self, path);
    }

    fn visit_type_reference(&mut self, _: &'ast syn::TypeReference) {}
}
