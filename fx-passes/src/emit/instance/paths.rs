//! Paths of the live model: a label of the traced graph has a `*` where a loop or a matched chain knows the position.

use fx_ir::{HostOp, ModuleScope, NodeId, RegionId};

use super::super::host::{self, literal};
use super::Walk;

impl Walk<'_, '_> {
    /// Tells the runtime's tracer which modules and which file the node stands in, where it does not know.
    pub(super) fn stand_in_modules_of(&mut self, id: NodeId) {
        let modules = self.writer.graph().node(id).origin.nn_module_stack.clone();
        self.stand_in(&modules);
        if let Some(place) = self.writer.graph().node(id).origin.places.last() {
            let file = place.file.clone();
            self.be_in(&file);
        }
    }

    /// Tells the runtime's tracer to go on in this file.
    pub(super) fn be_in(&mut self, file: &str) {
        if self.file != file {
            self.writer.line(format!("t.file({file:?});"));
            file.clone_into(&mut self.file);
        }
    }

    /// Tells the runtime's tracer to go on in these modules: how many of the ones that it is in stay, and which follow.
    pub(super) fn stand_in(&mut self, modules: &[ModuleScope]) {
        let kept = common_length(&self.modules, modules);
        if kept == modules.len() && (kept < self.modules.len() || self.may_be_deeper) {
            self.writer.line(format!("t.leave({kept});"));
        }
        self.modules.truncate(kept);
        for (depth, module) in modules.iter().enumerate().skip(kept) {
            let path = self.relative_path(&module.path);
            self.writer.line(format!("t.enter({depth}, {path}, {:?});", module.ty));
            self.modules.push(module.clone());
        }
        self.may_be_deeper = false;
    }

    /// Goes on behind the arms of a decision, which the runtime's tracer leaves in one of these stacks of modules.
    pub(super) fn join_modules(&mut self, ends: &[(Vec<ModuleScope>, bool)]) {
        let Some(((first, _), rest)) = ends.split_first() else { return };
        let kept = rest.iter().fold(first.len(), |kept, (end, _)| common_length(&first[..kept], end));
        self.may_be_deeper = ends.iter().any(|(end, may_be_deeper)| *may_be_deeper || end.len() > kept);
        self.modules = first[..kept].to_vec();
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
        let path = self.live_path(&label[..at]).then_value(position).then_text(rest);
        let name = self.writer.names.fresh("path");
        self.paths.push((label.clone(), name.clone()));
        Some(format!("let {name} = {};", path.formatted()))
    }

    /// A path as an expression of type `&str`.
    pub(super) fn path(&self, label: &str) -> String {
        self.live_path(label).text()
    }

    /// The same from the module on that the runtime's tracer is in, behind a dot, where that is a path of the model too
    /// and the position of an element is in it.
    pub(super) fn relative_path(&self, label: &str) -> String {
        let path = self.live_path(label);
        let around = self.modules.last().map_or("", |module| module.path.as_str());
        let rest = label.strip_prefix(around).filter(|rest| rest.starts_with('.') && !rest.contains('*'));
        let is_known_further =
            self.paths.iter().any(|(part, _)| part.len() > around.len() && label.starts_with(part.as_str()));
        match rest {
            Some(rest) if !around.is_empty() && path.is_live() && !is_known_further => format!("{rest:?}"),
            _ => path.text(),
        }
    }

    /// A path: known up to the last element that has one, and each `*` behind it the iteration of a loop.
    fn live_path(&self, label: &str) -> LivePath {
        let holds = |part: &str| label.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let known = self.paths.iter().rev().filter(|(part, _)| holds(part)).max_by_key(|(part, _)| part.len());
        let (mut path, rest) = match known {
            Some((part, name)) => (LivePath::default().then_value(name), &label[part.len()..]),
            None => (LivePath::default(), label),
        };
        let stars = rest.matches('*').count();
        let skip = self.loops.len().saturating_sub(stars);
        let turns = self.loops.iter().skip(skip).map(String::as_str);
        let missing = stars.saturating_sub(self.loops.len());
        let fills = std::iter::repeat_n(None, missing).chain(turns.map(Some));
        let mut texts = rest.split('*');
        path = path.then_text(texts.next().unwrap_or_default());
        for (fill, text) in fills.zip(texts) {
            path = match fill {
                Some(turn) => path.then_value(turn),
                None => path.then_text("*"),
            };
            path = path.then_text(text);
        }
        path
    }
}

/// A path that is put together when the code runs: text, and values between.
#[derive(Default)]
struct LivePath {
    /// The format string.
    format: String,
    /// What it is filled with beside the variables that it names.
    args: Vec<String>,
}

impl LivePath {
    fn then_text(mut self, text: &str) -> LivePath {
        self.format.push_str(&text.replace('{', "{{").replace('}', "}}"));
        self
    }

    /// Goes on with the value of an expression.
    fn then_value(mut self, value: &str) -> LivePath {
        let is_variable = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && value.starts_with(|first: char| first.is_ascii_alphabetic());
        if is_variable {
            self.format.extend(["{", value, "}"]);
        } else {
            self.format.push_str("{}");
            self.args.push(value.to_owned());
        }
        self
    }

    /// Returns whether a part of it is known when the code runs.
    fn is_live(&self) -> bool {
        self.format.contains('{')
    }

    /// The expression of a `String`.
    fn formatted(&self) -> String {
        let args: Vec<String> = self.args.iter().map(|arg| format!(", {arg}")).collect();
        format!("format!({:?}{})", self.format, args.concat())
    }

    /// The expression of a `&str`.
    fn text(&self) -> String {
        let inner = self.format.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        match inner {
            None if !self.format.contains(['{', '}']) => format!("{:?}", self.format),
            Some(name) if !name.is_empty() && !name.contains(['{', '}']) => format!("&{name}"),
            _ => format!("&{}", self.formatted()),
        }
    }
}

/// Whether it begins with a position that is counted from the end: `-1`.
fn is_from_end(label: &str) -> bool {
    let digits = label.strip_prefix('-').unwrap_or_default().split('.').next().unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
}

/// The number of modules, from the outermost on, that two stacks have in common.
fn common_length(one: &[ModuleScope], other: &[ModuleScope]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}
