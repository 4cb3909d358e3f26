//! The instance graph: what a live model computes, flat, as torch.fx would show it.
//!
//! `net.graph()` is generated code that walks the live object (which `Option`s are `Some`, how long each `Vec` is) and
//! tells a [`Tracer`] what it meets. Nothing is computed: inputs and results are names. What depends on an input's
//! values, and so is decided at every call, stands in the graph as one node of code.

use std::collections::BTreeMap;
use std::fmt;

use fx_ir::{
    Code, Effect, Graph, Host, HostOp, ModuleKind, ModuleScope, Node, NodeId, Op, OpId, Origin, Place, RegionId, Type,
};
use tch::{Kind, Tensor};

pub use fx_ir::Arg;

use crate::{Error, Module};

/// Gathers an instance graph, node by node.
pub struct Tracer {
    graph: Graph,
    tensors: BTreeMap<String, NodeId>,
    /// The path of the part whose nodes are listed, with a dot behind it; empty for the model itself.
    prefix: String,
    /// The modules around the part whose nodes are listed, outermost first.
    around: Vec<ModuleScope>,
    /// The modules in whose forwards the walk is, outermost first.
    modules: Vec<ModuleScope>,
    /// Reading the live model records no gradients.
    _no_grad: tch::NoGradGuard,
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer").field("graph", &self.graph).finish_non_exhaustive()
    }
}

impl Tracer {
    /// An empty graph of that name.
    pub fn new(name: &str) -> Tracer {
        Tracer {
            graph: Graph::new(name),
            tensors: BTreeMap::new(),
            prefix: String::new(),
            around: Vec::new(),
            modules: Vec::new(),
            _no_grad: tch::no_grad_guard(),
        }
    }

    fn body(&self) -> RegionId {
        self.graph.body()
    }

    fn push(&mut self, op: Op, args: Vec<Arg>, name: &str, ty: Type, place: &str) -> Arg {
        let (body, mut origin) = (self.body(), origin(place, name));
        origin.nn_module_stack.clone_from(&self.modules);
        Arg::Node(self.graph.push(body, op, args, name, ty, origin))
    }

    /// What comes from here on stands in the forwards of these modules, each with its path and its type's name.
    pub fn stand_in(&mut self, modules: &[(&str, &str)]) {
        let scope = |&(path, ty): &(&str, &str)| {
            let path = format!("{}{path}", self.prefix);
            ModuleScope { path: path.trim_end_matches('.').to_owned(), ty: ty.to_owned() }
        };
        self.modules = self.around.iter().cloned().chain(modules.iter().map(scope)).collect();
    }

    /// An input of the model.
    pub fn input(&mut self, name: &str, is_tensor: bool) -> Arg {
        let ty = if is_tensor { Type::TENSOR } else { Type::Unknown };
        let body = self.body();
        Arg::Node(self.graph.add_param(body, name, ty, Origin::default()))
    }

    /// The forward of the layer that lies at `path` (`layer1.0.conv1`).
    pub fn module<L: Module + ?Sized>(&mut self, path: &str, layer: &L, args: &[&Arg], place: &str) -> Arg {
        let path = &format!("{}{path}", self.prefix);
        let op = Op::CallModule(ModuleKind(layer.type_name().to_owned()));
        let args = std::iter::once(Arg::Str(path.to_owned())).chain(args.iter().copied().cloned()).collect();
        self.push(op, args, &path.replace('.', "_"), Type::TENSOR, place)
    }

    /// The forward of the module of type `kind` at `path`, which is not looked into and yields a value of type `ty`.
    pub fn submodule(&mut self, path: &str, kind: &str, ty: &str, args: &[&Arg], place: &str) -> Arg {
        let path = format!("{}{path}", self.prefix);
        let op = Op::CallModule(ModuleKind(kind.to_owned()));
        let args = std::iter::once(Arg::Str(path.clone())).chain(args.iter().copied().cloned()).collect();
        self.push(op, args, &path.replace('.', "_"), ty.parse().unwrap_or_default(), place)
    }

    /// The layers of a `Sequential`, one after the other.
    pub fn chain<'m>(
        &mut self,
        path: &str,
        layers: impl Iterator<Item = (usize, Option<&'m dyn Module>, &'static str)>,
        input: &Arg,
        place: &str,
    ) -> Arg {
        layers.fold(input.clone(), |input, (position, layer, type_name)| {
            let path = if path.is_empty() { position.to_string() } else { format!("{path}.{position}") };
            if let Some(layer) = layer {
                return self.module(&path, layer, &[&input], place);
            }
            let path = format!("{}{path}", self.prefix);
            let op = Op::CallModule(ModuleKind(type_name.to_owned()));
            self.push(op, vec![Arg::Str(path.clone()), input], &path.replace('.', "_"), Type::TENSOR, place)
        })
    }

    /// The parameter or buffer that lies at `path`; one node however often it is read.
    pub fn tensor(&mut self, path: &str, tensor: &Tensor) -> Arg {
        let path = &format!("{}{path}", self.prefix);
        if let Some(&id) = self.tensors.get(path) {
            return Arg::Node(id);
        }
        let shape = tensor.size().iter().map(ToString::to_string).collect();
        let ty = Type::Tensor(fx_ir::TensorType { dtype: Some(dtype(tensor.kind())), shape: Some(shape) });
        let arg = self.push(Op::GetAttr(path.to_owned()), Vec::new(), &path.replace('.', "_"), ty, "");
        self.tensors.extend(arg.node().map(|id| (path.to_owned(), id)));
        arg
    }

    /// A call of an op.
    pub fn call(&mut self, op: &str, args: &[&Arg], place: &str) -> Arg {
        match OpId::lookup(op) {
            Some(id) => {
                let name = op.split('.').next().unwrap_or(op);
                self.push(Op::Call(id), owned(args), name, id.result_type(), place)
            }
            None => self.code(op, args, op, place),
        }
    }

    /// A host operation of that name, which carries these words.
    pub fn host(&mut self, op: &str, words: &[&str], args: &[&Arg], name: &str, place: &str) -> Arg {
        match host_op(op, words) {
            Some(op) => self.push(Op::Host(Host::with_effect(op, Effect::Io)), owned(args), name, Type::Unknown, place),
            None => self.code(op, args, name, place),
        }
    }

    /// The same inside an argument.
    pub fn expr(&self, op: &str, words: &[&str], args: &[&Arg]) -> Arg {
        host_op(op, words).map_or(Arg::None, |op| op.of(owned(args)))
    }

    /// Code as the user wrote it.
    pub fn code(&mut self, template: &str, args: &[&Arg], name: &str, place: &str) -> Arg {
        let code = Code { effect: Effect::Io, ..Code::pure(template) };
        self.push(Op::Rust(code), owned(args), name, Type::Unknown, place)
    }

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
        let result = list(self);
        self.prefix = outer;
        self.modules = std::mem::replace(&mut self.around, around);
        result
    }

    /// The error of a part that is given another number of arguments than it takes.
    ///
    /// # Errors
    /// Always.
    pub fn refuse_arguments<T>(&self, count: usize) -> Result<T, Error> {
        let what = format!("a part at `{}` with {count} arguments, which is a fault of fx", self.prefix);
        Err(Error::Unsupported { what, help: "please report it with the model's source".to_owned() })
    }

    /// A field of a value; of a struct that is made in this graph it is what the field was given.
    pub fn field(&mut self, of: &Arg, name: &str, place: &str) -> Arg {
        let made = of.node().map(|id| self.graph.node(id));
        if let Some(Node { op: Op::Host(Host { op: HostOp::Struct((_, fields)), .. }), args, .. }) = made
            && let Some(given) = fields.iter().position(|field| field == name).and_then(|at| args.get(at))
        {
            return given.clone();
        }
        self.code(&format!("$0.{name}"), &[of], name, place)
    }

    /// One part of a tuple.
    pub fn part(&mut self, of: &Arg, position: usize) -> Arg {
        if let Arg::List(parts) = of
            && let Some(part) = parts.get(position)
        {
            return part.clone();
        }
        let whole = of.node().map(|whole| &self.graph.node(whole).ty);
        let ty = match whole {
            Some(Type::Tuple(parts)) => parts.get(position).cloned().unwrap_or_default(),
            _ => Type::Unknown,
        };
        self.push(Op::TupleGet(position), vec![of.clone()], "getitem", ty, "")
    }

    /// The graph that yields these values.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the walk left a graph that the verifier refuses.
    pub fn finish(mut self, outputs: &[&Arg]) -> Result<Graph, Error> {
        self.push(Op::Yield, owned(outputs), "output", Type::Unknown, "");
        self.erase_unread_structs();
        match self.graph.lint() {
            Ok(()) => Ok(self.graph),
            Err(faults) => {
                let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
                let what = format!("the graph of `{}`, which is a fault of fx: {}", self.graph.name, faults.join("; "));
                Err(Error::Unsupported { what, help: "please report it with the model's source".to_owned() })
            }
        }
    }
}

impl Tracer {
    /// Erases the structs that parts yield and of which only fields are read.
    fn erase_unread_structs(&mut self) {
        for id in self.graph.nodes().into_iter().rev() {
            let is_struct = matches!(self.graph.node(id).op.host(), Some(HostOp::Struct(_)));
            if is_struct && !self.graph.has_users(id) {
                // A node without users is erased without fail.
                let _ = self.graph.erase_node(id);
            }
        }
    }
}

fn host_op(name: &str, words: &[&str]) -> Option<HostOp> {
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    HostOp::parse(name, &words)
}

fn owned(args: &[&Arg]) -> Vec<Arg> {
    args.iter().copied().cloned().collect()
}

fn origin(place: &str, label: &str) -> Origin {
    match place.rsplit_once(':') {
        Some((file, line)) => {
            Origin::user(Place { file: file.to_owned(), line: line.parse().unwrap_or_default() }, label)
        }
        None => Origin::default(),
    }
}

/// torch's short name of a dtype.
fn dtype(kind: Kind) -> String {
    match kind {
        Kind::Float => "f32",
        Kind::Double => "f64",
        Kind::Half => "f16",
        Kind::BFloat16 => "bf16",
        Kind::Int64 => "i64",
        Kind::Int => "i32",
        Kind::Int16 => "i16",
        Kind::Int8 => "i8",
        Kind::Uint8 => "u8",
        Kind::Bool => "b8",
        other => return format!("{other:?}").to_lowercase(),
    }
    .to_owned()
}

/// A live value as it stands in a graph.
pub trait Live {
    /// The literal.
    fn arg(&self) -> Arg;
}

macro_rules! live {
    ($($ty:ty => $arg:expr),+ $(,)?) => {
        $(impl Live for $ty {
            fn arg(&self) -> Arg {
                let make: fn(&$ty) -> Arg = $arg;
                make(self)
            }
        })+
    };
}

live! {
    i64 => |v| Arg::Int(*v),
    i32 => |v| Arg::Int(i64::from(*v)),
    usize => |v| Arg::Int(i64::try_from(*v).unwrap_or(i64::MAX)),
    f64 => |v| Arg::Float(*v),
    f32 => |v| Arg::Float(f64::from(*v)),
    bool => |v| Arg::Bool(*v),
    str => |v| Arg::Str(v.to_owned()),
    String => |v| Arg::Str(v.clone()),
    Kind => |v| Arg::Path(format!("Kind::{v:?}")),
}

impl<T: Live + ?Sized> Live for &T {
    fn arg(&self) -> Arg {
        (**self).arg()
    }
}

impl<T: Live> Live for Option<T> {
    fn arg(&self) -> Arg {
        self.as_ref().map_or(Arg::None, Live::arg)
    }
}

impl<T: Live> Live for [T] {
    fn arg(&self) -> Arg {
        Arg::List(self.iter().map(Live::arg).collect())
    }
}

impl<T: Live> Live for Vec<T> {
    fn arg(&self) -> Arg {
        self.as_slice().arg()
    }
}

impl<T: Live, const N: usize> Live for [T; N] {
    fn arg(&self) -> Arg {
        self.as_slice().arg()
    }
}

/// A value that may be [`Live`]; a method of the type comes before one of the trait [`Otherwise`].
#[doc(hidden)]
#[derive(Debug)]
pub struct Probe<'v, T: ?Sized>(pub &'v T);

impl<T: Live + ?Sized> Probe<'_, T> {
    /// The literal.
    pub fn arg(&self, _: &str) -> Arg {
        self.0.arg()
    }
}

/// What a value that is not [`Live`] becomes: the source it came from.
#[doc(hidden)]
pub trait Otherwise {
    /// The source text.
    fn arg(&self, source: &str) -> Arg {
        Arg::Path(source.to_owned())
    }
}

impl<T: ?Sized> Otherwise for &Probe<'_, T> {}
