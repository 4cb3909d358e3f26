//! A linear layer whose inputs become integers at each call, beside the frozen one in f32, in turns.
//!
//! `cargo run --release -p fx-benches --example dynamic`; layers of `BERT`, and rows of one text or of one token.

use std::error::Error;
use std::fmt::Write as _;

use fx_runtime::graph_module::value;
use fx_runtime::instance::Tracer;
use fx_runtime::quant::{DynamicLinear, QConfig};
use fx_runtime::{Device, Freeze, Kind, Tensor, nn};
use resnet18::timing::{Samples, in_turns};

fn main() -> Result<(), Box<dyn Error>> {
    let _no_grad = tch::no_grad_guard();
    let mut out = String::new();
    writeln!(out, "medians (minima) in µs; ratios are f32 over dynamic, {} threads", tch::get_num_threads())?;
    for (input, output) in [(768, 768), (768, 3072), (3072, 768)] {
        let vs = nn::VarStore::new(Device::Cpu);
        let layer = nn::linear(vs.root(), input, output, nn::LinearConfig::default());
        let mut t = Tracer::new("layer");
        t.file("src/net.rs");
        let xs = t.input("xs", true);
        let ys = t.module("layer", &layer, &[&xs], 1);
        let float = t.finish(&[&ys])?.freeze(&Freeze::new())?;
        let of_all = DynamicLinear::new(&layer, &QConfig::dynamic())?;
        let of_tokens = DynamicLinear::new(&layer, &QConfig::dynamic_per_token())?;
        for rows in [1, 16, 128] {
            let xs = Tensor::randn([rows, input], (Kind::Float, Device::Cpu));
            let inputs = [value(&xs)];
            // An error is one here, and not a panic while the time is taken.
            drop((float.run(&inputs)?, of_all.forward(&xs)?, of_tokens.forward(&xs)?));
            let float = || drop(float.run(&inputs));
            let (whole, tokens) = (|| drop(of_all.forward(&xs)), || drop(of_tokens.forward(&xs)));
            let [float, whole, tokens] = in_turns(30, 20, [&float, &whole, &tokens]);
            write!(out, "{input} to {output}, {rows:>3} rows: f32 {}", figures(&float))?;
            for (name, samples) in [("per tensor", &whole), ("per token", &tokens)] {
                let ratio = float.median() / samples.median();
                write!(out, ", {name} {} {ratio:.2}x", figures(samples))?;
            }
            writeln!(out)?;
        }
    }
    std::io::Write::write_all(&mut std::io::stdout(), out.as_bytes())?;
    Ok(())
}

fn figures(samples: &Samples) -> String {
    format!("{:.1} ({:.1})", samples.median() * 1e3, samples.min() * 1e3)
}
