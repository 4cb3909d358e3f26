//! The corner cases of torch.fx's splitter and partitioner, told in graphs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use expect_test::{Expect, expect};
use fx_ir::{Arg, HostOp, Op, Spot};

use super::*;
use crate::pass::{Changed, PassContext};
use crate::{Graph, fx_pass};

fn graph(text: &str) -> Graph {
    let graph: Graph = text.parse().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(graph.lint(), Ok(()));
    graph
}

/// Splits by the first letter of a node's name, `a` being part 0; an `m` stays.
fn by_letter(graph: &Graph) -> Result<Split, SplitError> {
    split_module(graph, |graph, id| {
        let letter = graph.node(id).name.bytes().next().unwrap_or_default();
        (letter != b'm').then(|| usize::from(letter - b'a'))
    })
}

/// The graphs of a split, the main one first, each of which the verifier takes.
fn check(text: &str, expected: &Expect) {
    let whole = graph(text);
    let split = by_letter(&whole).unwrap_or_else(|error| panic!("{error}"));
    let graphs: Vec<String> = std::iter::once(&split.main)
        .chain(split.parts.iter().map(|part| &part.graph))
        .map(|graph| {
            assert_eq!(graph.lint(), Ok(()), "{graph}");
            graph.to_string()
        })
        .collect();
    expected.assert_eq(&graphs.join("\n"));
    assert_eq!(shape_of(&joined(&split)), shape_of(&whole), "what is put together again is what it was");
}

/// The parts put back where they are called.
fn joined(split: &Split) -> Graph {
    let mut whole = split.main.clone();
    for part in &split.parts {
        let name = format!("part_{}", part.number);
        let is_call =
            |id: &fx_ir::NodeId| matches!(whole.node(*id).op.host(), Some(HostOp::Call(called)) if *called == name);
        let call = whole.nodes().into_iter().find(is_call).unwrap_or_else(|| panic!("no call of {name}"));
        let params = part.graph.region(part.graph.body()).params.iter().copied();
        let given = whole.node(call).args.iter().filter_map(|arg| arg.base().map(Arg::Node));
        let mut map: BTreeMap<_, _> = params.zip(given).collect();
        let results = whole.graph_copy(&part.graph, &mut map, Spot::Before(call));
        let readers = whole.users(call);
        match &results[..] {
            [one] => whole.replace_all_uses_with(call, one),
            several => {
                for reader in readers {
                    let Op::TupleGet(at) = whole.node(reader).op else { panic!("several results are taken apart") };
                    whole.replace_all_uses_with(reader, &several[at]);
                    whole.erase_node(reader).unwrap_or_else(|users| panic!("{users:?}"));
                }
            }
        }
        whole.erase_node(call).unwrap_or_else(|users| panic!("{users:?}"));
    }
    assert_eq!(whole.lint(), Ok(()), "{whole}");
    whole
}

/// Every op with what it reads, as trees from the yield, which no order and no name changes.
fn shape_of(graph: &Graph) -> String {
    fn arg(graph: &Graph, value: &Arg) -> String {
        match value {
            Arg::Node(id) if matches!(graph.node(*id).op, Op::Placeholder) => graph.node(*id).name.clone(),
            Arg::Node(id) => {
                let args: Vec<String> = graph.node(*id).args.iter().map(|value| arg(graph, value)).collect();
                format!("{:?}({})", graph.node(*id).op, args.join(" "))
            }
            other => format!("{other:?}"),
        }
    }
    let end = graph.yield_of(graph.body()).unwrap_or_else(|| panic!("no yield"));
    graph.node(end).args.iter().map(|value| arg(graph, value)).collect::<Vec<_>>().join("; ")
}

#[test]
fn results_cross_and_inputs_are_shared() {
    check(
        "graph f(x: tensor, y: tensor) {
          %a = add(x, y) : tensor
          %b = mul(%a, x) : tensor
          %a2 = relu(%a) : tensor
          %b2 = add(%b, %a2) : tensor
          %b3 = neg(%b) : tensor
          yield %b2, %b3, %a
        }",
        &expect![[r#"
            graph f(x: tensor, y: tensor) {
              %part_0 = host.call["part_0"](host.ref(x), host.ref(y)) : (tensor, tensor)  @ by split
              %a = tuple_get[0](%part_0) : tensor  @ by split
              %a2 = tuple_get[1](%part_0) : tensor  @ by split
              %part_1 = host.call["part_1"](host.ref(%a), host.ref(x), host.ref(%a2)) : (tensor, tensor)  @ by split
              %b2 = tuple_get[0](%part_1) : tensor  @ by split
              %b3 = tuple_get[1](%part_1) : tensor  @ by split
              yield %b2, %b3, %a
            }
            graph part_0(x: tensor, y: tensor) {
              %a = add(x, y) : tensor
              %a2 = relu(%a) : tensor
              yield %a, %a2
            }
            graph part_1(a: tensor, x: tensor, a2: tensor) {
              %b = mul(a, x) : tensor
              %b2 = add(%b, a2) : tensor
              %b3 = neg(%b) : tensor
              yield %b2, %b3
            }"#]],
    );
}

#[test]
fn weights_are_read_where_they_are_used_and_others_stay() {
    check(
        "graph f(self: module<Net>, x: tensor) {
          %w = get_attr[w](self) : tensor
          %a = mul(x, %w) : tensor
          %m = neg(%a) : tensor
          %b = mul(%m, %w) : tensor
          yield %b
        }",
        &expect![[r#"
            graph f(self: module<Net>, x: tensor) {
              %part_0 = host.call["part_0"](host.ref(self), host.ref(x)) : tensor  @ by split
              %m = neg(%part_0) : tensor
              %part_1 = host.call["part_1"](host.ref(self), host.ref(%m)) : tensor  @ by split
              yield %part_1
            }
            graph part_0(self: module<Net>, x: tensor) {
              %w = get_attr[w](self) : tensor
              %a = mul(x, %w) : tensor
              yield %a
            }
            graph part_1(self: module<Net>, m: tensor) {
              %w = get_attr[w](self) : tensor
              %b = mul(m, %w) : tensor
              yield %b
            }"#]],
    );
}

#[test]
fn control_flow_goes_as_a_whole() {
    check(
        "graph f(x: tensor, n: rust<bool>) {
          %a = relu(x) : tensor
          %b = if(n) : tensor { %u = add(%a, x) : tensor ; yield %u } else { yield x }
          %b2 = neg(%b) : tensor
          yield %b2
        }",
        &expect![[r#"
            graph f(x: tensor, n: rust<bool>) {
              %part_0 = host.call["part_0"](host.ref(x)) : tensor  @ by split
              %part_1 = host.call["part_1"](host.ref(n), host.ref(%part_0), host.ref(x)) : tensor  @ by split
              yield %part_1
            }
            graph part_0(x: tensor) {
              %a = relu(x) : tensor
              yield %a
            }
            graph part_1(n: rust<bool>, a: tensor, x: tensor) {
              %b = if(n) : tensor {
                %u = add(a, x) : tensor
                yield %u
              } else {
                yield x
              }
              %b2 = neg(%b) : tensor
              yield %b2
            }"#]],
    );
}

#[test]
fn parts_come_in_the_order_that_they_need() {
    // The part with the greater number is needed by the other.
    check(
        "graph f(x: tensor) {
          %b = relu(x) : tensor
          %a = neg(%b) : tensor
          %c = relu(x) : tensor
          %a2 = add(%a, %c) : tensor
          yield %a2
        }",
        &expect![[r#"
            graph f(x: tensor) {
              %part_1 = host.call["part_1"](host.ref(x)) : tensor  @ by split
              %part_2 = host.call["part_2"](host.ref(x)) : tensor  @ by split
              %part_0 = host.call["part_0"](host.ref(%part_1), host.ref(%part_2)) : tensor  @ by split
              yield %part_0
            }
            graph part_1(x: tensor) {
              %b = relu(x) : tensor
              yield %b
            }
            graph part_2(x: tensor) {
              %c = relu(x) : tensor
              yield %c
            }
            graph part_0(b: tensor, c: tensor) {
              %a = neg(b) : tensor
              %a2 = add(%a, c) : tensor
              yield %a2
            }"#]],
    );
}

#[test]
fn a_cycle_is_refused() {
    let by_data =
        "graph f(x: tensor) { %a = relu(x) : tensor ; %b = neg(%a) : tensor ; %a2 = neg(%b) : tensor ; yield %a2 }";
    let error = by_letter(&graph(by_data)).map(|split| split.main.to_string());
    assert_eq!(error, Err(SplitError::Cycle(vec![0, 1])));
    assert_eq!(
        error.unwrap_err().to_string(),
        "`part_0` and `part_1` need each other's results; put what lies between them into one part"
    );
    // No data goes from `b` to `a2`, but a write stands between.
    let by_effect = "graph f(x: tensor, y: tensor) { %a = relu(x) : tensor ; %b = add_(y, 1) ; %a2 = neg(y) : tensor ; yield %a2, %a }";
    assert_eq!(by_letter(&graph(by_effect)).map(|split| split.main.to_string()), Err(SplitError::Cycle(vec![0, 1])));
}

/// The names in each group of what is no `n`.
fn partitioned(text: &str) -> Vec<String> {
    let graph = graph(text);
    let parts = partition(&graph, |graph, id| !graph.node(id).name.starts_with('n'));
    let joined: Vec<String> = parts
        .iter()
        .map(|part| part.iter().map(|&id| graph.node(id).name.as_str()).collect::<Vec<_>>().join(" "))
        .collect();
    // Each can be split off.
    let of = |id| parts.iter().position(|part| part.contains(&id));
    split_module(&graph, |_, id| of(id)).unwrap_or_else(|error| panic!("{error}: {joined:?}"));
    joined
}

#[test]
fn what_is_supported_is_as_few_parts_as_there_can_be() {
    // Around what is not supported there would be a cycle.
    let around = "graph f(x) { %a = relu(x) ; %n = neg(%a) ; %b = relu(%a) ; %c = add(%n, %b) ; yield %c }";
    assert_eq!(partitioned(around), ["a b", "c"]);
    // Nothing connects the two.
    let apart = "graph f(x, y) { %a = relu(x) ; %n = neg(x) ; %b = relu(y) ; yield %a, %b, %n }";
    assert_eq!(partitioned(apart), ["a b"]);
    // Through another group: either may take `c`, and then it lies between the two.
    let through =
        "graph f(x) { %a = relu(x) ; %n = neg(%a) ; %b = relu(%n) ; %n2 = neg(%b) ; %c = add(%n2, %a) ; yield %c }";
    assert_eq!(partitioned(through), ["a", "b", "c"]);
    // A diamond is one.
    let diamond = "graph f(x) { %a = relu(x) ; %b = relu(%a) ; %c = neg(%a) ; %d = add(%b, %c) ; yield %d }";
    assert_eq!(partitioned(diamond), ["a b c d"]);
    // A write that is not supported parts those before from those behind.
    let write = "graph f(x, y) { %a = relu(x) ; %n = add_(y, 1) ; %b = relu(x) ; yield %a, %b }";
    assert_eq!(partitioned(write), ["a", "b"]);
    assert_eq!(partitioned("graph f(x) { %n = neg(x) ; yield %n }"), [""; 0]);
}

#[test]
fn no_two_groups_of_a_random_graph_could_be_one() {
    let mut state = 7u64;
    let mut roll = |sides: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap_or_default() % sides
    };
    for _ in 0..200 {
        let mut names = vec!["v0".to_owned()];
        let mut text = String::from("graph f(v0: tensor) { ");
        for at in 1..16 {
            let mut read = || names[roll(at.min(5)) + at.saturating_sub(5)].clone();
            let (left, right) = (read(), read());
            let name = if roll(3) == 0 { format!("%n{at}") } else { format!("%v{at}") };
            // Writing to a string cannot fail.
            let _ = write!(text, "{name} = add({left}, {right}) : tensor ; ");
            names.push(name);
        }
        let _ = write!(text, "yield {} }}", names[15]);
        let graph = graph(&text);
        let parts = partition(&graph, |graph, id| !graph.node(id).name.starts_with('n'));
        let of = |id| parts.iter().position(|part| part.contains(&id));
        assert!(split_module(&graph, |_, id| of(id)).is_ok(), "{text}");
        for one in 0..parts.len() {
            for other in one + 1..parts.len() {
                let merged = |id| of(id).map(|part| if part == other { one } else { part });
                assert!(split_module(&graph, |_, id| merged(id)).is_err(), "{one} and {other} of {text}");
            }
        }
    }
}

#[test]
fn what_needs_no_input_is_a_part() {
    let text = "graph f(self: module<Net>, x: tensor) {
      %w = get_attr[w](self) : tensor
      %t = tr(%w) : tensor
      %y = matmul(x, %t) : tensor
      yield %y
    }";
    let split = split_constants(&graph(text), &PassContext::new(true)).unwrap_or_else(|error| panic!("{error}"));
    let part = split.parts.iter().map(|part| part.graph.to_line()).collect::<Vec<_>>();
    assert_eq!(
        part,
        ["graph part_0(self: module<Net>) { %w = get_attr[w](self) : tensor ; %t = tr(%w) : tensor ; yield %t }"]
    );
    let none =
        split_constants(&graph("graph f(x: tensor) { %y = neg(x) : tensor ; yield %y }"), &PassContext::default());
    assert_eq!(none.map(|split| split.parts.len()), Ok(0));
}

#[test]
fn literals_decide() {
    let mut graph = graph(
        r#"graph f(x: tensor) {
          %n = host.binary["*"](2, 3) : rust<i64>
          %t = host.binary["<"](%n, 7) : rust<bool>
          %y = if(%t) : tensor { %a = mul.Scalar(x, %n) : tensor ; yield %a } else { yield x }
          %z = if(false) : tensor { yield x } else { %b = neg(%y) : tensor ; yield %b }
          yield %z
        }"#,
    );
    assert_eq!(fold_constants(&mut graph), Changed::Yes);
    assert_eq!(graph.lint(), Ok(()), "{graph}");
    let wanted = "graph f(x: tensor) { %a = mul.Scalar(x, 6) : tensor ; %b = neg(%a) : tensor ; yield %b }";
    assert_eq!(graph.to_line(), wanted);
    assert_eq!(fold_constants(&mut graph), Changed::No);
}

fx_pass! {
    /// For a pattern that lists every argument.
    FlattenAll { |x| x.flatten(0, -1) => x.reshape([-1]) }
}

#[test]
fn arguments_in_one_form() {
    use crate::pass::Pass as _;
    let text = "graph f(x: tensor) { %a = softmax(x, dim=-1) : tensor ; %b = flatten(%a) : tensor ; %c = convolution(%b, x, none, x, act=\"Relu\") : tensor ; yield %c }";
    let mut graph = graph(text);
    assert_eq!(normalize_arguments(&mut graph), Changed::Yes);
    assert_eq!(graph.lint(), Ok(()));
    assert!(
        graph.to_line().contains("softmax(x, -1, none)") && graph.to_line().contains("flatten(%a, 0, -1)"),
        "{graph}"
    );
    assert!(graph.to_line().contains("act=\"Relu\""), "{graph}");
    assert_eq!(normalize_arguments(&mut graph), Changed::No);
    assert_eq!(FlattenAll.run(&mut graph, &PassContext::default()), Changed::Yes);
}
