//! What the user would call each node: the path of its layer in the state dict, or the name of its op.
#![allow(clippy::needless_raw_string_hashes, reason = "expectations are written by expect-test")]

mod common;

use std::fmt::Write as _;

use common::traced;
use expect_test::expect;
use fx_ir::Op;

const SOURCE: &str = r#"
use fx_runtime::{Module, Tensor, nn, traceable};

#[derive(Debug, Module)]
struct Block { fc: nn::Linear, #[module(name = "layers.layer_{}")] rest: Vec<nn::Linear> }

impl Block {
    fn run(&self, xs: &Tensor) -> Tensor {
        let mut ys = self.fc.forward(xs).relu();
        for one in &self.rest { ys = one.forward(&ys); }
        ys
    }
}

#[derive(Debug, Module)]
struct Stack<B> { first: B, #[module(name = "blocks.list")] blocks: Vec<B> }

impl<B> Stack<B> {
    fn run(&self, xs: &Tensor) -> Tensor {
        let mut ys = self.first.run(xs);
        for block in self.blocks.iter().rev() { ys = block.run(&ys); }
        self.blocks[0].run(&ys)
    }
}

#[derive(Debug, Module)]
struct Net { stack: Stack<Block>, #[module(name = "classifier.0")] head: Option<nn::Linear>, chain: nn::Sequential }

impl Net {
    fn new(p: &nn::Path) -> Net {
        let chain = nn::seq().add(nn::linear(p / "a", 1, 1, Default::default())).add_fn(|xs| xs.relu());
        Net { stack: todo!(), head: None, chain }
    }
}

#[traceable]
impl Net {
    fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.stack.run(xs) + xs;
        let ys = match &self.head { Some(head) => head.forward(&ys), None => ys };
        if let Some(head) = self.head.as_ref() { return head.forward(&ys); }
        self.chain.forward(&ys).tanh()
    }
}
"#;

#[test]
fn a_label_is_the_path_of_the_layer_or_the_name_of_the_op() {
    let (graph, _) = traced(SOURCE);
    let mut all = String::new();
    for id in graph.nodes() {
        let node = graph.node(id);
        if matches!(node.op, Op::Call(_) | Op::CallModule(_)) {
            let _ = writeln!(
                all,
                "{}: {} ({}) in {}",
                node.name,
                node.origin.labels.join(", "),
                node.origin.places[0],
                node.origin.modules()
            );
        }
    }
    expect![[r#"
        stack_first_fc: stack.first.fc (src/lib.rs:9) in stack.first: Block
        ys: relu (src/lib.rs:9) in stack.first: Block
        ys_2: stack.first.layers.layer_* (src/lib.rs:10) in stack.first: Block
        stack_blocks_list_fc: stack.blocks.list.*.fc (src/lib.rs:9) in stack.blocks.list.*: Block
        ys_6: relu (src/lib.rs:9) in stack.blocks.list.*: Block
        ys_8: stack.blocks.list.*.layers.layer_* (src/lib.rs:10) in stack.blocks.list.*: Block
        stack_blocks_list_0_fc: stack.blocks.list.0.fc (src/lib.rs:9) in stack.blocks.list.0: Block
        ys_12: relu (src/lib.rs:9) in stack.blocks.list.0: Block
        ys_14: stack.blocks.list.0.layers.layer_* (src/lib.rs:10) in stack.blocks.list.0: Block
        ys_16: add (src/lib.rs:39) in Net
        classifier_0: classifier.0 (src/lib.rs:40) in Net
        classifier_1: classifier.0 (src/lib.rs:41) in Net
        xs_1: chain.0 (src/lib.rs:42) in chain: Sequential
        relu_3: relu (src/lib.rs:31) in chain: Sequential
        tanh: tanh (src/lib.rs:42) in Net
    "#]]
    .assert_eq(&all);
}
