//! The source of a small graph, and what has none.

use expect_test::expect;

use crate::graph_module::GraphModule;
use crate::instance::{Arg, Tracer};
use crate::nn;
use crate::{Device, Result};

fn net(vs: &nn::VarStore) -> Result<GraphModule> {
    let p = vs.root();
    let conv = nn::conv2d(&p / "conv", 3, 4, 3, nn::ConvConfig::default());
    let norm = nn::batch_norm2d(&p / "norm", 4, nn::BatchNormConfig::default());
    let scale = p.ones("scale", &[1]);
    let mut t = Tracer::new("net");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let ys = t.module("stem.conv", &conv, &[&xs], 1);
    let ys = t.module("norm", &norm, &[&ys], 2);
    let scale = t.tensor("scale", &scale);
    let ys = t.call("mul", &[&ys, &scale], 3);
    let size = t.call("size4", &[&ys], 4);
    let batch = t.part(&size, 0);
    let ys = t.call("reshape", &[&ys, &Arg::list(&[&batch, &Arg::Int(-1)])], 5);
    let zs = t.call("softmax", &[&ys, &Arg::Int(-1), &Arg::None], 6);
    t.finish(&[&ys, &zs])
}

#[test]
fn a_line_a_node() -> Result<()> {
    let vs = nn::VarStore::new(Device::Cpu);
    let folder = tempfile::tempdir().expect("a folder");
    net(&vs)?.to_folder(folder.path(), "SmallNet")?;
    let source = std::fs::read_to_string(folder.path().join("src/lib.rs")).expect("a file");
    let at = source.find("/// The layers and").unwrap_or(0);
    expect![[r#"
        /// The layers and tensors of the graph, under the names that they have in it.
        #[derive(Debug, Module)]
        pub struct SmallNet {
            pub norm: nn::BatchNorm,
            #[module(name = "stem.conv")]
            pub stem_conv: nn::Conv2D,
            pub scale: Tensor,
        }

        impl SmallNet {
            /// Loads what `weights.safetensors` beside this crate's manifest holds, or another file that `GraphModule::save` wrote.
            pub fn load(path: impl AsRef<Path>) -> Result<SmallNet> {
                SmallNet::new(&GraphModule::load(path)?)
            }

            /// Takes the layers and tensors of a graph, and shares them with it.
            pub fn new(parts: &GraphModule) -> Result<SmallNet> {
                Ok(SmallNet {
                    norm: parts.shared_layer("norm")?,
                    stem_conv: parts.shared_layer("stem.conv")?,
                    scale: parts.shared_tensor("scale")?,
                })
            }

            /// What the graph computes, a line a node.
            pub fn forward(&self, xs: &Tensor) -> Result<(Tensor, Tensor)> {
                let stem_conv = self.stem_conv.f_forward(xs)?;
                let norm = self.norm.f_forward_t(&stem_conv, self.norm.training() == Some(true))?;
                let mul = norm.f_mul(&self.scale)?;
                let size4 = mul.size4()?;
                let getitem = size4.0;
                let reshape = mul.f_reshape([getitem, -1])?;
                let softmax = reshape.f_softmax(-1, None::<::fx_runtime::Kind>)?;
                Ok((reshape.shallow_clone(), softmax))
            }
        }
"#]].assert_eq(&source[at..]);
    let again = GraphModule::load(folder.path().join("weights.safetensors"))?;
    assert_eq!(again.named_parameters().len(), 5);
    let manifest = std::fs::read_to_string(folder.path().join("Cargo.toml")).expect("a file");
    assert!(manifest.contains("name = \"small_net\""), "{manifest}");
    Ok(())
}

#[test]
fn what_cannot_be_written_is_named() -> Result<()> {
    let vs = nn::VarStore::new(Device::Cpu);
    let folder = tempfile::tempdir().expect("a folder");
    let said = net(&vs)?.to_folder(folder.path(), "small net").expect_err("a name").to_string();
    assert!(said.contains("`small net`"), "{said}");
    let mut t = Tracer::new("net");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let ys = t.host(("call", &["crate::helper"]), &[&xs], ("helper", "tensor"), 7);
    let said = t.finish(&[&ys])?.to_folder(folder.path(), "Net").expect_err("a function").to_string();
    assert!(said.contains("helper") && said.contains("src/net.rs:7"), "{said}");
    Ok(())
}

/// Of control flow that an input decides an `if` is written; the rest is refused by the name of its node.
#[test]
fn loops_are_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let graphs = [
        "graph f(x: tensor) { %flow = for[\"%0\"]([1, 2], x) : tensor @ src/net.rs:3 (i: rust<i64>, c: tensor) { \
         %a = relu(c) : tensor ; yield %a } ; yield %flow }",
        "graph f(n: rust<bool>, x: tensor) { %flow = while(n) : rust<bool> @ src/net.rs:3 (i: rust<bool>) { yield i } do \
         (j: rust<bool>) { yield j } ; yield %flow }",
        "graph f(n: rust<i64>, x: tensor) { %flow = match(n) : tensor @ src/net.rs:3 { \"0\" { yield x } \"_\" { \
         %a = relu(x) : tensor ; yield %a } } ; yield %flow }",
    ];
    for text in graphs {
        let graph: fx_ir::Graph = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
        let said = GraphModule::new(graph).to_folder(folder.path(), "Net").expect_err("a loop").to_string();
        assert!(said.contains("`flow` (src/net.rs:3)"), "{said}");
    }
}

/// What a source takes out of a `Result` without a word in the graph, and lines that are one operation.
#[test]
fn host_operations_are_lines() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut t = Tracer::new("net");
    t.file("src/net.rs");
    let xs = t.input("xs", true);
    let size = t.host(("method", &["size3"]), &[&xs], ("size3", "(rust<i64>, rust<i64>, rust<i64>)"), 1);
    let width = t.part(&size, 2);
    let half = t.host(("binary", &["/"]), &[&width, &Arg::Int(2)], ("half", "rust<i64>"), 2);
    let ys = t.call("narrow", &[&xs, &Arg::Int(2), &Arg::Int(0), &half], 3);
    t.finish(&[&ys])?.to_folder(folder.path(), "Net")?;
    let source = std::fs::read_to_string(folder.path().join("src/lib.rs")).expect("a file");
    let lines = ["let size3 = xs.size3()?;", "let half = getitem / 2;", "let narrow = xs.f_narrow(2, 0, half)?;"];
    assert!(lines.iter().all(|line| source.contains(line)), "{source}");
    Ok(())
}
