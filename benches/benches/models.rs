//! Every model: eager against frozen at batch 1, and how long freezing takes.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use fx_benches::models::{MODELS, Variant};
use fx_runtime::{Device, Freeze, Kind};

const CPU: (Device, Kind) = (Device::Cpu, Kind::Float);

fn forward(criterion: &mut Criterion) {
    for model in MODELS {
        let xs = model.input.batch(1, CPU.0, CPU.1);
        let mut group = criterion.benchmark_group(format!("{}/forward", model.name));
        group.sample_size(20);
        for (name, variant) in [("eager", Variant::Eager), ("frozen", Variant::Frozen)] {
            let (forward, _) = model.forward(variant, CPU.0, CPU.1, None).expect("a model that loads");
            group.bench_function(name, |bencher| bencher.iter(|| forward(black_box(&xs)).expect("an output")));
        }
        group.finish();
    }
}

fn freeze(criterion: &mut Criterion) {
    for model in MODELS {
        let (_vs, net) = model.load(CPU.0);
        let mut group = criterion.benchmark_group(format!("{}/freeze", model.name));
        group.sample_size(10);
        group.bench_function("default", |bencher| {
            bencher.iter(|| net.frozen(black_box(&Freeze::default())).expect("a model that freezes"));
        });
        group.finish();
    }
}

criterion_group!(benches, forward, freeze);
criterion_main!(benches);
