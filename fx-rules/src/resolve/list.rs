//! Lists with a part that is as long as it happens to be: `[x, ..rest]` and `[x.relu()..]`.

use syn::{Expr, ExprRange, RangeLimits};

use super::Resolver;
use crate::term::{Kind, Pat, Tmpl};

impl Resolver<'_> {
    /// A list in a pattern: fixed parts, and at most one part of any length.
    pub(crate) fn pat_list(&mut self, array: &syn::ExprArray) -> Option<Pat> {
        let parts = array.elems.iter().map(|item| self.pat_item(item)).collect::<Option<Vec<Pat>>>()?;
        let is_open = |part: &&Pat| matches!(part, Pat::Rest(_) | Pat::Repeat(_));
        if parts.iter().filter(is_open).count() > 1 {
            self.syntax(array, "a list has one part of any length at most");
            return None;
        }
        Some(Pat::List(parts))
    }

    fn pat_item(&mut self, item: &Expr) -> Option<Pat> {
        match item {
            Expr::Range(ExprRange { start: None, end, limits: RangeLimits::HalfOpen(_), .. }) => match end {
                Some(end) => self.rest(end).map(|slot| {
                    self.captures[slot].bound += 1;
                    Pat::Rest(Some(slot))
                }),
                None => Some(Pat::Rest(None)),
            },
            Expr::Range(ExprRange { start: Some(part), end: None, .. }) => {
                let around = std::mem::replace(&mut self.is_repeated, true);
                let part = self.pat(part);
                self.is_repeated = around;
                Some(Pat::Repeat(Box::new(part?)))
            }
            item => self.pat(item),
        }
    }

    /// A list in a replacement, in which `..rest` stands for the items of `rest`.
    pub(crate) fn tmpl_list(&mut self, array: &syn::ExprArray) -> Option<Tmpl> {
        let mut parts = Vec::new();
        for item in &array.elems {
            parts.push(match item {
                Expr::Range(ExprRange { start: None, end: Some(end), .. }) => {
                    let slot = self.rest(end)?;
                    self.captures[slot].used += 1;
                    Tmpl::Splice(slot)
                }
                item => self.template(item)?,
            });
        }
        Some(Tmpl::List(parts))
    }

    /// The capture behind `..`: a list of tensors.
    fn rest(&mut self, end: &Expr) -> Option<usize> {
        let name = match end {
            Expr::Path(path) => path.path.get_ident(),
            _ => None,
        };
        let Some(name) = name else {
            self.syntax(end, "`..` is followed by a capture");
            return None;
        };
        let slot = self.slot(name)?;
        if self.captures[slot].kind != Kind::Tensors {
            let message = format!("`{name}` is no list: declare `{name}: [Tensor]`");
            self.syntax(end, &message);
            return None;
        }
        Some(slot)
    }
}
