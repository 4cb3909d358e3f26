//! What a call by name costs over tch's method: operators on tensors of a few elements, where nothing else takes time.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use fx_runtime::operator::{Operator, Value};
use fx_runtime::{Device, Kind, Tensor};

fn rand(sizes: &[i64]) -> Tensor {
    Tensor::rand(sizes, (Kind::Float, Device::Cpu))
}

/// One operator both ways.
fn pair(criterion: &mut Criterion, full_name: &str, args: &[Value], mut method: impl FnMut() -> Tensor) {
    let operator = Operator::parse(full_name).expect("an operator of libtorch");
    let mut group = criterion.benchmark_group(full_name);
    group.bench_function("tch", |bencher| bencher.iter(&mut method));
    group.bench_function("by name", |bencher| {
        bencher.iter(|| operator.tensor(black_box(args)).expect("arguments of the schema"));
    });
    group.finish();
}

fn call(criterion: &mut Criterion) {
    let (x, y, image) = (&rand(&[2, 2]), &rand(&[2, 2]), &rand(&[1, 2, 4, 4]));
    let (weight, bias) = (&rand(&[2, 2]), &rand(&[2]));
    pair(criterion, "aten::relu", &[x.into()], || x.relu());
    pair(criterion, "aten::add.Tensor", &[x.into(), y.into()], || x + y);
    pair(criterion, "aten::add.Scalar", &[x.into(), 2.into()], || x + 2);
    pair(criterion, "aten::linear", &[x.into(), weight.into(), bias.into()], || x.linear(weight, Some(bias)));
    pair(criterion, "aten::cat", &[[x, y].into(), 1.into()], || Tensor::cat(&[x, y], 1));
    pair(criterion, "aten::max_pool2d", &[image.into(), [2, 2].into()], || image.max_pool2d(2, 2, 0, 1, false));
    criterion.bench_function("find", |bencher| bencher.iter(|| Operator::find(black_box("aten::add"), "Tensor")));
}

criterion_group!(benches, call);
criterion_main!(benches);
