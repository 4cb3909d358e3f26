//! The types of what ops yield, and of what a tensor says of itself.

use fx_ir::{catalog, scalar::is_of_tch};

use crate::trace::Ty;

/// The type of what a tensor says of itself; a `Result` where the method yields one.
pub(in crate::trace) fn host_type(name: &str) -> Option<Ty> {
    let int = || Ty::Rust("i64".to_owned());
    let tuple = |count| Ty::Result(Box::new(Ty::Tuple(vec![Ty::Rust("i64".to_owned()); count])));
    Some(match name {
        "size" | "stride" => Ty::List(Box::new(int())),
        "size1" => Ty::Result(Box::new(int())),
        "size2" => tuple(2),
        "size3" => tuple(3),
        "size4" => tuple(4),
        "size5" => tuple(5),
        "size6" => tuple(6),
        "dim" | "numel" => Ty::Rust("usize".to_owned()),
        "kind" => Ty::Rust("::fx_runtime::Kind".to_owned()),
        "device" => Ty::Rust("::fx_runtime::Device".to_owned()),
        "requires_grad" | "defined" | "is_contiguous" => Ty::Rust("bool".to_owned()),
        "double_value" => Ty::Rust("f64".to_owned()),
        "int64_value" => int(),
        _ => return None,
    })
}

/// The type of a value of one of tch's plain enums, by its full path: `tch::Kind::Float`.
pub(in crate::trace) fn enum_of_tch(path: &str) -> Option<Ty> {
    let (owner, variant) = path.trim_start_matches("::").rsplit_once("::")?;
    let home = match owner.rsplit_once("::")?.1 {
        "Reduction" => "::fx_runtime::tch::Reduction".to_owned(),
        name => format!("::fx_runtime::{name}"),
    };
    let holds = matches!(variant, "Cuda" | "Other") || variant.starts_with(char::is_lowercase);
    (is_of_tch(&format!("::{owner}")) && !holds).then_some(Ty::Rust(home))
}

pub(in crate::trace) fn result_type(entry: &catalog::Entry) -> Ty {
    use catalog::Results;
    match entry.results {
        Results::Tensor => Ty::Tensor,
        Results::Tensors(count) => Ty::Tuple(vec![Ty::Tensor; usize::from(count)]),
        Results::TensorList => Ty::List(Box::new(Ty::Tensor)),
        Results::Int => Ty::Rust("i64".to_owned()),
        Results::Usize => Ty::Rust("usize".to_owned()),
        Results::IntList => Ty::List(Box::new(Ty::Rust("i64".to_owned()))),
        Results::Float => Ty::Rust("f64".to_owned()),
        Results::Bool => Ty::Rust("bool".to_owned()),
        Results::Unit => Ty::Tuple(Vec::new()),
        _ => Ty::Unknown,
    }
}
