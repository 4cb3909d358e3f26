//! What a graph computes and moves: floating-point operations, multiply-adds, bytes, for each node and in sum.
//!
//! A multiply-add counts as two operations. As in PyTorch's `torch.utils.flop_counter` only matrix products, convolutions
//! and attention count, and a bias does not: `2 m n k` of a product of `[m, k]` and `[k, n]`; of a convolution
//! `2 * outputs * input channels of a group * size of the kernel`, and of a transposed one the same with its inputs in
//! place of its outputs; of attention both of its products.

use std::fmt;

use fx_ir::ops;
use fx_ir::{Arg, Class, Node, NodeId, Op, OpId, Type};
use tch::Tensor;

use super::GraphModule;

/// What one node costs.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeCost {
    /// The node.
    pub id: NodeId,
    /// Its name.
    pub name: String,
    /// The paths of the modules that it stands in, outermost first, and of the one that it calls.
    pub modules: Vec<String>,
    /// Floating-point operations.
    pub flops: u64,
    /// Bytes of what it reads and writes: inputs, parameters and outputs.
    pub bytes: u64,
}

/// What a graph costs, node by node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs {
    /// The nodes that compute, in their order.
    pub nodes: Vec<NodeCost>,
}

impl NodeCost {
    /// Multiply-adds: half of the operations.
    pub fn macs(&self) -> u64 {
        self.flops / 2
    }

    /// Operations per byte.
    #[allow(clippy::cast_precision_loss, reason = "it is a ratio")]
    pub fn intensity(&self) -> f64 {
        if self.bytes == 0 { 0.0 } else { self.flops as f64 / self.bytes as f64 }
    }
}

impl Costs {
    /// Floating-point operations of the whole graph.
    pub fn flops(&self) -> u64 {
        self.nodes.iter().map(|node| node.flops).sum()
    }

    /// Multiply-adds of the whole graph.
    pub fn macs(&self) -> u64 {
        self.flops() / 2
    }

    /// Bytes that the nodes read and write.
    pub fn bytes(&self) -> u64 {
        self.nodes.iter().map(|node| node.bytes).sum()
    }

    /// Operations and bytes of each module, with all below it, in the order of the first node; the model itself has the
    /// empty path.
    pub fn by_module(&self) -> Vec<(String, u64, u64)> {
        let mut modules: Vec<(String, u64, u64)> = Vec::new();
        for node in &self.nodes {
            for path in &node.modules {
                match modules.iter_mut().find(|(known, ..)| known == path) {
                    Some((_, flops, bytes)) => (*flops, *bytes) = (*flops + node.flops, *bytes + node.bytes),
                    None => modules.push((path.clone(), node.flops, node.bytes)),
                }
            }
        }
        modules
    }
}

impl GraphModule {
    /// What the graph costs, by the shapes that [`GraphModule::propagate_shapes`] has found; a node of which they are not
    /// known, or in control flow, counts nothing.
    pub fn costs(&self) -> Costs {
        let graph = self.graph();
        let nodes = graph.region(graph.body()).nodes.iter().filter_map(|&id| self.cost(id)).collect();
        Costs { nodes }
    }

    fn cost(&self, id: NodeId) -> Option<NodeCost> {
        let node = self.graph().node(id);
        if !matches!(node.op, Op::Call(_) | Op::CallModule(_)) {
            return None;
        }
        let out = shape(&node.ty);
        let inputs: Vec<Vec<i64>> = node.inputs().filter_map(|input| shape(&self.graph().node(input).ty)).collect();
        let path = match (&node.op, node.args.first()) {
            (Op::CallModule(_), Some(Arg::Str(path))) => Some(path),
            _ => None,
        };
        let tensors = path.map(|path| self.tensors_of(path)).unwrap_or_default();
        let flops = out.as_ref().and_then(|out| flops(node, &inputs, &tensors, out)).unwrap_or(0);
        let moved = node.inputs().map(|input| bytes(&self.graph().node(input).ty)).sum::<u64>();
        let held: u64 = tensors.iter().map(|(_, tensor)| size(tensor)).sum();
        let mut modules: Vec<String> = node.nn_module_stack().iter().map(|module| module.path.clone()).collect();
        modules.extend(path.cloned());
        let bytes = if is_view(node) { 0 } else { moved + held + bytes(&node.ty) };
        Some(NodeCost { id, name: node.name.clone(), modules, flops, bytes })
    }

    /// The parameters and buffers of the module at a path, by their names.
    fn tensors_of(&self, path: &str) -> Vec<(String, Tensor)> {
        let module = self.submodule(path).and_then(|module| module.module());
        let tensors = module.map(|module| module.state_dict()).unwrap_or_default();
        tensors.into_iter().map(|(name, tensor)| (name, tensor.shallow_clone())).collect()
    }
}

fn is_view(node: &Node) -> bool {
    matches!(node.op, Op::Call(op) if op.is_view())
}

fn size(tensor: &Tensor) -> u64 {
    u64::try_from(tensor.numel() * tensor.kind().elt_size_in_bytes()).unwrap_or(0)
}

/// The sizes of a tensor's type.
fn shape(ty: &Type) -> Option<Vec<i64>> {
    match ty {
        Type::Tensor(tensor) => tensor.shape.as_ref()?.iter().map(|size| size.parse().ok()).collect(),
        Type::Option(held) => shape(held),
        _ => None,
    }
}

/// The bytes of the tensors of a type.
fn bytes(ty: &Type) -> u64 {
    match ty {
        Type::Tensor(tensor) => {
            let width = match tensor.dtype.as_deref() {
                Some("f64" | "i64" | "complexfloat") => 8,
                Some("f16" | "bf16" | "i16") => 2,
                Some("i8" | "u8" | "b8") => 1,
                _ => 4,
            };
            shape(ty).map_or(0, |shape| product(&shape) * width)
        }
        Type::Tuple(parts) => parts.iter().map(bytes).sum(),
        Type::Option(held) => bytes(held),
        _ => 0,
    }
}

fn product(sizes: &[i64]) -> u64 {
    sizes.iter().map(|&size| u64::try_from(size).unwrap_or(0)).product()
}

/// The operations of a node by the shapes of its inputs and of its output.
fn flops(node: &Node, inputs: &[Vec<i64>], tensors: &[(String, Tensor)], out: &[i64]) -> Option<u64> {
    let weight = || tensors.iter().find(|(name, _)| name == "weight").map(|(_, tensor)| tensor.size());
    match &node.op {
        Op::CallModule(kind) => match weight()?.as_slice() {
            [_, width] if kind.0 == "Linear" => Some(2 * product(out) * u64::try_from(*width).ok()?),
            kernel if kind.0.starts_with("ConvTranspose") => convolution(inputs.first()?, kernel),
            kernel if kind.0.starts_with("Conv") => convolution(out, kernel),
            _ => None,
        },
        Op::Call(op) if op.row().is_some_and(|row| row.class == Class::Contraction) => contraction(*op, inputs, out),
        _ => None,
    }
}

fn contraction(op: OpId, inputs: &[Vec<i64>], out: &[i64]) -> Option<u64> {
    let is = |ops: &[OpId]| ops.contains(&op);
    if is(&[ops::CONV1D, ops::CONV2D, ops::CONV3D]) {
        convolution(out, inputs.get(1)?)
    } else if is(&[ops::CONV_TRANSPOSE1D, ops::CONV_TRANSPOSE2D, ops::CONV_TRANSPOSE3D]) {
        convolution(inputs.first()?, inputs.get(1)?)
    } else if is(&[ops::ATTENTION]) {
        attention(inputs)
    } else if is(&[ops::ADDMM, ops::BADDBMM]) {
        matrices(inputs.get(1)?, out)
    } else if is(&[ops::DOT]) {
        Some(2 * product(inputs.first()?))
    } else if is(&[ops::LINEAR, ops::MATMUL, ops::BMM, ops::MM, ops::MV]) {
        matrices(inputs.first()?, out)
    } else {
        None
    }
}

/// A convolution with that kernel, at each of these positions: those of the output, or of the input if it is transposed.
fn convolution(positions: &[i64], kernel: &[i64]) -> Option<u64> {
    let (batch, spatial) = match positions.len().checked_sub(kernel.len())? {
        0 => (positions[0], positions.get(2..)?),
        _ => return None,
    };
    Some(2 * u64::try_from(batch).ok()? * product(spatial) * product(kernel))
}

/// A product of matrices, the first of which has these sizes.
fn matrices(first: &[i64], out: &[i64]) -> Option<u64> {
    Some(2 * product(out) * u64::try_from(*first.last()?).ok()?)
}

/// Queries times keys, and what comes of it times values.
fn attention(inputs: &[Vec<i64>]) -> Option<u64> {
    let [query, key, value, ..] = inputs else { return None };
    let ([.., tokens, width], [.., others, _], [.., value_width]) = (&query[..], &key[..], &value[..]) else {
        return None;
    };
    let batch = product(&query[..query.len() - 2]);
    Some(2 * batch * product(&[*tokens, *others]) * (product(&[*width]) + product(&[*value_width])))
}

/// A table: modules with their operations, their share, bytes and operations per byte.
impl fmt::Display for Costs {
    #[allow(clippy::cast_precision_loss, reason = "figures are rounded for the reader")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.flops().max(1) as f64;
        let modules = self.by_module();
        let width = modules.iter().map(|(path, ..)| path.len()).max().unwrap_or(0).max("(model)".len());
        writeln!(f, "{:width$}  {:>12}  {:>7}  {:>12}  {:>11}", "module", "MFLOPs", "share", "kB", "FLOPs/byte")?;
        for (path, flops, bytes) in &modules {
            let name = if path.is_empty() { "(model)" } else { path };
            let (flops, bytes) = (*flops as f64, *bytes as f64);
            writeln!(
                f,
                "{name:width$}  {:>12.3}  {:>5.1} %  {:>12.1}  {:>11.2}",
                flops / 1e6,
                100.0 * flops / all,
                bytes / 1e3,
                flops / bytes.max(1.0)
            )?;
        }
        Ok(())
    }
}
