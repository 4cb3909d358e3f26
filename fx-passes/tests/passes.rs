//! Whole models through the pipeline for inference, from source to packed kernels.

#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes its snapshots so")]
#![allow(clippy::expect_used, clippy::panic, reason = "a test that fails may do so by panicking")]

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use fx_front::{diag::Diagnostics, scan, trace};
use fx_ir::{Arg, Graph, HostOp, Op};
use fx_passes::pass::PassContext;
use fx_passes::pipeline::Pipeline;

/// The first entry of a source, traced and taken through the pipeline.
fn frozen(source: &str) -> Graph {
    let diags = Diagnostics::new();
    let index = scan::text(source, &diags);
    let item = index.fns.iter().position(|function| function.key.is_some()).expect("an entry");
    let traced = trace::item(&index, item, &diags);
    let told: Vec<String> = diags.into_sorted().iter().map(ToString::to_string).collect();
    assert_eq!(told, [""; 0]);
    let mut graph = traced.graph;
    let cx = PassContext::new(traced.signature.has_receiver);
    Pipeline::inference().run(&mut graph, &cx).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(graph.lint_origins(), Ok(()));
    graph
}

/// What is left of a model: its Rust, ops and layers in order, with what they read and the user's labels.
fn check(source: &str, expected: &Expect) {
    let graph = frozen(source);
    let mut text = String::new();
    for id in graph.nodes() {
        let node = graph.node(id);
        let what = match &node.op {
            Op::Host(host) => written(&host.op, &node.args),
            Op::Call(op) => op.to_string(),
            Op::CallModule(kind) => format!("layer {}", kind.0),
            _ => continue,
        };
        let inputs: Vec<&str> = node.inputs().map(|input| graph.node(input).name.as_str()).collect();
        let (name, labels) = (&node.name, node.origin.labels.join(" "));
        let _ = writeln!(text, "{name} = {what} of {} ({labels})", inputs.join(" "));
    }
    expected.assert_eq(&text);
}

/// A host operation in short: what it carries, and the numbers, paths and operations in its arguments.
fn written(op: &HostOp, args: &[Arg]) -> String {
    let words = op.words().join(" ");
    let name = if words.is_empty() { op.name().to_owned() } else { words };
    let arg = |arg: &Arg| match arg {
        Arg::Node(_) => "_".to_owned(),
        Arg::Expr(expr) => written(&expr.op, &expr.args),
        Arg::Int(number) => number.to_string(),
        Arg::Float(number) => format!("{number:?}"),
        Arg::Path(path) => path.rsplit("frozen::").next().unwrap_or_default().to_owned(),
        other => format!("{other:?}"),
    };
    format!("{name}({})", args.iter().map(arg).collect::<Vec<_>>().join(", "))
}

/// How many kernels are packed, and how many batch norms are left.
fn kernels_and_norms(graph: &Graph) -> (usize, usize) {
    let count = |is: &dyn Fn(&Op) -> bool| graph.nodes().into_iter().filter(|&id| is(&graph.node(id).op)).count();
    let kernels = count(&|op| matches!(op.host(), Some(HostOp::Runtime(name)) if name.starts_with("Conv::pack")));
    let leaves = graph.nodes().into_iter().filter(|&id| graph.node(id).ty.to_string().contains("BatchNorm>"));
    let is_leaf = |op: &Op| matches!(op.host(), Some(HostOp::Runtime(name)) if name.starts_with("Leaf::<"));
    let norms = leaves.filter(|&id| is_leaf(&graph.node(id).op));
    (kernels, norms.count())
}

const RESNET: &str = r"
use fx_runtime::{nn, traceable, Module, Tensor};

#[derive(Debug, Module)]
struct Downsample { conv: nn::Conv2D, bn: nn::BatchNorm }

#[derive(Debug, Module)]
struct Block { conv1: nn::Conv2D, bn1: nn::BatchNorm, conv2: nn::Conv2D, bn2: nn::BatchNorm, downsample: Option<Downsample> }

#[derive(Debug, Module)]
struct Net { conv1: nn::Conv2D, bn1: nn::BatchNorm, maxpool: nn::MaxPool2D, layer1: Vec<Block>, fc: nn::Linear }

impl Block {
    fn forward(&self, xs: &Tensor) -> Tensor {
        let skip = match &self.downsample {
            Some(d) => d.bn.forward(&d.conv.forward(xs)),
            None => xs.shallow_clone(),
        };
        let ys = self.bn1.forward(&self.conv1.forward(xs)).relu();
        let ys = self.bn2.forward(&self.conv2.forward(&ys));
        (ys + skip).relu()
    }
}

#[traceable]
impl Net {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.bn1.forward(&self.conv1.forward(xs)).relu();
        let mut ys = self.maxpool.forward(&ys);
        for block in &self.layer1 {
            ys = block.forward(&ys);
        }
        self.fc.forward(&ys.adaptive_avg_pool2d([1, 1]).flat_view())
    }
}
";

#[test]
fn a_residual_network_is_one_kernel_a_convolution() {
    check(
        RESNET,
        &expect![[r#"
            conv1_3 = Conv::pack_layer_batch_norm(frame(), ref(_), ref(_), Activation::Relu) of conv1 bn1 (conv1 bn1 relu)
            ys = run(_, ref(_)) of conv1_3 xs (conv1 bn1 relu)
            maxpool_2 = Leaf::<::fx_runtime::nn::MaxPool2D>::new(frame(), ref(_)) of maxpool (maxpool)
            ys_1 = run(_, ref(_)) of maxpool_2 ys (maxpool)
            downsample_conv = Conv::pack_layer_batch_norm(frame(), ref(_), ref(_), Activation::None) of conv bn (layer1.*.downsample.conv layer1.*.downsample.bn)
            layer1_downsample_bn = run(_, ref(_)) of downsample_conv ys_2 (layer1.*.downsample.conv layer1.*.downsample.bn)
            conv1_4 = Conv::pack_layer_batch_norm(frame(), ref(_), ref(_), Activation::Relu) of conv1_2 bn1_2 (layer1.*.conv1 layer1.*.bn1 relu)
            ys_3 = run(_, ref(_)) of conv1_4 ys_2 (layer1.*.conv1 layer1.*.bn1 relu)
            conv2_1 = Conv::pack_layer_batch_norm(frame(), ref(_), ref(_), Activation::Relu) of conv2 bn2 (layer1.*.conv2 layer1.*.bn2 add relu)
            ys_5 = run_add(_, ref(_), ref(_)) of conv2_1 ys_3 skip (layer1.*.conv2 layer1.*.bn2 add relu)
            adaptive_avg_pool2d = adaptive_avg_pool2d of ys_6 (adaptive_avg_pool2d)
            flat_view = flatten of adaptive_avg_pool2d (flat_view)
            fc_2 = Linear::pack_layer(frame(), ref(_), Activation::None) of fc (fc)
            fc_1 = run(_, ref(_)) of fc_2 flat_view (fc)
        "#]],
    );
    assert_eq!(kernels_and_norms(&frozen(RESNET)), (4, 0));
}

#[test]
fn the_graph_of_a_residual_network() {
    expect![[r#"
        graph Net(self: module<crate::Net>, xs: tensor) {
          %bn1 = get_attr[bn1](self) : module<BatchNorm>  @ src/lib.rs:28 as bn1 in Net
          %conv1 = get_attr[conv1](self) : module<Conv2D>  @ src/lib.rs:28 as conv1 in Net
          %conv1_3 = host.runtime["Conv::pack_layer_batch_norm", fallible](host.frame(), host.ref(%conv1), host.ref(%bn1), `::fx_runtime::frozen::Activation::Relu`) : rust<::fx_runtime::frozen::Conv>  @ src/lib.rs:28 as conv1 + bn1 + relu in Net by lower-modules + fold-batch-norm + fuse-epilogue + pack-kernels
          %ys = host.runtime_method["run", fallible](%conv1_3, host.ref(xs)) : tensor  @ src/lib.rs:28 as conv1 + bn1 + relu in Net by lower-modules + fold-batch-norm + fuse-epilogue + pack-kernels
          %maxpool = get_attr[maxpool](self) : module<MaxPool2D>  @ src/lib.rs:29 as maxpool in Net
          %maxpool_2 = host.runtime["Leaf::<::fx_runtime::nn::MaxPool2D>::new", fallible](host.frame(), host.ref(%maxpool)) : rust<::fx_runtime::frozen::Leaf<::fx_runtime::nn::MaxPool2D>>  @ src/lib.rs:29 as maxpool in Net by pack-kernels
          %ys_1 = host.runtime_method["run", fallible](%maxpool_2, host.ref(%ys)) : tensor  @ src/lib.rs:29 as maxpool in Net by pack-kernels
          %layer1 = get_attr[layer1](self) : list<module<crate::Block>>  @ src/lib.rs:30 as layer1 in Net
          %ys_6 = for["%0 in $0.iter()"](%layer1, %ys_1) : tensor  @ src/lib.rs:30 as each in Net (block: module<crate::Block>  @ src/lib.rs:30 as "layer1.*" in Net, ys_2: tensor  @ src/lib.rs:30 as ys in Net) {
            %downsample = get_attr[downsample](block) : option<module<crate::Downsample>>  @ src/lib.rs:15 as "layer1.*.downsample" in Net + Block["layer1.*"]
            %skip = match(%downsample) : tensor  @ src/lib.rs:15 as choice in Net + Block["layer1.*"] {
              "Some(%0)" (d: module<crate::Downsample>  @ src/lib.rs:16 as "layer1.*.downsample" in Net + Block["layer1.*"]) {
                %bn = get_attr[bn](d) : module<BatchNorm>  @ src/lib.rs:16 as "layer1.*.downsample.bn" in Net + Block["layer1.*"]
                %conv = get_attr[conv](d) : module<Conv2D>  @ src/lib.rs:16 as "layer1.*.downsample.conv" in Net + Block["layer1.*"]
                %downsample_conv = host.runtime["Conv::pack_layer_batch_norm", fallible](host.frame(), host.ref(%conv), host.ref(%bn), `::fx_runtime::frozen::Activation::None`) : rust<::fx_runtime::frozen::Conv>  @ src/lib.rs:16 as "layer1.*.downsample.conv" + "layer1.*.downsample.bn" in Net + Block["layer1.*"] by lower-modules + fold-batch-norm + pack-kernels
                %layer1_downsample_bn = host.runtime_method["run", fallible](%downsample_conv, host.ref(ys_2)) : tensor  @ src/lib.rs:16 as "layer1.*.downsample.conv" + "layer1.*.downsample.bn" in Net + Block["layer1.*"] by lower-modules + fold-batch-norm + pack-kernels
                yield %layer1_downsample_bn  @ src/lib.rs:15 as yield in Net + Block["layer1.*"]
              }
              "None" {
                yield ys_2  @ src/lib.rs:15 as yield in Net + Block["layer1.*"]
              }
            }
            %bn1_2 = get_attr[bn1](block) : module<BatchNorm>  @ src/lib.rs:19 as "layer1.*.bn1" in Net + Block["layer1.*"]
            %conv1_2 = get_attr[conv1](block) : module<Conv2D>  @ src/lib.rs:19 as "layer1.*.conv1" in Net + Block["layer1.*"]
            %conv1_4 = host.runtime["Conv::pack_layer_batch_norm", fallible](host.frame(), host.ref(%conv1_2), host.ref(%bn1_2), `::fx_runtime::frozen::Activation::Relu`) : rust<::fx_runtime::frozen::Conv>  @ src/lib.rs:19 as "layer1.*.conv1" + "layer1.*.bn1" + relu in Net + Block["layer1.*"] by lower-modules + fold-batch-norm + fuse-epilogue + pack-kernels
            %ys_3 = host.runtime_method["run", fallible](%conv1_4, host.ref(ys_2)) : tensor  @ src/lib.rs:19 as "layer1.*.conv1" + "layer1.*.bn1" + relu in Net + Block["layer1.*"] by lower-modules + fold-batch-norm + fuse-epilogue + pack-kernels
            %bn2 = get_attr[bn2](block) : module<BatchNorm>  @ src/lib.rs:20 as "layer1.*.bn2" in Net + Block["layer1.*"]
            %conv2 = get_attr[conv2](block) : module<Conv2D>  @ src/lib.rs:20 as "layer1.*.conv2" in Net + Block["layer1.*"]
            %conv2_1 = host.runtime["Conv::pack_layer_batch_norm", fallible](host.frame(), host.ref(%conv2), host.ref(%bn2), `::fx_runtime::frozen::Activation::Relu`) : rust<::fx_runtime::frozen::Conv>  @ src/lib.rs:20 + src/lib.rs:21 as "layer1.*.conv2" + "layer1.*.bn2" + add + relu in Net + Block["layer1.*"] by lower-modules + fold-batch-norm + fuse-epilogue + pack-kernels
            %ys_5 = host.runtime_method["run_add", fallible](%conv2_1, host.ref(%ys_3), host.ref(%skip)) : tensor  @ src/lib.rs:20 + src/lib.rs:21 as "layer1.*.conv2" + "layer1.*.bn2" + add + relu in Net + Block["layer1.*"] by lower-modules + fold-batch-norm + fuse-epilogue + pack-kernels
            yield %ys_5  @ src/lib.rs:30 as yield in Net
          }
          %fc = get_attr[fc](self) : module<Linear>  @ src/lib.rs:33 as fc in Net
          %adaptive_avg_pool2d = adaptive_avg_pool2d(%ys_6, [1, 1]) : tensor  @ src/lib.rs:33 as adaptive_avg_pool2d in Net
          %flat_view = flatten(%adaptive_avg_pool2d, 1, -1) : tensor  @ src/lib.rs:33 as flat_view in Net by layout-safe
          %fc_2 = host.runtime["Linear::pack_layer", fallible](host.frame(), host.ref(%fc), `::fx_runtime::frozen::Activation::None`) : rust<::fx_runtime::frozen::Linear>  @ src/lib.rs:33 as fc in Net by lower-modules + pack-kernels
          %fc_1 = host.runtime_method["run", fallible](%fc_2, host.ref(%flat_view)) : tensor  @ src/lib.rs:33 as fc in Net by lower-modules + pack-kernels
          yield %fc_1  @ src/lib.rs:34 as output in Net
        }"#]].assert_eq(&frozen(RESNET).to_string());
}

/// A convolution, a batch norm, a convolution, a batch norm and a convolution in a `Sequential`, and a batch norm in a
/// module of its own: the model of torch.fx's tutorial on this.
#[test]
fn batch_norms_fold_across_module_borders() {
    let source = r#"
use fx_runtime::{nn, traceable, Module, Tensor};

#[derive(Debug, Module)]
struct WrappedBatchNorm { bn: nn::BatchNorm }

impl WrappedBatchNorm {
    fn forward(&self, xs: &Tensor) -> Tensor { self.bn.forward(xs) }
}

#[derive(Debug, Module)]
struct Model { conv1: nn::Conv2D, bn1: nn::BatchNorm, conv2: nn::Conv2D, nested: nn::Sequential, wrapped: WrappedBatchNorm }

impl Model {
    fn new(p: &nn::Path) -> Self {
        let nested = nn::seq()
            .add(nn::batch_norm2d(p / "nested" / "0", 1, Default::default()))
            .add(nn::conv2d(p / "nested" / "1", 1, 1, 1, Default::default()));
        Model {
            conv1: nn::conv2d(p / "conv1", 1, 1, 1, Default::default()),
            bn1: nn::batch_norm2d(p / "bn1", 1, Default::default()),
            conv2: nn::conv2d(p / "conv2", 1, 1, 1, Default::default()),
            nested,
            wrapped: WrappedBatchNorm { bn: nn::batch_norm2d(p / "wrapped" / "bn", 1, Default::default()) },
        }
    }
}

#[traceable]
impl Model {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let xs = self.bn1.forward(&self.conv1.forward(xs));
        let xs = self.nested.forward(&self.conv2.forward(&xs));
        self.wrapped.forward(&xs)
    }
}
"#;
    assert_eq!(kernels_and_norms(&frozen(source)), (3, 0));
    check(
        source,
        &expect![[r#"
            conv1_2 = Conv::pack_layer_batch_norm(frame(), ref(_), ref(_), Activation::None) of conv1 bn1 (conv1 bn1)
            xs_1 = run(_, ref(_)) of conv1_2 xs (conv1 bn1)
            nested_0 = ::fx_runtime::nn::BatchNorm(_, 0, 2) of nested (nested.0)
            conv2_2 = Conv::pack_layer_batch_norm(frame(), ref(_), ref(_), Activation::None) of conv2 nested_0 (conv2 nested.0)
            nested_1 = run(_, ref(_)) of conv2_2 xs_1 (conv2 nested.0)
            nested_2 = ::fx_runtime::nn::Conv2D(_, 1, 2) of nested (nested.1)
            nested_4 = Conv::pack_layer_batch_norm(frame(), ref(_), ref(_), Activation::None) of nested_2 bn (nested.1 wrapped.bn)
            wrapped_bn = run(_, ref(_)) of nested_4 nested_1 (nested.1 wrapped.bn)
        "#]],
    );
}

/// A model of two convolutions and a batch norm with this body.
fn small(body: &str) -> String {
    format!(
        "use fx_runtime::{{nn, traceable, Module, Tensor}};
        #[derive(Debug, Module)]
        struct Net {{ conv: nn::Conv2D, other: nn::Conv2D, bn: nn::BatchNorm, deep: bool }}
        #[traceable]
        impl Net {{ pub fn forward(&self, xs: &Tensor) -> Tensor {{ {body} }} }}"
    )
}

#[test]
fn a_convolution_that_is_called_twice_keeps_its_batch_norm() {
    let twice = "let ys = self.bn.forward(&self.conv.forward(xs)); self.bn.forward(&self.conv.forward(&ys))";
    // One kernel for both calls.
    assert_eq!(kernels_and_norms(&frozen(&small(twice))), (1, 1));
}

#[test]
fn a_convolution_that_others_read_keeps_its_batch_norm() {
    let skip = "let ys = self.conv.forward(xs); self.bn.forward(&ys) + ys";
    let graph = frozen(&small(skip));
    // The addition beside it takes the norm into its group, as a factor and a summand of each channel.
    assert_eq!(kernels_and_norms(&graph), (1, 0));
    assert!(graph.to_string().contains(r#"host.runtime["norm::channel_factor""#), "{graph}");
}

#[test]
fn each_arm_has_the_layer_that_it_finishes() {
    let inside = "let ys = self.conv.forward(xs); if self.deep { self.bn.forward(&ys) } else { ys }";
    assert_eq!(kernels_and_norms(&frozen(&small(inside))), (2, 0));
    let by_input = "let ys = self.conv.forward(xs); if xs.dim() == 4 { self.bn.forward(&ys) } else { ys }";
    assert_eq!(kernels_and_norms(&frozen(&small(by_input))), (1, 1));
}

#[test]
fn a_call_that_is_repeated_is_one_call() {
    let same_twice = "let ys = self.conv.forward(xs); self.bn.forward(&ys) + self.bn.forward(&self.conv.forward(xs))";
    assert_eq!(kernels_and_norms(&frozen(&small(same_twice))), (1, 0));
}

#[test]
fn sizes_and_functions_of_the_users_own() {
    let source = r#"
use fx_runtime::{nn, traceable, Module, Tensor};

#[derive(Debug, Module)]
struct Net { w: Tensor, g: Tensor, b: Tensor, mean: Tensor, var: Tensor, fc: nn::Linear, bn: nn::BatchNorm }

#[traceable]
impl Net {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let (n, _, h, w) = xs.size4().unwrap();
        let ys = xs.conv2d(&self.w, None::<&Tensor>, [1, 1], [1, 1], [1, 1], 1);
        let ys = ys.batch_norm(Some(&self.g), Some(&self.b), Some(&self.mean), Some(&self.var), false, 0.1, 1e-5, true);
        let ys = ys.view((n, -1, h * w)).permute([0, 2, 1]).contiguous().view([n, -1]);
        self.bn.forward(&self.fc.forward(&ys)).gelu("none")
    }
}
"#;
    check(
        source,
        &expect![[r#"
            size4 = size4(_) of xs (size4)
            conv2d_params = ::fx_runtime::frozen::ConvParams stride padding dilation groups(vec(1, 1), vec(1, 1), vec(1, 1), 1) of  (conv2d)
            batch_norm_1 = BatchNorm::of_tensors(some(ref(_)), some(ref(_)), ref(_), ref(_), 1e-5) of g b mean var (batch_norm)
            conv2d_1 = Conv::pack_batch_norm(frame(), ref(_), None, ref(_), ref(_), Activation::None) of w_1 batch_norm_1 conv2d_params (conv2d batch_norm)
            ys_1 = run(_, ref(_)) of conv2d_1 xs (conv2d batch_norm)
            number = *(_, _) of h w (number)
            view = reshape of ys_1 n number (view)
            permute = transpose of view (permute)
            ys_2 = reshape of permute n (view)
            fc_folded = fold::linear_batch_norm(ref(_), as_ref(_), ref(_)) of fc_weight fc_bias bn (fc bn)
            fc_2 = Linear::pack(frame(), ref(_), some(ref(_)), Activation::Gelu) of fc_weight_1 fc_bias_1 (fc bn gelu)
            gelu = run(_, ref(_)) of fc_2 ys_2 (fc bn gelu)
        "#]],
    );
}

#[test]
fn two_convolutions_that_meet_are_two_kernels() {
    let meet = "(self.bn.forward(&self.conv.forward(xs)) + self.other.forward(xs)).relu()";
    check(
        &small(meet),
        &expect![[r#"
            conv_2 = Conv::pack_layer_batch_norm(frame(), ref(_), ref(_), Activation::None) of conv bn (conv bn)
            bn_1 = run(_, ref(_)) of conv_2 xs (conv bn)
            other_2 = Conv::pack_layer(frame(), ref(_), Activation::Relu) of other (other add relu)
            relu = run_add(_, ref(_), ref(_)) of other_2 xs bn_1 (other add relu)
        "#]],
    );
}

#[test]
fn a_layer_that_several_arms_of_a_call_use_is_packed_once() {
    let source = r"
use fx_runtime::{nn, traceable, Module, Tensor};

#[derive(Debug, Module)]
pub struct Cross { k: nn::Linear, heads: i64 }

#[traceable]
impl Cross {
    pub fn forward(&self, xs: &Tensor, past: Option<&Tensor>) -> Tensor {
        match past {
            Some(past) => past + xs.apply(&self.k).view([-1, self.heads]),
            None => xs.apply(&self.k).view([self.heads, -1]).relu(),
        }
    }
}
";
    check(
        source,
        &expect![[r#"
        k_4 = Linear::pack_layer(frame(), ref(_), Activation::None) of k (k)
        k_1 = run(_, ref(_)) of k_4 xs (k)
        view = reshape of k_1 heads (view)
        add = add of past_1 view (add)
        k_3 = run(_, ref(_)) of k_4 xs (k)
        view_1 = reshape of k_3 heads (view)
        relu = relu of view_1 (relu)
    "#]],
    );
}
