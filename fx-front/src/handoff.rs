//! The file that a build script leaves for the macros: which items it saw, what it generated, and what was wrong.
//!
//! One line a fact, fields parted by tabs, version first, so that a file from another version of fx-passes is told from
//! a broken one:
//!
//! ```text
//! fx-items 1
//! item    Net#9c3d0c1f5a5b7e21    Net.rs    src/model.rs:31
//! calls   fx_layers
//! error   FX0006  12-14   no field `conv3` on `Net`   its fields are ..
//! ```

use std::{collections::BTreeSet, fmt, str::FromStr};

use fx_ir::Place;
use syn::{Block, Signature};

use crate::{
    diag::{Code, Diagnostic, Severity},
    key::{Key, Leaf, leaf_range, leaves},
};

/// The file's place below `OUT_DIR`.
pub const PATH: &str = "fx/items";

const HEADER: &str = "fx-items";
const VERSION: &str = "1";

/// What a build script saw of a crate: its `#[traceable]` items in the order of files and lines.
#[derive(Debug, Default)]
pub struct Items {
    items: Vec<Item>,
    taken: BTreeSet<String>,
}

/// One `#[traceable]` item.
#[derive(Debug)]
pub struct Item {
    /// Which one.
    pub key: Key,
    /// The generated file beside the list (`Net.rs`); `None` where nothing was generated.
    pub file: Option<String>,
    /// Where the entry's name stands, the file relative to the crate's root.
    pub place: Place,
    /// The function beside it that it is to call in place of its own body.
    pub calls: Option<String>,
    /// What is wrong with it.
    pub faults: Vec<Fault>,
    leaves: Vec<Leaf>,
}

/// One error, placed by the leaf tokens it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which rule is broken.
    pub code: Code,
    /// The first and the last [leaf](crate::key::leaves) it is about.
    pub leaves: (usize, usize),
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl Items {
    /// Adds an item and gives it the name of its generated file, `Type.rs`, or `Type_<hash>.rs` where that is taken.
    ///
    /// The names depend on the order of the calls, which has to be that of the sources.
    pub fn add(&mut self, key: &Key, sig: &Signature, block: &Block, source: &str) -> String {
        let hash = key.hash >> 32;
        let candidates = [key.name.clone(), format!("{}_{hash:08x}", key.name)].into_iter();
        let numbered = (2_usize..).map(|n| format!("{}_{hash:08x}_{n}", key.name));
        // `Net` and `net` are one file where the file system ignores case.
        let stem = candidates.chain(numbered).find(|stem| self.taken.insert(stem.to_lowercase())).unwrap_or_default();
        let file = format!("{stem}.rs");
        self.items.push(Item {
            key: key.clone(),
            file: Some(file.clone()),
            place: Place { file: source.to_owned(), line: sig.ident.span().start().line },
            calls: None,
            faults: Vec::new(),
            leaves: leaves(sig, block),
        });
        file
    }

    /// Says that the function of the generated file of this name is to call another in place of its own body.
    pub fn calls(&mut self, file: &str, other: &str) {
        if let Some(item) = self.items.iter_mut().find(|item| item.file.as_deref() == Some(file)) {
            item.calls = Some(other.to_owned());
        }
    }

    /// Says that the generated file of this name was not written.
    pub fn withhold(&mut self, file: &str) {
        let of_file = |item: &&mut Item| item.file.as_deref() == Some(file);
        if let Some(item) = self.items.iter_mut().find(of_file) {
            item.file = None;
        }
    }

    /// Hands an error to the item whose tokens it is about, or else to its home, where the macro reports it.
    ///
    /// `false` where it has no home, and for what is no error: a macro cannot warn, so Cargo has to.
    /// A token of a function that was inlined is not a token of its home; then the message says where it is.
    pub fn report(&mut self, diagnostic: &Diagnostic) -> bool {
        if diagnostic.severity != Severity::Error {
            return false;
        }
        let at = |item: &mut Item| leaf_range(&item.leaves, diagnostic.span);
        let exact = self.items.iter_mut().find_map(|item| at(item).map(|range| (item, range)));
        let (item, leaves, message) = if let Some((item, range)) = exact {
            (item, range, diagnostic.message.clone())
        } else {
            let is_home = |item: &&mut Item| diagnostic.home.as_ref() == Some(&item.key.to_string());
            let Some(item) = self.items.iter_mut().find(is_home) else { return false };
            // Leaf 1 is the name: `fn forward`.
            (item, (1, 1), format!("{}, at {}", diagnostic.message, diagnostic.place))
        };
        item.faults.push(Fault { code: diagnostic.code, leaves, message, help: diagnostic.help.clone() });
        true
    }

    /// All items.
    pub fn iter(&self) -> impl Iterator<Item = &Item> {
        self.items.iter()
    }

    /// The item of that key; of several the one whose entry's name stands at this line of this file.
    ///
    /// The compiler may name the file by a longer path than the list does.
    pub fn find(&self, key: &Key, at: &Place) -> Option<&Item> {
        let of_key = || self.items.iter().filter(|item| item.key == *key);
        of_key().find(|item| item.is_at(at)).or_else(|| of_key().next())
    }

    /// The item of that name nearest to the place: the same one, before or after an edit.
    pub fn find_edited(&self, key: &Key, at: &Place) -> Option<&Item> {
        let of_name = self.items.iter().filter(|item| item.key.name == key.name);
        of_name.min_by_key(|item| (!item.is_in(&at.file), item.place.line.abs_diff(at.line)))
    }

    /// The list as text.
    pub fn to_text(&self) -> String {
        let mut lines = vec![format!("{HEADER} {VERSION}")];
        for item in &self.items {
            let file = item.file.as_deref().unwrap_or("-");
            lines.push(line(&["item", &item.key.to_string(), file, &item.place.to_string()]));
            lines.extend(item.calls.iter().map(|other| line(&["calls", other])));
            lines.extend(item.faults.iter().map(Fault::to_line));
        }
        lines.push(String::new());
        lines.join("\n")
    }

    /// Reads what [`Items::to_text`] wrote.
    pub fn parse(text: &str) -> Result<Items, Unusable> {
        let mut lines = text.lines().enumerate();
        match lines.next().and_then(|(_, first)| first.split_once(' ')) {
            Some((HEADER, VERSION)) => {}
            Some((HEADER, version)) => return Err(Unusable::Version(version.to_owned())),
            _ => return Err(Unusable::Line(1)),
        }
        let mut all = Items::default();
        for (at, line) in lines {
            let fields: Vec<String> = line.split('\t').map(unescape).collect();
            let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
            all.read(&fields).ok_or(Unusable::Line(at + 1))?;
        }
        Ok(all)
    }

    fn read(&mut self, fields: &[&str]) -> Option<()> {
        match fields {
            ["item", key, file, place] => {
                let (source, line) = place.rsplit_once(':')?;
                self.items.push(Item {
                    key: Key::parse(key)?,
                    file: (*file != "-").then(|| (*file).to_owned()),
                    place: Place { file: source.to_owned(), line: line.parse().ok()? },
                    calls: None,
                    faults: Vec::new(),
                    leaves: Vec::new(),
                });
            }
            ["calls", other] => self.items.last_mut()?.calls = Some((*other).to_owned()),
            fault => self.items.last_mut()?.faults.push(Fault::read(fault)?),
        }
        Some(())
    }
}

impl Item {
    fn is_in(&self, file: &str) -> bool {
        std::path::Path::new(&file.replace('\\', "/")).ends_with(&self.place.file)
    }

    fn is_at(&self, at: &Place) -> bool {
        self.place.line == at.line && self.is_in(&at.file)
    }
}

impl Fault {
    fn to_line(&self) -> String {
        let leaves = format!("{}-{}", self.leaves.0, self.leaves.1);
        line(&["error", self.code.number(), &leaves, &self.message, &self.help])
    }

    fn read(fields: &[&str]) -> Option<Fault> {
        let ["error", code, leaves, message, help] = fields else { return None };
        let (first, last) = leaves.split_once('-')?;
        Some(Fault {
            code: *Code::ALL.iter().find(|known| known.number() == *code)?,
            leaves: (usize::from_str(first).ok()?, usize::from_str(last).ok()?),
            message: (*message).to_owned(),
            help: (*help).to_owned(),
        })
    }
}

fn line(fields: &[&str]) -> String {
    let escape =
        |field: &&str| field.replace('\\', r"\\").replace('\t', r"\t").replace('\n', r"\n").replace('\r', r"\r");
    fields.iter().map(escape).collect::<Vec<_>>().join("\t")
}

fn unescape(field: &str) -> String {
    let mut out = String::with_capacity(field.len());
    let mut chars = field.chars();
    while let Some(char) = chars.next() {
        out.push(match char {
            '\\' => match chars.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    out
}

/// Why a list cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// Another version of fx-passes wrote it.
    Version(String),
    /// This line, counted from 1, is broken.
    Line(usize),
}

impl std::error::Error for Unusable {}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::Version(version) => write!(
                f,
                "the build script wrote its list of items in version {version}, but version {VERSION} is read here: \
                 `fx-passes` and `fx-runtime` are of different releases"
            ),
            Unusable::Line(line) => write!(f, "the build script's list of items is broken at line {line}"),
        }
    }
}

#[cfg(test)]
mod tests;
