//! Numbers that are the same in every run and on every thread, and comparisons.

use std::sync::{Mutex, MutexGuard, PoisonError};

use fx_runtime::{Device, Kind, Module, Tensor};

#[path = "../../device.rs"]
mod device;

pub(crate) use device::device;

/// libtorch has one generator of random numbers, which fresh weights are drawn from too; whoever draws holds this.
pub(crate) fn chance() -> MutexGuard<'static, ()> {
    static GENERATOR: Mutex<()> = Mutex::new(());
    GENERATOR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `sin` of something irregular, scaled to a variance of 1; a function of shape and `seed` alone.
pub(crate) fn tensor(shape: &[i64], seed: f64) -> Tensor {
    let count = shape.iter().product::<i64>();
    let steps = Tensor::arange(count, (Kind::Double, Device::Cpu));
    let values = ((steps * 12.9898 + seed * 78.233 + 1.0).sin() * 43_758.545_3).frac() * 3f64.sqrt();
    values.reshape(shape).to_kind(Kind::Float).to_device(device())
}

/// Word numbers below `bound`.
pub(crate) fn ids(shape: &[i64], bound: i64) -> Tensor {
    (tensor(shape, 3.0) * 1000.0).to_kind(Kind::Int64).abs().remainder(bound)
}

/// Gives a model weights that differ from tensor to tensor, in f32.
pub(crate) fn fill(model: &dyn Module) {
    resnet18::weights::fill(model);
}

/// The same tensor with its channels together in memory, for four axes and five; any other as it is.
pub(crate) fn channels_last(xs: &Tensor) -> Tensor {
    let axes = i64::try_from(xs.dim()).expect("few axes");
    if !matches!(axes, 4 | 5) {
        return xs.shallow_clone();
    }
    let last: Vec<i64> = [0].into_iter().chain(2..axes).chain([1]).collect();
    let back: Vec<i64> = [0, axes - 1].into_iter().chain(1..axes - 1).collect();
    xs.permute(last).contiguous().permute(back)
}

/// The largest difference, relative to the largest expected value; infinite where one is NaN and the other is not.
pub(crate) fn difference(found: &Tensor, expected: &Tensor) -> f64 {
    let (found, expected) = (found.to_kind(Kind::Double), expected.to_kind(Kind::Double));
    if found.numel() == 0 {
        return 0.0;
    }
    let largest = expected.abs().max().double_value(&[]).max(1e-3);
    let difference = (&found - &expected).abs().max().double_value(&[]) / largest;
    if difference.is_nan() { f64::INFINITY } else { difference }
}

/// The bytes of a tensor's values, in row-major order.
pub(crate) fn bytes(tensor: &Tensor) -> Vec<u8> {
    let tensor = tensor.to_kind(Kind::Float).contiguous().to_device(Device::Cpu);
    let mut bytes = vec![0; tensor.numel() * 4];
    tensor.copy_data_u8(&mut bytes, tensor.numel());
    bytes
}

/// Whether two results, as [`bytes`] gives them, are the same: to the last bit on the CPU, within what an order of additions
/// makes of them on a GPU, whose kernels add in any.
pub(crate) fn is_same(found: &[u8], expected: &[u8]) -> bool {
    if device() == Device::Cpu {
        return found == expected;
    }
    let numbers =
        |bytes: &[u8]| -> Vec<f32> { bytes.as_chunks().0.iter().map(|number| f32::from_le_bytes(*number)).collect() };
    let (found, expected) = (numbers(found), numbers(expected));
    let largest = expected.iter().fold(0.0, |largest: f32, number| largest.max(number.abs()));
    found.len() == expected.len() && found.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-5 * largest)
}
