//! Ways to make a body smaller: each takes one thing out, and is known by its number.

use std::collections::BTreeSet;

use syn::visit_mut::{self, VisitMut};
use syn::{Arm, Block, Expr, File, ImplItem, Item, Stmt, parse_quote};

/// How many ways there are to make `file` smaller.
pub(super) fn ways(file: &File) -> usize {
    let mut walk = Walk::default();
    walk.visit_file_mut(&mut file.clone());
    walk.seen
}

/// The file made smaller in these ways at once.
pub(super) fn reduced(file: &File, ways: &BTreeSet<usize>) -> File {
    let mut file = file.clone();
    let mut walk = Walk { seen: 0, wanted: ways.clone() };
    walk.visit_file_mut(&mut file);
    file
}

/// Numbers the ways before it looks inside, and goes those that are wanted afterwards, so that numbers stay true.
#[derive(Default)]
struct Walk {
    seen: usize,
    wanted: BTreeSet<usize>,
}

impl Walk {
    /// Numbers for so many ways.
    fn number(&mut self, count: usize) -> usize {
        self.seen += count;
        self.seen - count
    }

    /// Those of the numbers from `first` on that are wanted, counted from there.
    fn chosen(&self, first: usize, count: usize) -> Vec<usize> {
        self.wanted.range(first..first + count).map(|number| number - first).collect()
    }

    /// Takes out of a list what is wanted, once the inner ways are gone.
    fn thin<T>(&mut self, list: &mut Vec<T>, is_removable: impl Fn(&T) -> bool, inner: impl Fn(&mut Self, &mut T)) {
        let windows = windows(list.len());
        let first = self.number(windows.len());
        for one in list.iter_mut() {
            inner(self, one);
        }
        let chosen = self.chosen(first, windows.len());
        let is_out = |at: usize| chosen.iter().any(|window| windows[*window].contains(&at));
        let old = std::mem::take(list).into_iter().enumerate();
        list.extend(old.filter(|(at, one)| !(is_out(*at) && is_removable(one))).map(|(_, one)| one));
    }
}

/// All, halves and quarters of so many, and each by itself.
fn windows(len: usize) -> Vec<std::ops::Range<usize>> {
    let mut all = Vec::new();
    for parts in [1, 2, 4] {
        let size = len.div_ceil(parts);
        if size > 1 {
            all.extend((0..len).step_by(size).map(|at| at..(at + size).min(len)));
        }
    }
    all.extend((0..len).map(|at| at..at + 1));
    all
}

impl VisitMut for Walk {
    fn visit_file_mut(&mut self, file: &mut File) {
        self.thin(&mut file.items, |item| !matches!(item, Item::Macro(_) | Item::Use(_)), Self::visit_item_mut);
    }

    fn visit_item_impl_mut(&mut self, item: &mut syn::ItemImpl) {
        let is_removable = |item: &ImplItem| !matches!(item, ImplItem::Fn(method) if method.sig.ident == "new");
        self.thin(&mut item.items, is_removable, Self::visit_impl_item_mut);
    }

    fn visit_item_struct_mut(&mut self, _: &mut syn::ItemStruct) {}

    fn visit_item_enum_mut(&mut self, _: &mut syn::ItemEnum) {}

    fn visit_impl_item_fn_mut(&mut self, method: &mut syn::ImplItemFn) {
        if method.sig.ident != "new" {
            self.visit_block_mut(&mut method.block);
        }
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        let len = block.stmts.len();
        let first = self.number(len);
        self.thin(&mut block.stmts, |_| true, Self::visit_stmt_mut);
        if block.stmts.len() == len {
            for at in self.chosen(first, len).into_iter().rev() {
                let inner = inner(&block.stmts[at]);
                if !inner.is_empty() {
                    block.stmts.splice(at..=at, inner);
                }
            }
        }
    }

    fn visit_expr_match_mut(&mut self, expr: &mut syn::ExprMatch) {
        self.visit_expr_mut(&mut expr.expr);
        self.thin(
            &mut expr.arms,
            |_| true,
            |walk, arm: &mut Arm| {
                let guard = walk.number(1);
                walk.visit_expr_mut(&mut arm.body);
                if walk.wanted.contains(&guard) {
                    arm.guard = None;
                }
            },
        );
    }

    fn visit_expr_if_mut(&mut self, expr: &mut syn::ExprIf) {
        let otherwise = self.number(1);
        visit_mut::visit_expr_if_mut(self, expr);
        if self.wanted.contains(&otherwise) {
            expr.else_branch = None;
        }
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let count = smaller(expr).len();
        let first = self.number(count);
        visit_mut::visit_expr_mut(self, expr);
        if let Some(way) = self.chosen(first, count).first()
            && let Some(one) = smaller(expr).into_iter().nth(*way)
        {
            *expr = one;
        }
    }
}

/// The statements within a statement.
fn inner(stmt: &Stmt) -> Vec<Stmt> {
    let Stmt::Expr(expr, _) = stmt else { return Vec::new() };
    match expr {
        Expr::If(one) => one.then_branch.stmts.clone(),
        Expr::Block(one) => one.block.stmts.clone(),
        Expr::ForLoop(one) => one.body.stmts.clone(),
        Expr::While(one) => one.body.stmts.clone(),
        Expr::Loop(one) => one.body.stmts.clone(),
        Expr::Match(one) => {
            one.arms.iter().map(|arm| Stmt::Expr((*arm.body).clone(), None)).next().into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// What could stand in place of an expression: its parts, and the plainest of each type.
fn smaller(expr: &Expr) -> Vec<Expr> {
    let mut all = match expr {
        Expr::MethodCall(one) => std::iter::once(&*one.receiver).chain(&one.args).cloned().collect(),
        Expr::Binary(one) => vec![(*one.left).clone(), (*one.right).clone()],
        Expr::Call(one) => one.args.iter().cloned().collect(),
        Expr::Paren(one) => vec![(*one.expr).clone()],
        Expr::Reference(one) => vec![(*one.expr).clone()],
        Expr::Unary(one) => vec![(*one.expr).clone()],
        Expr::Cast(one) => vec![(*one.expr).clone()],
        Expr::Closure(one) => vec![(*one.body).clone()],
        Expr::Tuple(one) => one.elems.iter().cloned().collect(),
        Expr::Array(one) if one.elems.len() > 1 => {
            let without = |at| {
                let mut one = one.clone();
                let kept = one.elems.iter().enumerate().filter(|(other, _)| *other != at);
                one.elems = kept.map(|(_, elem)| elem.clone()).collect();
                Expr::Array(one)
            };
            (0..one.elems.len()).map(without).collect()
        }
        Expr::If(one) => {
            let block = &one.then_branch;
            one.else_branch.iter().map(|(_, expr)| (**expr).clone()).chain([parse_quote!(#block)]).collect()
        }
        Expr::Match(one) => one.arms.iter().map(|arm| (*arm.body).clone()).collect(),
        Expr::Block(one) => match one.block.stmts.as_slice() {
            [Stmt::Expr(expr, None)] => vec![expr.clone()],
            _ => Vec::new(),
        },
        _ => return Vec::new(),
    };
    if !is_plain(expr) {
        all.extend([parse_quote!(xs.shallow_clone()), parse_quote!(1), parse_quote!(true)]);
    }
    all
}

/// Whether nothing is gained by something plainer.
fn is_plain(expr: &Expr) -> bool {
    match expr {
        Expr::MethodCall(one) => one.args.is_empty() && matches!(*one.receiver, Expr::Path(_)),
        Expr::Reference(one) => matches!(*one.expr, Expr::Path(_)),
        Expr::Unary(_) => true,
        _ => false,
    }
}
