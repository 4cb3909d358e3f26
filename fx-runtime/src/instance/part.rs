//! Parts of the model that list their own nodes, and the model as one of them.

use fx_ir::Arg;

use super::Tracer;
use crate::Error;
use crate::graph_module::GraphModule;

impl Tracer {
    /// The nodes that `list` adds for the part of the model that lies at `path`.
    ///
    /// # Errors
    /// Those of `list`.
    pub fn within(&mut self, path: &str, list: impl FnOnce(&mut Tracer) -> Result<Arg, Error>) -> Result<Arg, Error> {
        let outer = self.prefix.clone();
        if !path.is_empty() {
            self.prefix = format!("{outer}{path}.");
        }
        let around = std::mem::replace(&mut self.around, self.modules.clone());
        let file = self.file.clone();
        let result = list(self);
        self.file = file;
        self.prefix = outer;
        self.modules = std::mem::replace(&mut self.around, around);
        result
    }

    /// The arguments of a part that takes this many.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it is given another number of them.
    pub fn arguments<const N: usize>(&self, args: &[&Arg]) -> Result<[Arg; N], Error> {
        let given: Vec<Arg> = args.iter().map(|&arg| arg.clone()).collect();
        given.try_into().map_err(|_| {
            let what = format!("a part at `{}` with {} arguments, which is a fault of fx", self.prefix, args.len());
            Error::Unsupported { what, help: "please report it with the model's source".to_owned() }
        })
    }

    /// The graph of a model whose nodes `list` adds: of inputs of these names, each with whether it is a tensor, to that many
    /// results.
    ///
    /// # Errors
    /// Those of `list` and of [`finish`](Tracer::finish).
    pub fn listed(
        mut self,
        inputs: &[(&str, bool)],
        results: usize,
        list: impl FnOnce(&mut Tracer, &[&Arg]) -> Result<Arg, Error>,
    ) -> Result<GraphModule, Error> {
        let inputs: Vec<Arg> = inputs.iter().map(|&(name, is_tensor)| self.input(name, is_tensor)).collect();
        let result = list(&mut self, &inputs.iter().collect::<Vec<_>>())?;
        let results = match results {
            1 => vec![result],
            count => (0..count).map(|position| self.part(&result, position)).collect(),
        };
        self.finish(&results.iter().collect::<Vec<_>>())
    }
}
