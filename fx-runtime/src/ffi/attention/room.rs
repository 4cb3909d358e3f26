//! How the scratch memory of some rows is divided.

use super::heads::Sizes;
use super::row::Row;
use super::{KEYS, QUERIES};
use crate::ffi::product::PANEL;

/// How scratch memory is divided, in floats: panels of keys, then these parts.
#[derive(Clone, Copy)]
pub(super) struct Room {
    /// Keys of a block.
    pub(super) keys: usize,
    depth: usize,
    /// Of sums, whole panels.
    pub(super) columns: usize,
    chunk: usize,
}

impl Room {
    pub(super) fn of(sizes: &Sizes, chunk: usize) -> Self {
        let keys = sizes.keys.next_multiple_of(PANEL).min(KEYS);
        Self { keys, depth: sizes.depth, columns: sizes.width.next_multiple_of(PANEL), chunk }
    }

    /// `[columns / PANEL][keys][PANEL]`
    pub(super) fn values(&self) -> usize {
        self.keys * self.depth
    }

    /// `[QUERIES][keys]`
    pub(super) fn scores(&self) -> usize {
        self.values() + self.columns * self.keys
    }

    /// `[QUERIES][depth]`, where they are rounded.
    pub(super) fn queries(&self) -> usize {
        self.scores() + QUERIES * self.keys
    }

    /// `[chunk][columns]`
    pub(super) fn sums(&self) -> usize {
        self.queries() + QUERIES * self.depth
    }

    /// What is known of each row of the chunk.
    pub(super) fn rows(&self) -> usize {
        self.sums() + self.chunk * self.columns
    }

    pub(super) fn bytes(&self) -> usize {
        self.rows() * size_of::<f32>() + self.chunk * size_of::<Row>()
    }
}
