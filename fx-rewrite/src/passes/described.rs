//! The row of a pass: its name, what it does, and after or before which others it runs.

/// Writes the functions of [`Pass`](crate::pass::Pass) that describe a pass, in its `impl`.
macro_rules! described {
    ($name:literal: $doc:literal; $(after: [$($after:literal),+];)? $(before: [$($before:literal),+];)?) => {
        fn name(&self) -> &'static str {
            $name
        }

        fn doc(&self) -> &'static str {
            $doc
        }

        $(fn after(&self) -> &'static [&'static str] {
            &[$($after),+]
        })?

        $(fn before(&self) -> &'static [&'static str] {
            &[$($before),+]
        })?
    };
}
