//! The models by name. Another model is another line of [`MODELS`].
//!
//! All are filled with the weights of [`resnet18::weights`], which PyTorch can rebuild, so that contenders of any
//! language can be held against each other.

use std::path::Path;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use fx_runtime::graph_module::{GraphModule, Value, value};
use fx_runtime::quant::{DynamicFormat, QConfig, QConfigMapping, QEngine, QParamsFile, WeightFormat};
use fx_runtime::quant::{prepare, quantize, quantize_dynamic};
use fx_runtime::{Backend, Device, Error, Freeze, GraphOutputs, Kind, MemoryFormat, Module, Tensor, Traceable, nn};
use resnet18::{ResNet18, weights};
use zoo::{BertModel, Gpt2, MobileNetV2, ResNet50, VitB16};

/// A forward that is ready to be called.
pub type Forward = Box<dyn Fn(&Tensor) -> Result<Tensor, Error>>;

/// A model of any type: what its user can do with it.
pub trait Net: Module {
    /// The model's own forward, without gradients.
    fn eager(self: Box<Self>) -> Forward;

    /// The generated forward.
    fn frozen(&self, options: &Freeze) -> Result<Forward, Error>;

    /// Writes the frozen model to a file.
    fn save(&self, options: &Freeze, path: &Path) -> Result<(), Error>;

    /// The graph of the live model.
    fn graph(&self) -> Result<GraphModule, Error>;
}

/// A model and how it is set up.
#[derive(Debug, Clone, Copy)]
pub struct Model {
    /// Its name; for a vision model the one in `torchvision.models`.
    pub name: &'static str,
    /// What it is fed.
    pub input: Input,
    new: fn(&nn::Path) -> Box<dyn Net>,
    read: fn(&Path) -> Result<Forward, Error>,
}

/// What a model is fed.
#[derive(Debug, Clone, Copy)]
pub enum Input {
    /// Square images with this many pixels a side.
    Image(i64),
    /// Texts of 128 tokens, of a vocabulary of this many.
    Tokens(i64),
}

/// Number of tokens in a text.
const LENGTH: i64 = 128;

/// Which of a model's forwards runs, and as what the generated one was frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// The model's own.
    Eager,
    /// The generated one.
    Frozen,
    /// The generated one, in whose first call every layer measures its kernels.
    Tuned,
    /// The generated one, recorded as a CUDA graph.
    Graphs,
    /// The same with all that makes it faster: measured kernels, and outputs that the next call overwrites.
    Best,
    /// The generated one, with ATen's plain operators in the place of packed kernels.
    Composed,
    /// The generated one, with products as they are written: without Winograd's algorithm, and without tile registers.
    Direct,
    /// The generated one, with axes in the default order.
    Contiguous,
    /// The generated one, in which large batches go through as a whole.
    Whole,
    /// The graph of the live model, frozen at run time.
    FrozenGraph,
    /// The graph of the live model, interpreted node by node, without gradients.
    Interpreted,
}

/// How a model is quantized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantized {
    /// Values and weights, by parameters learned on [`CALIBRATION`] batches of the input's shape.
    Static,
    /// Linear layers, by parameters of each call's input.
    Dynamic,
}

/// Fewer bits than the dtype's, without calibration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Bits {
    /// Weights of 8 bits
    WeightsInt8,
    /// Weights of 4 bits, in groups of 128
    WeightsInt4,
    /// Products of integers of 8 bits
    DynamicInt8,
    /// Products of floats of 8 bits
    DynamicFloat8,
}

impl Bits {
    fn applied(bits: Option<Self>, options: Freeze) -> Freeze {
        match bits {
            None => options,
            Some(Bits::WeightsInt8) => options.quantize_weights(WeightFormat::Int8),
            Some(Bits::WeightsInt4) => options.quantize_weights(WeightFormat::Int4 { group: 128 }),
            Some(Bits::DynamicInt8) => options.quantize_dynamic(DynamicFormat::Int8),
            Some(Bits::DynamicFloat8) => options.quantize_dynamic(DynamicFormat::Float8),
        }
    }
}

/// How many batches a model is calibrated on; the i-th is the input under the name `calib{i}`.
pub const CALIBRATION: usize = 8;

impl Variant {
    /// Every variant and its name.
    pub const ALL: [(&str, Variant); 11] = [
        ("frozen", Variant::Frozen),
        ("tuned", Variant::Tuned),
        ("eager", Variant::Eager),
        ("graphs", Variant::Graphs),
        ("best", Variant::Best),
        ("composed", Variant::Composed),
        ("direct", Variant::Direct),
        ("contiguous", Variant::Contiguous),
        ("whole", Variant::Whole),
        ("frozen_graph", Variant::FrozenGraph),
        ("interpreted", Variant::Interpreted),
    ];

    /// What the generated forward is frozen with; none for the model's own.
    fn options(self) -> Option<Freeze> {
        match self {
            Variant::Eager | Variant::Interpreted => None,
            Variant::Frozen | Variant::FrozenGraph => Some(Freeze::new()),
            Variant::Whole => Some(Freeze::new().slice_batches(false)),
            Variant::Tuned => Some(Freeze::new().autotune(true)),
            Variant::Graphs => Some(Freeze::new().cuda_graphs(true)),
            Variant::Best => {
                Some(Freeze::new().autotune(true).cuda_graphs(true).cuda_graph_outputs(GraphOutputs::Shared))
            }
            Variant::Composed => Some(Freeze::new().backend(Backend::Composed)),
            Variant::Direct => Some(Freeze::new().backend(Backend::Direct)),
            Variant::Contiguous => Some(Freeze::new().memory_format(MemoryFormat::Contiguous)),
        }
    }
}

macro_rules! models {
    ($($name:literal: $net:ty, $input:expr, $new:expr, |$xs:ident| $forward:ident / $try_forward:ident($($arg:expr),*)$(.$part:tt)?;)*) => {
        /// The models that can be timed.
        #[allow(clippy::needless_question_mark, reason = "some rows take a part of the result")]
        pub const MODELS: &[Model] = &[$(Model {
            name: $name,
            input: $input,
            new: |p| Box::new($new(p)),
            read: |path| {
                type Frozen = <$net as Traceable>::Frozen;
                let frozen = Frozen::load(path, &Freeze::new())?;
                Ok(Box::new(move |$xs| Ok(frozen.$try_forward($($arg),*)?$(.$part)?)))
            },
        }),*];

        $(impl Net for $net {
            fn eager(self: Box<Self>) -> Forward {
                Box::new(move |$xs| Ok(tch::no_grad(|| self.$forward($($arg),*)$(.$part)?)))
            }

            #[allow(clippy::needless_question_mark, reason = "some rows take a part of the result")]
            fn frozen(&self, options: &Freeze) -> Result<Forward, Error> {
                let frozen = self.freeze(options)?;
                Ok(Box::new(move |$xs| Ok(frozen.$try_forward($($arg),*)?$(.$part)?)))
            }

            fn save(&self, options: &Freeze, path: &Path) -> Result<(), Error> {
                self.freeze(options)?.save(path)
            }

            fn graph(&self) -> Result<GraphModule, Error> {
                self.graph_module()
            }
        })*
    };
}

// How a model is called, and which part of its result counts.
models! {
    "resnet18": ResNet18, Input::Image(224), |p| ResNet18::new(p, 1000), |xs| forward / try_forward(xs);
    "resnet50": ResNet50, Input::Image(224), |p| ResNet50::new(p, 1000), |xs| forward_t / try_forward_t(xs, false);
    "mobilenet_v2": MobileNetV2, Input::Image(224), |p| MobileNetV2::new(p, 1000), |xs| forward_t / try_forward_t(xs, false);
    "vit_b_16": VitB16, Input::Image(224), |p| VitB16::new(p, 1000), |xs| forward_t / try_forward_t(xs, false);
    "bert_base": BertModel, Input::Tokens(BertModel::VOCABULARY), BertModel::new,
        |ids| forward_t / try_forward_t(ids, None, None, false).0;
    "gpt2": Gpt2, Input::Tokens(Gpt2::VOCABULARY), Gpt2::new, |ids| forward_t / try_forward_t(ids, false);
}

impl Model {
    /// The model of that name; the error lists the names there are.
    pub fn named(name: &str) -> Result<Self, String> {
        let names = || MODELS.iter().map(|model| model.name).collect::<Vec<_>>().join(", ");
        let found = MODELS.iter().find(|model| model.name == name);
        found.copied().ok_or_else(|| format!("unknown model `{name}`; there are: {}", names()))
    }

    /// The models of these names; all but GPT-2 where none is named.
    pub fn chosen(named: &[Model]) -> impl Iterator<Item = &'static Model> {
        MODELS.iter().filter(move |model| match named {
            [] => model.name != "gpt2",
            named => named.iter().any(|one| one.name == model.name),
        })
    }

    /// The model in `f32` with the weights that its names stand for, and the variables that hold them.
    pub fn load(&self, device: Device) -> (nn::VarStore, Box<dyn Net>) {
        let vs = nn::VarStore::new(device);
        let net = (self.new)(&vs.root());
        weights::fill(&*net);
        (vs, net)
    }

    /// One of the model's forwards in the dtype `kind`, frozen with fewer bits if so, and how long it took to freeze it
    /// (nothing for eager).
    pub fn forward(
        &self,
        variant: Variant,
        device: Device,
        kind: Kind,
        bits: Option<Bits>,
    ) -> Result<(Forward, Duration), Error> {
        let (mut vs, net) = self.load(device);
        let Some(options) = variant.options().map(|options| Bits::applied(bits, options.kind(kind))) else {
            vs.set_kind(kind);
            let graph = (variant == Variant::Interpreted).then(|| net.graph()).transpose()?;
            return Ok((graph.map_or_else(|| net.eager(), interpreted), Duration::ZERO));
        };
        let start = Instant::now();
        let forward = match variant {
            Variant::FrozenGraph => frozen_graph(&net.graph()?, &options)?,
            _ => net.frozen(&options)?,
        };
        Ok((forward, start.elapsed()))
    }
}

impl Model {
    /// The model's graph on kernels of eight bits, calibrated on batches of this size if it has to be, and how long
    /// calibration and freezing took.
    pub fn quantized(&self, quantized: Quantized, batch: i64) -> Result<(Forward, Duration), Error> {
        let (_vs, net) = self.load(Device::Cpu);
        let graph = net.graph()?;
        let start = Instant::now();
        let int8 = match quantized {
            Quantized::Static => quantize(&graph, &self.calibrated(&graph, batch)?)?,
            Quantized::Dynamic => {
                quantize_dynamic(&graph, &QConfigMapping::new().object_type("Linear", QConfig::dynamic()))?
            }
        };
        Ok((frozen_graph(&int8, &Freeze::new())?, start.elapsed()))
    }

    /// Writes the frozen model to a file; with weights of eight bits and on codes of eight bits if `quantized`, calibrated on
    /// batches of one.
    pub fn save(&self, quantized: bool, path: &Path) -> Result<(), Error> {
        let (_vs, net) = self.load(Device::Cpu);
        let mut options = Freeze::new();
        if quantized {
            options = options.quantize(&self.calibrated(&net.graph()?, 1)?).quantize_weights(WeightFormat::Int8);
        }
        net.save(&options, path)
    }

    /// The forward of a model that [`Model::save`] has written.
    pub fn read(&self, path: &Path) -> Result<Forward, Error> {
        (self.read)(path)
    }

    /// What the codes of the model's values stand for.
    fn calibrated(&self, graph: &GraphModule, batch: i64) -> Result<QParamsFile, Error> {
        let engine = QEngine::default();
        let mut observed = prepare(graph, &QConfigMapping::for_engine(engine), engine)?;
        let absent = absent_inputs(graph);
        for number in 0..CALIBRATION {
            observed.forward(&inputs(&self.input.named(&format!("calib{number}"), batch), absent))?;
        }
        observed.convert()
    }
}

/// The graph, interpreted.
fn interpreted(graph: GraphModule) -> Forward {
    let absent = absent_inputs(&graph);
    Box::new(move |xs| tch::no_grad(|| graph.run(&inputs(xs, absent))).map(first_tensor))
}

/// The graph, frozen.
fn frozen_graph(graph: &GraphModule, options: &Freeze) -> Result<Forward, Error> {
    let (absent, frozen) = (absent_inputs(graph), graph.freeze(options)?);
    Ok(Box::new(move |xs| frozen.run(&inputs(xs, absent)).map(first_tensor)))
}

/// How many inputs a graph has behind its first, all of which may be absent.
pub fn absent_inputs(graph: &GraphModule) -> usize {
    graph.graph().region(graph.graph().body()).params.len() - 1
}

/// The values of a call: the first input, and the others absent.
pub fn inputs(xs: &Tensor, absent: usize) -> Vec<Value> {
    std::iter::once(value(xs)).chain((0..absent).map(|_| value(None::<&Tensor>))).collect()
}

/// What counts of a result: the tensor, or the first of several.
pub fn first_tensor(value: Value) -> Tensor {
    match value {
        Value::Tensor(tensor) => tensor.shallow_clone(),
        Value::Tuple(parts) => parts.into_iter().next().map_or_else(Tensor::new, first_tensor),
        _ => Tensor::new(),
    }
}

impl Input {
    /// A batch of another name, on the CPU.
    pub fn named(self, name: &str, batch: i64) -> Tensor {
        match self {
            Input::Image(side) => weights::pictures(name, batch, side),
            Input::Tokens(vocabulary) => weights::texts(name, batch, LENGTH, vocabulary),
        }
    }

    /// A batch of what the model is fed: `[batch, 3, side, side]` for images, `i64[batch, 128]` for tokens.
    pub fn batch(self, batch: i64, device: Device, kind: Kind) -> Tensor {
        match self {
            Input::Image(side) => weights::input(batch, side).to_kind(kind).to_device(device),
            Input::Tokens(vocabulary) => weights::tokens(batch, LENGTH, vocabulary).to_device(device),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_lists_the_known() {
        assert!(Model::named("resnet18").is_ok());
        let error = Model::named("resnet17").err();
        let known = "resnet18, resnet50, mobilenet_v2, vit_b_16, bert_base, gpt2";
        assert_eq!(error, Some(format!("unknown model `resnet17`; there are: {known}")));
    }

    #[test]
    fn all_forwards_agree() -> Result<(), Error> {
        for model in MODELS {
            let xs = model.input.batch(1, Device::Cpu, Kind::Float);
            let run = |variant| model.forward(variant, Device::Cpu, Kind::Float, None)?.0(&xs);
            let eager = run(Variant::Eager)?;
            for variant in [Variant::Frozen, Variant::FrozenGraph, Variant::Interpreted] {
                let largest = (&eager - &run(variant)?).abs().max().double_value(&[]);
                let bound = 2e-5 * eager.abs().max().double_value(&[]);
                assert!(largest <= bound, "{}, {variant:?}: {largest:e}", model.name);
            }
        }
        Ok(())
    }
}
