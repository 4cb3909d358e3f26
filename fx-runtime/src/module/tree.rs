//! A model as a tree of modules, as Python prints one.

use std::fmt::Write as _;

use super::collect::Own;
use super::{Module, Role};

/// A module in a tree: how it is called, and what it holds.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// The name of its type; empty where it is not known.
    name: String,
    /// Its own tensors with their shapes.
    tensors: Vec<String>,
    /// Its children, in their order.
    children: Vec<(String, Tree)>,
}

impl Tree {
    /// The tree below a module.
    pub(crate) fn of(module: &dyn Module) -> Tree {
        Tree::new(module.type_name(), &Own::of(module))
    }

    /// The tree below a module of this type, which has these tensors and children.
    fn new(type_name: &str, own: &Own<'_>) -> Tree {
        let parameters = own.tensors.iter().filter(|(.., role)| *role == Role::Parameter);
        Tree {
            name: type_name.to_owned(),
            tensors: parameters.map(|(name, tensor, _)| format!("{name}={:?}", tensor.size())).collect(),
            children: own.children.iter().map(|(name, child)| (name.clone(), Tree::of(*child))).collect(),
        }
    }

    /// A module of which nothing is known but its type.
    pub(crate) fn named(name: &str) -> Tree {
        Tree { name: name.to_owned(), ..Tree::default() }
    }

    /// The module at a dotted path, made with those on the way if it is not there.
    pub(crate) fn at(&mut self, path: &str) -> &mut Tree {
        path.split('.').fold(self, |tree, name| {
            let known = tree.children.iter().position(|(child, _)| child == name);
            let at = known.unwrap_or_else(|| {
                tree.children.push((name.to_owned(), Tree::default()));
                tree.children.len() - 1
            });
            &mut tree.children[at].1
        })
    }

    /// The tree in lines: a module's type, its parameters with their shapes, and its children indented below it.
    pub(crate) fn print(&self) -> String {
        let mut out = String::new();
        self.write(0, &mut out);
        out
    }

    fn write(&self, depth: usize, out: &mut String) {
        let name = if self.name.is_empty() { "Module" } else { &self.name };
        let _ = write!(out, "{name}({}", self.tensors.join(", "));
        if !self.children.is_empty() {
            let _ = writeln!(out);
            for (name, child) in &self.children {
                let _ = write!(out, "{:1$}({name}): ", "", 2 * depth + 2);
                child.write(depth + 1, out);
            }
            let _ = write!(out, "{:1$}", "", 2 * depth);
        }
        let _ = writeln!(out, ")");
    }
}

/// The tree below a module of this type, printed.
pub(super) fn print(type_name: &str, own: &Own<'_>) -> String {
    Tree::new(type_name, own).print()
}
