//! The methods around the nodes: `graph()`, and the listing of a part for the graph of what holds it.

use fx_ir::Arg;

use super::{ModeUses, Walk};
use crate::emit::{Emitter, PartNames, QUIET, names::identifier};

/// `graph()` of the model, or `name_graph()` of a free function and of any entry but the first.
///
/// A model that is a part of others implements `Traced`, by which these list its nodes.
///
/// One that is listed for both modes does so too, and has `train_graph_module()` beside it.
pub(in crate::emit) fn emit(emitter: &Emitter<'_>, parts: &PartNames, modes: Option<&ModeUses>) -> String {
    let traced = emitter.traced;
    let (name, title) = (&traced.signature.name, &traced.graph.name);
    let Some(id) = traced.model else {
        let code = whole(emitter, parts, false, false);
        return functions(&format!("{}_graph", identifier(title)), None, &code);
    };
    let method = if emitter.is_first() { "graph".to_owned() } else { format!("{}_graph", identifier(name)) };
    let path = emitter.index.structs[id].path();
    let is_part = modes.is_some() || parts.contains(&(path, name.clone()));
    let (mut methods, mut listing, owner) = (String::new(), String::new(), emitter.owner());
    let is_taken = [&method, &format!("{method}_module")].into_iter().any(|name| emitter.entries.contains(name));
    if !is_taken {
        let code = whole(emitter, parts, is_part, false);
        methods = functions(&method, Some("self"), &code);
    }
    if modes.is_some() {
        methods += &in_training(emitter, parts, is_part);
    }
    if is_part {
        let mut walk = Walk::new(emitter, parts, modes);
        let inputs = walk.names_of_inputs();
        let given = walk.free_inputs().into_iter().zip(&inputs);
        let variables = given.filter(|((_, id), _)| emitter.graph.may_be_changed(*id));
        let variables: Vec<String> = variables.map(|(_, name)| format!("let {name} = t.variable(&{name});")).collect();
        let variables = variables.concat();
        let (lines, outputs) = walk.walked();
        let outputs = if let [one] = outputs.as_slice() {
            format!("{}.clone()", one.trim_start_matches('&'))
        } else {
            format!("Arg::list(&[{}])", outputs.join(", "))
        };
        listing = format!(
            "/// The nodes of the graph, also as a part of another.
            {QUIET}
            impl ::fx_runtime::instance::Traced for {owner} {{
                #[inline]
                fn list(&self, t: &mut ::fx_runtime::instance::Tracer, args: &[&::fx_runtime::instance::Arg])
                    -> ::fx_runtime::Result<::fx_runtime::instance::Arg> {{
                    {USES}
                    let [{}] = t.arguments(args)?;
                    {variables}
                    {lines}
                    Ok({outputs})
                }}
            }}\n",
            inputs.join(", ")
        );
    }
    let quantizable = if is_taken || !emitter.is_first() { String::new() } else { quantizable(&owner) };
    format!("impl {owner} {{ {methods} }}\n{listing}{quantizable}")
}

/// The impl by which quantization finds the graph.
fn quantizable(owner: &str) -> String {
    format!(
        "{QUIET} impl ::fx_runtime::quant::Quantizable for {owner} {{
            #[inline]
            fn quantizable_graph(&self) -> ::fx_runtime::Result<::fx_runtime::GraphModule> {{ self.graph_module() }}
        }}\n"
    )
}

/// `train_graph_module()` of a model whose entry has a mode: the graph of a call in training.
pub(in crate::emit) fn emit_in_training(emitter: &Emitter<'_>) -> String {
    let signature = &emitter.traced.signature;
    if !signature.params.iter().any(|param| param.mode.is_some() && param.fixed == Some(Arg::Bool(true))) {
        return String::new();
    }
    let function = in_training(emitter, &PartNames::new(), false);
    match emitter.traced.model {
        Some(_) if !function.is_empty() => format!("impl {} {{ {function} }}\n", emitter.owner()),
        _ => function,
    }
}

/// The function that yields the graph of a call in training; empty where the model has one of its name.
fn in_training(emitter: &Emitter<'_>, parts: &PartNames, is_part: bool) -> String {
    let signature = &emitter.traced.signature;
    let of_entry = |name: &str| format!("{}_train_graph_module", identifier(name));
    let (name, taken) = match emitter.traced.model {
        None => (of_entry(&emitter.traced.graph.name), ""),
        Some(_) if emitter.is_first() => ("train_graph_module".to_owned(), "&self"),
        Some(_) => (of_entry(&signature.name), "&self"),
    };
    if emitter.entries.contains(&name) {
        return String::new();
    }
    let code = whole(emitter, parts, is_part, is_part);
    format!(
        "/// The graph of a call in training, to be trained: code that asks for the mode has got `true` for an answer.
        #[inline] {QUIET} pub fn {name}({taken}) -> ::fx_runtime::Result<::fx_runtime::GraphModule> {{ {code} }}\n"
    )
}

/// The function that yields the graph, and the one that yields what runs as well.
fn functions(name: &str, receiver: Option<&str>, code: &str) -> String {
    let (taken, on) = receiver.map_or((String::new(), String::new()), |name| (format!("&{name}"), format!("{name}.")));
    format!(
        "/// The graph of the live object, flat, as torch.fx would show it: `print_tabular()` it, or print it.
        #[inline] {QUIET} pub fn {name}({taken}) -> ::fx_runtime::Result<::fx_runtime::Graph> {{
            {on}{name}_module().map(::fx_runtime::GraphModule::into_graph)
        }}
        /// The same with the modules and parameters that it names, which it shares: it can be run and edited.
        #[inline] {QUIET} pub fn {name}_module({taken}) -> ::fx_runtime::Result<::fx_runtime::GraphModule> {{ {code} }}\n"
    )
}

/// What the code of an instance graph is written with.
const USES: &str = "use ::fx_runtime::frozen::prelude::*;\nuse ::fx_runtime::instance::{Arg, AsTraced as _, Otherwise as _, Probe, node};\n";

/// The body of the function that builds the whole graph, by way of the model's listing if it has one, which asks the tracer
/// for the mode.
fn whole(emitter: &Emitter<'_>, parts: &PartNames, is_part: bool, training: bool) -> String {
    let title = &emitter.traced.graph.name;
    let is_module = |model: usize| emitter.index.structs[model].is_module;
    let tracer = match emitter.traced.model {
        Some(model) if is_module(model) => format!("of({title:?}, self)"),
        _ => format!("new({title:?})"),
    };
    let mode = if training { ".in_training()" } else { "" };
    let tracer = format!("::fx_runtime::instance::Tracer::{tracer}{mode}");
    let mut walk = Walk::new(emitter, parts, None);
    if !is_part {
        let inputs = walk.inputs();
        let (lines, outputs) = walk.walked();
        let outputs = outputs.join(", ");
        return format!("{USES}let mut t = {tracer};\n{inputs}{lines}\nt.finish(&[{outputs}])");
    }
    let count = emitter.graph.yield_of(emitter.graph.body()).map_or(0, |end| emitter.graph.node(end).args.len());
    format!("{tracer}.listed(self, &[{}], {count})", walk.kinds_of_inputs())
}
