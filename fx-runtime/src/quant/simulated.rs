//! A quantized model where there are no kernels on codes: the reference form as one frozen model, from its parameters alone.

use super::reference::{Rounding, reference};
use super::{QConfigMapping, QParamsFile, int8, sites};
use crate::graph_module::GraphModule;
use crate::{Error, Result};

/// The graph of a live model in which values and weights are rounded as the parameters say and all ops compute on floats, on
/// any device: what stands in for kernels on codes where there are none.
///
/// # Errors
///
/// [`Error::Quantization`] if the parameters are another graph's, or name what is none of its values.
pub(super) fn simulated(module: &GraphModule, qparams: &QParamsFile) -> Result<GraphModule> {
    let equalized = int8::equalized(module, qparams)?;
    // Every site that there may be: which of them are rounded, the file says.
    let mut placed = sites::place(&equalized, &QConfigMapping::for_engine(qparams.engine), qparams.engine)?;
    placed.sites.retain(|site| qparams.sites.contains_key(&site.name));
    if let Some(name) = qparams.sites.keys().find(|&name| placed.sites.iter().all(|site| site.name != *name)) {
        let reason = "it is no value of this graph that is quantized".to_owned();
        return Err(Error::Quantization { site: name.clone(), reason });
    }
    reference(equalized, (&placed, &qparams.equalization), &qparams.fingerprint, (qparams, Rounding::InOneOp))
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind, Tensor};

    use super::super::{QEngine, prepare};
    use super::*;
    use crate::graph_module::{Value, value};
    use crate::instance::Tracer;
    use crate::nn;

    fn run(module: &GraphModule, xs: &Tensor) -> Tensor {
        let Ok(Value::Tensor(ys)) = module.run(&[value(xs)]) else { panic!("one tensor") };
        ys.shallow_clone()
    }

    #[test]
    fn what_is_simulated_has_the_numbers_of_the_reference() -> Result<()> {
        let vs = nn::VarStore::new(Device::Cpu);
        let [first, second] =
            ["first", "second"].map(|name| nn::linear(vs.root() / name, 64, 64, nn::LinearConfig::default()));
        let mut t = Tracer::new("net");
        t.file("src/net.rs");
        let xs = t.input("xs", true);
        let hidden = t.module("first", &first, &[&xs], 1);
        let ys = t.module("second", &second, &[&hidden], 2);
        let net: GraphModule = t.finish(&[&ys])?;
        let xs = Tensor::randn([8, 64], (Kind::Float, Device::Cpu));
        // The second layer stays in floats, so that its result is no site.
        let mapping = QConfigMapping::for_engine(QEngine::Fx).module_name("second", None);
        let mut observed = prepare(&net, &mapping, QEngine::Fx)?;
        observed.forward(&[value(&xs)])?;
        let mut qparams = observed.convert()?;
        let (found, wanted) = (run(&simulated(&net, &qparams)?, &xs), run(&observed.reference(&qparams)?, &xs));
        assert!(found.allclose(&wanted, 1e-6, 1e-6, false), "{found}{wanted}");
        assert_ne!(found, run(&net, &xs), "it is rounded");

        let of = qparams.sites["xs"].clone();
        qparams.sites.insert("third".to_owned(), of);
        let refused = simulated(&net, &qparams).map(drop).expect_err("a name of nothing").to_string();
        assert!(refused.contains("third"), "{refused}");
        Ok(())
    }
}
