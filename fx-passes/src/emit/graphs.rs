//! A forward that can be recorded as a CUDA graph says so first thing, and `warm_up` records it before it is needed.
//!
//! Recorded work is repeated, the Rust around it is not. So only a forward whose inputs and outputs are tensors, and
//! which writes to nothing, draws nothing, waits for nothing and does nothing besides, is recorded.

use fx_front::{index::Ty, trace::Param};
use fx_ir::catalog::{self, Flags};
use fx_ir::{Binding, Bindings, Effect, HostOp, NodeId, Op, ops};

use super::{Emitter, labels, signature::param_name, value::Value};

/// What an input is to a recorded forward.
pub(super) enum Input {
    Tensor,
    Optional,
    /// A parameter of one value, which is handed on.
    Fixed,
}

impl Emitter<'_> {
    /// The lines that a forward begins with which may be recorded.
    pub(super) fn recording(&self) -> String {
        let call = |inputs: Vec<Input>| {
            format!("if let Some(graphs) = self.frame.graphs() {{ {} }}", self.recorded_call(&inputs))
        };
        self.recordable().map(call).unwrap_or_default()
    }

    /// Why the forward is never recorded, if that is so.
    pub(super) fn unrecorded(&self) -> Option<String> {
        self.recordable().err()
    }

    fn recorded_call(&self, inputs: &[Input]) -> String {
        let (mut lent, mut handed) = (Vec::new(), Vec::new());
        for (param, input) in self.traced.signature.params.iter().zip(inputs) {
            let (name, position) = (param_name(param), lent.len());
            match input {
                Input::Fixed => handed.push(name),
                Input::Tensor if param.borrows => {
                    lent.push(format!("Some(::std::borrow::Borrow::borrow(&{name}))"));
                    handed.push(format!("recorded.tensor({position})?"));
                }
                Input::Tensor if param.is_ref => {
                    lent.push(format!("Some({name})"));
                    handed.push(format!("recorded.tensor({position})?"));
                }
                Input::Tensor => {
                    lent.push(format!("Some(&{name})"));
                    handed.push(format!("recorded.tensor({position})?.shallow_clone()"));
                }
                Input::Optional => {
                    lent.push(name);
                    handed.push(format!("recorded.optional({position})"));
                }
            }
        }
        let name = &self.traced.signature.name;
        let run = self.field.as_ref().map_or_else(|| "run(".to_owned(), |_| format!("run_entry({name:?}, "));
        format!("return graphs.{run}&[{}], |recorded| self.try_{name}({}));", lent.join(", "), handed.join(", "))
    }

    /// The method that runs the frozen type on examples; none where there is nothing to make them of.
    pub(super) fn warm_up(&self) -> String {
        let signature = &self.traced.signature;
        let method = if self.is_first() { "warm_up".to_owned() } else { format!("warm_up_{}", signature.name) };
        let Some(inputs) = self.inputs().filter(|_| !self.entries.contains(&method)) else { return String::new() };
        let (mut shapes, mut examples, mut handed) = (Vec::new(), Vec::new(), Vec::new());
        for (param, input) in signature.params.iter().zip(&inputs) {
            let name = param_name(param);
            match input {
                Input::Fixed => {
                    handed.extend(param.fixed.as_ref().map(|known| super::host::literal(known, &|_| Value::owned(""))));
                }
                Input::Optional => handed.push("None".to_owned()),
                Input::Tensor => {
                    let (example, given) = example(param, &name);
                    examples.push(example);
                    handed.push(given);
                    shapes.push(name);
                }
            }
        }
        let (pattern, item) = match shapes.as_slice() {
            [] => return String::new(),
            [one] => (one.clone(), "S".to_owned()),
            many => (format!("[{}]", many.join(", ")), format!("[S; {}]", many.len())),
        };
        let (name, frozen, receiver) = (&signature.name, &self.frozen, self.receiver());
        let report = match self.unrecorded() {
            None => "self.frame.graph_report()".to_owned(),
            Some(reason) => format!("::fx_runtime::GraphReport::never({reason:?})"),
        };
        let reset = if self.writes_model() { "self.frame.reset_state()?;" } else { "" };
        format!(
            "::fx_runtime::warm_up!({frozen}::{method}({receiver}) calls \"try_{name}\", {pattern} in {item}, \
             {{ {} }}, self.try_{name}({}), {{ {reset} }} {report}.with_kernels_of(self));\n",
            examples.join(" "),
            handed.join(", ")
        )
    }

    /// What each parameter is; none where one is neither a tensor nor fixed.
    fn inputs(&self) -> Option<Vec<Input>> {
        self.traced.signature.params.iter().map(input).collect()
    }

    /// What each parameter is, or why the forward cannot be recorded.
    pub(super) fn recordable(&self) -> Result<Vec<Input>, String> {
        let signature = &self.traced.signature;
        if signature.is_mut {
            return Err(format!("`{}` takes `&mut self`, and what it writes is not repeated with it", signature.name));
        }
        if let Some(param) = signature.params.iter().find(|param| input(param).is_none()) {
            return Err(format!("`{}: {}` is not a tensor", param.name, param.written));
        }
        if let Some(param) = signature.params.iter().find(|param| param.is_mut()) {
            return Err(format!("`{}: {}` may be written to", param.name, param.written));
        }
        let output = &signature.output;
        if !is_recordable(&output.ty) || output.written.contains('[') {
            return Err(format!("the result, `{}`, is not of tensors alone", output.written));
        }
        let bindings = Bindings::of(self.inlined, signature.has_receiver);
        let is_called = |id: &NodeId| bindings.get(*id) == Binding::Call;
        for id in self.inlined.nodes().into_iter().filter(is_called) {
            let op = &self.inlined.node(id).op;
            let is_not = match op.effect() {
                Effect::Io | Effect::State | Effect::InPlace(_) => "is more than a computation",
                // Attention draws where it drops, which is a call of the user's own.
                Effect::Random if *op != Op::Call(ops::ATTENTION) => "draws random numbers",
                _ if waits(op) => "waits for the device, to read what it has computed",
                Effect::Random | Effect::Pure => continue,
            };
            return Err(format!("{} {is_not}", self.described(id)));
        }
        Ok(self.inputs().unwrap_or_default())
    }

    fn described(&self, id: NodeId) -> String {
        let node = self.inlined.node(id);
        let label = labels::label(node);
        match node.origin.lines() {
            Some(lines) => format!("`{label}` ({lines})"),
            None => format!("`{label}`"),
        }
    }
}

/// Returns whether an op's result, or its shape, is decided by the values in a tensor.
fn waits(op: &Op) -> bool {
    let entry = match (op, op.host()) {
        (Op::Call(id), _) => id.entry(),
        // A method that yields a number.
        (_, Some(HostOp::Method(name))) => catalog::lookup(name),
        _ => None,
    };
    entry.is_some_and(|entry| entry.flags.has(Flags::DATA_DEPENDENT))
}

/// The line that makes an example of a tensor, and how the call is given it.
fn example(param: &Param, name: &str) -> (String, String) {
    let mutable = if param.is_mut() { "mut " } else { "" };
    let given =
        if param.is_ref || param.borrows { format!("&{mutable}{name}") } else { format!("{name}.shallow_clone()") };
    (format!("let {mutable}{name} = self.frame.example({name}.clone())?;"), given)
}

fn input(param: &Param) -> Option<Input> {
    match &param.ty {
        _ if param.fixed.is_some() => Some(Input::Fixed),
        Ty::Tensor => (!param.is_boxed).then_some(Input::Tensor),
        Ty::Option(inner) if **inner == Ty::Tensor && param.written.replace(' ', "").contains("Option<&") => {
            (!param.is_ref).then_some(Input::Optional)
        }
        _ => None,
    }
}

/// Returns whether a result is tensors alone.
pub(super) fn is_recordable(ty: &Ty) -> bool {
    match ty {
        Ty::Tensor => true,
        Ty::Option(inner) | Ty::List(inner) => is_recordable(inner),
        Ty::Tuple(parts) => (1..=6).contains(&parts.len()) && parts.iter().all(is_recordable),
        _ => false,
    }
}
