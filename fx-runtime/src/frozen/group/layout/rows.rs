//! What ops on rows yield: of contiguous tensors, contiguous ones.

use tch::Kind;

use super::Layout;

impl Layout {
    /// What an op on rows of the same shape yields, in a dtype of its own if one is given.
    pub(super) fn normal(self, kind: Option<Kind>) -> Self {
        let length = self.sizes().last().copied().unwrap_or(0);
        let rows = Some((self.elements(), length));
        let is_same =
            kind.is_none_or(|kind| dtype(kind) == self.dtype) && self.rows.is_none_or(|known| Some(known) == rows);
        Self { is_known: self.is_known && is_same && length > 0 && self.is_row_major(), rows, ..self.unary() }
    }

    /// What is one number for each row.
    pub(super) fn reduced(self, kind: Option<Kind>) -> Self {
        let mut shape = self.normal(kind);
        if let Some(last) = shape.rank.checked_sub(1) {
            shape.sizes[last] = 1;
        }
        shape.packed((0..shape.rank).rev())
    }

    /// The same with a factor or a summand for each place in a row.
    pub(super) fn affine(self, part: Option<Self>) -> Self {
        let Some(part) = part else { return self };
        let is_row = part.is_known && part.sizes() == &self.sizes()[self.rank.saturating_sub(1)..];
        Self { is_known: self.is_known && is_row && part.rows.is_none(), ..self }
    }
}

/// As `c10::ScalarType` counts; of any other dtype, none of a group's.
fn dtype(kind: Kind) -> i32 {
    match kind {
        Kind::Half => 5,
        Kind::Float => 6,
        Kind::Double => 7,
        Kind::BFloat16 => 15,
        _ => -1,
    }
}
