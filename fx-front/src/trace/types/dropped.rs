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

impl<'ast> Visit<'ast> for Find<'_, '_> {
    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        self.found |= self.tracer.is_dropped_path(path);
    }

    fn visit_expr_struct(&mut self, literal: &'ast syn::ExprStruct) {
        let path = syn::ExprPath { attrs: Vec::new(), qself: literal.qself.clone(), path: literal.path.clone() };
        self.found |= self.tracer.is_dropped_path(&path);
        syn::visit::visit_expr_struct(self, literal);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let index = self.tracer.index;
        self.found |= match self.tracer.chain_ty(&call.receiver) {
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
        };
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        comma_operands(call).iter().flatten().for_each(|item| self.visit_expr(item));
    }

    fn visit_block(&mut self, _: &'ast syn::Block) {}

    fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}

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
