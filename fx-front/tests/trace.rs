//! The tracer, told in source and read in graphs.

mod common;

use common::check;
use expect_test::expect;

const RESNET: &str = r"
use fx_runtime::{nn, traceable, Module, Tensor};

#[derive(Debug, Module)]
struct Downsample { conv: nn::Conv2D, bn: nn::BatchNorm }

#[traceable]
impl Net {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.bn1.forward(&self.conv1.forward(xs)).relu();
        let mut ys = self.maxpool.forward(&ys);
        for layer in [&self.layer1, &self.layer2] {
            for block in layer {
                ys = block.forward(&ys);
            }
        }
        self.fc.forward(&ys.adaptive_avg_pool2d([1, 1]).flat_view())
    }
}

#[derive(Debug, Module)]
struct Net { conv1: nn::Conv2D, bn1: nn::BatchNorm, maxpool: nn::MaxPool2D, layer1: Vec<Block>, layer2: Vec<Block>, fc: nn::Linear }

#[derive(Debug, Module)]
struct Block { conv1: nn::Conv2D, bn1: nn::BatchNorm, conv2: nn::Conv2D, bn2: nn::BatchNorm, downsample: Option<Downsample> }

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
";

#[test]
fn a_residual_network() {
    check(
        RESNET,
        expect![[r#"
            graph Net(self: module<crate::Net>, xs: tensor) {
              %bn1 = get_attr[bn1](self) : module<BatchNorm>  @ src/lib.rs:10 as bn1 in Net
              %conv1 = get_attr[conv1](self) : module<Conv2D>  @ src/lib.rs:10 as conv1 in Net
              %conv1_1 = call_module[Conv2D](%conv1, xs) : tensor  @ src/lib.rs:10 as conv1 in Net
              %bn1_1 = call_module[BatchNorm](%bn1, %conv1_1) : tensor  @ src/lib.rs:10 as bn1 in Net
              %ys = relu(%bn1_1) : tensor  @ src/lib.rs:10 as relu in Net
              %maxpool = get_attr[maxpool](self) : module<MaxPool2D>  @ src/lib.rs:11 as maxpool in Net
              %ys_1 = call_module[MaxPool2D](%maxpool, %ys) : tensor  @ src/lib.rs:11 as maxpool in Net
              %layer1 = get_attr[layer1](self) : list<module<crate::Block>>  @ src/lib.rs:12 as layer1 in Net
              %layer2 = get_attr[layer2](self) : list<module<crate::Block>>  @ src/lib.rs:12 as layer2 in Net
              %unit = host.unit() : ()  @ src/lib.rs:12 as unit in Net
              %ys_6 = for["%0 in $0.iter()"](%layer1, %ys_1) : tensor  @ src/lib.rs:13 as each in Net (block: module<crate::Block>  @ src/lib.rs:13 as "layer1.*" in Net, ys_2: tensor  @ src/lib.rs:13 as ys in Net) {
                %downsample = get_attr[downsample](block) : option<module<crate::Downsample>>  @ src/lib.rs:29 as "layer1.*.downsample" in Net + Block["layer1.*"]
                %skip = match(%downsample) : tensor  @ src/lib.rs:29 as choice in Net + Block["layer1.*"] {
                  "Some(%0)" (d: module<crate::Downsample>  @ src/lib.rs:30 as "layer1.*.downsample" in Net + Block["layer1.*"]) {
                    %bn = get_attr[bn](d) : module<BatchNorm>  @ src/lib.rs:30 as "layer1.*.downsample.bn" in Net + Block["layer1.*"]
                    %conv = get_attr[conv](d) : module<Conv2D>  @ src/lib.rs:30 as "layer1.*.downsample.conv" in Net + Block["layer1.*"]
                    %layer1_downsample_conv = call_module[Conv2D](%conv, ys_2) : tensor  @ src/lib.rs:30 as "layer1.*.downsample.conv" in Net + Block["layer1.*"]
                    %layer1_downsample_bn = call_module[BatchNorm](%bn, %layer1_downsample_conv) : tensor  @ src/lib.rs:30 as "layer1.*.downsample.bn" in Net + Block["layer1.*"]
                    yield %layer1_downsample_bn  @ src/lib.rs:29 as yield in Net + Block["layer1.*"]
                  }
                  "None" {
                    yield ys_2  @ src/lib.rs:29 as yield in Net + Block["layer1.*"]
                  }
                }
                %bn1_2 = get_attr[bn1](block) : module<BatchNorm>  @ src/lib.rs:33 as "layer1.*.bn1" in Net + Block["layer1.*"]
                %conv1_2 = get_attr[conv1](block) : module<Conv2D>  @ src/lib.rs:33 as "layer1.*.conv1" in Net + Block["layer1.*"]
                %layer1_conv1 = call_module[Conv2D](%conv1_2, ys_2) : tensor  @ src/lib.rs:33 as "layer1.*.conv1" in Net + Block["layer1.*"]
                %layer1_bn1 = call_module[BatchNorm](%bn1_2, %layer1_conv1) : tensor  @ src/lib.rs:33 as "layer1.*.bn1" in Net + Block["layer1.*"]
                %ys_3 = relu(%layer1_bn1) : tensor  @ src/lib.rs:33 as relu in Net + Block["layer1.*"]
                %bn2 = get_attr[bn2](block) : module<BatchNorm>  @ src/lib.rs:34 as "layer1.*.bn2" in Net + Block["layer1.*"]
                %conv2 = get_attr[conv2](block) : module<Conv2D>  @ src/lib.rs:34 as "layer1.*.conv2" in Net + Block["layer1.*"]
                %layer1_conv2 = call_module[Conv2D](%conv2, %ys_3) : tensor  @ src/lib.rs:34 as "layer1.*.conv2" in Net + Block["layer1.*"]
                %ys_4 = call_module[BatchNorm](%bn2, %layer1_conv2) : tensor  @ src/lib.rs:34 as "layer1.*.bn2" in Net + Block["layer1.*"]
                %add = add(%ys_4, %skip) : tensor  @ src/lib.rs:35 as add in Net + Block["layer1.*"]
                %ys_5 = relu(%add) : tensor  @ src/lib.rs:35 as relu in Net + Block["layer1.*"]
                yield %ys_5  @ src/lib.rs:13 as yield in Net
              }
              %ys_11 = for["%0 in $0.iter()"](%layer2, %ys_6) : tensor  @ src/lib.rs:13 as each in Net (block_1: module<crate::Block>  @ src/lib.rs:13 as "layer2.*" in Net, ys_7: tensor  @ src/lib.rs:13 as ys in Net) {
                %downsample_1 = get_attr[downsample](block_1) : option<module<crate::Downsample>>  @ src/lib.rs:29 as "layer2.*.downsample" in Net + Block["layer2.*"]
                %skip_1 = match(%downsample_1) : tensor  @ src/lib.rs:29 as choice in Net + Block["layer2.*"] {
                  "Some(%0)" (d_1: module<crate::Downsample>  @ src/lib.rs:30 as "layer2.*.downsample" in Net + Block["layer2.*"]) {
                    %bn_1 = get_attr[bn](d_1) : module<BatchNorm>  @ src/lib.rs:30 as "layer2.*.downsample.bn" in Net + Block["layer2.*"]
                    %conv_1 = get_attr[conv](d_1) : module<Conv2D>  @ src/lib.rs:30 as "layer2.*.downsample.conv" in Net + Block["layer2.*"]
                    %layer2_downsample_conv = call_module[Conv2D](%conv_1, ys_7) : tensor  @ src/lib.rs:30 as "layer2.*.downsample.conv" in Net + Block["layer2.*"]
                    %layer2_downsample_bn = call_module[BatchNorm](%bn_1, %layer2_downsample_conv) : tensor  @ src/lib.rs:30 as "layer2.*.downsample.bn" in Net + Block["layer2.*"]
                    yield %layer2_downsample_bn  @ src/lib.rs:29 as yield in Net + Block["layer2.*"]
                  }
                  "None" {
                    yield ys_7  @ src/lib.rs:29 as yield in Net + Block["layer2.*"]
                  }
                }
                %bn1_3 = get_attr[bn1](block_1) : module<BatchNorm>  @ src/lib.rs:33 as "layer2.*.bn1" in Net + Block["layer2.*"]
                %conv1_3 = get_attr[conv1](block_1) : module<Conv2D>  @ src/lib.rs:33 as "layer2.*.conv1" in Net + Block["layer2.*"]
                %layer2_conv1 = call_module[Conv2D](%conv1_3, ys_7) : tensor  @ src/lib.rs:33 as "layer2.*.conv1" in Net + Block["layer2.*"]
                %layer2_bn1 = call_module[BatchNorm](%bn1_3, %layer2_conv1) : tensor  @ src/lib.rs:33 as "layer2.*.bn1" in Net + Block["layer2.*"]
                %ys_8 = relu(%layer2_bn1) : tensor  @ src/lib.rs:33 as relu in Net + Block["layer2.*"]
                %bn2_1 = get_attr[bn2](block_1) : module<BatchNorm>  @ src/lib.rs:34 as "layer2.*.bn2" in Net + Block["layer2.*"]
                %conv2_1 = get_attr[conv2](block_1) : module<Conv2D>  @ src/lib.rs:34 as "layer2.*.conv2" in Net + Block["layer2.*"]
                %layer2_conv2 = call_module[Conv2D](%conv2_1, %ys_8) : tensor  @ src/lib.rs:34 as "layer2.*.conv2" in Net + Block["layer2.*"]
                %ys_9 = call_module[BatchNorm](%bn2_1, %layer2_conv2) : tensor  @ src/lib.rs:34 as "layer2.*.bn2" in Net + Block["layer2.*"]
                %add_1 = add(%ys_9, %skip_1) : tensor  @ src/lib.rs:35 as add in Net + Block["layer2.*"]
                %ys_10 = relu(%add_1) : tensor  @ src/lib.rs:35 as relu in Net + Block["layer2.*"]
                yield %ys_10  @ src/lib.rs:13 as yield in Net
              }
              %fc = get_attr[fc](self) : module<Linear>  @ src/lib.rs:17 as fc in Net
              %adaptive_avg_pool2d = adaptive_avg_pool2d(%ys_11, [1, 1]) : tensor  @ src/lib.rs:17 as adaptive_avg_pool2d in Net
              %flat_view = flat_view(%adaptive_avg_pool2d) : tensor  @ src/lib.rs:17 as flat_view in Net
              %fc_1 = call_module[Linear](%fc, %flat_view) : tensor  @ src/lib.rs:17 as fc in Net
              yield %fc_1  @ src/lib.rs:18 as output in Net
            }"#]],
    );
}

#[test]
fn a_return_in_the_middle_is_a_return() {
    check(
        r#"
use fx_runtime::{nn, traceable, Module, Tensor};

#[traceable]
impl Net {
    pub fn forward(&self, xs: &Tensor, n: i64) -> Result<Tensor, String> {
        if n > 3 {
            return Err(format!("{n} is too many"));
        }
        for layer in &self.layers {
            if xs.dim() == n as usize {
                return Ok(xs.relu());
            }
        }
        Ok(xs.neg())
    }
}

#[derive(Debug, Module)]
struct Net { layers: Vec<nn::Linear> }
"#,
        expect![[r#"
            graph Net(self: module<crate::Net>, xs: tensor, n: rust<i64>) {
              %test = host.binary[">"](n, 3) : rust<bool>  @ src/lib.rs:7 as test in Net
              %branch = if(%test) : tensor  @ src/lib.rs:7 as branch in Net {
                %refused = rust["{ let refused: Result < Tensor , String > = Err (format ! (\"{n} is too many\")); ::fx_runtime::frozen::at!(refused, \"return\", \"src/lib.rs:8\")?; ::std::unreachable!() }", block, let mut n = "$0", io](n) : rust<!>  @ src/lib.rs:8 as refused in Net
                yield %refused  @ src/lib.rs:7 as yield in Net
              } else {
                %layers = get_attr[layers](self) : list<module<Linear>>  @ src/lib.rs:10 as layers in Net
                %each = for["%0 in $0.iter()"](%layers) : ()  @ src/lib.rs:10 as each in Net (layer: module<Linear>  @ src/lib.rs:10 as "layers.*" in Net) {
                  %dim = host.method["dim"](xs) : rust<usize>  @ src/lib.rs:11 as dim in Net
                  %cast = host.cast["usize"](n) : rust<usize>  @ src/lib.rs:11 as cast in Net
                  %test_1 = host.binary["=="](%dim, %cast) : rust<bool>  @ src/lib.rs:11 as test in Net
                  %branch_1 = if(%test_1) : ()  @ src/lib.rs:11 as branch in Net {
                    %relu = relu(xs) : tensor  @ src/lib.rs:12 as relu in Net
                    %left = host.return[io](host.output(host.handle(%relu))) : rust<!>  @ src/lib.rs:12 as left in Net
                    yield %left  @ src/lib.rs:11 as yield in Net
                  } else {
                    yield  @ src/lib.rs:11 as yield in Net
                  }
                  yield  @ src/lib.rs:10 as yield in Net
                }
                %neg = neg(xs) : tensor  @ src/lib.rs:15 as neg in Net
                yield %neg  @ src/lib.rs:7 as yield in Net
              }
              yield %branch  @ src/lib.rs:16 as output in Net
            }"#]],
    );
}

#[test]
fn let_else_and_options_are_matches() {
    check(
        r"
use fx_runtime::{nn, traceable, Module, Tensor};

#[traceable]
impl Net {
    pub fn forward(&self, xs: &Tensor, mask: Option<&Tensor>) -> Tensor {
        let Some(fc) = &self.fc else { return xs.relu() };
        let mask = mask.unwrap_or(xs);
        fc.forward(xs) * mask
    }
}

#[derive(Debug, Module)]
struct Net { fc: Option<nn::Linear> }
",
        expect![[r#"
            graph Net(self: module<crate::Net>, xs: tensor, mask: option<tensor>) {
              %fc = get_attr[fc](self) : option<module<Linear>>  @ src/lib.rs:7 as fc in Net
              %branch = match(%fc) : tensor  @ src/lib.rs:7 as branch in Net {
                "Some(%0)" (fc_1: module<Linear>  @ src/lib.rs:7 as fc in Net) {
                  %mask_1 = match(mask) : tensor  @ src/lib.rs:8 as choice in Net {
                    "Some(%0)" (held_value: tensor  @ src/lib.rs:8 as held_value in Net) {
                      yield held_value  @ src/lib.rs:8 as yield in Net
                    }
                    "None" {
                      yield xs  @ src/lib.rs:8 as yield in Net
                    }
                  }
                  %fc_2 = call_module[Linear](fc_1, xs) : tensor  @ src/lib.rs:9 as fc in Net
                  %mul = mul(%fc_2, %mask_1) : tensor  @ src/lib.rs:9 as mul in Net
                  yield %mul  @ src/lib.rs:7 as yield in Net
                }
                "None" {
                  %relu = relu(xs) : tensor  @ src/lib.rs:7 as relu in Net
                  yield %relu  @ src/lib.rs:7 as yield in Net
                }
              }
              yield %branch  @ src/lib.rs:10 as output in Net
            }"#]],
    );
}

#[test]
fn what_is_not_understood_is_carried_in_its_largest_piece() {
    check(
        r"
use fx_runtime::{nn, traceable, Module, Tensor};

#[traceable]
impl Net {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let ys = self.fc.forward(xs);
        let parts: Vec<f64> = self.names.iter().map(|name| name.capacity() as f64).collect();
        ys.relu() * parts.len() as i64
    }
}

#[derive(Debug, Module)]
struct Net { fc: nn::Linear, names: Vec<String> }
",
        expect![[r#"
            graph Net(self: module<crate::Net>, xs: tensor) {
              %fc = get_attr[fc](self) : module<Linear>  @ src/lib.rs:7 as fc in Net
              %ys = call_module[Linear](%fc, xs) : tensor  @ src/lib.rs:7 as fc in Net
              %names_1 = get_attr[names](self) : list<rust<String>>  @ src/lib.rs:8 as names in Net
              %parts = rust["{ let typed: Vec < f64 > = (* self_names) . iter () . map (| name | name . capacity () as f64) . collect (); typed }", block, let self_names = "&$0", io, opaque("the method `capacity`")](%names_1)  @ src/lib.rs:8 as opaque in Net
              %relu = relu(%ys) : tensor  @ src/lib.rs:9 as relu in Net
              %len = host.method["len", io](%parts) : rust<usize>  @ src/lib.rs:9 as len in Net
              %cast = host.cast["i64"](%len) : rust<i64>  @ src/lib.rs:9 as cast in Net
              %mul = mul.Scalar(%relu, %cast) : tensor  @ src/lib.rs:9 as mul in Net
              yield %mul  @ src/lib.rs:10 as output in Net
            }src/lib.rs:8: carried along, not understood: the method `capacity` [FX0008]
              help: written with ops that are known it would be optimised with what stands around it
        "#]],
    );
}

#[test]
fn a_list_that_a_loop_fills_has_a_variable_of_its_own() {
    check(
        r"
use fx_runtime::{nn, traceable, Module, Tensor};

#[traceable]
impl Net {
    pub fn forward(&self, xs: &Tensor) -> Tensor {
        let mut outs = vec![xs.neg()];
        outs.push(xs.relu());
        for layer in &self.layers {
            outs.push(layer.forward(xs));
        }
        Tensor::cat(&outs, 0)
    }
}

#[derive(Debug, Module)]
struct Net { layers: Vec<nn::Linear> }
",
        expect![[r#"
            graph Net(self: module<crate::Net>, xs: tensor) {
              %neg = neg(xs) : tensor  @ src/lib.rs:7 as neg in Net
              %relu = relu(xs) : tensor  @ src/lib.rs:8 as relu in Net
              %layers = get_attr[layers](self) : list<module<Linear>>  @ src/lib.rs:9 as layers in Net
              %outs = host.vec[io](host.handle(%neg), host.handle(%relu)) : list<tensor>  @ src/lib.rs:9 as outs in Net
              %outs_2 = for["%0 in $0.iter()"](%layers, %outs) : list<tensor>  @ src/lib.rs:9 as each in Net (layer: module<Linear>  @ src/lib.rs:9 as "layers.*" in Net, outs_1: list<tensor>  @ src/lib.rs:9 as outs in Net) {
                %layers_1 = call_module[Linear](layer, xs) : tensor  @ src/lib.rs:10 as "layers.*" in Net
                %push = host.mutate["push", io](outs_1, host.handle(%layers_1)) : ()  @ src/lib.rs:10 as push in Net
                yield outs_1  @ src/lib.rs:9 as yield in Net
              }
              %cat = cat(%outs_2, 0) : tensor  @ src/lib.rs:12 as cat in Net
              yield %cat  @ src/lib.rs:13 as output in Net
            }"#]],
    );
}

#[test]
fn code_of_another_module_is_called_rather_than_copied() {
    check(
        r"
use fx_runtime::{traceable, Tensor};

mod inner {
    use super::*;
    static SECRET: f64 = 0.5;
    fn private(xs: &Tensor) -> Tensor { xs * SECRET }
    pub fn public(xs: &Tensor) -> Tensor { private(xs).relu() }
    pub fn clean(xs: &Tensor) -> Tensor { xs.relu() * 2.0 }
}

#[traceable]
pub fn f(xs: &Tensor) -> Tensor {
    inner::clean(&inner::public(xs))
}
",
        expect![[r#"
            graph f(xs: tensor) {
              %public = rust["crate::inner::public($0)", io, opaque("`public` (src/lib.rs:8): `private` (src/lib.rs:7): `SECRET` is private to its module")](host.ref(xs)) : tensor  @ src/lib.rs:14 as public
              %relu = relu(%public) : tensor  @ src/lib.rs:9 as relu
              %mul = mul.Scalar(%relu, 2.0) : tensor  @ src/lib.rs:9 as mul
              yield %mul  @ src/lib.rs:15 as output
            }src/lib.rs:14: carried along, not understood: `public` (src/lib.rs:8): `private` (src/lib.rs:7): `SECRET` is private to its module [FX0008]
              help: written with ops that are known it would be optimised with what stands around it
        "#]],
    );
}
