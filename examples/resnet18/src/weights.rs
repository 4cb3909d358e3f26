//! Weights and inputs that anyone can rebuild: every value is a function of its tensor's name and its index.
//!
//! No file of weights is needed to compare a model with PyTorch bit for bit. The rule, with all arithmetic in `f64`
//! and one rounding to `f32`:
//!
//! ```text
//! h = splitmix64(fnv1a64(name) + i * 0x9E3779B97F4A7C15)      u = (h >> 11) * 2^-53, in [0, 1)      s = 2u - 1
//!
//! *running_mean           0.1 s
//! *running_var            1 + 0.5 s
//! 1-d, *.weight           1 + 0.1 s                    scales of norms
//! 1-d, any other          0.1 s
//! n-d                     s sqrt(3 / prod(shape[1..])) variance 1 / fan-in
//! the input, "input"      s sqrt(3)                    variance 1
//! ```
//!
//! `SplitMix64` is that of Steele, Lea and Flood (2014), FNV-1a that of Fowler, Noll and Vo. `reference/README.md` says
//! how PyTorch's side was made.

use fx_runtime::{Module, Tensor};

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Gives every floating-point parameter and buffer of `model` the values that its name stands for.
pub fn fill(model: &dyn Module) {
    for (name, tensor) in model.state_dict() {
        if tensor.is_floating_point() {
            let shape = tensor.size();
            let values = Tensor::from_slice(&values(&name, &shape)).view(shape.as_slice());
            tch::no_grad(|| tensor.shallow_clone().copy_(&values));
        }
    }
}

/// The input of the reference: a batch of square images, `[batch, 3, side, side]`, of mean 0 and variance 1.
pub fn input(batch: i64, side: i64) -> Tensor {
    pictures("input", batch, side)
}

/// The same of another name, for instance `calib0`, by which a quantized model is calibrated.
pub fn pictures(name: &str, batch: i64, side: i64) -> Tensor {
    let shape = [batch, 3, side, side];
    Tensor::from_slice(&scaled(name, &shape, 0.0, 3f64.sqrt())).view(shape)
}

/// Token ids of the reference, `i64[batch, length]`, each below `vocabulary`; their name is `input_ids`.
pub fn tokens(batch: i64, length: i64, vocabulary: i64) -> Tensor {
    texts("input_ids", batch, length, vocabulary)
}

/// The same of another name.
pub fn texts(name: &str, batch: i64, length: i64, vocabulary: i64) -> Tensor {
    let seed = fnv1a64(name);
    let ids: Vec<i64> = (0..(batch * length).unsigned_abs())
        .map(|i| splitmix64(seed.wrapping_add(i.wrapping_mul(GOLDEN))))
        .map(|hash| (hash % vocabulary.unsigned_abs()).cast_signed())
        .collect();
    Tensor::from_slice(&ids).view([batch, length])
}

/// The values of the tensor `name`, in row-major order.
fn values(name: &str, shape: &[i64]) -> Vec<f32> {
    let (offset, scale) = match shape {
        _ if name.ends_with("running_mean") => (0.0, 0.1),
        _ if name.ends_with("running_var") => (1.0, 0.5),
        [] | [_] if name.ends_with(".weight") => (1.0, 0.1),
        [] | [_] => (0.0, 0.1),
        [_, rest @ ..] => (0.0, (3.0 / fan_in(rest)).sqrt()),
    };
    scaled(name, shape, offset, scale)
}

#[expect(clippy::cast_precision_loss, reason = "no layer has 2^53 inputs")]
fn fan_in(sizes: &[i64]) -> f64 {
    sizes.iter().product::<i64>() as f64
}

#[expect(clippy::cast_precision_loss, reason = "the hash is cut to the 53 bits that an f64 holds")]
#[expect(clippy::cast_possible_truncation, reason = "the rule rounds to f32, once and here")]
fn scaled(name: &str, shape: &[i64], offset: f64, scale: f64) -> Vec<f32> {
    let seed = fnv1a64(name);
    (0..shape.iter().product::<i64>().unsigned_abs())
        .map(|i| splitmix64(seed.wrapping_add(i.wrapping_mul(GOLDEN))))
        .map(|hash| (hash >> 11) as f64 * 2f64.powi(-53))
        .map(|u| (offset + scale * (2.0 * u - 1.0)) as f32)
        .collect()
}

fn fnv1a64(name: &str) -> u64 {
    name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

fn splitmix64(counter: u64) -> u64 {
    let z = counter.wrapping_add(GOLDEN);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First, second and last value of a tensor, as bits.
    fn bits(values: &[f32]) -> [u32; 3] {
        [values[0], values[1], values[values.len() - 1]].map(f32::to_bits)
    }

    #[test]
    fn hashes() {
        assert_eq!(fnv1a64("conv1.weight"), 0x69A2_9A2C_EE47_D254);
        assert_eq!(splitmix64(fnv1a64("conv1.weight")), 0x8B8A_08A8_5128_A1B0);
    }

    /// The bits that numpy 2.4.6 gives for the same rule (`reference/README.md`).
    #[test]
    fn same_bits_as_numpy() -> Result<(), tch::TchError> {
        let cases: [(&str, &[i64], [u32; 3]); 7] = [
            ("conv1.weight", &[64, 3, 7, 7], [0x3c53_009e, 0x3d8f_7464, 0xbdaf_b286]),
            ("bn1.weight", &[64], [0x3f78_d7ab, 0x3f88_4e0c, 0x3f7f_3501]),
            ("bn1.bias", &[64], [0xbd86_44b8, 0xbdbc_5a49, 0xbcf1_9206]),
            ("bn1.running_mean", &[64], [0x3d40_0fb9, 0x3ca4_da89, 0xbd92_7935]),
            ("bn1.running_var", &[64], [0x3f92_3723, 0x3fa4_b457, 0x3fa0_cdcf]),
            ("fc.weight", &[1000, 512], [0xbb1a_0cdc, 0x3d69_705d, 0xbd1b_f96c]),
            ("fc.bias", &[1000], [0xbb92_76e3, 0xbb7c_8d4a, 0xbd09_b40a]),
        ];
        for (name, shape, want) in cases {
            assert_eq!(bits(&values(name, shape)), want, "{name}");
        }
        let image = Vec::<f32>::try_from(input(2, 224).flatten(0, -1))?;
        assert_eq!(bits(&image), [0xbfb2_5451, 0x3f07_1d60, 0x3f90_4e6e]);
        Ok(())
    }
}
