//! What the user would call a part of the model: dotted paths, as PyTorch has them.

use crate::trace::{Tracer, Val};

/// `a` and `b` as one dotted path.
pub(crate) fn join_path(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The path of an element of a list: `key` is its position, or `*` for any. A list that is renamed by
/// `#[module(name = "layers.layer_{}")]` says itself where the position goes.
pub(crate) fn element_path(path: &str, key: &str) -> String {
    if path.contains("{}") { path.replacen("{}", key, 1) } else { join_path(path, key) }
}

/// A dotted path as one name: `layer1.*.conv1` is `layer1_conv1`.
pub(crate) fn identifier(path: &str) -> String {
    let pieces: Vec<&str> = path.split(['.', '*', '-', '{', '}']).filter(|piece| !piece.is_empty()).collect();
    pieces.join("_")
}

impl Tracer<'_> {
    /// What the user would call the value: `layer1.*.conv1`; `None` if it is not a part of the model.
    pub(in crate::trace) fn path_of(&self, value: &Val) -> Option<String> {
        self.facts.paths.get(&value.node()?).cloned()
    }

    /// What the user would call the field of the value; used to label layers.
    pub(in crate::trace) fn label_of(&self, value: &Val, fallback: &str) -> String {
        match self.path_of(value) {
            Some(path) if !path.is_empty() => path,
            Some(_) | None => fallback.to_owned(),
        }
    }

    /// Gives a node that stands for a part of the model its name there.
    pub(in crate::trace) fn set_path(&mut self, value: &Val, base: &Val, name: &str) {
        if let (Some(node), Some(path)) = (value.node(), self.path_of(base)) {
            self.facts.set_path(node, join_path(&path, name));
        }
    }
}
