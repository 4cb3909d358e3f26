//! Where the tests of models run, of several crates: this file is a module of each.

use fx_runtime::Device;

/// Where models and their inputs are: on the first GPU if `FX_TEST_DEVICE` is `cuda`, else on the CPU.
///
/// `NVIDIA_TF32_OVERRIDE=0` has to be set for it: products of ten bits agree to three digits.
pub(crate) fn device() -> Device {
    if std::env::var_os("FX_TEST_DEVICE").is_none_or(|name| name != "cuda") {
        return Device::Cpu;
    }
    let device = fx_runtime::cuda_if_available();
    assert!(device.is_cuda(), "FX_TEST_DEVICE asks for a GPU:\n{}", fx_runtime::capabilities());
    device
}
