//! What a call means: of a function, a method, a closure, a macro, a submodule.

pub(in crate::trace) mod chosen_call;
pub(in crate::trace) mod closure_call;
pub(in crate::trace) mod closure_writes;
pub(in crate::trace) mod coercion;
pub(in crate::trace) mod conversion;
pub(in crate::trace) mod fn_pointer;
pub(in crate::trace) mod generic_call;
pub(in crate::trace) mod inline;
pub(in crate::trace) mod iterator_method;
pub(in crate::trace) mod leaf_call;
pub(in crate::trace) mod macros;
pub(in crate::trace) mod method;
pub(in crate::trace) mod module_call;
pub(in crate::trace) mod opaque_call;
pub(in crate::trace) mod operator_call;
pub(in crate::trace) mod option_call;
pub(in crate::trace) mod output;
mod overloaded;
mod own_numbers;
pub(in crate::trace) mod panics;
pub(in crate::trace) mod parameters;
pub(in crate::trace) mod path_call;
pub(in crate::trace) mod submodule_call;
pub(in crate::trace) mod tensor_call;
pub(in crate::trace) mod tensor_receiver;
pub(in crate::trace) mod trait_call;
