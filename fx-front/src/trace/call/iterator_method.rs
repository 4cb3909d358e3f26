//! Methods of the crate that hand out an iterator: `self.blocks().fold(..)` asks the chain of adaptors that the method's
//! body is.

use quote::ToTokens;
use syn::{Expr, ExprMethodCall, Stmt};

use crate::syntax::count_of;
use crate::trace::Tracer;

impl Tracer<'_> {
    /// The chain with the body of a method of `self` that it begins with; `None` where it begins with anything else.
    pub(in crate::trace) fn with_iterator_inlined(&self, chain: &Expr) -> Option<Expr> {
        let Expr::MethodCall(call) = chain else { return None };
        if let Some(receiver) = self.with_iterator_inlined(&call.receiver) {
            return Some(Expr::MethodCall(ExprMethodCall { receiver: Box::new(receiver), ..call.clone() }));
        }
        let is_of_self = matches!(&*call.receiver, Expr::Path(path) if path.path.is_ident("self"));
        if !is_of_self || !call.args.is_empty() {
            return None;
        }
        let id = self.index.method(&self.chain_ty(&call.receiver), &call.method.to_string())?;
        let callee = &self.index.fns[id];
        // What its body names means the same in the module that it is written in.
        let is_here = callee.module == self.module();
        let [Stmt::Expr(body, None)] = callee.block.stmts.as_slice() else { return None };
        let takes_only_self = callee.sig.inputs.len() == 1 && callee.sig.generics.type_params().next().is_none();
        // It would stand for the variable of this name of the function that asks.
        let shadows = self.env.read("self").is_some() || count_of(body.to_token_stream(), "Self") > 0;
        (is_here && takes_only_self && !shadows && yields_iterator(&callee.sig)).then(|| body.clone())
    }
}

fn yields_iterator(sig: &syn::Signature) -> bool {
    let syn::ReturnType::Type(_, ty) = &sig.output else { return false };
    let syn::Type::ImplTrait(given) = &**ty else { return false };
    given.bounds.iter().any(|bound| match bound {
        syn::TypeParamBound::Trait(bound) => {
            bound.path.segments.last().is_some_and(|last| last.ident.to_string().ends_with("Iterator"))
        }
        _ => false,
    })
}
