//! Variables and labels of a macro's own, which the caller's code does not see, and which do not hide the caller's.
//!
//! The names that come out of a macro are marked. Once the expansion is syntax, a marked name that it binds itself becomes one
//! that the function does not have; any other loses its mark and means what it means where the call stands.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use syn::visit_mut::{self, VisitMut};

use crate::syntax::is_item;

const MARK: &str = "__fx_own";
const VARIABLE: &str = "";
const LABEL: &str = "'";

/// The name as one that came out of a macro.
pub(super) fn marked(name: &str) -> String {
    format!("{name}{MARK}")
}

/// The name without its mark, if it has one.
fn unmarked(name: &Ident) -> Option<String> {
    name.to_string().strip_suffix(MARK).map(str::to_owned)
}

/// What became of the marked names of an expansion.
pub(super) struct Hygiene<'u> {
    /// All names that the function has.
    used: &'u mut BTreeSet<String>,
    /// The variables and labels that the expansion binds where the visitor is.
    bound: Vec<String>,
    /// What each of them is called in the function.
    pub(super) own: BTreeMap<String, String>,
    /// The names that mean what they mean where the call stands.
    pub(super) free: BTreeSet<String>,
    /// Whether it declares items.
    pub(super) has_items: bool,
}

impl<'u> Hygiene<'u> {
    pub(super) fn new(used: &'u mut BTreeSet<String>) -> Hygiene<'u> {
        Hygiene { used, bound: Vec::new(), own: BTreeMap::new(), free: BTreeSet::new(), has_items: false }
    }

    /// Visits what is in the scope of the names that are bound in it, and no others.
    fn scope(&mut self, visit: impl FnOnce(&mut Self)) {
        let outer = self.bound.len();
        visit(self);
        self.bound.truncate(outer);
    }

    /// Gives what is bound here the name under which the function has it. A label is no variable of its name.
    fn bind(&mut self, ident: &mut Ident, sign: &str) {
        let Some(name) = unmarked(ident) else { return };
        let known = format!("{sign}{name}");
        let fresh = self.own.entry(known.clone()).or_insert_with(|| {
            let mut candidates = std::iter::once(name.clone()).chain((2..).map(|number| format!("{name}_{number}")));
            candidates.find(|one| self.used.insert(one.clone())).unwrap_or_default()
        });
        *ident = Ident::new(fresh, ident.span());
        self.bound.push(known);
    }

    /// What a name is that is read.
    fn read(&mut self, ident: &mut Ident, sign: &str) {
        let Some(name) = unmarked(ident) else { return };
        let known = format!("{sign}{name}");
        if let Some(own) = self.own.get(&known).filter(|_| self.bound.contains(&known)) {
            *ident = Ident::new(own, ident.span());
        } else {
            *ident = Ident::new(&name, ident.span());
            self.free.insert(name);
        }
    }

    fn read_tokens(&mut self, tokens: TokenStream) -> TokenStream {
        let each = tokens.into_iter().map(|token| match token {
            TokenTree::Ident(mut ident) => {
                self.read(&mut ident, VARIABLE);
                TokenTree::Ident(ident)
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), self.read_tokens(group.stream()));
                inner.set_span(group.span());
                TokenTree::Group(inner)
            }
            other => other,
        });
        each.collect()
    }

    fn read_label(&mut self, label: Option<&mut syn::Lifetime>) {
        if let Some(label) = label {
            self.read(&mut label.ident, LABEL);
        }
    }
}

impl VisitMut for Hygiene<'_> {
    fn visit_ident_mut(&mut self, ident: &mut Ident) {
        // A field, a method, a type: no variable.
        if let Some(name) = unmarked(ident) {
            *ident = Ident::new(&name, ident.span());
        }
    }

    fn visit_expr_path_mut(&mut self, path: &mut syn::ExprPath) {
        match path.path.segments.first_mut() {
            Some(only) if path.qself.is_none() && path.path.leading_colon.is_none() && only.arguments.is_none() => {
                self.read(&mut only.ident, VARIABLE);
            }
            _ => {}
        }
        visit_mut::visit_expr_path_mut(self, path);
    }

    fn visit_pat_ident_mut(&mut self, pat: &mut syn::PatIdent) {
        if is_item(&pat.ident.to_string()) {
            self.read(&mut pat.ident, VARIABLE);
        } else {
            self.bind(&mut pat.ident, VARIABLE);
        }
        visit_mut::visit_pat_ident_mut(self, pat);
    }

    fn visit_field_value_mut(&mut self, field: &mut syn::FieldValue) {
        field.colon_token.get_or_insert_default();
        visit_mut::visit_field_value_mut(self, field);
    }

    fn visit_field_pat_mut(&mut self, field: &mut syn::FieldPat) {
        field.colon_token.get_or_insert_default();
        visit_mut::visit_field_pat_mut(self, field);
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        self.scope(|inner| visit_mut::visit_block_mut(inner, block));
    }

    fn visit_local_mut(&mut self, local: &mut syn::Local) {
        if let Some(init) = &mut local.init {
            self.scope(|inner| {
                inner.visit_expr_mut(&mut init.expr);
                if let Some((_, otherwise)) = &mut init.diverge {
                    inner.visit_expr_mut(otherwise);
                }
            });
        }
        self.visit_pat_mut(&mut local.pat);
    }

    fn visit_expr_let_mut(&mut self, test: &mut syn::ExprLet) {
        self.visit_expr_mut(&mut test.expr);
        self.visit_pat_mut(&mut test.pat);
    }

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        self.scope(|inner| visit_mut::visit_arm_mut(inner, arm));
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
        self.scope(|inner| visit_mut::visit_expr_closure_mut(inner, closure));
    }

    fn visit_expr_for_loop_mut(&mut self, each: &mut syn::ExprForLoop) {
        self.visit_expr_mut(&mut each.expr);
        self.scope(|inner| {
            each.label.iter_mut().for_each(|label| inner.visit_label_mut(label));
            inner.visit_pat_mut(&mut each.pat);
            inner.visit_block_mut(&mut each.body);
        });
    }

    fn visit_expr_while_mut(&mut self, each: &mut syn::ExprWhile) {
        self.scope(|inner| visit_mut::visit_expr_while_mut(inner, each));
    }

    fn visit_expr_loop_mut(&mut self, each: &mut syn::ExprLoop) {
        self.scope(|inner| visit_mut::visit_expr_loop_mut(inner, each));
    }

    fn visit_expr_block_mut(&mut self, block: &mut syn::ExprBlock) {
        self.scope(|inner| visit_mut::visit_expr_block_mut(inner, block));
    }

    fn visit_expr_if_mut(&mut self, branch: &mut syn::ExprIf) {
        self.scope(|inner| {
            inner.visit_expr_mut(&mut branch.cond);
            inner.visit_block_mut(&mut branch.then_branch);
        });
        if let Some((_, otherwise)) = &mut branch.else_branch {
            self.visit_expr_mut(otherwise);
        }
    }

    fn visit_label_mut(&mut self, label: &mut syn::Label) {
        self.bind(&mut label.name.ident, LABEL);
    }

    fn visit_expr_break_mut(&mut self, jump: &mut syn::ExprBreak) {
        self.read_label(jump.label.as_mut());
        visit_mut::visit_expr_break_mut(self, jump);
    }

    fn visit_expr_continue_mut(&mut self, jump: &mut syn::ExprContinue) {
        self.read_label(jump.label.as_mut());
    }

    fn visit_macro_mut(&mut self, mac: &mut syn::Macro) {
        mac.tokens = self.read_tokens(std::mem::take(&mut mac.tokens));
    }

    fn visit_item_mut(&mut self, _: &mut syn::Item) {
        self.has_items = true;
    }
}
