//! How long each node takes, by a hook of one's own around every node.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::rc::Rc;
use std::time::{Duration, Instant};

use fx_runtime::graph::{Graph, NodeId};
use fx_runtime::graph_module::{Hook, Interpreter, Value, value};
use fx_runtime::{Device, Result, nn};
use resnet18::ResNet18;

use crate::{Report, randn};

/// Notes when each node began, and how long it took.
struct Clock {
    began: Instant,
    times: Rc<RefCell<Vec<(String, Duration)>>>,
}

impl Hook for Clock {
    fn before(&mut self, _: &Graph, _: NodeId) -> Result<()> {
        self.began = Instant::now();
        Ok(())
    }

    fn after(&mut self, graph: &Graph, id: NodeId, _: &mut Value) -> Result<()> {
        self.times.borrow_mut().push((graph.node(id).name.clone(), self.began.elapsed()));
        Ok(())
    }
}

/// The five nodes of ResNet-18 that take longest.
pub(crate) fn run() -> Report {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = ResNet18::new(&vs.root(), 10).graph_module()?;
    let times = Rc::default();
    let clock = Clock { began: Instant::now(), times: Rc::clone(&times) };
    Interpreter::new(&net).with_hook(clock).run(&[value(randn(&[1, 3, 64, 64]))])?;
    let mut times = times.borrow().clone();
    times.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    let mut out = String::new();
    for (name, time) in times.iter().take(5) {
        writeln!(out, "{time:>12.1?}  {name}")?;
    }
    Ok(out)
}
