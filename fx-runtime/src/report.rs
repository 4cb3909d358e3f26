//! What a warm-up and measuring have done for a frozen model, to be shown or read.

use std::fmt;
use std::time::Duration;

/// What a warm-up comes to: what is recorded and what is not, and which layers have another kernel than the default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GraphReport {
    /// The inputs that forwards were recorded for.
    pub recorded: Vec<String>,
    /// The inputs for which it was tried in vain, and what was in the way.
    pub refused: Vec<(String, String)>,
    /// Why nothing is ever recorded, where that is so.
    pub off: Option<String>,
    /// The layers for which [`Freeze::autotune`](crate::Freeze::autotune) has found a faster kernel.
    pub tuned: Vec<Tuned>,
}

impl GraphReport {
    /// The report of a model whose forward is not recorded, whatever is asked for.
    pub fn never(reason: &str) -> Self {
        Self { off: Some(reason.to_owned()), ..Self::default() }
    }
}

impl fmt::Display for GraphReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.off {
            Some(reason) => write!(f, "no CUDA graphs: {reason}")?,
            None => write!(f, "{} CUDA graphs", self.recorded.len())?,
        }
        self.recorded.iter().try_for_each(|inputs| write!(f, "\n  {inputs}"))?;
        self.refused.iter().try_for_each(|(inputs, reason)| write!(f, "\n  not for {inputs}: {reason}"))?;
        if !self.tuned.is_empty() {
            write!(f, "\n{} layers with another kernel than the default", self.tuned.len())?;
        }
        self.tuned.iter().try_for_each(|layer| write!(f, "\n  {layer}"))
    }
}

/// A layer for which measuring has found a faster kernel than the one it begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tuned {
    /// The layer's field in the frozen model, `blocks.0.conv1`.
    pub layer: String,
    /// The kernel that it has now.
    pub kernel: String,
    /// Time of a call with it, the shortest of those measured.
    pub took: Duration,
    /// The kernel that it would have without measuring.
    pub default: String,
    /// Time of a call with that.
    pub default_took: Duration,
}

impl fmt::Display for Tuned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { layer, kernel, took, default, default_took } = self;
        write!(f, "{layer}: {kernel} ({took:.1?}) instead of {default} ({default_took:.1?})")
    }
}
