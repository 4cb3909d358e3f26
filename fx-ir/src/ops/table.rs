//! The op table: one row an op, and nothing about an op anywhere else.
// tidy: table

use super::{Class, OpRow, Scalar};
use crate::Effect;

const fn row(name: &'static str, methods: &'static [&'static str], class: Class, doc: &'static str) -> OpRow {
    OpRow {
        name,
        doc,
        methods,
        class,
        effect: Effect::Pure,
        commutative: false,
        function: false,
        functional: None,
        act: None,
        scalar: None,
    }
}

impl OpRow {
    const fn commutes(self) -> OpRow {
        OpRow { commutative: true, ..self }
    }
    const fn function(self) -> OpRow {
        OpRow { function: true, ..self }
    }
    const fn act(self, variant: &'static str) -> OpRow {
        OpRow { act: Some(variant), ..self }
    }
    const fn infix(self, sign: char) -> OpRow {
        OpRow { scalar: Some(Scalar::Infix(sign)), ..self }
    }
    const fn lane(self) -> OpRow {
        OpRow { scalar: Some(Scalar::Function), ..self }
    }
    const fn row(self, reductions: usize) -> OpRow {
        OpRow { scalar: Some(Scalar::Row(reductions)), ..self }
    }
    const fn random(self) -> OpRow {
        OpRow { effect: Effect::Random, ..self }
    }
    const fn in_place_of(self, functional: &'static str) -> OpRow {
        OpRow { effect: Effect::InPlace(0), functional: Some(functional), ..self }
    }
}

use Class::{Contraction, Data, Normalization, Pointwise, Reduction, View};

pub(super) const ROWS: &[OpRow] = &[
    // Activations.
    row("relu", &["relu"], Pointwise, "max(x, 0)").act("Relu").lane(),
    row("relu_", &["relu_"], Pointwise, "max(x, 0) in place").in_place_of("relu"),
    row("relu6", &["relu6"], Pointwise, "min(max(x, 0), 6)").act("Relu6").lane(),
    row("relu6_", &["relu6_"], Pointwise, "min(max(x, 0), 6) in place").in_place_of("relu6"),
    row("sigmoid", &["sigmoid"], Pointwise, "1 / (1 + exp(-x))").act("Sigmoid").lane(),
    row("sigmoid_", &["sigmoid_"], Pointwise, "1 / (1 + exp(-x)) in place").in_place_of("sigmoid"),
    row("tanh", &["tanh"], Pointwise, "the hyperbolic tangent").act("Tanh").lane(),
    row("tanh_", &["tanh_"], Pointwise, "the hyperbolic tangent in place").in_place_of("tanh"),
    row("silu", &["silu"], Pointwise, "x * sigmoid(x)").act("Silu").lane(),
    row("silu_", &["silu_"], Pointwise, "x * sigmoid(x) in place").in_place_of("silu"),
    row("hardswish", &["hardswish"], Pointwise, "x * relu6(x + 3) / 6").act("HardSwish").lane(),
    row("hardswish_", &["hardswish_"], Pointwise, "x * relu6(x + 3) / 6 in place").in_place_of("hardswish"),
    row("gelu", &["gelu"], Pointwise, "x * Phi(x), Phi exact (\"none\") or by tanh (\"tanh\")").lane(),
    row("leaky_relu", &["leaky_relu"], Pointwise, "x where x > 0, else 0.01 * x").act("LeakyRelu(0.01)").lane(),
    row("hardsigmoid", &["hardsigmoid"], Pointwise, "relu6(x + 3) / 6").lane(),
    row("clamp", &["clamp"], Pointwise, "min(max(x, low), high)").lane(),
    // Arithmetic.
    row("add", &["g_add"], Pointwise, "a + b, broadcast").commutes().function().infix('+'),
    row("add_", &["g_add_"], Pointwise, "a += b, broadcast").in_place_of("add"),
    row("add.Scalar", &["g_add_scalar"], Pointwise, "a + number").function().infix('+'),
    row("sub", &["g_sub"], Pointwise, "a - b, broadcast").function().infix('-'),
    row("sub.Scalar", &["g_sub_scalar"], Pointwise, "a - number").function().infix('-'),
    row("mul", &["g_mul"], Pointwise, "a * b, broadcast").commutes().function().infix('*'),
    row("mul_", &["g_mul_"], Pointwise, "a *= b, broadcast").in_place_of("mul"),
    row("mul.Scalar", &["g_mul_scalar"], Pointwise, "a * number").function().infix('*'),
    row("div", &["g_div"], Pointwise, "a / b, broadcast").function().infix('/'),
    row("div_", &["g_div_"], Pointwise, "a /= b, broadcast").in_place_of("div"),
    row("div.Scalar", &["g_div_scalar"], Pointwise, "a / number").function().infix('/'),
    row("neg", &["neg"], Pointwise, "-x").function().lane(),
    row("exp", &["exp"], Pointwise, "e to the x").lane(),
    row("sqrt", &["sqrt"], Pointwise, "the square root").lane(),
    row("rsqrt", &["rsqrt"], Pointwise, "1 / sqrt(x)").lane(),
    row("reciprocal", &["reciprocal"], Pointwise, "1 / x").lane(),
    row("abs", &["abs"], Pointwise, "x without its sign").lane(),
    row("square", &["square"], Pointwise, "x * x").lane(),
    row("clamp_min", &["clamp_min"], Pointwise, "max(x, low)").lane(),
    row("clamp_max", &["clamp_max"], Pointwise, "min(x, high)").lane(),
    row("maximum", &["maximum"], Pointwise, "the larger of both, broadcast").commutes().lane(),
    row("minimum", &["minimum"], Pointwise, "the smaller of both, broadcast").commutes().lane(),
    row(
        "group",
        &[],
        Pointwise,
        "each element, or row, through the graph `body`: ops that have a scalar form, in one go",
    ),
    // Sums of products.
    row("convolution", &[], Contraction, "a convolution with its padding, then `add` if given, then `act`"),
    row("conv1d", &["conv1d"], Contraction, "a 1-d convolution").function(),
    row("conv2d", &["conv2d"], Contraction, "a 2-d convolution").function(),
    row("conv3d", &["conv3d"], Contraction, "a 3-d convolution").function(),
    row("linear", &["linear"], Contraction, "x * weight^T + bias, then `add` if given, then `act`").function(),
    row("product", &[], Contraction, "x * weight + bias, then `add` if given, then `act`"),
    row("matmul", &["matmul"], Contraction, "the matrix product over the last two axes").function(),
    // Reductions and pooling.
    row("softmax", &["softmax"], Reduction, "exp(x) / sum(exp(x)) along one axis").row(2),
    row("log_softmax", &["log_softmax"], Reduction, "x - log(sum(exp(x))) along one axis").row(2),
    row("max_pool2d", &["max_pool2d"], Reduction, "the maximum over windows").function(),
    row("avg_pool2d", &["avg_pool2d"], Reduction, "the mean over windows").function(),
    row("adaptive_avg_pool2d", &["adaptive_avg_pool2d"], Reduction, "the mean over windows that yield a given size")
        .function(),
    row("mean.dim", &["mean_dim"], Reduction, "the mean along axes").row(1),
    row("sum.dim_IntList", &["sum_dim_intlist"], Reduction, "the sum along axes").row(1),
    row("amax", &["amax"], Reduction, "the largest along axes").row(1),
    // Normalisation.
    row("batch_norm", &["batch_norm"], Normalization, "(x - mean) * rsqrt(var + eps) * weight + bias per channel")
        .function(),
    row("layer_norm", &["layer_norm"], Normalization, "the same over the last axes of each row").function().row(2),
    row("rms_norm", &["rms_norm"], Normalization, "x * rsqrt(mean(x * x) + eps) * weight over the last axes").row(1),
    row("group_norm", &["group_norm"], Normalization, "the same over groups of channels").function(),
    // Views and data.
    row("view", &["view"], View, "the same memory under other sizes"),
    row("reshape", &["reshape"], View, "the same elements under other sizes"),
    row("flatten", &["flatten"], View, "adjacent axes made one").function(),
    row("flat_view", &["flat_view"], View, "all axes but the first made one"),
    row("permute", &["permute"], View, "the axes in another order"),
    row("transpose", &["transpose"], View, "two axes exchanged"),
    row("squeeze", &["squeeze"], View, "axes of size one dropped"),
    row("unsqueeze", &["unsqueeze"], View, "an axis of size one added"),
    row("contiguous", &["contiguous"], View, "the same tensor in row-major order"),
    row("shallow_clone", &["shallow_clone"], View, "another handle of the same tensor"),
    row("cat", &["cat"], Data, "tensors joined along an axis").function(),
    row("stack", &["stack"], Data, "tensors joined along a new axis").function(),
    row("embedding", &["embedding"], Data, "rows of a table, chosen by indices").function(),
    row("dropout", &["dropout"], Pointwise, "zeroes elements at random when training").random().function(),
];
