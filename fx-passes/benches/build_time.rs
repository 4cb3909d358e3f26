//! What a build script takes for a model of a thousand and of ten thousand ops: scan, trace, all passes, print.

use std::{fmt::Write as _, fs, hint::black_box, path::PathBuf, time::Instant};

use fx_passes::Build;

/// A package whose one model has about `ops` ops, a third of which rules rewrite.
fn package(ops: usize) -> PathBuf {
    let root = std::env::temp_dir().join(format!("fx-build-time-{ops}"));
    let mut source = String::from(
        "use fx_runtime::{Module, Tensor, nn, traceable};\n\
         #[derive(Debug, Module)]\npub struct Net { fc: nn::Linear }\n\
         #[traceable]\nimpl Net {\n    pub fn forward(&self, xs: &Tensor) -> Tensor {\n        let ys = self.fc.forward(xs);\n",
    );
    for _ in 0..ops / 6 {
        // Writing to a string cannot fail.
        let _ =
            writeln!(source, "        let zs = &ys * ys.sigmoid();\n        let ys = (zs.relu().relu() + &ys) * 0.5;");
    }
    source.push_str("        ys\n    }\n}\n");
    let written = fs::create_dir_all(root.join("src")).and_then(|()| fs::write(root.join("src/lib.rs"), source));
    assert!(written.is_ok(), "cannot write below {}", root.display());
    root
}

#[allow(clippy::print_stdout, reason = "it is what a bench is for")]
fn main() {
    for ops in [1_000, 10_000] {
        let root = package(ops);
        let out = root.join("out");
        let mut times: Vec<f64> = (0..5)
            .map(|_| {
                let start = Instant::now();
                black_box(Build::new().generate(&root, &out));
                start.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        times.sort_by(f64::total_cmp);
        println!("{ops:>6} ops: {:.0} ms (median of 5, {:.0} to {:.0})", times[2], times[0], times[4]);
    }
}
