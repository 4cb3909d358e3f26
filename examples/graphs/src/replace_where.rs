//! A pattern that is replaced in some places alone: torch.fx's `replace_pattern_with_filters`.

use fx_runtime::{Graph, Module, Tensor, traceable};

use crate::{Report, call, randn};

#[derive(Debug, Module)]
struct Net;

#[traceable]
impl Net {
    fn forward(&self, x: &Tensor) -> Tensor {
        x.clamp(-1.0, 1.0) + x.clamp(0.0, 6.0)
    }
}

/// The pattern as a function of a model of its own: parameters of both graphs go together by name.
#[derive(Debug, Module)]
struct Before;

#[traceable]
impl Before {
    fn forward(&self, x: &Tensor, low: f64, high: f64) -> Tensor {
        x.clamp(low, high)
    }
}

/// Only the clamp that is a relu6 becomes one.
pub(crate) fn run() -> Report {
    let mut net = Net.graph_module()?;
    let replacement: Graph = "graph r(x: tensor, low: f64, high: f64) { %r = relu6(x) : tensor ; yield %r }".parse()?;
    let pattern = Before.graph()?;
    let is_relu6 = |found: &fx_runtime::passes::rewrite::Found<'_>| {
        let number = |name| found.named(name).and_then(|value| value.as_float());
        (number("low"), number("high")) == (Some(0.0), Some(6.0))
    };
    let count = net.replace_pattern_where(&pattern, &replacement, is_relu6)?;
    net.lint()?;
    let x = randn(&[16]) * 8.0;
    if count != 1 || call(&net, &[&x])? != Net.forward(&x) {
        return Err(format!("{count} replaced:\n{net}").into());
    }
    Ok(net.to_string())
}
