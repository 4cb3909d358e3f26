//! The table of the methods that make, adapt and consume iterators: one row a method.
//!
//! A row states what syntax alone says of the method. What a call of it becomes is decided by the desugarings.
// tidy: table

use proc_macro2::Ident;

/// What a method does in a chain of iterators.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Makes an iterator that borrows from its receiver.
    Borrow,
    /// Makes an iterator out of its receiver.
    Own,
    /// Makes an iterator out of an iterator.
    Adapt,
    /// Computes a value from all elements.
    Consume,
}

/// What a method takes beside the iterator.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Nothing.
    Nothing,
    /// A value.
    Value,
    /// A closure of one parameter.
    Closure,
    /// A value and a closure of two parameters.
    Fold,
    /// A closure of two parameters.
    Reduce,
}

/// How a loop over a chain with the method is traced.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The head of a loop has it.
    Head,
    /// Each iteration of the loop over the receiver does it.
    Body,
    /// It is no part of a loop.
    Other,
}

macro_rules! iterator_methods {
    ($($method:ident $name:ident $role:ident $takes:ident $form:ident;)+) => {
        /// A method that makes, adapts or consumes an iterator.
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub(crate) enum IteratorMethod {
            $($method,)+
        }

        impl IteratorMethod {
            /// The method of that name.
            pub(crate) fn of(name: &Ident) -> Option<IteratorMethod> {
                $(if name == stringify!($name) {
                    return Some(IteratorMethod::$method);
                })+
                None
            }

            /// What it does in a chain.
            pub(crate) fn role(self) -> Role {
                match self {
                    $(IteratorMethod::$method => Role::$role,)+
                }
            }

            /// What it takes beside the iterator.
            pub(crate) fn takes(self) -> Takes {
                match self {
                    $(IteratorMethod::$method => Takes::$takes,)+
                }
            }

            /// How a loop over it is traced.
            pub(crate) fn form(self) -> Form {
                match self {
                    $(IteratorMethod::$method => Form::$form,)+
                }
            }
        }
    };
}

iterator_methods! {
    Iter iter Borrow Nothing Head;
    IterMut iter_mut Borrow Nothing Head;
    IntoIter into_iter Own Nothing Head;
    Windows windows Borrow Value Head;
    Chunks chunks Borrow Value Head;
    ChunksExact chunks_exact Borrow Value Head;
    Chars chars Borrow Nothing Other;
    Bytes bytes Borrow Nothing Other;
    Lines lines Borrow Nothing Other;
    Keys keys Borrow Nothing Other;
    Values values Borrow Nothing Other;

    Enumerate enumerate Adapt Nothing Head;
    Rev rev Adapt Nothing Head;
    Zip zip Adapt Value Head;
    Skip skip Adapt Value Head;
    Take take Adapt Value Head;
    StepBy step_by Adapt Value Head;
    Chain chain Adapt Value Body;
    Flatten flatten Adapt Nothing Body;
    Map map Adapt Closure Body;
    Filter filter Adapt Closure Body;
    FilterMap filter_map Adapt Closure Body;
    FlatMap flat_map Adapt Closure Body;
    Inspect inspect Adapt Closure Body;
    TakeWhile take_while Adapt Closure Body;
    SkipWhile skip_while Adapt Closure Other;
    MapWhile map_while Adapt Closure Body;
    Scan scan Adapt Fold Body;
    Peekable peekable Adapt Nothing Other;
    Cycle cycle Adapt Nothing Other;
    ByRef by_ref Adapt Nothing Other;
    Copied copied Adapt Nothing Body;
    Cloned cloned Adapt Nothing Body;

    Sum sum Consume Nothing Other;
    Product product Consume Nothing Other;
    Max max Consume Nothing Other;
    Min min Consume Nothing Other;
    Count count Consume Nothing Other;
    Any any Consume Closure Other;
    All all Consume Closure Other;
    Position position Consume Closure Other;
    ForEach for_each Consume Closure Other;
    Fold fold Consume Fold Other;
    TryFold try_fold Consume Fold Other;
    Reduce reduce Consume Reduce Other;
    Unzip unzip Consume Nothing Other;
}

impl IteratorMethod {
    /// Returns whether the adaptor yields elements of the iterator as they are.
    pub(crate) fn yields_elements(self) -> bool {
        use IteratorMethod as M;
        matches!(
            self,
            M::Rev | M::Skip | M::Take | M::StepBy | M::Filter | M::Inspect | M::TakeWhile | M::SkipWhile | M::ByRef
        )
    }

    /// Returns whether the adaptor yields copies of what the elements refer to.
    pub(crate) fn copies_elements(self) -> bool {
        matches!(self, IteratorMethod::Copied | IteratorMethod::Cloned)
    }

    /// Returns whether it takes a closure.
    pub(crate) fn takes_closure(self) -> bool {
        matches!(self.takes(), Takes::Closure | Takes::Fold | Takes::Reduce)
    }
}
