//! The op table: one row an op, and nothing about an op anywhere else.
//!
//! `ID = row(name, methods, class, doc)`, then what differs from the rest of its class, then the formula of an op that can be
//! part of a group (`: name(x, parameter: kind) = body, by method`, `method` being tch's fallible one, and a parameter a
//! `lane`, a `number` or a `text`), then the activation that a kernel before it can absorb (`=> Variant method`, the
//! method working in place). A formula is an expression over [`Primitives`](super::formula::Primitives).
// tidy: table

use super::{Activation, Class, DtypeRule, OpRow, Quantization, RankRule, SamplesRule, Scalar, Steps};
use crate::Effect;

const fn row(name: &'static str, methods: &'static [&'static str], class: Class, doc: &'static str) -> OpRow {
    let is_elementwise = matches!(class, Class::Pointwise);
    OpRow {
        name,
        doc,
        methods,
        class,
        effect: Effect::Pure,
        commutative: false,
        function: false,
        python: "torch",
        functional: None,
        act: None,
        scalar: None,
        steps: None,
        rank: match class {
            Class::Pointwise | Class::Normalization => RankRule::Same,
            _ => RankRule::Any,
        },
        dtype: match class {
            Class::Normalization => DtypeRule::Float,
            _ => DtypeRule::Any,
        },
        reads_strides: false,
        samples: if is_elementwise { SamplesRule::Pointwise } else { SamplesRule::Mixes },
        quantization: Quantization::Floats,
        has_kernels: false,
    }
}

impl OpRow {
    const fn commutes(self) -> OpRow {
        OpRow { commutative: true, ..self }
    }
    const fn function(self) -> OpRow {
        OpRow { function: true, ..self }
    }
    /// A function of `torch.nn.functional`.
    const fn nn_function(self) -> OpRow {
        OpRow { function: true, python: "torch.nn.functional", ..self }
    }
    const fn act(self, act: Activation) -> OpRow {
        OpRow { act: Some(act), ..self }
    }
    const fn infix(self, sign: char) -> OpRow {
        OpRow { scalar: Some(Scalar::Infix(sign)), ..self }
    }
    const fn computes(self, steps: Steps) -> OpRow {
        OpRow { scalar: Some(Scalar::Function), steps: Some(steps), ..self }
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
    const fn rank(self, rank: RankRule) -> OpRow {
        OpRow { rank, ..self }
    }
    const fn samples(self, samples: SamplesRule) -> OpRow {
        OpRow { samples, ..self }
    }
    const fn reads_strides(self) -> OpRow {
        OpRow { reads_strides: true, ..self }
    }
    const fn float(self) -> OpRow {
        OpRow { dtype: DtypeRule::Float, ..self }
    }
    const fn bool(self) -> OpRow {
        OpRow { dtype: DtypeRule::Bool, ..self }
    }
    const fn same(self) -> OpRow {
        OpRow { dtype: DtypeRule::Same, ..self }
    }
    const fn own(self) -> OpRow {
        OpRow { quantization: Quantization::Own, ..self }
    }
    const fn weighted(self) -> OpRow {
        OpRow { quantization: Quantization::Weighted, ..self }
    }
    const fn with_kernels(self) -> OpRow {
        OpRow { has_kernels: true, ..self }
    }
    const fn shares(self) -> OpRow {
        OpRow { quantization: Quantization::Shares, ..self }
    }
    const fn within(self, low: f32, high: f32) -> OpRow {
        OpRow { quantization: Quantization::Within { low, high }, ..self }
    }
    const fn promotes(self) -> OpRow {
        OpRow { dtype: DtypeRule::Promotes, ..self }
    }
}

use Class::{Contraction, Data, Normalization, Pointwise, Reduction, View};

/// Hands all rows to the macro `$then`, here and in the runtime, which makes functions of the formulas.
#[doc(hidden)]
#[macro_export]
macro_rules! op_table {
    ($then:ident) => { $then! {
        // Activations.
        RELU = row("relu", &["relu"], Pointwise, "max(x, 0)").shares().same()
            : relu(x) = x.at_least(0.0), by f_relu => Relu f_relu_;
        RELU_IN_PLACE = row("relu_", &["relu_"], Pointwise, "max(x, 0) in place").shares().in_place_of("relu");
        RELU6 = row("relu6", &["relu6"], Pointwise, "min(max(x, 0), 6)").shares().same()
            : relu6(x) = x.at_least(0.0).at_most(6.0), by f_relu6 => Relu6 f_relu6_;
        RELU6_IN_PLACE = row("relu6_", &["relu6_"], Pointwise, "min(max(x, 0), 6) in place").shares().in_place_of("relu6");
        SIGMOID = row("sigmoid", &["sigmoid"], Pointwise, "1 / (1 + exp(-x))").within(0.0, 1.0).float()
            : sigmoid(x) = ((-x).power_of_e() + 1.0).inverse(), by f_sigmoid => Sigmoid f_sigmoid_;
        SIGMOID_IN_PLACE = row("sigmoid_", &["sigmoid_"], Pointwise, "1 / (1 + exp(-x)) in place").within(0.0, 1.0).in_place_of("sigmoid");
        TANH = row("tanh", &["tanh"], Pointwise, "the hyperbolic tangent").within(-1.0, 1.0).float()
            : tanh(x) = x.hyperbolic_tangent(), by f_tanh => Tanh f_tanh_;
        TANH_IN_PLACE = row("tanh_", &["tanh_"], Pointwise, "the hyperbolic tangent in place").within(-1.0, 1.0).in_place_of("tanh");
        SILU = row("silu", &["silu"], Pointwise, "x * sigmoid(x)").float()
            : silu(x) = x / ((-x).power_of_e() + 1.0), by f_silu => Silu f_silu_;
        SILU_IN_PLACE = row("silu_", &["silu_"], Pointwise, "x * sigmoid(x) in place").in_place_of("silu");
        HARDSWISH = row("hardswish", &["hardswish"], Pointwise, "x * relu6(x + 3) / 6").own().float()
            : hardswish(x) = x * (x + 3.0).at_least(0.0).at_most(6.0) / 6.0, by f_hardswish => HardSwish f_hardswish_;
        HARDSWISH_IN_PLACE = row("hardswish_", &["hardswish_"], Pointwise, "x * relu6(x + 3) / 6 in place").own().in_place_of("hardswish");
        MISH = row("mish", &["mish"], Pointwise, "x * tanh(log(1 + exp(x)))").float()
            : mish(x) = x * x.power_of_e().logarithm_1p().hyperbolic_tangent(), by f_mish => Mish f_mish_;
        MISH_IN_PLACE = row("mish_", &["mish_"], Pointwise, "x * tanh(log(1 + exp(x))) in place").in_place_of("mish");
        GELU = row("gelu", &["gelu"], Pointwise, "x * Phi(x), Phi exact (\"none\") or by tanh (\"tanh\")").float()
            .act(Activation::ByFormula(&[("none", "Gelu"), ("tanh", "GeluTanh")]))
            : gelu(x, approximate: text) = x.gelu_by(approximate), by f_gelu;
        LEAKY_RELU = row("leaky_relu", &["leaky_relu"], Pointwise, "x where x > 0, else 0.01 * x").own().same()
            .act(Activation::Plain("LeakyRelu(0.01)"))
            : leaky_relu(x) = x.where_above(0.0, x, x * 0.01), by f_leaky_relu;
        HARDSIGMOID = row("hardsigmoid", &["hardsigmoid"], Pointwise, "relu6(x + 3) / 6").within(0.0, 1.0).float()
            : hardsigmoid(x) = (x + 3.0).at_least(0.0).at_most(6.0) / 6.0, by f_hardsigmoid;
        CLAMP = row("clamp", &["clamp"], Pointwise, "min(max(x, low), high)").shares().same().act(Activation::ByBounds("Clamp"))
            : clamp(x, low: number, high: number) = x.at_least(low).at_most(high), by f_clamp;
        HARDTANH = row("hardtanh", &["hardtanh"], Pointwise, "min(max(x, -1), 1)").shares().same();
        ELU = row("elu", &["elu"], Pointwise, "x where x > 0, else exp(x) - 1").own().float()
            : elu(x) = x.where_above(0.0, x, expm1(x)), by f_elu;
        SELU = row("selu", &["selu"], Pointwise, "1.0507 * (x where x > 0, else 1.6733 * (exp(x) - 1))").float()
            : selu(x) = x.where_above(0.0, x * 1.050_700_987_355_480_5, expm1(x) * 1.758_099_340_847_376_6), by f_selu;
        CELU = row("celu", &["celu"], Pointwise, "max(x, 0) + min(exp(x) - 1, 0)").float()
            : celu(x) = x.where_above(0.0, x, expm1(x)), by f_celu;
        SOFTPLUS = row("softplus", &["softplus"], Pointwise, "log(1 + exp(x)), and x above 20").float()
            : softplus(x) = x.where_above(20.0, x, x.power_of_e().logarithm_1p()), by f_softplus;
        LOG_SIGMOID = row("log_sigmoid", &["log_sigmoid"], Pointwise, "log(sigmoid(x))").float();
        HARDSHRINK = row("hardshrink", &["hardshrink"], Pointwise, "x where |x| > 0.5, else 0").same();
        SOFTSHRINK = row("softshrink", &["softshrink"], Pointwise, "x moved by 0.5 towards 0, which it does not cross").float();
        THRESHOLD = row("threshold", &["threshold"], Pointwise, "x where x > threshold, else a value").same();
        PRELU = row("prelu", &["prelu"], Pointwise, "x where x > 0, else weight * x").own().same();
        // Arithmetic.
        ADD = row("add", &["g_add"], Pointwise, "a + b, broadcast").own().commutes().function().infix('+').promotes().rank(RankRule::Broadcast(2));
        ADD_IN_PLACE = row("add_", &["g_add_"], Pointwise, "a += b, broadcast").own().in_place_of("add");
        ADD_SCALAR = row("add.Scalar", &["g_add_scalar"], Pointwise, "a + number").shares().function().infix('+').promotes();
        SUB = row("sub", &["g_sub"], Pointwise, "a - b, broadcast").function().infix('-').promotes().rank(RankRule::Broadcast(2));
        SUB_SCALAR = row("sub.Scalar", &["g_sub_scalar"], Pointwise, "a - number").function().infix('-').promotes();
        MUL = row("mul", &["g_mul"], Pointwise, "a * b, broadcast").own().commutes().function().infix('*').promotes().rank(RankRule::Broadcast(2));
        MUL_IN_PLACE = row("mul_", &["g_mul_"], Pointwise, "a *= b, broadcast").own().in_place_of("mul");
        MUL_SCALAR = row("mul.Scalar", &["g_mul_scalar"], Pointwise, "a * number").shares().function().infix('*').promotes();
        DIV = row("div", &["g_div"], Pointwise, "a / b, broadcast").function().infix('/').float().rank(RankRule::Broadcast(2));
        DIV_IN_PLACE = row("div_", &["g_div_"], Pointwise, "a /= b, broadcast").in_place_of("div");
        DIV_SCALAR = row("div.Scalar", &["g_div_scalar"], Pointwise, "a / number").function().infix('/').float();
        NEG = row("neg", &["neg"], Pointwise, "-x").function().same()
            : neg(x) = -x, by f_neg;
        EXP = row("exp", &["exp"], Pointwise, "e to the x").float()
            : exp(x) = x.power_of_e(), by f_exp;
        EXPM1 = row("expm1", &["expm1"], Pointwise, "exp(x) - 1, exact for small x").float()
            : expm1(x) = { let half = (x * 0.5).hyperbolic_tangent(); (x.absolute() - 0.5).where_above(0.0, x.power_of_e() - 1.0, (half + half) / (-half + 1.0)) }, by f_expm1;
        EXP2 = row("exp2", &["exp2"], Pointwise, "2 to the x").float();
        LOG = row("log", &["log"], Pointwise, "the natural logarithm").float()
            : log(x) = x.logarithm(), by f_log;
        LOG1P = row("log1p", &["log1p"], Pointwise, "log(1 + x), exact for small x").float()
            : log1p(x) = x.logarithm_1p(), by f_log1p;
        LOG2 = row("log2", &["log2"], Pointwise, "the logarithm to base 2").float()
            : log2(x) = x.logarithm() * std::f64::consts::LOG2_E, by f_log2;
        LOG10 = row("log10", &["log10"], Pointwise, "the logarithm to base 10").float()
            : log10(x) = x.logarithm() * std::f64::consts::LOG10_E, by f_log10;
        SQRT = row("sqrt", &["sqrt"], Pointwise, "the square root").float()
            : sqrt(x) = x.root(), by f_sqrt;
        RSQRT = row("rsqrt", &["rsqrt"], Pointwise, "1 / sqrt(x)").float()
            : rsqrt(x) = x.root().inverse(), by f_rsqrt;
        RECIPROCAL = row("reciprocal", &["reciprocal"], Pointwise, "1 / x").float()
            : reciprocal(x) = x.inverse(), by f_reciprocal;
        ABS = row("abs", &["abs"], Pointwise, "x without its sign").same()
            : abs(x) = x.absolute(), by f_abs;
        SQUARE = row("square", &["square"], Pointwise, "x * x").same()
            : square(x) = x * x, by f_square;
        ERF = row("erf", &["erf"], Pointwise, "the error function").float()
            : erf(x) = x.error_function(), by f_erf;
        ERFC = row("erfc", &["erfc"], Pointwise, "1 - erf(x)").float();
        SIN = row("sin", &["sin"], Pointwise, "the sine").float();
        COS = row("cos", &["cos"], Pointwise, "the cosine").float();
        TAN = row("tan", &["tan"], Pointwise, "the tangent").float();
        ASIN = row("asin", &["asin"], Pointwise, "the inverse of the sine").float();
        ACOS = row("acos", &["acos"], Pointwise, "the inverse of the cosine").float();
        ATAN = row("atan", &["atan"], Pointwise, "the inverse of the tangent").float();
        SINH = row("sinh", &["sinh"], Pointwise, "the hyperbolic sine").float();
        COSH = row("cosh", &["cosh"], Pointwise, "the hyperbolic cosine").float();
        ERFINV = row("erfinv", &["erfinv"], Pointwise, "the inverse of the error function").float();
        LOGIT = row("logit", &["logit"], Pointwise, "log(x / (1 - x))").float();
        FLOOR = row("floor", &["floor"], Pointwise, "the largest integer not above x").same()
            : floor(x) = x.rounded_down(), by f_floor;
        CEIL = row("ceil", &["ceil"], Pointwise, "the least integer not below x").same()
            : ceil(x) = -(-x).rounded_down(), by f_ceil;
        ROUND = row("round", &["round"], Pointwise, "the nearest integer, of two the even one").same()
            : round(x) = x.rounded(), by f_round;
        TRUNC = row("trunc", &["trunc"], Pointwise, "x without what is behind the point").same()
            : trunc(x) = x.where_above(0.0, x.rounded_down(), -(-x).rounded_down()), by f_trunc;
        FRAC = row("frac", &["frac"], Pointwise, "what is behind the point of x").same()
            : frac(x) = x - x.where_above(0.0, x.rounded_down(), -(-x).rounded_down()), by f_frac;
        SIGN = row("sign", &["sign"], Pointwise, "1, 0 or -1").same();
        SGN = row("sgn", &["sgn"], Pointwise, "1, 0 or -1; of a complex number, it divided by its length").same();
        CLAMP_MIN = row("clamp_min", &["clamp_min"], Pointwise, "max(x, low)")
            : clamp_min(x, low: number) = x.at_least(low), by f_clamp_min;
        CLAMP_MAX = row("clamp_max", &["clamp_max"], Pointwise, "min(x, high)")
            : clamp_max(x, high: number) = x.at_most(high), by f_clamp_max;
        MAXIMUM = row("maximum", &["maximum"], Pointwise, "the larger of both, broadcast").commutes().promotes().rank(RankRule::Broadcast(2))
            : maximum(x, other: lane) = x.larger(other), by f_maximum;
        MINIMUM = row("minimum", &["minimum"], Pointwise, "the smaller of both, broadcast").commutes().promotes().rank(RankRule::Broadcast(2))
            : minimum(x, other: lane) = x.smaller(other), by f_minimum;
        LERP = row("lerp", &["lerp"], Pointwise, "x + number * (end - x), broadcast").promotes().rank(RankRule::Broadcast(2))
            : lerp(x, end: lane, weight: number) = x + (end - x) * weight, by f_lerp;
        LERP_TENSOR = row("lerp_tensor", &["lerp_tensor"], Pointwise, "x + weight * (end - x), broadcast").promotes().rank(RankRule::Broadcast(3));
        ADDCMUL = row("addcmul", &["addcmul"], Pointwise, "x + a * b, broadcast").promotes().rank(RankRule::Broadcast(3));
        ADDCDIV = row("addcdiv", &["addcdiv"], Pointwise, "x + a / b, broadcast").promotes().rank(RankRule::Broadcast(3));
        POW = row("pow", &["pow"], Pointwise, "x to a tensor of powers, broadcast").promotes().rank(RankRule::Broadcast(2));
        POW_TENSOR_SCALAR = row("pow_tensor_scalar", &["pow_tensor_scalar"], Pointwise, "x to a power").same();
        RSUB = row("rsub", &["rsub"], Pointwise, "b - a, broadcast").promotes().rank(RankRule::Broadcast(2));
        RSUB_SCALAR = row("rsub_scalar", &["rsub_scalar"], Pointwise, "number - a").promotes();
        ATAN2 = row("atan2", &["atan2"], Pointwise, "the angle of a point, broadcast").float().rank(RankRule::Broadcast(2));
        HYPOT = row("hypot", &["hypot"], Pointwise, "sqrt(a * a + b * b), broadcast").promotes().rank(RankRule::Broadcast(2));
        LOGADDEXP = row("logaddexp", &["logaddexp"], Pointwise, "log(exp(a) + exp(b)), broadcast").promotes().rank(RankRule::Broadcast(2));
        XLOGY = row("xlogy", &["xlogy"], Pointwise, "a * log(b), 0 where a is, broadcast").float().rank(RankRule::Broadcast(2));
        FMOD = row("fmod", &["fmod"], Pointwise, "the rest of a division by a number, with the sign of x").same();
        FMOD_TENSOR = row("fmod_tensor", &["fmod_tensor"], Pointwise, "the rest of a division, with the sign of a, broadcast").promotes().rank(RankRule::Broadcast(2));
        REMAINDER = row("remainder", &["remainder"], Pointwise, "the rest of a division by a number, with its sign").same();
        REMAINDER_TENSOR = row("remainder_tensor", &["remainder_tensor"], Pointwise, "the rest of a division, with the sign of b, broadcast").promotes().rank(RankRule::Broadcast(2));
        FLOOR_DIVIDE = row("floor_divide", &["floor_divide"], Pointwise, "a / b rounded down, broadcast").promotes().rank(RankRule::Broadcast(2));
        CLAMP_TENSOR = row("clamp_tensor", &["clamp_tensor"], Pointwise, "min(max(x, low), high) by tensors, broadcast").promotes().rank(RankRule::Any);
        CLAMP_MIN_TENSOR = row("clamp_min_tensor", &["clamp_min_tensor"], Pointwise, "max(x, low) by a tensor, broadcast").promotes().rank(RankRule::Broadcast(2));
        CLAMP_MAX_TENSOR = row("clamp_max_tensor", &["clamp_max_tensor"], Pointwise, "min(x, high) by a tensor, broadcast").promotes().rank(RankRule::Broadcast(2));
        // Comparisons and choices.
        EQ = row("eq", &["eq"], Pointwise, "x == number").bool();
        EQ_TENSOR = row("eq_tensor", &["eq_tensor"], Pointwise, "a == b, broadcast").commutes().bool().rank(RankRule::Broadcast(2));
        NE = row("ne", &["ne"], Pointwise, "x != number").bool();
        NE_TENSOR = row("ne_tensor", &["ne_tensor"], Pointwise, "a != b, broadcast").commutes().bool().rank(RankRule::Broadcast(2));
        LT = row("lt", &["lt"], Pointwise, "x < number").bool();
        LT_TENSOR = row("lt_tensor", &["lt_tensor"], Pointwise, "a < b, broadcast").bool().rank(RankRule::Broadcast(2));
        LE = row("le", &["le"], Pointwise, "x <= number").bool();
        LE_TENSOR = row("le_tensor", &["le_tensor"], Pointwise, "a <= b, broadcast").bool().rank(RankRule::Broadcast(2));
        GT = row("gt", &["gt"], Pointwise, "x > number").bool();
        GT_TENSOR = row("gt_tensor", &["gt_tensor"], Pointwise, "a > b, broadcast").bool().rank(RankRule::Broadcast(2));
        GE = row("ge", &["ge"], Pointwise, "x >= number").bool();
        GE_TENSOR = row("ge_tensor", &["ge_tensor"], Pointwise, "a >= b, broadcast").bool().rank(RankRule::Broadcast(2));
        LOGICAL_AND = row("logical_and", &["logical_and"], Pointwise, "a and b, broadcast").commutes().bool().rank(RankRule::Broadcast(2));
        LOGICAL_OR = row("logical_or", &["logical_or"], Pointwise, "a or b, broadcast").commutes().bool().rank(RankRule::Broadcast(2));
        LOGICAL_XOR = row("logical_xor", &["logical_xor"], Pointwise, "either a or b, broadcast").commutes().bool().rank(RankRule::Broadcast(2));
        LOGICAL_NOT = row("logical_not", &["logical_not"], Pointwise, "not x").bool();
        ISNAN = row("isnan", &["isnan"], Pointwise, "whether x is NaN").bool();
        ISINF = row("isinf", &["isinf"], Pointwise, "whether x is infinite").bool();
        ISFINITE = row("isfinite", &["isfinite"], Pointwise, "whether x is finite").bool();
        BITWISE_NOT = row("bitwise_not", &["bitwise_not"], Pointwise, "each bit inverted").same();
        WHERE = row("where_self", &["where_self"], Pointwise, "x where the condition holds, else another tensor, broadcast").promotes().rank(RankRule::Broadcast(3));
        MASKED_FILL = row("masked_fill", &["masked_fill"], Pointwise, "a number where the mask holds, else x, broadcast").same().rank(RankRule::Broadcast(2));
        MASKED_FILL_TENSOR = row("masked_fill_tensor", &["masked_fill_tensor"], Pointwise, "a value where the mask holds, else x, broadcast").same().rank(RankRule::Broadcast(2));
        GROUP = row("group", &[], Pointwise, "each element, or row, through the graph `body`: ops that have a scalar form, in one go");
        // Sums of products.
        CONVOLUTION = row("convolution", &[], Contraction, "a convolution with its padding, then `add` if given, then `act`").weighted().float().rank(RankRule::AtLeast(2)).samples(SamplesRule::Convolves);
        CONV1D = row("conv1d", &["conv1d"], Contraction, "a 1-d convolution").weighted().function().rank(RankRule::AtLeast(2));
        CONV2D = row("conv2d", &["conv2d"], Contraction, "a 2-d convolution").weighted().function().rank(RankRule::AtLeast(3));
        CONV3D = row("conv3d", &["conv3d"], Contraction, "a 3-d convolution").weighted().function().rank(RankRule::AtLeast(4));
        CONV_TRANSPOSE1D = row("conv_transpose1d", &["conv_transpose1d"], Contraction, "a 1-d transposed convolution").weighted().rank(RankRule::AtLeast(2));
        CONV_TRANSPOSE2D = row("conv_transpose2d", &["conv_transpose2d"], Contraction, "a 2-d transposed convolution").weighted().rank(RankRule::AtLeast(3));
        CONV_TRANSPOSE3D = row("conv_transpose3d", &["conv_transpose3d"], Contraction, "a 3-d transposed convolution").weighted().rank(RankRule::AtLeast(4));
        LINEAR = row("linear", &["linear"], Contraction, "x * weight^T + bias, then `add` if given, then `act`").weighted().function().promotes().rank(RankRule::Same).samples(SamplesRule::Keeps);
        PRODUCT = row("product", &[], Contraction, "x * weight + bias, then `add` if given, then `act`").promotes().samples(SamplesRule::Keeps);
        MATMUL = row("matmul", &["matmul"], Contraction, "the matrix product over the last two axes").own().function().promotes().samples(SamplesRule::Multiplies);
        BMM = row("bmm", &["bmm"], Contraction, "the products of matrices in two batches").promotes().rank(RankRule::Exactly(3));
        MM = row("mm", &["mm"], Contraction, "the product of two matrices").promotes().rank(RankRule::Exactly(2));
        MV = row("mv", &["mv"], Contraction, "the product of a matrix and a vector").promotes().rank(RankRule::Exactly(1));
        DOT = row("dot", &["dot"], Contraction, "the product of two vectors").promotes().rank(RankRule::Exactly(0));
        OUTER = row("outer", &["outer"], Contraction, "all products of elements of two vectors").promotes().rank(RankRule::Exactly(2));
        ADDMM = row("addmm", &["addmm"], Contraction, "x + the product of two matrices").promotes().rank(RankRule::Exactly(2));
        BADDBMM = row("baddbmm", &["baddbmm"], Contraction, "x + the products of matrices in two batches").promotes().rank(RankRule::Exactly(3));
        EINSUM = row("einsum", &["einsum"], Contraction, "a sum of products, by its equation");
        BILINEAR = row("bilinear", &["bilinear"], Contraction, "x * weight * y^T + bias");
        ATTENTION = row("scaled_dot_product_attention", &["scaled_dot_product_attention"], Contraction, "softmax(query * key^T) * value").random().float();
        // Reductions and pooling.
        SOFTMAX = row("softmax", &["softmax"], Reduction, "exp(x) / sum(exp(x)) along one axis").within(0.0, 1.0).row(2).float().rank(RankRule::Same).samples(SamplesRule::Along);
        LOG_SOFTMAX = row("log_softmax", &["log_softmax"], Reduction, "x - log(sum(exp(x))) along one axis").row(2).float().samples(SamplesRule::Along);
        MAX_POOL2D = row("max_pool2d", &["max_pool2d"], Reduction, "the maximum over windows").with_kernels().shares().nn_function().same().rank(RankRule::AtLeast(3)).samples(SamplesRule::KeepsImages);
        AVG_POOL2D = row("avg_pool2d", &["avg_pool2d"], Reduction, "the mean over windows").shares().nn_function().float().rank(RankRule::AtLeast(3)).samples(SamplesRule::KeepsImages);
        ADAPTIVE_AVG_POOL2D = row("adaptive_avg_pool2d", &["adaptive_avg_pool2d"], Reduction, "the mean over windows that yield a given size").shares().nn_function().float().rank(RankRule::AtLeast(3)).samples(SamplesRule::KeepsImages);
        ADAPTIVE_MAX_POOL2D = row("adaptive_max_pool2d", &["adaptive_max_pool2d"], Reduction, "the maximum over windows that yield a given size").samples(SamplesRule::KeepsImages);
        MAX_POOL1D = row("max_pool1d", &["max_pool1d"], Reduction, "the maximum over windows").shares().same().rank(RankRule::AtLeast(2));
        AVG_POOL1D = row("avg_pool1d", &["avg_pool1d"], Reduction, "the mean over windows").shares().float().rank(RankRule::AtLeast(2));
        ADAPTIVE_AVG_POOL1D = row("adaptive_avg_pool1d", &["adaptive_avg_pool1d"], Reduction, "the mean over windows that yield a given size").shares().float().rank(RankRule::AtLeast(2));
        MAX_POOL3D = row("max_pool3d", &["max_pool3d"], Reduction, "the maximum over windows").shares().same().rank(RankRule::AtLeast(4));
        AVG_POOL3D = row("avg_pool3d", &["avg_pool3d"], Reduction, "the mean over windows").shares().float().rank(RankRule::AtLeast(4));
        ADAPTIVE_AVG_POOL3D = row("adaptive_avg_pool3d", &["adaptive_avg_pool3d"], Reduction, "the mean over windows that yield a given size").shares().float().rank(RankRule::AtLeast(4));
        MEAN_DIM = row("mean.dim", &["mean_dim"], Reduction, "the mean along axes").shares().row(1).float().samples(SamplesRule::Reduces);
        MEAN = row("mean", &["mean"], Reduction, "the mean of all").shares().float().rank(RankRule::Exactly(0));
        SUM_DIM = row("sum.dim_IntList", &["sum_dim_intlist"], Reduction, "the sum along axes").row(1).samples(SamplesRule::Reduces);
        SUM = row("sum", &["sum"], Reduction, "the sum of all").rank(RankRule::Exactly(0));
        AMAX = row("amax", &["amax"], Reduction, "the largest along axes").row(1).samples(SamplesRule::Reduces);
        AMIN = row("amin", &["amin"], Reduction, "the least along axes").samples(SamplesRule::Reduces);
        MAX = row("max", &["max"], Reduction, "the largest of all").same().rank(RankRule::Exactly(0));
        MIN = row("min", &["min"], Reduction, "the least of all").same().rank(RankRule::Exactly(0));
        MAX_DIM = row("max_dim", &["max_dim"], Reduction, "the largest along an axis, and where it is");
        MIN_DIM = row("min_dim", &["min_dim"], Reduction, "the least along an axis, and where it is");
        ARGMAX = row("argmax", &["argmax"], Reduction, "where the largest is");
        ARGMIN = row("argmin", &["argmin"], Reduction, "where the least is");
        VAR = row("var", &["var"], Reduction, "the variance of all").float().rank(RankRule::Exactly(0));
        STD = row("std", &["std"], Reduction, "the standard deviation of all").float().rank(RankRule::Exactly(0));
        VAR_DIM = row("var_dim", &["var_dim"], Reduction, "the variance along axes").float();
        STD_DIM = row("std_dim", &["std_dim"], Reduction, "the standard deviation along axes").float();
        NORM = row("norm", &["norm"], Reduction, "the length of all as one vector").float().rank(RankRule::Exactly(0));
        PROD = row("prod", &["prod"], Reduction, "the product of all").rank(RankRule::Exactly(0));
        ALL = row("all", &["all"], Reduction, "whether all are true").bool().rank(RankRule::Exactly(0));
        ANY = row("any", &["any"], Reduction, "whether one is true").bool().rank(RankRule::Exactly(0));
        LOGSUMEXP = row("logsumexp", &["logsumexp"], Reduction, "log(sum(exp(x))) along axes").float();
        CUMSUM = row("cumsum", &["cumsum"], Reduction, "the sums so far along an axis").rank(RankRule::Same);
        CUMPROD = row("cumprod", &["cumprod"], Reduction, "the products so far along an axis").rank(RankRule::Same);
        SORT = row("sort", &["sort"], Reduction, "in order along an axis, and where each was");
        ARGSORT = row("argsort", &["argsort"], Reduction, "where each would be in order").rank(RankRule::Same);
        TOPK = row("topk", &["topk"], Reduction, "the largest along an axis, and where they are");
        COSINE_SIMILARITY = row("cosine_similarity", &["cosine_similarity"], Reduction, "the cosine of the angle between vectors along an axis").float();
        // Normalisation.
        BATCH_NORM = row("batch_norm", &["batch_norm"], Normalization, "(x - mean) * rsqrt(var + eps) * weight + bias per channel").own().nn_function();
        LAYER_NORM = row("layer_norm", &["layer_norm"], Normalization, "the same over the last axes of each row").own().nn_function().row(2).samples(SamplesRule::Keeps);
        RMS_NORM = row("rms_norm", &["rms_norm"], Normalization, "x * rsqrt(mean(x * x) + eps) * weight over the last axes").row(1);
        GROUP_NORM = row("group_norm", &["group_norm"], Normalization, "the same over groups of channels").own().nn_function().samples(SamplesRule::Keeps);
        INSTANCE_NORM = row("instance_norm", &["instance_norm"], Normalization, "the same over each channel").own();
        // Views.
        VIEW = row("view", &["view", "view_"], View, "the same memory under other sizes").shares().same().rank(RankRule::Listed).samples(SamplesRule::Reshapes);
        RESHAPE = row("reshape", &["reshape"], View, "the same elements under other sizes").shares().same().rank(RankRule::Listed).samples(SamplesRule::Reshapes);
        FLATTEN = row("flatten", &["flatten"], View, "adjacent axes made one").shares().function().same().samples(SamplesRule::Flattens);
        FLAT_VIEW = row("flat_view", &["flat_view"], View, "all axes but the first made one").shares().same().rank(RankRule::Exactly(2)).samples(SamplesRule::FlattensRest);
        PERMUTE = row("permute", &["permute"], View, "the axes in another order").shares().same().rank(RankRule::Listed).samples(SamplesRule::Permutes);
        TRANSPOSE = row("transpose", &["transpose"], View, "two axes exchanged").shares().same().rank(RankRule::Same).samples(SamplesRule::Transposes);
        SQUEEZE = row("squeeze", &["squeeze"], View, "axes of size one dropped").shares().same();
        SQUEEZE_DIM = row("squeeze_dim", &["squeeze_dim"], View, "an axis dropped if it has size one").shares().samples(SamplesRule::Drops);
        UNSQUEEZE = row("unsqueeze", &["unsqueeze"], View, "an axis of size one added").shares().same().rank(RankRule::Adds).samples(SamplesRule::Adds);
        CONTIGUOUS = row("contiguous", &["contiguous"], View, "the same tensor in row-major order").shares().same().rank(RankRule::Same).samples(SamplesRule::Keeps);
        SHALLOW_CLONE = row("shallow_clone", &["shallow_clone"], View, "another handle of the same tensor").shares().same().rank(RankRule::Same).samples(SamplesRule::Keeps);
        VIEW_AS = row("view_as", &["view_as"], View, "the same memory under the sizes of another tensor").same();
        AS_STRIDED = row("as_strided", &["as_strided"], View, "the same memory under other sizes and strides")
            .same().rank(RankRule::Listed).reads_strides();
        VIEW_AS_COMPLEX = row("view_as_complex", &["view_as_complex"], View, "pairs along the last axis as complex numbers")
            .rank(RankRule::Drops).reads_strides();
        VIEW_DTYPE = row("view_dtype", &["view_dtype"], View, "the same bytes as another dtype")
            .rank(RankRule::Same).reads_strides();
        T = row("tr", &["tr"], View, "a matrix with its two axes exchanged").shares().same().rank(RankRule::Same);
        EXPAND = row("expand", &["expand"], View, "axes of size one repeated without a copy").same();
        EXPAND_AS = row("expand_as", &["expand_as"], View, "axes of size one repeated to the sizes of another tensor").same();
        NARROW = row("narrow", &["narrow"], View, "a part of an axis").shares().same().rank(RankRule::Same).samples(SamplesRule::Along);
        SLICE = row("slice", &["slice"], View, "a part of an axis, with a step").same().rank(RankRule::Same).samples(SamplesRule::Along);
        SELECT = row("select", &["select"], View, "one place along an axis").same().rank(RankRule::Drops).samples(SamplesRule::Drops);
        GET = row("get", &["get"], View, "one place along the first axis").same().rank(RankRule::Drops);
        CHUNK = row("chunk", &["chunk"], View, "so many parts along an axis").samples(SamplesRule::Splits);
        SPLIT = row("split", &["split"], View, "parts of a size along an axis").samples(SamplesRule::Splits);
        SPLIT_WITH_SIZES = row("split_with_sizes", &["split_with_sizes"], View, "parts of given sizes along an axis");
        UNBIND = row("unbind", &["unbind"], View, "all places along an axis");
        UNFLATTEN = row("unflatten", &["unflatten"], View, "an axis made several").same();
        MOVEDIM = row("movedim", &["movedim"], View, "axes put elsewhere").same().rank(RankRule::Same);
        SWAPAXES = row("swapaxes", &["swapaxes"], View, "two axes exchanged").same().rank(RankRule::Same);
        DIAGONAL = row("diagonal", &["diagonal"], View, "the diagonal over two axes").same().rank(RankRule::Drops);
        RESHAPE_AS = row("reshape_as", &["reshape_as"], View, "the same elements under the sizes of another tensor").same();
        UNFOLD = row("unfold", &["unfold"], View, "windows along an axis, which overlap").same().rank(RankRule::Adds);
        DETACH = row("detach", &["detach"], View, "the same tensor without its history").shares().same().rank(RankRule::Same);
        TO_KIND = row("to_kind", &["to_kind"], View, "the same numbers in another dtype").rank(RankRule::Same);
        // Data.
        CAT = row("cat", &["cat"], Data, "tensors joined along an axis").shares().function().samples(SamplesRule::Joins);
        CONCAT = row("concat", &["concat"], Data, "tensors joined along an axis").shares().samples(SamplesRule::Joins);
        STACK = row("stack", &["stack"], Data, "tensors joined along a new axis").shares().function();
        EMBEDDING = row("embedding", &["embedding"], Data, "rows of a table, chosen by indices").nn_function();
        FLIP = row("flip", &["flip"], Data, "the elements in reverse along axes").same().rank(RankRule::Same).samples(SamplesRule::Along);
        ROLL = row("roll", &["roll"], Data, "the elements moved along axes").same().rank(RankRule::Same);
        REPEAT = row("repeat", &["repeat"], Data, "the tensor so many times along each axis").shares().same();
        TILE = row("tile", &["tile"], Data, "the tensor so many times along each axis").same();
        GATHER = row("gather", &["gather"], Data, "elements along an axis, chosen by indices").same().rank(RankRule::Same);
        INDEX_SELECT = row("index_select", &["index_select"], Data, "places along an axis, chosen by indices").same();
        SCATTER = row("scatter", &["scatter"], Data, "elements put along an axis where indices say").same().rank(RankRule::Same);
        MASKED_SELECT = row("masked_select", &["masked_select"], Data, "the elements where a mask holds").same().rank(RankRule::Exactly(1));
        NONZERO = row("nonzero", &["nonzero"], Data, "where the elements are that are not zero").rank(RankRule::Exactly(2));
        ONE_HOT = row("one_hot", &["one_hot"], Data, "for each index a row with a single one").rank(RankRule::Adds);
        PAD = row("constant_pad_nd", &["constant_pad_nd"], Data, "the tensor with zeros around it").same().rank(RankRule::Same);
        REFLECTION_PAD2D = row("reflection_pad2d", &["reflection_pad2d"], Data, "the images with their mirror images around them").same().rank(RankRule::Same);
        REPLICATION_PAD2D = row("replication_pad2d", &["replication_pad2d"], Data, "the images with their borders repeated around them").same().rank(RankRule::Same);
        TRIL = row("tril", &["tril"], Data, "a matrix without what is above a diagonal").same().rank(RankRule::Same);
        TRIU = row("triu", &["triu"], Data, "a matrix without what is below a diagonal").same().rank(RankRule::Same);
        ZEROS_LIKE = row("zeros_like", &["zeros_like"], Data, "zeros of the same sizes").same().rank(RankRule::Same);
        ONES_LIKE = row("ones_like", &["ones_like"], Data, "ones of the same sizes").same().rank(RankRule::Same);
        FULL_LIKE = row("full_like", &["full_like"], Data, "a number in the same sizes").same().rank(RankRule::Same);
        COPY = row("copy", &["copy"], Data, "the same elements in memory of their own").same().rank(RankRule::Same);
        UPSAMPLE_NEAREST2D = row("upsample_nearest2d", &["upsample_nearest2d"], Data, "images of another size, by the nearest pixel").shares().samples(SamplesRule::KeepsImages);
        UPSAMPLE_BILINEAR2D = row("upsample_bilinear2d", &["upsample_bilinear2d"], Data, "images of another size, by lines between pixels").shares().samples(SamplesRule::KeepsImages);
        UPSAMPLE_BICUBIC2D = row("upsample_bicubic2d", &["upsample_bicubic2d"], Data, "images of another size, by cubic curves between pixels").shares().samples(SamplesRule::KeepsImages);
        PIXEL_SHUFFLE = row("pixel_shuffle", &["pixel_shuffle"], Data, "channels as pixels of larger images").shares().samples(SamplesRule::KeepsImages);
        PIXEL_UNSHUFFLE = row("pixel_unshuffle", &["pixel_unshuffle"], Data, "pixels as channels of smaller images").shares().samples(SamplesRule::KeepsImages);
        GRID_SAMPLER = row("grid_sampler", &["grid_sampler"], Data, "pixels at the places that a grid gives");
        IM2COL = row("im2col", &["im2col"], Data, "windows of images as columns").same();
        COL2IM = row("col2im", &["col2im"], Data, "columns as windows of images, summed").same();
        DROPOUT = row("dropout", &["dropout"], Pointwise, "zeroes elements at random when training").own().random().nn_function().float();
        ALPHA_DROPOUT = row("alpha_dropout", &["alpha_dropout"], Pointwise, "dropout that keeps mean and variance")
            .random().float();
        FEATURE_DROPOUT = row("feature_dropout", &["feature_dropout"], Pointwise, "zeroes channels at random when training")
            .random().float();
        FEATURE_ALPHA_DROPOUT = row("feature_alpha_dropout", &["feature_alpha_dropout"], Pointwise, "the same, with mean and variance kept")
            .random().float();    } };
}

/// The type of a formula's parameter.
macro_rules! kind {
    (lane $of:ty) => {
        $of
    };
    (number $of:ty) => {
        <$of as $crate::ops::formula::Primitives>::Number
    };
    (text $of:ty) => {
        &str
    };
}

/// A formula's parameter as a step: tensors and numbers are counted on their own.
macro_rules! given {
    (lane $tape:ident $tensors:ident $numbers:ident) => {{
        $tensors += 1;
        $tape.step($crate::ops::formula::Step::Tensor($tensors))
    }};
    (number $tape:ident $tensors:ident $numbers:ident) => {{
        $numbers += 1;
        $crate::ops::formula::RecordedNumber::Given($numbers - 1)
    }};
    (text $tape:ident $tensors:ident $numbers:ident) => {
        "none"
    };
}

macro_rules! rows {
    ($($id:ident = row($($row:tt)*) $(.$column:ident($($value:tt)*))*
        $(: $name:ident($x:ident $(, $param:ident: $kind:ident)*) = $body:expr, by $method:ident
            $(=> $act:ident $in_place:ident)?)?;)*) => {
        pub(super) const ROWS: &[OpRow] = &[$(
            row($($row)*)$(.$column($($value)*))*
                $(.computes(|tape| {
                    #[allow(unused_mut, unused_variables, reason = "most formulas take one tensor alone")]
                    let (mut tensors, mut numbers) = (0_usize, 0_usize);
                    let _ = formulas::$name(
                        tape.step($crate::ops::formula::Step::Tensor(0))
                        $(, given!($kind tape tensors numbers))*
                    );
                })$(.act(Activation::Plain(stringify!($act))))?)?
        ),*];

        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "the names of constants")]
        #[repr(u16)]
        enum Index { $($id),* }

        /// The ops of the table by name, as constants that patterns can name.
        #[allow(unreachable_pub, reason = "the module above hands them on")]
        pub mod known {
            use super::Index;
            use crate::OpId;
            $(
                #[doc = concat!("`", stringify!($id), "`: see its row in the op table.")]
                pub const $id: OpId = OpId::of_index(Index::$id as u16);
            )*
        }

        /// The formula of each op that has one, over whatever has the primitives.
        #[allow(clippy::inline_always, reason = "only what is inlined into a vectorised body is vectorised")]
        #[allow(clippy::must_use_candidate, clippy::return_self_not_must_use, reason = "called by generated code")]
        pub mod formulas {
            use crate::ops::formula::Primitives;
            $($(
                #[doc = concat!("`", stringify!($name), "` of PyTorch.")]
                #[inline(always)]
                pub fn $name<E: Primitives>($x: E $(, $param: kind!($kind E))*) -> E {
                    $body
                }
            )?)*
        }
    };
}

op_table!(rows);
