//! Chains of reshapes, permutations and transpositions as one.

use crate::fx_pass;

/// The order of axes that two permutations make, the first one first.
fn composed(first: &[i64], second: &[i64]) -> Vec<i64> {
    let axis = |axis: &i64| usize::try_from(*axis).ok().and_then(|axis| first.get(axis)).copied();
    second.iter().filter_map(axis).collect()
}

/// Returns whether the list names each axis once, counted from the first.
fn is_permutation(axes: &[i64]) -> bool {
    let mut sorted = axes.to_vec();
    sorted.sort_unstable();
    sorted.iter().zip(0..).all(|(&axis, wanted)| axis == wanted)
}

fn is_identity(axes: &[i64]) -> bool {
    axes.iter().zip(0..).all(|(&axis, wanted)| axis == wanted)
}

/// Does the second list of sizes say all by itself? A zero would copy a size of what it reads.
fn is_whole(sizes: &[i64]) -> bool {
    !sizes.contains(&0)
}

/// Returns whether the axes of a permutation exchange the last two and leave the others.
fn exchanges_last(axes: &[i64]) -> bool {
    let Some(rest) = axes.len().checked_sub(2) else { return false };
    let last: Vec<i64> = (0..).take(axes.len()).collect();
    is_identity(&axes[..rest]) && axes[rest] == last[rest + 1] && axes[rest + 1] == last[rest]
}

/// Returns whether these are the last two of so many axes, counted from the first.
fn are_last(a: i64, b: i64, rank: Option<usize>) -> bool {
    let Some(rank) = rank.and_then(|rank| i64::try_from(rank).ok()) else { return false };
    a.min(b) >= 0 && a.min(b) == rank - 2 && a.max(b) == rank - 1
}

fx_pass! {
    /// Makes one of chains of reshapes, permutations and transpositions.
    pub Layout {
        /// Of two reshapes the last one counts.
        reshape_twice: |x, s: [i64]| x.reshape(_).reshape(s) => x.reshape(s) if is_whole(&s),
        view_then_reshape: |x, s: [i64]| x.view(_).reshape(s) => x.reshape(s) if is_whole(&s),
        flatten_then_reshape: |x, s: [i64]| x.flat_view().reshape(s) => x.reshape(s) if is_whole(&s),
        /// Two permutations are one, and one that keeps the order is none.
        permute_twice: |x, a: [i64], b: [i64]| x.permute(a).permute(b) => x.permute({ composed(&a, &b) })
            if is_permutation(&a) && is_permutation(&b) && a.len() == b.len(),
        permute_in_order: |x, a: [i64]| x.permute(a) => x if is_identity(&a),
        /// The same two axes exchanged twice are where they were.
        transpose_twice: |x, a: i64, b: i64| x.transpose(a, b).transpose(a, b) => x,
        transpose_back: |x, a: i64, b: i64| x.transpose(a, b).transpose(b, a) => x,
        /// The last two axes exchanged are counted from the last one.
        transpose_last: |x| x.transpose(-1, -2) => x.transpose(-2, -1),
        transpose_axes: |x, a: i64, b: i64| x.transpose(a, b) => x.transpose(-2, -1) if are_last(a, b, rank(x)),
        permute_last: |x, p: [i64]| x.permute(p) => x.transpose(-2, -1) if exchanges_last(&p),
        tr_twice: |x| x.tr().tr() => x,
        /// Row-major order is made once.
        contiguous_twice: |x| x.contiguous().contiguous() => x.contiguous(),
        /// An axis put in and taken out.
        unsqueeze_squeeze: |x, d: i64| x.unsqueeze(d).squeeze_dim(d) => x,
    }
}
