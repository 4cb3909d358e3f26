//! The edits, on text; and that they stay cheap on large graphs.

use std::collections::BTreeMap;
use std::time::Instant;

use expect_test::{Expect, expect};

use super::{EditError, Spot};
use crate::{Arg, Graph, NodeId, Op, OpId, Origin, ParseError, Type};

/// Edits a graph and compares it in one line, after the verifier has had its say.
fn check(text: &str, edit: impl FnOnce(&mut Graph), want: &Expect) -> Result<(), ParseError> {
    let mut graph: Graph = text.parse()?;
    edit(&mut graph);
    assert_eq!(graph.lint(), Ok(()), "{graph}");
    want.assert_eq(&graph.to_line());
    Ok(())
}

fn named(graph: &Graph, name: &str) -> NodeId {
    graph.nodes().into_iter().find(|&id| graph.node(id).name == name).expect("a node of that name")
}

fn op(name: &str) -> Op {
    OpId::lookup(name).map_or(Op::Yield, Op::Call)
}

#[test]
fn inserts_before_and_after() -> Result<(), ParseError> {
    let insert = |graph: &mut Graph| {
        let (x, a) = (named(graph, "x"), named(graph, "a"));
        let args = vec![Arg::Node(x)];
        graph.insert_before(a, op("neg"), args.clone(), "before", Type::Unknown, Origin::default());
        graph.insert_after(a, op("exp"), args.clone(), "after", Type::Unknown, Origin::default());
        graph.insert_after(x, op("sqrt"), args, "first", Type::Unknown, Origin::default());
    };
    check(
        "graph f(x) { %a = relu(x) ; yield %a }",
        insert,
        &expect!["graph f(x) { %first = sqrt(x) ; %before = neg(x) ; %a = relu(x) ; %after = exp(x) ; yield %a }"],
    )
}

#[test]
fn replacing_uses_spares_the_replacement() -> Result<(), ParseError> {
    let replace = |graph: &mut Graph| {
        let (a, b) = (named(graph, "a"), named(graph, "b"));
        graph.replace_all_uses_with(a, &Arg::Node(b));
    };
    let text = "graph f(x) { %a = relu(x) ; %b = neg(%a) ; %c = cat([%a, x], 0) ; yield %a, %c }";
    check(text, replace, &expect!["graph f(x) { %a = relu(x) ; %b = neg(%a) ; %c = cat([%b, x], 0) ; yield %b, %c }"])
}

#[test]
fn a_node_with_users_stays() -> Result<(), ParseError> {
    let mut graph: Graph =
        "graph f(x) { %a = relu(x) ; %b = if(x) { yield %a } else { yield x } ; yield %b }".parse()?;
    let (a, b) = (named(&graph, "a"), named(&graph, "b"));
    let in_use = EditError::InUse { node: "a".to_owned(), users: vec!["yield".to_owned()] };
    assert_eq!(graph.erase_node(a), Err(in_use));
    let body = graph.body();
    graph.truncate(body, 2);
    assert_eq!(graph.erase_node(b), Ok(()));
    assert_eq!(graph.erase_node(a), Ok(()));
    assert_eq!(graph.to_line(), "graph f(x) { }");
    Ok(())
}

#[test]
fn users_are_seen_whichever_way_they_came() -> Result<(), ParseError> {
    let mut graph: Graph =
        "graph f(x) { %a = relu(x) ; %b = if(x) { %c = neg(x) ; yield %c } else { yield x } ; yield %b }".parse()?;
    let [x, a, c, b] = ["x", "a", "c", "b"].map(|name| named(&graph, name));
    assert_eq!(graph.users(a), []);
    graph.node_mut(c).args = vec![Arg::List(vec![Arg::Node(a)])];
    assert_eq!(graph.users(a), [c]);
    let end = graph.yield_of(graph.node(b).regions[1]).into_iter();
    assert_eq!(graph.users(x), [a, b].into_iter().chain(end).collect::<Vec<_>>());
    graph.node_mut(b).regions.clear();
    assert_eq!((graph.users(a), graph.is_live(c)), (vec![], false));
    Ok(())
}

#[test]
fn moves_that_make_no_sense_are_refused() -> Result<(), ParseError> {
    let text = "graph f(x) { %a = relu(x) ; %b = if(x) { %c = neg(x) ; yield %c } else { yield x } ; yield %b }";
    let refused = |graph: &mut Graph| {
        let [x, a, c, b] = ["x", "a", "c", "b"].map(|name| named(graph, name));
        assert_eq!(graph.move_before(x, a), Err(EditError::Parameter("x".to_owned())));
        assert_eq!(graph.move_before(b, c), Err(EditError::Inside("c".to_owned())));
        assert_eq!(graph.move_before(a, a), Ok(()));
        assert_eq!(graph.move_before(a, c), Ok(()));
        assert_eq!(graph.region_of(a), graph.region_of(c));
    };
    check(
        text,
        refused,
        &expect!["graph f(x) { %b = if(x) { %a = relu(x) ; %c = neg(x) ; yield %c } else { yield x } ; yield %b }"],
    )
}

#[test]
fn a_constant_if_is_spliced_away() -> Result<(), ParseError> {
    let splice = |graph: &mut Graph| {
        let b = named(graph, "b");
        let region = graph.node(b).regions[0];
        assert_eq!(graph.splice_region(region, named(graph, "c")), Err(EditError::Inside("c".to_owned())));
        let yielded = graph.splice_region(region, b).unwrap_or_default();
        graph.replace_all_uses_with(b, &yielded[0]);
        assert_eq!(graph.erase_node(b), Ok(()));
    };
    let text = "graph f(x) { %b = if(true) { %c = neg(x) ; %d = exp(%c) ; yield %d } else { yield x } ; yield %b }";
    check(text, splice, &expect!["graph f(x) { %c = neg(x) ; %d = exp(%c) ; yield %d }"])
}

#[test]
fn a_loop_is_unrolled_by_copying_its_region() -> Result<(), ParseError> {
    let unroll = |graph: &mut Graph| {
        let [x, r, i, acc] = ["x", "r", "i", "acc"].map(|name| named(graph, name));
        let (region, mut carried) = (graph.node(r).regions[0], Arg::Node(x));
        for turn in 0..2 {
            let mut map = BTreeMap::from([(i, Arg::Int(turn)), (acc, carried)]);
            carried = graph.region_copy(region, &mut map, Spot::Before(r)).swap_remove(0);
        }
        graph.replace_all_uses_with(r, &carried);
        assert_eq!(graph.erase_node(r), Ok(()));
    };
    let text = r#"graph f(x, n) { %r = for["%0"](n, x) (i, acc) {
        %y = if(acc) { %s = add.Scalar(acc, i) ; yield %s } else { yield x }
        yield %y
    } ; yield %r }"#;
    check(
        text,
        unroll,
        &expect![
            "graph f(x, n) { %y_1 = if(x) { %s_1 = add.Scalar(x, 0) ; yield %s_1 } else { yield x } ; %y_2 = if(%y_1) { %s_2 = add.Scalar(%y_1, 1) ; yield %s_2 } else { yield x } ; yield %y_2 }"
        ],
    )
}

#[test]
fn a_child_is_inlined_by_copying_its_graph() -> Result<(), ParseError> {
    let child: Graph = "graph child(self, xs) { %w = get_attr[w](self) ; %y = matmul(xs, %w) ; yield %y }".parse()?;
    let inline = |graph: &mut Graph| {
        let [x, block, call] = ["x", "block", "call"].map(|name| named(graph, name));
        let params = &child.region(child.body()).params;
        let mut map = BTreeMap::from([(params[0], Arg::Node(block)), (params[1], Arg::Node(x))]);
        let yielded = graph.graph_copy(&child, &mut map, Spot::Before(call));
        graph.replace_all_uses_with(call, &yielded[0]);
        assert_eq!(graph.erase_node(call), Ok(()));
    };
    let text =
        "graph f(self, x) { %block = get_attr[block](self) ; %call = call_module[Child](%block, x) ; yield %call }";
    check(
        text,
        inline,
        &expect![
            "graph f(self, x) { %block = get_attr[block](self) ; %w = get_attr[w](%block) ; %y = matmul(x, %w) ; yield %y }"
        ],
    )
}

#[test]
fn retain_sweeps_chains_and_regions() -> Result<(), ParseError> {
    let sweep = |graph: &mut Graph| {
        let erased = graph.retain(|graph, id| graph.is_impure(id) || graph.has_users(id));
        assert_eq!(erased, 4);
    };
    let text = "graph f(x) { %a = relu(x) ; %b = neg(%a) ; %c = if(x) { %d = exp(x) ; yield } else { yield }
        %e = if(x) { %p = print(x) ; yield } else { yield } ; yield x }";
    check(text, sweep, &expect!["graph f(x) { %e = if(x) { %p = print(x) ; yield } else { yield } ; yield x }"])
}

#[test]
fn ten_thousand_nodes_take_no_time() {
    let start = Instant::now();
    let mut graph = Graph::new("long");
    let body = graph.body();
    let x = graph.add_param(body, "x", Type::TENSOR, Origin::default());
    let mut last = x;
    for _ in 0..10_000 {
        last =
            graph.push(body, op("relu"), vec![Arg::Node(last), Arg::Node(x)], "relu", Type::TENSOR, Origin::default());
    }
    graph.push(body, Op::Yield, vec![Arg::Node(x)], "output", Type::TENSOR, Origin::default());
    for id in graph.nodes() {
        if matches!(graph.node(id).op, Op::Call(_)) {
            let twin = graph.insert_before(id, op("neg"), vec![Arg::Node(x)], "neg", Type::TENSOR, Origin::default());
            graph.node_mut(id).args.truncate(1);
            graph.replace_all_uses_with(id, &Arg::Node(twin));
        }
    }
    assert_eq!(graph.retain(Graph::has_users), 20_000);
    assert_eq!(graph.nodes().len(), 2);
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}
