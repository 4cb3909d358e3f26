//! What a trace knows of the values of nodes beside their types.
//!
//! Facts are added through methods, which keep a journal: a rollback undoes its last entries. So a checkpoint costs the
//! same however much is known, and a trace stays linear in the size of the model.

use std::collections::{HashMap, HashSet};

use fx_ir::NodeId;

use crate::trace::{RefKinds, Val, opaque::template::WritingCode};

/// Facts about values, by the node that each is the value of.
#[derive(Debug, Default)]
pub(in crate::trace) struct ValueFacts {
    /// What the user would call a module value: `layer1[*].conv1`.
    pub(in crate::trace) paths: HashMap<NodeId, String>,
    /// The fields of the structs that the forward has made.
    pub(in crate::trace) made: HashMap<NodeId, Vec<(String, Val)>>,
    /// The variants of enums that the forward has made, with what they hold.
    pub(in crate::trace) variants: HashMap<NodeId, (String, Vec<Val>)>,
    /// The values that are a function which has a name.
    pub(in crate::trace) named: HashMap<NodeId, String>,
    /// Functions traced in place whose `Result` is taken off: values of its type are what `Ok` held.
    pub(in crate::trace) unwrapped: HashSet<NodeId>,
    /// Opaque code whose value is still a `Result`.
    results: HashSet<NodeId>,
    /// Opaque code of which only what is asked of it says the type.
    asked: HashSet<NodeId>,
    /// Lists of handles where the user's list holds references, by what those refer to: the elements of another list.
    handles: HashMap<NodeId, NodeId>,
    /// How the user's code holds the parts of tuples in options, of whose tensors generated code has handles.
    part_kinds: HashMap<NodeId, RefKinds>,
    /// Opaque code that hands over variables behind its value.
    writing: HashMap<NodeId, WritingCode>,
    /// Tensors of variables of which the code has made a second handle.
    shared: HashSet<NodeId>,
    journal: Vec<Before>,
}

/// A fact as it was before it was set.
#[derive(Debug)]
enum Before {
    Path(NodeId, Option<String>),
    Made(NodeId, Option<Vec<(String, Val)>>),
    Variant(NodeId, Option<(String, Vec<Val>)>),
    Named(NodeId, Option<String>),
    Unwrapped(NodeId),
    Result(NodeId, bool),
    Asked(NodeId),
    Shared(NodeId),
    Handles(NodeId),
    PartKinds(NodeId),
    Writing(NodeId),
}

impl ValueFacts {
    /// Notes that the code has made a second handle of the tensor, which no variable need hold.
    pub(in crate::trace) fn set_shared(&mut self, id: NodeId) {
        if self.shared.insert(id) {
            self.journal.push(Before::Shared(id));
        }
    }

    /// Whether the code has made a second handle of the tensor.
    pub(in crate::trace) fn is_shared(&self, id: NodeId) -> bool {
        self.shared.contains(&id)
    }

    /// How many facts were set so far.
    pub(in crate::trace) fn mark(&self) -> usize {
        self.journal.len()
    }

    /// Undoes all that was set since the mark.
    pub(in crate::trace) fn rollback(&mut self, mark: usize) {
        for before in self.journal.split_off(mark).into_iter().rev() {
            match before {
                Before::Path(id, path) => restore(&mut self.paths, id, path),
                Before::Made(id, fields) => restore(&mut self.made, id, fields),
                Before::Variant(id, variant) => restore(&mut self.variants, id, variant),
                Before::Named(id, path) => restore(&mut self.named, id, path),
                Before::Unwrapped(id) => {
                    self.unwrapped.remove(&id);
                }
                Before::Asked(id) => {
                    self.asked.remove(&id);
                }
                Before::Shared(id) => {
                    self.shared.remove(&id);
                }
                Before::Handles(id) => {
                    self.handles.remove(&id);
                }
                Before::PartKinds(id) => {
                    self.part_kinds.remove(&id);
                }
                Before::Writing(id) => {
                    self.writing.remove(&id);
                }
                Before::Result(id, true) => {
                    self.results.insert(id);
                }
                Before::Result(id, false) => {
                    self.results.remove(&id);
                }
            }
        }
    }

    /// What is known of a part of the model, or of a function, is known of a copy of its node.
    pub(in crate::trace) fn copy(&mut self, id: NodeId, copy: NodeId) {
        if let Some(path) = self.paths.get(&id).cloned() {
            self.set_path(copy, path);
        }
        if let Some(path) = self.named.get(&id).cloned() {
            self.set_named(copy, path);
        }
    }

    pub(in crate::trace) fn set_path(&mut self, id: NodeId, path: String) {
        let before = self.paths.insert(id, path);
        self.journal.push(Before::Path(id, before));
    }

    pub(in crate::trace) fn set_made(&mut self, id: NodeId, fields: Vec<(String, Val)>) {
        let before = self.made.insert(id, fields);
        self.journal.push(Before::Made(id, before));
    }

    pub(in crate::trace) fn set_variant(&mut self, id: NodeId, variant: (String, Vec<Val>)) {
        let before = self.variants.insert(id, variant);
        self.journal.push(Before::Variant(id, before));
    }

    pub(in crate::trace) fn set_named(&mut self, id: NodeId, path: String) {
        let before = self.named.insert(id, path);
        self.journal.push(Before::Named(id, before));
    }

    pub(in crate::trace) fn set_unwrapped(&mut self, id: NodeId) {
        if self.unwrapped.insert(id) {
            self.journal.push(Before::Unwrapped(id));
        }
    }

    /// The value of the node is a list of handles where the user's list holds references to the elements of `list`.
    pub(in crate::trace) fn set_handles(&mut self, id: NodeId, list: NodeId) {
        if self.handles.insert(id, list).is_none() {
            self.journal.push(Before::Handles(id));
        }
    }

    /// The list to whose elements the user's list holds references, where the value of the node is a list of handles.
    pub(in crate::trace) fn handles_of(&self, id: NodeId) -> Option<NodeId> {
        self.handles.get(&id).copied()
    }

    /// The value of the node is an option of a tuple, of whose tensors it has handles where the user's has references.
    pub(in crate::trace) fn set_part_kinds(&mut self, id: NodeId, kinds: RefKinds) {
        if self.part_kinds.insert(id, kinds).is_none() {
            self.journal.push(Before::PartKinds(id));
        }
    }

    /// How the user's code holds the parts of the tuple in the option, where generated code has handles.
    pub(in crate::trace) fn part_kinds(&self, id: NodeId) -> Option<&RefKinds> {
        self.part_kinds.get(&id)
    }

    /// The node is code that hands over variables behind its value.
    pub(in crate::trace) fn set_writing(&mut self, id: NodeId, code: WritingCode) {
        if self.writing.insert(id, code).is_none() {
            self.journal.push(Before::Writing(id));
        }
    }

    /// The code of the node, where it hands over variables behind its value.
    pub(in crate::trace) fn writing(&self, id: NodeId) -> Option<&WritingCode> {
        self.writing.get(&id)
    }

    /// What is asked of the node's value says its type, and nothing else does.
    pub(in crate::trace) fn set_asked(&mut self, id: NodeId) {
        if self.asked.insert(id) {
            self.journal.push(Before::Asked(id));
        }
    }

    /// Whether nothing but what is asked of it says the type of the node's value.
    pub(in crate::trace) fn is_asked(&self, id: NodeId) -> bool {
        self.asked.contains(&id)
    }

    /// The value of the node is still a `Result`.
    pub(in crate::trace) fn set_result(&mut self, id: NodeId) {
        if self.results.insert(id) {
            self.journal.push(Before::Result(id, false));
        }
    }

    /// Whether the value of the node is still a `Result`.
    pub(in crate::trace) fn is_result(&self, id: NodeId) -> bool {
        self.results.contains(&id)
    }

    /// The `Result` is taken off; returns whether there was one.
    pub(in crate::trace) fn take_result(&mut self, id: NodeId) -> bool {
        let was_result = self.results.remove(&id);
        if was_result {
            self.journal.push(Before::Result(id, true));
        }
        was_result
    }
}

fn restore<T>(facts: &mut HashMap<NodeId, T>, id: NodeId, before: Option<T>) {
    match before {
        Some(fact) => facts.insert(id, fact),
        None => facts.remove(&id),
    };
}
