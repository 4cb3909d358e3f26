//! Reads, compares and writes the traces that PyTorch's profiler (Kineto) and fx write, without libtorch.
//!
//! ```no_run
//! use fx_trace::{LabeledTrace, Options, compare_traces};
//!
//! # fn main() -> fx_trace::Result<()> {
//! let eager = LabeledTrace::open("eager", "eager.json.gz")?;
//! let frozen = LabeledTrace::open("frozen", "frozen.json.gz")?;
//! let comparison = compare_traces(&eager, &frozen, &Options::default())?;
//! for name in comparison.ops_diff().deleted {
//!     println!("no longer runs: {name}");
//! }
//! for row in comparison.rows.iter().filter(|row| row.is_significant() == Some(true)) {
//!     println!("{}: {} ns less an iteration", row.name, -row.diff_exclusive());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`Trace::read`] reads a file event by event, so that a trace of a gigabyte costs a hundred bytes an event. What an event
//! is, is [`Event`]; how events hang together, the methods of [`Trace`] say: launches, iterations, exclusive times, the
//! breakdown of kernels. [`compare_traces`] compares two traces; [`hta`] does it as Holistic Trace Analysis does, bit for
//! bit; [`chart`] and [`report`] show what came out. [`TraceWriter`] writes traces that viewers and HTA open, and
//! [`Recorder`] gathers one while a program runs.

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
pub mod node;
mod ops_diff;
mod read;
mod record;
pub mod report;
mod short_name;
pub mod symbols;
pub mod trace;
mod trace_set;
mod units;
mod write;

pub use compare::{DeviceType, LabeledTrace, Options, Selection};
pub use diff::{Comparison, compare_traces};
pub use error::{Error, Result};
pub use event::{Device, Event};
pub use iteration::Iteration;
pub use node::NodeInfo;
pub use ops_diff::OpsDiff;
pub use record::Recorder;
pub use short_name::shorten_name;
pub use trace::Trace;
pub use trace_set::TraceSet;
pub use write::{NewEvent, TraceWriter};
