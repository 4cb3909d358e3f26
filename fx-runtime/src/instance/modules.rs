//! Modules and tensors of the live model: nodes that name them, and what they name.

use std::rc::Rc;

use fx_ir::{Arg, Effect, LayerRow, ModuleKind, Op, Type};
use tch::Tensor;

use super::{TENSOR, Tracer, address};
use crate::graph_module::{Erased, Leaf, SharedLayer, Submodule, Uncallable, Value, short_name};
use crate::nn::Chain;
use crate::{Error, Module};

/// A layer, however many pointers it lies behind: a call of the method looks through them.
pub trait AsLayer: Submodule {
    /// The layer itself.
    fn as_layer(&self) -> &dyn Submodule;
}

impl<L: Submodule> AsLayer for L {
    fn as_layer(&self) -> &dyn Submodule {
        self
    }
}

impl Tracer {
    /// The forward of the layer that lies at `path` (`layer1.0.conv1`).
    pub fn module(&mut self, path: &str, layer: &dyn Submodule, args: &[&Arg], line: usize) -> Arg {
        let (path, kind) = self.held_layer(path, layer);
        self.call_module(path, kind, args, Type::TENSOR, line)
    }

    /// Keeps the layer that lies at `path`; yields the path that it is kept at, and the name of its type.
    fn held_layer(&mut self, path: &str, layer: &dyn Submodule) -> (String, &'static str) {
        let kind = layer.module().map_or("", Module::type_name);
        let path = self.path_of(path, address(layer), kind);
        self.hold(&path, &mut || layer.handle());
        (path, kind)
    }

    /// The layer that lies at `path`, as a value.
    pub fn layer(&mut self, path: &str, layer: &dyn Submodule) -> Arg {
        Arg::Path(self.held_layer(path, layer).0)
    }

    /// The layers of a list that lies at `path`, as a list of values.
    pub fn layers<'l, L: Submodule + 'static>(&mut self, path: &str, layers: impl Iterator<Item = &'l L>) -> Arg {
        Arg::List(layers.enumerate().map(|(at, layer)| self.layer(&format!("{path}.{at}"), layer)).collect())
    }

    /// The forward of a layer that an input chooses, or a number that is known here.
    pub fn chosen_module(&mut self, kind: &str, layer: &Arg, args: &[&Arg], name: &str, line: usize) -> Arg {
        if let Arg::Path(path) = layer {
            return self.call_module(path.clone(), kind, args, Type::TENSOR, line);
        }
        let op = Op::CallModule(ModuleKind(kind.to_owned()));
        let args = std::iter::once(layer).chain(args.iter().copied()).cloned().collect();
        self.push(op, args, &name.replace('.', "_"), Type::TENSOR, line)
    }

    /// The tracer of a call in training.
    #[must_use]
    pub fn in_training(self) -> Tracer {
        Tracer { training: true, ..self }
    }

    /// The mode of the call, as an argument.
    pub fn mode(&self) -> Arg {
        Arg::Bool(self.training)
    }

    /// The mode that a call of a layer is given: none in inference, where the layer follows the one that it keeps.
    pub fn mode_of_layers(&self) -> Option<bool> {
        self.training.then_some(true)
    }

    /// Has the call of a layer run it in this mode, whatever mode it keeps, if there is one.
    pub fn in_mode(&mut self, call: &Arg, train: Option<bool>) {
        if let (Some(id), Some(train)) = (call.node(), train) {
            self.module.graph_mut().node_mut(id).set_mode(train);
        }
    }

    /// The layers of a `Sequential`, one after the other, each in the mode `train` if there is one.
    pub fn sequential(&mut self, path: &str, chain: &dyn Chain, input: &Arg, train: Option<bool>, line: usize) -> Arg {
        (0..chain.len()).fold(input.clone(), |input, position| {
            let path = if path.is_empty() { position.to_string() } else { format!("{path}.{position}") };
            let path = format!("{}{path}", self.prefix);
            let mut shared = || -> Result<Rc<dyn Submodule>, Error> {
                if let Some(layer) = chain.shared_layer(position)? {
                    return Ok(Rc::new(SharedLayer(layer)));
                }
                Ok(Rc::new(Erased::new(chain.erased_layer(position)?, chain.type_name_of(position))))
            };
            self.hold(&path, &mut shared);
            let kind = chain.type_name_of(position);
            let call = self.call_module(path, kind, &[&input], Type::TENSOR, line);
            if let Some(train) =
                train.filter(|_| LayerRow::of_type(kind).is_none_or(|row| row.training != Effect::Pure))
            {
                self.in_mode(&call, Some(train));
            }
            call
        })
    }

    /// A recurrent layer on an input, and on a state if one is given.
    pub fn recurrent(&mut self, path: &str, layer: &dyn Submodule, ty: &str, args: &[&Arg], line: usize) -> Arg {
        let (path, kind) = self.held_layer(path, layer);
        self.call_module(path, kind, args, ty.parse().unwrap_or_default(), line)
    }

    /// The forward of the module of type `kind` at `path`, which is not looked into and yields a value of type `ty`.
    pub fn submodule(&mut self, path: &str, kind: &str, ty: &str, args: &[&Arg], line: usize) -> Arg {
        let path = format!("{}{path}", self.prefix);
        let reason = format!("`{kind}` at `{path}` takes or yields what a graph has no values for");
        self.hold(&path, &mut || Ok(Rc::new(Uncallable(reason.clone()))));
        self.call_module(path, kind, args, ty.parse().unwrap_or_default(), line)
    }

    /// The forward of a module of the user's that is not looked into: `forward` calls it.
    pub fn leaf<M: Module + 'static>(
        &mut self,
        (path, module): (&str, &M),
        ty: &str,
        args: &[&Arg],
        line: usize,
        forward: fn(&M, &[Value]) -> Result<Value, Error>,
    ) -> Arg {
        let path = self.path_of(path, address(module), module.type_name());
        self.hold(&path, &mut || {
            let module = Rc::new(module.shallow_clone()?);
            Ok(Rc::new(Leaf { module, forward }))
        });
        self.call_module(path, module.type_name(), args, ty.parse().unwrap_or_default(), line)
    }

    /// Keeps the module at a path, or the reason why it cannot be called.
    fn hold(&mut self, path: &str, share: &mut dyn FnMut() -> Result<Rc<dyn Submodule>, Error>) {
        if !self.is_skipping() && self.module.submodule(path).is_none() {
            let module = share().unwrap_or_else(|error| Rc::new(Uncallable(error.to_string())));
            self.module.put_submodule(path.to_owned(), module);
        }
    }

    fn call_module(&mut self, path: String, kind: &str, args: &[&Arg], ty: Type, line: usize) -> Arg {
        let op = Op::CallModule(ModuleKind(kind.to_owned()));
        let name = path.replace('.', "_");
        let args = std::iter::once(Arg::Str(path)).chain(args.iter().copied().cloned()).collect();
        self.push(op, args, &name, ty, line)
    }

    /// The parameter or buffer that lies at `path`; one node however often it is read.
    pub fn tensor(&mut self, path: &str, tensor: &Tensor) -> Arg {
        let path = &self.path_of(path, address(tensor), TENSOR);
        if self.is_skipping() {
            return Arg::None;
        }
        if let Some(&id) = self.tensors.get(path) {
            return Arg::Node(id);
        }
        let shape = tensor.size().iter().map(ToString::to_string).collect();
        let ty = Type::Tensor(fx_ir::TensorType { dtype: Some(short_name(tensor.kind())), shape: Some(shape) });
        let (op, name) = (Op::GetAttr(path.to_owned()), path.replace('.', "_"));
        let arg = match self.outermost_flow() {
            // Other regions may read it as well.
            Some(outermost) => {
                let origin = self.origin(0, &name);
                Arg::Node(self.module.graph_mut().insert_before(outermost, op, Vec::new(), &name, ty, origin))
            }
            None => self.push(op, Vec::new(), &name, ty, 0),
        };
        self.tensors.extend(arg.node().map(|id| (path.to_owned(), id)));
        self.module.add_tensor(path.as_str(), tensor.shallow_clone());
        arg
    }

    /// The tensors of a list that lies at `path`.
    pub fn tensors<'t>(&mut self, path: &str, list: impl IntoIterator<Item = &'t Tensor>) -> Arg {
        let items = (0..).zip(list).map(|(at, tensor): (usize, _)| self.tensor(&format!("{path}.{at}"), tensor));
        Arg::List(items.collect())
    }
}
