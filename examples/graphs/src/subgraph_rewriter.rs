//! A pattern of several nodes, replaced wherever it is found.

use fx_runtime::{Graph, Kind, Module, Tensor, traceable};

use crate::{Report, call, randn};

#[derive(Debug, Module)]
struct Net;

#[traceable]
impl Net {
    fn forward(&self, x: &Tensor, w1: &Tensor, w2: &Tensor) -> Tensor {
        let m1 = Tensor::cat(&[w1, w2], 0).sum(Kind::Float);
        let m2 = Tensor::cat(&[w1, w2], 0).sum(Kind::Float);
        x + m1.max_other(&m2)
    }
}

/// The sum of a concatenation as the sum of two sums.
pub(crate) fn run() -> Report {
    let mut net = Net.graph_module()?;
    let pattern: Graph =
        "graph p(a: tensor, b: tensor) { %c = cat([a, b], 0) ; %s = sum(%c, `Kind::Float`) ; yield %s }".parse()?;
    let replacement: Graph = "graph r(a: tensor, b: tensor) {
        %s = sum(a, `Kind::Float`) : tensor
        %t = sum(b, `Kind::Float`) : tensor
        %u = add(%s, %t) : tensor
        yield %u
    }"
    .parse()?;
    let count = net.replace_pattern(&pattern, &replacement)?;
    net.lint()?;
    let (x, w1, w2) = (randn(&[3]), randn(&[2, 2]), randn(&[3, 2]));
    let wanted = Net.forward(&x, &w1, &w2);
    if count != 2 || !call(&net, &[&x, &w1, &w2])?.allclose(&wanted, 1e-5, 1e-6, false) {
        return Err(format!("{count} replaced:\n{net}").into());
    }
    Ok(format!("{count} places\n{net}"))
}
