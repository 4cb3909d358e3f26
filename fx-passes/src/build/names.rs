//! Names of generated types that would clash.

use fx_front::diag::{Code, Diagnostic, Diagnostics, Severity};
use fx_front::index::{Function, Index, Ty};

/// Two entries of one type would both be called `NetFrozen`.
pub(super) fn check_names(index: &Index, diags: &Diagnostics) {
    let mut seen: Vec<(Ty, &Function)> = Vec::new();
    for function in index.fns.iter().filter(|function| function.key.is_some()) {
        let Some(owner) = &function.owner else { continue };
        let ty = index.ty(&function.module, None, owner);
        let first = seen.iter().find(|(known, _)| *known == ty).map(|(_, first)| *first);
        if let Some(first) = first {
            let span = function.sig.ident.span();
            let name = quote::ToTokens::to_token_stream(owner).to_string();
            diags.push(Diagnostic {
                code: Code::DuplicateName,
                severity: Severity::Error,
                span,
                place: function.place(span),
                home: function.key.as_ref().map(ToString::to_string),
                message: format!("`{name}` is frozen twice: `{}` and `{}`", first.sig.ident, function.sig.ident),
                help: "keep `#[traceable]` on the one that is to be frozen; the other is inlined where it is called"
                    .to_owned(),
            });
        }
        seen.push((ty, function));
    }
}
