//! Kinds that a computation is made in, where they follow from those of its inputs.

use tch::Kind;

/// The kind in which a value is at least as exact as an f32.
pub fn at_least_float(kind: Kind) -> Kind {
    if kind == Kind::Double { kind } else { Kind::Float }
}
