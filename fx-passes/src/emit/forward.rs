//! `forward` and `try_forward` of the frozen type, with the user's own parameters.

use fx_front::{
    index::{Resolved, Ty},
    trace::Param,
};

use fx_ir::{Arg, Binding, Graph, HostOp, NodeId, Op, scalar};
use fx_rewrite::analysis::is_brought;
use quote::ToTokens;

use super::QUIET;
use super::{
    Emitter,
    host::literal,
    memory::Peak,
    signature::{param_name, parameter},
    value::Value,
    writer::{Phase, Writer},
};

impl Emitter<'_> {
    /// The impl of the frozen type, and how many tensors a call keeps.
    pub(super) fn forward(&self) -> (String, Peak) {
        let signature = &self.traced.signature;
        let (lines, result, peak) = self.statements();
        let params: Vec<String> = signature.params.iter().map(parameter).collect();
        let names: Vec<String> = signature.params.iter().map(param_name).collect();
        let (params, names) = (params.join(", "), names.join(", "));
        let frame = if self.reads_frame() { "let frame = &self.frame;" } else { "" };
        let (generics, bounds) = self.generics();
        let (name, output) = (&signature.name, &signature.output.written);
        let (door, door_type) = self.door(&names);
        let frozen = &self.frozen;
        let receiver = self.receiver();
        let enter = if self.runs_own_code() { "enter_with_autograd" } else { "enter" };
        let recording = self.recording();
        let slicing = self.slicing();
        let apart = match slicing.as_str() {
            "" => "",
            _ => "///\n/// Samples do not meet in it: a large batch goes through in pieces.",
        };
        let alive = match peak.tensors {
            0 => String::new(),
            _ => format!("///\n/// Beside inputs and weights, {peak}."),
        };
        let alias = self.alias();
        let source = format!(
            "{QUIET}
            impl {frozen} {{
                /// The frozen form of the model's `{name}`; `try_{name}` is the door that returns errors.
                #[track_caller]
                #[inline]
                pub fn {name}{generics}({receiver}, {params}) -> {door_type} {bounds} {{ {door} }}

                /// The frozen form of the model's `{name}`.
                {alive}
                {apart}
                ///
                /// # Errors
                /// Names the node and the source line of what failed, and what was expected there.
                #[inline]
                pub fn try_{name}{generics}({receiver}, {params}) -> ::fx_runtime::Result<{output}> {bounds} {{
                    {alias}
                    use ::fx_runtime::frozen::prelude::*;
                    {recording}
                    {slicing}
                    let scope = self.frame.{enter}();
                    {frame}
                    {lines}
                    {result}
                }}
            }}
            {}",
            self.module_impl(&params, &names)
        );
        (source, peak)
    }

    /// The parameters of the function in brackets, and its `where`.
    fn generics(&self) -> (String, String) {
        let generics = &self.index.fns[self.traced.item].sig.generics;
        let bounds = generics.where_clause.to_token_stream().to_string();
        let params = &generics.params;
        (if params.is_empty() { String::new() } else { format!("<{}>", params.to_token_stream()) }, bounds)
    }

    /// Whether a call runs code of the user's as it is written, which may turn gradients on for itself.
    fn runs_own_code(&self) -> bool {
        let is_own = |op: &HostOp| matches!(op, HostOp::Call(_) | HostOp::CallMethod(_) | HostOp::CallPointer);
        let mut nodes = self.graph.nodes().into_iter().map(|id| self.graph.node(id));
        nodes.any(|node| match &node.op {
            Op::Rust(_) => true,
            Op::CallModule(kind) if kind.is_opaque() => true,
            _ => node.does_on_host(&is_own),
        })
    }

    /// Whether a call packs or prepares something, which takes the frame.
    fn reads_frame(&self) -> bool {
        let is_printed = |id| self.bindings.get(id) == Binding::Call || self.plan.repeated.contains(&id);
        let mut printed = self.graph.nodes().into_iter().filter(|&id| is_printed(id));
        printed.any(|id| self.graph.node(id).does_on_host(&|op| *op == HostOp::Frame))
    }

    /// What a call does, its result, and how many tensors it keeps.
    fn statements(&self) -> (String, String, Peak) {
        let signature = &self.traced.signature;
        let mut writer = Writer::new(self, Phase::Call);
        let body = self.graph.body();
        writer.holders.insert(body, self.holder());
        let inputs = self.graph.region(body).params.iter().skip(usize::from(signature.has_receiver));
        let free = signature.params.iter().filter(|param| param.fixed.is_none());
        for (param, &id) in free.zip(inputs) {
            input(&mut writer, param, id, &self.traced.graph);
        }
        for param in signature.params.iter().filter(|param| param.fixed.is_some()) {
            writer.line(border(param));
        }
        if self.has_forms() {
            writer.names.take("kernels");
            writer.line(self.form());
        }
        writer.region(body);
        let result = self.result(&mut writer);
        (self.short(&writer.lines.join("\n")), result, writer.peak)
    }

    fn result(&self, writer: &mut Writer<'_, '_>) -> String {
        let body = self.graph.body();
        let Some(end) = self.graph.yield_of(body) else { return "Ok(())".to_owned() };
        let args = self.graph.node(end).args.clone();
        let parts: Vec<String> = args.iter().map(|arg| self.output(writer, arg, end)).collect();
        match parts.as_slice() {
            [] => "Ok(())".to_owned(),
            [one] => match one.strip_suffix('?') {
                Some(result) if one.starts_with("scope.output") => result.to_owned(),
                _ => format!("Ok({one})"),
            },
            many => format!("Ok(({}))", many.join(", ")),
        }
    }

    /// A part of the result, in the layout that the caller expects; a list of parts is a tuple.
    fn output(&self, writer: &mut Writer<'_, '_>, arg: &Arg, end: NodeId) -> String {
        if let Arg::List(parts) = arg {
            let parts: Vec<String> = parts.iter().map(|part| self.output(writer, part, end)).collect();
            return format!("({},)", parts.join(", "));
        }
        let given = writer.give_arg(arg, end);
        match arg.node().filter(|&id| self.graph.node(id).ty.is_tensor()) {
            Some(id) if self.is_made_once(id) => format!("scope.output({given}.copy())?"),
            Some(_) => format!("scope.output({given})?"),
            None => given,
        }
    }

    /// Whether the value is one that `freeze` made, where the model makes a new one for every caller.
    fn is_made_once(&self, id: NodeId) -> bool {
        let is_new = matches!(&self.graph.node(id).op, Op::Call(op) if !op.is_view());
        is_new && self.plan.stored.contains_key(&id)
    }

    /// The body and the return type of the door without `try_`.
    fn door(&self, names: &str) -> (String, String) {
        let signature = &self.traced.signature;
        let call = format!("self.try_{}({names})", signature.name);
        if !signature.output.is_result {
            return (format!("::fx_runtime::frozen::or_panic({call})"), signature.output.written.clone());
        }
        if self.has_common_error() {
            return (format!("Ok({call}?)"), signature.output.whole.clone());
        }
        (call, format!("::std::result::Result<{}, ::fx_runtime::Error>", signature.output.written))
    }

    /// Whether the user's error is one that ours turns into by itself.
    fn has_common_error(&self) -> bool {
        let whole = self.traced.signature.output.whole.replace(' ', "");
        let alias = whole.split('<').next().unwrap_or_default();
        let full = match self.index.resolve(self.home, alias) {
            Resolved::External(full) => full,
            Resolved::Item(..) => String::new(),
        };
        let ours = ["anyhow::Result", "tch::Result", "eyre::Result", "fx_runtime::Result"];
        !self.traced.signature.output.names_error && ours.iter().any(|known| full.trim_start_matches("::") == *known)
            || ["TchError", "Box<dyn", "anyhow::Error", "fx_runtime::Error"].iter().any(|known| whole.contains(known))
    }

    /// A frozen `impl Module for Net` is a module too, unless that is another trait of this name.
    fn module_impl(&self, params: &str, names: &str) -> String {
        let signature = &self.traced.signature;
        let (name, takes_tensor) = (&signature.name, |param: &Param| param.ty == Ty::Tensor && param.is_ref);
        let is_one = !signature.is_mut
            && !signature.output.is_result
            && signature.output.ty == Ty::Tensor
            && signature.params.first().is_some_and(takes_tensor);
        match self.index.fns[self.traced.item].of_trait.as_deref().filter(|_| is_one) {
            Some(of @ ("Module" | "ModuleT")) => format!(
                "{QUIET}\nimpl ::fx_runtime::nn::{of} for {} {{ #[inline] fn {name}(&self, {params}) -> ::fx_runtime::Tensor {{ {}::{name}(self, {names}) }} }}\n",
                self.frozen, self.frozen
            ),
            _ => String::new(),
        }
    }
}

/// An input is checked at the border, whatever is done with it later; but for its dtype and device where the user's code
/// brings it to those that the model has.
fn input(writer: &mut Writer<'_, '_>, param: &Param, id: NodeId, written: &Graph) {
    let (label, name) = (&param.name, &param_name(param));
    writer.names.take(name);
    match &param.ty {
        // The opaque code may put another tensor there.
        Ty::Tensor if !param.is_mut() => {
            let lent = match (param.borrows, param.is_ref) {
                (true, _) => format!("::std::borrow::Borrow::borrow(&{name})"),
                (_, true) => name.clone(),
                (_, false) => format!("&{name}"),
            };
            let door = if is_brought(written, id) { "input_of_any_type" } else { "input" };
            writer.line(format!("let {name} = scope.{door}({label:?}, {lent})?;"));
            if writer.is_hidden_by_code(name) {
                let other = writer.names.fresh(name);
                writer.line(format!("let {other} = &{name};"));
                writer.set(id, Value::variable(other, true));
            } else {
                writer.set(id, Value::owned(name.clone()));
            }
        }
        _ => {
            let is_copied = param.is_ref && !param.is_mut() && is_copy(&param.ty);
            let star = if is_copied { "*" } else { "" };
            let is_hidden = writer.is_hidden_by_code(name);
            let is_mut = is_hidden || param.may_borrow_state();
            let mutable = if is_mut { "mut " } else { "" };
            let variable = if is_hidden { writer.names.fresh(name) } else { name.clone() };
            if is_mut || is_copied {
                writer.line(format!("let {mutable}{variable} = {star}{name};"));
            }
            writer.set(id, Value::variable(variable, param.is_ref && !is_copied));
        }
    }
}

/// Whether it is plain data that is copied.
fn is_copy(ty: &Ty) -> bool {
    match ty {
        Ty::Rust(name) => scalar::is_scalar(name) || scalar::is_of_tch(name),
        Ty::Tuple(parts) => parts.iter().all(is_copy),
        Ty::Option(inner) => is_copy(inner),
        _ => false,
    }
}

/// The check that a parameter has the value that the frozen type knows it to have.
fn border(param: &Param) -> String {
    let (label, name) = (&param.name, param_name(param));
    match &param.fixed {
        Some(Arg::Bool(false)) if param.mode.is_some() => format!("scope.inference_only({label:?}, {name})?;"),
        Some(Arg::None) => format!("scope.specialized({label:?}, {name}.is_none(), \"None\")?;"),
        Some(known) => {
            let known = literal(known, &|_| Value::owned(""));
            let value = if param.is_ref && !known.starts_with('"') { format!("*{name}") } else { name };
            format!("scope.specialized({label:?}, {value} == {known}, {known:?})?;")
        }
        None => String::new(),
    }
}
