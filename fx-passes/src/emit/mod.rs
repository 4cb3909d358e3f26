//! Graph to Rust: the frozen type, the `freeze` that fills it and the `forward` that runs it.
//!
//! A graph is printed three times, each time by one walk over its regions: what is known at freeze time, what is known at
//! a call, and the code that builds the instance graph ([`instance`]). What the second reads of the first becomes a field
//! ([`plan`]). Control flow over the live model (a loop over its layers, a `match` on an `Option` of it) is decided at freeze
//! time and leaves a `Vec` or an enum of such fields behind.

mod body;
mod call;
mod control;
mod emitter;
mod entries;
mod form;
mod forward;
mod freeze;
mod graphs;
mod group;
mod holder;
mod inline;
mod instance;
mod labels;
mod liveness;
mod locals;
mod memory;
mod parts;
mod pattern;
mod plan;
mod profile;
mod signature;
mod slices;
mod state;
mod subject;
mod template;
mod type_names;
mod types;
mod whole;
mod writer;

pub use emitter::Item;
pub use instance::{ModeUses, mode_uses};
pub use memory::Peak;

use std::collections::BTreeSet;

use fx_front::{
    index::{Index, Prelude, spelled_out},
    trace::Traced,
};
use fx_print::{host, names, value};

use self::{emitter::Emitter, entries::Whole};

/// In front of every generated item: what a user's lints think of it is not the user's concern.
/// Nor is what rustc says of numbers that the user has in a variable or a list and generated code has written out.
const QUIET: &str = "#[allow(warnings, clippy::all, clippy::pedantic)]
#[allow(arithmetic_overflow, overflowing_literals, unconditional_panic)]";

/// The generated source of one frozen type.
#[derive(Debug)]
pub struct Frozen {
    /// The source; it includes the file of the instance graph.
    pub source: String,
    /// What is known of each of its entries.
    pub entries: Vec<Told>,
}

/// What is known of one entry of a frozen type.
#[derive(Debug)]
pub struct Told {
    /// Why it is never recorded as a CUDA graph, where that is so.
    pub unrecorded: Option<String>,
    /// The most tensors that a call has alive at once.
    pub peak: Peak,
}

/// Functions of parts, each by the path of its type and its name.
pub type PartNames = BTreeSet<(String, String)>;

/// Prints the frozen type of the items of one type; `Err` says what could not be printed, or holds source that does not
/// parse, which is our bug.
///
/// `graph_file` is what the file of [`instance_graphs`] will be called below `OUT_DIR/fx`; `shadowed` are the names of the
/// prelude of which the module of the items has others.
pub fn frozen(index: &Index, items: &[Item<'_>], graph_file: &str, shadowed: &[Prelude]) -> Result<Frozen, String> {
    let emitters = Emitter::all(index, items);
    let path = format!("/fx/{graph_file}");
    let (forwards, peaks): (Vec<String>, Vec<Peak>) = emitters.iter().map(Emitter::forward).unzip();
    let each = |print: &dyn Fn(&Emitter<'_>) -> String| emitters.iter().map(print).collect::<String>();
    let whole = Whole(&emitters);
    let rest = format!("::core::include!(::core::concat!(::core::env!(\"OUT_DIR\"), {path:?}));\n");
    let types = [whole.types(), each(&|one| one.types())].concat();
    let groups = [each(&|one| one.groups()), each(&|one| one.warm_up())].concat();
    let frozen = [types, whole.freeze(), forwards.concat(), groups, whole.profile(), whole.state(), rest].concat();
    emitters.iter().try_for_each(Emitter::check)?;
    let told = emitters.iter().zip(peaks).map(|(emitter, peak)| Told { unrecorded: emitter.unrecorded(), peak });
    Ok(Frozen { source: pretty_beside(&frozen, shadowed)?, entries: told.collect() })
}

/// The code that builds the instance graphs of the items of one type, from the graphs as traced; [`pretty`] brings it
/// into form. With `modes`, the graphs are those of both modes. `Err` says what could not be printed.
pub fn instance_graphs(
    index: &Index,
    items: &[&Traced],
    parts: &PartNames,
    modes: Option<&ModeUses>,
) -> Result<String, String> {
    let graphs: Vec<Item> =
        items.iter().map(|&traced| Item { traced, graph: &traced.graph, inlined: &traced.graph }).collect();
    let emitters = Emitter::all(index, &graphs);
    let source = emitters.iter().map(|one| instance::emit(one, parts, modes)).collect();
    emitters.iter().try_for_each(Emitter::check).map(|()| source)
}

/// The same in training, of the items that have a mode; parts are listed by none but themselves.
pub fn training_graphs(index: &Index, items: &[&Traced]) -> Result<String, String> {
    let graphs: Vec<Item> =
        items.iter().map(|&traced| Item { traced, graph: &traced.graph, inlined: &traced.graph }).collect();
    let emitters = Emitter::all(index, &graphs);
    let source = emitters.iter().map(instance::emit_in_training).collect();
    emitters.iter().try_for_each(Emitter::check).map(|()| source)
}

/// Source that the tracer wrote itself, pretty-printed; `Err` holds source that does not parse, which is our bug.
pub fn source(tokens: &dyn quote::ToTokens) -> Result<String, String> {
    pretty(&tokens.to_token_stream().to_string())
}

/// Generated source as [`pretty`] writes it, for a module where these names of the prelude mean something else.
pub fn pretty_beside(source: &str, shadowed: &[Prelude]) -> Result<String, String> {
    pretty(&spelled_out(source, shadowed))
}

/// Generated source as it is written to a file; `Err` holds source that does not parse, which is our bug.
pub fn pretty(source: &str) -> Result<String, String> {
    match syn::parse_file(source) {
        Ok(file) => Ok(format!("// Generated by fx; do not edit.\n{}", prettyplease::unparse(&file))),
        Err(error) => Err(format!("{error}\n{source}")),
    }
}
