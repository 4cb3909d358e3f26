//! Models that the tests across the crates share.
