//! What stands in such a source wherever it is written: fields, types, and operations that mean the same everywhere.

use fx_ir::{HostOp, Type};

/// What a field says of the name of its tensors, where it is another than the field's, and of what it is besides.
pub(super) fn renamed(path: &str, field: &str, also: &str) -> String {
    let name = if path == field { String::new() } else { format!("name = {path:?}") };
    let said: Vec<&str> = [name.as_str(), also].into_iter().filter(|one| !one.is_empty()).collect();
    if said.is_empty() { String::new() } else { format!("    #[module({})]\n", said.join(", ")) }
}

/// The type in Rust; none where not all of it is known.
pub(super) fn spelled(ty: &Type) -> Option<String> {
    match ty {
        Type::Tensor(_) => Some("Tensor".to_owned()),
        Type::Rust(spelling) => Some(spelling.clone()),
        Type::Option(held) => Some(format!("Option<{}>", spelled(held)?)),
        Type::List(held) => Some(format!("Vec<{}>", spelled(held)?)),
        Type::Tuple(parts) => {
            let parts = parts.iter().map(spelled).collect::<Option<Vec<String>>>()?;
            Some(format!("({})", parts.join(", ")))
        }
        Type::Unknown | Type::Module(_) => None,
    }
}

/// Whether the operation means the same wherever it is written: it is one on numbers, lists and tensors alone.
pub(super) fn is_written(op: &HostOp) -> bool {
    matches!(
        op,
        HostOp::Use
            | HostOp::Literal(_)
            | HostOp::Handle
            | HostOp::Clone
            | HostOp::Ref
            | HostOp::Copied
            | HostOp::Tuple
            | HostOp::Array
            | HostOp::Vec
            | HostOp::Some
            | HostOp::Range(_)
            | HostOp::Item
            | HostOp::ItemRef
            | HostOp::Slice(_)
            | HostOp::Deref
            | HostOp::Neg
            | HostOp::Not
            | HostOp::Binary(_)
            | HostOp::Cast(_)
            | HostOp::From(_)
            | HostOp::Convert(_)
            | HostOp::ConvertOr(_)
            | HostOp::Scalar
            | HostOp::Method(_)
            | HostOp::Index
            | HostOp::IndexRange(_)
            | HostOp::Unwrap(_)
            | HostOp::ToVec
            | HostOp::Sum(_)
            | HostOp::Product(_)
            | HostOp::TensorOf
    )
}
