//! Variables of the user's that are references: to values which have no place in generated code, `let p = &Plain;`, and to
//! tensors that generated code may have behind another reference.

use syn::visit::{self, Visit};

use fx_ir::{Arg, Op};

use crate::index::{Function, Name, Resolved, is_text};
use crate::syntax::{names_of, peeled, written_types::typed_params};
use crate::trace::{RefKind, Tracer, Ty, Val};

impl Tracer<'_> {
    /// Whether generated code writes the value itself where the user's variable is a reference to it; a text is one by itself.
    pub(super) fn loses_reference(&self, name: &str, value: &Val) -> bool {
        let is_value = match value {
            Val::Lit(Arg::None, _) | Val::Fields(..) | Val::Tuple(_) | Val::Some(_) => true,
            Val::Lit(_, Ty::Rust(name)) => !is_text(name),
            Val::Lit(Arg::Path(path), _) => matches!(
                self.index.resolve(self.home(), path),
                Resolved::Item(_, _, Name::Struct(id)) if self.index.structs[id].fields.is_empty()
            ),
            _ => false,
        };
        is_value && is_reference(self.function(), name)
    }

    /// Whether it is a reference to a tensor that a region is handed, which generated code may have behind another one: no
    /// operator is known of that.
    pub(super) fn is_bound_reference(&self, value: &Val) -> bool {
        let Val::Node(id, Ty::Tensor, RefKind::Ref) = value else { return false };
        if self.graph.may_be_reference(*id) {
            return true;
        }
        self.graph.node(*id).op == Op::Placeholder && self.graph.scope_of(*id) != Some(self.graph.body())
    }
}

/// Returns whether all variables of that name in the function, parameters among them, are references by the form of what they
/// are declared with.
fn is_reference(function: &Function, name: &str) -> bool {
    let mut declared = Declared { name, all: Vec::new() };
    for param in typed_params(&function.sig).filter(|param| names_of(&param.pat).contains(name)) {
        let is_plain = matches!(&*param.pat, syn::Pat::Ident(_));
        declared.all.push(is_plain && matches!(&*param.ty, syn::Type::Reference(of) if of.mutability.is_none()));
    }
    declared.visit_block(&function.block);
    !declared.all.is_empty() && declared.all.iter().all(|is_reference| *is_reference)
}

struct Declared<'n> {
    name: &'n str,
    /// Of each declaration, whether it is that of a reference.
    all: Vec<bool>,
}

impl<'ast> Visit<'ast> for Declared<'_> {
    fn visit_local(&mut self, local: &'ast syn::Local) {
        let is_plain =
            |pat: &syn::Pat| matches!(pat, syn::Pat::Ident(pat) if pat.by_ref.is_none() && pat.ident == self.name);
        let is_borrow = |init: &syn::LocalInit| matches!(peeled(&init.expr), syn::Expr::Reference(borrowed) if borrowed.mutability.is_none());
        match &local.init {
            Some(init) if is_plain(&local.pat) && is_borrow(init) => {
                self.all.push(true);
                self.visit_local_init(init);
            }
            _ => visit::visit_local(self, local),
        }
    }

    /// Of any other declaration.
    fn visit_pat_ident(&mut self, pat: &'ast syn::PatIdent) {
        if pat.ident == self.name {
            self.all.push(false);
        }
        visit::visit_pat_ident(self, pat);
    }
}
