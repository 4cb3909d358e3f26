//! The registration of the program's own types, whose values a frozen model keeps: what generated code writes once a type.
//!
//! Whether a type has a state shows only where it is written out, so the choice is a macro's;
//! [`OwnState`](crate::saved::own::OwnState) is what it submits.

/// Registers types, so that a frozen model that keeps values of them for opaque code can be saved if they have a state.
#[doc(hidden)]
#[macro_export]
macro_rules! own_state {
    ($($type:ty),+ $(,)?) => {
        $($crate::registry::inventory::submit! {
            $crate::frozen::own::OwnState::of::<$type>(
                |value, to| match value.downcast_ref::<$type>() {
                    ::core::option::Option::Some(value) => $crate::save_own!(to, $type, value),
                    ::core::option::Option::None => ::core::result::Result::Ok(()),
                },
                |from| {
                    let loaded: $type = $crate::load_own!(from, $type)?;
                    ::core::result::Result::Ok(::std::boxed::Box::new(loaded))
                },
                |from| {
                    #[allow(unused_imports)]
                    use $crate::frozen::own::{NoCell as _, OfType, ViaCell as _};
                    let cell = (&&OfType::<$type>::new()).load_cell(from)?;
                    ::core::result::Result::Ok(::std::boxed::Box::new(cell))
                },
                |value| match value.downcast_ref::<$type>() {
                    ::core::option::Option::Some(value) => {
                        #[allow(unused_imports)]
                        use $crate::module::probe::{
                            CloneNothing as _, Probe, ViaClone as _, ViaField as _, ViaLock as _,
                        };
                        let copy: $type = (&&&Probe(value))
                            .place_as(::core::stringify!($type), &mut $crate::frozen::copied_tensor)?;
                        ::core::result::Result::Ok(::std::boxed::Box::new(copy))
                    }
                    ::core::option::Option::None => $crate::frozen::no_copy(::core::stringify!($type)),
                },
            )
        })+
    };
}

/// Saves a value of a type that may have no state, which is refused then.
#[doc(hidden)]
#[macro_export]
macro_rules! save_own {
    ($to:expr, $type:ty, $value:expr) => {{
        #[allow(unused_imports)]
        use $crate::frozen::own::{OfType, Otherwise as _, ViaState as _};
        (&&OfType::<$type>::new()).save($value, $to)
    }};
}

/// Loads a value of a type that may have no state.
#[doc(hidden)]
#[macro_export]
macro_rules! load_own {
    ($from:expr, $type:ty) => {{
        #[allow(unused_imports)]
        use $crate::frozen::own::{OfType, Otherwise as _, ViaState as _};
        (&&OfType::<$type>::new()).load($from)
    }};
}
