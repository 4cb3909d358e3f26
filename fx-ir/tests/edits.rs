//! Edits as users make them: what each does, and with which words a mistake is refused.
#![allow(clippy::expect_used, reason = "a test that fails may do so by panicking")]

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use fx_ir::{Arg, EditError, Graph, NodeId, ParseError};

const CHAIN: &str = "graph f(x: tensor) { %a = relu(x) ; %b = neg(%a) ; %c = add(%a, %b) ; yield %c }";
const BRANCHES: &str = "graph f(x: tensor, flag: rust<bool>) {
    %a = relu(x)
    %y = if(flag) { %inner = neg(%a) ; yield %inner } else { yield x }
    %z = tanh(%a)
    yield %y
}";

fn named(graph: &Graph, name: &str) -> NodeId {
    graph.nodes().into_iter().find(|&id| graph.node(id).name == name).expect("a node of that name")
}

fn by_name(graph: &Graph) -> impl Fn(&str) -> NodeId + use<> {
    let ids: BTreeMap<String, NodeId> = graph.nodes().into_iter().map(|id| (graph.node(id).name.clone(), id)).collect();
    move |name| ids[name]
}

/// An edit that is allowed.
fn check(text: &str, edit: impl FnOnce(&mut Graph) -> Result<(), EditError>, want: &Expect) -> Result<(), ParseError> {
    let mut graph: Graph = text.parse()?;
    assert_eq!(edit(&mut graph), Ok(()), "{graph}");
    assert_eq!(graph.lint(), Ok(()), "{graph}");
    want.assert_eq(&graph.to_line());
    Ok(())
}

/// An edit that is refused, and changes nothing.
fn refuse<T>(
    text: &str,
    edit: impl FnOnce(&mut Graph) -> Result<T, EditError>,
    want: &Expect,
) -> Result<(), ParseError> {
    let mut graph: Graph = text.parse()?;
    let before = graph.to_line();
    match edit(&mut graph) {
        Ok(_) => want.assert_eq(&format!("allowed: {}", graph.to_line())),
        Err(error) => want.assert_eq(&error.to_string()),
    }
    assert_eq!(graph.to_line(), before);
    assert_eq!(graph.lint(), Ok(()), "{graph}");
    Ok(())
}

#[test]
fn nodes_are_made_in_the_order_of_the_calls() -> Result<(), ParseError> {
    let make = |graph: &mut Graph| {
        let of = by_name(graph);
        let mut cursor = graph.inserting_after(of("a"))?;
        let first = cursor.call("sigmoid", [of("a")])?;
        cursor.call_module("layers.0.fc", "Linear", [first])?;
        let mut cursor = graph.inserting_before(of("c"))?;
        let weight = cursor.get_attr("layers.0.scale")?;
        let sum = cursor.call("add", [Arg::from(of("b")), weight.into()])?;
        cursor.call_function("crate::log", [sum])?;
        graph.inserting_before(of("x"))?.call("ones_like", [of("x")])?;
        Ok(())
    };
    check(
        CHAIN,
        make,
        &expect![[
            r#"graph f(x: tensor) { %ones_like = ones_like(x) : tensor ; %a = relu(x) ; %sigmoid = sigmoid(%a) : tensor ; %layers_0_fc = call_module[Linear]("layers.0.fc", %sigmoid) : tensor ; %b = neg(%a) ; %layers_0_scale = get_attr[layers.0.scale]() : tensor ; %add = add(%b, %layers_0_scale) : tensor ; %log = host.call["crate::log", io](%add) ; %c = add(%a, %b) ; yield %c }"#
        ]],
    )
}

#[test]
fn a_made_node_comes_from_where_its_place_was_named_by() -> Result<(), ParseError> {
    let text = "graph f(x: tensor) { %a = relu(x)  @ src/net.rs:7 as a ; yield %a }";
    let mut graph: Graph = text.parse()?;
    let a = named(&graph, "a");
    let made = graph.inserting_after(a).and_then(|mut cursor| cursor.call("neg", [a]));
    assert_eq!(made.map(|id| graph.node(id).origin.lines()), Ok(Some("src/net.rs:7".to_owned())));
    Ok(())
}

#[test]
fn arguments_are_inserted_and_updated() -> Result<(), ParseError> {
    let edit = |graph: &mut Graph| {
        let of = by_name(graph);
        graph.insert_arg(of("c"), 1, 1)?;
        graph.update_arg(of("c"), 0, of("y"))?;
        graph.update_kwarg(of("c"), "out", 2)?;
        graph.update_kwarg(of("c"), "out", 3)
    };
    check(
        "graph f(x: tensor, y: tensor) { %c = flatten(x, -1) ; yield %c }",
        edit,
        &expect!["graph f(x: tensor, y: tensor) { %c = flatten(y, 1, -1, out=3) ; yield %c }"],
    )
}

#[test]
fn nodes_are_moved_and_have_neighbours() -> Result<(), ParseError> {
    let edit = |graph: &mut Graph| {
        let of = by_name(graph);
        graph.prepend(of("y"), of("z"))?;
        graph.append(of("inner"), of("inner"))?;
        let order = |id| std::iter::successors(Some(id), |&id| graph.next(id)).collect::<Vec<_>>();
        assert_eq!(order(of("x")), ["x", "flag", "a", "z", "y", "output"].map(&of));
        assert_eq!((graph.prev(of("a")), graph.prev(of("x"))), (Some(of("flag")), None));
        graph.append(of("a"), of("z"))
    };
    check(
        BRANCHES,
        edit,
        &expect![
            "graph f(x: tensor, flag: rust<bool>) { %a = relu(x) ; %z = tanh(%a) ; %y = if(flag) { %inner = neg(%a) ; yield %inner } else { yield x } ; yield %y }"
        ],
    )
}

#[test]
fn a_node_in_use_is_not_erased() -> Result<(), ParseError> {
    refuse(
        CHAIN,
        |graph| graph.erase_node(named(graph, "a")),
        &expect!["`a` is read by `b`, `c`; let them read something else first"],
    )
}

#[test]
fn an_erased_node_is_no_node() -> Result<(), ParseError> {
    let mut graph: Graph = "graph f(x) { %a = relu(x) ; yield x }".parse()?;
    let a = named(&graph, "a");
    assert_eq!(graph.erase_node(a), Ok(()));
    let error = graph.erase_node(a);
    assert_eq!(error.as_ref().map_err(ToString::to_string), Err("node n1 of the graph `f` was erased".to_owned()));
    let x = named(&graph, "x");
    for refused in [
        graph.update_arg(x, 0, a).err(),
        graph.try_replace_all_uses_with(x, a).map(drop).err(),
        graph.prepend(a, x).err(),
        graph.append(x, a).err(),
        graph.inserting_after(a).map(drop).err(),
        graph.try_node(a).map(drop).err(),
    ] {
        assert!(matches!(refused, Some(EditError::Erased { .. } | EditError::Position { .. })), "{refused:?}");
    }
    assert_eq!((graph.next(a), graph.prev(a)), (None, None));
    Ok(())
}

#[test]
fn a_node_of_another_graph_is_refused() -> Result<(), ParseError> {
    let other: Graph = CHAIN.parse()?;
    let theirs = named(&other, "a");
    let words = &expect!["node n1 is none of the graph `f` but of another; copy it with `node_copy` first"];
    refuse(CHAIN, |graph| graph.erase_node(theirs), words)?;
    refuse(CHAIN, |graph| graph.update_arg(named(graph, "c"), 0, theirs), words)?;
    refuse(CHAIN, |graph| graph.try_replace_all_uses_with(named(graph, "a"), theirs), words)?;
    refuse(CHAIN, |graph| graph.prepend(named(graph, "a"), theirs), words)?;
    refuse(CHAIN, |graph| graph.inserting_before(theirs).map(drop), words)?;
    refuse(
        CHAIN,
        |graph| {
            let c = named(graph, "c");
            graph.inserting_before(c)?.call("relu", [theirs])
        },
        words,
    )?;
    let copy = |graph: &mut Graph| {
        let c = named(graph, "c");
        graph.inserting_before(c)?.node_copy(&other, named(&other, "b"), &mut BTreeMap::new())
    };
    refuse(CHAIN, copy, words)
}

#[test]
fn use_before_definition_and_cycles_are_refused() -> Result<(), ParseError> {
    refuse(
        CHAIN,
        |graph| graph.update_arg(named(graph, "a"), 0, named(graph, "b")),
        &expect!["`a` would read `b`, which is not computed before it"],
    )?;
    refuse(
        CHAIN,
        |graph| graph.update_arg(named(graph, "a"), 0, named(graph, "a")),
        &expect!["`a` would read itself"],
    )?;
    refuse(
        CHAIN,
        |graph| graph.insert_arg(named(graph, "b"), 1, named(graph, "c")),
        &expect!["`b` would read `c`, which is not computed before it"],
    )?;
    refuse(
        CHAIN,
        |graph| graph.update_kwarg(named(graph, "b"), "k", named(graph, "c")),
        &expect!["`b` would read `c`, which is not computed before it"],
    )?;
    refuse(
        CHAIN,
        |graph| graph.try_replace_all_uses_with(named(graph, "x"), named(graph, "b")),
        &expect!["`a` would read `b`, which is not computed before it"],
    )?;
    refuse(
        CHAIN,
        |graph| graph.prepend(named(graph, "a"), named(graph, "c")),
        &expect!["`c` would read `a`, which is not computed before it"],
    )?;
    refuse(
        CHAIN,
        |graph| graph.append(named(graph, "c"), named(graph, "a")),
        &expect!["`b` would read `a`, which is not computed before it"],
    )?;
    refuse(
        CHAIN,
        |graph| {
            let of = by_name(graph);
            graph.inserting_before(of("b"))?.call("relu", [of("c")])
        },
        &expect!["`relu` would read `c`, which is not computed before it"],
    )?;
    // What a branch computes is not seen outside, and what is moved takes its branches along.
    refuse(
        BRANCHES,
        |graph| graph.update_arg(named(graph, "z"), 0, named(graph, "inner")),
        &expect!["`z` would read `inner`, which is not computed before it"],
    )?;
    refuse(
        BRANCHES,
        |graph| graph.prepend(named(graph, "a"), named(graph, "y")),
        &expect!["`inner` would read `a`, which is not computed before it"],
    )?;
    refuse(
        BRANCHES,
        |graph| graph.prepend(named(graph, "inner"), named(graph, "y")),
        &expect!["`inner` stands inside what would be moved before it"],
    )?;
    refuse(
        BRANCHES,
        |graph| graph.prepend(named(graph, "inner"), named(graph, "a")),
        &expect!["`z` would read `a`, which is not computed before it"],
    )
}

#[test]
fn parameters_and_ends_stay() -> Result<(), ParseError> {
    refuse(
        CHAIN,
        |graph| graph.append(named(graph, "a"), named(graph, "x")),
        &expect!["`x` is a parameter and cannot be moved"],
    )?;
    refuse(
        CHAIN,
        |graph| graph.prepend(named(graph, "a"), named(graph, "output")),
        &expect!["`output` ends its region: it cannot be moved, and nothing comes after it"],
    )?;
    refuse(
        CHAIN,
        |graph| graph.append(named(graph, "output"), named(graph, "a")),
        &expect!["`output` ends its region: it cannot be moved, and nothing comes after it"],
    )?;
    refuse(
        CHAIN,
        |graph| graph.inserting_after(named(graph, "output")).map(drop),
        &expect!["`output` ends its region: it cannot be moved, and nothing comes after it"],
    )?;
    refuse(
        CHAIN,
        |graph| graph.update_arg(named(graph, "c"), 2, 1),
        &expect!["`c` has 2 arguments and none at position 2"],
    )?;
    refuse(
        CHAIN,
        |graph| {
            let of = by_name(graph);
            graph.inserting_before(of("c"))?.call("sigmiod", [of("a")])
        },
        &expect!["there is no op `sigmiod`; there is one called `sigmoid`"],
    )
}

#[test]
fn a_deep_copy_has_ids_of_its_own() -> Result<(), ParseError> {
    let mut graph: Graph = BRANCHES.parse()?;
    let a = named(&graph, "a");
    graph.node_mut(a).meta.insert("note", "kept");
    let x = named(&graph, "x");
    graph.node_mut(x).meta.insert("scale", 0.5);
    let (mut copy, map) = graph.deep_copy();
    assert_eq!(copy.to_string(), graph.to_string());
    assert_eq!(map.len(), graph.nodes().len());
    assert_eq!(copy.node(map[&a]).meta.get::<String>("note").as_deref(), Some("kept"));
    assert!(copy.try_node(a).is_err() && graph.try_node(map[&a]).is_err());
    copy.node_mut(map[&a]).meta.remove("note");
    assert_eq!(graph.node(a).meta.get::<String>("note").as_deref(), Some("kept"));
    // What comes next bears the name that it would bear in the original.
    let names = [&mut graph, &mut copy].map(|graph| graph.fresh_name("a"));
    assert_eq!(names[0], names[1]);
    Ok(())
}

#[test]
fn notes_are_read_back_from_text() -> Result<(), ParseError> {
    let text = r#"graph f(x: tensor $(scale=0.5), y) { %a = relu(x) : tensor  @ src/a.rs:1 as a $("a key"=[1, [true, "x"]], bits=8) ; yield %a $(last=true) }"#;
    assert_eq!(text.parse::<Graph>()?.to_line(), text);
    let refused = |text: &str| text.parse::<Graph>().map(drop).map_err(|error| error.to_string());
    expect!["1:32: a note is a literal or a list of literals"]
        .assert_eq(&refused("graph f(x) { %a = relu(x) $(of=x) ; yield %a }").unwrap_err());
    Ok(())
}
