//! What a kernel demands of its input, checked before libtorch sees it.

use tch::{Device, Kind, Tensor};

use crate::Error;
use crate::ffi::Facts;

/// Demands of one kernel.
#[derive(Debug, Clone)]
pub(super) struct Accepts {
    /// The ranks that are right.
    ranks: std::ops::RangeInclusive<usize>,
    /// From the end for a linear layer, from the spatial axes for a convolution: how many axes follow the channels.
    axes_behind: usize,
    channels: i64,
    dtype: i32,
    device: (i32, i32),
    /// For messages.
    named: (Kind, Device),
}

impl Accepts {
    /// `weight` is the kernel's, on its device and in its dtype.
    pub(super) fn new(
        ranks: std::ops::RangeInclusive<usize>,
        axes_behind: usize,
        channels: i64,
        weight: &Tensor,
    ) -> Result<Self, Error> {
        let facts = Facts::of(weight).ok_or_else(unknown)?;
        let named = (weight.f_kind()?, weight.device());
        Ok(Self { ranks, axes_behind, channels, dtype: facts.dtype, device: facts.device, named })
    }

    /// Whether a tensor of these facts can be added to the kernel's result without a conversion.
    pub(super) fn same_type(&self, other: &Facts) -> bool {
        other.dtype == self.dtype && other.device == self.device
    }

    /// The input's facts if it is right.
    #[inline]
    pub(super) fn check(&self, input: &Tensor) -> Result<Facts, Error> {
        let Some(facts) = Facts::of(input) else { return Err(self.no_facts(input)) };
        let sizes = facts.sizes();
        let right = self.ranks.contains(&sizes.len())
            && sizes[sizes.len() - 1 - self.axes_behind] == self.channels
            && self.same_type(&facts);
        if right { Ok(facts) } else { Err(self.explain(input, &facts)) }
    }

    #[cold]
    fn explain(&self, input: &Tensor, facts: &Facts) -> Error {
        let (name, found) = ("input".to_owned(), facts.sizes().to_vec());
        if !self.ranks.contains(&found.len()) {
            return Error::Rank { name, expected: self.shown_ranks(), found };
        }
        let axis = found.len() - 1 - self.axes_behind;
        if found[axis] != self.channels {
            return Error::Channels { name, expected: self.channels, axis, found };
        }
        if facts.device != self.device {
            return Error::Device { name, expected: self.named.1, found: input.device() };
        }
        match input.f_kind() {
            Ok(found) => Error::Kind { name, expected: self.named.0, found },
            Err(error) => error.into(),
        }
    }

    #[cold]
    fn no_facts(&self, input: &Tensor) -> Error {
        if !input.defined() {
            return unknown();
        }
        if input.is_sparse() {
            let what = format!("a sparse input of shape {:?}", input.size());
            return Error::Unsupported { what, help: "make it dense with `.to_dense(..)`".to_owned() };
        }
        Error::Rank { name: "input".to_owned(), expected: self.shown_ranks(), found: input.size() }
    }

    fn shown_ranks(&self) -> Vec<usize> {
        // A linear layer takes almost any rank; three say enough.
        self.ranks.clone().take(3).collect()
    }
}

#[cold]
fn unknown() -> Error {
    Error::Unsupported {
        what: "a tensor that is undefined or without a shape".to_owned(),
        help: "give a dense tensor".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(input: &Tensor) -> String {
        let weight = Tensor::zeros([8, 3, 3, 3], (Kind::Float, Device::Cpu));
        Accepts::new(3..=4, 2, 3, &weight).unwrap().check(input).unwrap_err().to_string()
    }

    #[test]
    fn says_what_is_wrong() {
        let zeros = |sizes: &[i64], kind| Tensor::zeros(sizes, (kind, Device::Cpu));
        assert!(refusal(&zeros(&[3, 8], Kind::Float)).contains("2 dimensions, shape [3, 8], where 3 or 4"));
        assert!(refusal(&zeros(&[1, 4, 8, 8], Kind::Float)).contains("[1, 4, 8, 8], where axis 1 should be 3"));
        assert!(refusal(&zeros(&[4, 8, 8], Kind::Float)).contains("axis 0 should be 3"));
        assert!(refusal(&zeros(&[1, 3, 8, 8], Kind::Half)).contains("has dtype Half but the model has Float"));
        assert!(refusal(&zeros(&[1; 9], Kind::Float)).contains("9 dimensions"));
        assert!(refusal(&Tensor::new()).contains("undefined"));
        let sparse = zeros(&[1, 3, 8, 8], Kind::Float).to_sparse_sparse_dim(4);
        assert!(refusal(&sparse).contains("a sparse input of shape [1, 3, 8, 8]"), "{}", refusal(&sparse));
    }
}
