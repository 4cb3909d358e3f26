//! What is wrong with the user's source: every fault with its code, its token and a way out, none lost.

use std::fmt;

use fx_ir::Place;
use proc_macro2::Span;

/// One fault or remark.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Which rule it breaks.
    pub code: Code,
    /// Whether it stops the build.
    pub severity: Severity,
    /// The token it is about; with the `span-locations` of a parsed file or of the compiler.
    pub span: Span,
    /// The file and line of that token.
    pub place: Place,
    /// The item in which it has its home: the key of the `#[traceable]` item, if it has one.
    pub home: Option<String>,
    /// What is wrong: lower case, the user's thing in backticks, no full stop.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing: kept as opaque code.
    Note,
    /// Probably not meant.
    Warning,
    /// The build cannot go on.
    Error,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $number:literal,)+) => {
        /// The rules a source can break; each has a number that stays.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Code {
            /// All of them, in order.
            pub const ALL: &'static [Code] = &[$(Code::$name),+];

            /// The number under which it is documented: `FX0001`.
            pub fn number(self) -> &'static str {
                match self {
                    $(Code::$name => $number,)+
                }
            }

            /// What it means, in a sentence.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Code::$name => concat!($($doc),+).trim_ascii(),)+
                }
            }
        }
    };
}

codes! {
    /// A source file could not be read or parsed.
    Unreadable = "FX0001",
    /// `#[traceable]` stands on an item that is no impl and no function.
    NotTraceable = "FX0002",
    /// A `#[traceable]` impl has no function of the entry's name.
    NoEntry = "FX0003",
    /// An attribute or an option of it is not known.
    UnknownOption = "FX0004",
    /// The build script did not see the item.
    NoBuildScript = "FX0005",
    /// A field is read that the struct does not have.
    NoSuchField = "FX0006",
    /// A known op or layer is called with another number of arguments than it takes.
    WrongArity = "FX0007",
    /// Code that is not understood, where `strict` forbids it.
    Opaque = "FX0008",
    /// The entry does not take the model by reference.
    Receiver = "FX0009",
    /// `#[derive(Module)]` stands on an item that is neither a struct nor an enum.
    NotAStruct = "FX0010",
    /// Two things would bear one name.
    DuplicateName = "FX0011",
    /// A traceable function calls itself.
    Recursion = "FX0012",
    /// The signature of the entry holds a form that a frozen type cannot mirror.
    Signature = "FX0013",
    /// A field holds a layer of `tch::nn`, whose configuration is private.
    ForeignLayer = "FX0014",
    /// A rule of `fx_pass!` is not written in the notation of rules.
    RuleSyntax = "FX0101",
    /// A rule names an op that does not exist.
    UnknownOp = "FX0102",
    /// A rule names a parameter that the op does not have.
    UnknownParameter = "FX0103",
    /// A rule gives an op another number of arguments than it takes.
    RuleArity = "FX0104",
    /// A rule uses a name that it does not declare, or that its pattern does not bind.
    UnboundCapture = "FX0105",
    /// A rule declares a capture and does not use it.
    UnusedCapture = "FX0106",
    /// A rule declares a capture twice.
    CaptureTwice = "FX0107",
    /// A value stands where one of another type is asked for.
    RuleType = "FX0108",
    /// A replacement has another number of outputs than its pattern.
    OutputCount = "FX0109",
    /// A pattern is a bare capture, which would match everywhere.
    BareCapture = "FX0110",
    /// An earlier rule matches wherever this one does.
    Shadowed = "FX0111",
    /// A rule matches what it leaves, for ever.
    Endless = "FX0112",
    /// A guard asks nothing about what was found.
    EmptyGuard = "FX0113",
    /// A capture is of a type that is neither a layer nor a literal.
    UnknownLayer = "FX0114",
    /// A layer has no field of that name.
    UnknownLayerField = "FX0115",
    /// An op with an effect stands in a rule.
    RuleEffect = "FX0116",
    /// A parameter is given twice.
    ParameterTwice = "FX0117",
    /// The alternatives of a pattern bind different captures.
    UnevenAlternatives = "FX0118",
    /// A guard asks for what is known only once the live model is there.
    FreezeTimeGuard = "FX0119",
    /// The outputs of a pattern have nothing in common.
    Unconnected = "FX0120",
    /// A layer is called without being declared as one, or a tensor is called.
    NotALayer = "FX0121",
    /// A pass has no rules, or two of one name.
    RuleNames = "FX0122",
}

/// A collector of diagnostics; it is handed around by shared reference.
#[derive(Debug, Default)]
pub struct Diagnostics {
    all: std::cell::RefCell<Vec<Diagnostic>>,
}

impl Diagnostics {
    /// An empty collector.
    pub fn new() -> Diagnostics {
        Diagnostics::default()
    }

    /// Adds one; the same rule at the same token with the same words counts once.
    pub fn push(&self, new: Diagnostic) {
        let mut all = self.all.borrow_mut();
        if !all.iter().any(|old| old.code == new.code && old.place == new.place && old.message == new.message) {
            all.push(new);
        }
    }

    /// Whether there is one that stops the build.
    pub fn has_errors(&self) -> bool {
        self.all.borrow().iter().any(|one| one.severity == Severity::Error)
    }

    /// All of them, sorted by place.
    pub fn into_sorted(self) -> Vec<Diagnostic> {
        let mut all = self.all.into_inner();
        all.sort_by(|a, b| (&a.place, a.code, &a.message).cmp(&(&b.place, b.code, &b.message)));
        all
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} [{}]", self.place, self.message, self.code.number())?;
        if !self.help.is_empty() {
            write!(f, "\n  help: {}", self.help)?;
        }
        Ok(())
    }
}
