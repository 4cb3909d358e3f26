//! The modules in whose forwards a node stands, as torch.fx's `nn_module_stack` has them.

use fx_ir::ModuleScope;

use crate::trace::{Tracer, Ty, Val};

impl Tracer<'_> {
    /// The modules around what the forward of this module does when it is called where the tracer is, outermost first.
    pub(in crate::trace) fn modules_within(&self, module: Option<&Val>) -> Vec<ModuleScope> {
        let mut stack = self.modules().to_vec();
        let Some(path) = module.and_then(|module| self.path_of(module)) else { return stack };
        let ty = match module.map(Val::ty) {
            Some(Ty::Struct(item)) if self.index.structs[item].is_module => self.index.structs[item].name.clone(),
            Some(Ty::Leaf(kind)) => kind.to_owned(),
            _ => return stack,
        };
        let own = ModuleScope { path, ty };
        if !stack.contains(&own) {
            stack.push(own);
        }
        stack
    }

    /// The modules that the tracer is in, outermost first.
    pub(in crate::trace) fn modules(&self) -> &[ModuleScope] {
        self.frames.last().map_or(&[], |frame| &frame.modules)
    }

    /// Goes on in these modules; yields those that the tracer was in.
    pub(in crate::trace) fn stand_in(&mut self, modules: Vec<ModuleScope>) -> Vec<ModuleScope> {
        self.frames.last_mut().map(|frame| std::mem::replace(&mut frame.modules, modules)).unwrap_or_default()
    }
}
