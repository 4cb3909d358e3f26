//! Cells of the model, which a forward by `&self` writes: `RefCell` and `Cell` fields.

use super::{Type, Writer};

/// The fields with cells, as the model's others.
pub(super) const FIELDS: &[(&str, &str, &str)] = &[
    ("calls", "Cell<i64>", "Cell::new(variant as i64)"),
    ("cache", "RefCell<Option<Tensor>>", "RefCell::new(None)"),
    ("past", "RefCell<Vec<Tensor>>", "RefCell::new(Vec::new())"),
    ("pair", "RefCell<Option<(Tensor, Tensor)>>", "RefCell::default()"),
    ("sum", "RefCell<Tensor>", "RefCell::new(p.zeros_no_train(\"sum\", &[1, 8]))"),
];

/// What is read of them at the end.
pub(super) const LEFT: [&str; 3] = [
    "xs + &*self.sum.borrow()",
    "self.past.borrow().iter().fold(xs.copy(), |a, b| a + b)",
    "self.cache.borrow().as_ref().map_or_else(|| xs.neg(), |kept| xs * kept)",
];

impl Writer {
    /// A row that any batch can be added to.
    fn row(&mut self) -> String {
        format!("{}.mean_dim(0i64, true, xs.kind())", self.receiver())
    }

    /// A write to what a cell holds.
    pub(super) fn cell_write(&mut self) -> Option<String> {
        if !self.has_cells() || !self.has_self {
            return None;
        }
        let name = self.name();
        Some(match self.below(14) {
            0 => format!("self.calls.set(self.calls.get() + {} % 5);", self.int()),
            1 => format!("*self.cache.borrow_mut() = Some({});", self.row()),
            2 => "*self.cache.borrow_mut() = None;".to_owned(),
            3 => format!("self.past.borrow_mut().push({});", self.row()),
            4 => "if self.past.borrow().len() > 2 { self.past.borrow_mut().remove(0); }".to_owned(),
            5 => format!("*self.pair.borrow_mut() = Some(({}, {}));", self.row(), self.row()),
            6 => {
                let row = self.row();
                format!(
                    "{{ let mut {name} = self.past.borrow_mut(); {name}.push({row}); if {name}.len() > 3 {{ {name}.clear(); }} }}"
                )
            }
            7 => {
                let row = self.row();
                format!(
                    "{{ let mut {name} = self.cache.borrow_mut(); if {name}.is_none() {{ *{name} = Some({row}); }} }}"
                )
            }
            8 => format!(
                "if let Some({name}) = self.cache.borrow_mut().as_mut() {{ let _ = {name}.{}; }}",
                self.in_place()
            ),
            9 => format!("*self.sum.borrow_mut() += &{};", self.row()),
            10 => format!("self.sum.replace({});", self.row()),
            11 => format!("let {name} = self.pair.take(); drop({name});"),
            12 => "*self.past.borrow_mut() = Default::default();".to_owned(),
            _ => format!("self.calls.replace({} % 3);", self.int()),
        })
    }

    /// What is read of a cell.
    pub(super) fn cell_read(&mut self) -> Option<String> {
        if !self.has_cells() || !self.has_self {
            return None;
        }
        let one = self.name();
        let (value, ty) = match self.below(8) {
            0 => ("self.calls.get()".to_owned(), Type::Int),
            1 => ("self.past.borrow().len() as i64".to_owned(), Type::Int),
            2 => (
                format!(
                    "xs + self.cache.borrow().as_ref().map(|{one}| {one}.shallow_clone()).unwrap_or_else(|| {})",
                    self.row()
                ),
                Type::Tensor,
            ),
            3 => {
                let row = self.row();
                (
                    format!("match &*self.cache.borrow() {{ Some({one}) => xs + {one}, None => xs - {row} }}"),
                    Type::Tensor,
                )
            }
            4 => (format!("self.past.borrow().iter().fold(xs + {}, |a, b| a + b)", self.row()), Type::Tensor),
            5 => (
                format!(
                    "if let Some(({one}, b)) = self.pair.borrow().as_ref() {{ xs + {one} * b }} else {{ xs.neg() }}"
                ),
                Type::Tensor,
            ),
            6 => ("xs * &*self.sum.borrow()".to_owned(), Type::Tensor),
            _ => (format!("self.cache.replace(Some({})).map(|{one}| xs + {one})", self.row()), Type::Maybe),
        };
        let (_, pattern) = self.declared(ty);
        Some(format!("let {pattern} = {value};"))
    }
}
