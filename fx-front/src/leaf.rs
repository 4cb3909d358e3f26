//! The layers of the runtime's `nn`: which type a constructor makes, and which modes it has.
// tidy: table

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
    leaf("Conv1D", &["conv1d"]),
    leaf("Conv2D", &["conv2d"]),
    leaf("Conv3D", &["conv3d"]),
    leaf("ConvTranspose1D", &["conv_transpose1d"]),
    leaf("ConvTranspose2D", &["conv_transpose2d"]),
    leaf("ConvTranspose3D", &["conv_transpose3d"]),
    leaf("BatchNorm", &["batch_norm1d", "batch_norm2d", "batch_norm3d"]),
    leaf("Linear", &["linear"]),
    leaf("LayerNorm", &["layer_norm"]),
    leaf("GroupNorm", &["group_norm"]),
    leaf("Embedding", &["embedding"]),
    leaf("ReLU", &["relu"]),
    leaf("ReLU6", &["relu6"]),
    leaf("GELU", &["gelu"]),
    leaf("SiLU", &["silu"]),
    leaf("HardSwish", &["hard_swish"]),
    leaf("Sigmoid", &["sigmoid"]),
    leaf("Tanh", &["tanh"]),
    leaf("LeakyReLU", &["leaky_relu"]),
    leaf("Softmax", &["softmax"]),
    leaf("MaxPool2D", &["max_pool2d"]),
    leaf("AvgPool2D", &["avg_pool2d"]),
    leaf("AdaptiveAvgPool2D", &["adaptive_avg_pool2d"]),
    leaf("Flatten", &["flatten"]),
    leaf("Identity", &["identity"]),
    leaf("Id", &[]),
    leaf("Dropout", &["dropout"]),
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

/// Is it one of the containers that chain layers?
pub fn is_sequential(name: &str) -> bool {
    matches!(name, "Sequential" | "SequentialT")
}
