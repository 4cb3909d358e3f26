//! The order that passes need among themselves, required by a pass or by whoever makes the list.
//!
//! A constraint is about names. It holds if every pass of the one name stands before every pass of the other; where one
//! of them is not in the list at all there is nothing to ask.

use std::fmt;

use crate::pass::Pass;

/// One pass has to run before another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The pass that runs first.
    pub first: String,
    /// The pass that runs when that one has.
    pub second: String,
    /// The pass that asks for it, or none where the list does.
    pub asked_by: Option<&'static str>,
}

impl Order {
    /// The requirements of a pass on the list it stands in.
    pub(super) fn asked_by(pass: &dyn Pass) -> impl Iterator<Item = Order> {
        let name = pass.name();
        let order = move |first: &str, second: &str| Order {
            first: first.to_owned(),
            second: second.to_owned(),
            asked_by: Some(name),
        };
        let after = pass.after().iter().map(move |first| order(first, name));
        after.chain(pass.before().iter().map(move |second| order(name, second)))
    }

    /// The places, counted from 1, of a pass of the second name and of a later one of the first.
    pub(super) fn broken_in(&self, names: &[&str]) -> Option<(usize, usize)> {
        let second = names.iter().position(|name| *name == self.second)?;
        let first = names.iter().rposition(|name| *name == self.first)?;
        (second < first).then_some((second + 1, first + 1))
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` has to run before `{}`", self.first, self.second)?;
        match self.asked_by {
            Some(pass) => write!(f, ", as `{pass}` asks"),
            None => Ok(()),
        }
    }
}
