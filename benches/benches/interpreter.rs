//! What a node of an interpreted graph costs over the same operations written out: a chain of 1,000 small ones.

use criterion::{Criterion, criterion_group, criterion_main};
use fx_runtime::graph_module::{GraphModule, value};
use fx_runtime::instance::{Arg, Tracer};
use fx_runtime::{Device, Kind, Tensor};

/// `x + 1`, a thousand times.
fn chain() -> GraphModule {
    let mut t = Tracer::new("chain");
    t.file("src/net.rs");
    let mut xs = t.input("xs", true);
    for _ in 0..1000 {
        xs = t.call("add.Scalar", &[&xs, &Arg::Int(1)], 1);
    }
    t.finish(&[&xs]).expect("a graph")
}

fn interpreted(criterion: &mut Criterion) {
    let (module, xs) = (chain(), Tensor::ones([4], (Kind::Float, Device::Cpu)));
    let mut group = criterion.benchmark_group("chain of 1,000");
    group.bench_function("eager", |bencher| bencher.iter(|| (0..1000).fold(xs.shallow_clone(), |xs, _| xs + 1)));
    group.bench_function("interpreted", |bencher| bencher.iter(|| module.run(&[value(&xs)]).expect("a tensor")));
    group.finish();
}

criterion_group!(benches, interpreted);
criterion_main!(benches);
