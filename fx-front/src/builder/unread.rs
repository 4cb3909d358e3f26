//! What of a constructor could not be read, for the report.

use std::{cell::RefCell, collections::BTreeMap, fmt, rc::Rc};

use fx_ir::Place;
use syn::spanned::Spanned;

use super::{read::Reader, syntax::root_variable};
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

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unread::NoConstructor => f.write_str("no constructor of it was found"),
            Unread::Closures => f.write_str("its closures cannot be told apart"),
            Unread::Code(code, place) => write!(f, "{code} at {place} could not be read"),
        }
    }
}

/// What was found so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    /// In the expression that is being read.
    here: Option<Unread>,
    /// In what variables were given.
    of: BTreeMap<String, Unread>,
}

pub(super) type SharedNotes = Rc<RefCell<Notes>>;

impl Reader<'_> {
    /// Notes that the expression could not be read; what was noted before is nearer to the reason.
    pub(super) fn note(&self, expr: &syn::Expr) {
        let code = self.unread_code(expr);
        self.notes.borrow_mut().here.get_or_insert(code);
    }

    /// Reads what a variable is given.
    pub(super) fn noting<T>(&self, variable: &str, read: impl FnOnce() -> Option<T>) -> Option<T> {
        let before = self.notes.borrow_mut().here.take();
        let value = read();
        let mut notes = self.notes.borrow_mut();
        match std::mem::replace(&mut notes.here, before) {
            Some(found) if value.is_none() => drop(notes.of.insert(variable.to_owned(), found)),
            _ => {}
        }
        value
    }

    /// Reads what may be something else, of which nothing is noted where it is.
    pub(super) fn trying<T>(&self, read: impl FnOnce() -> Option<T>) -> Option<T> {
        let before = self.notes.borrow().here.clone();
        let value = read();
        if value.is_some() {
            self.notes.borrow_mut().here = before;
        }
        value
    }

    /// Why the chain that the expression makes could not be read.
    pub(super) fn reason(&self, expr: &syn::Expr) -> Unread {
        let notes = self.notes.borrow();
        let of_variable = root_variable(expr).and_then(|name| notes.of.get(&name));
        notes.here.as_ref().or(of_variable).cloned().unwrap_or_else(|| self.unread_code(expr))
    }

    fn unread_code(&self, expr: &syn::Expr) -> Unread {
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
        Unread::Code(code, self.function().place(expr.span()))
    }

    fn function(&self) -> &Function {
        &self.index.fns[self.id]
    }
}
