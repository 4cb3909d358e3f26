//! How a value is written where it is read.

/// A value as an expression.
#[derive(Clone, Debug)]
pub struct Value {
    /// The expression.
    pub text: String,
    /// Whether it is a reference.
    pub is_ref: bool,
    /// What kind of expression it is.
    pub form: Form,
}

/// The kinds of expressions that are read differently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// A variable.
    Name,
    /// A tuple written out.
    Tuple,
    /// Any other.
    #[default]
    Other,
}

impl Value {
    /// An expression that owns its value.
    pub fn owned(text: impl Into<String>) -> Value {
        Value { text: text.into(), is_ref: false, form: Form::Other }
    }

    /// An expression that is a reference.
    pub fn reference(text: impl Into<String>) -> Value {
        Value { text: text.into(), is_ref: true, form: Form::Other }
    }

    /// A variable, which owns its value or is a reference.
    pub fn variable(name: impl Into<String>, is_ref: bool) -> Value {
        Value { text: name.into(), is_ref, form: Form::Name }
    }

    /// The expression as what a method is called on: a sign in front of it would be one in front of the call.
    pub fn receiver(&self) -> String {
        match self.text.chars().next() {
            Some('&' | '*' | '-' | '!') => format!("({})", self.text),
            _ => self.text.clone(),
        }
    }

    /// The expression, borrowed.
    pub fn borrowed(&self) -> String {
        if self.is_ref { self.text.clone() } else { format!("&{}", self.text) }
    }
}
