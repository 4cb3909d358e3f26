//! How much of each body is understood: what the report of the build says, against what is said beside the body.
//!
//! A figure in either direction fails: what became opaque by mistake, and what became better without being written down.

use std::collections::BTreeMap;
use std::fmt;

use fx_runtime::registry::inventory;

/// The report that the build script has written of this crate.
const REPORT: &str = include_str!(concat!(env!("OUT_DIR"), "/fx/report.txt"));

/// Operations that are understood, of all.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) known: usize,
    pub(crate) all: usize,
}

impl Share {
    fn is_whole(self) -> bool {
        self.known == self.all
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.known, self.all)
    }
}

/// What is said beside a body that is not understood whole, by design.
pub(crate) struct Said {
    /// The type's name, without spaces.
    pub(crate) name: &'static str,
    /// The file, seen from the workspace.
    pub(crate) file: &'static str,
    pub(crate) share: Share,
}

inventory::collect!(Said);

/// `understood!(Net: 3 of 7)`: that much of a type's entries, in the file that holds them, is understood; of what has no
/// such line it is all.
macro_rules! understood {
    ($name:ty: $known:literal of $all:literal) => {
        fx_runtime::registry::inventory::submit! {
            $crate::check::Said {
                name: stringify!($name),
                file: file!(),
                share: $crate::check::Share { known: $known, all: $all },
            }
        }
    };
}
pub(crate) use understood;

/// A type's name and its file, seen from the crate.
type Key = (&'static str, &'static str);

/// What the report says: the lines of a type's entries summed up.
fn reported() -> BTreeMap<Key, Share> {
    let mut all: BTreeMap<Key, Share> = BTreeMap::new();
    for (key, line) in REPORT.lines().filter_map(read) {
        let sum = all.entry(key).or_insert(Share { known: 0, all: 0 });
        *sum = Share { known: sum.known + line.known, all: sum.all + line.all };
    }
    all
}

/// Reads a line of the report: "`Net::encode` (src/net.rs:8): 3 of 7 operations understood, 42.9 %".
fn read(line: &'static str) -> Option<(Key, Share)> {
    let (name, rest) = line.strip_prefix('`')?.split_once("` (")?;
    let (place, rest) = rest.split_once("): ")?;
    let (known, rest) = rest.split_once(" of ")?;
    let (all, _) = rest.split_once(" operations understood")?;
    let (file, _) = place.rsplit_once(':')?;
    let name = name.split_once("::").map_or(name, |(of, _)| of);
    Some(((name, file), Share { known: known.parse().ok()?, all: all.parse().ok()? }))
}

/// What is expected of a type whose entries lie in that file.
fn expected((name, file): Key, found: Share) -> Share {
    let said = inventory::iter::<Said>.into_iter().find(|said| said.name == name && said.file.ends_with(file));
    said.map_or(Share { known: found.all, all: found.all }, |said| said.share)
}

/// The line that is right of it.
fn line((name, file): Key, found: Share) -> String {
    let figure = format!("{file}: {found} operations of `{name}` are understood");
    if found.is_whole() { figure } else { format!("{figure}: `understood!({name}: {found});`") }
}

/// Whether all of a type is understood; `file` is where it is tested.
pub(crate) fn is_whole(name: &str, file: &str) -> bool {
    reported().iter().filter(|(key, _)| key.0 == name && file.ends_with(key.1)).all(|(_, share)| share.is_whole())
}

/// A body that is understood whole and yet cannot be run node by node, and the reason.
pub(crate) struct NotInterpreted {
    /// The type's name, without spaces.
    pub(crate) name: &'static str,
    /// The file, seen from the workspace.
    pub(crate) file: &'static str,
    /// What the error says.
    pub(crate) reason: &'static str,
}

inventory::collect!(NotInterpreted);

/// `not_interpreted!(Net: "what the error says")`: the graph of such a model does not run node by node.
macro_rules! not_interpreted {
    ($name:ty: $reason:literal) => {
        fx_runtime::registry::inventory::submit! {
            $crate::check::NotInterpreted { name: stringify!($name), file: file!(), reason: $reason }
        }
    };
}
pub(crate) use not_interpreted;

/// Panics where the graph of a model that is understood whole does not run, unless that is said beside the body.
pub(crate) fn assert_not_interpreted(name: &str, file: &str, error: &str) {
    let said = inventory::iter::<NotInterpreted>.into_iter().find(|said| said.name == name && said.file == file);
    let is_known = said.is_some_and(|said| error.contains(said.reason));
    assert!(is_known || !is_whole(name, file), "the graph of `{name}` does not run: {error}");
}

/// Panics where another share of the type is understood than is said beside it; `file` is where it is tested.
pub(crate) fn assert_understood(name: &str, file: &str) {
    let all = reported();
    let of_name: Vec<Key> = all.keys().copied().filter(|key| key.0 == name).collect();
    let here = of_name.iter().find(|key| file.ends_with(key.1));
    let key = match (here, of_name.as_slice()) {
        (Some(key), _) | (None, [key]) => *key,
        (None, found) => panic!("the report of the build tells {} types `{name}` that `{file}` can mean", found.len()),
    };
    let (found, expected) = (all[&key], expected(key, all[&key]));
    assert!(found == expected, "{}, and {expected} are expected", line(key, found));
}

/// Those too that no test freezes by themselves, since they are parts of others or get no frozen type.
#[test]
fn as_much_of_each_item_is_understood_as_is_said() {
    let all = reported();
    assert!(all.len() > 300, "only {} types are told of in the report", all.len());
    let mut wrong: Vec<String> = Vec::new();
    for (key, found) in &all {
        let expected = expected(*key, *found);
        if *found != expected {
            wrong.push(format!("{}, and {expected} are expected", line(*key, *found)));
        }
    }
    for said in inventory::iter::<Said> {
        if !all.keys().any(|key| key.0 == said.name && said.file.ends_with(key.1)) {
            wrong.push(format!("{}: there is no entry of `{}`", said.file, said.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
