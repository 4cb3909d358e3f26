//! The rows of the table as Rust text, one a line.

use std::fmt::Write as _;

use super::tch::Receiver;

/// A row before it is text.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) method: String,
    /// `aten::add.Scalar`, where the method is one operator.
    pub(super) aten: Option<String>,
    pub(super) receiver: Receiver,
    pub(super) params: Vec<Param>,
    /// The Rust type of the result.
    pub(super) result: String,
    /// A variant of the catalog's `Door`.
    pub(super) door: &'static str,
    /// Constants of the catalog's `Flags`.
    pub(super) flags: Vec<&'static str>,
}

/// A parameter before it is text.
#[derive(Clone, Debug)]
pub(super) struct Param {
    pub(super) name: String,
    /// Its Rust type.
    pub(super) ty: String,
    /// The schema's default, in the schema's spelling.
    pub(super) default: Option<String>,
    pub(super) is_written: bool,
}

const HEADER: &str = "\
//! The op catalog's rows, sorted by method. Written by `cargo xtask codegen` from PyTorch's operator list and tch.
// tidy: table

use super::Door::*;
use super::Flags as F;
use super::Kind::*;
use super::Receiver::*;
use super::{DefaultValue as D, Entry, Results as R, default as d, given as p, row, written as w};

";

/// The whole file.
pub(super) fn table(rows: &[Row]) -> String {
    let mut text = String::from(HEADER);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "#[rustfmt::skip]\npub(super) static TABLE: [Entry; {}] = [", rows.len());
    for row in rows {
        let _ = writeln!(text, "    {},", line(row));
    }
    text.push_str("];\n");
    text
}

/// `row("relu", "aten::relu", Ref, &[], R::Tensor, Both, F::POINTWISE)`
fn line(row: &Row) -> String {
    let params: Vec<_> = row.params.iter().map(param).collect();
    let flags = match row.flags.as_slice() {
        [] => "F::NONE".to_owned(),
        [first, rest @ ..] => rest.iter().fold(format!("F::{first}"), |all, flag| format!("{all}.with(F::{flag})")),
    };
    format!(
        "row({:?}, {:?}, {:?}, &[{}], {}, {}, {flags})",
        row.method,
        row.aten.as_deref().unwrap_or_default(),
        row.receiver,
        params.join(", "),
        result(&row.result),
        row.door,
    )
}

/// `p("weight", Tensor)`, `d("stride", IntList, D::Int(1))` with a default, `w("out", Tensor)` for one that is written to.
fn param(param: &Param) -> String {
    let (name, kind) = (&param.name, kind(&param.ty));
    match &param.default {
        _ if param.is_written => format!("w({name:?}, {kind})"),
        Some(default) => format!("d({name:?}, {kind}, {})", value(default)),
        None => format!("p({name:?}, {kind})"),
    }
}

/// The catalog's `DefaultValue` of a value in the schema's spelling: `[1, 1]`, `None`, `True`, `'mean'`.
fn value(text: &str) -> String {
    let quoted = |open: char, close: char| text.strip_prefix(open).and_then(|text| text.strip_suffix(close));
    match text {
        "None" => return "D::None".to_owned(),
        "True" => return "D::Bool(true)".to_owned(),
        "False" => return "D::Bool(false)".to_owned(),
        _ => {}
    }
    if let Some(inner) = quoted('\'', '\'').or_else(|| quoted('"', '"')) {
        return format!("D::Str({:?})", unescaped(inner));
    }
    if let Some(items) = quoted('[', ']') {
        let items: Vec<&str> = items.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
        return format!("D::Ints(&[{}])", items.join(", "));
    }
    if let Ok(number) = text.parse::<i64>() {
        return format!("D::Int({number})");
    }
    match text.parse::<f64>() {
        Ok(number) => format!("D::Float({number:?})"),
        Err(_) => format!("D::Name({text:?})"),
    }
}

/// The text that a literal of the schema stands for.
fn unescaped(literal: &str) -> String {
    let mut text = String::new();
    let mut chars = literal.chars();
    while let Some(first) = chars.next() {
        text.extend(if first == '\\' { chars.next() } else { Some(first) });
    }
    text
}

/// The catalog's `Kind` of a Rust type.
fn kind(ty: &str) -> &'static str {
    match ty {
        "&Tensor" | "&mut Tensor" => "Tensor",
        "Option<T>" => "OptTensor",
        "&[T]" => "TensorList",
        "&[Option<T>]" => "OptTensorList",
        "i64" => "Int",
        "usize" => "Usize",
        "impl Into<Option<i64>>" => "OptInt",
        "impl IntList" | "&[i64]" => "IntList",
        "impl IntListOption" => "OptIntList",
        "f64" => "Float",
        "impl Into<Option<f64>>" => "OptFloat",
        "impl DoubleList" => "FloatList",
        "bool" => "Bool",
        "&str" => "Str",
        "impl Into<Scalar>" => "Scalar",
        "Kind" => "ElementKind",
        "impl Into<Option<Kind>>" => "OptElementKind",
        "Device" => "Device",
        "Layout" => "Layout",
        "Option<Layout>" => "OptLayout",
        "(Kind,Device)" => "Options",
        "crate::Reduction" => "Reduction",
        "impl Shape" => "Shape",
        _ => "Other",
    }
}

/// The catalog's `Results` of a Rust type.
fn result(ty: &str) -> String {
    match ty {
        "()" => "R::Unit".to_owned(),
        "Tensor" => "R::Tensor".to_owned(),
        "Vec<Tensor>" => "R::TensorList".to_owned(),
        "i64" => "R::Int".to_owned(),
        "usize" => "R::Usize".to_owned(),
        "f64" => "R::Float".to_owned(),
        "bool" => "R::Bool".to_owned(),
        "Vec<i64>" => "R::IntList".to_owned(),
        "Kind" => "R::ElementKind".to_owned(),
        "Device" => "R::Device".to_owned(),
        tuple if tuple.starts_with("(Tensor,") => {
            format!("R::Tensors({})", tuple.matches("Tensor").count())
        }
        tuple if tuple.starts_with("(i64,") => format!("R::Ints({})", tuple.matches("i64").count()),
        _ => "R::Other".to_owned(),
    }
}
