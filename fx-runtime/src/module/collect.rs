//! The walks over a module tree that `Module`'s provided methods are made of.

use tch::Tensor;

use super::{Module, Role, Visitor};

/// Tensors and children of one module, apart.
#[derive(Default)]
pub(super) struct Own<'a> {
    pub(super) tensors: Vec<(String, &'a Tensor, Role)>,
    pub(super) children: Vec<(String, &'a dyn Module)>,
}

impl<'a> Own<'a> {
    pub(super) fn of<M: Module + ?Sized>(module: &'a M) -> Self {
        let mut own = Self::default();
        module.visit(&mut own);
        own
    }
}

impl<'a> Visitor<'a> for Own<'a> {
    fn child(&mut self, name: &str, child: &'a dyn Module) {
        self.children.push((name.to_owned(), child));
    }

    fn tensor(&mut self, name: &str, tensor: &'a Tensor, role: Role) {
        self.tensors.push((name.to_owned(), tensor, role));
    }

    fn wrapped(&mut self, inner: &'a dyn Module) {
        inner.visit(self);
    }
}

/// All tensors of the tree whose role is wanted: per module parameters, then buffers, then children.
pub(super) fn tensors<M: Module + ?Sized>(root: &M, wanted: impl Fn(Role) -> bool) -> Vec<(String, &Tensor)> {
    let mut found = Vec::new();
    collect_tensors(Own::of(root), "", &wanted, &mut found);
    found
}

fn collect_tensors<'a>(
    own: Own<'a>,
    prefix: &str,
    wanted: &dyn Fn(Role) -> bool,
    found: &mut Vec<(String, &'a Tensor)>,
) {
    for role in [Role::Parameter, Role::Buffer].into_iter().filter(|&role| wanted(role)) {
        let of_role = own.tensors.iter().filter(|entry| entry.2 == role);
        found.extend(of_role.map(|(name, tensor, _)| (format!("{prefix}{name}"), *tensor)));
    }
    for (name, child) in own.children {
        collect_tensors(Own::of(child), &format!("{prefix}{name}."), wanted, found);
    }
}

/// The root under the empty name and all modules below it, parents first.
pub(super) fn modules(root: &dyn Module) -> Vec<(String, &dyn Module)> {
    let mut found = vec![(String::new(), root)];
    collect_modules(root, "", &mut found);
    found
}

fn collect_modules<'a>(parent: &'a dyn Module, prefix: &str, found: &mut Vec<(String, &'a dyn Module)>) {
    for (name, child) in parent.children() {
        let name = format!("{prefix}{name}");
        found.push((name.clone(), child));
        collect_modules(child, &format!("{name}."), found);
    }
}
