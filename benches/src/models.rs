//! The models by name. Another model is another line of [`MODELS`].
//!
//! All are filled with the weights of [`resnet18::weights`], which PyTorch can rebuild, so that contenders of any
//! language can be held against each other.

use std::time::{Duration, Instant};

use fx_runtime::{Backend, Device, Error, Freeze, Kind, MemoryFormat, Module, Tensor, nn};
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
}

/// A model and how it is set up.
#[derive(Debug, Clone, Copy)]
pub struct Model {
    /// Its name; for a vision model the one in `torchvision.models`.
    pub name: &'static str,
    /// What it is fed.
    pub input: Input,
    new: fn(&nn::Path) -> Box<dyn Net>,
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

/// Which of a model's two forwards runs, and as what the generated one was frozen.
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
    /// The generated one, with ATen's plain operators in the place of packed kernels.
    Composed,
    /// The generated one, with products as they are written: without Winograd's algorithm, and without tile registers.
    Direct,
    /// The generated one, with axes in the default order.
    Contiguous,
    /// The generated one, in which large batches go through as a whole.
    Whole,
}

impl Variant {
    /// Every variant and its name.
    pub const ALL: [(&str, Variant); 8] = [
        ("frozen", Variant::Frozen),
        ("tuned", Variant::Tuned),
        ("eager", Variant::Eager),
        ("graphs", Variant::Graphs),
        ("composed", Variant::Composed),
        ("direct", Variant::Direct),
        ("contiguous", Variant::Contiguous),
        ("whole", Variant::Whole),
    ];

    /// What the generated forward is frozen with; none for the model's own.
    fn options(self) -> Option<Freeze> {
        match self {
            Variant::Eager => None,
            Variant::Frozen => Some(Freeze::new()),
            Variant::Whole => Some(Freeze::new().slice_batches(false)),
            Variant::Tuned => Some(Freeze::new().autotune(true)),
            Variant::Graphs => Some(Freeze::new().cuda_graphs(true)),
            Variant::Composed => Some(Freeze::new().backend(Backend::Composed)),
            Variant::Direct => Some(Freeze::new().backend(Backend::Direct)),
            Variant::Contiguous => Some(Freeze::new().memory_format(MemoryFormat::Contiguous)),
        }
    }
}

macro_rules! models {
    ($($name:literal: $net:ty, $input:expr, $new:expr, |$xs:ident| $forward:ident / $try_forward:ident($($arg:expr),*)$(.$part:tt)?;)*) => {
        /// The models that can be timed.
        pub const MODELS: &[Model] = &[$(Model { name: $name, input: $input, new: |p| Box::new($new(p)) }),*];

        $(impl Net for $net {
            fn eager(self: Box<Self>) -> Forward {
                Box::new(move |$xs| Ok(tch::no_grad(|| self.$forward($($arg),*)$(.$part)?)))
            }

            #[allow(clippy::needless_question_mark, reason = "some rows take a part of the result")]
            fn frozen(&self, options: &Freeze) -> Result<Forward, Error> {
                let frozen = self.freeze(options)?;
                Ok(Box::new(move |$xs| Ok(frozen.$try_forward($($arg),*)?$(.$part)?)))
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

    /// The model in `f32` with the weights that its names stand for, and the variables that hold them.
    pub fn load(&self, device: Device) -> (nn::VarStore, Box<dyn Net>) {
        let vs = nn::VarStore::new(device);
        let net = (self.new)(&vs.root());
        weights::fill(&*net);
        (vs, net)
    }

    /// One of the model's forwards in the dtype `kind`, and how long it took to freeze it (nothing for eager).
    pub fn forward(&self, variant: Variant, device: Device, kind: Kind) -> Result<(Forward, Duration), Error> {
        let (mut vs, net) = self.load(device);
        let Some(options) = variant.options() else {
            vs.set_kind(kind);
            return Ok((net.eager(), Duration::ZERO));
        };
        let start = Instant::now();
        let forward = net.frozen(&options.kind(kind))?;
        Ok((forward, start.elapsed()))
    }
}

impl Input {
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
    fn both_forwards_agree() -> Result<(), Error> {
        for model in MODELS {
            let xs = model.input.batch(1, Device::Cpu, Kind::Float);
            let run = |variant| model.forward(variant, Device::Cpu, Kind::Float)?.0(&xs);
            let (eager, frozen) = (run(Variant::Eager)?, run(Variant::Frozen)?);
            let largest = (&eager - &frozen).abs().max().double_value(&[]);
            assert!(largest <= 2e-5 * eager.abs().max().double_value(&[]), "{}: {largest:e}", model.name);
        }
        Ok(())
    }
}
