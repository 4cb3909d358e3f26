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
    graph.nodes().into_iter().find(|&id| graph.node(id).name == name).expect("a node of that name")
}

#[test]
fn a_sound_graph_has_no_fault() -> Result<(), ParseError> {
    check(
        r#"graph f(self: module<F>, xs: tensor) {
             %layers = get_attr[layers](self) : list<module<Block>>
             %r = for["(%0, %1)"](%layers, xs) : tensor (i: rust<usize>, layer: module<Block>, acc: tensor) {
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
             %b = for["%0"](n, x) (i, acc_1: tensor) { yield }
             %c = for["%0"](n, x) (j, acc_2: tensor) { yield n }
             %d = while(n) (k) { yield k, k } do (l) { yield l }
             %e = while(n) { yield true } do (m) { yield m }
             yield
           }"#,
        &expect![[r#"
            `a` binds 0 and carries 2 values but its region has 1 parameters [flow]
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

#[test]
fn host_operations_that_fit_have_no_fault() -> Result<(), ParseError> {
    check(
        r#"graph f(self: module<"crate::F">, x: tensor, n: rust<i64>, o: option<tensor>, l: list<tensor>) {
             %a = host.binary["+"](n, host.cast["i64"](host.method["len"](l))) : rust<i64>
             %b = host.assign[io](host.item(l, 0), host.handle(host.unwrap_ref(o)))
             %c = host.assign_op["+=", io](n, 1)
             %d = host.mutate["push", io](host.unwrap_mut(host.field["keys"](host.lock(self))), host.handle(x))
             %e = host.tuple(x, host.field["0"](host.tuple(n, x)), host.item(host.vec(1, 2), 0))
             %g = host.assign[io](host.deref(host.call_method["slot"](self)), 3)
             %h = host.binary["=="](host.none_of["i64"](), host.some(n))
             %i = host.exchange["take", io](host.ref_mut(o))
             %j = host.unwrap_loan(host.method["get"](l, host.range[".."](0, 1)))
             %k = host.cast["f64"](host.item(%j, 0))
             %m = host.map_list(l, host.handle(`one`))
             %y = if(n) : list<tensor> { %s = host.slice[".."](l, 1, none) : list<tensor> ; yield %s } else { yield l }
             %z = if(n) : tensor { %s_1 = host.item_ref(l, 1) : tensor ; yield %s_1 } else { %t = host.handle(x) : tensor ; yield %t }
             yield x
           }"#,
        &expect![[""]],
    )
}

#[test]
fn operands_are_counted() -> Result<(), ParseError> {
    check(
        r#"graph f(x: tensor, l: list<rust<i64>>) {
             %a = host.binary["+"](1)
             %b = host.struct["S", "a", "b"](host.handle())
             %c = host.method["push"](l, 1, 2)
             %d = rust["f($0)"](host.unit(x))
             %e = host.exchange["take"](l, l)
             yield x
           }"#,
        &expect![[r#"
            `a` has `host.binary["+"]`, which has 1 arguments instead of 2 [arity]
            `b` has `host.handle`, which has 0 arguments instead of 1 [arity]
            `b` has `host.struct["S", "a", "b"]`, which has 1 arguments instead of 2 [arity]
            `c` has `host.method["push"]`, which has 2 arguments instead of 1 beside list<rust<i64>> [arity]
            `d` has `host.unit`, which has 1 arguments instead of 0 [arity]
            `e` has `host.exchange["take"]`, which has 2 arguments instead of 1 [arity]
            `c` has `host.method["push"]`, which changes what it is called on: that is `host.mutate` [ownership]"#]],
    )
}

#[test]
fn operands_are_of_kinds_that_fit() -> Result<(), ParseError> {
    check(
        r#"graph f(x: tensor, n: rust<i64>, o: option<tensor>, l: list<rust<i64>>, t: (tensor, rust<f32>)) {
             %a = host.binary["*"](x, 2)
             %b = host.binary["+"](n, host.field["1"](t))
             %c = host.unwrap(l)
             %d = host.item(o, 0)
             %e = host.cast["f64"](host.some(n))
             %g = host.field["2"](t)
             %h = host.handle(n)
             %i = host.binary["&&"](host.binary["<"](n, 1), n)
             %j = host.sum["i64"](x)
             %k = host.neg(host.method["first"](l))
             %m = host.index(l, 0)
             yield x
           }"#,
        &expect![[r#"
            `a` has `host.binary["*"]`, which takes two numbers of one type, on tensor and rust<integer> [operands]
            `b` has `host.binary["+"]`, which takes two numbers of one type, on rust<i64> and rust<f32> [operands]
            `c` has `host.unwrap`, which takes an option, on list<rust<i64>> [operands]
            `d` has `host.item`, which takes a list, on option<tensor> [operands]
            `e` has `host.cast["f64"]`, which takes a number, on option<rust<i64>> [operands]
            `g` has `host.field["2"]`, which a tuple of 2 does not have [operands]
            `h` has `host.handle`, which takes a tensor, on rust<i64> [operands]
            `i` has `host.binary["&&"]`, which takes two truth values, on rust<bool> and rust<i64> [operands]
            `j` has `host.sum["i64"]`, which takes a list, on tensor [operands]
            `k` has `host.neg`, which takes a number, on option<rust<i64>> [operands]
            `m` has `host.index`, which takes a tensor, on list<rust<i64>> [operands]"#]],
    )
}

#[test]
fn what_is_written_to_is_a_place() -> Result<(), ParseError> {
    check(
        r#"graph f(x: tensor, n: rust<i64>, l: list<tensor>) {
             %a = host.assign[io](3, n)
             %b = host.assign[io](host.binary["+"](n, 1), n)
             %c = host.assign_op["+=", io](host.ref(n), 1)
             %d = host.mutate["push", io](host.to_vec(l), host.handle(x))
             %e = host.mutate["push", io](host.deref(host.ref(l)), host.handle(x))
             %g = host.tuple(host.assign[io](n, 1))
             %h = host.ref(%a)
             %i = host.method["pop"](l)
             %j = host.resize_with[io](host.item(host.item_ref(l, 0), 1), 1, 2)
             yield x
           }"#,
        &expect![[r#"
            `j` has `host.item`, which takes a list, on tensor [operands]
            `a` has `host.assign`, which writes to a literal [ownership]
            `b` has `host.assign`, which writes to `host.binary["+"]`, which is no place [ownership]
            `c` has `host.assign_op["+="]`, which writes to the reference `host.ref` [ownership]
            `d` has `host.mutate["push"]`, which writes to `host.to_vec`, which is no place [ownership]
            `e` has `host.mutate["push"]`, which writes to what lies behind the shared reference `host.ref` [ownership]
            `g` has `host.assign`, which yields nothing, within an argument [ownership]
            `h` has `host.ref`, which borrows what yields nothing [ownership]
            `i` has `host.method["pop"]`, which changes what it is called on: that is `host.mutate` [ownership]
            `j` has `host.resize_with`, which writes to what lies behind the shared reference `host.item_ref` [ownership]"#]],
    )
}

#[test]
fn a_tensor_is_not_moved_out_of_a_place() -> Result<(), ParseError> {
    check(
        r#"graph f(x: tensor, n: rust<i64>, l: list<tensor>, p: list<(tensor, rust<i64>)>, o: option<tensor>) {
             %a = host.vec(host.item(l, 0))
             %b = host.some(host.field["0"](host.item(p, 1)))
             %c = host.assign[io](x, host.unwrap_mut(o))
             %d = host.tuple(host.field["1"](host.item(p, 1)), host.handle(host.item(l, 0)))
             yield x
           }"#,
        &expect![[r#"
            `a` has `host.vec`, which moves a tensor out of `host.item`: that takes a handle [ownership]
            `b` has `host.some`, which moves a tensor out of `host.field["0"]`: that takes a handle [ownership]
            `c` has `host.assign`, which moves a tensor out of `host.unwrap_mut`: that takes a handle [ownership]"#]],
    )
}

#[test]
fn branches_yield_values_or_references() -> Result<(), ParseError> {
    check(
        r#"graph f(n: rust<bool>, l: list<rust<i64>>) {
             %v = host.vec(1) : list<rust<i64>>
             %y = if(n) : list<rust<i64>> { yield %v } else { %s = host.slice[".."](l, 1, none) : list<rust<i64>> ; yield %s }
             %z = match(n) : list<rust<i64>> {
               "true" { %inner = if(n) : list<rust<i64>> { yield %v } else { yield %v } ; yield %inner }
               "_" { %s_1 = host.slice[".."](l, 1, none) : list<rust<i64>> ; yield %s_1 }
             }
             yield %y
           }"#,
        &expect![[r#"
            `y` yields the value `v` from one region and the reference `s` from another [ownership]
            `z` yields the value `inner` from one region and the reference `s_1` from another [ownership]"#]],
    )
}
