//! What control flow looks at: a value, or a reference to what a `match` takes apart.

use fx_ir::{Arg, HostOp, NodeId, Op, Pattern, Type, pattern::Literal};

use super::{
    holder::is_number,
    host,
    value::{Form, Value},
    writer::Writer,
};

impl Writer<'_, '_> {
    /// What control flow looks at or goes over: a value, or a literal.
    pub(super) fn subject(&self, id: NodeId) -> Value {
        let first = self.graph().node(id).args.first();
        first.map_or_else(|| Value::owned("()"), |arg| host::operand(arg, &|id| self.read(id)))
    }

    /// What a `match` looks at: borrowed, unless it is a number, a tuple of references or a reference already.
    pub(super) fn borrowed_subject(&self, id: NodeId, patterns: &[Pattern]) -> String {
        let subject = self.subject(id);
        if patterns.iter().any(|pattern| matches!(pattern, Pattern::Some(held) if matches!(**held, Pattern::Slice(_))))
        {
            return format!("::fx_runtime::frozen::option_of_slice({})", subject.borrowed());
        }
        let is_copied = self.is_option_of_reference(id)
            || match self.graph().node(id).args.first() {
                Some(Arg::Node(of)) => is_number(&self.graph().node(*of).ty),
                Some(Arg::Int(_) | Arg::Float(_) | Arg::Bool(_) | Arg::Str(_)) => true,
                _ => false,
            };
        if is_copied || subject.form == Form::Tuple { subject.text } else { self.taken_apart(id, &subject) }
    }

    /// A reference to what a `match` takes apart. An enum that may lie behind a pointer is named, so that the compiler
    /// looks through the pointer.
    pub(super) fn taken_apart(&self, id: NodeId, subject: &Value) -> String {
        let of = self.graph().node(id).input(0).map(|subject| &self.graph().node(subject).ty);
        match of {
            Some(Type::Rust(name)) if self.emitter.index.is_behind_pointer(name) => {
                format!("::fx_runtime::frozen::behind::<{name}>({})", subject.borrowed())
            }
            Some(Type::Option(held)) if **held == Type::rust("String") && self.asks_for_text(id) => {
                format!("::fx_runtime::frozen::option_of_text({})", subject.borrowed())
            }
            // An element of a list of texts is a reference to one.
            Some(Type::Rust(name)) if ["str", "String", "&str", "&'static str"].contains(&name.as_str()) => {
                format!("::core::convert::AsRef::<str>::as_ref({})", subject.borrowed())
            }
            _ => subject.borrowed(),
        }
    }

    /// Whether an arm of the `match` asks for a text that is written out, which a `String` is not matched by.
    fn asks_for_text(&self, id: NodeId) -> bool {
        fn is_text(pattern: &Pattern) -> bool {
            match pattern {
                Pattern::Literal(literal) => matches!(literal, Literal::Str(_)),
                Pattern::Some(held) | Pattern::Reference(held) => is_text(held),
                Pattern::Or(cases) => cases.iter().any(is_text),
                _ => false,
            }
        }
        matches!(&self.graph().node(id).op, Op::Match(patterns) if patterns.iter().any(is_text))
    }

    /// Whether a `match` looks at an option of a reference, which is copied: a pattern would bind a reference to a reference.
    pub(super) fn is_option_of_reference(&self, id: NodeId) -> bool {
        self.graph().node(id).input(0).is_some_and(|of| {
            let node = self.graph().node(of);
            let is_slice = matches!(&node.ty, Type::Option(inner) if matches!(**inner, Type::List(_)));
            let is_lent = matches!(node.ty, Type::Option(_)) && node.op.host().is_some_and(HostOp::yields_loan);
            is_lent || is_slice && fx_print::call::Operands::holds_reference(self, of)
        })
    }
}
