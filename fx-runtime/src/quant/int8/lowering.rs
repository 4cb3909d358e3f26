//! Which patterns become kernels, and which form each value has: codes, floats, or both.

use std::rc::Rc;

use fx_ir::ops::{self, Quantization};
use fx_ir::{Arg, Graph, ModuleKind, NodeId, NodeMap, NodeSet, Op, Type};

use super::kernels;
use super::layer;
use super::modules::{Dequantize, Quantize};
use super::request::{Kernel, Request, Then};
use crate::Result;
use crate::ffi::int8::PerTensor;
use crate::graph_module::{GraphModule, Submodule};
use crate::quant::patterns::{self, Pattern};
use crate::quant::reference::missing;
use crate::quant::{DType, QParams, QParamsFile};

/// On which side of a node another one is put.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

/// A graph on its way to kernels.
pub(super) struct Lowering<'q> {
    pub(super) module: GraphModule,
    qparams: &'q QParamsFile,
    patterns: &'q [Pattern],
    /// The pattern that a value is the result of.
    made_by: NodeMap<usize>,
    /// What is read as codes by a pattern that has a kernel.
    wanted: NodeSet,
    /// The node that yields the codes of a value.
    codes: NodeMap<NodeId>,
    /// The node that yields a value in floats, where that is another one than before.
    floats: NodeMap<NodeId>,
    /// Nodes whose work a kernel does.
    replaced: Vec<NodeId>,
    /// Patterns that are part of the kernel before them.
    absorbed: NodeSet,
    /// The roots of patterns that have kernels.
    pub(super) kernels: NodeSet,
}

impl<'q> Lowering<'q> {
    pub(super) fn new(module: GraphModule, qparams: &'q QParamsFile, patterns: &'q [Pattern]) -> Self {
        let made_by = patterns.iter().enumerate().fold(NodeMap::default(), |mut map, (at, pattern)| {
            map.insert(pattern.last, at);
            map
        });
        let mut lowering = Self {
            module,
            qparams,
            patterns,
            made_by,
            wanted: NodeSet::default(),
            codes: NodeMap::default(),
            floats: NodeMap::default(),
            replaced: Vec::new(),
            absorbed: NodeSet::default(),
            kernels: NodeSet::default(),
        };
        // From the end: what only moves codes is worth a kernel where its own are read.
        for pattern in patterns.iter().rev() {
            let is_layer = pattern.quantization == Quantization::Weighted;
            let is_read = is_layer || lowering.wanted.contains(pattern.last);
            if is_read && lowering.is_quantized(pattern) && kernels::has_kernel(&lowering.module, pattern) {
                pattern.inputs.iter().for_each(|&input| {
                    lowering.wanted.insert(input);
                });
            }
        }
        lowering
    }

    /// What the codes of a value stand for, if it is a site.
    fn site(&self, id: NodeId) -> Option<PerTensor> {
        let name = |id: NodeId| self.module.graph().node(id).name.as_str();
        let root = self.made_by.get(id).map(|&at| name(self.patterns[at].root));
        let of = root.and_then(|root| self.qparams.sites.get(root)).or_else(|| self.qparams.sites.get(name(id)))?;
        per_tensor(of)
    }

    /// The parameters of the pattern's weight.
    fn weight(&self, pattern: &Pattern) -> Option<&'q QParams> {
        self.qparams.weights.get(&patterns::weight_site(self.module.graph(), pattern.root)?)
    }

    pub(super) fn is_quantized(&self, pattern: &Pattern) -> bool {
        let weighted = pattern.quantization == Quantization::Weighted;
        pattern.inputs.iter().all(|&input| self.site(input).is_some())
            && self.site(pattern.last).is_some()
            && (!weighted || self.weight(pattern).is_some())
    }

    pub(super) fn pattern(&mut self, at: usize, pattern: &Pattern) -> Result<()> {
        if self.absorbed.contains(pattern.last) || !self.is_quantized(pattern) {
            return Ok(());
        }
        let sources: Vec<PerTensor> = pattern.inputs.iter().filter_map(|&input| self.site(input)).collect();
        let weight = self.weight(pattern);
        let (behind, then) = if let Some((last, act)) = self.absorbable(at, pattern) {
            (vec![last], Then::Activation(act))
        } else if let Some((behind, other)) = self.addition(pattern) {
            (behind, Then::Addition(other))
        } else {
            (Vec::new(), Then::Nothing)
        };
        let last = behind.last().copied().unwrap_or(pattern.last);
        let in_floats = matches!(then, Then::Addition(_)) || !self.wanted.contains(last);
        let result = self.site(last).filter(|_| !in_floats);
        let request = Request { pattern, sources: &sources, result, weight, then };
        let kernel = kernels::kernel(&self.module, &request)?;
        kernel.map_or(Ok(()), |kernel| self.replace(pattern, &behind, kernel))
    }

    /// The activation behind a layer that changes no parameters, so that the layer's kernel can apply it.
    fn absorbable(&self, at: usize, pattern: &Pattern) -> Option<(NodeId, crate::frozen::Activation)> {
        let graph = self.module.graph();
        if pattern.root != pattern.last || pattern.quantization != Quantization::Weighted {
            return None;
        }
        let [reader] = graph.users(pattern.last)[..] else { return None };
        let next = self.patterns[at + 1..].iter().find(|next| next.root == reader && next.last == reader)?;
        let act = layer::activation(&self.module, reader)?;
        let same = next.inputs == [pattern.last] && self.site(reader) == self.site(pattern.last);
        (same && self.is_quantized(next)).then_some((reader, act))
    }

    /// The addition on floats behind a layer whose result nothing reads as codes, with the dropouts between them, and what
    /// is added.
    fn addition(&self, pattern: &Pattern) -> Option<(Vec<NodeId>, NodeId)> {
        let graph = self.module.graph();
        let is_layer = pattern.quantization == Quantization::Weighted && pattern.inputs.len() == 1;
        if !is_layer || pattern.root != pattern.last {
            return None;
        }
        let (mut at, mut behind) = (pattern.last, Vec::new());
        loop {
            let [reader] = graph.users(at)[..] else { return None };
            behind.push(reader);
            match patterns::op_of(graph, reader).filter(|_| !self.wanted.contains(at))? {
                ops::DROPOUT => at = reader,
                ops::ADD if self.made_by.get(reader).is_none() => break,
                _ => return None,
            }
        }
        let add = *behind.last()?;
        let &[Arg::Node(left), Arg::Node(right)] = graph.node(add).args.as_slice() else { return None };
        let other = if left == at { right } else { left };
        (other != at).then_some((behind, other))
    }

    /// Puts a kernel in the place of nodes.
    fn replace(&mut self, pattern: &Pattern, behind: &[NodeId], kernel: Kernel) -> Result<()> {
        let last = behind.last().copied().unwrap_or(pattern.last);
        self.kernels.insert(pattern.root);
        let mut args = Vec::new();
        for (position, &input) in pattern.inputs.iter().enumerate() {
            let as_floats = kernel.adds_floats && position == 1;
            args.push(Arg::Node(if as_floats { input } else { self.codes_of(input, pattern.root)? }));
        }
        args.extend(kernel.added.map(Arg::Node));
        let name = self.module.graph().node(pattern.root).name.clone();
        let codes = match kernel.on_codes {
            // The op of the graph, on codes.
            None => {
                let node = self.module.graph().node(last);
                let (op, name, origin) = (node.op.clone(), node.name.clone(), node.origin.clone());
                let mut with_codes = node.args.clone();
                for (&input, arg) in pattern.inputs.iter().zip(&args) {
                    let Arg::Node(codes) = *arg else { continue };
                    let mut exchanged = |id: NodeId| Arg::Node(if id == input { codes } else { id });
                    with_codes = with_codes.iter().map(|arg| arg.map_nodes(&mut exchanged)).collect();
                }
                self.module.graph_mut().insert_after(last, op, with_codes, &name, Type::TENSOR, origin)
            }
            Some(module) => self.call((last, Side::After), &name, kernel.kind, module, args),
        };
        match kernel.result {
            Some(of) => {
                self.note(last, codes, of);
                let name = self.module.graph().node(codes).name.clone();
                let dequantize = Rc::new(Dequantize(of));
                let floats = self.call((codes, Side::After), &name, "Dequantize", dequantize, vec![Arg::Node(codes)]);
                self.floats.insert(last, floats);
                // Where nobody reads floats.
                self.replaced.push(floats);
            }
            None => {
                self.floats.insert(last, codes);
            }
        }
        self.replaced.extend(patterns::members(self.module.graph(), pattern));
        self.replaced.extend(behind);
        for &id in behind {
            self.absorbed.insert(id);
        }
        Ok(())
    }

    /// The node that yields the codes of a value; made before the node that wants it if there is none.
    fn codes_of(&mut self, id: NodeId, wanted_by: NodeId) -> Result<NodeId> {
        if let Some(&codes) = self.codes.get(id) {
            return Ok(codes);
        }
        let name = self.module.graph().node(id).name.clone();
        let of = self.site(id).ok_or_else(|| missing(&name))?;
        let floats = self.floats.get(id).copied().unwrap_or(id);
        let codes =
            self.call((wanted_by, Side::Before), &name, "Quantize", Rc::new(Quantize(of)), vec![Arg::Node(floats)]);
        self.note(id, codes, of);
        Ok(codes)
    }

    /// Notes on a node that it yields the codes of a value.
    fn note(&mut self, id: NodeId, codes: NodeId, of: PerTensor) {
        self.codes.insert(id, codes);
        let graph = self.module.graph();
        let root = self.made_by.get(id).map_or(id, |&at| self.patterns[at].root);
        let root = if self.qparams.sites.contains_key(&graph.node(root).name) { root } else { id };
        let (site, value_of) = (graph.node(root).name.clone(), graph.node(id).name.clone());
        let meta = &mut self.module.graph_mut().node_mut(codes).meta;
        meta.insert("site", site);
        meta.insert("value_of", value_of);
        meta.insert("scale", f64::from(of.scale));
        meta.insert("zero_point", i64::from(of.zero_point));
    }

    /// A call of a new module beside a node.
    fn call(
        &mut self,
        (id, side): (NodeId, Side),
        name: &str,
        kind: &str,
        module: Rc<dyn Submodule>,
        args: Vec<Arg>,
    ) -> NodeId {
        let base = format!("{name}_{}", kind.to_ascii_lowercase());
        let origin = args.iter().find_map(Arg::node).filter(|_| side == Side::Before).unwrap_or(id);
        let graph = self.module.graph_mut();
        let (op, origin) = (Op::CallModule(ModuleKind(kind.to_owned())), graph.node(origin).origin.clone());
        let call = match side {
            Side::Before => graph.insert_before(id, op, args, &base, Type::TENSOR, origin),
            Side::After => graph.insert_after(id, op, args, &base, Type::TENSOR, origin),
        };
        let path = graph.node(call).name.clone();
        graph.node_mut(call).args.insert(0, Arg::Str(path.clone()));
        self.module.put_submodule(path, module);
        call
    }

    /// The graph without what kernels have taken over.
    pub(super) fn finished(mut self) -> Result<GraphModule> {
        let graph = self.module.graph_mut();
        for (last, &floats) in self.floats.iter() {
            graph.replace_all_uses_with(last, &Arg::Node(floats));
        }
        let mut left = true;
        while std::mem::take(&mut left) {
            for &id in self.replaced.iter().rev() {
                if graph.is_alive(id) && graph.is_live(id) && !graph.has_users(id) {
                    left |= graph.erase_node(id).is_ok();
                }
            }
        }
        erase_unread(graph);
        self.module.delete_all_unused_submodules();
        self.module.lint()?;
        Ok(self.module)
    }
}

/// Takes out reads of tensors that nothing reads any more.
fn erase_unread(graph: &mut Graph) {
    for id in graph.nodes() {
        if matches!(graph.node(id).op, Op::GetAttr(_)) && !graph.has_users(id) {
            // It has no readers, so it goes.
            let _ = graph.erase_node(id);
        }
    }
}

/// What the codes of a value stand for; none of parameters that are not those of `u8` with one scale.
fn per_tensor(of: &QParams) -> Option<PerTensor> {
    let (scale, zero) = of.single()?;
    // A reduced range bounds what is observed, not what is stored, as in libtorch's kernels.
    let is_u8 = of.dtype == DType::QUInt8 && of.has_range_of_dtype();
    let zero_point = i32::try_from(zero).ok().filter(|zero| is_u8 && (0..=255).contains(zero))?;
    Some(PerTensor { scale, zero_point })
}
