//! Chains of layers that are kept in lists: what each element is, whichever statement puts it in.

use super::{
    Layer,
    choices::either,
    made::own_names,
    read::{Chains, Reader},
    syntax::is_some_call,
};
use crate::index::{Name, Resolved};
use crate::syntax::{comma_operands, path_text};

/// The form of any of the elements: all of them, one or the other.
pub(super) fn any_of(elements: Vec<Vec<Layer>>) -> Option<Vec<Layer>> {
    elements.into_iter().reduce(|known, other| if known == other { known } else { either(known, other) })
}

impl Reader<'_> {
    /// The chains that a list holds, of which an expression of the block is the value.
    pub(super) fn elements(&self, expr: &syn::Expr, block: &syn::Block, fuel: u32) -> Option<Vec<Vec<Layer>>> {
        self.list(expr, block, &self.lets(block), fuel)
    }

    fn list(&self, expr: &syn::Expr, block: &syn::Block, chains: &Chains, fuel: u32) -> Option<Vec<Vec<Layer>>> {
        let fuel = fuel.checked_sub(1)?;
        match expr {
            syn::Expr::Paren(inner) => self.list(&inner.expr, block, chains, fuel),
            syn::Expr::Try(inner) => self.list(&inner.expr, block, chains, fuel),
            syn::Expr::Path(path) => self.pushed(path.path.get_ident()?, block, fuel),
            syn::Expr::Array(array) => self.all(&array.elems, block, chains, fuel),
            syn::Expr::Repeat(repeat) => self.element(&repeat.expr, block, chains, fuel),
            syn::Expr::Macro(list) if list.mac.path.is_ident("vec") => {
                self.all(&comma_operands(&list.mac)?, block, chains, fuel)
            }
            syn::Expr::Call(call) if is_some_call(call) => self.list(&call.args[0], block, chains, fuel),
            syn::Expr::Call(call) => self.list_call(call, block, chains, fuel),
            syn::Expr::MethodCall(call) => match (call.method.to_string().as_str(), call.args.first()) {
                ("map", Some(syn::Expr::Closure(closure))) => self.yielded(closure, block, chains, fuel),
                ("collect" | "into" | "unwrap" | "to_vec" | "into_boxed_slice" | "rev", _) => {
                    self.list(&call.receiver, block, chains, fuel)
                }
                _ => None,
            },
            syn::Expr::Block(inner) => match inner.block.stmts.last()? {
                syn::Stmt::Expr(last, None) => self.elements(last, &inner.block, fuel),
                _ => None,
            },
            _ => None,
        }
    }

    /// `Vec::new()`, `std::array::from_fn(|at| ..)`, or a function of the crate that yields a list.
    fn list_call(
        &self,
        call: &syn::ExprCall,
        block: &syn::Block,
        chains: &Chains,
        fuel: u32,
    ) -> Option<Vec<Vec<Layer>>> {
        let syn::Expr::Path(path) = &*call.func else { return None };
        let text = path_text(&path.path);
        match (text.rsplit("::").next()?, call.args.first()) {
            ("new" | "with_capacity", _) if is_of_vec(&path.path) => return Some(Vec::new()),
            ("from_fn", Some(syn::Expr::Closure(closure))) => return self.yielded(closure, block, chains, fuel),
            _ => {}
        }
        let id = match self.index.resolve(self.module, &text) {
            Resolved::Item(_, _, Name::Fn(id)) => id,
            _ => self.method(&text)?,
        };
        if self.within.contains(&id) {
            return None;
        }
        let body = &self.index.fns[id].block;
        let reader = self.of_called(id);
        match body.stmts.last()? {
            syn::Stmt::Expr(last, None) => reader.elements(super::syntax::ok_argument(last), body, fuel),
            _ => None,
        }
    }

    fn all<'e>(
        &self,
        elements: impl IntoIterator<Item = &'e syn::Expr>,
        block: &syn::Block,
        chains: &Chains,
        fuel: u32,
    ) -> Option<Vec<Vec<Layer>>> {
        let each = elements.into_iter().map(|element| self.element(element, block, chains, fuel));
        each.collect::<Option<Vec<_>>>().map(|lists| lists.concat())
    }

    /// One element: a chain, or a list of them.
    fn element(&self, expr: &syn::Expr, block: &syn::Block, chains: &Chains, fuel: u32) -> Option<Vec<Vec<Layer>>> {
        match self.chain(expr, chains, fuel) {
            Some(chain) => Some(vec![chain]),
            None => self.list(expr, block, chains, fuel),
        }
    }

    /// What a closure yields.
    fn yielded(
        &self,
        closure: &syn::ExprClosure,
        block: &syn::Block,
        chains: &Chains,
        fuel: u32,
    ) -> Option<Vec<Vec<Layer>>> {
        let inside = self.within_closure(closure);
        let hidden = own_names(closure);
        let chains = chains.iter().filter(|(name, _)| !hidden.contains(name));
        let chains = chains.map(|(name, chain)| (name.clone(), chain.clone())).collect();
        inside.element(&closure.body, block, &chains, fuel)
    }

    /// What the list of that name is made of, and what is pushed to it.
    fn pushed(&self, list: &syn::Ident, block: &syn::Block, fuel: u32) -> Option<Vec<Vec<Layer>>> {
        let mut found = Some(Vec::new());
        self.gather(list, &block.stmts, &Chains::new(), fuel, &mut found);
        found
    }

    /// Gathers what the statements put into the list; none where that cannot be read.
    fn gather(
        &self,
        list: &syn::Ident,
        stmts: &[syn::Stmt],
        before: &Chains,
        fuel: u32,
        found: &mut Option<Vec<Vec<Layer>>>,
    ) {
        let mut chains = before.clone();
        for stmt in stmts {
            let mut put = |one: Option<Vec<Vec<Layer>>>| {
                *found = found.take().zip(one).map(|(all, one)| [all, one].concat());
            };
            match stmt {
                syn::Stmt::Local(local)
                    if super::syntax::pattern_name(&local.pat).is_some_and(|name| *list == name) =>
                {
                    let init = local.init.as_ref();
                    put(init.and_then(|init| self.list(&init.expr, &empty(), &chains, fuel)));
                }
                syn::Stmt::Expr(syn::Expr::MethodCall(call), _) if is_variable(&call.receiver, list) => {
                    put(match (call.method.to_string().as_str(), call.args.last()) {
                        ("push" | "push_back" | "push_front" | "insert", Some(pushed)) => {
                            self.element(pushed, &empty(), &chains, fuel)
                        }
                        ("reverse" | "reserve", _) => Some(Vec::new()),
                        _ => None,
                    });
                }
                syn::Stmt::Expr(expr, _) => {
                    for inner in blocks(expr) {
                        self.gather(list, &inner.stmts, &chains, fuel, found);
                    }
                }
                _ => {}
            }
            self.statements(std::slice::from_ref(stmt), &mut chains);
        }
    }
}

/// A block in which no list is made.
fn empty() -> syn::Block {
    syn::parse_quote!({})
}

fn is_variable(expr: &syn::Expr, name: &syn::Ident) -> bool {
    matches!(expr, syn::Expr::Path(path) if path.path.is_ident(name))
}

/// The blocks of a statement that is a loop or a branch.
fn blocks(expr: &syn::Expr) -> Vec<&syn::Block> {
    match expr {
        syn::Expr::ForLoop(each) => vec![&each.body],
        syn::Expr::While(each) => vec![&each.body],
        syn::Expr::Block(inner) => vec![&inner.block],
        syn::Expr::If(branch) => {
            let other = branch.else_branch.as_ref().map(|(_, other)| blocks(other)).unwrap_or_default();
            [vec![&branch.then_branch], other].concat()
        }
        syn::Expr::Match(choice) => choice.arms.iter().flat_map(|arm| blocks(&arm.body)).collect(),
        _ => Vec::new(),
    }
}

/// Returns whether the path names an associated function of `Vec`.
fn is_of_vec(path: &syn::Path) -> bool {
    path.segments.iter().rev().nth(1).is_some_and(|owner| owner.ident == "Vec")
}
