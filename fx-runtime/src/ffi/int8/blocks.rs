//! Blocks of pixels laid out as channels, so that a window that moves by a block moves by one.

use std::ops::Range;

use tch::{TchError, Tensor};

use super::{Dense, Element as _, Output, channels_together, image_facts, in_parts, unwritten};

/// How images are cut into square blocks, along height and width.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Blocks {
    /// Pixels along each side of a block.
    pub(crate) side: usize,
    /// Pixels of border before the image.
    pub(crate) before: [usize; 2],
    /// Blocks; the last ones may reach beyond the image, or not to its end.
    pub(crate) count: [usize; 2],
}

/// Lays out codes `[batch, channels, height, width]` as `[batch, channels · side², blocks, blocks]`, the new channels in the
/// order of `torch.nn.functional.pixel_unshuffle` and innermost in memory. Pixels outside of the image get `border`.
///
/// # Errors
///
/// A tensor of another dtype or rank.
pub(crate) fn as_blocks(x: &Tensor, blocks: Blocks, border: u8) -> Result<Tensor, TchError> {
    let (_, [batch, channels, height, width]) = image_facts(x)?;
    let x = Dense::new(x)?;
    let [of_sample, of_channel, of_row, of_pixel] =
        [0, 1, 2, 3].map(|axis| usize::try_from(x.strides[axis]).unwrap_or(0));
    let deep = channels * blocks.side * blocks.side;
    let sizes = [batch, deep, blocks.count[0], blocks.count[1]].map(|size| i64::try_from(size).unwrap_or(0));
    let line = deep * blocks.count[1];
    let y = unwritten(&sizes, &channels_together(&sizes), u8::DTYPE, batch * blocks.count[0] * line)?;
    // SAFETY: `u8`, as was looked; to write to an input meanwhile would be a data race of the caller's.
    let (from, to) = (unsafe { x.elements::<u8>() }, Output::<u8>::of(&y));
    in_parts(batch * blocks.count[0], line, &|lines| {
        for at in lines {
            let (sample, block) = (at / blocks.count[0], at % blocks.count[0]);
            // SAFETY: each line of blocks is written once; `y` is new and has so many.
            let to = unsafe { to.part(at * line..(at + 1) * line) };
            to.fill(border);
            for (channel, dy) in (0..channels).flat_map(|channel| (0..blocks.side).map(move |dy| (channel, dy))) {
                let line = (block * blocks.side + dy).checked_sub(blocks.before[0]).filter(|&line| line < height);
                let Some(line) = line else { continue };
                let pixels = &from[sample * of_sample + channel * of_channel + line * of_row..];
                let row = Row { pixels, step: of_pixel, width, before: blocks.before[1] };
                let to = &mut to[(channel * blocks.side + dy) * blocks.side..];
                match blocks.side {
                    2 => row.cut::<2>(to, deep),
                    side => row.cut_by(side, 0..blocks.count[1], to, deep),
                }
            }
        }
    });
    Ok(y)
}

/// The pixels of one row of an image.
struct Row<'a> {
    pixels: &'a [u8],
    /// From one to the next.
    step: usize,
    width: usize,
    /// Pixels of border before it.
    before: usize,
}

impl Row<'_> {
    /// Writes it to the front of `to`, in pieces of `SIDE` pixels that lie `deep` apart.
    fn cut<const SIDE: usize>(&self, to: &mut [u8], deep: usize) {
        // The pieces that lie in the image as a whole.
        let first = self.before.div_ceil(SIDE);
        let start = first * SIDE - self.before;
        let blocks = to.len().div_ceil(deep);
        let whole = (self.width.saturating_sub(start) / SIDE).min(blocks.saturating_sub(first));
        let places = to.chunks_mut(deep).skip(first).take(whole).filter_map(|place| place.first_chunk_mut::<SIDE>());
        let pixels = self.pixels.get(start * self.step..).unwrap_or_default();
        if self.step == 1 {
            places.zip(pixels.as_chunks::<SIDE>().0).for_each(|(place, piece)| *place = *piece);
        } else {
            let pieces = pixels.chunks(SIDE * self.step);
            places.zip(pieces).for_each(|(place, piece)| *place = std::array::from_fn(|dx| piece[dx * self.step]));
        }
        self.cut_by(SIDE, 0..first.min(blocks), to, deep);
        self.cut_by(SIDE, first + whole..blocks, to, deep);
    }

    /// The same for these pieces, pixel by pixel.
    fn cut_by(&self, side: usize, blocks: Range<usize>, to: &mut [u8], deep: usize) {
        for (block, dx) in blocks.flat_map(|block| (0..side).map(move |dx| (block, dx))) {
            let x = (block * side + dx).checked_sub(self.before).filter(|&x| x < self.width);
            if let Some(x) = x {
                to[block * deep + dx] = self.pixels[x * self.step];
            }
        }
    }
}
