//! The graph of a live model has the names and opcodes that torch.fx gives the same model in Python.
//!
//! The listings in `torch_fx` are torch.fx's own; `torch_fx/list.py` says how they were made.

use std::collections::BTreeSet;

use expect_test::expect;
use fx_ir::{Arg, Graph, Node, Op};
use fx_runtime::{Device, nn};
use fx_tests::leaves::Staged;
use fx_tests::residual::Residual;
use resnet18::ResNet18;

use crate::subject::model;
use crate::values::chance;

fn resnet18() -> Graph {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = {
        let _alone = chance();
        ResNet18::new(&vs.root(), 1000)
    };
    net.graph().expect("a graph")
}

/// What torch.fx calls the target: a module's path, an op's name.
fn target(node: &Node) -> String {
    match (&node.op, node.args.first()) {
        (Op::CallModule(_), Some(Arg::Str(path))) => path.clone(),
        (Op::Call(op), _) => op.name().split('.').next().unwrap_or_default().to_owned(),
        (Op::Yield, _) => "output".to_owned(),
        _ => node.name.clone(),
    }
}

/// A graph as `torch_fx/list.py` lists one.
fn listing(graph: &Graph) -> String {
    let body = graph.region(graph.body());
    let nodes = body.params.iter().chain(&body.nodes).map(|&id| graph.node(id));
    let lines = nodes.map(|node| format!("{} {} {}", node.op.opcode(), node.name, target(node)));
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// The modules that a listing calls.
fn modules(listing: &str) -> BTreeSet<&str> {
    listing.lines().filter(|line| line.starts_with("call_module ")).collect()
}

#[test]
fn resnet18_has_the_names_and_opcodes_of_torch_fx() {
    assert_eq!(listing(&resnet18()), include_str!("../../torch_fx/resnet18_as_written.txt"));
}

/// Ours calls relu and the pools as operators, torchvision's as modules; all modules with weights are the same.
#[test]
fn resnet18_has_the_modules_of_torchvision() {
    let ours = listing(&resnet18());
    let theirs = include_str!("../../torch_fx/resnet18.txt");
    let theirs: BTreeSet<&str> =
        modules(theirs).into_iter().filter(|line| !["relu", "pool"].iter().any(|it| line.ends_with(it))).collect();
    assert_eq!(modules(&ours), theirs);
}

#[test]
fn a_graph_as_text_parses_back() {
    let text = resnet18().to_string();
    assert_eq!(text.parse::<Graph>().map(|graph| graph.to_string()), Ok(text));
}

/// torch.fx's five columns come first.
#[test]
fn the_table() {
    let table = model::<Residual>(fx_runtime::Kind::Float).graph().expect("a graph").print_tabular();
    expect![[r#"
        opcode         name                    target                  args                                  kwargs  type    module           source
        -------------  ----------------------  ----------------------  ------------------------------------  ------  ------  ---------------  ------------------
        placeholder    xs                      xs                      ()                                    {}      tensor
        call_module    stem                    stem                    (xs,)                                 {}      tensor  Residual         src/residual.rs:88
        call_module    bn                      bn                      (stem,)                               {}      tensor  Residual         src/residual.rs:88
        call_method    relu                    relu                    (bn,)                                 {}      tensor  Residual         src/residual.rs:88
        call_module    blocks_0_conv1          blocks.0.conv1          (relu,)                               {}      tensor  blocks.0: Block  src/residual.rs:49
        call_module    blocks_0_bn1            blocks.0.bn1            (blocks_0_conv1,)                     {}      tensor  blocks.0: Block  src/residual.rs:49
        call_method    relu_1                  relu                    (blocks_0_bn1,)                       {}      tensor  blocks.0: Block  src/residual.rs:49
        call_module    blocks_0_conv2          blocks.0.conv2          (relu_1,)                             {}      tensor  blocks.0: Block  src/residual.rs:50
        call_module    blocks_0_bn2            blocks.0.bn2            (blocks_0_conv2,)                     {}      tensor  blocks.0: Block  src/residual.rs:50
        call_function  add                     add                     (blocks_0_bn2, relu)                  {}      tensor  blocks.0: Block  src/residual.rs:55
        call_method    relu_2                  relu                    (add,)                                {}      tensor  blocks.0: Block  src/residual.rs:55
        call_module    blocks_1_conv1          blocks.1.conv1          (relu_2,)                             {}      tensor  blocks.1: Block  src/residual.rs:49
        call_module    blocks_1_bn1            blocks.1.bn1            (blocks_1_conv1,)                     {}      tensor  blocks.1: Block  src/residual.rs:49
        call_method    relu_3                  relu                    (blocks_1_bn1,)                       {}      tensor  blocks.1: Block  src/residual.rs:49
        call_module    blocks_1_conv2          blocks.1.conv2          (relu_3,)                             {}      tensor  blocks.1: Block  src/residual.rs:50
        call_module    blocks_1_bn2            blocks.1.bn2            (blocks_1_conv2,)                     {}      tensor  blocks.1: Block  src/residual.rs:50
        call_function  add_1                   add                     (blocks_1_bn2, relu_2)                {}      tensor  blocks.1: Block  src/residual.rs:55
        call_method    relu_4                  relu                    (add_1,)                              {}      tensor  blocks.1: Block  src/residual.rs:55
        call_module    blocks_2_conv1          blocks.2.conv1          (relu_4,)                             {}      tensor  blocks.2: Block  src/residual.rs:49
        call_module    blocks_2_bn1            blocks.2.bn1            (blocks_2_conv1,)                     {}      tensor  blocks.2: Block  src/residual.rs:49
        call_method    relu_5                  relu                    (blocks_2_bn1,)                       {}      tensor  blocks.2: Block  src/residual.rs:49
        call_module    blocks_2_conv2          blocks.2.conv2          (relu_5,)                             {}      tensor  blocks.2: Block  src/residual.rs:50
        call_module    blocks_2_bn2            blocks.2.bn2            (blocks_2_conv2,)                     {}      tensor  blocks.2: Block  src/residual.rs:50
        call_module    blocks_2_shortcut_conv  blocks.2.shortcut.conv  (relu_4,)                             {}      tensor  blocks.2: Block  src/residual.rs:52
        call_module    blocks_2_shortcut_bn    blocks.2.shortcut.bn    (blocks_2_shortcut_conv,)             {}      tensor  blocks.2: Block  src/residual.rs:52
        call_function  add_2                   add                     (blocks_2_bn2, blocks_2_shortcut_bn)  {}      tensor  blocks.2: Block  src/residual.rs:55
        call_method    relu_6                  relu                    (add_2,)                              {}      tensor  blocks.2: Block  src/residual.rs:55
        call_module    blocks_3_conv1          blocks.3.conv1          (relu_6,)                             {}      tensor  blocks.3: Block  src/residual.rs:49
        call_module    blocks_3_bn1            blocks.3.bn1            (blocks_3_conv1,)                     {}      tensor  blocks.3: Block  src/residual.rs:49
        call_method    relu_7                  relu                    (blocks_3_bn1,)                       {}      tensor  blocks.3: Block  src/residual.rs:49
        call_module    blocks_3_conv2          blocks.3.conv2          (relu_7,)                             {}      tensor  blocks.3: Block  src/residual.rs:50
        call_module    blocks_3_bn2            blocks.3.bn2            (blocks_3_conv2,)                     {}      tensor  blocks.3: Block  src/residual.rs:50
        call_function  add_3                   add                     (blocks_3_bn2, relu_6)                {}      tensor  blocks.3: Block  src/residual.rs:55
        call_method    relu_8                  relu                    (add_3,)                              {}      tensor  blocks.3: Block  src/residual.rs:55
        call_function  adaptive_avg_pool2d     adaptive_avg_pool2d     (relu_8, [1, 1])                      {}      tensor  Residual         src/residual.rs:92
        call_function  flatten                 flatten                 (adaptive_avg_pool2d, 1, -1)          {}      tensor  Residual         src/residual.rs:92
        call_module    dropout                 dropout                 (flatten,)                            {}      tensor  Residual         src/residual.rs:93
        call_module    fc                      fc                      (dropout,)                            {}      tensor  Residual         src/residual.rs:93
        output         output                  output                  (fc,)                                 {}      ?       Residual
    "#]].assert_eq(&table);
}

/// Leaves are `call_module`s, and paths those of the live model, whichever layers its constructors added.
#[test]
fn leaves_and_chains_have_their_live_paths() {
    let vs = nn::VarStore::new(Device::Cpu);
    let graph = Staged::new(&vs.root()).graph().expect("a graph");
    expect![[r#"
        opcode         name                    target                  args                         kwargs  type                                         module                       source
        -------------  ----------------------  ----------------------  ---------------------------  ------  -------------------------------------------  ---------------------------  ----------------
        placeholder    xs                      xs                      ()                           {}      tensor
        call_module    lstm                    lstm                    (xs,)                        {}      (tensor, rust<::fx_runtime::nn::LSTMState>)  Staged                       src/leaves.rs:85
        call_function  getitem                 getitem                 (lstm, 0)                    {}      tensor                                       Staged
        call_module    stages_0_layers_0_norm  stages.0.layers.0.norm  (getitem,)                   {}      tensor                                       stages.0.layers.0: Block     src/leaves.rs:23
        call_module    stages_0_layers_0_fc    stages.0.layers.0.fc    (stages_0_layers_0_norm,)    {}      tensor                                       stages.0.layers.0: Block     src/leaves.rs:23
        call_method    relu                    relu                    (stages_0_layers_0_fc,)      {}      tensor                                       stages.0.layers.0: Block     src/leaves.rs:23
        call_function  add                     add                     (getitem, relu)              {}      tensor                                       stages.0.layers.0: Block     src/leaves.rs:23
        call_module    stages_1_layers_0       stages.1.layers.0       (add,)                       {}      tensor                                       stages.1.layers: Sequential  src/leaves.rs:87
        call_module    stages_1_layers_1_norm  stages.1.layers.1.norm  (stages_1_layers_0,)         {}      tensor                                       stages.1.layers.1: Block     src/leaves.rs:23
        call_module    stages_1_layers_1_fc    stages.1.layers.1.fc    (stages_1_layers_1_norm,)    {}      tensor                                       stages.1.layers.1: Block     src/leaves.rs:23
        call_method    relu_1                  relu                    (stages_1_layers_1_fc,)      {}      tensor                                       stages.1.layers.1: Block     src/leaves.rs:23
        call_function  add_1                   add                     (stages_1_layers_0, relu_1)  {}      tensor                                       stages.1.layers.1: Block     src/leaves.rs:23
        call_module    stages_1_layers_2_norm  stages.1.layers.2.norm  (add_1,)                     {}      tensor                                       stages.1.layers.2: Block     src/leaves.rs:23
        call_module    stages_1_layers_2_fc    stages.1.layers.2.fc    (stages_1_layers_2_norm,)    {}      tensor                                       stages.1.layers.2: Block     src/leaves.rs:23
        call_method    relu_2                  relu                    (stages_1_layers_2_fc,)      {}      tensor                                       stages.1.layers.2: Block     src/leaves.rs:23
        call_function  add_2                   add                     (add_1, relu_2)              {}      tensor                                       stages.1.layers.2: Block     src/leaves.rs:23
        call_module    head                    head                    (add_2,)                     {}      tensor                                       Staged                       src/leaves.rs:89
        output         output                  output                  (head,)                      {}      ?                                            Staged
    "#]].assert_eq(&graph.print_tabular());
}
