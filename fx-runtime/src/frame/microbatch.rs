//! Large batches of images piece by piece, so that activations stay in the caches.
//!
//! A layer of a large batch reads from memory what the layer before it has written there, and all activations of the
//! batch lie in memory at once. Where the samples go through a forward side by side, which the build finds out, a part of
//! the batch goes through all of it before the next one does.

use std::sync::atomic::{AtomicBool, Ordering};

use tch::{Device, Tensor};

use crate::Result;
use crate::ffi::{share, threads};

/// Bytes of input that go through at once, where the weights are small.
///
/// Measured on two cores (Zen 4, 32 MiB of last cache) with 64 images of 224 × 224, which take 0.6 MB each: in pieces of
/// four, eight and sixteen `MobileNetV2` takes 0.86 to 0.96, 0.9 and 0.97 of the time that it takes in one.
const BYTES: usize = 5 << 19;
/// Weights, of so many bytes for each byte of the input, are worth being read once for every piece.
///
/// Measured likewise: ResNet-50, with 102 MB of weights, takes 1.05 of the time in pieces of four, 1.02 of eight, and as
/// long of sixteen.
const WEIGHTS: usize = 10;
/// No thread is left without an image, and convolutions share them out evenly.
const IMAGES_PER_THREAD: usize = 2;

/// Whether a frozen model computes large batches piece by piece.
#[derive(Debug)]
pub(super) struct Microbatching {
    is_open: AtomicBool,
    /// Bytes of input for a piece.
    bytes: usize,
}

impl Microbatching {
    /// For a model with so many bytes of weights.
    pub(super) fn new(is_open: bool, weights: usize) -> Self {
        Self { is_open: AtomicBool::new(is_open), bytes: BYTES.max(weights / WEIGHTS) }
    }

    /// How to go through this batch; none where it goes through as a whole.
    pub(super) fn of<'a>(&'a self, batch: &'a Tensor) -> Option<Microbatches<'a>> {
        if !self.is_open.load(Ordering::Relaxed) || batch.dim() != 4 || batch.device() != Device::Cpu {
            return None;
        }
        let (images, numbers) = (usize::try_from(batch.size()[0]).ok()?, batch.numel());
        let bytes = numbers.checked_div(images)? * batch.f_kind().ok()?.elt_size_in_bytes();
        let most = (self.bytes / bytes.max(1)).max(IMAGES_PER_THREAD * threads());
        // All pieces but for a large one of the whole have two images or more.
        (images > most).then(|| Microbatches { microbatching: self, batch, images, pieces: images.div_ceil(most) })
    }
}

/// A batch in pieces of about the same size.
#[derive(Debug)]
pub struct Microbatches<'a> {
    microbatching: &'a Microbatching,
    batch: &'a Tensor,
    images: usize,
    pieces: usize,
}

impl Microbatches<'_> {
    /// The result of `forward` on the batch: that of its pieces, one behind the other.
    ///
    /// If one fails, or has not as many samples as went in, the forward runs on the whole, and if that succeeds, from then
    /// on.
    ///
    /// # Errors
    /// What `forward` returns of the whole.
    pub fn run(&self, forward: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
        let pieces: Option<Vec<Tensor>> = (0..self.pieces).map(|piece| self.piece(piece, &forward)).collect();
        if let Some(pieces) = pieces {
            return Ok(Tensor::f_cat(&pieces, 0)?);
        }
        self.microbatching.is_open.store(false, Ordering::Relaxed);
        let result = forward(self.batch);
        self.microbatching.is_open.store(result.is_err(), Ordering::Relaxed);
        result
    }

    fn piece(&self, piece: usize, forward: impl Fn(&Tensor) -> Result<Tensor>) -> Option<Tensor> {
        let images = share(self.images, piece, self.pieces);
        let [start, count] = [images.start, images.len()].map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        let result = forward(&self.batch.f_narrow(0, start, count).ok()?).ok()?;
        (result.size().first() == Some(&count)).then_some(result)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use tch::Kind;

    use super::*;

    fn batch(images: i64) -> Tensor {
        let count = images * 3 * 512 * 512;
        Tensor::arange(count, (Kind::Float, Device::Cpu)).reshape([images, 3, 512, 512])
    }

    #[test]
    fn a_large_batch_goes_in_pieces() {
        let (microbatching, batch) = (Microbatching::new(true, 0), batch(9 * i64::try_from(threads()).unwrap()));
        let seen = RefCell::new(Vec::new());
        let ys = microbatching.of(&batch).unwrap().run(|xs| {
            assert!(microbatching.of(xs).is_none());
            seen.borrow_mut().push(xs.size()[0]);
            Ok(xs.mean_dim([1i64, 2, 3].as_slice(), false, None))
        });
        assert_eq!(ys.unwrap(), batch.mean_dim([1i64, 2, 3].as_slice(), false, None));
        let seen = seen.into_inner();
        assert_eq!((seen.len(), seen.iter().sum()), (5, batch.size()[0]));
        assert!(seen.iter().all(|&images| images >= 2));
    }

    #[test]
    fn what_cannot_go_in_pieces_goes_as_a_whole_from_then_on() {
        let batch = batch(9 * i64::try_from(threads()).unwrap());
        let microbatching = Microbatching::new(true, 0);
        let ys = microbatching.of(&batch).unwrap().run(|xs| Ok(xs.mean_dim([0i64].as_slice(), true, None)));
        assert_eq!(ys.unwrap(), batch.mean_dim([0i64].as_slice(), true, None));
        assert!(microbatching.of(&batch).is_none());
        let microbatching = Microbatching::new(true, 0);
        let failing = microbatching.of(&batch).unwrap().run(|xs| Ok(xs.f_view([batch.size()[0], -1, 5])?));
        assert!(
            failing.unwrap_err().to_string().contains(&batch.numel().to_string()),
            "the error is that of the whole"
        );
        assert!(microbatching.of(&batch).is_some(), "and the next batch may be better");
    }

    #[test]
    fn a_small_batch_and_what_is_no_image_go_as_a_whole() {
        let microbatching = Microbatching::new(true, 0);
        assert!(microbatching.of(&batch(2)).is_none());
        assert!(microbatching.of(&Tensor::zeros([0, 3, 512, 512], (Kind::Float, Device::Cpu))).is_none());
        assert!(microbatching.of(&Tensor::zeros([1 << 20, 8], (Kind::Float, Device::Cpu))).is_none());
        assert!(Microbatching::new(false, 0).of(&batch(100)).is_none());
        assert!(Microbatching::new(true, 1 << 40).of(&batch(100)).is_none());
    }
}
