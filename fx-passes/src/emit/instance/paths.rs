//! Paths of the live model: a label of the traced graph has a `*` where a loop or a matched chain knows the position.

use fx_ir::{HostOp, NodeId, RegionId};

use super::super::{host, value::literal};
use super::Walk;

impl Walk<'_, '_> {
    /// Tells the runtime's tracer which modules the node stands in, where it does not know.
    pub(super) fn stand_in_modules_of(&mut self, id: NodeId) {
        let modules = &self.writer.graph().node(id).origin.nn_module_stack;
        if self.modules.as_ref() == Some(modules) {
            return;
        }
        let scopes: Vec<String> =
            modules.iter().map(|module| format!("({}, {:?})", self.path(&module.path), module.ty)).collect();
        self.writer.line(format!("t.stand_in(&[{}]);", scopes.join(", ")));
        self.modules = Some(modules.clone());
    }

    /// Gives the element that a loop binds its live path, at the begin of the loop's region.
    pub(super) fn name_bound(&mut self, element: NodeId, region: RegionId, turn: &str) {
        let label = self.writer.graph().node(element).origin.labels.first();
        let at = label.and_then(|label| label.rfind('*'));
        if let Some(line) = at.and_then(|at| self.named(element, at, turn)) {
            self.writer.openings.entry(Some(region)).or_default().push(line);
        }
    }

    /// Gives the element that an operation takes out of a list or a chain its live path.
    pub(super) fn name_element(&mut self, id: NodeId) {
        let node = self.writer.graph().node(id);
        let read =
            |at: usize| node.args.get(at).map(|arg| literal(arg, &|id| self.writer.read(id))).unwrap_or_default();
        let position = match node.op.host() {
            Some(HostOp::ItemRef) => read(1),
            Some(op @ (HostOp::MatchedLayer(_) | HostOp::LayerFromEnd(_))) => {
                host::layer_position(op, &[read(0), read(1), read(2)])
            }
            _ => return,
        };
        let Some(label) = node.origin.labels.first() else { return };
        let last = label.rfind('.').map_or(0, |dot| dot + 1);
        let at = label[last..].find('*').or_else(|| is_from_end(&label[last..]).then_some(0));
        if let Some(line) = at.and_then(|at| self.named(id, last + at, &position)) {
            self.writer.line(line);
        }
    }

    /// The line that names the live path of an element, in whose label the position stands at `at`.
    fn named(&mut self, element: NodeId, at: usize, position: &str) -> Option<String> {
        let label = self.writer.graph().node(element).origin.labels.first()?.clone();
        // A `*` is one character; a position from the end takes the segment.
        let end = if label[at..].starts_with('*') { Some(1) } else { label[at..].find('.') };
        let rest = end.map_or("", |end| &label[at + end..]);
        let base = self.path(&label[..at]);
        let name = self.writer.names.fresh("path");
        self.paths.push((label.clone(), name.clone()));
        Some(format!("let {name} = format!(\"{{}}{{}}{{}}\", {base}, {position}, {rest:?});"))
    }

    /// A path as an expression: known up to the last element that has one, and each `*` behind it the iteration of a
    /// loop.
    pub(super) fn path(&self, label: &str) -> String {
        let holds = |part: &str| label.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let known = self.paths.iter().rev().filter(|(part, _)| holds(part)).max_by_key(|(part, _)| part.len());
        let (start, rest) = known.map_or(("", label), |(part, name)| (name.as_str(), &label[part.len()..]));
        let stars = rest.matches('*').count();
        match (start, stars) {
            ("", 0) => return format!("{rest:?}"),
            (start, 0) if rest.is_empty() => return format!("&{start}"),
            _ => {}
        }
        let skip = self.loops.len().saturating_sub(stars);
        let turns: Vec<&str> = self.loops.iter().skip(skip).map(String::as_str).collect();
        let missing = vec!["\"*\""; stars.saturating_sub(turns.len())];
        let fills = [missing, turns].concat().into_iter();
        let format = rest.replace('{', "{{").replace('}', "}}").replace('*', "{}");
        let (head, start) = if start.is_empty() { ("", None) } else { ("{}", Some(start)) };
        let args: Vec<&str> = start.into_iter().chain(fills).collect();
        format!("&format!(\"{head}{format}\", {})", args.join(", "))
    }
}

/// Whether it begins with a position that is counted from the end: `-1`.
fn is_from_end(label: &str) -> bool {
    let digits = label.strip_prefix('-').unwrap_or_default().split('.').next().unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
}
