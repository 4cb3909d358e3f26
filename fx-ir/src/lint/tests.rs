//! Each rule broken once, and graphs that keep them all.

use expect_test::{Expect, expect};

use crate::{Arg, Fault, Graph, NodeId, Op, Origin, ParseError, RegionId, Type};

fn check(text: &str, want: &Expect) -> Result<(), ParseError> {
    check_graph(&text.parse()?, want);
    Ok(())
}

fn check_graph(graph: &Graph, want: &Expect) {
    want.assert_eq(&shown(graph.lint()));
}

fn shown(result: Result<(), Vec<Fault>>) -> String {
    let faults = result.err().unwrap_or_default();
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn named(graph: &Graph, name: &str) -> NodeId {
    graph.nodes().into_iter().find(|&id| graph.node(id).name == name).unwrap_or(NodeId(0))
}

#[test]
fn a_sound_graph_has_no_fault() -> Result<(), ParseError> {
    check(
        r#"graph f(self: module<F>, xs: tensor) {
             %layers = get_attr[layers](self) : list<module<Block>>
             %r = for["(i, layer)"](%layers, xs) : tensor (i: rust<usize>, layer: module<Block>, acc: tensor) {
               %next = call_module[Block](layer, acc) : tensor
               yield %next
             }
             %n = while(0) (j) { %go = rust["$0 < 3"](j) ; yield %go } do (k) { %l = rust["$0 + 1"](k) ; yield %l }
             %pair = if(%n) : (tensor, tensor) { yield %r, xs } else { yield xs, %r }
             %part = tuple_get[1](%pair) : tensor
             %left = match(%n) { "0" { %stop = rust["return $0", io](xs) : rust<!> ; yield %stop } "_" { yield xs } }
             %y = linear(%left, %part, act="Relu")
             yield %y
           }"#,
        &expect![[""]],
    )
}

#[test]
fn a_value_of_another_region_is_out_of_reach() -> Result<(), ParseError> {
    check(
        "graph f(x) { %y = if(x) { %a = relu(x) ; yield %a } else { %b = relu(%a) ; yield %b } ; yield %a, %y }",
        &expect![[r#"
            `b` reads `a`, which is computed in a region that does not enclose it [dominance]
            `output` reads `a`, which is computed in a region that does not enclose it [dominance]"#]],
    )
}

#[test]
fn a_value_is_computed_before_it_is_read() -> Result<(), ParseError> {
    let mut graph: Graph = "graph f(x) { %a = relu(x) ; %b = neg(x) ; yield %a }".parse()?;
    let (a, b) = (named(&graph, "a"), named(&graph, "b"));
    graph.node_mut(a).args = vec![Arg::Node(b)];
    check_graph(&graph, &expect!["`a` reads `b` before it is computed [dominance]"]);
    Ok(())
}

#[test]
fn a_region_ends_in_its_only_yield() -> Result<(), ParseError> {
    check(
        "graph f(x) { yield x ; %a = relu(x) }",
        &expect![[r#"
        `output` yields before the end of its region [yield]
        `f` has a region that does not end in a yield [yield]"#]],
    )?;
    check(
        "graph f(x) { %y = if(x) { } else { yield x } ; yield %y }",
        &expect!["`y` has a region that does not end in a yield [yield]"],
    )
}

#[test]
fn placeholders_are_parameters() -> Result<(), ParseError> {
    check(
        "graph f(x) { %p = placeholder() ; yield %p }",
        &expect!["`p` is a placeholder but no parameter [placeholder]"],
    )
}

#[test]
fn arguments_are_counted() -> Result<(), ParseError> {
    check(
        r#"graph f(x) {
             %a = relu(x, x)
             %b = relu()
             %c = matmul(x)
             %d = get_attr[w](x, x)
             %e = rust["$0 + $2 + $$9"](x, x)
             %pair = rust["p()"]() : (tensor, tensor)
             %g = tuple_get[2](%pair)
             %h = if(x) { yield x }
             %i = cat([x, x], dim=1, dim=2)
             yield %a
           }"#,
        &expect![[r#"
            `a` has 2 arguments instead of 1 or fewer [arity]
            `b` has no tensor to work on [arity]
            `c` is not given `other` [arity]
            `d` has 2 arguments instead of 0 or more [arity]
            `e` mentions `$2` but has 2 arguments [arity]
            `g` takes part 2 of a tuple of 2 [arity]
            `h` has 1 regions instead of 2 [arity]
            `i` is given `dim` twice [arity]"#]],
    )
}

#[test]
fn branches_agree() -> Result<(), ParseError> {
    check(
        r#"graph f(x: f32[2], n: rust<i64>) {
             %a = if(n) { yield x, x } else { yield x }
             %b = if(n) { yield x } else { yield n }
             %c = match(n) : rust<bool> { "1" { yield x } "_" { yield x } }
             %d = if(n) (p) { yield x } else { yield x }
             yield
           }"#,
        &expect![[r#"
            `a` yields 1 values from its region 1 but 2 from another [flow]
            `b` yields rust<i64> from its region 1 but f32[2] from another [flow]
            `c` is of type rust<bool> but its regions yield (f32[2]) [flow]
            `d` has a region of 1 parameters instead of 0 [flow]"#]],
    )
}

#[test]
fn loops_carry_the_same_from_turn_to_turn() -> Result<(), ParseError> {
    check(
        r#"graph f(x: tensor, n: rust<i64>) {
             %a = for[i](n, x, x) (acc) { yield acc }
             %b = for[i](n, x) (i, acc_1: tensor) { yield }
             %c = for[i](n, x) (j, acc_2: tensor) { yield n }
             %d = while(n) (k) { yield k, k } do (l) { yield l }
             %e = while(n) { yield true } do (m) { yield m }
             yield
           }"#,
        &expect![[r#"
            `a` carries 2 values but its region has 1 parameters [flow]
            `b` carries 1 values but its region yields 0 [flow]
            `c` carries tensor in, tensor through and rust<i64> on [flow]
            `d` has a condition that yields 2 values [flow]
            `e` has a region of 0 parameters instead of 1 [flow]"#]],
    )
}

#[test]
fn names_are_unique() -> Result<(), ParseError> {
    let mut graph: Graph = "graph f(x) { %a = relu(x) ; yield %a }".parse()?;
    let a = named(&graph, "a");
    graph.node_mut(a).name = "x".to_owned();
    check_graph(&graph, &expect!["`x` is the name of two nodes [name]"]);
    Ok(())
}

#[test]
fn a_region_has_one_owner() -> Result<(), ParseError> {
    let mut graph: Graph = "graph f(x) { %y = if(x) { yield x } else { yield x } ; %z = if(x) ; yield %y }".parse()?;
    let regions = graph.node(named(&graph, "y")).regions.clone();
    let z = named(&graph, "z");
    graph.node_mut(z).regions = regions;
    check_graph(
        &graph,
        &expect![[r#"
        `z` owns a region that another owns too [owner]
        `z` owns a region that does not know it [owner]
        `z` owns a region that another owns too [owner]
        `z` owns a region that does not know it [owner]"#]],
    );
    graph.node_mut(z).regions = vec![RegionId(99)];
    check_graph(&graph, &expect!["`z` owns a region that does not exist [dead]"]);
    Ok(())
}

#[test]
fn an_erased_node_is_not_read() -> Result<(), ParseError> {
    let mut graph: Graph = "graph f(x) { %a = relu(x) ; %b = neg(%a) ; yield x }".parse()?;
    let (a, b) = (named(&graph, "a"), named(&graph, "b"));
    graph.erase_node(b).ok();
    graph.erase_node(a).ok();
    let body = graph.body();
    graph.push(body, Op::Yield, vec![Arg::Node(a)], "late", Type::Unknown, Origin::default());
    check_graph(&graph, &expect!["`late` reads a node that was erased [dead]"]);
    Ok(())
}

#[test]
fn origins_are_asked_for_apart() -> Result<(), ParseError> {
    let graph: Graph = "graph f(x) { %a = relu(x) @ src/a.rs:1 ; %b = neg(%a) @ by fuse ; yield %b }".parse()?;
    assert!(graph.lint().is_ok());
    expect!["`b` has no source line [origin]"].assert_eq(&shown(graph.lint_origins()));
    Ok(())
}
