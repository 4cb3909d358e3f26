//! How much a group of pointwise ops may take, ask for and yield: what a pass puts into one call, and what runs it.

/// Tensors that it reads, and numbers that come with the call, at most so many of each.
pub const MOST_INPUTS: usize = 8;
/// Tensors that it yields.
pub const MOST_RESULTS: usize = 4;
/// Sums and maxima of each row that it asks for.
pub const MOST_REDUCTIONS: usize = 4;
