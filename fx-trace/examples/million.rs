//! Writes a trace of a million events, reads it, and prints how long that takes and how much memory.
//!
//! ```console
//! $ cargo run --release -p fx-trace --example million            # packed
//! $ cargo run --release -p fx-trace --example million -- 4000000 trace.json
//! ```

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::Instant;

use flate2::Compression;
use flate2::write::GzEncoder;
use fx_trace::Trace;

#[expect(clippy::print_stdout, reason = "an example prints")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let events: usize = args.next().map_or(Ok(1_000_000), |count| count.parse())?;
    let folder = tempfile::tempdir()?;
    let path = args.next().map_or_else(|| folder.path().join("million.json.gz"), PathBuf::from);
    if path.extension().is_some_and(|extension| extension == "gz") {
        write(GzEncoder::new(BufWriter::new(File::create(&path)?), Compression::fast()), events)?.finish()?.flush()?;
    } else {
        write(BufWriter::new(File::create(&path)?), events)?.flush()?;
    }
    println!("{events} events, {} MB in {}", fs::metadata(&path)?.len() / 1_000_000, path.display());

    let start = Instant::now();
    let trace = Trace::read(&path)?;
    let seconds = start.elapsed().as_secs_f64();
    println!("read {} events and {} symbols in {seconds:.2} s", trace.events.len(), trace.symbols.len());
    match peak_memory() {
        Some(kib) => println!("peak memory {} MB", kib / 1000),
        None => println!("peak memory is not known on this system"),
    }
    Ok(())
}

/// Writes events as Kineto does: operators with shapes, launches, kernels.
fn write<W: Write>(mut to: W, events: usize) -> std::io::Result<W> {
    writeln!(
        to,
        "{{\n\"schemaVersion\": 1,\n\"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": 0, \"world_size\": 1}},"
    )?;
    writeln!(to, "\"traceEvents\": [")?;
    for event in 0..events {
        let comma = if event + 1 == events { "" } else { "," };
        let (step, op, ts) =
            (event / 10_000, event % 700, 1_712_195_495_519_689_i64 + 12 * i64::try_from(event).unwrap_or(0));
        match event % 10_000 {
            0 => write!(
                to,
                "  {{\n    \"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#{step}\", \"pid\": 1102, \"tid\": 1102,\n    \
                 \"ts\": {ts}.047, \"dur\": 119999.125,\n    \"args\": {{\n      \"External id\": {event}, \"Ev Idx\": {event}\n    }}\n  }}"
            )?,
            _ if event % 3 == 0 => write!(
                to,
                "  {{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op_{op}\", \"pid\": 1102, \"tid\": 1262,\n    \
                 \"ts\": {ts}.513, \"dur\": 11.813,\n    \"args\": {{\n      \"External id\": {event}, \"Ev Idx\": {event}, \
                 \"Input Dims\": [[64, 128, 56, 56], [128, 128, 3, 3], [], [], [], [], [], [], []], \
                 \"Input type\": [\"float\", \"float\", \"\", \"ScalarList\"]\n    }}\n  }}"
            )?,
            _ if event % 3 == 1 => write!(
                to,
                "  {{\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1102, \"tid\": 1262,\n    \
                 \"ts\": {ts}.100, \"dur\": 4.001,\n    \"args\": {{\n      \"External id\": {event}, \"cbid\": 211, \
                 \"correlation\": {event}\n    }}\n  }}"
            )?,
            _ => write!(
                to,
                "  {{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void at::native::kernel_{op}<4, float>(int, float)\", \
                 \"pid\": 0, \"tid\": 7,\n    \"ts\": {ts}.750, \"dur\": 9.600,\n    \"args\": {{\n      \"External id\": {event}, \
                 \"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": 7, \"correlation\": {}, \"registers per thread\": 32, \
                 \"grid\": [196, 1, 1], \"block\": [128, 1, 1], \"est. achieved occupancy %\": 50\n    }}\n  }}",
                event - 1
            )?,
        }
        writeln!(to, "{comma}")?;
    }
    writeln!(to, "],\n\"traceName\": \"million.json\"\n}}")?;
    Ok(to)
}

/// The most memory that the process has held, in KiB, on Linux.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.trim().parse().ok())
}
