//! The types of Rust's numbers: names, ranges, rounding.

use std::fmt;

macro_rules! int_types {
    ($($variant:ident $ty:ident,)+) => {
        /// A type of whole numbers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the names are Rust's")]
        pub enum IntType {
            $($variant,)+
            /// That of a literal without a suffix: it becomes the type of what it meets.
            Untyped,
        }

        impl IntType {
            /// The type of that name.
            pub fn parse(name: &str) -> Option<IntType> {
                match name {
                    $(stringify!($ty) => Some(IntType::$variant),)+
                    "integer" => Some(IntType::Untyped),
                    _ => None,
                }
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(IntType::$variant => stringify!($ty),)+
                    IntType::Untyped => "integer",
                }
            }

            /// The number, if it is one of the type.
            pub fn checked(self, number: i128) -> Option<i128> {
                match self {
                    $(IntType::$variant => $ty::try_from(number).is_ok().then_some(number),)+
                    IntType::Untyped => i64::try_from(number).is_ok().then_some(number),
                }
            }

            /// The number as the type has it: `number as i32`.
            #[allow(
                clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss,
                clippy::cast_lossless, clippy::unnecessary_cast, trivial_numeric_casts, reason = "it is Rust's `as`"
            )]
            pub fn wrapped(self, number: i128) -> i128 {
                match self {
                    $(IntType::$variant => number as $ty as i128,)+
                    IntType::Untyped => number as i64 as i128,
                }
            }

            /// The nearest number that the type has: `number as i32` of a float, whose fraction is cut off.
            #[allow(
                clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss,
                clippy::cast_lossless, reason = "it is Rust's `as`"
            )]
            pub fn of_float(self, number: f64) -> i128 {
                match self {
                    $(IntType::$variant => number as $ty as i128,)+
                    IntType::Untyped => number as i64 as i128,
                }
            }

            /// The smallest and the largest number.
            #[allow(clippy::cast_possible_wrap, clippy::cast_lossless, reason = "but for `u128` they all fit")]
            pub fn range(self) -> (i128, i128) {
                match self {
                    $(IntType::$variant => ($ty::MIN as i128, i128::try_from($ty::MAX).unwrap_or(i128::MAX)),)+
                    IntType::Untyped => (i128::from(i64::MIN), i128::from(i64::MAX)),
                }
            }

            /// How many bits it has.
            pub fn bits(self) -> u32 {
                match self {
                    $(IntType::$variant => $ty::BITS,)+
                    IntType::Untyped => i64::BITS,
                }
            }
        }
    };
}

int_types! {
    I8 i8, I16 i16, I32 i32, I64 i64, I128 i128, Isize isize, U8 u8, U16 u16, U32 u32, U64 u64, U128 u128, Usize usize,
}

/// A type of floating-point numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatType {
    /// `f32`.
    F32,
    /// `f64`.
    F64,
    /// That of a literal without a suffix: it becomes the type of what it meets.
    Untyped,
}

impl IntType {
    /// The type of an operation on two numbers; `None` if Rust has none.
    pub fn joined(self, other: IntType) -> Option<IntType> {
        match (self, other) {
            (IntType::Untyped, ty) | (ty, IntType::Untyped) => Some(ty),
            (a, b) => (a == b).then_some(a),
        }
    }
}

impl FloatType {
    /// The type of that name.
    pub fn parse(name: &str) -> Option<FloatType> {
        match name {
            "f32" => Some(FloatType::F32),
            "f64" => Some(FloatType::F64),
            "float" => Some(FloatType::Untyped),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            FloatType::F32 => "f32",
            FloatType::F64 => "f64",
            FloatType::Untyped => "float",
        }
    }

    /// The number as the type has it.
    #[allow(clippy::cast_possible_truncation, reason = "it is Rust's `as`")]
    pub fn rounded(self, number: f64) -> f64 {
        if self == FloatType::F32 { f64::from(number as f32) } else { number }
    }

    /// The type of an operation on two numbers; `None` if Rust has none.
    pub fn joined(self, other: FloatType) -> Option<FloatType> {
        match (self, other) {
            (FloatType::Untyped, ty) | (ty, FloatType::Untyped) => Some(ty),
            (a, b) => (a == b).then_some(a),
        }
    }
}

impl fmt::Display for IntType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for FloatType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
