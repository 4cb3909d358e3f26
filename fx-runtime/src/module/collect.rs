//! The walks over a module tree that `Module`'s provided methods are made of.

use tch::{Device, Kind, Tensor};

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

    /// All tensors of the tree in these roles: per module in the order of roles, then those of its children.
    pub(super) fn named(self, roles: &[Role]) -> Vec<(String, &'a Tensor)> {
        let mut found = Vec::new();
        self.collect("", roles, &mut found);
        found
    }

    fn collect(self, prefix: &str, roles: &[Role], found: &mut Vec<(String, &'a Tensor)>) {
        for wanted in roles {
            let of_role = self.tensors.iter().filter(|(.., role)| role == wanted);
            found.extend(of_role.map(|(name, tensor, _)| (format!("{prefix}{name}"), *tensor)));
        }
        for (name, child) in self.children {
            Own::of(child).collect(&format!("{prefix}{name}."), roles, found);
        }
    }

    /// The device of the tree's first tensor.
    pub(super) fn device(self) -> Option<Device> {
        self.named(&Role::ALL).first().map(|(_, tensor)| tensor.device())
    }

    /// The dtype that most floating-point numbers of the tree have.
    pub(super) fn kind(self) -> Option<Kind> {
        let mut counts: Vec<(Kind, usize)> = Vec::new();
        for (_, tensor) in self.named(&Role::ALL).into_iter().filter(|(_, tensor)| tensor.is_floating_point()) {
            match counts.iter_mut().find(|(kind, _)| *kind == tensor.kind()) {
                Some((_, count)) => *count += tensor.numel(),
                None => counts.push((tensor.kind(), tensor.numel())),
            }
        }
        // Of two that are as frequent, the first.
        counts.into_iter().rev().max_by_key(|(_, count)| *count).map(|(kind, _)| kind)
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

/// The root under the empty name and all modules below it, parents first.
pub(crate) fn modules(root: &dyn Module) -> Vec<(String, &dyn Module)> {
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
