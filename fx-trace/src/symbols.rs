//! Symbols: the names and categories of events, each stored once.
//!
//! A trace of a million events has a few thousand names, so that an event holds two numbers instead of two strings.

use std::collections::HashMap;
use std::sync::Arc;

/// A name or a category, as a number of its trace's [`Symbols`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(u32);

/// The strings of one trace.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    texts: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, Symbol>,
}

impl Symbols {
    /// The symbol of a text, which is added if it is new.
    pub fn intern(&mut self, text: &str) -> Symbol {
        if let Some(symbol) = self.numbers.get(text) {
            return *symbol;
        }
        // Two symbols would be one from the 4,294,967,296th on; no file of traces has as many names.
        let symbol = Symbol(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
        let text: Arc<str> = text.into();
        self.texts.push(text.clone());
        self.numbers.insert(text, symbol);
        symbol
    }

    /// The symbol of a text, if the trace has it.
    pub fn find(&self, text: &str) -> Option<Symbol> {
        self.numbers.get(text).copied()
    }

    /// The text of a symbol; empty for one of another trace.
    pub fn text(&self, symbol: Symbol) -> &str {
        self.texts.get(symbol.0 as usize).map_or("", |text| text)
    }

    /// All symbols with their texts, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = (Symbol, &str)> {
        (0..).map(Symbol).zip(self.texts.iter().map(|text| &**text))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}
