//! Sugar and jumps become a small core: syntax is rewritten into plain loops, `if`s and `match`es before it is traced.

use proc_macro2::{Ident, Span};

use crate::{syntax::path_text, trace::Ty};

pub(in crate::trace) mod array_conversion;
pub(in crate::trace) mod array_from_fn;
pub(in crate::trace) mod borrowed_part;
pub(in crate::trace) mod closure_form;
pub(in crate::trace) mod counted_while;
pub(in crate::trace) mod counter;
pub(in crate::trace) mod element_name;
pub(in crate::trace) mod format_string;
pub(in crate::trace) mod held_iterator;
pub(in crate::trace) mod iterator_adaptors;
pub(in crate::trace) mod iterator_chain;
pub(in crate::trace) mod iterator_consumers;
pub(in crate::trace) mod jumps;
pub(in crate::trace) mod labelled_block;
pub(in crate::trace) mod labels;
pub(in crate::trace) mod lazy_variable;
pub(in crate::trace) mod lent_option;
pub(in crate::trace) mod let_chains;
pub(in crate::trace) mod let_else;
pub(in crate::trace) mod list_parts;
pub(in crate::trace) mod loop_break_value;
pub(in crate::trace) mod match_guards;
pub(in crate::trace) mod match_tuple;
pub(in crate::trace) mod method_paths;
pub(in crate::trace) mod ok_or;
pub(in crate::trace) mod open_range;
pub(in crate::trace) mod option;
pub(in crate::trace) mod range_variable;
pub(in crate::trace) mod result_chain;
pub(in crate::trace) mod results;
pub(in crate::trace) mod returns;
pub(in crate::trace) mod scan;
pub(in crate::trace) mod size_query;
pub(in crate::trace) mod slice_pattern;
pub(in crate::trace) mod slice_split;
pub(in crate::trace) mod zip;

/// What the rewriting of syntax has to know of the code around it. Of code that nothing is known of, nothing is said.
pub(in crate::trace) trait Surroundings {
    /// The type of what a loop over the expression yields; `None` where it is not known.
    fn element_ty(&mut self, _over: &syn::Expr) -> Option<Ty> {
        None
    }

    /// The type of a place; [`Ty::Unknown`] where it is not known.
    fn place_ty(&self, _place: &syn::Expr) -> Ty {
        Ty::Unknown
    }

    /// Whether the list is a part of the model, so that its length is known when the model is frozen.
    fn is_of_model(&self, _list: &syn::Expr) -> bool {
        false
    }

    /// Whether the method may write to what it is called on.
    fn may_mutate(&self, _call: &syn::ExprMethodCall) -> bool {
        true
    }

    /// Whether an error of the function that the code stands in leaves the frozen model.
    fn error_leaves(&self) -> bool {
        false
    }

    /// Whether a `collect` that does not say what it gathers gathers a `Vec`.
    fn collects_vec(&self) -> bool {
        false
    }

    /// The type of a number that begins so, which a loop's body has under the pattern.
    fn number_ty(&self, _start: &syn::Expr, _pat: &syn::Pat, _body: &syn::Block) -> Option<syn::Type> {
        None
    }

    /// The path that a name of another crate stands for; `None` for one of this crate.
    fn external(&self, path: &syn::Path) -> Option<String> {
        Some(path_text(path))
    }

    /// A name that the user's code does not have.
    fn new_name(&mut self, what: &str, span: Span) -> Ident {
        quote::format_ident!("fx_{what}", span = span)
    }
}
