//! Writes two traces of ResNet-18, interpreted node by node and frozen, for `cargo fx diff` to compare.
//!
//! `cargo run --release -p resnet18 --example traces -- [FOLDER] [ITERATIONS] [SIDE OF THE IMAGE]`

use std::io::{self, Write as _};
use std::path::PathBuf;

use fx_runtime::graph_module::value;
use fx_runtime::{Device, Freeze, nn, tch};
use resnet18::{Error, ResNet18, weights};

fn main() -> Result<(), Error> {
    let mut args = std::env::args().skip(1);
    let folder = PathBuf::from(args.next().unwrap_or_else(|| ".".to_owned()));
    let iterations = args.next().map_or(Ok(10), |text| text.parse())?;
    let side = args.next().map_or(Ok(224), |text| text.parse())?;
    let vs = nn::VarStore::new(Device::Cpu);
    let net = ResNet18::new(&vs.root(), 1000);
    weights::fill(&net);
    let graph = net.graph_module()?;
    let frozen = graph.freeze(&Freeze::default())?;
    let inputs = [value(weights::input(1, side))];
    let (eager, frozen) =
        tch::no_grad(|| (graph.profile_trace(&inputs, 3, iterations), frozen.profile_trace(&inputs, 3, iterations)));
    for (name, trace) in [("eager", eager?), ("frozen", frozen?)] {
        let path = folder.join(format!("{name}.json.gz"));
        trace.write(&path)?;
        writeln!(io::stdout(), "{} events in {}", trace.events.len(), path.display())?;
    }
    Ok(())
}
