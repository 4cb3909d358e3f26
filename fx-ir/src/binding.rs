//! Binding time: when the value of a node is known, which decides where its code goes.
//!
//! Weights do not exist at build time and shapes often do not either, so every value has a time: a literal is known at
//! **build**, what depends on parameters, buffers and configuration alone at **freeze**, what depends on an input at
//! **call**. Folding, packing and constant folding are all one thing then: freeze-time nodes move into `freeze`.
//!
//! Three things make a value call-time though no input reaches it: an effect (it must happen at every call), being
//! written to by one (the model's buffer that a call adds to is not known at freeze time), and a number or a tensor that
//! may not be there where an input decides whether it is asked for (`self.limit.unwrap()`, `self.sizes[3]` or
//! `self.weight.view([2, 3])` in a branch), unless a kernel is made of it.

use crate::ops::Class;
use crate::{
    AliasAnalysis, Arg, Effect, Graph, HostOp, Node, NodeId, NodeMap, NodeSet, Op, RegionId, Type, Writers, scalar,
};

/// The time at which a value is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Binding {
    /// At build time: literals.
    Build,
    /// Once the live model is there: parameters, buffers, configuration.
    Freeze,
    /// Only when the model is called.
    Call,
}

/// The binding time of every node of a graph.
#[derive(Clone, Debug)]
pub struct Bindings {
    times: NodeMap<Binding>,
    /// What is call-time though it is known before.
    deferred: NodeSet,
}

impl Bindings {
    /// Works out every node's binding time. The body's first parameter is the model when `self_bound`; every other
    /// parameter of the body is an input.
    pub fn of(graph: &Graph, self_bound: bool) -> Bindings {
        Bindings::with_deferred(graph, self_bound, &NodeSet::default())
    }

    /// The same, where these nodes are call-time though they are known before; what their patterns bind is so as well.
    pub fn with_deferred(graph: &Graph, self_bound: bool, deferred: &NodeSet) -> Bindings {
        let written = AliasAnalysis::of(graph).written(Writers::Ops);
        let mut solver = Solver { graph, times: NodeMap::default(), written, deferred, may_be_left_out: false };
        for (position, &param) in graph.region(graph.body()).params.iter().enumerate() {
            let time = if position == 0 && self_bound { Binding::Freeze } else { Binding::Call };
            solver.times.insert(param, time);
        }
        solver.region(graph.body());
        Bindings { times: solver.times, deferred: deferred.clone() }
    }

    /// The binding time of one node; what was made since counts as call time.
    pub fn get(&self, id: NodeId) -> Binding {
        self.times.get(id).copied().unwrap_or(Binding::Call)
    }

    /// Whether the node is call-time though it is known before, as [`Bindings::with_deferred`] was told.
    pub fn is_deferred(&self, id: NodeId) -> bool {
        self.deferred.contains(id)
    }
}

impl Graph {
    /// Returns whether the node, or any node in its regions, does more than yield a value.
    pub fn is_impure(&self, id: NodeId) -> bool {
        let node = self.node(id);
        let inside = |&region: &RegionId| self.region(region).nodes.iter().any(|&inner| self.is_impure(inner));
        node.effect() != Effect::Pure || node.regions.iter().any(inside)
    }
}

struct Solver<'a> {
    graph: &'a Graph,
    times: NodeMap<Binding>,
    written: NodeSet,
    deferred: &'a NodeSet,
    /// Whether an input decides if the region runs.
    may_be_left_out: bool,
}

impl Solver<'_> {
    fn region(&mut self, region: RegionId) {
        for &id in &self.graph.region(region).nodes {
            let time = self.node(id);
            let is_fixed = self.is_fixed(id) || self.waits(id);
            self.times.insert(id, if is_fixed { Binding::Call } else { time });
        }
    }

    /// Returns whether the node has to happen at every call.
    fn is_fixed(&self, id: NodeId) -> bool {
        self.written.contains(id) || self.deferred.contains(id) || self.graph.is_impure(id)
    }

    /// Returns whether the node takes out or computes what may be absent, where it may never be read. What kernels are made
    /// of does not wait: layers, and the weights of contractions.
    fn waits(&self, id: NodeId) -> bool {
        let node = self.graph.node(id);
        if !self.may_be_left_out || !is_kept_cheaply(&node.ty) {
            return false;
        }
        let may_fail = match (&node.op, &node.ty) {
            (Op::Call(op), _) => op.may_not_fit(),
            (Op::Host(host), Type::Rust(name)) if scalar::is_scalar(name) => {
                node.unwraps() || reads_a_place(&host.op, &node.args) || may_panic(&host.op, &node.args, name)
            }
            (Op::Host(host), _) => host.op == HostOp::Index || self.is_in_a_field(node),
            _ => false,
        };
        may_fail && !(node.ty.is_tensor() && self.is_in_a_kernel(id))
    }

    /// Returns whether it is what an optional field holds, which may be written out as a `None`.
    fn is_in_a_field(&self, node: &Node) -> bool {
        let field = node.input(0).map(|option| &self.graph.node(option).op);
        matches!(node.op.host(), Some(HostOp::UnwrapRef(_))) && field.is_none_or(|op| matches!(op, Op::GetAttr(_)))
    }

    /// Returns whether the tensor, or a view of it, is a weight of a contraction, which is packed.
    fn is_in_a_kernel(&self, id: NodeId) -> bool {
        self.graph.users(id).into_iter().any(|user| match &self.graph.node(user).op {
            Op::Call(op) if op.row().is_some_and(|row| row.class == Class::Contraction) => true,
            Op::Call(op) if op.is_view() => self.is_in_a_kernel(user),
            Op::Host(host) => match host.op {
                HostOp::Runtime(_) | HostOp::RuntimeMethod(_) => true,
                HostOp::Ref | HostOp::BorrowTensor | HostOp::Handle | HostOp::Some => self.is_in_a_kernel(user),
                _ => false,
            },
            _ => false,
        })
    }

    fn node(&mut self, id: NodeId) -> Binding {
        let outer = self.may_be_left_out;
        let subject = self.subject(id);
        self.may_be_left_out |= self.graph.node(id).op.is_control_flow() && subject == Binding::Call;
        let time = self.time_of(id);
        self.may_be_left_out = outer;
        time
    }

    fn time_of(&mut self, id: NodeId) -> Binding {
        let node = self.graph.node(id);
        let inputs = self.latest(id);
        // What a loop carries from one iteration to the next is known where the loop runs.
        let carried_first = if self.is_fixed(id) { Binding::Call } else { inputs };
        match (&node.op, node.regions.as_slice()) {
            (Op::For(_), &[body]) => {
                let carried = node.args.len().saturating_sub(1);
                let subject = self.subject(id);
                self.turns(carried_first, |solver, time| {
                    let params = &solver.graph.region(body).params;
                    let bound = params.len().saturating_sub(carried);
                    solver.bind(&params[..bound], subject);
                    solver.bind(&params[bound..], time);
                    solver.region(body);
                    solver.end(body)
                })
            }
            (Op::While, &[condition, body]) => self.turns(carried_first, |solver, time| {
                for region in [condition, body] {
                    solver.bind(&solver.graph.region(region).params, time);
                    solver.region(region);
                }
                solver.end(condition).max(solver.end(body))
            }),
            (_, regions) => {
                let subject = if self.deferred.contains(id) { Binding::Call } else { self.subject(id) };
                regions.iter().fold(inputs, |time, &region| {
                    self.bind(&self.graph.region(region).params, subject);
                    self.region(region);
                    time.max(self.end(region))
                })
            }
        }
    }

    /// Takes a loop's turns until what it carries gets no later; there are three times, so it takes three at most.
    fn turns(&mut self, first: Binding, mut turn: impl FnMut(&mut Self, Binding) -> Binding) -> Binding {
        let mut time = first;
        loop {
            let next = time.max(turn(self, time));
            if next == time {
                return time;
            }
            time = next;
        }
    }

    fn bind(&mut self, params: &[NodeId], time: Binding) {
        for &param in params {
            let time = if self.written.contains(param) { Binding::Call } else { time };
            self.times.insert(param, time);
        }
    }

    /// The binding time of a region's results.
    fn end(&self, region: RegionId) -> Binding {
        self.graph.yield_of(region).map_or(Binding::Build, |end| self.get(end))
    }

    /// The binding time of what control flow looks at, which may be a list that is written out.
    fn subject(&self, id: NodeId) -> Binding {
        let subject = self.graph.node(id).args.first().into_iter().flat_map(Arg::nodes);
        subject.map(|input| self.get(input)).max().unwrap_or(Binding::Build)
    }

    fn latest(&self, id: NodeId) -> Binding {
        self.graph.node(id).inputs().map(|input| self.get(input)).max().unwrap_or(Binding::Build)
    }

    fn get(&self, id: NodeId) -> Binding {
        self.times.get(id).copied().unwrap_or(Binding::Call)
    }
}

/// Returns whether a call can hold, without the rest of the model, what a value of the type is taken out of: numbers and
/// tensors.
fn is_kept_cheaply(ty: &Type) -> bool {
    match ty {
        Type::Rust(name) => scalar::is_scalar(name),
        ty => ty.is_tensor(),
    }
}

/// Returns whether it reads a number at a place of a tensor: `w.double_value(&[1, 2])`.
fn reads_a_place(op: &HostOp, args: &[Arg]) -> bool {
    let is_read = matches!(op, HostOp::Method(name) if name == "double_value" || name == "int64_value");
    is_read && !matches!(args, [_, Arg::Expr(place)] if place.args.is_empty())
}

/// Returns whether the operation on numbers of that type has no result for some of them: an element that is not there, a
/// division of integers by zero, and a difference below zero of what is unsigned.
fn may_panic(op: &HostOp, args: &[Arg], ty: &str) -> bool {
    match (op, args) {
        _ if !scalar::is_integer(ty) => matches!(op, HostOp::Item),
        (HostOp::Item | HostOp::Convert(_), _) => true,
        (HostOp::Binary(sign), [_, by]) if sign == "/" || sign == "%" => !matches!(by, Arg::Int(by) if *by != 0),
        (HostOp::Binary(sign), _) if sign == "-" => ty.starts_with('u'),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::ParseError;

    /// The names of the body's and the regions' nodes under the time at which each is known.
    fn check(text: &str, want: &Expect) -> Result<(), ParseError> {
        let graph: Graph = text.parse()?;
        let bindings = Bindings::of(&graph, true);
        let at = |time: Binding| {
            let named =
                graph.nodes().into_iter().filter(|&id| bindings.get(id) == time && graph.node(id).op != Op::Yield);
            named.map(|id| graph.node(id).name.clone()).collect::<Vec<_>>().join(" ")
        };
        let lines = [Binding::Build, Binding::Freeze, Binding::Call]
            .map(|time| format!("{time:?}: {}", at(time)).trim_end().to_owned() + "\n");
        want.assert_eq(&lines.concat());
        Ok(())
    }

    #[test]
    fn weights_are_freeze_time() -> Result<(), ParseError> {
        check(
            r#"graph f(self, x) {
              %w = get_attr[weight](self)
              %two = rust["2.0"]()
              %scaled = mul(%w, %two)
              %y = matmul(x, %scaled)
              yield %y
            }"#,
            &expect![[r#"
                Build: two
                Freeze: self w scaled
                Call: x y
            "#]],
        )
    }

    #[test]
    fn a_loop_over_layers_hands_out_layers_at_freeze_and_carries_at_call() -> Result<(), ParseError> {
        check(
            r#"graph f(self, x) {
              %layers = get_attr[layers](self)
              %y = for["%0"](%layers, x) (layer, acc) {
                %w = get_attr[weight](layer)
                %half = mul.Scalar(%w, 0.5)
                %next = matmul(acc, %half)
                yield %next
              }
              yield %y
            }"#,
            &expect![[r#"
                Build:
                Freeze: self layers layer w half
                Call: x y acc next
            "#]],
        )
    }

    #[test]
    fn a_while_that_does_something_carries_at_call() -> Result<(), ParseError> {
        check(
            r#"graph f(self, x) {
              %n = get_attr[n](self)
              %end = while(%n) (at) {
                %more = rust["$0 < 3"](at)
                yield %more
              } do (m) {
                %y = relu_(x)
                %next = rust["$0 + 1"](m)
                yield %next
              }
              yield %end
            }"#,
            &expect![[r#"
                Build:
                Freeze: self n
                Call: x end at more m y next
            "#]],
        )
    }

    #[test]
    fn a_loop_that_does_something_carries_at_call() -> Result<(), ParseError> {
        check(
            r#"graph f(self, x) {
              %layers = get_attr[layers](self)
              %end = for["%0"](%layers, 0) (layer, sum) {
                %y = relu_(x)
                %next = rust["$0 + 1"](sum)
                yield %next
              }
              yield %end
            }"#,
            &expect![[r#"
                Build:
                Freeze: self layers layer
                Call: x end sum y next
            "#]],
        )
    }

    #[test]
    fn a_loop_that_carries_weights_alone_is_freeze_time() -> Result<(), ParseError> {
        check(
            r#"graph f(self, x) {
              %layers = get_attr[layers](self)
              %total = for["%0"](%layers, 0) (layer, sum) {
                %w = get_attr[weight](layer)
                %next = add(sum, %w)
                yield %next
              }
              %y = mul(x, %total)
              yield %y
            }"#,
            &expect![[r#"
                Build:
                Freeze: self layers total layer sum w next
                Call: x y
            "#]],
        )
    }

    #[test]
    fn a_match_on_an_option_is_decided_at_freeze() -> Result<(), ParseError> {
        check(
            r#"graph f(self, x) {
              %bias = get_attr[bias](self)
              %b = match(%bias) {
                "Some(%0)" (v) { %neg = neg(v) ; yield %neg }
                "None" { yield 0 }
              }
              %y = match(%bias) {
                "Some(%0)" (w) { %sum = add(x, w) ; yield %sum }
                "None" { yield x }
              }
              yield %b, %y
            }"#,
            &expect![[r#"
                Build:
                Freeze: self bias b v neg w
                Call: x y sum
            "#]],
        )
    }

    #[test]
    fn an_if_on_an_input_is_call_time_and_what_it_holds_need_not_be() -> Result<(), ParseError> {
        check(
            r#"graph f(self, x) {
              %wide = rust["$0.size()[0] > 1"](x)
              %y = if(%wide) { %w = get_attr[weight](self) ; %n = neg(%w) ; yield %n } else { yield 1.0 }
              yield %y
            }"#,
            &expect![[r#"
                Build:
                Freeze: self w n
                Call: x wide y
            "#]],
        )
    }

    #[test]
    fn what_may_not_be_there_waits_for_the_input_that_decides() -> Result<(), ParseError> {
        check(
            r#"graph f(self, x) {
              %limit = get_attr[limit](self)
              %wide = rust["$0.size()[0] > 1"](x)
              %y = if(%wide) { %n = host.unwrap(%limit) : rust<i64> ; yield %n } else { yield 1 }
              %m = host.unwrap(%limit) : rust<i64>
              yield %y, %m
            }"#,
            &expect![[r#"
                Build:
                Freeze: self limit m
                Call: x wide y n
            "#]],
        )
    }

    #[test]
    fn an_element_that_may_not_be_there_waits_as_well() -> Result<(), ParseError> {
        check(
            r#"graph f(self, x) {
              %sizes = get_attr[sizes](self) : list<rust<i64>>
              %count = get_attr[count](self) : rust<usize>
              %wide = rust["$0.size()[0] > 1"](x)
              %y = if(%wide) {
                %n = host.item(%sizes, 3) : rust<i64>
                %m = host.binary["-"](%count, 1) : rust<usize>
                %h = host.binary["/"](%n, 2) : rust<i64>
                %d = host.binary["-"](2, 1) : rust<i64>
                yield %h, %d
              } else { yield 1, 2 }
              %k = host.item(%sizes, 0) : rust<i64>
              yield %y, %k
            }"#,
            &expect![[r#"
                Build: d
                Freeze: self sizes count k
                Call: x wide y n m h
            "#]],
        )
    }

    #[test]
    fn a_view_that_may_not_fit_waits_where_no_kernel_is_made_of_it() -> Result<(), ParseError> {
        check(
            r#"graph f(self, x: tensor) {
              %w = get_attr[weight](self) : tensor
              %wide = rust["$0.size()[0] > 1"](x) : bool
              %y = if(%wide) : tensor {
                %v = view(%w, [7, 7]) : tensor
                %part = narrow(%w, 0, 0, 2) : tensor
                %turned = tr(%part) : tensor
                %product = matmul(x, %turned) : tensor
                %sum = add(%product, %v) : tensor
                yield %sum
              } else { yield x }
              %flat = view(%w, [49]) : tensor
              yield %y, %flat
            }"#,
            &expect![[r#"
                Build:
                Freeze: self w part turned flat
                Call: x wide y v product sum
            "#]],
        )
    }

    #[test]
    fn a_while_that_counts_literals_is_build_time_until_an_input_comes_in() -> Result<(), ParseError> {
        check(
            r#"graph f(self, x) {
              %n = while(0) (i) { %go = rust["$0 < 3"](i) ; yield %go } do (j) { %k = rust["$0 + 1"](j) ; yield %k }
              %m = while(%n) (p) { %on = rust["$0 < $1"](p, x) ; yield %on } do (q) { %r = rust["$0 + 1"](q) ; yield %r }
              yield %m
            }"#,
            &expect![[r#"
                Build: n i go j k
                Freeze: self
                Call: x m p on q r
            "#]],
        )
    }

    #[test]
    fn effects_happen_at_call() -> Result<(), ParseError> {
        check(
            r#"graph f(self, x) {
              %training = get_attr[training](self)
              %shown = if(%training) { %p = print(self) ; yield 1 } else { yield 2 }
              %w = get_attr[weight](self)
              %d = dropout(%w, 0.5, true)
              yield %shown, %d
            }"#,
            &expect![[r#"
                Build:
                Freeze: self training w
                Call: x shown p d
            "#]],
        )
    }

    #[test]
    fn a_field_of_another_layer_is_another_field() -> Result<(), ParseError> {
        check(
            r#"graph f(self: module<"crate::Net">, x) {
              %a = get_attr[a](self) : module<"Linear">
              %b = get_attr[b](self) : module<"Linear">
              %bias = get_attr[bs](%a)
              %zero = zero_(%bias)
              %other = get_attr[bs](%b)
              %double = mul.Scalar(%other, 2)
              %again = get_attr[bs](%a)
              yield %double, %again
            }"#,
            &expect![[r#"
                Build:
                Freeze: self a b other double
                Call: x bias zero again
            "#]],
        )
    }

    #[test]
    fn a_field_of_one_element_may_be_that_of_any_other() -> Result<(), ParseError> {
        check(
            r#"graph f(self: module<"crate::Net">, x) {
              %layers = get_attr[layers](self) : list<module<"Linear">>
              %one = host.item_ref(%layers, 1) : module<"Linear">
              %bias = get_attr[bs](%one) : tensor
              %zero = zero_(%bias) : tensor
              %head = get_attr[head](self) : module<"Linear">
              %last = get_attr[bs](%head) : tensor
              %y = for["%0"](%layers, x) (layer, acc) {
                %mine = get_attr[bs](layer) : tensor
                %w = get_attr[ws](layer) : tensor
                %next = add(acc, %mine) : tensor
                yield %next
              }
              yield %y, %last
            }"#,
            &expect![[r#"
                Build:
                Freeze: self layers one head last
                Call: x bias zero y layer acc mine w next
            "#]],
        )
    }

    #[test]
    fn what_a_call_writes_to_is_not_known_at_freeze() -> Result<(), ParseError> {
        check(
            r#"graph f(self, x) {
              %count = get_attr[count](self)
              %flat = view(%count, [1])
              %bump = add_(%flat, 1)
              %again = get_attr[count](self)
              %twice = mul.Scalar(%again, 2)
              %w = get_attr[weight](self)
              yield %twice, %w
            }"#,
            &expect![[r#"
                Build:
                Freeze: self w
                Call: x count flat bump again twice
            "#]],
        )
    }
}
