//! What is asked of a kernel, and what comes of it.

use std::rc::Rc;

use fx_ir::{Arg, NodeId};

use crate::ffi::int8::PerTensor;
use crate::frozen::Activation;
use crate::graph_module::Submodule;
use crate::quant::QParams;
use crate::quant::patterns::Pattern;

/// What computes a pattern.
pub(super) struct Kernel {
    pub(super) kind: &'static str,
    /// The module on codes; none where the op of the graph takes codes as it takes numbers.
    pub(super) on_codes: Option<Rc<dyn Submodule>>,
    /// Whether it takes its second input, which it adds, in floats.
    pub(super) adds_floats: bool,
    /// What it adds in floats beyond the inputs of the pattern.
    pub(super) added: Option<NodeId>,
    /// What its result's codes stand for; none if the result is f32.
    pub(super) result: Option<PerTensor>,
}

/// A pattern that all parameters are known of.
pub(super) struct Request<'p> {
    pub(super) pattern: &'p Pattern,
    /// Of each input.
    pub(super) sources: &'p [PerTensor],
    /// Of the result; none if nothing reads its codes.
    pub(super) result: Option<PerTensor>,
    pub(super) weight: Option<&'p QParams>,
    pub(super) then: Then,
}

/// What stands behind a pattern and is done by its kernel as well.
#[derive(Clone, Copy)]
pub(super) enum Then {
    Nothing,
    Activation(Activation),
    /// This value, in floats, is added.
    Addition(NodeId),
}

/// A list of integers that is written as such.
pub(super) fn ints(arg: &Arg) -> Option<Vec<i64>> {
    match arg {
        Arg::Int(one) => Some(vec![*one]),
        Arg::List(items) => {
            items.iter().map(|item| if let Arg::Int(item) = item { Some(*item) } else { None }).collect()
        }
        _ => None,
    }
}
