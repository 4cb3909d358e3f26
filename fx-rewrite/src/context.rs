//! The input and the output of a pass beside the graph, and the analyses that passes share.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

use fx_ir::Graph;

/// The knowledge of a pass beside the graph.
#[derive(Default)]
#[non_exhaustive]
pub struct PassContext {
    /// Whether the graph's first parameter is the model, whose weights are known at freeze time.
    pub has_model: bool,
    analyses: RefCell<Analyses>,
}

/// The results of analyses of one graph.
#[derive(Default)]
struct Analyses {
    /// The revision of the graph, and whether it has a model.
    of: (u64, bool),
    results: HashMap<TypeId, Rc<dyn Any>>,
}

impl PassContext {
    /// The context of a graph whose first parameter is the model, or of one that has no model.
    pub fn new(has_model: bool) -> PassContext {
        PassContext { has_model, ..PassContext::default() }
    }

    /// The result of an analysis, computed by `run` unless the graph is as it was when that was last asked for.
    pub(crate) fn analysis<A: Any>(&self, graph: &Graph, run: impl FnOnce() -> A) -> Rc<A> {
        let of = (graph.revision(), self.has_model);
        if self.analyses.borrow().of != of {
            self.analyses.replace(Analyses { of, ..Analyses::default() });
        }
        let known = self.analyses.borrow().results.get(&TypeId::of::<A>()).cloned();
        if let Some(Ok(known)) = known.map(Rc::downcast) {
            return known;
        }
        // It may ask for other analyses.
        let result = Rc::new(run());
        self.analyses.borrow_mut().results.insert(TypeId::of::<A>(), Rc::clone(&result) as Rc<dyn Any>);
        result
    }
}

/// What was analysed stays behind.
impl Clone for PassContext {
    fn clone(&self) -> PassContext {
        PassContext::new(self.has_model)
    }
}

impl PartialEq for PassContext {
    fn eq(&self, other: &PassContext) -> bool {
        self.has_model == other.has_model
    }
}

impl Eq for PassContext {}

impl fmt::Debug for PassContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PassContext").field("has_model", &self.has_model).finish_non_exhaustive()
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use fx_ir::ParseError;

    use super::*;

    #[test]
    fn an_analysis_runs_once_for_a_graph_as_it_is() -> Result<(), ParseError> {
        let mut graph: Graph = "graph f(x) { %a = relu(x) ; yield %a }".parse()?;
        let (mut cx, runs) = (PassContext::new(false), Cell::new(0));
        let ask = |cx: &PassContext, graph: &Graph| {
            let count = || {
                runs.set(runs.get() + 1);
                graph.nodes().len()
            };
            *cx.analysis(graph, count)
        };
        let copy = graph.clone();
        assert_eq!((ask(&cx, &graph), ask(&cx, &graph), ask(&cx, &copy), runs.get()), (3, 3, 3, 1));
        let nodes = graph.nodes();
        graph.node_mut(nodes[1]).name.push('b');
        assert_eq!((ask(&cx, &graph), runs.get()), (3, 2));
        assert_eq!((ask(&cx, &copy), runs.get()), (3, 3), "a copy from before the edit is another graph");
        cx.has_model = true;
        assert_eq!((ask(&cx, &copy), runs.get()), (3, 4));
        Ok(())
    }
}
