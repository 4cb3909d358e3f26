//! The methods that hand out one element of a list, if it is there.

use proc_macro2::Ident;
use syn::visit::Visit;

/// A method that yields an element of a list as an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElementAccess {
    /// By value, at an index: what desugarings write for an iterator that owns its elements.
    Taken,
    /// A reference to the element at an index.
    Get,
    /// A mutable reference to the element at an index.
    GetMut,
    /// A reference to the first element.
    First,
    /// A mutable reference to the first element.
    FirstMut,
    /// A reference to the last element.
    Last,
    /// A mutable reference to the last element.
    LastMut,
}

/// The end of a list at which an element lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    First,
    Last,
}

impl ElementAccess {
    const ALL: [ElementAccess; 7] = [
        ElementAccess::Taken,
        ElementAccess::Get,
        ElementAccess::GetMut,
        ElementAccess::First,
        ElementAccess::FirstMut,
        ElementAccess::Last,
        ElementAccess::LastMut,
    ];

    /// The method of that name.
    pub(crate) fn of(name: &Ident) -> Option<ElementAccess> {
        ElementAccess::ALL.into_iter().find(|access| name == access.name())
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ElementAccess::Taken => "fx_taken",
            ElementAccess::Get => "get",
            ElementAccess::GetMut => "get_mut",
            ElementAccess::First => End::First.name(),
            ElementAccess::FirstMut => "first_mut",
            ElementAccess::Last => End::Last.name(),
            ElementAccess::LastMut => "last_mut",
        }
    }

    /// Returns whether it yields a mutable reference.
    pub(crate) fn is_mutable(self) -> bool {
        matches!(self, ElementAccess::GetMut | ElementAccess::FirstMut | ElementAccess::LastMut)
    }

    /// The end of the list whose element it yields; `None` where it takes an index.
    pub(crate) fn end(self) -> Option<End> {
        match self {
            ElementAccess::First | ElementAccess::FirstMut => Some(End::First),
            ElementAccess::Last | ElementAccess::LastMut => Some(End::Last),
            ElementAccess::Taken | ElementAccess::Get | ElementAccess::GetMut => None,
        }
    }
}

/// The variables whose elements the code asks for by a number that it computes, or parts of which it takes so.
pub(crate) fn asked_lists(block: &syn::Block) -> Vec<String> {
    struct Find(Vec<String>);
    impl<'ast> Visit<'ast> for Find {
        fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
            let access = ElementAccess::of(&call.method).filter(|access| access.end().is_none());
            let is_computed = !matches!(call.args.first(), None | Some(syn::Expr::Lit(_)));
            if let (Some(_), syn::Expr::Path(list), true) = (access, &*call.receiver, is_computed) {
                self.0.extend(list.path.get_ident().map(ToString::to_string));
            }
            syn::visit::visit_expr_method_call(self, call);
        }
        fn visit_expr_index(&mut self, index: &'ast syn::ExprIndex) {
            let is_computed =
                |end: &Option<Box<syn::Expr>>| end.as_ref().is_some_and(|end| !matches!(**end, syn::Expr::Lit(_)));
            if let (syn::Expr::Path(list), syn::Expr::Range(range)) = (&*index.expr, &*index.index)
                && (is_computed(&range.start) || is_computed(&range.end))
            {
                self.0.extend(list.path.get_ident().map(ToString::to_string));
            }
            syn::visit::visit_expr_index(self, index);
        }
    }
    let mut find = Find(Vec::new());
    find.visit_block(block);
    find.0
}

impl End {
    /// The name of the method that yields a reference to the element.
    pub(crate) fn name(self) -> &'static str {
        match self {
            End::First => "first",
            End::Last => "last",
        }
    }
}
