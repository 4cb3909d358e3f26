//! `Freeze`: what a model is frozen for.

use std::sync::Arc;

use tch::{Device, Kind};

use crate::qparams::{DynamicFormat, QParamsFile, WeightFormat};

/// Order of the axes in memory that convolutions work in.
///
/// Inputs and results keep the caller's order whatever is chosen here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MemoryFormat {
    /// Channels lie together, which the fused kernels of both CPU and CUDA want.
    #[default]
    ChannelsLast,
    /// The last axis lies together, as in a tensor fresh from `Tensor::zeros`. On the CPU there are no packed
    /// convolutions for it.
    Contiguous,
    /// What is fastest on the device for the dtype: `Contiguous` for f32 and f64 on CUDA, else `ChannelsLast`.
    Auto,
}

/// Which kernels a frozen model may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backend {
    /// The fastest that the device, the dtype and this libtorch have.
    #[default]
    Best,
    /// The same with every product as it is written: convolutions of 3×3 without Winograd's algorithm, whose rounding
    /// errors are somewhat larger, and matrix products without the CPU's tile registers, which multiply numbers of f32 in
    /// three parts (as exact, but for numbers below 2⁻¹⁰²). Attention of a model on codes of eight bits stays in f32.
    Direct,
    /// ATen's plain operators everywhere: slower, and what every other kernel is tested against.
    Composed,
}

/// Who the outputs of a recorded forward belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GraphOutputs {
    /// The caller: every call copies them out, which costs their size in memory traffic.
    #[default]
    Copied,
    /// The recording: they are handed out as they lie, and **the next call with inputs of the same shape overwrites
    /// them**, from whichever thread it comes. For one thread that is done with them, or has given all that reads them
    /// to the same stream, before it calls again.
    Shared,
}

/// What a model is frozen for; `Freeze::default()` keeps the model's own device, and of each weight the dtype.
///
/// ```
/// use fx_runtime::{Device, Freeze, Kind};
///
/// let options = Freeze::new().device(Device::Cpu).kind(Kind::BFloat16);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "switches, each set by the method of its name")]
pub struct Freeze {
    pub(crate) device: Option<Device>,
    pub(crate) kind: Option<Kind>,
    pub(crate) memory_format: MemoryFormat,
    pub(crate) backend: Backend,
    pub(crate) autotune: bool,
    pub(crate) exact_nan: bool,
    pub(crate) slice_batches: bool,
    pub(crate) cuda_graphs: bool,
    pub(crate) graph_outputs: GraphOutputs,
    pub(crate) graph_limit: usize,
    pub(crate) weights: Option<WeightFormat>,
    pub(crate) dynamic: Option<DynamicFormat>,
    pub(crate) qparams: Option<Arc<QParamsFile>>,
}

impl Default for Freeze {
    fn default() -> Self {
        Self {
            device: None,
            kind: None,
            memory_format: MemoryFormat::default(),
            backend: Backend::default(),
            autotune: false,
            exact_nan: false,
            slice_batches: true,
            cuda_graphs: false,
            graph_outputs: GraphOutputs::default(),
            graph_limit: 16,
            weights: None,
            dynamic: None,
            qparams: None,
        }
    }
}

impl Freeze {
    /// The same as `Freeze::default()`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the weights to `device`.
    #[must_use]
    pub fn device(self, device: Device) -> Self {
        Self { device: Some(device), ..self }
    }

    /// Casts floating-point weights to `kind`, a floating-point dtype.
    #[must_use]
    pub fn kind(self, kind: Kind) -> Self {
        Self { kind: Some(kind), ..self }
    }

    /// Sets the order of axes inside the model.
    #[must_use]
    pub fn memory_format(self, memory_format: MemoryFormat) -> Self {
        Self { memory_format, ..self }
    }

    /// Sets which kernels may be used.
    #[must_use]
    pub fn backend(self, backend: Backend) -> Self {
        Self { backend, ..self }
    }

    /// Lets NaN and infinities of the *inputs* go through the model as they do eagerly.
    ///
    /// Kernels of oneDNN, cuDNN and cuBLASLt that apply a relu or clamp turn NaN into a number, and Winograd's algorithm
    /// spreads what is not finite over a tile. With this they are not used: an activation that would hide NaN is an operator
    /// of its own. A model with a weight that is not finite is frozen so in any case.
    #[must_use]
    pub fn exact_nan(self, exact_nan: bool) -> Self {
        Self { exact_nan, ..self }
    }

    /// Lets each layer measure which of its kernels is the fastest, in its first call with anything to compute, by
    /// `warm_up` of the frozen type or otherwise.
    ///
    /// Candidates are what the device has for the layer: MKL, packed for the number of rows that come, oneDNN and ATen
    /// for linear layers; oneDNN, Winograd's algorithm, MKL where windows are of one pixel, and ATen for convolutions;
    /// on CUDA the fused kernels and the composed ones. Each is called up to twelve times (on CUDA eight times as
    /// often, since the device is asked for the time of eight calls at once), in turns with the others, and another
    /// than the default wins if it is 3 % faster. So the first call takes as long as some dozens of others, and
    /// meanwhile a layer's weight lies in memory once for each candidate; afterwards the winner's alone stays. A
    /// convolution by Winograd's algorithm keeps 25 numbers for 9 of the weight: without autotuning that is done to
    /// small weights alone.
    ///
    /// What wins on one shape of inputs serves all. Measured times differ from run to run, and so may what wins, and
    /// with it the last digits of results; without autotuning the choice is always the same. `save` writes the choices
    /// down and `load` takes them where the machine has the kernel, so that a model is measured once. `warm_up` reports
    /// what changed, and the `Debug` form of the frozen model shows all.
    #[must_use]
    pub fn autotune(self, autotune: bool) -> Self {
        Self { autotune, ..self }
    }

    /// Sets whether large batches of images go through the model in pieces, on the CPU, where the build has found that
    /// samples do not meet; they do unless this is `false`.
    ///
    /// Activations of a piece stay in the caches and take little memory, whatever the size of the batch. A piece is of
    /// two images for each thread, or of more if images are small.
    #[must_use]
    pub fn slice_batches(self, slice_batches: bool) -> Self {
        Self { slice_batches, ..self }
    }

    /// Computes on codes of eight bits where these parameters are: those that [`Prepared::convert`] of this model yields.
    ///
    /// It is the graph that [`quantize`](crate::quant::quantize) makes of the model, frozen for the CPU and shared between
    /// threads; what has no kernel on codes is computed in f32. On a GPU, which has no such kernels, values and weights are
    /// rounded alike and computed with as floats: the numbers of the quantized model, slower than without this; what is saved
    /// there is loaded to the CPU alone. `save` writes the codes. Parameters of another graph are refused, and a model whose
    /// inputs and results are more than tensors, numbers and tuples of them.
    ///
    /// [`Prepared::convert`]: crate::quant::Prepared::convert
    #[must_use]
    pub fn quantize(self, qparams: &QParamsFile) -> Self {
        Self { qparams: Some(Arc::new(qparams.clone())), ..self }
    }

    /// Keeps the weights of linear layers and of products with a matrix of the model, and in f32 the tables of embeddings, as
    /// integers of eight or four bits, or as floats of 8 or 16; activations stay as they are.
    ///
    /// On the CPU in f32, and on CUDA of integers, a layer then takes few rows in the time that it takes to read its weight, a
    /// half, a quarter or about an eighth of what it was; for more rows, and elsewhere, the weight is brought into floats in
    /// each call. Weights of fewer than 65,536 numbers stay as they are, and those whose inputs do not fall into groups of
    /// four bits. `save` writes them so. What is lost, [`quantize_weights`](crate::quant::quantize_weights) shows on a graph.
    #[must_use]
    pub fn quantize_weights(self, format: WeightFormat) -> Self {
        Self { weights: Some(format), ..self }
    }

    /// Multiplies in eight bits in linear layers and in products with a matrix of the model: of the weight, and of each row
    /// that comes in, with a scale of its own at each call.
    ///
    /// Integers are multiplied on the CPU in f32 (oneDNN; fast where the CPU has VNNI) and on CUDA, floats of eight bits on CUDA
    /// from compute capability 8.9 on; elsewhere the same numbers are computed by operators on floats, slower than without
    /// this. Weights of fewer than 65,536 numbers (on CUDA 4,194,304) stay as they are, and those of which a side is no multiple
    /// of 16. `save` writes the weights in eight bits. Together with [`Self::quantize_weights`] it is the latter that embeddings follow.
    ///
    /// ```
    /// use fx_runtime::{Freeze, Kind, quant::DynamicFormat};
    ///
    /// let options = Freeze::new().kind(Kind::BFloat16).quantize_dynamic(DynamicFormat::Float8);
    /// ```
    #[must_use]
    pub fn quantize_dynamic(self, format: DynamicFormat) -> Self {
        Self { dynamic: Some(format), ..self }
    }

    /// Records a forward as a CUDA graph for each shape of inputs, at its first call or by `warm_up` of the frozen type.
    ///
    /// A graph starts all kernels of a forward at once, which is what a small model's time goes into. What cannot be
    /// recorded runs as it is; the report that `warm_up` returns names it. On the CPU this changes nothing.
    #[must_use]
    pub fn cuda_graphs(self, cuda_graphs: bool) -> Self {
        Self { cuda_graphs, ..self }
    }

    /// Sets who the outputs of a recorded forward belong to.
    #[must_use]
    pub fn cuda_graph_outputs(self, graph_outputs: GraphOutputs) -> Self {
        Self { graph_outputs, ..self }
    }

    /// Sets for how many shapes of inputs a graph is kept, 16 unless set; the one that was not used for longest goes
    /// first. Every graph holds the inputs and outputs of its shape.
    #[must_use]
    pub fn cuda_graph_limit(self, graph_limit: usize) -> Self {
        Self { graph_limit, ..self }
    }
}

impl MemoryFormat {
    /// `Auto` decided for a device and dtype.
    pub(crate) fn resolve(self, device: Device, kind: Kind) -> Self {
        match (self, device, kind) {
            (Self::Auto, Device::Cuda(_), Kind::Float | Kind::Double) => Self::Contiguous,
            (Self::Auto, _, _) => Self::ChannelsLast,
            (chosen, _, _) => chosen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_keep_the_model_as_it_is() {
        let options = Freeze::default();
        assert_eq!((options.device, options.kind), (None, None));
        assert_eq!(options.memory_format, MemoryFormat::ChannelsLast);
        assert_eq!(options, Freeze::new());
    }

    #[test]
    fn auto_is_decided_by_device_and_dtype() {
        let auto = MemoryFormat::Auto;
        assert_eq!(auto.resolve(Device::Cpu, Kind::Float), MemoryFormat::ChannelsLast);
        assert_eq!(auto.resolve(Device::Cuda(0), Kind::Float), MemoryFormat::Contiguous);
        assert_eq!(auto.resolve(Device::Cuda(0), Kind::Half), MemoryFormat::ChannelsLast);
        assert_eq!(MemoryFormat::Contiguous.resolve(Device::Cpu, Kind::Half), MemoryFormat::Contiguous);
    }
}
