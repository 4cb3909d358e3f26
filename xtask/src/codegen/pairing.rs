//! Which operator a generated tch method calls.
//!
//! tch's rule: an operator's overload follows its name (`add_.Scalar` is `add_scalar_`), one overload of those without
//! an empty one goes by the bare name, and a few names are changed that Rust or tch itself uses. Where the bare name
//! leaves a choice, the parameters decide.

use std::collections::{BTreeMap, BTreeSet};

use super::render::{Param, Row};
use super::schema::{Arg, Schema};
use super::tch::{Method, Receiver};

/// Names that tch changes, because Rust has the word or tch has another method of that name.
const RENAMED: [(&str, &str); 5] =
    [("t", "tr"), ("where", "where_"), ("view", "view_"), ("unsafe", "unsafe_"), ("to_device", "to_device_")];

/// Methods that call a C++ method with no schema of its own name and signature, and the operator behind.
const UNLISTED: [(&str, &str); 3] =
    [("set_requires_grad", "aten::requires_grad_"), ("to", "aten::to.device"), ("totype", "aten::to.dtype")];

/// Arguments that tch hands over together as `options: (Kind, Device)`.
const OPTIONS: [&str; 2] = ["dtype", "device"];

/// One row for each method.
pub(super) fn pair(methods: &[Method], schemas: &[Schema]) -> Vec<Row> {
    let mut candidates: BTreeMap<String, Vec<&Schema>> = BTreeMap::new();
    for schema in schemas {
        let names: BTreeSet<String> =
            [exported(schema), bare(schema)].into_iter().map(|name| rust_name(&name)).collect();
        for name in names {
            candidates.entry(name).or_default().push(schema);
        }
    }
    methods.iter().map(|method| row(method, schema_of(method, schemas, &candidates))).collect()
}

fn schema_of<'a>(
    method: &Method,
    schemas: &'a [Schema],
    candidates: &BTreeMap<String, Vec<&'a Schema>>,
) -> Option<&'a Schema> {
    let name = method.name.strip_prefix("g_").unwrap_or(&method.name);
    if let Some((_, full)) = UNLISTED.iter().find(|(unlisted, _)| *unlisted == name) {
        return schemas.iter().find(|schema| schema.full_name() == *full);
    }
    let fitting = || candidates.get(name).into_iter().flatten().copied().filter(|schema| fits(method, schema));
    let by_rule = fitting().find(|schema| rust_name(&exported(schema)) == name);
    by_rule.or_else(|| fitting().min_by_key(|schema| schema.args.len()))
}

/// The name under which tch exports an operator, overload and all.
fn exported(schema: &Schema) -> String {
    let name = bare(schema);
    let overload = schema.overload.to_lowercase();
    match name.strip_suffix('_') {
        _ if overload.is_empty() => name,
        Some(_) => format!("{name}{overload}_"),
        None => format!("{name}_{overload}"),
    }
}

/// The name without overload. `scatter_reduce` is set apart from the overload `reduce` of `scatter`.
fn bare(schema: &Schema) -> String {
    let name = schema.name.to_lowercase();
    if matches!(name.as_str(), "scatter_reduce" | "scatter_reduce_") { format!("_{name}") } else { name }
}

/// tch's spelling of a name.
fn rust_name(name: &str) -> String {
    let name = RENAMED.iter().find(|(from, _)| *from == name).map_or(name, |(_, to)| to);
    let name = name.to_lowercase().replace("__", "_");
    if name.starts_with('_') { format!("internal{name}") } else { name }
}

/// Whether a method's parameters are, in order, arguments of the operator, and those left out have defaults.
fn fits(method: &Method, schema: &Schema) -> bool {
    let mut args = schema.args.iter().filter(|arg| !is_receiver(method, schema, arg)).peekable();
    for (name, ty) in &method.params {
        let found =
            args.find(|arg| arg_name(arg) == *name || (name == "options" && OPTIONS.contains(&arg.name.as_str())));
        if !found.is_some_and(|arg| name == "options" || same_shape(ty, &arg.ty)) {
            return false;
        }
    }
    let results = schema.results.len();
    match method.result.as_str() {
        "()" => results == 0,
        tuple if tuple.starts_with('(') => results == tuple.matches("Tensor").count(),
        _ => results == 1,
    }
}

/// Whether a Rust type can stand for a schema's: enough to tell overloads of equal parameter names apart.
fn same_shape(rust: &str, schema: &str) -> bool {
    match rust {
        "impl Into<Scalar>" => schema.starts_with("Scalar") && !schema.starts_with("ScalarType"),
        "&Tensor" => schema == "Tensor",
        "&[T]" => schema.starts_with("Tensor["),
        "bool" => schema.starts_with("bool"),
        "&str" => schema.starts_with("str"),
        "impl IntList" => schema.starts_with("int[") || schema.starts_with("SymInt["),
        "i64" | "crate::Reduction" => schema == "int" || schema == "SymInt",
        _ => true,
    }
}

fn arg_name(arg: &Arg) -> String {
    let is_scalar_self = arg.name == "self" && arg.ty.starts_with("Scalar");
    if is_scalar_self { "self_scalar".to_owned() } else { rust_name(&arg.name) }
}

/// tch's receiver is the tensor `self`, or, failing that, the tensor `input`.
fn is_receiver(method: &Method, schema: &Schema, arg: &Arg) -> bool {
    let is = |arg: &Arg, name: &str| arg.name == name && arg.ty == "Tensor";
    let has_self = schema.args.iter().any(|arg| is(arg, "self"));
    method.receiver != Receiver::Free && (is(arg, "self") || (!has_self && is(arg, "input")))
}

/// The row of a method, with what its operator's schema adds.
fn row(method: &Method, schema: Option<&Schema>) -> Row {
    let arg = |name: &str| schema.and_then(|schema| schema.args.iter().find(|arg| arg_name(arg) == name));
    let written = |arg: &Arg| arg.alias.contains('!');
    let params = method.params.iter().map(|(name, ty)| Param {
        name: name.clone(),
        ty: ty.clone(),
        default: arg(name).and_then(|arg| arg.default.clone()),
        is_written: arg(name).is_some_and(written),
    });
    let self_written =
        schema.is_some_and(|schema| schema.args.iter().any(|arg| written(arg) && is_receiver(method, schema, arg)));
    let mut flags = Vec::new();
    // Trailing underscores are no sign where tch put them itself (`view_`, `where_`).
    let renamed = RENAMED.iter().any(|(_, to)| *to == method.name);
    if self_written || (schema.is_none() && method.name.ends_with('_') && !renamed) {
        flags.push("WRITES_SELF");
    }
    if schema.is_some_and(|schema| schema.results.iter().any(|ty| ty.contains('(') && !ty.contains('!'))) {
        flags.push("VIEW");
    }
    for (tag, flag) in [
        ("nondeterministic_seeded", "RANDOM"),
        ("maybe_aliasing_or_mutating", "MAY_ALIAS_OR_WRITE"),
        ("pointwise", "POINTWISE"),
        ("dynamic_output_shape", "DATA_DEPENDENT"),
        ("data_dependent_output", "DATA_DEPENDENT"),
    ] {
        if schema.is_some_and(|schema| schema.has_tag(tag)) {
            flags.push(flag);
        }
    }
    Row {
        method: method.name.clone(),
        aten: schema.map(Schema::full_name),
        receiver: method.receiver,
        params: params.collect(),
        result: method.result.clone(),
        door: "Both",
        flags,
    }
}
