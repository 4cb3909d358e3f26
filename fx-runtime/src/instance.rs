//! The instance graph: what a live model computes, flat, as torch.fx would show it.
//!
//! `net.graph_module()` is generated code that walks the live object (which `Option`s are `Some`, how long each `Vec` is)
//! and tells a [`Tracer`] what it meets. Nothing is computed: inputs and results are names. The layers and tensors that
//! nodes name are handed over with them, so that the graph can be run. What depends on an input's values, and so is
//! decided at every call, stands in the graph as one node of code.

mod flow;
mod known;
mod live;
mod modules;
mod part;

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use fx_ir::{Code, Effect, Graph, Host, HostOp, ModuleScope, Node, NodeId, Op, OpId, Origin, Place, Type};

use self::flow::{Choice, Open};
pub use self::live::{Live, Otherwise, Probe};
pub use self::modules::AsLayer;
pub use self::part::{AsTraced, Traced};
#[doc(hidden)]
pub use crate::node;
pub use fx_ir::Arg;

use crate::graph_module::GraphModule;
use crate::{Error, Module};

/// A node of the graph that a [`Tracer`] gathers, on a line: `node!(ys = t.call("add"; xs, zs; 3))`.
///
/// After what is called come its arguments, of host operations and control flow a type, behind a name if it is another,
/// and the source line, 0 where none is known.
#[doc(hidden)]
#[macro_export]
macro_rules! node {
    ($name:ident = $t:ident.call($op:expr; $($arg:expr),*; $line:expr)) => {
        let $name = $t.call($op, &[$(&$arg),*], $line);
    };
    ($name:ident = $t:ident.module($path:expr, $module:expr; $($arg:expr),*; $line:expr)) => {
        let $name = {
            use $crate::instance::AsLayer as _;
            $t.module($path, ($module).as_layer(), &[$(&$arg),*], $line)
        };
    };
    ($name:ident = $t:ident.host($op:expr, [$($word:expr),*]; $($arg:expr),*; $ty:expr; $line:expr)) => {
        $crate::node!($name = $t.host($op, [$($word),*]; $($arg),*; stringify!($name), $ty; $line));
    };
    ($name:ident = $t:ident.host($op:expr, [$($word:expr),*]; $($arg:expr),*; $label:expr, $ty:expr; $line:expr)) => {
        let $name = $t.host(($op, &[$($word),*]), &[$(&$arg),*], ($label, $ty), $line);
    };
    ($($name:ident : $label:literal $ty:literal),+ = $t:ident.begin($of:ident)) => {
        let [$($name),+] = $t.begin(&$of, [$(($label, $ty)),+]);
    };
    ($name:ident = $t:ident.flow($op:expr, [$($head:expr),*]; $($arg:expr),*; $ty:expr; $line:expr)) => {
        $crate::node!($name = $t.flow($op, [$($head),*]; $($arg),*; stringify!($name), $ty; $line));
    };
    ($name:ident = $t:ident.flow($op:expr, [$($head:expr),*]; $($arg:expr),*; $label:expr, $ty:expr; $line:expr)) => {
        let $name = $t.flow(($op, &[$($head),*]), &[$(&$arg),*], ($label, $ty), $line)?;
    };
}

/// Gathers an instance graph, node by node.
pub struct Tracer {
    module: GraphModule,
    tensors: BTreeMap<String, NodeId>,
    /// Where the modules and tensors of the live model lie, by the names of their types.
    places: HashMap<(usize, &'static str), Vec<String>>,
    /// The regions of control flow in which the walk is, outermost first.
    open: Vec<Open>,
    /// The control flow whose subject is known, by the node that stands for it.
    choices: HashMap<NodeId, Choice>,
    /// The path of the part whose nodes are listed, with a dot behind it; empty for the model itself.
    prefix: String,
    /// The modules around the part whose nodes are listed, outermost first.
    around: Vec<ModuleScope>,
    /// The modules in whose forwards the walk is, outermost first.
    modules: Vec<ModuleScope>,
    /// The file of the user's that it is in.
    file: String,
    /// Whether the graph is that of a call in training.
    training: bool,
    /// Reading the live model records no gradients.
    _no_grad: tch::NoGradGuard,
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer").field("graph", self.module.graph()).finish_non_exhaustive()
    }
}

impl Tracer {
    /// An empty graph of that name.
    pub fn new(name: &str) -> Tracer {
        let mut graph = Graph::new(name);
        graph.reserve_python_names();
        Tracer {
            module: GraphModule::new(graph),
            tensors: BTreeMap::new(),
            places: HashMap::new(),
            open: Vec::new(),
            choices: HashMap::new(),
            prefix: String::new(),
            around: Vec::new(),
            modules: Vec::new(),
            file: String::new(),
            training: false,
            _no_grad: tch::no_grad_guard(),
        }
    }

    /// The same for a model, whose modules and tensors are named by the fields that they lie in, whatever the code that
    /// calls them names them.
    pub fn of(name: &str, model: &dyn Module) -> Tracer {
        let mut places: HashMap<(usize, &'static str), Vec<String>> = HashMap::new();
        for (path, module) in crate::module::named_modules(model) {
            places.entry((address(module), module.type_name())).or_default().push(path);
        }
        for (path, tensor) in model.state_dict() {
            places.entry((address(tensor), TENSOR)).or_default().push(path);
        }
        Tracer { places, ..Tracer::new(name) }
    }

    /// The path of what lies there and is of that type: the given one, unless the model knows it by others alone.
    fn path_of(&self, path: &str, address: usize, ty: &'static str) -> String {
        let path = self.full_path(path);
        match self.places.get(&(address, ty)) {
            Some(known) if !known.contains(&path) => known[0].clone(),
            _ => path,
        }
    }

    fn push(&mut self, op: Op, args: Vec<Arg>, name: &str, ty: Type, line: usize) -> Arg {
        if self.is_skipping() {
            return Arg::None;
        }
        let (region, origin) = (self.region_of_nodes(), self.origin(line, name));
        let args = if self.choices.is_empty() { args } else { args.iter().map(|arg| self.resolve(arg)).collect() };
        Arg::Node(self.module.graph_mut().push(region, op, args, name, ty, origin))
    }

    fn origin(&self, line: usize, label: &str) -> Origin {
        let place = (line > 0).then(|| Place { file: self.file.clone(), line });
        let origin = place.map_or_else(Origin::default, |place| Origin::user(place, label));
        Origin { nn_module_stack: self.modules.clone(), ..origin }
    }

    /// What comes from here on lies in this file of the user's.
    pub fn file(&mut self, file: &str) {
        file.clone_into(&mut self.file);
    }

    /// What comes from here on stands in the forward of the module at `path`, whose type has that name, within the
    /// outermost `depth` of the modules that the walk is in.
    pub fn enter(&mut self, depth: usize, path: &str, ty: &str) {
        self.leave(depth);
        let path = self.full_path(path).trim_end_matches('.').to_owned();
        self.modules.push(ModuleScope { path, ty: ty.to_owned() });
    }

    /// What comes from here on stands in the outermost `depth` of the modules that the walk is in.
    pub fn leave(&mut self, depth: usize) {
        self.modules.truncate(self.around.len() + depth);
    }

    /// A path from the model on; one that begins with a dot goes on from the module that the walk is in.
    fn full_path(&self, path: &str) -> String {
        match self.modules.last() {
            Some(module) if path.starts_with('.') => format!("{}{path}", module.path),
            _ => format!("{}{path}", self.prefix),
        }
    }

    /// An input of the model.
    pub fn input(&mut self, name: &str, is_tensor: bool) -> Arg {
        let ty = if is_tensor { Type::TENSOR } else { Type::Unknown };
        let body = self.module.graph().body();
        Arg::Node(self.module.graph_mut().add_param(body, name, ty, Origin::default()))
    }

    /// A call of an op.
    pub fn call(&mut self, op: &str, args: &[&Arg], line: usize) -> Arg {
        match OpId::lookup(op) {
            Some(id) => {
                let name = op.split('.').next().unwrap_or(op);
                self.push(Op::Call(id), owned(args), name, id.result_type(), line)
            }
            None => self.code(op, args, (op, "?"), line),
        }
    }

    /// A host operation of that name, which carries these words.
    ///
    /// `name` is the node's, `ty` the type of its value.
    pub fn host(&mut self, op: (&str, &[&str]), args: &[&Arg], (name, ty): (&str, &str), line: usize) -> Arg {
        match host_op(op.0, op.1) {
            Some(op) => {
                let args = self.resolved(args);
                if let Some(known) = self.known_value(&op, &args) {
                    return known;
                }
                let op = Op::Host(Host::with_effect(op, Effect::Io));
                self.push(op, args, name, ty.parse().unwrap_or_default(), line)
            }
            None => self.code(op.0, args, (name, ty), line),
        }
    }

    /// A value that code behind it changes: one of the graph, whatever is known of it before.
    pub fn variable(&mut self, value: &Arg) -> Arg {
        let value = self.resolve(value);
        if known::is_known(&value) {
            let op = Op::Host(Host::with_effect(HostOp::Use, Effect::Io));
            return self.push(op, vec![value], "variable", Type::Unknown, 0);
        }
        value
    }

    /// A host operation inside an argument.
    pub fn expr(&self, op: &str, words: &[&str], args: &[&Arg]) -> Arg {
        let args = self.resolved(args);
        host_op(op, words).map_or(Arg::None, |op| self.known_value(&op, &args).unwrap_or_else(|| op.of(args)))
    }

    /// Code as the user wrote it.
    pub fn code(&mut self, template: &str, args: &[&Arg], (name, ty): (&str, &str), line: usize) -> Arg {
        let code = Code { effect: Effect::Io, ..Code::pure(template) };
        self.push(Op::Rust(code), owned(args), name, ty.parse().unwrap_or_default(), line)
    }

    /// A field of a value; of a struct that is made in this graph it is what the field was given.
    pub fn field(&mut self, of: &Arg, name: &str, line: usize) -> Arg {
        let of = self.resolve(of);
        let made = of.node().map(|id| self.module.graph().node(id));
        if let Some(Node { op: Op::Host(Host { op: HostOp::Struct((_, fields)), .. }), args, .. }) = made
            && let Some(given) = fields.iter().position(|field| field == name).and_then(|at| args.get(at))
        {
            return given.clone();
        }
        self.push(
            Op::Host(Host::with_effect(HostOp::Field(name.to_owned()), Effect::Io)),
            vec![of],
            name,
            Type::Unknown,
            line,
        )
    }

    /// One part of a tuple.
    pub fn part(&mut self, of: &Arg, position: usize) -> Arg {
        let of = self.resolve(of);
        let parts = match &of {
            Arg::List(parts) => parts.as_slice(),
            Arg::Expr(expr) if expr.op == HostOp::Tuple => &expr.args,
            _ => &[],
        };
        if let Some(part) = parts.get(position) {
            return part.clone();
        }
        let whole = of.node().map(|whole| &self.module.graph().node(whole).ty);
        let ty = match whole {
            Some(Type::Tuple(parts)) => parts.get(position).cloned().unwrap_or_default(),
            _ => Type::Unknown,
        };
        self.push(Op::TupleGet(position), vec![of], "getitem", ty, 0)
    }

    /// The graph that yields these values.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the walk left a graph that the verifier refuses.
    pub fn finish(mut self, outputs: &[&Arg]) -> Result<GraphModule, Error> {
        self.push(Op::Yield, owned(outputs), "output", Type::Unknown, 0);
        self.erase_choices();
        self.erase_unread_aggregates();
        match self.module.graph().lint() {
            Ok(()) => Ok(self.module),
            Err(faults) => {
                let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
                let what = format!(
                    "the graph of `{}`, which is a fault of fx: {}",
                    self.module.graph().name,
                    faults.join("; ")
                );
                Err(Error::Unsupported { what, help: "please report it with the model's source".to_owned() })
            }
        }
    }
}

/// What the places of tensors have for the name of a type.
const TENSOR: &str = "";

/// Where a value lies.
fn address<T: ?Sized>(value: &T) -> usize {
    std::ptr::from_ref(value).cast::<()>() as usize
}

fn host_op(name: &str, words: &[&str]) -> Option<HostOp> {
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    HostOp::parse(name, &words)
}

fn owned(args: &[&Arg]) -> Vec<Arg> {
    args.iter().copied().cloned().collect()
}
