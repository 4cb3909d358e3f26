//! What is told of the user's code while it is traced.

use proc_macro2::Span;

use crate::diag::{Code, Diagnostic, Severity};
use crate::trace::{Frame, OpaquePiece, Tracer, opaque::weight::Operations};

/// Code that is kept as opaque code.
#[derive(Debug)]
pub(in crate::trace) struct Reported {
    pub(in crate::trace) reason: String,
    operations: Operations,
    pub(in crate::trace) diagnostic: Diagnostic,
}

impl Tracer<'_> {
    pub(in crate::trace) fn report(&self, code: Code, severity: Severity, span: Span, message: String, help: &str) {
        self.diags.push(self.diagnostic(code, severity, span, message, help));
    }

    fn diagnostic(&self, code: Code, severity: Severity, span: Span, message: String, help: &str) -> Diagnostic {
        let home = self.frames.first().and_then(|frame| self.index.fns[frame.function].key.as_ref());
        Diagnostic {
            code,
            severity,
            span,
            place: self.function().place(span),
            home: home.map(ToString::to_string),
            message,
            help: help.to_owned(),
        }
    }

    /// Notes that code is kept as opaque code; an error where the item says `strict`. It is told once the trace is at its end:
    /// until then what stands around the code may be kept as opaque code as well. That many operations are in it.
    pub(in crate::trace) fn report_opaque(&mut self, span: Span, reason: &str, operations: Operations) {
        let strict = |frame: &Frame| self.index.fns[frame.function].traceable.as_ref().is_some_and(|one| one.strict);
        let severity = if self.frames.iter().any(strict) { Severity::Error } else { Severity::Note };
        let help = match severity {
            Severity::Error => "write it with ops that are known, or drop `strict` to have it carried along as it is",
            _ => "written with ops that are known it would be optimised with what stands around it",
        };
        let message = format!("carried along, not understood: {reason}");
        let diagnostic = self.diagnostic(Code::Opaque, severity, span, message, help);
        self.opaque.push(Reported { reason: reason.to_owned(), operations, diagnostic });
    }

    /// The pieces of code that were kept as opaque code.
    pub(in crate::trace) fn opaque_pieces(&self) -> Vec<OpaquePiece> {
        let piece = |one: &Reported| OpaquePiece {
            place: one.diagnostic.place.clone(),
            reason: one.reason.clone(),
            operations: one.operations.count(self.index),
        };
        self.opaque.iter().map(piece).collect()
    }
}
