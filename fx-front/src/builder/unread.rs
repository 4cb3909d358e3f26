//! What of a constructor could not be read, for the report.

use std::{cell::RefCell, collections::BTreeMap, fmt, rc::Rc};

use fx_ir::Place;
use syn::spanned::Spanned;

use super::syntax::root_variable;
use crate::index::Function;
use crate::syntax::path_text;

/// Why the layers of a chain are not known.
#[derive(Clone, Debug)]
pub(crate) enum Unread {
    /// Nothing in the crate is known to make the chain.
    NoConstructor,
    /// Nothing tells at run time which of several closures it holds.
    Closures,
    /// This code, at that place.
    Code(String, Place),
}

impl Unread {
    /// Of an expression in the function.
    fn code(expr: &syn::Expr, function: &Function) -> Self {
        let code = match expr {
            syn::Expr::Call(call) => match &*call.func {
                syn::Expr::Path(path) => format!("`{}(..)`", path_text(&path.path)),
                _ => "a call of a value".to_owned(),
            },
            syn::Expr::MethodCall(call) => format!("`.{}(..)`", call.method),
            syn::Expr::Path(path) => format!("`{}`", path_text(&path.path)),
            syn::Expr::Macro(call) => format!("`{}!`", path_text(&call.mac.path)),
            _ => "the code".to_owned(),
        };
        Unread::Code(code, function.place(expr.span()))
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unread::NoConstructor => f.write_str("no constructor of it was found"),
            Unread::Closures => f.write_str("its closures cannot be told apart"),
            Unread::Code(code, place) => write!(f, "{code} at {place} could not be read"),
        }
    }
}

/// What was found so far, by a reader and those of the functions that it calls.
#[derive(Clone, Default)]
pub(super) struct Notes(Rc<RefCell<Found>>);

#[derive(Default)]
struct Found {
    /// In the expression that is being read.
    here: Option<Unread>,
    /// In what variables were given.
    of: BTreeMap<String, Unread>,
}

impl Notes {
    /// Notes that the expression of the function could not be read; what was noted before is nearer to the reason.
    pub(super) fn note(&self, expr: &syn::Expr, function: &Function) {
        self.0.borrow_mut().here.get_or_insert_with(|| Unread::code(expr, function));
    }

    /// Reads what a variable is given.
    pub(super) fn noting<T>(&self, variable: &str, read: impl FnOnce() -> Option<T>) -> Option<T> {
        let before = self.0.borrow_mut().here.take();
        let value = read();
        let mut notes = self.0.borrow_mut();
        match std::mem::replace(&mut notes.here, before) {
            Some(found) if value.is_none() => drop(notes.of.insert(variable.to_owned(), found)),
            _ => {}
        }
        value
    }

    /// Reads what may be something else, of which nothing is noted where it is.
    pub(super) fn trying<T>(&self, read: impl FnOnce() -> Option<T>) -> Option<T> {
        let before = self.0.borrow().here.clone();
        let value = read();
        if value.is_some() {
            self.0.borrow_mut().here = before;
        }
        value
    }

    /// Why the chain that the expression of the function makes could not be read.
    pub(super) fn reason(&self, expr: &syn::Expr, function: &Function) -> Unread {
        let notes = self.0.borrow();
        let of_variable = root_variable(expr).and_then(|name| notes.of.get(&name));
        notes.here.as_ref().or(of_variable).cloned().unwrap_or_else(|| Unread::code(expr, function))
    }
}
