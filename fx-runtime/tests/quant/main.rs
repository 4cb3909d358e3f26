//! Quantization gives PyTorch's numbers, bit for bit.

#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by it")]

use std::sync::{Mutex, MutexGuard, PoisonError};

mod bisect;
mod dynamic;
mod equalization;
mod fake_quantize;
mod int8;
mod observers;
mod prepare;
mod qat;
mod weight_only;

/// Keeps every other test from drawing random numbers: libtorch has one generator for all threads.
fn alone() -> MutexGuard<'static, ()> {
    static GENERATOR: Mutex<()> = Mutex::new(());
    GENERATOR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where there are none, all stays in floats.
fn has_kernels() -> bool {
    fx_runtime::capabilities().int8.is_ok()
}

/// Numbers in `[0, 1)` that are a function of a name and an index: `reference/README.md` has the rule.
fn uniform(name: &str, count: usize) -> Vec<f64> {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let seed = name
        .bytes()
        .fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3));
    let one = |index: u64| {
        let z = seed.wrapping_add(index.wrapping_mul(GOLDEN)).wrapping_add(GOLDEN);
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let bits = u32::try_from((z ^ (z >> 31)) >> 11 >> 32).unwrap_or(0);
        let low = u32::try_from(((z ^ (z >> 31)) >> 11) & 0xFFFF_FFFF).unwrap_or(0);
        (f64::from(bits) * 4_294_967_296.0 + f64::from(low)) * 2f64.powi(-53)
    };
    (0..count as u64).map(one).collect()
}

/// The file of that name under `reference/`, which holds JSON.
fn reference(name: &str) -> serde_json::Value {
    let path = format!("{}/tests/quant/reference/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read `{path}`: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("`{path}`: {error}"))
}
