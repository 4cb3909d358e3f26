//! What a build script takes for a model of a thousand and of ten thousand nodes: scan, trace, all passes, print.
//!
//! The throughput is nodes a second: it stays the same where the time grows with the model and no faster.

use std::{fmt::Write as _, fs, hint::black_box, path::PathBuf};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fx_passes::Build;

/// A package whose one model has about `nodes` nodes, a third of which rules rewrite.
fn package(nodes: usize) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("build-time-{nodes}"));
    let mut source = String::from(
        "use fx_runtime::{Module, Tensor, nn, traceable};\n\
         #[derive(Debug, Module)]\npub struct Net { fc: nn::Linear, conv: nn::Conv2D, bn: nn::BatchNorm }\n\
         #[traceable]\nimpl Net {\n    pub fn forward(&self, xs: &Tensor) -> Tensor {\n        let ys = self.fc.forward(xs);\n",
    );
    for line in 0..nodes / 10 {
        let layer = if line % 2 == 0 { "self.bn.forward(&self.conv.forward(&ys))" } else { "self.fc.forward(&ys)" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            source,
            "        let zs = &ys * ys.sigmoid();\n        let ys = (zs.relu().relu() + &ys) * 0.5;\n        \
             let ys = ({layer} + &ys).relu();"
        );
    }
    source.push_str("        ys\n    }\n}\n");
    let written = fs::create_dir_all(root.join("src")).and_then(|()| fs::write(root.join("src/lib.rs"), source));
    assert!(written.is_ok(), "cannot write below {}", root.display());
    root
}

fn build(c: &mut Criterion) {
    let mut group = c.benchmark_group("build script");
    group.sample_size(10);
    for nodes in [1_000, 10_000] {
        let root = package(nodes);
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
