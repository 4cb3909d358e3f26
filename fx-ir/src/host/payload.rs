//! What an operation carries beside its arguments, as words: a type, a name, adaptors.

use super::Adaptor;

/// The part of an operation that is not an argument. Its words are what the text form shows between brackets.
pub(crate) trait Payload: Sized {
    /// The words, of which [`Payload::parse`] makes the same payload again.
    fn words(&self) -> Vec<String>;

    /// The payload of these words.
    fn parse(words: &[String]) -> Option<Self>;
}

impl Payload for String {
    fn words(&self) -> Vec<String> {
        vec![self.clone()]
    }

    fn parse(words: &[String]) -> Option<String> {
        match words {
            [word] => Some(word.clone()),
            _ => None,
        }
    }
}

impl Payload for Option<String> {
    fn words(&self) -> Vec<String> {
        self.iter().cloned().collect()
    }

    fn parse(words: &[String]) -> Option<Option<String>> {
        (words.len() < 2).then(|| words.first().cloned())
    }
}

/// A path and the names of fields.
impl Payload for (String, Vec<String>) {
    fn words(&self) -> Vec<String> {
        std::iter::once(&self.0).chain(&self.1).cloned().collect()
    }

    fn parse(words: &[String]) -> Option<(String, Vec<String>)> {
        let (path, fields) = words.split_first()?;
        Some((path.clone(), fields.to_vec()))
    }
}

/// A type and what a part of the model with it is called.
impl Payload for (String, String) {
    fn words(&self) -> Vec<String> {
        vec![self.0.clone(), self.1.clone()]
    }

    fn parse(words: &[String]) -> Option<(String, String)> {
        match words {
            [a, b] => Some((a.clone(), b.clone())),
            _ => None,
        }
    }
}

impl Payload for Vec<Adaptor> {
    fn words(&self) -> Vec<String> {
        self.iter().map(Adaptor::to_string).collect()
    }

    fn parse(words: &[String]) -> Option<Vec<Adaptor>> {
        words.iter().map(|word| word.parse().ok()).collect()
    }
}
