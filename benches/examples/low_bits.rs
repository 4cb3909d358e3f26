//! Blocks of LLaMA-7B's size with weights in fewer bits, and with products of eight bits, beside the frozen model in its own
//! dtype, in turns; on a GPU each forward is a CUDA graph.
//!
//! `cargo run --release -p fx-benches --example low_bits -- cuda f16`, or `-- cpu f32`.

use std::error::Error;
use std::fmt::Write as _;

use fx_benches::feed_forward::{FeedForwards, FeedForwardsFrozen};
use fx_runtime::quant::{DynamicFormat, WeightFormat, sqnr};
use fx_runtime::{Device, Freeze, GraphOutputs, Kind, Tensor, nn};
use resnet18::timing::in_turns;

const WIDTH: i64 = 4096;
const INNER: i64 = 11_008;

fn main() -> Result<(), Box<dyn Error>> {
    let _no_grad = tch::no_grad_guard();
    let args: Vec<String> = std::env::args().skip(1).collect();
    // Asking for the capabilities opens libtorch's CUDA half, which nothing else links.
    let is_cuda = args.first().is_some_and(|place| place == "cuda") && fx_runtime::capabilities().cuda_devices > 0;
    let device = if is_cuda { Device::Cuda(0) } else { Device::Cpu };
    let kind = match args.get(1).map(String::as_str) {
        Some("f16") => Kind::Half,
        Some("bf16") => Kind::BFloat16,
        _ => Kind::Float,
    };
    let (blocks, rows) = if is_cuda { (4, &[1, 8, 16, 32, 64, 512, 4096][..]) } else { (1, &[1, 8, 128][..]) };
    tch::manual_seed(1);
    let vs = nn::VarStore::new(device);
    let net = FeedForwards::new(&vs.root(), blocks, WIDTH, INNER);
    let options = Freeze::new().kind(kind).autotune(true).cuda_graphs(true).cuda_graph_outputs(GraphOutputs::Shared);
    let weights = |format| options.clone().quantize_weights(format);
    let dynamic = |format| options.clone().quantize_dynamic(format);
    let forms = [
        ("floats", options.clone()),
        ("int8 weights", weights(WeightFormat::Int8)),
        ("int4 weights", weights(WeightFormat::Int4 { group: 128 })),
        ("dynamic int8", dynamic(DynamicFormat::Int8)),
        ("dynamic float8", dynamic(DynamicFormat::Float8)),
    ];
    let mut frozen = Vec::new();
    for (name, options) in &forms {
        frozen.push((*name, net.freeze(options)?));
    }
    let mut out = String::new();
    writeln!(
        out,
        "{blocks} blocks of {WIDTH} x {INNER}, {kind:?}; medians (minima) in ms, floats over each, decibels"
    )?;
    for &rows in rows {
        let xs = Tensor::randn([rows, WIDTH], (Kind::Float, device)).to_kind(kind);
        writeln!(out, "{rows} rows")?;
        compare(&frozen, &xs, &mut out)?;
    }
    std::io::Write::write_all(&mut std::io::stdout(), out.as_bytes())?;
    Ok(())
}

/// A line for each of the forms, the first of which has floats.
fn compare(frozen: &[(&str, FeedForwardsFrozen)], xs: &Tensor, out: &mut String) -> Result<(), Box<dyn Error>> {
    let (is_cuda, calls) = if xs.device().is_cuda() { (true, 4) } else { (false, 1) };
    let exact = frozen[0].1.try_forward(xs)?.to_kind(Kind::Float).copy();
    let mut decibels = Vec::new();
    for (_, each) in frozen {
        decibels.push(sqnr(&exact, &each.try_forward(xs)?.to_kind(Kind::Float))?);
    }
    let call = |frozen: &FeedForwardsFrozen| {
        for _ in 0..calls {
            let _ = frozen.forward(xs);
        }
        if is_cuda {
            tch::Cuda::synchronize(0);
        }
    };
    let by: [_; 5] = std::array::from_fn(|at| {
        let each = &frozen[at].1;
        move || call(each)
    });
    let samples = in_turns(20, 3, by.each_ref().map(|call| call as &dyn Fn()));
    for (((name, _), each), decibels) in frozen.iter().zip(&samples).zip(decibels) {
        let [median, min] = [each.median(), each.min()].map(|time| time / f64::from(calls));
        let (by_median, by_min) = (samples[0].median() / each.median(), samples[0].min() / each.min());
        writeln!(out, "  {name:<15} {median:9.4} ({min:.4})  {by_median:.2}x ({by_min:.2}x)  {decibels:.1} dB")?;
    }
    Ok(())
}
