//! Well-known models as a user of fx writes them, each equal to PyTorch's.
//!
//! A model is a file, written in the style of tch's own examples with PyTorch's tensor names; `derive(Module)` and
//! `#[traceable]` are all that fx asks for. [`reference`](mod@reference) holds what PyTorch computes.

pub mod bert_base;
pub mod gpt2;
pub mod mobilenet_v2;
pub mod reference;
pub mod resnet50;
pub mod tagger;
pub mod vit_b_16;

pub use bert_base::BertModel;
pub use gpt2::{CachedGpt2, Gpt2};
pub use mobilenet_v2::MobileNetV2;
pub use resnet50::ResNet50;
pub use tagger::Tagger;
pub use vit_b_16::VitB16;
