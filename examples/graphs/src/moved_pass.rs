//! A pass that was developed on a live graph runs in the build script as it is: `passes.rs` is a module of both.

use fx_runtime::passes::pipeline::Pipeline;
use fx_runtime::{Freeze, Module, Tensor, traceable};

use crate::passes::SquareOfSum;
use crate::{Report, call, randn};

#[derive(Debug, Module)]
struct Squares;

#[traceable]
impl Squares {
    fn forward(&self, x: &Tensor, y: &Tensor) -> Tensor {
        (x + y) * (x + y)
    }
}

/// The generated code, which the build script wrote with the same pass.
const GENERATED: &str = include_str!(concat!(env!("OUT_DIR"), "/fx/Squares.rs"));

/// The live graph under the pass, and that the generated code calls what it calls.
pub(crate) fn run() -> Report {
    let net = Squares.graph_module()?.transform(&Pipeline::inference().with(SquareOfSum).stop_after("dead-code"))?;
    let (x, y) = (randn(&[3]), randn(&[3]));
    let (live, built) = (call(&net, &[&x, &y])?, Squares.freeze(&Freeze::default())?.try_forward(&x, &y)?);
    if live != Squares.forward(&x, &y) || !built.allclose(&live, 1e-6, 1e-6, false) {
        return Err("the pass changed the result".into());
    }
    if net.graph().find_nodes("call_method", Some("square")).len() != 1 || !GENERATED.contains("square") {
        return Err(format!("no square:\n{net}\n{GENERATED}").into());
    }
    Ok(net.to_string())
}
