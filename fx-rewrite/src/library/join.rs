//! Tensors joined along an axis: slices put together again, and joints of joints.

use crate::fx_pass;

/// Returns whether each slice begins where the one before it ends.
fn follow(starts: &[i64], lengths: &[i64]) -> bool {
    let ends = starts.iter().zip(lengths).map(|(start, length)| start + length);
    starts.iter().chain(lengths).all(|&number| number >= 0)
        && ends.zip(starts.iter().skip(1)).all(|(end, &next)| end == next)
}

fn total(lengths: &[i64]) -> i64 {
    lengths.iter().sum()
}

fx_pass! {
    /// Puts slices of one tensor together again, and makes one of nested joints.
    pub Joins {
        /// Slices that follow one another are one slice.
        slices: |x, d: i64, s: [i64], n: [i64]| cat([x.narrow(d, s, n)..], d)
            => x.narrow(d, { s[0] }, { total(&n) }) if follow(&s, &n),
        /// A slice of all is all.
        whole: |x, d: i64, n: i64| x.narrow(d, 0, n) => x if dim(x, d) == Some(n),
        /// One tensor alone is not joined with anything.
        single: |x| cat([x], _) => x,
        /// What was joined along the same axis is joined at once.
        nested: |a: [Tensor], b: [Tensor], d: i64| cat([cat(a, d), ..b], d) => cat([..a, ..b], d),
        nested_last: |a: [Tensor], b: [Tensor], d: i64| cat([..a, cat(b, d)], d) => cat([..a, ..b], d),
    }
}
