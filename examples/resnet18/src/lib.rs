//! torchvision's ResNet-18 as a user of fx writes it: annotate, build, freeze.
//!
//! [`model`] is all that fx asks for; every other file answers one question about it. Which weights
//! ([`weights`]), what PyTorch says ([`reference`](mod@reference)), how a picture becomes a tensor ([`image`]) and a
//! tensor a class ([`classes`]), how fast ([`timing`]), and how it is told ([`report`]).

pub mod classes;
pub mod image;
pub mod model;
pub mod reference;
pub mod report;
pub mod timing;
pub mod torchvision;
pub mod weights;

pub use model::ResNet18;

/// What the build script made of [`BasicBlock`](model::BasicBlock).
pub const GENERATED_BLOCK: &str = include_str!(concat!(env!("OUT_DIR"), "/fx/BasicBlock.rs"));

/// What the build script made of [`ResNet18`].
pub const GENERATED: &str = include_str!(concat!(env!("OUT_DIR"), "/fx/ResNet18.rs"));

/// An error that is only ever shown to a person.
pub type Error = Box<dyn std::error::Error>;
