//! Factors that make the channels of a value alike, and that weights take back.

use serde::{Deserialize, Serialize};

/// A value whose channels are divided by factors, which the weights of all layers that read it are multiplied by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Equalization {
    /// The weights of the layers whose results are divided, by their paths; none where the value is divided by itself.
    pub producers: Vec<String>,
    /// The weights that are multiplied along their input channels, by their paths.
    pub consumers: Vec<String>,
    /// A positive number for each channel.
    pub factors: Vec<f32>,
}
