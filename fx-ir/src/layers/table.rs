//! The layer table: one row a layer. What a layer computes the runtime's type says, and which plain fields passes on live graphs
//! read its `layer_fields.rs`.
//!
//! `ID = layer(name, constructors)`, then what it has and does. A layer without more is one that nothing is known of.
// tidy: table

use super::{Config, Constructor, Field, FieldType, LayerRow, Lowering, Passes};
use crate::ops::{self, DtypeRule, RankRule, SamplesRule};
use crate::{Effect, OpId};

const fn layer(name: &'static str, constructors: &'static [Constructor]) -> LayerRow {
    LayerRow {
        name,
        constructors,
        takes: None,
        fields: &[],
        op: None,
        lowering: Lowering::Stays,
        passes: Passes::Nothing,
        training: Effect::Pure,
        state: None,
        is_chain: false,
        rank: None,
        dtype: None,
        samples: None,
    }
}

impl LayerRow {
    const fn takes(self, config: Config) -> LayerRow {
        LayerRow { takes: Some(config), ..self }
    }
    const fn fields(self, fields: &'static [Field]) -> LayerRow {
        LayerRow { fields, ..self }
    }
    /// It stays a layer, which computes this op.
    const fn computes(self, op: OpId) -> LayerRow {
        LayerRow { op: Some(op), ..self }
    }
    const fn becomes(self, op: OpId) -> LayerRow {
        LayerRow { op: Some(op), lowering: Lowering::ToOp, ..self }
    }
    const fn becomes_on_weights(self, op: OpId) -> LayerRow {
        LayerRow { op: Some(op), lowering: Lowering::OnWeights, ..self }
    }
    const fn absorbed(self, function: &'static str, field: &'static str) -> LayerRow {
        LayerRow { lowering: Lowering::Absorbed { function, field }, ..self }
    }
    const fn passes(self, passes: Passes) -> LayerRow {
        LayerRow { passes, ..self }
    }
    const fn training(self, effect: Effect) -> LayerRow {
        LayerRow { training: effect, ..self }
    }
    const fn state(self, state: &'static str) -> LayerRow {
        LayerRow { state: Some(state), ..self }
    }
    const fn chain(self) -> LayerRow {
        LayerRow { is_chain: true, passes: Passes::Memory, ..self }
    }
    const fn rank(self, rank: RankRule) -> LayerRow {
        LayerRow { rank: Some(rank), ..self }
    }
    const fn dtype(self, dtype: DtypeRule) -> LayerRow {
        LayerRow { dtype: Some(dtype), ..self }
    }
    const fn samples(self, samples: SamplesRule) -> LayerRow {
        LayerRow { samples: Some(samples), ..self }
    }
}

/// Functions of `nn` as they are declared: `conv2d(vs, in_dim, ..)`, and `if ksize has 2` after one that makes other layers as
/// well.
macro_rules! made {
    (@when) => { None };
    (@when $param:ident $length:literal) => { Some((stringify!($param), $length)) };
    ($($name:ident($($param:ident),*) $(if $when:ident has $length:literal)?),* $(,)?) => {
        &[$(Constructor {
            name: stringify!($name),
            params: &[$(stringify!($param)),*],
            when: made!(@when $($when $length)?),
        }),*]
    };
}

/// A configuration as it is declared, of its plain values.
macro_rules! config {
    ($name:ident { $($field:ident: $ty:ty),* $(,)? }) => {
        Config { name: stringify!($name), fields: &[$(field(stringify!($field), FieldType::Rust(stringify!($ty)))),*] }
    };
}

const fn field(name: &'static str, ty: FieldType) -> Field {
    Field { name, ty, saved: None }
}

/// A tensor, and its name in `state_dict`.
const fn tensor(name: &'static str, saved: &'static str) -> Field {
    Field { name, ty: FieldType::Tensor, saved: Some(saved) }
}

const fn optional(name: &'static str, saved: &'static str) -> Field {
    Field { name, ty: FieldType::OptTensor, saved: Some(saved) }
}

const fn configured(config: Config) -> Field {
    field("config", FieldType::Config(config))
}

const INT: FieldType = FieldType::Rust("i64");
const FLOAT: FieldType = FieldType::Rust("f64");

macro_rules! conv_config {
    ($name:ident, $sizes:ty $(, $more:ident)?) => {
        config!($name { stride: $sizes, padding: $sizes, dilation: $sizes, $($more: $sizes,)? groups: i64, bias: bool })
    };
}

macro_rules! conv {
    ($name:literal, $made_by:ident, $dimensions:literal) => {
        layer($name, made![
            $made_by(vs, in_dim, out_dim, ksize, config),
            conv(vs, in_dim, out_dim, ksize, config) if ksize has $dimensions,
        ])
        .takes(conv_config!(ConvConfig, i64))
        .fields(&[
            tensor("ws", "weight"),
            optional("bs", "bias"),
            configured(conv_config!(ConvConfigND, [i64; $dimensions])),
        ])
        .becomes_on_weights(ops::CONVOLUTION)
    };
}

macro_rules! conv_transpose {
    ($name:literal, $made_by:ident, $dimensions:literal) => {
        layer($name, made![$made_by(vs, in_dim, out_dim, ksize, config)])
            .takes(conv_config!(ConvTransposeConfig, i64, output_padding))
            .fields(&[
                tensor("ws", "weight"),
                optional("bs", "bias"),
                configured(conv_config!(ConvTransposeConfigND, [i64; $dimensions], output_padding)),
            ])
            .becomes_on_weights(ops::CONVOLUTION)
    };
}

const BATCH_NORM_CONFIG: Config =
    config!(BatchNormConfig { cudnn_enabled: bool, eps: f64, momentum: f64, affine: bool });
const LAYER_NORM_CONFIG: Config = config!(LayerNormConfig { cudnn_enabled: bool, eps: f64, elementwise_affine: bool });
const GROUP_NORM_CONFIG: Config = config!(GroupNormConfig { cudnn_enabled: bool, eps: f64, affine: bool });
const INSTANCE_NORM_CONFIG: Config = config!(InstanceNormConfig {
    cudnn_enabled: bool,
    eps: f64,
    momentum: f64,
    affine: bool,
    track_running_stats: bool,
});
const EMBEDDING_CONFIG: Config = config!(EmbeddingConfig { sparse: bool, scale_grad_by_freq: bool, padding_idx: i64 });
const RNN_CONFIG: Config = config!(RNNConfig {
    has_biases: bool,
    num_layers: i64,
    dropout: f64,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
});

macro_rules! rows {
    ($($id:ident = $row:expr;)*) => {
        $(
            #[doc = concat!("`", stringify!($id), "`: see its row in the layer table.")]
            pub static $id: &LayerRow = &$row;
        )*

        /// The layer table, in the order of its rows.
        pub fn layers() -> &'static [&'static LayerRow] {
            static ROWS: &[&LayerRow] = &[$($id),*];
            ROWS
        }
    };
}

rows! {
    CONV1D = conv!("Conv1D", conv1d, 1);
    CONV2D = conv!("Conv2D", conv2d, 2);
    CONV3D = conv!("Conv3D", conv3d, 3);
    CONV_TRANSPOSE1D = conv_transpose!("ConvTranspose1D", conv_transpose1d, 1);
    CONV_TRANSPOSE2D = conv_transpose!("ConvTranspose2D", conv_transpose2d, 2);
    CONV_TRANSPOSE3D = conv_transpose!("ConvTranspose3D", conv_transpose3d, 3);
    LINEAR = layer("Linear", made![linear(vs, in_dim, out_dim, config)])
        .takes(config!(LinearConfig { bias: bool }))
        .fields(&[tensor("ws", "weight"), optional("bs", "bias")])
        .becomes_on_weights(ops::LINEAR).dtype(DtypeRule::Float);

    BATCH_NORM = layer("BatchNorm", made![
            batch_norm1d(vs, out_dim, config),
            batch_norm2d(vs, out_dim, config),
            batch_norm3d(vs, out_dim, config),
        ])
        .takes(BATCH_NORM_CONFIG)
        .fields(&[
            optional("ws", "weight"),
            optional("bs", "bias"),
            tensor("running_mean", "running_mean"),
            tensor("running_var", "running_var"),
            configured(BATCH_NORM_CONFIG),
        ])
        .computes(ops::BATCH_NORM).samples(SamplesRule::KeepsImages).training(Effect::State);
    LAYER_NORM = layer("LayerNorm", made![layer_norm(vs, normalized_shape, config)])
        .takes(LAYER_NORM_CONFIG)
        .fields(&[
            optional("ws", "weight"),
            optional("bs", "bias"),
            field("normalized_shape", FieldType::Rust("Vec<i64>")),
            configured(LAYER_NORM_CONFIG),
        ])
        .computes(ops::LAYER_NORM);
    GROUP_NORM = layer("GroupNorm", made![group_norm(vs, num_groups, num_channels, config)])
        .takes(GROUP_NORM_CONFIG)
        .fields(&[
            optional("ws", "weight"),
            optional("bs", "bias"),
            field("num_groups", INT),
            field("num_channels", INT),
            configured(GROUP_NORM_CONFIG),
        ])
        .computes(ops::GROUP_NORM).samples(SamplesRule::KeepsImages);
    INSTANCE_NORM = layer("InstanceNorm", made![instance_norm2d(vs, num_features, config)])
        .takes(INSTANCE_NORM_CONFIG)
        .fields(&[
            optional("ws", "weight"),
            optional("bs", "bias"),
            optional("running_mean", "running_mean"),
            optional("running_var", "running_var"),
            field("num_features", INT),
            configured(INSTANCE_NORM_CONFIG),
        ])
        .computes(ops::INSTANCE_NORM).samples(SamplesRule::KeepsImages).training(Effect::State);

    EMBEDDING = layer("Embedding", made![embedding(vs, num_embeddings, embedding_dim, config)])
        .takes(EMBEDDING_CONFIG)
        .fields(&[tensor("ws", "weight"), configured(EMBEDDING_CONFIG)])
        .computes(ops::EMBEDDING).dtype(DtypeRule::Float);

    RELU = layer("ReLU", made![relu()]).becomes(ops::RELU);
    RELU6 = layer("ReLU6", made![relu6()]).becomes(ops::RELU6);
    SILU = layer("SiLU", made![silu()]).becomes(ops::SILU);
    HARDSWISH = layer("HardSwish", made![hard_swish()]).becomes(ops::HARDSWISH);
    SIGMOID = layer("Sigmoid", made![sigmoid()]).becomes(ops::SIGMOID);
    TANH = layer("Tanh", made![tanh()]).becomes(ops::TANH);
    GELU = layer("GELU", made![gelu(), gelu_tanh()])
        .fields(&[field("approximate", FieldType::Rust("::fx_runtime::nn::GeluApproximation"))])
        .computes(ops::GELU).absorbed("Activation::from", "approximate");
    LEAKY_RELU = layer("LeakyReLU", made![leaky_relu(negative_slope)])
        .fields(&[field("negative_slope", FLOAT)])
        .computes(ops::LEAKY_RELU).absorbed("Activation::LeakyRelu", "negative_slope");
    SOFTMAX = layer("Softmax", made![softmax(dim)])
        .fields(&[field("dim", INT)])
        .computes(ops::SOFTMAX).samples(SamplesRule::Mixes);

    MAX_POOL2D = layer("MaxPool2D", made![max_pool2d(ksize, config)])
        .takes(config!(MaxPoolConfig { stride: i64, padding: i64, dilation: i64, ceil_mode: bool }))
        .computes(ops::MAX_POOL2D);
    AVG_POOL2D = layer("AvgPool2D", made![avg_pool2d(ksize, config)])
        .takes(config!(AvgPoolConfig {
            stride: i64,
            padding: i64,
            ceil_mode: bool,
            count_include_pad: bool,
            divisor_override: Option<i64>,
        }))
        .computes(ops::AVG_POOL2D);
    ADAPTIVE_AVG_POOL2D = layer("AdaptiveAvgPool2D", made![adaptive_avg_pool2d(output_size)])
        .computes(ops::ADAPTIVE_AVG_POOL2D);

    FLATTEN = layer("Flatten", made![flatten(start_dim, end_dim)])
        .computes(ops::FLATTEN).samples(SamplesRule::Mixes).passes(Passes::Memory);
    IDENTITY = layer("Identity", made![identity()])
        .rank(RankRule::Same).dtype(DtypeRule::Same).passes(Passes::Input);
    ID = layer("Id", made![]).rank(RankRule::Same).dtype(DtypeRule::Same).passes(Passes::Input);
    DROPOUT = layer("Dropout", made![dropout(p)])
        .fields(&[field("p", FLOAT)])
        .computes(ops::DROPOUT).passes(Passes::Input).training(Effect::Random);

    LSTM = layer("LSTM", made![lstm(vs, in_dim, hidden_dim, config)]).takes(RNN_CONFIG).state("LSTMState").training(Effect::Random);
    GRU = layer("GRU", made![gru(vs, in_dim, hidden_dim, config)]).takes(RNN_CONFIG).state("GRUState").training(Effect::Random);
    CLOSURE = layer("Closure", made![]).training(Effect::Io);
    SEQUENTIAL = layer("Sequential", made![seq()]).chain().training(Effect::Io).dtype(DtypeRule::Same);
    SEQUENTIAL_T = layer("SequentialT", made![seq_t()]).chain().training(Effect::Io).dtype(DtypeRule::Same);
}
