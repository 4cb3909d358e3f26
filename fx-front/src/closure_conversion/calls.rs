//! Calls of builder functions, as calls of what those are lowered to.

use quote::format_ident;
use syn::{parse_quote, visit_mut::VisitMut};

use super::{Lowering, Site, chain_closures::Variables, returns_module};
use crate::index::{Name, Resolved};
use crate::syntax::path_text;

pub(super) struct Calls<'l, 'a, 's> {
    pub(super) lowering: &'l mut Lowering<'a>,
    pub(super) site: &'l Site<'s>,
    pub(super) variables: &'l Variables,
    pub(super) fault: Option<String>,
}

impl VisitMut for Calls<'_, '_, '_> {
    /// A closure in a chain keeps the place at which the user added it; one that captures variables becomes a struct.
    fn visit_expr_method_call_mut(&mut self, call: &mut syn::ExprMethodCall) {
        syn::visit_mut::visit_expr_method_call_mut(self, call);
        if let Some(layer) = self.lowering.capturing_layer(self.site, call, self.variables) {
            call.method = format_ident!("add", span = call.method.span());
            call.args = [layer].into_iter().collect();
            return;
        }
        if (call.method == "add_fn" || call.method == "add_fn_t") && call.args.len() == 1 {
            let place = crate::syntax::call_position(&call.method);
            call.method = format_ident!("{}_at", call.method);
            call.args.insert(0, parse_quote!(#place));
        }
    }

    fn visit_expr_call_mut(&mut self, call: &mut syn::ExprCall) {
        syn::visit_mut::visit_expr_call_mut(self, call);
        let syn::Expr::Path(path) = &*call.func else { return };
        let resolved = self.lowering.index.resolve(&self.site.module, &path_text(&path.path));
        let Resolved::Item(_, _, Name::Fn(id)) = resolved else { return };
        if !returns_module(&self.lowering.index.fns[id].sig) {
            return;
        }
        match self.lowering.lowered(id, self.site.root) {
            Ok(made) => {
                let here = format!("{}::", self.site.module);
                let short = made.call.strip_prefix(&here).unwrap_or(&made.call);
                if let Ok(path) = syn::parse_str(short) {
                    *call.func = syn::Expr::Path(path);
                }
            }
            Err(reason) => self.fault = Some(reason),
        }
    }
}
