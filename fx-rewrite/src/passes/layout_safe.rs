//! Keeps what depends on the order of elements in memory right, since activations inside a frozen model are
//! `channels_last`.
//!
//! `view` asks for an order that the elements may no longer have, so it becomes `reshape`, which is the same where it has
//! it. Code that may look at strides, or that is not understood, is given tensors in row-major order, and so are draws of
//! random numbers, which fill a result in the order of its memory: from one seed the frozen model draws what the model
//! draws.
//!
//! A tensor that is written to must stay the one tensor that it is: it is put into that order where it is made, or not at
//! all.

use fx_ir::{Arg, Code, Effect, Graph, NodeId, Op, OpId, Origin, Type};

use super::facts::{Effects, Ranks, Times};
use crate::pass::{Changed, Pass, PassContext};
use crate::rewrite::is_quiet;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct LayoutSafe;

impl Pass for LayoutSafe {
    fn name(&self) -> &'static str {
        "layout-safe"
    }

    fn doc(&self) -> &'static str {
        "turns view into reshape and hands tensors to foreign code in row-major order"
    }

    fn run(&self, graph: &mut Graph, cx: &PassContext) -> Changed {
        let mut safe =
            Safe { effects: Effects::of(graph), ranks: Ranks::of(graph), times: Times::of(graph, cx), graph };
        let mut changed = false;
        for id in safe.graph.nodes() {
            changed |= safe.node(id);
        }
        Changed::from(changed)
    }
}

/// May the code see the order of elements in memory?
pub(super) fn reads_strides(code: &Code) -> bool {
    const SEEN: &[&str] = &[".stride(", ".is_contiguous(", ".data_ptr(", ".as_strided("];
    code.opaque.is_some()
        || matches!(code.effect, Effect::Io | Effect::State)
        || SEEN.iter().any(|call| code.template.contains(call))
}

/// Does the code, as far as its text tells, fail or go wrong where elements lie in another order?
fn asks_for_order(code: &Code) -> bool {
    const ASKS: &[&str] = &[".view(", ".stride(", ".data_ptr(", ".as_strided("];
    ASKS.iter().any(|call| code.template.contains(call))
}

struct Safe<'a> {
    graph: &'a mut Graph,
    effects: Effects,
    ranks: Ranks,
    times: Times,
}

impl Safe<'_> {
    fn node(&mut self, id: NodeId) -> bool {
        match self.graph.node(id).op.clone() {
            // A write to a view must reach the tensor, which a copy of it would keep from it.
            Op::Call(op) if self.effects.is_written(id) => match op.name() {
                "view" | "view_as" | "flat_view" | "as_strided" | "view_as_complex" | "view_dtype" => {
                    self.order_at_source(id)
                }
                _ => false,
            },
            Op::Call(op) => match op.name() {
                "view" => self.view(id),
                "view_as" => self.become_op(id, "reshape_as"),
                "flat_view" => self.flat_view(id),
                "as_strided" | "view_as_complex" | "view_dtype" => self.order(id, &[0]),
                _ if op.effect() == Effect::Random && !is_quiet(self.graph.node(id)) => self.order(id, &[0]),
                _ => false,
            },
            Op::Rust(code) if reads_strides(&code) => {
                let written = match code.effect {
                    Effect::InPlace(position) => Some(position),
                    _ => None,
                };
                let count = self.graph.node(id).args.len();
                let read = (0..count).filter(|&position| Some(position) != written);
                // A copy would keep writes from the tensor, the code's own and later ones.
                let (shared, read): (Vec<usize>, Vec<usize>) = read.partition(|&position| {
                    self.graph.node(id).input(position).is_some_and(|input| self.effects.is_written(input))
                });
                let mut changed = self.order(id, &read);
                for position in shared {
                    changed |= self.order_base(id, position) || asks_for_order(&code) && self.order(id, &[position]);
                }
                changed
            }
            _ => false,
        }
    }

    fn view(&mut self, id: NodeId) -> bool {
        let Some(shape) = self.graph.node(id).args.get(1).and_then(|shape| list_of(self.graph, shape)) else {
            return self.order(id, &[0]);
        };
        self.graph.node_mut(id).args[1] = shape;
        self.become_op(id, "reshape")
    }

    /// All axes but the first made one; a tensor of one axis gets a second.
    fn flat_view(&mut self, id: NodeId) -> bool {
        let Some(input) = self.graph.node(id).args.first().cloned() else { return false };
        if self.ranks.get(&input).least > 1 {
            self.graph.node_mut(id).args.extend([Arg::Int(1), Arg::Int(-1)]);
            return self.become_op(id, "flatten");
        }
        let origin = self.origin(id);
        let size = Op::Rust(Code::pure("$0.size()[0]"));
        let batch = self.graph.insert_before(id, size, vec![input], "batch", Type::rust("i64"), origin);
        self.graph.node_mut(id).args.push(Arg::List(vec![Arg::Node(batch), Arg::Int(-1)]));
        self.become_op(id, "reshape")
    }

    fn become_op(&mut self, id: NodeId, name: &str) -> bool {
        let Some(op) = OpId::lookup(name) else { return false };
        let origin = self.origin(id);
        let node = self.graph.node_mut(id);
        (node.op, node.origin) = (Op::Call(op), origin);
        true
    }

    /// Puts the tensors at these positions into row-major order first.
    fn order(&mut self, id: NodeId, positions: &[usize]) -> bool {
        let Some(contiguous) = OpId::lookup("contiguous").map(Op::Call) else { return false };
        let mut changed = false;
        for &position in positions {
            let Some(input) = self.graph.node(id).input(position).filter(|&input| self.is_ours(input)) else {
                continue;
            };
            let (ty, origin) = (self.graph.node(input).ty.clone(), self.origin(id));
            let base = self.graph.node(input).name.clone();
            let args = vec![Arg::Node(input)];
            let ordered = self.graph.insert_before(id, contiguous.clone(), args, &base, ty, origin);
            self.graph.node_mut(id).args[position] = Arg::Node(ordered);
            changed = true;
        }
        changed
    }

    /// Puts the tensor that `id` is a view of into row-major order where it is made, for all its readers.
    fn order_at_source(&mut self, id: NodeId) -> bool {
        self.graph.node(id).input(0).is_some_and(|source| self.order_where_made(id, source))
    }

    /// The same for the tensor at that position, or what it is a view of.
    fn order_base(&mut self, id: NodeId, position: usize) -> bool {
        let mut base = self.graph.node(id).input(position);
        while let Some(view) = base.filter(|&view| self.is_view(view)) {
            base = self.graph.node(view).input(0);
        }
        base.is_some_and(|base| self.order_where_made(id, base))
    }

    fn is_view(&self, id: NodeId) -> bool {
        matches!(&self.graph.node(id).op, Op::Call(op) if op.is_view() || op.name() == "shallow_clone")
    }

    fn order_where_made(&mut self, id: NodeId, source: NodeId) -> bool {
        if !self.is_ours(source) {
            return false;
        }
        let Some(contiguous) = OpId::lookup("contiguous").map(Op::Call) else { return false };
        let made = self.graph.node(source);
        let is_new = match &made.op {
            Op::Call(op) => !op.is_view() && op.effect() == Effect::Pure,
            Op::CallModule(kind) => !kind.passes_input(),
            _ => false,
        };
        if !is_new {
            return false;
        }
        let (ty, name, origin) = (made.ty.clone(), made.name.clone(), self.origin(id));
        let ordered = self.graph.insert_after(source, contiguous, vec![Arg::Node(source)], &name, ty, origin);
        self.graph.replace_all_uses_with(source, &Arg::Node(ordered));
        true
    }

    /// Is it a tensor that the model computes? Weights and inputs have the order that the user gave them.
    fn is_ours(&self, id: NodeId) -> bool {
        let node = self.graph.node(id);
        let is_input = node.op == Op::Placeholder && self.graph.scope_of(id) == Some(self.graph.body());
        let is_ordered = matches!(&node.op, Op::Call(op) if op.name() == "contiguous");
        node.ty.is_tensor() && !is_input && !is_ordered && !self.times.is_frozen(id)
    }

    fn origin(&self, id: NodeId) -> Origin {
        Origin::merged(LayoutSafe.name(), [&self.graph.node(id).origin])
    }
}

/// Sizes as the list that `reshape` takes; `None` for values that only `view` knows to read.
fn list_of(graph: &Graph, shape: &Arg) -> Option<Arg> {
    let id = match shape {
        Arg::List(_) => return Some(shape.clone()),
        Arg::Int(_) => return Some(Arg::List(vec![shape.clone()])),
        Arg::Node(id) => *id,
        _ => return None,
    };
    let node = graph.node(id);
    match (&node.ty, &node.op) {
        (Type::List(_), _) => Some(shape.clone()),
        (Type::Rust(name), _) if name == "i64" => Some(Arg::List(vec![shape.clone()])),
        // `(b, -1)`, spelled by the tracer as `($0, -1,)`.
        (Type::Tuple(_), Op::Rust(code)) => {
            let parts = code.template.strip_prefix('(')?.strip_suffix(')')?.trim_end_matches(',').split(',');
            let part = |part: &str| match part.trim().strip_prefix('$') {
                Some(hole) => node.args.get(hole.parse::<usize>().ok()?).cloned(),
                None => part.trim().parse().ok().map(Arg::Int),
            };
            parts.map(part).collect::<Option<Vec<Arg>>>().map(Arg::List)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::passes::testing::check;

    #[test]
    fn views_become_reshapes() {
        check(
            LayoutSafe,
            r#"graph f(x: tensor, b: rust<i64>, s: ?) {
              %a = view(x, [2, -1]) : tensor
              %t = rust["($0, -1,)"](b) : (rust<i64>, rust<i64>)
              %c = view(%a, %t) : tensor
              %d = view(%c, s) : tensor
              %e = view_as(%d, x) : tensor
              %g = relu(x) : tensor
              %v = view(%g, [4]) : tensor
              %w = add_(%v, %e)
              yield %g
            }"#,
            &expect![[r#"
                graph f(x: tensor, b: rust<i64>, s) {
                  %a = reshape(x, [2, -1]) : tensor  @ by layout-safe
                  %t = rust["($0, -1,)"](b) : (rust<i64>, rust<i64>)
                  %c = reshape(%a, [b, -1]) : tensor  @ by layout-safe
                  %c_1 = contiguous(%c) : tensor  @ by layout-safe
                  %d = view(%c_1, s) : tensor
                  %e = reshape_as(%d, x) : tensor  @ by layout-safe
                  %g = relu(x) : tensor
                  %g_1 = contiguous(%g) : tensor  @ by layout-safe
                  %v = view(%g_1, [4]) : tensor
                  %w = add_(%v, %e)
                  yield %g_1
                }"#]],
        );
    }

    #[test]
    fn flat_view_flattens_what_has_axes_to_flatten() {
        check(
            LayoutSafe,
            r#"graph f(x: tensor) {
              %p = adaptive_avg_pool2d(x, [1, 1]) : tensor
              %a = flat_view(%p) : tensor
              %b = flat_view(x) : tensor
              yield %a, %b
            }"#,
            &expect![[r#"
                graph f(x: tensor) {
                  %p = adaptive_avg_pool2d(x, [1, 1]) : tensor
                  %a = flatten(%p, 1, -1) : tensor  @ by layout-safe
                  %batch = rust["$0.size()[0]"](x) : rust<i64>  @ by layout-safe
                  %b = reshape(x, [%batch, -1]) : tensor  @ by layout-safe
                  yield %a, %b
                }"#]],
        );
    }

    #[test]
    fn draws_fill_row_major_order() {
        check(
            LayoutSafe,
            r#"graph f(x: tensor) {
              %a = relu(x) : tensor
              %b = rand_like(%a) : tensor
              yield %b
            }"#,
            &expect![[r#"
                graph f(x: tensor) {
                  %a = relu(x) : tensor
                  %a_1 = contiguous(%a) : tensor  @ by layout-safe
                  %b = rand_like(%a_1) : tensor
                  yield %b
                }"#]],
        );
    }

    #[test]
    fn foreign_code_gets_row_major_order() {
        check(
            LayoutSafe,
            r#"graph f(self: module<Net>, x: tensor) {
              %w = get_attr[ws](self) : tensor
              %y = relu(x) : tensor
              %a = rust["ours($0, $1, $2)", io, opaque("the function `ours`")](%y, x, %w) : tensor
              %b = rust["$0.size()"](%y) : list<rust<i64>>
              %c = rust["write($0, $1)", in_place(0), opaque("the function `write`")](%y, %a) : tensor
              yield %a, %c
            }"#,
            &expect![[r#"
                graph f(self: module<Net>, x: tensor) {
                  %w = get_attr[ws](self) : tensor
                  %y = relu(x) : tensor
                  %y_1 = contiguous(%y) : tensor  @ by layout-safe
                  %a = rust["ours($0, $1, $2)", io, opaque("the function `ours`")](%y_1, x, %w) : tensor
                  %b = rust["$0.size()"](%y_1) : list<rust<i64>>
                  %c = rust["write($0, $1)", in_place(0), opaque("the function `write`")](%y_1, %a) : tensor
                  yield %a, %c
                }"#]],
        );
    }
}
