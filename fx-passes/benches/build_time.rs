//! What a build script takes for a model of a thousand and of ten thousand nodes: scan, trace, all passes, print.
//!
//! The throughput is nodes a second: it stays the same where the time grows with the model and no faster.

use std::{hint::black_box, path::Path};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fx_passes::Build;

#[path = "../tests/large/mod.rs"]
mod large;

fn build(c: &mut Criterion) {
    let mut group = c.benchmark_group("build script");
    group.sample_size(10);
    for nodes in [1_000, 10_000] {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("build-time-{nodes}"));
        assert!(large::write(&root, nodes).is_ok(), "cannot write below {}", root.display());
        let out = root.join("out");
        group.throughput(Throughput::Elements(nodes as u64));
        group.bench_function(BenchmarkId::from_parameter(nodes), |bencher| {
            bencher.iter(|| black_box(Build::new().generate(&root, &out)));
        });
    }
    group.finish();
}

criterion_group!(benches, build);
criterion_main!(benches);
