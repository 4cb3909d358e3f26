//! Questions that a type answers by itself.

use crate::index::Ty;

/// The state of an LSTM layer in generated code.
pub(in crate::trace) const LSTM_STATE: &str = "::fx_runtime::nn::LSTMState";
/// The state of a GRU layer in generated code.
pub(in crate::trace) const GRU_STATE: &str = "::fx_runtime::nn::GRUState";
/// What stands for `tch::Scalar` in generated code.
pub(in crate::trace) const NUMBER: &str = "::fx_runtime::frozen::Number";
/// A reference to a tensor in generated code: what a `None` does not hold whose variable is an `Option<&Tensor>`.
pub(in crate::trace) const TENSOR_REFERENCE: &str = "&::fx_runtime::Tensor";

/// Whether it is a number, a truth value or a character.
pub(crate) fn is_copy(ty: &Ty) -> bool {
    is_untyped(ty) || matches!(ty, Ty::Rust(spelling) if fx_ir::scalar::is_scalar(spelling))
}

/// The type of what does not come back.
pub(crate) fn never() -> Ty {
    Ty::Rust("!".to_owned())
}

/// Whether it is the type of a literal without a suffix, which the code around it decides.
pub(crate) fn is_untyped(ty: &Ty) -> bool {
    matches!(ty, Ty::Rust(name) if name == "integer" || name == "float")
}

/// The float that Rust reads in a literal of that type.
pub(crate) fn rounded(number: f64, ty: &str) -> f64 {
    #[allow(clippy::cast_possible_truncation, reason = "it is what rustc does with the literal")]
    let single = number as f32;
    if ty == "f32" { f64::from(single) } else { number }
}

/// Whether a value of the type can be handed over by branches that are traced one by one.
pub(crate) fn is_concrete(ty: &Ty) -> bool {
    match ty {
        Ty::Tensor | Ty::Leaf(_) | Ty::Struct(_) => true,
        Ty::Rust(name) if name == GRU_STATE || name == LSTM_STATE || name == NUMBER => true,
        Ty::Rust(name) if fx_ir::scalar::is_of_tch(name) => true,
        ty if ty.is_function() => true,
        Ty::List(inner) | Ty::Result(inner) => is_concrete(inner),
        Ty::Tuple(parts) => parts.iter().all(is_concrete),
        other => is_copy(other),
    }
}

/// The same of what is in a list or an option that is known to own it.
pub(crate) fn is_settled_within(ty: &Ty) -> bool {
    match ty {
        Ty::List(inner) | Ty::Option(inner) => is_settled_within(inner),
        Ty::Tuple(parts) => parts.iter().all(is_settled_within),
        other => is_concrete(other),
    }
}

/// Whether it is a list of which nothing says yet what it holds, or what the options hold that are in it.
pub(crate) fn is_open_list(ty: &Ty) -> bool {
    let is_open = |held: &Ty| *held == Ty::Unknown || matches!(held, Ty::Option(held) if **held == Ty::Unknown);
    matches!(ty, Ty::List(held) if is_open(held))
}

/// Whether it is this state, whichever crate it is reached through.
pub(crate) fn is_state(ty: &Ty, state: &str) -> bool {
    matches!(ty, Ty::Rust(path) if is_path_of(path, state))
}

pub(crate) fn is_path_of(path: &str, state: &str) -> bool {
    let name = |path: &str| path.rsplit_once("nn::").map(|(_, last)| last.to_owned());
    name(path).is_some() && name(path) == name(state)
}

/// Whether it is a variable store of tch's.
pub(crate) fn is_store(ty: &Ty) -> bool {
    matches!(ty, Ty::Rust(path) if path.ends_with("::nn::VarStore"))
}

/// Whether the store's method of that name takes it by `&self`.
pub(crate) fn only_looks_at_store(name: &str) -> bool {
    matches!(
        name,
        "kind"
            | "device"
            | "root"
            | "len"
            | "is_empty"
            | "variables"
            | "trainable_variables"
            | "save"
            | "save_to_stream"
    )
}
