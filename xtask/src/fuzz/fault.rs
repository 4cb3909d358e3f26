//! What can be wrong with a body.

use std::fmt;

use serde_json::Value;

/// A fault, and what was said of it.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    pub(super) said: String,
}

/// A fault's kind, which stays the same while a body is made smaller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Frozen computes something else.
    Differs,
    /// Only frozen panics, with this message, its numbers left out.
    Panics(String),
    /// It takes the process down.
    Crashes,
    /// It never ends.
    Hangs,
    /// It does not compile, with this error code.
    Builds(String),
    /// It gets no frozen type, which the build says, and why; or `freeze` names a part that cannot be copied.
    Left,
    /// Nothing of fx's: the body itself panics.
    Itself,
    /// Numbers differ by what rounding does to sums of large numbers.
    Rounds,
}

impl Fault {
    /// What the runner told of a body, unless it is well.
    pub(super) fn told(told: &str) -> Option<Fault> {
        let (word, said) = told.split_once(' ').unwrap_or((told, ""));
        let said = said.replace("\\n", "\n").replace("\\\"", "\"");
        let kind = match word {
            "eager" => Kind::Itself,
            "fails" if is_refusal(&said) => Kind::Left,
            "rounds" => Kind::Rounds,
            "fails" if is_difference(&said) => Kind::Differs,
            "fails" => Kind::Panics(shape(&said)),
            "hangs" => Kind::Hangs,
            _ => return None,
        };
        Some(Fault { kind, said })
    }
}

impl Kind {
    /// Whether it is fx that is wrong.
    pub(super) fn is_fx(&self) -> bool {
        !matches!(self, Kind::Itself | Kind::Left | Kind::Rounds)
    }

    /// What fx's build script says of a bug of its own.
    pub(super) fn of_bug(said: &str) -> Kind {
        Kind::Builds(format!("a bug of fx {}", shape(said)))
    }

    /// What an error of the compiler is: its code, and what it says of its place.
    pub(super) fn of_error(code: &str, message: &Value) -> Kind {
        let mut labels = message["spans"].as_array().into_iter().flatten().filter(|span| span["is_primary"] == true);
        let label = labels.find_map(|span| span["label"].as_str()).unwrap_or_default();
        let said = message["message"].as_str().unwrap_or_default();
        if said.starts_with("no method named `graph` found") || said.starts_with("no method named `freeze` found") {
            return Kind::Left;
        }
        Kind::Builds(format!("{code} {} {}", shape(said), shape(label)))
    }
}

/// Whether `freeze` named a part of which there can be no copy.
fn is_refusal(said: &str) -> bool {
    said.contains(": a frozen model: ") && ["NotCloneable", "what: \"keeping "].iter().any(|why| said.contains(why))
}

/// Whether a comparison of numbers failed.
fn is_difference(said: &str) -> bool {
    said.contains("check/compare.rs") || said.contains("frozen: ") || said.contains("only the frozen model fails")
}

/// A message without what differs from body to body.
fn shape(said: &str) -> String {
    let line = said.lines().next().unwrap_or_default();
    line.chars().filter(|letter| letter.is_alphabetic() || *letter == ' ').take(60).collect()
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Differs => f.write_str("frozen computes something else"),
            Kind::Panics(_) => f.write_str("only frozen panics"),
            Kind::Crashes => f.write_str("frozen takes the process down"),
            Kind::Hangs => f.write_str("frozen does not end"),
            Kind::Builds(code) => write!(f, "does not compile traced: {code}"),
            Kind::Left => f.write_str("gets no frozen type"),
            Kind::Itself => f.write_str("the body itself panics"),
            Kind::Rounds => f.write_str("differs by rounding alone"),
        }
    }
}
