//! Text to graph and back.

use expect_test::{Expect, expect};

use crate::host::eval::{FloatType, IntType};
use crate::pattern::{Elements, Literal, RangePattern, StructPattern};
use crate::{
    Arg, Code, CodeForm, CodeScope, CodeVariable, Effect, ForLoop, Graph, Meta, MetaValue, ModuleKind, ModuleScope,
    NodeId, Op, OpId, Origin, ParseError, Pattern, Place, RegionId, Spot, Type,
};

fn check(text: &str, want: &Expect) {
    match text.parse::<Graph>() {
        Ok(graph) => {
            want.assert_eq(&graph.to_string());
            assert_same(&graph, &reparsed(&graph));
        }
        Err(error) => want.assert_eq(&error.to_string()),
    }
}

#[allow(clippy::panic, reason = "a test says what it could not read")]
fn reparsed(graph: &Graph) -> Graph {
    let read = |text: String| text.parse().unwrap_or_else(|error: ParseError| panic!("{error}\n{text}"));
    let graph: Graph = read(graph.to_line());
    read(graph.to_string())
}

/// Returns whether they are the same up to the numbers of the ids.
fn assert_same(a: &Graph, b: &Graph) {
    assert_eq!(a.to_string(), b.to_string());
    let (left, right) = (a.nodes(), b.nodes());
    assert_eq!(left.len(), right.len());
    let at = |ids: &[NodeId], id: NodeId| Arg::Str(format!("node {:?}", ids.iter().position(|&other| other == id)));
    for (&x, &y) in left.iter().zip(&right) {
        let (mut p, mut q) = (a.node(x).clone(), b.node(y).clone());
        p.args_mut().for_each(|arg| *arg = arg.map_nodes(&mut |id| at(&left, id)));
        q.args_mut().for_each(|arg| *arg = arg.map_nodes(&mut |id| at(&right, id)));
        if p.op == Op::Yield && p.name.starts_with(['o', 'y']) {
            q.name.clone_from(&p.name);
        }
        p.regions.clear();
        q.regions.clear();
        assert_eq!(format!("{p:?}"), format!("{q:?}"));
        assert_eq!(a.node(x).regions.len(), b.node(y).regions.len());
    }
}

#[test]
fn the_short_form() -> Result<(), ParseError> {
    let text = "graph f(x: f32[2]) { %0 = print(x) ; %1 = neg(x) ; yield x }";
    assert_eq!(text.parse::<Graph>()?.to_line(), text);
    check(
        "graph f(x) { y = relu(x) # a comment\n\n ; ; relu(y) ; yield }",
        &expect![[r#"
        graph f(x) {
          %y = relu(x)
          %relu = relu(%y)
          yield
        }"#]],
    );
    check(
        text,
        &expect![[r#"
        graph f(x: f32[2]) {
          %0 = print(x)
          %1 = neg(x)
          yield x
        }"#]],
    );
    Ok(())
}

#[test]
fn a_block_reads_as_it_was_written() {
    check(
        r#"graph Block(self: module<Block>, xs: tensor) {
             %conv1 = get_attr[conv1](self) : module<Conv2D>
             %y = call_module[Conv2D](%conv1, xs) : tensor @ src/model.rs:12 as conv1
             %down = get_attr[downsample](self) : option<module<Down>>
             %skip = match(%down) : tensor @ src/model.rs:14 {
               "Some(%0)" (d: module<Down>) { %v = call_module[Down](d, xs) : tensor ; yield %v }
               "None" { yield xs }
             }
             %sum = convolution(%y, [1, 2], none, act="Relu", add=%skip, eps=1e-5) : f32[B, 64, max(H, 1), ?]
               @ src/model.rs:15 + "src/odd name.rs":3 as conv1 + bn1 by fold-batch-norm + fuse
             yield %sum
           }"#
        .replace("\n               @", " @")
        .as_str(),
        &expect![[r#"
            graph Block(self: module<Block>, xs: tensor) {
              %conv1 = get_attr[conv1](self) : module<Conv2D>
              %y = call_module[Conv2D](%conv1, xs) : tensor  @ src/model.rs:12 as conv1
              %down = get_attr[downsample](self) : option<module<Down>>
              %skip = match(%down) : tensor  @ src/model.rs:14 {
                "Some(%0)" (d: module<Down>) {
                  %v = call_module[Down](d, xs) : tensor
                  yield %v
                }
                "None" {
                  yield xs
                }
              }
              %sum = convolution(%y, [1, 2], none, act="Relu", add=%skip, eps=1e-5) : f32[B, 64, max(H, 1), ?]  @ src/model.rs:15 + "src/odd name.rs":3 as conv1 + bn1 by fold-batch-norm + fuse
              yield %sum
            }"#]],
    );
}

#[test]
fn control_flow() {
    check(
        r#"graph "odd \"name\""(self, xs: tensor, n: rust<fn(i64) -> Vec<i64>>, %"odd name": ?) { yield }"#,
        &expect![[r#"
            graph "odd \"name\""(self, xs: tensor, n: rust<fn(i64) -> Vec<i64>>, %"odd name") {
              yield
            }"#]],
    );
    check(
        r#"graph Loop(self, xs: tensor) {
             %layers = get_attr[layers](self)
             %r = for["%0"](%layers, xs) : tensor (layer, acc: tensor) {
               %next = call_module[Block](layer, acc) : tensor
               yield %next
             }
             %zero = rust["0"]() : rust<i64>
             %w = while(%zero) (i: rust<i64>) {
               %go = rust["$0 < 3"](i) : rust<bool>
               yield %go
             } do (j: rust<i64>) {
               %more = rust["$0 + 1"](j) : rust<i64>
               yield %more
             }
             %c = if(%w) : (tensor, rust<i64>) { yield %r, %w } else { yield xs, %zero }
             %t = tuple_get[0](%c) : tensor
             yield %t, `crate::EPS`
           }"#,
        &expect![[r#"
            graph Loop(self, xs: tensor) {
              %layers = get_attr[layers](self)
              %r = for["%0"](%layers, xs) : tensor (layer, acc: tensor) {
                %next = call_module[Block](layer, acc) : tensor
                yield %next
              }
              %zero = rust["0"]() : rust<i64>
              %w = while(%zero) (i: rust<i64>) {
                %go = rust["$0 < 3"](i) : rust<bool>
                yield %go
              } do (j: rust<i64>) {
                %more = rust["$0 + 1"](j) : rust<i64>
                yield %more
              }
              %c = if(%w) : (tensor, rust<i64>) {
                yield %r, %w
              } else {
                yield xs, %zero
              }
              %t = tuple_get[0](%c) : tensor
              yield %t, `crate::EPS`
            }"#]],
    );
}

#[test]
fn errors_say_where_and_what() {
    check("graph f(x) { %y = rleu(x) ; yield %y }", &expect!["1:19: unknown op `rleu`; the nearest is `relu`"]);
    check("graph f(x) {\n  yield %z\n}", &expect!["2:9: `z` is not defined before this"]);
    check("graph f(x) { %x = relu(x) ; yield }", &expect!["1:14: the name `x` is taken"]);
    check("graph f(x { yield }", &expect!["1:11: expected `,` or `)`, found `{`"]);
    check("graph f(x: module<Conv2D) { yield }", &expect!["1:19: expected `>` further on"]);
    check(
        "graph f(x) { relu(x) neg(x) ; yield }",
        &expect!["1:22: expected `;`, `}` or the end of the line, found `neg`"],
    );
    check("graph f(x) { yield \"open }", &expect!["1:20: this quote has no end"]);
    check("graph f(x) { yield 99999999999999999999 }", &expect!["1:20: `99999999999999999999` is no number"]);
    check(
        "graph f(x) { %r = rust[\"$0\", quick](x) ; yield }",
        &expect![
            "1:30: expected `reference`, `block`, `fallible`, `random`, `state`, `io`, `in_place(..)` or `opaque(..)`, found `quick`"
        ],
    );
    check("graph f(x) { yield", &expect!["1:19: expected `;`, `}` or the end of the line, found the end"]);
    check("", &expect!["1:1: expected `graph`, found the end"]);
}

/// Small numbers from a seed (an LCG), so that a failure can be seen again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn text(&mut self) -> String {
        const TEXTS: &[&str] = &[
            "x",
            "conv1",
            "none",
            "yield",
            "0",
            "a b",
            "",
            "é",
            "\"q\"\\`\n\u{301}\t",
            "a::b",
            "src/m.rs",
            "->",
            "% # ; }",
        ];
        TEXTS[self.roll(TEXTS.len())].to_owned()
    }

    fn ty(&mut self, depth: usize) -> Type {
        match self.roll(if depth > 2 { 5 } else { 8 }) {
            0 => Type::Unknown,
            1 => Type::TENSOR,
            2 => "f32[B, 2*H+1, max(a, b)]".parse().unwrap_or_default(),
            3 => Type::Module(["Conv2D", "crate::m::B<T>", "a>b", "\"q\""][self.roll(4)].to_owned()),
            4 => Type::rust(["i64", "Box<dyn Fn(&[i64]) -> Vec<f32>>", "a -> b", "x < y", ""][self.roll(5)]),
            5 => Type::Option(Box::new(self.ty(depth + 1))),
            6 => Type::List(Box::new(self.ty(depth + 1))),
            _ => Type::Tuple((0..self.roll(3)).map(|_| self.ty(depth + 1)).collect()),
        }
    }

    fn arg(&mut self, seen: &[NodeId], depth: usize) -> Arg {
        match self.roll(if depth > 2 { 8 } else { 10 }) {
            0..=2 if !seen.is_empty() => Arg::Node(seen[self.roll(seen.len())]),
            3 => Arg::Int([0, -1, i64::MIN, i64::MAX][self.roll(4)]),
            4 => Arg::Float([0.0, -0.0, 1e-5, 1e300, f64::INFINITY, -f64::INFINITY, f64::NAN, 0.1][self.roll(8)]),
            5 => Arg::Bool(self.roll(2) == 0),
            6 => Arg::Str(self.text()),
            7 => Arg::Path(self.text()),
            8 | 9 => Arg::List((0..self.roll(4)).map(|_| self.arg(seen, depth + 1)).collect()),
            _ => Arg::None,
        }
    }

    fn origin(&mut self) -> Origin {
        let place = |dice: &mut Dice| Place { file: dice.text(), line: dice.roll(100) };
        Origin {
            places: (0..self.roll(3)).map(|_| place(self)).collect(),
            labels: (0..self.roll(3)).map(|_| self.text()).collect(),
            nn_module_stack: (0..self.roll(3)).map(|_| ModuleScope { path: self.text(), ty: self.text() }).collect(),
            passes: (0..self.roll(3)).map(|i| ["fold-batch-norm", "fuse", "a b"][i]).collect(),
        }
    }

    fn meta(&mut self) -> Meta {
        let mut meta = Meta::default();
        for _ in 0..self.roll(3) {
            if let (key, Some(value)) = (self.text(), MetaValue::of_arg(self.arg(&[], 0))) {
                meta.insert(key, value);
            }
        }
        meta
    }

    fn op(&mut self) -> Op {
        let code = Code {
            template: self.text(),
            form: self.form(),
            effect: [Effect::Pure, Effect::Random, Effect::InPlace(1), Effect::State, Effect::Io][self.roll(5)],
            fallible: self.roll(2) == 0,
            opaque: (self.roll(2) == 0).then(|| self.text()),
        };
        match self.roll(10) {
            0 => Op::GetAttr(self.text()),
            1 => Op::CallModule(ModuleKind(self.text())),
            2 => OpId::lookup("add.Scalar").map_or(Op::Yield, Op::Call),
            3 => Op::Rust(code),
            4 => Op::TupleGet(self.roll(9)),
            5 => Op::If,
            6 => Op::Match((0..self.roll(3)).map(|_| self.pattern(0)).collect()),
            7 => Op::For(ForLoop::new(self.pattern(0), [])),
            8 => Op::While,
            _ => Op::Rust(super::word::print_code(1)),
        }
    }

    fn form(&mut self) -> CodeForm {
        let variable = |dice: &mut Dice| CodeVariable {
            name: ["x", "a b", "self_fc"][dice.roll(3)].to_owned(),
            is_mutable: dice.roll(2) == 0,
            value: dice.text(),
        };
        match self.roll(4) {
            0 => CodeForm::Reference,
            1 => CodeForm::Block(CodeScope {
                uses: (0..self.roll(2)).map(|_| self.text()).collect(),
                variables: (0..self.roll(3)).map(|_| variable(self)).collect(),
            }),
            _ => CodeForm::Value,
        }
    }

    fn literal(&mut self) -> Literal {
        match self.roll(6) {
            0 => Literal::Bool(self.roll(2) == 0),
            1 => Literal::Int([0, -1, i128::MIN, 64][self.roll(4)], [IntType::Untyped, IntType::Usize][self.roll(2)]),
            2 => Literal::float(
                [0.0, -0.0, 1e-5, 1e300][self.roll(4)],
                [FloatType::Untyped, FloatType::F32][self.roll(2)],
            ),
            3 => Literal::Char(['a', '\'', '\\', '\n'][self.roll(4)]),
            4 => Literal::Str(self.text()),
            _ => Literal::Path(self.text()),
        }
    }

    fn pattern(&mut self, depth: usize) -> Pattern {
        let elements = |dice: &mut Dice| {
            let items: Vec<Pattern> = (0..dice.roll(3)).map(|_| dice.pattern(depth + 1)).collect();
            let rest = dice.roll(items.len() + 2).checked_sub(1);
            Elements { items, rest }
        };
        match self.roll(if depth > 2 { 5 } else { 12 }) {
            0 => Pattern::Wild,
            1 => Pattern::Bind(self.roll(4)),
            2 => Pattern::None,
            3 => Pattern::Literal(self.literal()),
            4 => {
                let (starts, ends) = [(true, true), (true, false), (false, true)][self.roll(3)];
                let start = starts.then(|| self.literal());
                let inclusive = ends && self.roll(2) == 0;
                Pattern::Range(Box::new(RangePattern { start, end: ends.then(|| self.literal()), inclusive }))
            }
            5 => Pattern::Reference(Box::new(self.pattern(depth + 1))),
            6 => Pattern::some(self.pattern(depth + 1)),
            7 => Pattern::Tuple(elements(self)),
            8 => Pattern::TupleStruct(self.text(), elements(self)),
            9 => {
                let fields = (0..self.roll(3)).map(|at| (format!("field_{at}"), self.pattern(depth + 1))).collect();
                Pattern::Struct(StructPattern { path: self.text(), fields, rest: self.roll(2) == 0 })
            }
            10 => Pattern::Slice(elements(self)),
            _ => Pattern::Or((0..=self.roll(3)).map(|_| self.pattern(depth + 1)).collect()),
        }
    }

    fn fill(&mut self, graph: &mut Graph, region: RegionId, seen: &mut Vec<NodeId>, depth: usize) {
        for _ in 0..self.roll(3) {
            let (name, ty, origin) = (self.text(), self.ty(0), self.origin());
            let id = graph.add_param(region, &name, ty, origin);
            graph.node_mut(id).meta = self.meta();
            seen.push(id);
        }
        for _ in 0..self.roll(5) {
            let (op, name) = (self.op(), self.text());
            let args = (0..self.roll(4)).map(|_| self.arg(seen, 0)).collect();
            let (ty, origin) = (self.ty(0), self.origin());
            let id = graph.push(region, op.clone(), args, &name, ty, origin);
            let kwargs = (0..self.roll(3)).map(|_| (self.text(), self.arg(seen, 0))).collect();
            graph.node_mut(id).kwargs = kwargs;
            graph.node_mut(id).meta = self.meta();
            let regions = match op {
                Op::Match(patterns) => patterns.len(),
                Op::For(_) => 1,
                Op::If | Op::While => 2,
                _ => 0,
            };
            for _ in 0..if depth > 2 { 0 } else { regions } {
                let inner = graph.add_region_to(id);
                self.fill(graph, inner, seen, depth + 1);
            }
            if depth > 2 {
                graph.node_mut(id).op = Op::Rust(Code::pure(""));
            }
            seen.push(id);
        }
        let (name, args) =
            (["output", "yield", "end", "output_2"][self.roll(4)], (0..self.roll(3)).map(|_| self.arg(seen, 0)));
        let args = args.collect();
        let origin = self.origin();
        let end = graph.push(region, Op::Yield, args, name, Type::Unknown, origin);
        graph.node_mut(end).meta = self.meta();
    }
}

#[test]
fn whatever_a_graph_holds_reads_back() {
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let mut graph = Graph::new(dice.text());
        let body = graph.body();
        dice.fill(&mut graph, body, &mut Vec::new(), 0);
        assert_same(&graph, &reparsed(&graph));
    }
}

#[test]
fn a_copy_prints_the_same() -> Result<(), ParseError> {
    let source: Graph =
        r#"graph f(x) { %y = if(x) { %a = relu(x) ; yield %a } else { yield x } ; yield %y }"#.parse()?;
    let mut copy = Graph::new("f");
    let body = copy.body();
    let yielded = copy.graph_copy(&source, &mut std::collections::BTreeMap::new(), Spot::End(body));
    copy.push(body, Op::Yield, yielded, "output", Type::Unknown, Origin::default());
    assert_eq!(copy.to_line(), source.to_line().replace("%x", "x"));
    Ok(())
}
