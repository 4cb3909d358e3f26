//! Reads, compares and writes the traces that PyTorch's profiler (Kineto) and fx write.

pub mod breakdown;
pub mod chart;
pub mod compare;
mod correlation;
pub mod diff;
pub mod error;
pub mod event;
pub mod hta;
mod iteration;
mod nesting;
mod ops_diff;
mod read;
pub mod report;
mod short_name;
pub mod symbols;
pub mod trace;
mod units;
mod write;

pub use compare::{DeviceType, LabeledTrace, Options, Selection};
pub use diff::{Comparison, compare_traces};
pub use error::{Error, Result};
pub use event::{Device, Event};
pub use iteration::Iteration;
pub use ops_diff::OpsDiff;
pub use short_name::shorten_name;
pub use trace::{Trace, TraceSet};
pub use write::{NewEvent, TraceWriter};
