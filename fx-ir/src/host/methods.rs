//! The table of methods of the standard library and of tensors that a host operation may call: one row a method.
//!
//! A row states what the method is called on, what it takes and yields, and what it does. [`eval`](super::eval) computes
//! it by the same row; who wants to know a method's type or effect asks [`method`].
// tidy: table

use std::cmp::Ordering;

use super::eval::call::Call;
use super::eval::value::{Refusal, Value};
use super::eval::{lists, numbers};
use crate::{Type, scalar};

/// What a method is called on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Receiver {
    /// A floating-point number.
    Float,
    /// A whole number.
    Int,
    /// A truth value.
    Bool,
    /// Text.
    Str,
    /// A list: a `Vec`, an array, a slice.
    List,
    /// An option.
    Option,
    /// A range of whole numbers.
    Range,
    /// A tensor.
    Tensor,
    /// Whatever can be cloned.
    Any,
}

/// What a method yields, in terms of its receiver and arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gives {
    /// A value of the receiver's type.
    Receiver,
    /// `Option` of the receiver's type.
    OptionOfReceiver,
    /// `()`.
    Unit,
    /// A truth value.
    Bool,
    /// A `usize`.
    Usize,
    /// A list of `i64`.
    Sizes,
    /// A whole number of the receiver's width, without sign.
    Unsigned,
    /// A `String`.
    Str,
    /// An element of the list.
    Element,
    /// `Option` of an element, which is the caller's.
    OptionOfElement,
    /// `Option` of a reference to an element.
    Loan,
    /// What the option holds.
    Held,
    /// `Option` of the first argument's type.
    OptionOfArgument,
    /// `Option` of what the option holds and of what the first argument holds.
    Zipped,
    /// tch's `Kind`.
    Kind,
    /// tch's `Device`.
    Device,
}

/// A method of the table.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// What it is called on.
    pub receiver: Receiver,
    /// How many arguments it takes beside the receiver.
    pub arity: usize,
    /// What it yields.
    pub gives: Gives,
    /// Whether it changes its receiver.
    pub mutates: bool,
    /// Whether it panics for some receivers or arguments.
    pub may_panic: bool,
    /// Whether the arguments of a number's method are of the number's own type.
    pub takes_own_type: bool,
}

macro_rules! methods {
    ($($receiver:ident $name:ident $arity:literal => $gives:ident $($flag:ident)*, $computes:expr;)+) => {
        /// Every method, by receiver.
        pub const METHODS: &[Method] = &[$(methods!(@flags
            Method {
                name: stringify!($name),
                receiver: Receiver::$receiver,
                arity: $arity,
                gives: Gives::$gives,
                mutates: false,
                may_panic: false,
                takes_own_type: false,
            },
            $($flag)*
        ),)+];

        /// Calls a method of the table; one of tensors is the machine's.
        pub(crate) fn call<T: Clone>(method: &Method, call: &mut Call<'_, T>) -> Result<Value<T>, Refusal> {
            match (method.receiver, method.name) {
                $((Receiver::$receiver, stringify!($name)) => $computes(call),)+
                _ => Err(call.refused()),
            }
        }
    };
    (@flags $method:expr, ) => { $method };
    (@flags $method:expr, mutates $($rest:ident)*) => {
        methods!(@flags Method { mutates: true, ..$method }, $($rest)*)
    };
    (@flags $method:expr, own $($rest:ident)*) => {
        methods!(@flags Method { takes_own_type: true, ..$method }, $($rest)*)
    };
    (@flags $method:expr, panics $($rest:ident)*) => {
        methods!(@flags Method { may_panic: true, ..$method }, $($rest)*)
    };
}

methods! {
    Float sqrt 0 => Receiver, numbers::float1(f64::sqrt, f32::sqrt);
    Float cbrt 0 => Receiver, numbers::float1(f64::cbrt, f32::cbrt);
    Float exp 0 => Receiver, numbers::float1(f64::exp, f32::exp);
    Float exp2 0 => Receiver, numbers::float1(f64::exp2, f32::exp2);
    Float exp_m1 0 => Receiver, numbers::float1(f64::exp_m1, f32::exp_m1);
    Float ln 0 => Receiver, numbers::float1(f64::ln, f32::ln);
    Float ln_1p 0 => Receiver, numbers::float1(f64::ln_1p, f32::ln_1p);
    Float log2 0 => Receiver, numbers::float1(f64::log2, f32::log2);
    Float log10 0 => Receiver, numbers::float1(f64::log10, f32::log10);
    Float sin 0 => Receiver, numbers::float1(f64::sin, f32::sin);
    Float cos 0 => Receiver, numbers::float1(f64::cos, f32::cos);
    Float tan 0 => Receiver, numbers::float1(f64::tan, f32::tan);
    Float asin 0 => Receiver, numbers::float1(f64::asin, f32::asin);
    Float acos 0 => Receiver, numbers::float1(f64::acos, f32::acos);
    Float atan 0 => Receiver, numbers::float1(f64::atan, f32::atan);
    Float sinh 0 => Receiver, numbers::float1(f64::sinh, f32::sinh);
    Float cosh 0 => Receiver, numbers::float1(f64::cosh, f32::cosh);
    Float tanh 0 => Receiver, numbers::float1(f64::tanh, f32::tanh);
    Float asinh 0 => Receiver, numbers::float1(f64::asinh, f32::asinh);
    Float acosh 0 => Receiver, numbers::float1(f64::acosh, f32::acosh);
    Float atanh 0 => Receiver, numbers::float1(f64::atanh, f32::atanh);
    Float abs 0 => Receiver, numbers::float1(f64::abs, f32::abs);
    Float signum 0 => Receiver, numbers::float1(f64::signum, f32::signum);
    Float recip 0 => Receiver, numbers::float1(f64::recip, f32::recip);
    Float ceil 0 => Receiver, numbers::float1(f64::ceil, f32::ceil);
    Float floor 0 => Receiver, numbers::float1(f64::floor, f32::floor);
    Float round 0 => Receiver, numbers::float1(f64::round, f32::round);
    Float round_ties_even 0 => Receiver, numbers::float1(f64::round_ties_even, f32::round_ties_even);
    Float trunc 0 => Receiver, numbers::float1(f64::trunc, f32::trunc);
    Float fract 0 => Receiver, numbers::float1(f64::fract, f32::fract);
    Float to_radians 0 => Receiver, numbers::float1(f64::to_radians, f32::to_radians);
    Float to_degrees 0 => Receiver, numbers::float1(f64::to_degrees, f32::to_degrees);
    Float powf 1 => Receiver own, numbers::float2(f64::powf, f32::powf);
    Float powi 1 => Receiver, numbers::raised_to_int;
    Float log 1 => Receiver own, numbers::float2(f64::log, f32::log);
    Float atan2 1 => Receiver own, numbers::float2(f64::atan2, f32::atan2);
    Float hypot 1 => Receiver own, numbers::float2(f64::hypot, f32::hypot);
    Float copysign 1 => Receiver own, numbers::float2(f64::copysign, f32::copysign);
    Float min 1 => Receiver own, numbers::float2(f64::min, f32::min);
    Float max 1 => Receiver own, numbers::float2(f64::max, f32::max);
    Float rem_euclid 1 => Receiver own, numbers::float2(f64::rem_euclid, f32::rem_euclid);
    Float div_euclid 1 => Receiver own, numbers::float2(f64::div_euclid, f32::div_euclid);
    Float mul_add 2 => Receiver own, numbers::float3(f64::mul_add, f32::mul_add);
    Float clamp 2 => Receiver panics own, numbers::clamp_float;
    Float is_nan 0 => Bool, numbers::float_is(f64::is_nan);
    Float is_finite 0 => Bool, numbers::float_is(f64::is_finite);
    Float is_infinite 0 => Bool, numbers::float_is(f64::is_infinite);
    Float is_sign_negative 0 => Bool, numbers::float_is(f64::is_sign_negative);
    Float is_sign_positive 0 => Bool, numbers::float_is(f64::is_sign_positive);

    Int abs 0 => Receiver panics, numbers::int1(i128::checked_abs);
    Int signum 0 => Receiver, numbers::int1(|a| Some(a.signum()));
    Int isqrt 0 => Receiver panics, numbers::int1(i128::checked_isqrt);
    Int pow 1 => Receiver panics, numbers::raised;
    Int min 1 => Receiver own, numbers::chosen(Ordering::Less);
    Int max 1 => Receiver own, numbers::chosen(Ordering::Greater);
    Int clamp 2 => Receiver panics own, numbers::clamp_int;
    Int rem_euclid 1 => Receiver panics own, numbers::divided(i128::checked_rem_euclid);
    Int div_euclid 1 => Receiver panics own, numbers::divided(i128::checked_div_euclid);
    Int div_ceil 1 => Receiver panics own, numbers::divided(|a, b| a.checked_neg()?.checked_div_euclid(b)?.checked_neg());
    Int next_multiple_of 1 => Receiver panics own, numbers::divided(|a, b| a.checked_add((-a).rem_euclid(b)));
    Int abs_diff 1 => Unsigned own, numbers::abs_diff;
    Int is_positive 0 => Bool, numbers::int_is(i128::is_positive);
    Int is_negative 0 => Bool, numbers::int_is(i128::is_negative);
    Int is_power_of_two 0 => Bool, numbers::int_is(|a| a > 0 && a & (a - 1) == 0);
    Int wrapping_add 1 => Receiver own, numbers::wrapping(i128::wrapping_add);
    Int wrapping_sub 1 => Receiver own, numbers::wrapping(i128::wrapping_sub);
    Int wrapping_mul 1 => Receiver own, numbers::wrapping(i128::wrapping_mul);
    Int saturating_add 1 => Receiver own, numbers::saturating(i128::saturating_add);
    Int saturating_sub 1 => Receiver own, numbers::saturating(i128::saturating_sub);
    Int saturating_mul 1 => Receiver own, numbers::saturating(i128::saturating_mul);
    Int checked_add 1 => OptionOfReceiver own, numbers::checked("+");
    Int checked_sub 1 => OptionOfReceiver own, numbers::checked("-");
    Int checked_mul 1 => OptionOfReceiver own, numbers::checked("*");
    Int checked_div 1 => OptionOfReceiver own, numbers::checked("/");
    Int checked_rem 1 => OptionOfReceiver own, numbers::checked("%");

    Bool then_some 1 => OptionOfArgument, numbers::some_if;

    Str len 0 => Usize, numbers::of_text(|text| Value::count(text.len()));
    Str is_empty 0 => Bool, numbers::of_text(|text| Value::Bool(text.is_empty()));
    Str to_string 0 => Str, lists::same;
    Str as_str 0 => Receiver, lists::same;
    Str to_lowercase 0 => Str, numbers::of_text(|text| Value::Str(text.to_lowercase()));
    Str to_uppercase 0 => Str, numbers::of_text(|text| Value::Str(text.to_uppercase()));
    Str trim 0 => Receiver, numbers::of_text(|text| Value::Str(text.trim().to_owned()));
    Str contains 1 => Bool, numbers::text_is(|whole, part| whole.contains(part));
    Str starts_with 1 => Bool, numbers::text_is(|whole, part| whole.starts_with(part));
    Str ends_with 1 => Bool, numbers::text_is(|whole, part| whole.ends_with(part));
    Str push_str 1 => Unit mutates, numbers::push_str;

    List len 0 => Usize, lists::of_items(|items| Value::count(items.len()));
    List is_empty 0 => Bool, lists::of_items(|items| Value::Bool(items.is_empty()));
    List first 0 => Loan, lists::of_items(|items| Value::option(items.first().cloned()));
    List last 0 => Loan, lists::of_items(|items| Value::option(items.last().cloned()));
    List get 1 => Loan, lists::item_at;
    List contains 1 => Bool, lists::has_item;
    List starts_with 1 => Bool, lists::edge(false);
    List ends_with 1 => Bool, lists::edge(true);
    List to_vec 0 => Receiver, lists::same;
    List as_slice 0 => Receiver, lists::same;
    List push 1 => Unit mutates, lists::push_item;
    List pop 0 => OptionOfElement mutates, pop;
    List insert 2 => Unit mutates panics, lists::insert_item;
    List remove 1 => Element mutates panics, lists::at(0, Vec::remove);
    List swap_remove 1 => Element mutates panics, lists::at(0, Vec::swap_remove);
    List split_off 1 => Receiver mutates panics, lists::at(1, |items, at| Value::List(items.split_off(at)));
    List truncate 1 => Unit mutates, lists::truncate_to;
    List clear 0 => Unit mutates, lists::change(Vec::clear);
    List reverse 0 => Unit mutates, lists::change(|items| items.reverse());
    List swap 2 => Unit mutates panics, lists::swap_items;
    List extend 1 => Unit mutates, lists::extend_by;
    List extend_from_slice 1 => Unit mutates, lists::extend_by;
    List resize 2 => Unit mutates, lists::resize_to;
    List fill 1 => Unit mutates, lists::fill_with_item;
    List sort 0 => Unit mutates, lists::sort_items;
    List sort_unstable 0 => Unit mutates, lists::sort_items;
    List dedup 0 => Unit mutates, lists::dedup_items;
    List rotate_left 1 => Unit mutates panics, lists::at(1, |items, by| { items.rotate_left(by); Value::Unit });
    List rotate_right 1 => Unit mutates panics, lists::at(1, |items, by| { items.rotate_right(by); Value::Unit });

    Option is_some 0 => Bool, lists::holds(true);
    Option is_none 0 => Bool, lists::holds(false);
    Option unwrap_or 1 => Held, lists::held_or;
    Option unwrap 0 => Held panics, lists::unwrapped;
    Option expect 1 => Held panics, lists::unwrapped;
    Option copied 0 => Receiver, lists::same;
    Option cloned 0 => Receiver, lists::same;
    Option as_ref 0 => Receiver, lists::same;
    Option as_deref 0 => Receiver, lists::same;
    Option or 1 => Receiver, lists::or_other;
    Option zip 1 => Zipped, lists::zipped;
    Option take 0 => Receiver mutates, lists::taken;
    Option replace 1 => Receiver mutates, lists::replaced;

    Range len 0 => Usize, lists::range_len;
    Range is_empty 0 => Bool, lists::range_is_empty;
    Range contains 1 => Bool, lists::range_contains;

    Tensor size 0 => Sizes, of_tensor;
    Tensor stride 0 => Sizes, of_tensor;
    Tensor dim 0 => Usize, of_tensor;
    Tensor numel 0 => Usize, of_tensor;
    Tensor kind 0 => Kind, of_tensor;
    Tensor device 0 => Device, of_tensor;
    Tensor requires_grad 0 => Bool, of_tensor;
    Tensor is_contiguous 0 => Bool, of_tensor;
    Tensor defined 0 => Bool, of_tensor;

    Any clone 0 => Receiver, lists::same;
    Any to_owned 0 => Receiver, lists::same;
    Any borrow 0 => Receiver, lists::same;
}

fn pop<T>(call: &mut Call<'_, T>) -> Result<Value<T>, Refusal> {
    call.items().map(|items| Value::option(items.pop()))
}

fn of_tensor<T>(call: &mut Call<'_, T>) -> Result<Value<T>, Refusal> {
    Err(call.refused())
}

/// The method of that name of such a receiver.
pub fn method(name: &str, receiver: Receiver) -> Option<&'static Method> {
    let of = |receiver| move |method: &&Method| method.name == name && method.receiver == receiver;
    METHODS.iter().find(of(receiver)).or_else(|| METHODS.iter().find(of(Receiver::Any)))
}

/// Returns whether the arguments of the numbers' method of that name are of the number's own type.
pub fn takes_own_type(name: &str) -> bool {
    methods_named(name).any(|method| method.takes_own_type)
}

/// The methods of that name, whatever they are called on.
pub fn methods_named(name: &str) -> impl Iterator<Item = &'static Method> {
    METHODS.iter().filter(move |method| method.name == name)
}

impl Receiver {
    /// What a value of that type is to a method; `None` where the type does not tell.
    pub fn of_type(ty: &Type) -> Option<Receiver> {
        match ty {
            Type::Tensor(_) => Some(Receiver::Tensor),
            Type::List(_) => Some(Receiver::List),
            Type::Option(_) => Some(Receiver::Option),
            Type::Rust(name) if name == "integer" || scalar::is_integer(name) => Some(Receiver::Int),
            Type::Rust(name) if name == "float" || scalar::is_float(name) => Some(Receiver::Float),
            Type::Rust(name) => match name.trim_start_matches('&') {
                "bool" => Some(Receiver::Bool),
                "str" | "String" | "'static str" => Some(Receiver::Str),
                _ => None,
            },
            Type::Unknown | Type::Module(_) | Type::Tuple(_) => None,
        }
    }

    /// What a value is to a method.
    pub fn of_value<T>(value: &Value<T>) -> Receiver {
        match value {
            Value::Int(..) => Receiver::Int,
            Value::Float(..) => Receiver::Float,
            Value::Bool(_) => Receiver::Bool,
            Value::Str(_) => Receiver::Str,
            Value::List(_) => Receiver::List,
            Value::Option(_) => Receiver::Option,
            Value::Range(_) => Receiver::Range,
            Value::Tensor(_) => Receiver::Tensor,
            _ => Receiver::Any,
        }
    }

    /// What such a receiver is called in a message.
    pub fn noun(self) -> &'static str {
        match self {
            Receiver::Float => "floating-point numbers",
            Receiver::Int => "whole numbers",
            Receiver::Bool => "truth values",
            Receiver::Str => "text",
            Receiver::List => "lists",
            Receiver::Option => "options",
            Receiver::Range => "ranges",
            Receiver::Tensor => "tensors",
            Receiver::Any => "whatever can be cloned",
        }
    }
}

impl Method {
    /// Whether it yields an option of a reference to an element.
    pub fn yields_loan(&self) -> bool {
        self.gives == Gives::Loan
    }

    /// The type of what it yields, on a receiver of that type and arguments of these.
    pub fn type_of(&self, receiver: &Type, args: &[Type]) -> Type {
        let option = |ty: &Type| Type::Option(Box::new(ty.clone()));
        let argument = args.first().unwrap_or(&Type::Unknown);
        let inner = match receiver {
            Type::List(inner) | Type::Option(inner) => inner,
            _ => &Type::Unknown,
        };
        match self.gives {
            Gives::Receiver => receiver.clone(),
            Gives::OptionOfReceiver => option(receiver),
            Gives::Unit => Type::Tuple(Vec::new()),
            Gives::Bool => Type::rust("bool"),
            Gives::Usize => Type::rust("usize"),
            Gives::Sizes => Type::List(Box::new(Type::rust("i64"))),
            Gives::Unsigned => match receiver {
                Type::Rust(name) => Type::rust(name.replacen('i', "u", usize::from(name.starts_with('i')))),
                _ => Type::Unknown,
            },
            Gives::Str => Type::rust("String"),
            Gives::Element | Gives::Held => inner.clone(),
            // An element by its number; a range gives a part of the list.
            Gives::Loan if args.first().is_some_and(|at| Receiver::of_type(at) != Some(Receiver::Int)) => {
                option(&Type::Unknown)
            }
            Gives::OptionOfElement | Gives::Loan => option(inner),
            Gives::OptionOfArgument => option(argument),
            Gives::Zipped => match argument {
                Type::Option(other) => option(&Type::Tuple(vec![inner.clone(), (**other).clone()])),
                _ => Type::Unknown,
            },
            Gives::Kind => Type::rust("::fx_runtime::Kind"),
            Gives::Device => Type::rust("::fx_runtime::Device"),
        }
    }
}
