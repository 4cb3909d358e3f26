//! The rows that the rest of the workspace leans on, and the table's order.

use super::{DefaultValue, Door, Entry, Flags, Kind, Receiver, Results, by_aten, entries, lookup};

#[track_caller]
fn entry(method: &str) -> &'static Entry {
    lookup(method).unwrap_or_else(|| panic!("no `{method}` in the catalog"))
}

#[test]
fn sorted_and_unique() {
    assert!(entries().windows(2).all(|pair| pair[0].method < pair[1].method));
    assert!(entries().len() > 2_600);
}

#[test]
fn every_generated_method_has_its_operator() {
    let without: Vec<_> = entries().iter().filter(|entry| entry.aten.is_none()).map(|entry| entry.method).collect();
    assert!(without.iter().all(|method| !method.ends_with("_out") && !method.starts_with("internal_n")), "{without:?}");
    assert!(without.len() < 80, "{without:?}");
}

#[test]
fn relu() {
    let relu = entry("relu");
    assert_eq!((relu.aten, relu.receiver, relu.results), (Some("aten::relu"), Receiver::Ref, Results::Tensor));
    assert!(relu.params.is_empty() && !relu.writes() && relu.flags.has(Flags::POINTWISE));
    assert!(entry("relu_").writes());
    assert_eq!(entry("relu_").receiver, Receiver::Mut);
}

#[test]
fn conv2d() {
    let conv = entry("conv2d");
    assert_eq!(conv.aten, Some("aten::conv2d"));
    let params: Vec<_> = conv.params.iter().map(|param| (param.name, param.kind, param.default)).collect();
    assert_eq!(
        params,
        [
            ("weight", Kind::Tensor, None),
            ("bias", Kind::OptTensor, Some(DefaultValue::None)),
            ("stride", Kind::IntList, Some(DefaultValue::Int(1))),
            ("padding", Kind::IntList, Some(DefaultValue::Int(0))),
            ("dilation", Kind::IntList, Some(DefaultValue::Int(1))),
            ("groups", Kind::Int, Some(DefaultValue::Int(1))),
        ]
    );
    assert_eq!(entry("conv2d_padding").aten, Some("aten::conv2d.padding"));
}

#[test]
fn add_hides_behind_the_operator() {
    assert_eq!(entry("g_add").aten, Some("aten::add.Tensor"));
    assert_eq!(entry("g_add_scalar").aten, Some("aten::add.Scalar"));
    let add = entry("g_add_");
    assert_eq!((add.aten, add.receiver, add.writes()), (Some("aten::add_.Tensor"), Receiver::Mut, true));
    assert_eq!(entry("f_add_"), add);
    assert_eq!(add.fallible().as_deref(), Some("f_add_"));
    assert!(lookup("add_").is_none(), "tch has `+=`, and no method of that name");
}

#[test]
fn max_pool2d() {
    let pool = entry("max_pool2d");
    assert_eq!(pool.param("stride").map(|param| param.default), Some(Some(DefaultValue::Ints(&[]))));
    assert_eq!(pool.param("ceil_mode").map(|param| param.kind), Some(Kind::Bool));
}

#[test]
fn associated_function_with_a_list() {
    let cat = entry("cat");
    assert_eq!((cat.receiver, cat.params[0].kind, cat.params[1].kind), (Receiver::Free, Kind::TensorList, Kind::Int));
}

#[test]
fn handwritten() {
    let size = entry("size4");
    assert_eq!((size.aten, size.results, size.door), (None, Results::Ints(4), Door::Fallible));
    assert_eq!(entry("numel").door, Door::Plain);
    assert_eq!(entry("f_copy_").results, Results::Unit);
    assert!(entry("copy_").writes());
    assert_eq!(entry("from_slice").params[0].kind, Kind::Other);
    assert_eq!(entry("view").params[0].kind, Kind::Shape);
    assert_eq!(entry("nll_loss").params.len(), 1);
    assert_eq!(entry("f_nll_loss").method, "g_nll_loss");
}

#[test]
fn effects() {
    assert!(entry("dropout").flags.has(Flags::RANDOM));
    assert!(entry("bernoulli").flags.has(Flags::RANDOM));
    assert!(entry("view_").flags.has(Flags::VIEW) && !entry("view_").writes());
    assert!(entry("view").flags.has(Flags::VIEW));
    assert!(entry("transpose").flags.has(Flags::VIEW));
    assert!(!entry("matmul").flags.has(Flags::VIEW));
    assert!(entry("batch_norm").flags.has(Flags::MAY_ALIAS_OR_WRITE));
    assert!(entry("nonzero").flags.has(Flags::DATA_DEPENDENT));
    assert!(entry("add_out").param("out").is_some_and(|out| out.is_written));
}

#[test]
fn lists_and_tuples() {
    assert_eq!(entry("chunk").results, Results::TensorList);
    assert!(entry("chunk").flags.has(Flags::VIEW));
    let lstm = entry("lstm");
    assert_eq!((lstm.aten, lstm.results), (Some("aten::lstm.input"), Results::Tensors(3)));
}

#[test]
fn by_operator() {
    let names: Vec<_> = by_aten("aten::to.dtype").map(|entry| entry.method).collect();
    assert_eq!(names, ["to_dtype", "to_kind", "totype"]);
    assert!(lookup("no_such_method").is_none() && lookup("f_size4").is_none());
}
