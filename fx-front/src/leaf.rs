//! The layers of the runtime's `nn`: which type a constructor makes, and which modes it has.
// tidy: table

use fx_ir::ops;

/// One layer type.
#[derive(Clone, Copy, Debug)]
pub struct Leaf {
    /// The type's name in `nn`.
    pub name: &'static str,
    /// The functions of `nn` that make it.
    pub constructors: &'static [&'static str],
}

const fn leaf(name: &'static str, constructors: &'static [&'static str]) -> Leaf {
    Leaf { name, constructors }
}

/// Every layer that `nn` has.
pub const LEAVES: &[Leaf] = &[
    leaf("Conv1D", &[ops::CONV1D.name()]),
    leaf("Conv2D", &[ops::CONV2D.name()]),
    leaf("Conv3D", &[ops::CONV3D.name()]),
    leaf("ConvTranspose1D", &[ops::CONV_TRANSPOSE1D.name()]),
    leaf("ConvTranspose2D", &[ops::CONV_TRANSPOSE2D.name()]),
    leaf("ConvTranspose3D", &[ops::CONV_TRANSPOSE3D.name()]),
    leaf("BatchNorm", &["batch_norm1d", "batch_norm2d", "batch_norm3d"]),
    leaf("Linear", &[ops::LINEAR.name()]),
    leaf("LayerNorm", &[ops::LAYER_NORM.name()]),
    leaf("GroupNorm", &[ops::GROUP_NORM.name()]),
    leaf("Embedding", &[ops::EMBEDDING.name()]),
    leaf("ReLU", &[ops::RELU.name()]),
    leaf("ReLU6", &[ops::RELU6.name()]),
    leaf("GELU", &[ops::GELU.name()]),
    leaf("SiLU", &[ops::SILU.name()]),
    leaf("HardSwish", &["hard_swish"]),
    leaf("Sigmoid", &[ops::SIGMOID.name()]),
    leaf("Tanh", &[ops::TANH.name()]),
    leaf("LeakyReLU", &[ops::LEAKY_RELU.name()]),
    leaf("Softmax", &[ops::SOFTMAX.name()]),
    leaf("MaxPool2D", &[ops::MAX_POOL2D.name()]),
    leaf("AvgPool2D", &[ops::AVG_POOL2D.name()]),
    leaf("AdaptiveAvgPool2D", &[ops::ADAPTIVE_AVG_POOL2D.name()]),
    leaf("Flatten", &[ops::FLATTEN.name()]),
    leaf("Identity", &["identity"]),
    leaf("Id", &[]),
    leaf("Dropout", &[ops::DROPOUT.name()]),
    leaf("LSTM", &["lstm"]),
    leaf("GRU", &["gru"]),
    leaf("Closure", &[]),
    leaf("Sequential", &["seq"]),
    leaf("SequentialT", &["seq_t"]),
];

/// The layer of that type name.
pub fn of_type(name: &str) -> Option<&'static Leaf> {
    LEAVES.iter().find(|leaf| leaf.name == name)
}

/// The layer that the function `nn::name` makes.
pub fn of_constructor(name: &str) -> Option<&'static Leaf> {
    LEAVES.iter().find(|leaf| leaf.constructors.contains(&name))
}

/// Whether it is one of the containers that chain layers.
pub fn is_sequential(name: &str) -> bool {
    matches!(name, "Sequential" | "SequentialT")
}
