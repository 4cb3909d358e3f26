//! Pairs, structs of the body's own, and the model's fields where they are written.

use super::{Type, Writer, Yields};

impl Writer {
    pub(super) fn pair(&mut self) -> String {
        if let Some(called) = self.called(Yields::One(Type::Pair)).filter(|_| self.rng.bool()) {
            return called;
        }
        format!("({}, {})", self.tensor(), self.tensor())
    }

    /// A struct, made anew or from another.
    pub(super) fn held(&mut self) -> String {
        let depth = self.scope.depth;
        let other = self.variable(|one| one.ty == Type::Held && one.depth == depth);
        if let Some(one) = other.filter(|_| self.rng.bool()) {
            self.scope.moved(one.at);
            let name = one.name;
            return match self.below(3) {
                0 => format!("Held {{ n: {}, ..{name} }}", self.int()),
                1 => format!("{name}.with({})", self.tensor()),
                _ => name,
            };
        }
        format!("Held {{ h: {}, o: {}, n: {} }}", self.tensor(), self.maybe(), self.int())
    }

    pub(super) fn lent_held(&mut self) -> Option<String> {
        let one = self.variable(|one| (one.ty == Type::Held && one.is_mut) || one.ty == Type::LentHeld)?;
        self.scope.free(one.at);
        Some(if one.ty == Type::LentHeld { one.name } else { format!("&mut {}", one.name) })
    }

    /// A write to a struct's fields.
    pub(super) fn held_write(&mut self) -> Option<String> {
        let one = self.variable(|one| (one.ty == Type::Held && one.is_mut) || one.ty == Type::LentHeld)?;
        self.scope.free(one.at);
        let name = one.name;
        Some(match self.below(6) {
            0 => format!("{name}.h = {};", self.tensor()),
            1 => format!("{name}.o = {};", self.maybe()),
            2 => format!("{name}.n += {};", self.int()),
            3 => format!("{name}.step({});", self.shared()),
            4 => format!("let _ = {name}.h.{};", self.in_place()),
            _ => format!("if let Some(o) = &mut {name}.o {{ let _ = o.{}; }}", self.in_place()),
        })
    }

    /// A write to the model's own state.
    pub(super) fn state_write(&mut self) -> Option<String> {
        if !self.writes_self() || !self.has_self {
            return None;
        }
        Some(match self.below(9) {
            0 => format!("self.count += {};", self.int()),
            1 => format!("self.kept = {};", self.maybe()),
            2 => format!("self.total = {}.tanh();", self.receiver()),
            3 => format!("self.total = &self.total * 0.5 + {}.mean_dim(0i64, true, xs.kind());", self.receiver()),
            4 => "if let Some(old) = self.kept.take() { self.total = old.mean_dim(0i64, true, xs.kind()); }".to_owned(),
            5 => format!("self.seen.push({});", self.tensor()),
            7 => self.recurrent_write(),
            6 => "if self.seen.len() > 2 { self.seen.remove(0); }".to_owned(),
            _ => format!("let _ = self.total.{};", self.in_place()),
        })
    }

    /// What is read of the model's own state.
    pub(super) fn state_read(&mut self) -> Option<String> {
        if !self.writes_self() || !self.has_self {
            return None;
        }
        let (_, pattern) = self.declared(Type::Int);
        let name = self.name();
        Some(match self.below(3) {
            0 => format!("let {pattern} = self.count + self.seen.len() as i64;"),
            1 => format!(
                "let {pattern} = match &self.kept {{ Some({name}) => {name}.dim() as i64, None => self.count }};"
            ),
            _ => format!("let {pattern} = self.count; self.count += {pattern} % 3;").replace("+= mut ", "+= "),
        })
    }
}
