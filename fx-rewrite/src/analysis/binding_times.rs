//! Binding times: which values are known at freeze time, those included that a pass has just made.

use std::rc::Rc;

use fx_ir::{Arg, Binding, Bindings, Graph, NodeId, NodeSet};

use crate::context::PassContext;

/// The binding times of a graph as it is.
pub(crate) fn bindings(graph: &Graph, cx: &PassContext) -> Rc<Bindings> {
    cx.analysis(graph, || Bindings::of(graph, cx.has_model))
}

/// The binding times of a graph, kept up by the pass that changes it.
pub(crate) struct BindingTimes {
    bindings: Rc<Bindings>,
    made: NodeSet,
}

impl BindingTimes {
    pub(crate) fn of(graph: &Graph, cx: &PassContext) -> BindingTimes {
        BindingTimes { bindings: bindings(graph, cx), made: NodeSet::default() }
    }

    /// Returns whether the value is known once the live model is there.
    pub(crate) fn is_frozen(&self, id: NodeId) -> bool {
        self.made.contains(id) || self.bindings.get(id) < Binding::Call
    }

    /// Returns whether the value is known once the live model is there, and not before.
    pub(crate) fn is_of_model(&self, id: NodeId) -> bool {
        self.made.contains(id) || self.bindings.get(id) == Binding::Freeze
    }

    /// Returns whether an argument is frozen; literals are.
    pub(crate) fn is_frozen_arg(&self, arg: &Arg) -> bool {
        arg.nodes().all(|id| self.is_frozen(id))
    }

    /// The pass made this node out of frozen values.
    pub(crate) fn learn(&mut self, id: NodeId) {
        self.made.insert(id);
    }
}
