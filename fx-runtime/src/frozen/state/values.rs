//! What is not a tensor, as text that reads back to the same value: numbers to the last bit, lists, options.

use super::{LENGTH, Loader, PRESENT, Saver, State};
use crate::Result;

macro_rules! as_text {
    ($($type:ty),*) => {
        $(impl State for $type {
            fn save(&self, to: &mut Saver) -> Result<()> {
                to.note("", self);
                Ok(())
            }

            fn load(from: &mut Loader) -> Result<Self> {
                from.noted("")
            }
        })*
    };
}

// Rust writes a float with as many digits as it takes to read the same float back.
as_text!(i64, i32, i16, i8, i128, isize, u64, u32, u16, u8, u128, usize, f64, f32, bool, char, String);

impl<T: State> State for Option<T> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.note(PRESENT, &self.is_some());
        self.iter().try_for_each(|value| value.save(to))
    }

    fn load(from: &mut Loader) -> Result<Self> {
        let present: bool = from.noted(PRESENT)?;
        present.then(|| T::load(from)).transpose()
    }
}

impl<T: State> State for Box<T> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        (**self).save(to)
    }

    fn load(from: &mut Loader) -> Result<Self> {
        T::load(from).map(Self::new)
    }
}

impl<T: State> State for Vec<T> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.note(LENGTH, &self.len());
        self.iter().enumerate().try_for_each(|(index, item)| to.field(&index.to_string(), item))
    }

    fn load(from: &mut Loader) -> Result<Self> {
        let length: usize = from.noted(LENGTH)?;
        (0..length).map(|index| from.field(&index.to_string())).collect()
    }
}

impl<T: State + Copy + Default, const N: usize> State for [T; N] {
    fn save(&self, to: &mut Saver) -> Result<()> {
        self.iter().enumerate().try_for_each(|(index, item)| to.field(&index.to_string(), item))
    }

    fn load(from: &mut Loader) -> Result<Self> {
        let mut items = [T::default(); N];
        for (index, item) in items.iter_mut().enumerate() {
            *item = from.field(&index.to_string())?;
        }
        Ok(items)
    }
}

/// `1 0 2`.
pub(super) fn list(numbers: &[i64]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Reads what [`list`] writes.
pub(super) fn numbers(text: &str) -> Option<Vec<i64>> {
    text.split_whitespace().map(|word| word.parse().ok()).collect()
}
