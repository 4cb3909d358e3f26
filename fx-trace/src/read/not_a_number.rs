//! `NaN`, `Infinity`, `nan` and `inf`, which Python and C++ write and JSON does not know.
//!
//! Kineto divides by counts that may be 0, for occupancies and bandwidths. Such a word becomes an empty list with blanks
//! behind it, of the same length, so that offsets stay: a value that is no number, as the word says.

/// What stands for one of the words.
pub(super) const INSTEAD: &str = "[]";

const WORDS: [&[u8]; 4] = [b"Infinity", b"NaN", b"nan", b"inf"];

/// The text with the words replaced, or `None` if it has none outside its strings.
pub(super) fn replaced(text: &[u8]) -> Option<Vec<u8>> {
    let mut changed = None;
    let (mut at, mut in_string) = (0, false);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let unsigned = rest.strip_prefix(b"-").unwrap_or(rest);
        let word = WORDS.iter().find(|word| !in_string && unsigned.starts_with(word));
        if let Some(word) = word {
            let length = rest.len() - unsigned.len() + word.len();
            let changed = changed.get_or_insert_with(|| text.to_vec());
            for (position, byte) in changed.iter_mut().skip(at).take(length).enumerate() {
                *byte = INSTEAD.as_bytes().get(position).copied().unwrap_or(b' ');
            }
            at += length;
            continue;
        }
        match rest {
            [b'\\', ..] if in_string => at += 1,
            [b'"', ..] => in_string = !in_string,
            _ => {}
        }
        at += 1;
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn of_the_same_length() {
        let of = |text: &str| replaced(text.as_bytes()).map(|text| String::from_utf8(text).unwrap());
        assert_eq!(of(r#"{"a": NaN, "b": -Infinity}"#), Some(r#"{"a": [] , "b": []       }"#.to_owned()));
        assert_eq!(of(r#"{"a": -nan, "b": inf}"#), Some(r#"{"a": []  , "b": [] }"#.to_owned()));
    }

    #[test]
    fn not_in_strings() {
        assert_eq!(replaced(br#"{"inf": "a \" NaN", "b": -1}"#), None);
    }
}
