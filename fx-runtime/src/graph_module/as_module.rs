//! A graph as a module: its parts under their paths.

use super::GraphModule;
use crate::module::{Place, Role, Visitor};
use crate::{Error, Module, Result};

/// The parameters and buffers of a graph's modules, and its own tensors.
impl Module for GraphModule {
    fn type_name(&self) -> &'static str {
        "GraphModule"
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        for (path, tensor) in &self.tensors {
            let role = if tensor.requires_grad() { Role::Parameter } else { Role::Buffer };
            visitor.tensor(path, tensor, role);
        }
        for (path, module) in &self.submodules {
            if let Some(module) = module.module() {
                visitor.child(path, module);
            }
        }
    }

    fn placed(&self, _: &mut Place<'_>) -> Result<Self> {
        Err(Error::Unsupported {
            what: format!("copying the graph module `{}` as a part of a model", self.graph.name),
            help: "freeze it with `GraphModule::freeze`, or take a second handle with `GraphModule::shallow_clone`"
                .to_owned(),
        })
    }
}
