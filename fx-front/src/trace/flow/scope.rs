//! Variables that one piece of code alone sees, and those that a loop carries.

use proc_macro2::{Ident, Span};
use quote::format_ident;

use crate::trace::{RefKind, Result, Tracer, Val};

impl Tracer<'_> {
    /// Traces code with these variables declared.
    pub(in crate::trace) fn with_variables<T>(
        &mut self,
        variables: &[(String, Val)],
        trace: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.env.open();
        for (name, value) in variables {
            self.env.declare(name, value.clone());
        }
        let value = trace(self);
        self.env.close();
        value
    }

    pub(in crate::trace) fn declare_carried(&mut self, carried: &[(String, Val)], span: Span) {
        for (name, value) in carried {
            let leaves = value.leaves().unwrap_or_default().into_iter();
            let params = leaves.map(|leaf| {
                let ty = leaf.ty();
                let (ir, origin) = (self.index.ir_type(&ty), self.origin(span, name));
                let id = self.graph.add_param(self.region, name, ir, origin);
                Val::Node(id, ty, leaf.ref_kind().unwrap_or(RefKind::Value))
            });
            let params: Vec<Val> = params.collect();
            // Written to where it was declared, so that the block's end does not forget it.
            self.env.assign(name, value.rebuild(&mut params.into_iter()));
        }
    }

    pub(in crate::trace) fn fresh_name(&mut self, what: &str, span: Span) -> Ident {
        self.sources += 1;
        format_ident!("fx_{what}_{}", self.sources, span = span)
    }
}
