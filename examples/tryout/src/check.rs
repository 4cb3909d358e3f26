//! What each body is checked for: frozen and eager agree, and as much of it is understood as is said beside it.

mod compare;
mod interpreted;
mod understood;

pub(crate) use self::{compare::*, interpreted::*, understood::*};

/// `agree!(Net::new, [inputs], |net, input| net.forward(input))`: frozen and eager agree, and all of the type is
/// understood, or as much as [`understood!`] says.
macro_rules! agree {
    ($make:expr, $cases:expr, |$net:ident, $input:pat_param| $($call:tt)+) => {{
        let cases = &$cases;
        let name = $crate::check::numbers_agree!($make, *cases, |$net, $input| $($call)+);
        $crate::check::assert_understood(&name, file!());
        $crate::check::interpreted!($make, *cases, |$net, $input| $($call)+);
    }};
}
pub(crate) use agree;

/// The same of calls in a row of a model that keeps something from call to call; yields the frozen one.
macro_rules! in_a_row {
    ($make:expr, $inputs:expr) => {{
        let (name, frozen) = $crate::check::numbers_agree_in_a_row!($make, $inputs);
        $crate::check::assert_understood(&name, file!());
        frozen
    }};
}
pub(crate) use in_a_row;
