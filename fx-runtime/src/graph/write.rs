//! A graph as JSON.

use fx_ir::{Arg, Graph, Meta, MetaValue, NodeId, Op, Origin, RegionId, Type};
use serde_json::{Map, Value, json};

use super::{FORMAT, VERSION};

/// The graph as JSON, in lines; [the module](super) describes the format.
///
/// ```
/// use fx_runtime::graph::{Graph, from_json, to_json};
///
/// let graph: Graph = "graph net(x: f32[2]) { %y = relu(x) : f32[2] ; yield %y }".parse()?;
/// assert_eq!(from_json(&to_json(&graph))?.to_string(), graph.to_string());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn to_json(graph: &Graph) -> String {
    let whole = json!({
        "format": FORMAT,
        "version": VERSION,
        "name": graph.name,
        "body": region(graph, graph.body()),
    });
    format!("{whole:#}")
}

fn region(graph: &Graph, id: RegionId) -> Value {
    let nodes = |ids: &[NodeId]| ids.iter().map(|&id| node(graph, id)).collect::<Vec<_>>();
    json!({ "params": nodes(&graph.region(id).params), "nodes": nodes(&graph.region(id).nodes) })
}

fn node(graph: &Graph, id: NodeId) -> Value {
    let node = graph.node(id);
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| out.insert(key.to_owned(), value);
    put("name", json!(node.name));
    put("opcode", json!(node.op.opcode()));
    put("target", json!(graph.target(id)));
    put("op", json!(node.op_text()));
    put("args", node.args.iter().map(|one| arg(graph, one)).collect());
    if !node.kwargs.is_empty() {
        put("kwargs", node.kwargs.iter().map(|(key, one)| json!([key, arg(graph, one)])).collect());
    }
    if node.ty != Type::Unknown {
        put("type", json!(node.ty.to_string()));
    }
    if node.origin != Origin::default() {
        put("origin", origin(&node.origin));
    }
    if !node.meta.is_empty() {
        put("meta", notes(&node.meta));
    }
    if !node.regions.is_empty() {
        put("regions", node.regions.iter().map(|&inner| region(graph, inner)).collect());
    }
    if let Op::Match(patterns) = &node.op {
        put("patterns", patterns.iter().map(|pattern| json!(pattern.to_string())).collect());
    }
    Value::Object(out)
}

fn arg(graph: &Graph, one: &Arg) -> Value {
    match one {
        Arg::Node(id) => json!({ "node": graph.node(*id).name }),
        Arg::Int(value) => json!(value),
        Arg::Float(value) => float(*value),
        Arg::Bool(value) => json!(value),
        Arg::Str(value) => json!(value),
        Arg::None => Value::Null,
        Arg::Path(path) => json!({ "path": path }),
        Arg::List(items) => items.iter().map(|item| arg(graph, item)).collect(),
        Arg::Expr(expr) => {
            let args: Vec<Value> = expr.args.iter().map(|item| arg(graph, item)).collect();
            json!({ "host": expr.op.name(), "words": expr.op.words(), "args": args })
        }
    }
}

/// JSON has no numbers that are not finite.
fn float(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { json!({ "float": value.to_string().to_lowercase() }) }
}

fn origin(origin: &Origin) -> Value {
    let places: Vec<Value> = origin.places.iter().map(|place| json!([place.file, place.line])).collect();
    let modules: Vec<Value> = origin.nn_module_stack.iter().map(|module| json!([module.path, module.ty])).collect();
    json!({ "places": places, "labels": origin.labels, "modules": modules, "passes": origin.passes })
}

fn notes(meta: &Meta) -> Value {
    fn value(note: &MetaValue) -> Value {
        match note {
            MetaValue::Bool(value) => json!(value),
            MetaValue::Int(value) => json!(value),
            MetaValue::Float(value) => float(*value),
            MetaValue::Str(value) => json!(value),
            MetaValue::List(items) => items.iter().map(value).collect(),
        }
    }
    meta.iter().map(|(key, note)| (key.to_owned(), value(note))).collect::<Map<_, _>>().into()
}
