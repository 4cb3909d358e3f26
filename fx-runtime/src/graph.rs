//! Graphs: what a live model computes, to be read, edited, drawn and kept.
//!
//! `net.graph()?` and [`GraphModule::graph`](crate::GraphModule::graph) yield a [`Graph`]: nodes in order, each with an
//! [`Op`], [`Arg`]s, a [`Type`], an [`Origin`] (source lines, modules, passes) and the [`Meta`] that users note on it. Words
//! are torch.fx's where it has one.
//!
//! | to | there is |
//! |---|---|
//! | find nodes | [`Graph::find_nodes`], [`Graph::nodes`], [`Graph::users`], [`Graph::next`], [`Graph::prev`] |
//! | make nodes | [`Graph::inserting_before`], [`Graph::inserting_after`], which yield a [`Cursor`] |
//! | change them | [`Graph::update_arg`], [`Graph::insert_arg`], [`Graph::update_kwarg`], [`Graph::try_replace_all_uses_with`] |
//! | move and erase them | [`Graph::prepend`], [`Graph::append`], [`Graph::erase_node`] |
//! | copy | `clone`, [`Graph::deep_copy`], [`Cursor::node_copy`], [`Graph::graph_copy`] |
//! | check | [`Graph::lint`], [`GraphModule::lint`](crate::GraphModule::lint) |
//! | print | `{:#}` and [`Graph::listing`] in torch.fx's grammar, [`Graph::print_tabular`] |
//! | draw | [`Graph::to_svg`], [`Graph::to_dot`], [`Graph::to_mermaid`] |
//! | keep | `{}`, a text that [`str::parse`] reads back; [`to_json`], [`from_json`] |
//!
//! What a user may get wrong is an [`EditError`]: a node in use is not erased, an erased node or one of another graph is not
//! edited, and no node is made to read what is computed after it.
//!
//! ```
//! use fx_runtime::graph::Graph;
//!
//! let mut graph: Graph = "graph net(x: tensor, y: tensor) { %add = add(x, y) : tensor ; yield %add }".parse()?;
//! for add in graph.find_nodes("call_function", Some("operator.add")) {
//!     let args = graph.node(add).args.clone();
//!     let mul = graph.inserting_after(add)?.call("mul", args)?;
//!     graph.try_replace_all_uses_with(add, mul)?;
//!     graph.erase_node(add)?;
//! }
//! let lines = [
//!     "graph():",
//!     "    %x : torch.Tensor [num_users=1] = placeholder[target=x]",
//!     "    %y : torch.Tensor [num_users=1] = placeholder[target=y]",
//!     "    %mul : [num_users=1] = call_function[target=operator.mul](args = (%x, %y), kwargs = {})",
//!     "    return mul",
//! ];
//! assert_eq!(format!("{graph:#}"), lines.join("\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # JSON
//!
//! [`to_json`] writes an object, version 1 of the format; [`from_json`] refuses every other version by name. Nodes are named
//! by their names, which are unique in a graph.
//!
//! ```text
//! graph  = { "format": "fx-graph", "version": 1, "name": string, "body": region }
//! region = { "params": [ node ], "nodes": [ node ] }             the last of the nodes ends the region
//! node   = { "name": string, "opcode": string, "target": string, as torch.fx has them, for readers: not read back
//!            "op": string,                                       as in the text form: "relu", "call_module[Conv2D]"
//!            "args": [ arg ], "kwargs": [ [string, arg] ], "type": string, as in the text form: "f32[1, 3]"
//!            "origin": origin, "meta": { string: note },         left out where empty, as kwargs, type, and those below
//!            "regions": [ region ], "patterns": [ string ] }     of control flow; the patterns of a `match`
//! arg    = null | true | false | integer | number with a fraction | string | [ arg ]
//!        | { "node": name } | { "float": "inf" | "-inf" | "nan" } | { "path": string }
//!        | { "host": string, "words": [ string ], "args": [ arg ] }
//! origin = { "places": [ [file, line] ], "labels": [ string ], "modules": [ [path, type] ], "passes": [ string ] }
//! note   = true | false | integer | number with a fraction | string | [ note ] | { "float": .. }
//! ```

mod read;
mod write;

#[doc(inline)]
pub use fx_ir::*;
pub use read::from_json;
pub use write::to_json;

/// What a file of this format says that it is.
const FORMAT: &str = "fx-graph";

/// The version that is written, and the only one that is read.
const VERSION: u64 = 1;

#[cfg(test)]
mod tests;
