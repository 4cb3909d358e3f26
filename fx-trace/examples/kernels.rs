//! Writes a trace of kernels that overlap, from nothing, and prints what the GPU's time went to in all iterations but the last,
//! which is what Holistic Trace Analysis says of it: `cargo run -p fx-trace --example kernels -- TO.json.gz`.

use std::io::{self, Write as _};
use std::process::ExitCode;

use fx_trace::trace::Metadata;
use fx_trace::{NewEvent, Result, Trace, TraceWriter};
use serde_json::{Map, Value, json};

/// An iteration, in microseconds.
const STEP: i64 = 1000;

/// Of each iteration: stream, name, begin and duration in microseconds.
const KERNELS: [(i64, &str, i64, i64); 6] = [
    (7, "volta_sgemm_128x64_nn", 50, 300),
    (20, "ncclKernel_AllReduce_RING_LL_Sum_float", 200, 400),
    (7, "void at::native::relu<float>(float*)", 400, 80),
    (22, "Memcpy HtoD (Pageable -> Device)", 420, 120),
    (7, "volta_sgemm_128x64_nn", 650, 100),
    (22, "Memset (Device)", 800, 25),
];

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: kernels TO");
        return ExitCode::from(2);
    };
    match written(&path).and_then(|()| Trace::read(&path)) {
        Ok(trace) => print(&trace),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn print(trace: &Trace) -> ExitCode {
    let last = trace.iterations().last().map(|iteration| iteration.begin);
    let mut out = io::stdout().lock();
    for share in trace.kernel_breakdown(last) {
        if writeln!(out, "{},{}", share.name(), share.nanoseconds / 1000).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn written(path: &str) -> Result<()> {
    let mut writer = TraceWriter::create(path, &Metadata::default())?;
    let mut correlation = 100;
    for step in 1..4 {
        let begin = step * STEP;
        let mut event = |category, name: &str, (process, thread): (i64, i64), at: i64, duration: i64, args: Value| {
            let args = if let Value::Object(args) = args { args } else { Map::new() };
            let (process, thread) = (process.into(), thread.into());
            let (begin, duration) = ((begin + at) * 1000, duration * 1000);
            writer.event(&NewEvent { category, name, process, thread, begin, duration, args })
        };
        event("user_annotation", &format!("ProfilerStep#{step}"), (1, 1), 0, STEP - 10, Value::Null)?;
        for (stream, name, at, duration) in KERNELS {
            correlation += 1;
            event("cuda_runtime", "cudaLaunchKernel", (1, 1), at - 20, 5, json!({ "correlation": correlation }))?;
            let category = match name.split(' ').next() {
                Some("Memcpy") => "gpu_memcpy",
                Some("Memset") => "gpu_memset",
                _ => "kernel",
            };
            event(category, name, (0, stream), at, duration, json!({ "stream": stream, "correlation": correlation }))?;
        }
    }
    writer.finish()
}
