//! Parts of the model that list their own nodes, and the model as one of them.

use fx_ir::Arg;

use super::Tracer;
use crate::Error;
use crate::graph_module::GraphModule;

/// A model whose code lists the nodes of its graph, also as a part of another model's.
pub trait Traced {
    /// Adds the nodes of a call with these arguments; yields its result.
    ///
    /// # Errors
    /// [`Error::Unsupported`], which is a fault of fx.
    fn list(&self, t: &mut Tracer, args: &[&Arg]) -> Result<Arg, Error>;
}

/// A model, however many pointers it lies behind: a call of the method looks through them.
pub trait AsTraced: Traced {
    /// The model itself.
    fn as_traced(&self) -> &dyn Traced;
}

impl<M: Traced> AsTraced for M {
    // Not inlined: else each unit of code that lists a part would compile the part's list again.
    #[inline(never)]
    fn as_traced(&self) -> &dyn Traced {
        self
    }
}

impl Tracer {
    /// The nodes of a call of the part of the model that lies at `path`.
    ///
    /// # Errors
    /// Those of [`Traced::list`].
    pub fn within(&mut self, path: &str, part: &dyn Traced, args: &[&Arg]) -> Result<Arg, Error> {
        let outer = self.prefix.clone();
        if !path.is_empty() {
            self.prefix = format!("{outer}{path}.");
        }
        let around = std::mem::replace(&mut self.around, self.modules.clone());
        let file = self.file.clone();
        let result = part.list(self, args);
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
        super::owned(args).try_into().map_err(|_| {
            let what = format!("a part at `{}` with {} arguments, which is a fault of fx", self.prefix, args.len());
            Error::Unsupported { what, help: "please report it with the model's source".to_owned() }
        })
    }

    /// The graph of a model: of inputs of these names, each with whether it is a tensor, to that many results.
    ///
    /// # Errors
    /// Those of [`Traced::list`] and of [`finish`](Tracer::finish).
    pub fn listed(mut self, model: &dyn Traced, inputs: &[(&str, bool)], results: usize) -> Result<GraphModule, Error> {
        let inputs: Vec<Arg> = inputs.iter().map(|&(name, is_tensor)| self.input(name, is_tensor)).collect();
        let result = model.list(&mut self, &inputs.iter().collect::<Vec<_>>())?;
        let results = match results {
            1 => vec![result],
            count => (0..count).map(|position| self.part(&result, position)).collect(),
        };
        self.finish(&results.iter().collect::<Vec<_>>())
    }
}
