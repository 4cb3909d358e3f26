//! Lists whose length the model relies on, and texts that it asks for.

use crate::Error;

/// What is in an option of a list, as a slice that a pattern can take apart.
pub fn option_of_slice<T, L: AsRef<[T]>>(list: &Option<L>) -> Option<&[T]> {
    list.as_ref().map(AsRef::as_ref)
}

/// What is in an option of a text, for patterns that are texts.
pub fn option_of_text<T: AsRef<str>>(text: &Option<T>) -> Option<&str> {
    text.as_ref().map(AsRef::as_ref)
}

/// The list, if it has so many elements: what `list.try_into()` asks of it where an array is wanted.
///
/// # Errors
///
/// Says how many there are where it has fewer or more.
pub fn exactly<T>(list: &[T], length: usize) -> Result<&[T], Error> {
    if list.len() == length {
        return Ok(list);
    }
    Err(Error::Refused(format!("a list of {} where the model takes {length} elements", list.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_as_long_as_it_has_to_be() {
        assert_eq!(exactly(&[1, 2], 2).unwrap(), [1, 2]);
        let error = exactly(&[1, 2, 3], 2).unwrap_err().to_string();
        assert!(error.contains("a list of 3 where the model takes 2"), "{error}");
    }
}
