//! Everything that the library promises, written as users write it and taken through the whole pipeline: what is left of
//! each forward are the calls named here and no others.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that fails may do so by panicking")]

use fx_front::{diag::Diagnostics, scan, trace};
use fx_ir::{Arg, Binding, Bindings, Graph, HostOp, Op};
use fx_passes::pass::PassContext;
use fx_passes::pipeline::Pipeline;

/// A model with a layer of each kind, and this forward.
fn frozen(body: &str) -> Graph {
    let source = format!(
        "use fx_runtime::{{nn, traceable, Kind, Module, Tensor}};
        #[derive(Debug, Module)]
        struct Net {{
            c1: nn::Conv1D, c2: nn::Conv2D, c3: nn::Conv3D, t2: nn::ConvTranspose2D, d2: nn::Conv2D,
            fc: nn::Linear, q: nn::Linear, k: nn::Linear, v: nn::Linear, bn: nn::BatchNorm, id: nn::Identity,
            drop: nn::Dropout, ln: nn::LayerNorm, act: nn::GELU, w: Tensor, b: Tensor, s: f64, deep: bool,
        }}
        #[traceable]
        impl Net {{ pub fn forward(&self, xs: &Tensor) -> Tensor {{ {body} }} }}"
    );
    let diags = Diagnostics::new();
    let index = scan::text(&source, &diags);
    let item = index.fns.iter().position(|function| function.key.is_some()).expect("an entry");
    let traced = trace::item(&index, item, &diags);
    let told: Vec<String> = diags.into_sorted().iter().map(ToString::to_string).collect();
    assert_eq!(told, [""; 0], "{body}");
    let mut graph = traced.graph;
    let cx = PassContext::new(traced.signature.has_receiver);
    // Groups would hide which ops are in them.
    Pipeline::inference().without("group-pointwise").run(&mut graph, &cx).unwrap_or_else(|error| panic!("{error}"));
    graph
}

/// What a call does, in order: ops by name, kernels by the method that runs them, with the activation they were packed with.
fn calls(body: &str) -> String {
    let graph = frozen(body);
    let bindings = Bindings::of(&graph, true);
    let mut found = Vec::new();
    for id in graph.nodes() {
        let node = graph.node(id);
        if bindings.get(id) != Binding::Call {
            continue;
        }
        match &node.op {
            Op::Call(op) => found.push(op.name().to_owned()),
            Op::CallModule(kind) => found.push(kind.0.clone()),
            Op::Host(host) => match &host.op {
                HostOp::RuntimeMethod(method) => {
                    let kernel = node.input(0).map(|kernel| graph.node(kernel));
                    let Some(pack) = kernel else { panic!("{body}: a kernel is packed") };
                    let Some(HostOp::Runtime(name)) = pack.op.host() else { panic!("{body}: a kernel is packed") };
                    let kind = name.split("::").next().unwrap_or("?");
                    let add = if method == "run_add" { "+" } else { "" };
                    found.push(format!("{kind}{add}{}", pack.args.last().map(act).unwrap_or_default()));
                }
                HostOp::Runtime(name) if name.starts_with("attention::") => found.push("attend".to_owned()),
                _ => {}
            },
            _ => {}
        }
    }
    found.join(", ")
}

/// The activation that a kernel is packed with, behind a space.
fn act(arg: &Arg) -> String {
    match arg {
        Arg::Path(path) => match path.rsplit_once("Activation::") {
            Some((_, "None")) | None => String::new(),
            Some((_, act)) => format!(" {act}"),
        },
        Arg::Expr(expr) => match &expr.op {
            HostOp::Runtime(name) => {
                let number =
                    |arg: &Arg| if let Arg::Float(number) = arg { format!("{number:?}") } else { "?".to_owned() };
                let numbers: Vec<String> = expr.args.iter().map(number).collect();
                format!(" {}({})", name.trim_start_matches("Activation::"), numbers.join(", "))
            }
            _ => String::new(),
        },
        _ => String::new(),
    }
}

#[track_caller]
fn check(rows: &[(&str, &str)]) {
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(body, wanted)| {
            let found = calls(body);
            (found != *wanted).then(|| format!("{body}\n  is {found}\n  not {wanted}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_does_nothing_goes() {
    check(&[
        ("self.drop.forward_t(&self.id.forward(&xs.relu()), false)", "relu"),
        ("xs.relu().dropout(0.5, false)", "relu"),
        ("xs.relu().permute([0, 1, 2]).contiguous().contiguous()", "relu, contiguous"),
        ("xs.relu().transpose(1, 2).transpose(2, 1)", "relu"),
        ("xs.sigmoid() * 1.0 + 0.0", "sigmoid, add.Scalar"),
        ("let ys = xs.tanh(); let _unused = ys.exp(); ys", "tanh"),
        ("xs.tanh() + xs.tanh()", "tanh, add"),
    ]);
}

#[test]
fn batch_norms_fold() {
    check(&[
        ("self.bn.forward(&self.c1.forward(xs))", "Conv"),
        ("self.bn.forward(&self.c2.forward(xs))", "Conv"),
        ("self.bn.forward(&self.c3.forward(xs))", "Conv"),
        ("self.bn.forward(&self.t2.forward(xs))", "Conv"),
        ("self.bn.forward(&self.fc.forward(&xs.flat_view()))", "reshape, Linear"),
        ("self.fc.forward(&self.bn.forward(&xs.flat_view()))", "reshape, Linear"),
        ("let ys = self.c2.forward(xs); if self.deep { self.bn.forward(&ys) } else { ys }", "Conv, Conv"),
    ]);
}

#[test]
fn layers_take_in_what_follows() {
    for (act, name) in [
        ("relu()", "Relu"),
        ("clamp(0.0, 6.0)", "Relu6"),
        ("hardswish()", "HardSwish"),
        ("silu()", "Silu"),
        ("sigmoid()", "Sigmoid"),
        ("tanh()", "Tanh"),
        ("gelu(\"none\")", "Gelu"),
        ("gelu(\"tanh\")", "GeluTanh"),
        ("leaky_relu()", "LeakyRelu(0.01)"),
        ("clamp(-1.0, 2.0)", "Clamp(-1.0, 2.0)"),
    ] {
        check(&[
            (&format!("self.c2.forward(xs).{act}"), &format!("Conv {name}")),
            (&format!("(self.c2.forward(xs) + xs).{act}"), &format!("Conv+ {name}")),
            (&format!("self.fc.forward(xs).{act}"), &format!("Linear {name}")),
            (&format!("(xs + self.fc.forward(xs)).{act}"), &format!("Linear+ {name}")),
        ]);
    }
    check(&[("self.c2.forward(xs) + xs", "Conv+"), ("xs + self.fc.forward(xs)", "Linear+")]);
}

#[test]
fn layers_on_one_input_are_one() {
    check(&[
        ("self.q.forward(xs) * self.k.forward(xs) * self.v.forward(xs)", "Linear, narrow, narrow, mul, narrow, mul"),
        // SwiGLU and GeGLU.
        (
            "self.fc.forward(&(self.q.forward(xs).silu() * self.k.forward(xs)))",
            "Linear, narrow, silu, narrow, mul, Linear",
        ),
        (
            "self.fc.forward(&(self.q.forward(xs).gelu(\"none\") * self.k.forward(xs)))",
            "Linear, narrow, gelu, narrow, mul, Linear",
        ),
    ]);
}

#[test]
fn attention_is_one_op() {
    let head = "let (q, k, v) = (xs.sin(), xs.cos(), xs.exp());";
    let one = "sin, cos, exp, attend";
    for scores in [
        "q.matmul(&k.transpose(-2, -1)) * 0.125",
        "q.matmul(&k.transpose(-1, -2)) / 8.0",
        "(&q * 0.125).matmul(&k.transpose(-2, -1))",
        "(&q / 8.0).matmul(&k.permute([0, 1, 3, 2]))",
        "q.matmul(&k.permute([0, 2, 1]))",
        "q.matmul(&k.transpose(-2, -1)) / (q.size()[3] as f64).sqrt()",
        "q.matmul(&k.transpose(-2, -1)) * (1.0 / (q.size()[3] as f64).sqrt())",
    ] {
        check(&[
            (&format!("{head} ({scores}).softmax(-1, Kind::Float).dropout(0.1, false).matmul(&v)"), one),
            (&format!("{head} ({scores} + &self.b).softmax(-1, None).matmul(&v)"), one),
            (&format!("{head} ({scores}).masked_fill(&self.b, -1e9).softmax(-1, None).matmul(&v)"), one),
            (&format!("{head} ({scores}).masked_fill(&self.b, f64::NEG_INFINITY).softmax(-1, None).matmul(&v)"), one),
        ]);
    }
}

#[test]
fn norms_and_activations_that_are_spelled_out() {
    let gelu = "let ys = xs.sin();";
    check(&[
        ("let ys = xs.sigmoid(); let c = &ys - ys.mean_dim(-1, true, None); let var = (&c * &c).mean_dim(-1, true, None);
          c / (var + 1e-5).sqrt()", "sigmoid, layer_norm"),
        ("let ys = xs.sigmoid(); let c = &ys - ys.mean_dim(-1, true, None);
          let var = c.pow_tensor_scalar(2).mean_dim(-1, true, None); c * (var + 1e-5).rsqrt()", "sigmoid, layer_norm"),
        ("let ys = xs.sigmoid(); &ys * (ys.pow_tensor_scalar(2).mean_dim(-1, true, None) + 1e-6).rsqrt()", "sigmoid, rms_norm"),
        ("let ys = xs.sigmoid(); &ys / (ys.square().mean_dim(-1, true, None) + 1e-6).sqrt()", "sigmoid, rms_norm"),
        ("let ys = xs.sigmoid(); &ys * ((&ys * &ys).mean_dim(-1, true, Kind::Float) + 1e-6).rsqrt()", "sigmoid, rms_norm"),
        (&format!("{gelu} &ys * 0.5 * ((&ys * std::f64::consts::FRAC_1_SQRT_2).erf() + 1.0)"), "sin, gelu"),
        (&format!("{gelu} 0.5 * &ys * (1.0 + (&ys / 1.4142135623730951).erf())"), "sin, gelu"),
        (&format!("{gelu} 0.5 * &ys * (1.0 + (0.7978845608028654 * (&ys + 0.044715 * ys.pow_tensor_scalar(3))).tanh())"), "sin, gelu"),
        (&format!("{gelu} &ys * ys.sigmoid()"), "sin, silu"),
        (&format!("{gelu} &ys / (1.0 + (-&ys).exp())"), "sin, silu"),
        (&format!("{gelu} 1.0 / (1.0 + (-&ys).exp())"), "sin, sigmoid"),
        (&format!("{gelu} &ys * (&ys + 3.0).clamp(0.0, 6.0) / 6.0"), "sin, hardswish"),
        ("xs.pow_tensor_scalar(2)", "square"),
        ("let ys = xs.sigmoid(); &ys * &ys", "sigmoid, square"),
        ("let ys = xs.sigmoid(); 1.0 / ys.sqrt()", "sigmoid, rsqrt"),
        ("let ys = xs.sigmoid(); ys.pow_tensor_scalar(-0.5)", "sigmoid, rsqrt"),
    ]);
}

#[test]
fn chains_of_views_and_joints() {
    check(&[
        ("xs.reshape([2, 8]).reshape([4, 4])", "reshape"),
        ("xs.permute([0, 2, 1, 3]).permute([0, 3, 1, 2])", "permute"),
        ("let (a, b) = (xs.narrow(1, 0, 2), xs.narrow(1, 2, 3)); Tensor::cat(&[a, b], 1).relu()", "narrow, relu"),
        ("Tensor::cat(&[Tensor::cat(&[xs.sin(), xs.cos()], 1), xs.exp()], 1)", "sin, cos, exp, cat"),
    ]);
}

#[test]
fn weights_take_what_they_can() {
    check(&[
        ("self.c2.forward(xs) * 2.0", "Conv"),
        ("self.c2.forward(&(xs.sigmoid() / 255.0)).relu()", "sigmoid, Conv Relu"),
        ("self.fc.forward(xs) * self.s", "Linear"),
        // Either the factor is in the weights, or it is not one for each output.
        ("xs + &self.b * self.fc.forward(xs)", "Linear+, Linear, mul, add"),
        ("xs.matmul(&self.w.tr())", "Linear"),
        ("xs.matmul(&self.w) + &self.b", "Product"),
        // What depends on weights alone is computed when the model is frozen.
        ("xs + (&self.w * 2.0).exp() / self.s", "add"),
    ]);
}
