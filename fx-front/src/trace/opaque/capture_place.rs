//! Places in opaque code, which reaches them where they lie and may write to them.

use fx_ir::{Arg, CodeScope, CodeVariable};
use syn::spanned::Spanned;

use crate::syntax::{bound_names, effects};
use crate::trace::types::ty::is_copy;
use crate::trace::{
    RefKind, Result, Tracer, Val,
    opaque::{borrowed::only_looks_into, capture::Capture, template::hole},
    place::{Place, Root, own_option::moves_option},
    unsupported,
};

impl Tracer<'_> {
    /// Puts the place into the code where it is mentioned: by the name that it has there, made one line ahead, or, where the
    /// code mentions other parts of the same state, as the way to it.
    pub(in crate::trace) fn capture_place(
        &self,
        place: &Place,
        (expr, capture, position): (&syn::Expr, &Capture, usize),
        (code, scope): (&mut String, &mut CodeScope),
        args: &mut Vec<Arg>,
    ) -> Result<()> {
        let (name, span) = (&capture.places[position], expr.span());
        if place.is_cell() || place.may_borrow_state() {
            return unsupported(span, "code that mentions what the forward writes to");
        }
        let placeholder = Capture::placeholder(position);
        if effects::gives(expr, name) {
            return unsupported(span, format!("code that gives `{name}` another place"));
        }
        if place.is_own_option() && moves_option(expr, name) {
            return unsupported(span, format!("code that moves `{name}`"));
        }
        let is_bound = bound_names(expr).contains(name) || capture.formatted.contains(name);
        let writes = |call: &syn::ExprMethodCall| self.may_write(call);
        let is_read = !effects::written(expr, &writes).contains(name) && only_looks_into(expr, name);
        let (borrow, target) = if is_read { ("&", place.shared_target()) } else { ("&mut ", place.target()) };
        if self.is_only_place(place, capture) {
            // In a loop, what the code makes of it may be kept from one iteration to the next.
            if let Some(parameter) = self.own_parameter(place, name).filter(|_| !is_read && !is_bound) {
                *code = code.replace(&placeholder, &hole(args, parameter));
                return Ok(());
            }
            scope.variables.push(CodeVariable::new(name, format!("{borrow}{}", hole(args, target))));
            *code = code.replace(&placeholder, name);
            return Ok(());
        }
        // Behind a star it would be borrowed anew at each mention, also within a statement that writes to it.
        if is_bound || effects::derefs(expr, name) {
            return unsupported(span, format!("code that mentions `{name}`"));
        }
        *code = with_place(code, &placeholder, (borrow, &hole(args, target)));
        Ok(())
    }

    /// The `&mut` parameter of the entry, where the place is what it borrows and the code mentions it by its own name: the code
    /// borrows it where it needs to and no sooner, so that references into it which the code reads first are not disturbed.
    fn own_parameter(&self, place: &Place, name: &str) -> Option<Arg> {
        let id = place.root.node().filter(|_| place.kind == Root::Borrow && place.projection.is_empty())?;
        (self.frames.len() == 1 && self.graph.node(id).name == name).then_some(Arg::Node(id))
    }

    /// Whether the code mentions no other part of what the place is rooted in.
    fn is_only_place(&self, place: &Place, capture: &Capture) -> bool {
        let places = capture.places.iter().filter_map(|name| self.env.read(name));
        places.filter(|value| matches!(value, Val::Place(other) if other.root.same(&place.root))).count() == 1
    }
}

/// Opaque code with the place where it is mentioned: two parts of it may be written to at once.
fn with_place(code: &str, placeholder: &str, (borrow, target): (&str, &str)) -> String {
    let parts = [" .", " ["]
        .iter()
        .fold(code.to_owned(), |code, way| code.replace(&format!("{placeholder}{way}"), &format!("({target}){way}")));
    parts.replace(placeholder, &format!("({borrow}{target})"))
}

/// Whether it is a number to which the user's code has a reference, as opaque code tells that looks behind it.
pub(in crate::trace) fn looks_behind(code: &syn::Expr, name: &str, value: &Val) -> bool {
    is_copy(&value.ty()) && value.ref_kind() != Some(RefKind::Ref) && effects::derefs(code, name)
}
