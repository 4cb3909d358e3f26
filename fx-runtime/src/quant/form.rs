//! What a generated frozen type computes with, and quantization as methods of the model.

use std::fmt;

use tch::{Device, Kind};

use super::simulated::simulated;
use super::{Prepared, PreparedQat, QConfigMapping, QEngine, prepare, prepare_qat, quantize};
use crate::frame::Frame;
use crate::graph_module::SharedGraph;
use crate::saved::{Loader, Saver, State};
use crate::{Error, Freeze, GraphModule, Result};

/// A model whose graph can be quantized: every traceable type with an instance graph.
///
/// ```text
/// use fx_runtime::quant::{QConfigMapping, QEngine, Quantizable as _};
///
/// let mut observed = net.prepare(&QConfigMapping::for_engine(QEngine::Fx))?;
/// for xs in &batches { observed.forward(xs)?; }
/// let qparams = observed.convert()?;
/// let frozen = net.freeze(&Freeze::new().quantize(&qparams))?;
/// ```
pub trait Quantizable {
    /// The graph that is quantized: the instance graph.
    ///
    /// # Errors
    ///
    /// Those of `graph_module`.
    fn quantizable_graph(&self) -> Result<GraphModule>;

    /// Puts observers for the kernels of [`QEngine::Fx`] into the graph; see [`prepare`].
    ///
    /// # Errors
    ///
    /// Those of [`prepare`].
    fn prepare(&self, mapping: &QConfigMapping) -> Result<Prepared> {
        prepare(&self.quantizable_graph()?, mapping, QEngine::Fx)
    }

    /// The graph in training, with fake quantization for the kernels of [`QEngine::Fx`], on the parameters of this model;
    /// see [`prepare_qat`].
    ///
    /// # Errors
    ///
    /// Those of [`prepare_qat`].
    fn prepare_qat(&self, mapping: &QConfigMapping) -> Result<PreparedQat> {
        prepare_qat(&self.quantizable_graph()?, mapping, QEngine::Fx)
    }
}

/// What a frozen type computes with: the kernels that its generated code calls, or the graph on codes of eight bits.
#[doc(hidden)]
pub enum Form<K> {
    /// In floats.
    Packed(K),
    /// On codes.
    Quantized(SharedGraph),
}

impl<K> Form<K> {
    /// The graph on codes, if the options have parameters for it; on a GPU the same numbers on floats.
    ///
    /// # Errors
    ///
    /// [`Error::Quantization`] if they are another graph's; [`Error::Unsupported`] on the CPU in another dtype than f32, and
    /// where the graph has a part that threads cannot share.
    pub fn quantized(frame: &Frame, options: &Freeze, model: &dyn Quantizable) -> Result<Option<Self>> {
        Ok(on_codes(frame, options, model)?.map(Self::Quantized))
    }
}

/// The graph on codes, if the options have parameters for it.
fn on_codes(frame: &Frame, options: &Freeze, model: &dyn Quantizable) -> Result<Option<SharedGraph>> {
    let Some(qparams) = &options.qparams else { return Ok(None) };
    let float = Freeze { qparams: None, ..options.clone() };
    let rounded = if frame.device() == Device::Cpu {
        check_frame(frame)?;
        quantize(&model.quantizable_graph()?, qparams)?
    } else {
        simulated(&model.quantizable_graph()?, qparams)?
    };
    Ok(Some(rounded.freeze(&float)?.shared()?))
}

fn check_frame(frame: &Frame) -> Result<()> {
    if frame.device() == Device::Cpu && frame.kind() == Kind::Float {
        return Ok(());
    }
    Err(Error::Unsupported {
        what: format!("`{}` on codes of eight bits in {:?} on {:?}", frame.model(), frame.kind(), frame.device()),
        help: "freeze it in f32 on the CPU, where the kernels on codes are".to_owned(),
    })
}

/// Refuses options with quantization parameters for a frozen type that has no form on codes.
///
/// # Errors
///
/// [`Error::Unsupported`] with the reason.
#[doc(hidden)]
pub fn unquantized(model: &str, options: &Freeze, reason: &str) -> Result<()> {
    if options.qparams.is_none() {
        return Ok(());
    }
    Err(Error::Unsupported {
        what: format!("`{model}` frozen on codes of eight bits, since {reason}"),
        help: "quantize its graph: `quantize(&net.graph_module()?, &qparams)?.freeze(..)`".to_owned(),
    })
}

/// A form in floats is saved as its kernels alone.
impl<K: State> State for Form<K> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        match self {
            Self::Packed(kernels) => kernels.save(to),
            Self::Quantized(graph) => {
                to.choose("quantized");
                graph.save(to)
            }
        }
    }

    fn load(from: &mut Loader) -> Result<Self> {
        if !from.has_choice() {
            return K::load(from).map(Self::Packed);
        }
        if from.choice()? != "quantized" {
            return from.unknown_choice();
        }
        check_frame(from.frame())?;
        SharedGraph::load(from).map(Self::Quantized)
    }
}

impl<K: fmt::Debug> fmt::Debug for Form<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packed(kernels) => kernels.fmt(f),
            Self::Quantized(graph) => graph.fmt(f),
        }
    }
}
