//! Parts of tuples: a variable for each that is read.

use fx_ir::{Arg, NodeId, Op, Type, host::Yields};

use super::{
    holder::is_number,
    value::Value,
    writer::{Owned, Writer},
};

/// A variable of generated code.
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) is_mut: bool,
}

impl Variable {
    /// As a pattern binds it.
    pub(super) fn bound(&self) -> String {
        if self.is_mut { format!("mut {}", self.name) } else { self.name.clone() }
    }

    /// Its name and its declaration, which gives it no value.
    pub(super) fn declared(&self) -> (String, String) {
        (self.name.clone(), format!("let {};", self.bound()))
    }
}

/// The parts of a tuple, as a pattern binds them or, where `binds` is false, as an assignment writes to them.
pub(super) fn pattern_of(parts: &[Option<Variable>], binds: bool) -> String {
    let named = |part: &Variable| if binds { part.bound() } else { part.name.clone() };
    let parts: Vec<String> = parts.iter().map(|part| part.as_ref().map_or_else(|| "_".to_owned(), named)).collect();
    format!("({},)", parts.join(", "))
}

impl Writer<'_, '_> {
    /// Makes numbers of the parts of a tuple that are numbers, where a branch may hand over a reference to the tuple.
    pub(super) fn copy_numbers(&mut self, id: NodeId, parts: &[Option<Variable>]) {
        let graph = self.graph();
        let is_lent = |arg: &Arg| {
            let op = arg.node().and_then(|given| graph.node(given).op.host());
            op.is_some_and(|op| op.yields() == Yields::Reference)
        };
        let Type::Tuple(types) = &graph.node(id).ty else { return };
        if !graph.node(id).op.is_control_flow() || !graph.handed_on(id).any(is_lent) {
            return;
        }
        let numbers = parts.iter().zip(types).filter(|(_, ty)| is_number(ty)).filter_map(|(part, _)| part.as_ref());
        let copies: Vec<String> =
            numbers.map(|part| format!("let {} = {}.clone();", part.bound(), part.name)).collect();
        self.lines.extend(copies);
    }

    /// `(a, b)` where every reader of a tuple takes a part of it; the parts are bound then.
    pub(super) fn parts_pattern(&mut self, id: NodeId) -> Option<String> {
        self.bound_parts(id).map(|parts| pattern_of(&parts, true))
    }

    /// The branch before which the parts of a tuple are declared.
    pub(super) fn parts_outlived_by(&self, id: NodeId) -> Option<NodeId> {
        self.graph().users(id).into_iter().find_map(|part| self.outlived_by(part))
    }

    /// A variable for each part of a tuple that is read, where every reader takes a part of it; the parts are bound then.
    pub(super) fn bound_parts(&mut self, id: NodeId) -> Option<Vec<Option<Variable>>> {
        let Type::Tuple(types) = &self.graph().node(id).ty else { return None };
        let users = self.graph().users(id);
        let part = |user: NodeId| match self.graph().node(user).op {
            Op::TupleGet(position) => Some((position, user)),
            _ => None,
        };
        let parts: Vec<(usize, NodeId)> = users.iter().map(|&user| part(user)).collect::<Option<_>>()?;
        if types.is_empty() || parts.is_empty() {
            return None;
        }
        let mut variables = Vec::new();
        for position in 0..types.len() {
            let takers = parts.iter().filter(|(at, _)| *at == position).map(|(_, user)| *user);
            let takers: Vec<NodeId> = takers.collect();
            variables.push(takers.first().map(|&first| self.bound_part(first, &takers)));
        }
        Some(variables)
    }

    /// The variable of a part of a tuple, which all of `takers` take.
    fn bound_part(&mut self, first: NodeId, takers: &[NodeId]) -> Variable {
        let base = self.graph().base_name(first).to_owned();
        let is_ahead = takers.iter().any(|&taker| self.outlived_by(taker).is_some());
        let name = if is_ahead { self.names.unused(&base) } else { self.names.fresh(&base) };
        // Behind the last read of one of several another may stand.
        if takers.len() == 1 && self.graph().node(first).ty.is_tensor() {
            let region = self.graph().scope_of(first);
            self.owned.insert(name.clone(), Owned { node: first, region, line: usize::MAX });
        }
        for &taker in takers {
            self.set(taker, Value::variable(name.clone(), self.is_lent(first)));
        }
        Variable { name, is_mut: self.is_place(first) }
    }
}
