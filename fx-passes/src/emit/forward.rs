//! `forward` and `try_forward` of the frozen type, with the user's own parameters.

use fx_front::{
    index::{Resolved, Ty},
    trace::Param,
};

use super::{
    Emitter,
    body::{Phase, Writer, short},
    value::Value,
};

impl Emitter<'_> {
    /// The impl of the frozen type.
    pub(super) fn forward(&self) -> String {
        let signature = &self.traced.signature;
        let mut writer = Writer::new(self, Phase::Call);
        let body = self.graph.body();
        writer.holders.insert(body, "self".to_owned());
        let inputs = self.graph.region(body).params.iter().skip(usize::from(signature.has_receiver));
        let free = signature.params.iter().filter(|param| param.fixed.is_none());
        for (param, &id) in free.zip(inputs) {
            self.input(&mut writer, param, id);
        }
        for param in signature.params.iter().filter(|param| param.fixed.is_some()) {
            writer.line(format!("scope.inference_only({:?}, {})?;", param.name, param.name));
        }
        writer.region(body);
        let result = self.result(&mut writer);
        let lines = short(&writer.lines);
        let params: Vec<String> = signature.params.iter().map(|param| format!("{}: {}", param.name, param.written)).collect();
        let names: Vec<&str> = signature.params.iter().map(|param| param.name.as_str()).collect();
        let (params, names) = (params.join(", "), names.join(", "));
        let (name, output) = (&signature.name, &signature.output.written);
        let (door, door_type) = self.door(&names);
        let frozen = &self.name;
        format!(
            "#[allow(unused, clippy::all, clippy::pedantic, private_interfaces)]
            impl {frozen} {{
                /// The frozen form of the model's `{name}`; `try_{name}` is the door that returns every error.
                #[track_caller]
                pub fn {name}(&self, {params}) -> {door_type} {{ {door} }}

                /// The frozen form of the model's `{name}`.
                ///
                /// # Errors
                /// Names the node and the source line of what failed, and what was expected there.
                pub fn try_{name}(&self, {params}) -> ::fx_runtime::Result<{output}> {{
                    use ::fx_runtime::frozen as fx;
                    use ::fx_runtime::frozen::prelude::*;
                    let scope = self.frame.enter();
                    {lines}
                    {result}
                }}
            }}
            {}",
            self.module_impl(&params, &names)
        )
    }

    /// An input is checked at the border, whatever is done with it later.
    fn input(&self, writer: &mut Writer<'_, '_>, param: &Param, id: fx_ir::NodeId) {
        let name = &param.name;
        writer.names.take(name);
        match &param.ty {
            Ty::Tensor => {
                let borrow = if param.is_ref { "" } else { "&" };
                writer.line(format!("let {name} = scope.input({name:?}, {borrow}{name})?;"));
                writer.set(id, Value::owned(name.clone()));
            }
            _ => writer.set(id, Value { text: name.clone(), is_ref: param.is_ref }),
        }
    }

    fn result(&self, writer: &mut Writer<'_, '_>) -> String {
        let body = self.graph.body();
        let Some(end) = self.graph.yield_of(body) else { return "Ok(())".to_owned() };
        let args = self.graph.node(end).args.clone();
        let parts: Vec<String> = args
            .iter()
            .map(|arg| {
                let given = writer.give_arg(arg, end);
                let tensor = arg.node().is_some_and(|id| self.graph.node(id).ty.is_tensor());
                if tensor { format!("scope.output({given})?") } else { given }
            })
            .collect();
        match parts.as_slice() {
            [] => "Ok(())".to_owned(),
            [one] => match one.strip_suffix('?') {
                Some(result) if one.starts_with("scope.output") => result.to_owned(),
                _ => format!("Ok({one})"),
            },
            many => format!("Ok(({}))", many.join(", ")),
        }
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

    /// Is the user's error one that ours turns into by itself?
    fn has_common_error(&self) -> bool {
        let whole = self.traced.signature.output.whole.replace(' ', "");
        let alias = whole.split('<').next().unwrap_or_default();
        let full = match self.index.resolve(self.home, alias) {
            Resolved::External(full) => full,
            Resolved::Item(..) => String::new(),
        };
        let ours = ["anyhow::Result", "tch::Result", "eyre::Result", "fx_runtime::Result"];
        ours.iter().any(|known| full.trim_start_matches("::") == *known)
            || ["TchError", "Box<dyn", "anyhow::Error", "fx_runtime::Error"].iter().any(|known| whole.contains(known))
    }

    /// A frozen `impl Module for Net` is a module too.
    fn module_impl(&self, params: &str, names: &str) -> String {
        let function = &self.index.fns[self.traced.item];
        let name = &self.traced.signature.name;
        match function.of_trait.as_deref() {
            Some(of @ ("Module" | "ModuleT")) => format!(
                "impl ::fx_runtime::nn::{of} for {} {{ fn {name}(&self, {params}) -> ::fx_runtime::Tensor {{ {}::{name}(self, {names}) }} }}\n",
                self.name, self.name
            ),
            _ => String::new(),
        }
    }
}
