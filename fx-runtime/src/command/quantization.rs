//! Quantization of a live model: its parameters as a file, and what each site loses.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use fx_ir::{Arg, Op};
use serde_json::{Value as Json, json};
use tch::Tensor;

use super::{Failure, input};
use crate::graph_module::{GraphModule, Value, value};
use crate::quant::{Accuracy, Coverage, Prepared, QConfigMapping, QEngine, QParamsFile, coverage, prepare};
use crate::{Error, Result};

/// What the model is calibrated on.
pub(super) struct Calibration<'r> {
    /// Safetensors files, each with a tensor for each input by its name.
    pub(super) data: &'r [PathBuf],
    /// How many batches of random values where there are no files.
    pub(super) batches: usize,
    /// Their shapes.
    pub(super) shapes: &'r [String],
}

impl Calibration<'_> {
    /// Shows the batches to the observers.
    fn observe(&self, observed: &mut Prepared) -> Result<()> {
        for path in self.data {
            let inputs = read(path, observed.module())?;
            observed.forward(&inputs)?;
        }
        if self.data.is_empty() {
            for _ in 0..self.batches.max(1) {
                let inputs = self.shapes.iter().map(|text| input::parse(text)).collect::<Result<Vec<Value>>>()?;
                observed.forward(&inputs)?;
            }
        }
        Ok(())
    }

    /// What the answer has to say of it.
    fn warning(&self) -> &'static str {
        if self.data.is_empty() {
            "calibrated on random values: the figures say nothing of real data; give some with `--data`\n"
        } else {
            ""
        }
    }
}

/// One tensor for each input, from a file.
fn read(path: &Path, module: &GraphModule) -> Result<Vec<Value>> {
    let refused = |what: String| Error::Unsupported {
        what: format!("calibrating with `{}`: {what}", path.display()),
        help: "write a safetensors file with one tensor for each input of the forward, by its name".to_owned(),
    };
    let tensors = Tensor::read_safetensors(path).map_err(|error| refused(error.to_string()))?;
    let graph = module.graph();
    let inputs = graph.region(graph.body()).params.iter().map(|&param| {
        let name = &graph.node(param).name;
        let found = tensors.iter().find(|(known, _)| known == name);
        found.map(|(_, tensor)| value(tensor)).ok_or_else(|| refused(format!("it has no tensor `{name}`")))
    });
    inputs.collect()
}

fn calibrated(module: &GraphModule, mapping: &QConfigMapping, data: &Calibration<'_>) -> Result<Prepared> {
    let mut observed = prepare(module, mapping, QEngine::Fx)?;
    data.observe(&mut observed)?;
    Ok(observed)
}

/// Writes the parameters, and tells what will be computed on codes.
pub(super) fn quantized(
    module: &GraphModule,
    inputs: &[Value],
    data: &Calibration<'_>,
    output: &Path,
) -> Result<(String, Json), Failure> {
    let observed = calibrated(module, &QConfigMapping::for_engine(QEngine::Fx), data)?;
    let qparams = observed.convert()?;
    qparams.save(output)?;
    let covered = coverage(module, &qparams, inputs)?;
    let (sites, weights) = (qparams.sites.len(), qparams.weights.len());
    let text = format!("{}{sites} values and {weights} weights: {}\n{covered}", data.warning(), output.display());
    let json = json!({ "file": output, "sites": sites, "weights": weights, "coverage": covered_json(&covered) });
    Ok((text, json))
}

/// What each site loses, and what is gained where the worst layers stay in floats.
pub(super) fn accuracy(
    module: &GraphModule,
    inputs: &[Value],
    data: &Calibration<'_>,
    (file, keep): (Option<&Path>, usize),
) -> Result<(String, Json), Failure> {
    let mapping = QConfigMapping::for_engine(QEngine::Fx);
    let observed = calibrated(module, &mapping, data)?;
    let qparams = match file {
        Some(path) => QParamsFile::load(path, module)?,
        None => observed.convert()?,
    };
    let found = observed.accuracy(&qparams, inputs)?;
    let covered = coverage(module, &qparams, inputs)?;
    let kept = worst_layers(&observed, &found, keep);
    let mut text = format!("{}{found}\n", data.warning());
    let mut gain = None;
    if !kept.is_empty() {
        let mapping = kept.iter().fold(mapping, |mapping, path| mapping.module_name(path, None));
        let without = calibrated(module, &mapping, data)?;
        let better = without.accuracy(&without.convert()?, inputs)?;
        gain = better.output_sqnr.zip(found.output_sqnr).map(|(better, found)| better - found);
        let gained = gain.map_or(String::new(), |gain| format!(", which gains {gain:.2} dB at the output"));
        writeln!(text, "to leave in floats first: {}{gained}\n", kept.join(", "))?;
    }
    write!(text, "{covered}")?;
    let sites = found.sites.iter().map(|site| {
        json!({
            "site": site.site, "sqnr": site.sqnr, "shadowed_sqnr": site.shadowed_sqnr, "cosine": site.cosine,
            "saturation": site.saturation,
        })
    });
    let json = json!({
        "sites": sites.collect::<Vec<_>>(), "output_sqnr": found.output_sqnr, "leave_in_floats": kept,
        "gain": gain, "coverage": covered_json(&covered),
    });
    Ok((text, json))
}

/// The paths of the layers whose sites lose most by themselves, the worst first.
fn worst_layers(observed: &Prepared, accuracy: &Accuracy, count: usize) -> Vec<String> {
    let graph = observed.module().graph();
    let layer = |name: &str| {
        let site = observed.sites().iter().find(|site| site.name == name)?;
        let of = graph.nodes().into_iter().find(|&id| graph.node(id).name == name).unwrap_or(site.node);
        match (&graph.node(of).op, graph.node(of).args.first()) {
            (Op::CallModule(_), Some(Arg::Str(path))) => Some(path.clone()),
            _ => None,
        }
    };
    let worst = accuracy.worst(accuracy.sites.len());
    worst.into_iter().filter_map(|site| layer(&site.site)).take(count).collect()
}

fn covered_json(coverage: &Coverage) -> Json {
    let layers = coverage
        .layers
        .iter()
        .map(|layer| json!({ "name": layer.name, "flops": layer.flops, "in_floats": layer.in_floats }));
    json!({ "share": coverage.share(), "layers": layers.collect::<Vec<_>>() })
}
