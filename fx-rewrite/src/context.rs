//! The input and the output of a pass beside the graph.

/// The knowledge of a pass beside the graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PassContext {
    /// Whether the graph's first parameter is the model, whose weights are known at freeze time.
    pub has_model: bool,
}

impl PassContext {
    /// The context of a graph whose first parameter is the model, or of one that has no model.
    pub fn new(has_model: bool) -> PassContext {
        PassContext { has_model }
    }
}

/// Whether a pass changed the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The graph is as it was.
    No,
    /// Something is different.
    Yes,
}

impl Changed {
    /// Returns whether something is different.
    pub fn is_yes(self) -> bool {
        self == Changed::Yes
    }
}

impl From<bool> for Changed {
    fn from(changed: bool) -> Changed {
        if changed { Changed::Yes } else { Changed::No }
    }
}
