//! The fields of layers that rules can name, and what each holds.

/// A field of a layer, and what it holds.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) ty: FieldType,
}

/// The type of a layer's field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldType {
    Tensor,
    OptTensor,
    Rust(&'static str),
    /// A struct with fields of its own.
    Config(&'static [Field]),
}

impl PartialEq for Field {
    fn eq(&self, other: &Field) -> bool {
        self.name == other.name
    }
}

impl Eq for Field {}

const fn field(name: &'static str, ty: FieldType) -> Field {
    Field { name, ty }
}

use FieldType::{Config, OptTensor, Rust, Tensor};

macro_rules! conv_fields {
    ($sizes:literal, $($more:literal)?) => {
        &[
            field("stride", Rust($sizes)),
            field("padding", Rust($sizes)),
            field("dilation", Rust($sizes)),
            $(field($more, Rust($sizes)),)?
            field("groups", Rust("i64")),
        ]
    };
}

const CONV1D: &[Field] = conv_fields!("i64",);
const CONV2D: &[Field] = conv_fields!("[i64; 2]",);
const CONV3D: &[Field] = conv_fields!("[i64; 3]",);
const CONV_TRANSPOSE1D: &[Field] = conv_fields!("i64", "output_padding");
const CONV_TRANSPOSE2D: &[Field] = conv_fields!("[i64; 2]", "output_padding");
const CONV_TRANSPOSE3D: &[Field] = conv_fields!("[i64; 3]", "output_padding");
const NORM: &[Field] = &[field("eps", Rust("f64"))];

const fn layer_of(config: &'static [Field]) -> [Field; 3] {
    [field("ws", Tensor), field("bs", OptTensor), field("config", Config(config))]
}

/// The fields of a layer type; none for a layer without any.
pub(crate) fn fields_of(kind: &str) -> &'static [Field] {
    const LINEAR: &[Field] = &[field("ws", Tensor), field("bs", OptTensor)];
    const BATCH_NORM: &[Field] = &[
        field("ws", OptTensor),
        field("bs", OptTensor),
        field("running_mean", Tensor),
        field("running_var", Tensor),
        field("config", Config(NORM)),
    ];
    const LAYER_NORM: &[Field] = &[
        field("ws", OptTensor),
        field("bs", OptTensor),
        field("normalized_shape", Rust("Vec<i64>")),
        field("config", Config(NORM)),
    ];
    const GROUP_NORM: &[Field] = &[
        field("ws", OptTensor),
        field("bs", OptTensor),
        field("num_groups", Rust("i64")),
        field("num_channels", Rust("i64")),
        field("config", Config(NORM)),
    ];
    match kind {
        "Conv1D" => const { &layer_of(CONV1D) },
        "Conv2D" => const { &layer_of(CONV2D) },
        "Conv3D" => const { &layer_of(CONV3D) },
        "ConvTranspose1D" => const { &layer_of(CONV_TRANSPOSE1D) },
        "ConvTranspose2D" => const { &layer_of(CONV_TRANSPOSE2D) },
        "ConvTranspose3D" => const { &layer_of(CONV_TRANSPOSE3D) },
        "Linear" => LINEAR,
        "BatchNorm" => BATCH_NORM,
        "LayerNorm" => LAYER_NORM,
        "GroupNorm" => GROUP_NORM,
        "Embedding" => const { &[field("ws", Tensor)] },
        _ => &[],
    }
}
