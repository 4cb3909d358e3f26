//! Guards of the times that a user waits for: each against something else that the same machine does, in turns, by the
//! best of each. How the time of a build grows is guarded in `fx-passes/tests/growth.rs`.

use std::hint::black_box;
use std::time::Instant;

use fx_runtime::{Device, Freeze, nn};
use resnet18::{ResNet18, weights};

use crate::values;

/// The best times of both, in seconds, since other tests run beside this one.
fn best(turns: usize, runs: [&dyn Fn(); 2]) -> [f64; 2] {
    let mut best = [f64::MAX; 2];
    for _ in 0..turns {
        for (run, best) in runs.iter().zip(&mut best) {
            let start = Instant::now();
            run();
            *best = best.min(start.elapsed().as_secs_f64());
        }
    }
    best
}

/// Freezing reads and writes each weight a few times; an eager forward of one image is a time that a user knows.
#[test]
fn freezing_resnet18_takes_as_long_as_a_few_images() {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = {
        let _alone = values::chance();
        ResNet18::new(&vs.root(), 1000)
    };
    weights::fill(&net);
    let image = weights::input(1, 224);
    let freeze = || drop(black_box(net.freeze(&Freeze::default()).expect("it freezes")));
    let forward = || drop(black_box(tch::no_grad(|| net.forward(&image))));
    let [freeze, forward] = best(5, [&freeze, &forward]);
    eprintln!("freezing takes {freeze:.3} s, an image {forward:.3} s");
    assert!(freeze < 10.0 * forward, "freezing takes {freeze:.3} s, an image {forward:.3} s");
}
