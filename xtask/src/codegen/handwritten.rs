//! Rows for the methods that tch's authors wrote by hand: what no schema says of them is said here.

use std::collections::BTreeSet;

use super::render::{Param, Row};
use super::tch::{Method, Receiver};

/// The operator behind a hand-written method, where one alone does its work.
const OPERATORS: [(&str, &str); 12] = [
    ("avg_pool2d_default", "aten::avg_pool2d"),
    ("copy", "aten::clone"),
    ("copy_", "aten::copy_"),
    ("flat_view", "aten::view"),
    ("get", "aten::select.int"),
    ("max_pool2d_default", "aten::max_pool2d"),
    ("nll_loss", "aten::nll_loss"),
    ("to_device", "aten::to.device"),
    ("to_kind", "aten::to.dtype"),
    ("to_mkldnn", "aten::to_mkldnn"),
    ("view", "aten::view"),
    ("zero_pad2d", "aten::constant_pad_nd"),
];

/// What the methods do beyond computing their result. One that takes `&mut self` is said to write to it without this.
const FLAGS: [(&str, &[&str]); 15] = [
    ("apply", &["MAY_ALIAS_OR_WRITE"]),
    ("apply_opt", &["MAY_ALIAS_OR_WRITE"]),
    ("apply_opt_t", &["MAY_ALIAS_OR_WRITE"]),
    ("apply_t", &["MAY_ALIAS_OR_WRITE"]),
    ("double_value", &["DATA_DEPENDENT"]),
    ("flat_view", &["VIEW"]),
    ("get", &["VIEW"]),
    ("init", &["WRITES_SELF", "RANDOM"]),
    ("int64_value", &["DATA_DEPENDENT"]),
    ("random_batch", &["RANDOM"]),
    ("random_batch2", &["RANDOM"]),
    ("shallow_clone", &["VIEW"]),
    ("to_device", &["VIEW"]),
    ("to_kind", &["VIEW"]),
    ("view", &["VIEW"]),
];

/// One row for each method; `f_x` beside `x` is no row of its own.
pub(super) fn rows(methods: &[Method]) -> Vec<Row> {
    let names: BTreeSet<&str> = methods.iter().map(|method| method.name.as_str()).collect();
    let has_plain = |method: &Method| {
        let plain = method.name.strip_prefix("f_");
        plain.is_some_and(|plain| names.contains(plain))
    };
    let rows = methods.iter().filter(|method| !has_plain(method));
    rows.map(|method| row(method, names.contains(format!("f_{}", method.name).as_str()))).collect()
}

fn row(method: &Method, has_fallible: bool) -> Row {
    let name = method.name.as_str();
    let written: &[&str] = if method.receiver == Receiver::Mut { &["WRITES_SELF"] } else { &[] };
    let params = method.params.iter().map(|(name, ty)| Param {
        name: name.clone(),
        ty: ty.clone(),
        default: None,
        is_written: ty.starts_with("&mut"),
    });
    Row {
        method: method.name.clone(),
        aten: OPERATORS.iter().find(|(of, _)| *of == name).map(|(_, operator)| (*operator).to_owned()),
        receiver: method.receiver,
        params: params.collect(),
        result: method.result.clone(),
        door: match (method.fallible, has_fallible) {
            (true, _) => "Fallible",
            (false, true) => "Both",
            (false, false) => "Plain",
        },
        flags: FLAGS.iter().find(|(of, _)| *of == name).map_or(written, |(_, flags)| flags).to_vec(),
    }
}
