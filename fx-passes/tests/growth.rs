//! The time of a build grows with the model and no faster.

#![allow(clippy::expect_used, reason = "a test that fails may do so by panicking")]

use std::time::Instant;

use fx_passes::Build;

mod large;

/// The nodes of the smaller model.
const NODES: usize = 100;
/// How many times larger the other one is.
const LARGER: usize = 4;
/// A time that grows with the square of the model would be 16 times as long.
const LIMIT: f64 = 8.0;

#[test]
fn a_model_of_four_times_the_nodes_takes_about_four_times_as_long() {
    let folder = tempfile::tempdir().expect("a folder");
    let roots = [NODES, NODES * LARGER].map(|nodes| {
        let root = folder.path().join(nodes.to_string());
        large::write(&root, nodes).expect("the package is written");
        root
    });
    // In turns, and the best of each: what else the machine does slows both down, and seldom for a whole turn.
    let mut best = [f64::MAX; 2];
    for _ in 0..3 {
        for (root, best) in roots.iter().zip(&mut best) {
            let start = Instant::now();
            let told = Build::new().generate(root, &root.join("out"));
            *best = best.min(start.elapsed().as_secs_f64());
            assert!(told.iter().all(|line| line.starts_with("cargo::rerun-if-changed")), "{told:?}");
        }
    }
    let ratio = best[1] / best[0];
    assert!(ratio < LIMIT, "{LARGER} times the nodes take {ratio:.1} times as long: {best:?} seconds");
}
