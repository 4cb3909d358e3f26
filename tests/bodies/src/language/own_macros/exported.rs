//! Macros that other modules name by a path, though these come before this one.

macro_rules! gated {
    ($x:expr, $gate:expr) => {
        $x * $gate.sigmoid()
    };
}
pub(crate) use gated;

macro_rules! clipped {
    ($x:expr; $most:literal) => {
        $x.clamp(-$most, $most)
    };
}
pub(crate) use clipped;
