//! Graphs of live models, frozen at run time, against the generated frozen types, in turns: `cargo bench -p fx-benches
//! --bench frozen_graph -- resnet18`.
//!
//! An argument names the models that run, a part of the name is enough; `--batch 8` is the number of samples, `--threads 1`
//! the number of threads of libtorch.

use std::hint::black_box;

use fx_benches::models::{MODELS, Model, Variant};
use fx_runtime::{Device, Kind};
use resnet18::timing::in_turns;

/// Rounds of some calls each, in turns.
const ROUNDS: usize = 25;
/// Timed calls of a round.
const CALLS: usize = 3;
/// What the graph may cost over generated code.
const MOST: f64 = 1.03;

fn main() {
    let (mut wanted, mut batch) = (Vec::new(), 1);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|number| number.parse().ok()).expect("a number");
        match argument.as_str() {
            "--bench" => {}
            "--batch" => batch = i64::from(number()),
            "--threads" => tch::set_num_threads(number()),
            _ => wanted.push(argument),
        }
    }
    println!("batch {batch}, {} threads, milliseconds: minima (medians)", tch::get_num_threads());
    println!("{:14} {:>18} {:>18} {:>8} {:>8}", "model", "generated", "frozen graph", "minima", "medians");
    let mut slower = 0;
    for model in MODELS.iter().filter(|model| wanted.is_empty() || wanted.iter().any(|part| model.name.contains(part)))
    {
        slower += usize::from(compare(model, batch) > MOST);
    }
    println!("more than {:.0} % slower than generated code: {slower}", (MOST - 1.0) * 100.0);
}

/// Prints a line of the table; returns the ratio of minima.
fn compare(model: &Model, batch: i64) -> f64 {
    let forward = |variant| model.forward(variant, Device::Cpu, Kind::Float, None).expect("a model that freezes").0;
    let (generated, graph) = (forward(Variant::Frozen), forward(Variant::FrozenGraph));
    let xs = &model.input.batch(batch, Device::Cpu, Kind::Float);
    let call = |forward: &dyn Fn(&fx_runtime::Tensor) -> Result<fx_runtime::Tensor, fx_runtime::Error>| {
        drop(black_box(forward(xs).expect("a forward of the model")));
    };
    let [generated, graph] = in_turns(ROUNDS, CALLS, [&|| call(&*generated), &|| call(&*graph)]);
    let (by_minimum, by_median) = (graph.min() / generated.min(), graph.median() / generated.median());
    let times = |samples: &resnet18::timing::Samples| format!("{:.2} ({:.2})", samples.min(), samples.median());
    println!("{:14} {:>18} {:>18} {by_minimum:8.3} {by_median:8.3}", model.name, times(&generated), times(&graph));
    by_minimum
}
