//! A graph from JSON: what is wrong with it is said with the place in it.

use std::collections::HashMap;
use std::fmt::Display;

use fx_ir::{Arg, Graph, HostOp, Meta, MetaValue, ModuleScope, NodeId, Op, Origin, Place, RegionId, Type};
use serde_json::{Map, Value};

use super::{FORMAT, VERSION};
use crate::{Error, Result};

/// The graph that [`to_json`](super::to_json) wrote; [the module](super) describes the format.
///
/// # Errors
///
/// [`Error::Graph`] with what is wrong and where: no JSON, another format, another version (which is named), an unknown
/// operation, a name that no node bears, and what [`Graph::lint`] finds.
pub fn from_json(text: &str) -> Result<Graph> {
    let refused = |graph: &str, reason: String| Error::Graph { graph: graph.to_owned(), reason };
    let whole: Value = serde_json::from_str(text).map_err(|error| refused("?", format!("is not JSON: {error}")))?;
    let name = whole["name"].as_str().unwrap_or_default().to_owned();
    if whole["format"] != FORMAT {
        return Err(refused(
            &name,
            format!("is no graph of fx: its `format` is {}, not \"{FORMAT}\"", whole["format"]),
        ));
    }
    if whole["version"] != VERSION {
        let found = &whole["version"];
        let reason = format!("is of version {found} of the format, and this fx reads version {VERSION}; write it anew");
        return Err(refused(&name, reason));
    }
    let mut reader = Reader { graph: Graph::new(name.clone()), values: HashMap::new() };
    let body = reader.graph.body();
    reader.region(body, &whole["body"]).map_err(|reason| refused(&name, format!("cannot be read: {reason}")))?;
    match reader.graph.lint() {
        Ok(()) => Ok(reader.graph),
        Err(faults) => {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            Err(refused(&name, format!("is unsound: {}", faults.join("; "))))
        }
    }
}

struct Reader {
    graph: Graph,
    /// The nodes so far by their names.
    values: HashMap<String, NodeId>,
}

/// What was read, or what is wrong.
type Read<T> = Result<T, String>;

impl Reader {
    fn region(&mut self, region: RegionId, from: &Value) -> Read<()> {
        for param in list(&from["params"])? {
            let name = text(&param["name"], "a parameter's `name`")?;
            let read = self.param(region, name, param);
            read.map_err(|reason| format!("parameter `{name}`: {reason}"))?;
        }
        for node in list(&from["nodes"])? {
            let name = text(&node["name"], "a node's `name`")?;
            self.node(region, name, node).map_err(|reason| format!("node `{name}`: {reason}"))?;
        }
        Ok(())
    }

    fn param(&mut self, region: RegionId, name: &str, from: &Value) -> Read<()> {
        let id = self.graph.add_param(region, name, ty(from)?, origin(&from["origin"])?);
        self.graph.node_mut(id).meta = meta(&from["meta"])?;
        self.name(id, name)
    }

    fn node(&mut self, region: RegionId, name: &str, from: &Value) -> Read<()> {
        let args = list(&from["args"])?.iter().map(|one| self.arg(one)).collect::<Read<Vec<Arg>>>()?;
        let mut op = Op::parse(text(&from["op"], "`op`")?, args.len()).map_err(told)?;
        if let Op::Match(patterns) = &mut op {
            let texts = list(&from["patterns"])?.iter().map(|one| text(one, "a pattern"));
            *patterns = texts.map(|one| one?.parse().map_err(told)).collect::<Read<_>>()?;
        }
        let kwargs = list(&from["kwargs"])?.iter().map(|pair| self.kwarg(pair)).collect::<Read<Vec<_>>>()?;
        let id = self.graph.push(region, op, args, name, ty(from)?, origin(&from["origin"])?);
        let node = self.graph.node_mut(id);
        node.kwargs = kwargs;
        node.meta = meta(&from["meta"])?;
        for inner in list(&from["regions"])? {
            let region = self.graph.add_region_to(id);
            self.region(region, inner)?;
        }
        self.name(id, name)
    }

    /// Makes a node known under its name.
    fn name(&mut self, id: NodeId, name: &str) -> Read<()> {
        if self.graph.node(id).name != name {
            return Err("another node bears its name".to_owned());
        }
        self.values.insert(name.to_owned(), id);
        Ok(())
    }

    fn kwarg(&self, pair: &Value) -> Read<(String, Arg)> {
        Ok((text(&pair[0], "the name of an option")?.to_owned(), self.arg(&pair[1])?))
    }

    fn arg(&self, from: &Value) -> Read<Arg> {
        Ok(match from {
            Value::Null => Arg::None,
            Value::Bool(value) => Arg::Bool(*value),
            Value::String(value) => Arg::Str(value.clone()),
            Value::Array(items) => Arg::List(items.iter().map(|item| self.arg(item)).collect::<Read<_>>()?),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(value), _) => Arg::Int(value),
                (None, Some(value)) => Arg::Float(value),
                _ => return Err(format!("{number} is no number that it can hold")),
            },
            Value::Object(object) => self.object(object)?,
        })
    }

    fn object(&self, from: &Map<String, Value>) -> Read<Arg> {
        if let Some(name) = from.get("node") {
            let name = text(name, "the name of a node")?;
            let value = self.values.get(name).ok_or_else(|| format!("`{name}` is not computed before it"))?;
            return Ok(Arg::Node(*value));
        }
        if let Some(value) = from.get("float") {
            return float(value).map(Arg::Float);
        }
        if let Some(path) = from.get("path") {
            return Ok(Arg::Path(text(path, "a path")?.to_owned()));
        }
        let name = text(from.get("host").unwrap_or(&Value::Null), "`node`, `float`, `path` or `host` of an argument")?;
        let parts = |key: &str| list(from.get(key).unwrap_or(&Value::Null));
        let words = parts("words")?.iter().map(|word| text(word, "a word").map(str::to_owned));
        let words = words.collect::<Read<Vec<String>>>()?;
        let op = HostOp::parse(name, &words).ok_or_else(|| format!("there is no host operation `{name}`"))?;
        Ok(op.of(parts("args")?.iter().map(|one| self.arg(one)).collect::<Read<Vec<_>>>()?))
    }
}

fn told(error: impl Display) -> String {
    error.to_string()
}

fn text<'v>(from: &'v Value, what: &str) -> Read<&'v str> {
    from.as_str().ok_or_else(|| format!("{what} is {from}, not text"))
}

/// The items of a list; none where there is no list.
fn list(from: &Value) -> Read<&[Value]> {
    match from {
        Value::Null => Ok(&[]),
        Value::Array(items) => Ok(items),
        other => Err(format!("{other} stands where a list is expected")),
    }
}

fn float(from: &Value) -> Read<f64> {
    text(from, "`float`")?.parse().map_err(told)
}

fn ty(node: &Value) -> Read<Type> {
    match &node["type"] {
        Value::Null => Ok(Type::Unknown),
        known => text(known, "`type`")?.parse().map_err(told),
    }
}

fn origin(from: &Value) -> Read<Origin> {
    let mut origin = Origin::default();
    for place in list(&from["places"])? {
        let line = place[1].as_u64().and_then(|line| usize::try_from(line).ok());
        let line = line.ok_or_else(|| format!("the line of a place is {}", place[1]))?;
        origin.places.push(Place { file: text(&place[0], "the file of a place")?.to_owned(), line });
    }
    for label in list(&from["labels"])? {
        origin.labels.push(text(label, "a label")?.to_owned());
    }
    for module in list(&from["modules"])? {
        let [path, ty] = [0, 1].map(|at| text(&module[at], "a module's path or type"));
        origin.nn_module_stack.push(ModuleScope { path: path?.to_owned(), ty: ty?.to_owned() });
    }
    for pass in list(&from["passes"])? {
        origin.add_pass(text(pass, "a pass")?);
    }
    Ok(origin)
}

fn meta(from: &Value) -> Read<Meta> {
    let mut meta = Meta::default();
    for (key, value) in from.as_object().into_iter().flatten() {
        meta.insert(key, note(value)?);
    }
    Ok(meta)
}

fn note(from: &Value) -> Read<MetaValue> {
    Ok(match from {
        Value::Bool(value) => (*value).into(),
        Value::String(value) => value.clone().into(),
        Value::Array(items) => MetaValue::List(items.iter().map(note).collect::<Read<_>>()?),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(value), _) => value.into(),
            (None, Some(value)) => value.into(),
            _ => return Err(format!("the note {number} is no number that it can hold")),
        },
        other => match other.get("float") {
            Some(value) => float(value)?.into(),
            None => return Err(format!("{other} is no value of a note")),
        },
    })
}
