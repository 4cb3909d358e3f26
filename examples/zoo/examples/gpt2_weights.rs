//! GPT-2, one token with a cache: weights in floats, in eight bits and in four, in turns.
//!
//! `cargo run --release -p zoo --example gpt2_weights`; the weights are fresh ones, since times do not depend on them.

use std::error::Error;
use std::fmt::Write as _;
use std::hint::black_box;

use fx_runtime::quant::{WeightFormat, sqnr};
use fx_runtime::{Device, Freeze, Kind, Tensor, nn};
use resnet18::timing::{Samples, in_turns};
use zoo::gpt2::{CachedGpt2, Gpt2};

/// Tokens that the model remembers.
const PAST: i64 = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let _no_grad = tch::no_grad_guard();
    tch::manual_seed(1);
    let vs = nn::VarStore::new(Device::Cpu);
    let net: CachedGpt2 = Gpt2::new(&vs.root()).cached();
    let formats = [WeightFormat::Int8, WeightFormat::Int4 { group: 128 }];
    let float = net.freeze(&Freeze::new())?;
    let [bytes, halves] = formats.map(|format| net.freeze(&Freeze::new().quantize_weights(format)));
    let (bytes, halves) = (bytes?, halves?);

    let ids = |length| Tensor::randint(Gpt2::VOCABULARY, [1, length], (Kind::Int64, Device::Cpu));
    let (_, past) = float.forward(&ids(PAST), &net.empty(1));
    let token = ids(1);
    let exact = float.forward(&token, &past).0;
    let mut out = String::new();
    for (name, frozen) in [("int8", &bytes), ("int4", &halves)] {
        writeln!(out, "{name}: {:.1} dB against f32 on one token", sqnr(&exact, &frozen.forward(&token, &past).0)?)?;
    }
    let call = |frozen| move || drop(black_box(forward(frozen, &token, &past)));
    let [float, bytes, halves] = in_turns(20, 5, [&call(&float), &call(&bytes), &call(&halves)]);
    writeln!(out, "one token behind {PAST}, {} threads, medians (minima) in ms", tch::get_num_threads())?;
    for (name, samples) in [("f32", &float), ("int8", &bytes), ("int4", &halves)] {
        let (median, min) = (samples.median(), samples.min());
        let ratios = |of: fn(&Samples) -> f64| of(&float) / of(samples);
        let (by_median, by_min) = (ratios(Samples::median), ratios(Samples::min));
        writeln!(out, "  {name:<5} {median:7.2} ({min:.2})  {by_median:.2}x ({by_min:.2}x) of f32's speed")?;
    }
    std::io::Write::write_all(&mut std::io::stdout(), out.as_bytes())?;
    Ok(())
}

fn forward(frozen: &zoo::gpt2::CachedGpt2Frozen, token: &Tensor, past: &[(Tensor, Tensor)]) -> Tensor {
    frozen.forward(token, past).0
}
