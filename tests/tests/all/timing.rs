//! Guards of the times that a user waits for, several times longer than what was measured, so that a busy machine passes.

use std::time::{Duration, Instant};

use fx_passes::Build;
use fx_runtime::{Device, Freeze, nn};
use resnet18::{ResNet18, weights};

use crate::folder::{Folder, of_workspace};
use crate::values;

/// The best of a few runs, since other tests run beside this one.
fn best(run: impl Fn()) -> Duration {
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..5).map(time).min().expect("some runs")
}

#[test]
#[cfg_attr(debug_assertions, ignore = "build scripts are optimised, a debug build of this test is not")]
fn the_build_script_of_resnet18() {
    let folder = Folder::new("timing");
    let time = best(|| {
        Build::new().generate(&of_workspace("examples/resnet18"), &folder.join("out"));
    });
    assert!(time < Duration::from_millis(300), "{time:?}");
}

#[test]
#[cfg_attr(debug_assertions, ignore = "a debug build says nothing about the time that a user waits")]
fn freezing_resnet18() {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = {
        let _alone = values::chance();
        ResNet18::new(&vs.root(), 1000)
    };
    weights::fill(&net);
    let time = best(|| drop(net.freeze(&Freeze::default()).expect("it freezes")));
    assert!(time < Duration::from_millis(500), "{time:?}");
}
