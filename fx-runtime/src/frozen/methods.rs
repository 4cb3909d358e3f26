//! The methods that generated code has in common: what differs between frozen types is told to a macro.

/// [`crate::Traceable`] of a model, by the method `freeze` of its own.
#[macro_export]
#[doc(hidden)]
macro_rules! frozen_as {
    ($model:ty, $frozen:ident) => {
        #[allow(warnings, clippy::all, clippy::pedantic)]
        impl $crate::Traceable for $model {
            type Frozen = $frozen;

            #[inline]
            fn freeze(&self, options: &$crate::Freeze) -> $crate::Result<$frozen> {
                self.freeze(options)
            }
        }
    };
}

/// `save` and `load` of a frozen type, whose graph has that title and fingerprint.
#[macro_export]
#[doc(hidden)]
macro_rules! saved {
    ($frozen:ident, $title:literal, $graph:literal) => {
        #[allow(warnings, clippy::all, clippy::pedantic)]
        impl $frozen {
            /// Writes the folded weights, and all else that a call needs, to a safetensors file.
            ///
            /// # Errors
            /// Names the parts that cannot be saved: values of the program's own that opaque code reads.
            #[inline]
            pub fn save(&self, path: impl ::core::convert::AsRef<::std::path::Path>) -> $crate::Result<()> {
                $crate::frozen::save(self, &self.frame, $graph, path.as_ref())
            }

            /// Reads what [`Self::save`] has written, without the model, on the CPU unless `options` say otherwise.
            ///
            /// # Errors
            /// Refuses a file of another version of fx or of another graph, and one that is damaged.
            #[inline]
            pub fn load(
                path: impl ::core::convert::AsRef<::std::path::Path>,
                options: &$crate::Freeze,
            ) -> $crate::Result<Self> {
                $crate::frozen::load($title, $graph, path.as_ref(), options)
            }
        }
        #[allow(warnings, clippy::all, clippy::pedantic)]
        impl $crate::frozen::SavedAs for $frozen {
            const TITLE: &'static str = $title;
            const GRAPH: &'static str = $graph;
        }
    };
}

/// How a frozen type is saved that computes in one of several forms: as that form.
#[macro_export]
#[doc(hidden)]
macro_rules! formed {
    ($frozen:ident) => {
        #[allow(warnings, clippy::all, clippy::pedantic)]
        impl $crate::frozen::State for $frozen {
            #[inline]
            fn save(&self, to: &mut $crate::frozen::Saver) -> $crate::Result<()> {
                $crate::frozen::State::save(&self.form, to)
            }

            #[inline]
            fn load(from: &mut $crate::frozen::Loader) -> $crate::Result<Self> {
                ::core::result::Result::Ok(Self {
                    frame: from.field("frame")?,
                    form: $crate::frozen::State::load(from)?,
                })
            }
        }
    };
}

/// `reset_state` of a frozen type whose calls write to it.
#[macro_export]
#[doc(hidden)]
macro_rules! reset_state {
    ($frozen:ident) => {
        #[allow(warnings, clippy::all, clippy::pedantic)]
        impl $frozen {
            /// Gives all that calls have written to the values that it had when the model was frozen.
            ///
            /// # Errors
            /// When there is no memory for them.
            #[inline]
            pub fn reset_state(&self) -> $crate::Result<()> {
                self.frame.reset_state()
            }
        }
    };
}

/// `warm_up` of one entry of a frozen type: the shape or shapes of one call, the examples made from them, the call, what
/// is done after all of them, and the report.
#[macro_export]
#[doc(hidden)]
macro_rules! warm_up {
    (
        $frozen:ident::$method:ident($($receiver:tt)+) calls $entry:literal,
        $shapes:pat in $one:ty, { $($examples:tt)* }, $call:expr, { $($after:tt)* } $report:expr
    ) => {
        #[allow(warnings, clippy::all, clippy::pedantic)]
        impl $frozen {
            /// Runs the model on zeros of each of these shapes, so that later calls find everything set up, and says
            /// for which inputs it is recorded as a CUDA graph and which layers have another kernel than the default.
            ///
            /// # Errors
            #[doc = concat!("What `", $entry, "` returns.")]
            #[inline]
            pub fn $method<S: ::core::clone::Clone + ::core::convert::Into<$crate::Example>>(
                $($receiver)+,
                shapes: &[$one],
            ) -> $crate::Result<$crate::GraphReport> {
                for $shapes in shapes {
                    $($examples)*
                    for _ in 0..2 {
                        $call?;
                    }
                }
                $($after)*
                $report
            }
        }
    };
}
