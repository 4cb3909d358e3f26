//! Where a node comes from: source lines, modules, the names that the user gave, and the passes that made it.

use std::fmt;

use crate::text::interned;

/// The origin of a node. A node made by a pass inherits the origins of what it replaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The user's source lines, in the order of the computation.
    pub places: Vec<Place>,
    /// Its names to the user: field paths and ops (`conv1`, `bn1`, `relu`).
    pub labels: Vec<String>,
    /// The modules in whose forwards it stands, outermost first, the model itself at the head.
    pub nn_module_stack: Vec<ModuleScope>,
    /// The passes that made it.
    pub passes: Vec<&'static str>,
}

/// A module in whose forward a node stands, as torch.fx's `nn_module_stack` has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleScope {
    /// The module's path in the model (`layer1.0`, with `*` for the element of a loop); empty for the model itself.
    pub path: String,
    /// The name of its type without the type's path.
    pub ty: String,
}

/// A place in the user's source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The file, relative to the crate's root: `src/model.rs`.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
}

impl Origin {
    /// The origin of what the user wrote at `place` and would call `label`.
    pub fn user(place: Place, label: impl Into<String>) -> Origin {
        Origin { places: vec![place], labels: vec![label.into()], ..Origin::default() }
    }

    /// The source lines in the order of the source, each file named once: `src/lib.rs:12,14,17`. `None` where no line
    /// is known.
    pub fn lines(&self) -> Option<String> {
        let mut places: Vec<&Place> = self.places.iter().collect();
        places.sort();
        places.dedup();
        let files = places.chunk_by(|one, next| one.file == next.file).map(|lines| {
            let numbers: Vec<String> = lines.iter().map(|place| place.line.to_string()).collect();
            format!("{}:{}", lines[0].file, numbers.join(","))
        });
        let files: Vec<String> = files.collect();
        (!files.is_empty()).then(|| files.join(" + "))
    }

    /// The innermost modules that it stands in, each as `path: Type`, the model itself as its type.
    pub fn modules(&self) -> String {
        let stack = &self.nn_module_stack;
        let holds = |outer: &ModuleScope, inner: &ModuleScope| {
            let below = inner.path.strip_prefix(outer.path.as_str()).unwrap_or_default();
            outer.path.is_empty() && !inner.path.is_empty() || below.starts_with('.')
        };
        let innermost = stack.iter().filter(|module| !stack.iter().any(|other| holds(module, other)));
        innermost.map(ToString::to_string).collect::<Vec<String>>().join(" + ")
    }

    /// Notes that the pass of that name took part.
    pub fn add_pass(&mut self, name: &str) {
        push_new(&mut self.passes, &[interned(name)]);
    }

    /// The origin of a node that `pass` made out of nodes with these origins.
    pub fn merged<'a>(pass: &'static str, parts: impl IntoIterator<Item = &'a Origin>) -> Origin {
        let mut out = Origin::default();
        for part in parts {
            push_new(&mut out.places, &part.places);
            push_new(&mut out.labels, &part.labels);
            push_new(&mut out.nn_module_stack, &part.nn_module_stack);
            push_new(&mut out.passes, &part.passes);
        }
        push_new(&mut out.passes, &[pass]);
        out
    }
}

fn push_new<T: Clone + PartialEq>(into: &mut Vec<T>, from: &[T]) {
    for item in from {
        if !into.contains(item) {
            into.push(item.clone());
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl fmt::Display for ModuleScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.ty) } else { write!(f, "{}: {}", self.path, self.ty) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_in_the_order_of_the_source() {
        let at = |file: &str, line| Place { file: file.to_owned(), line };
        let places = vec![at("src/b.rs", 3), at("src/a.rs", 14), at("src/a.rs", 9), at("src/a.rs", 14)];
        let origin = Origin { places, ..Origin::default() };
        assert_eq!(origin.lines().as_deref(), Some("src/a.rs:9,14 + src/b.rs:3"));
        assert_eq!(Origin::default().lines(), None);
    }

    #[test]
    fn a_merged_origin_stands_in_the_modules_of_all_parts() {
        let scope = |path: &str, ty: &str| ModuleScope { path: path.to_owned(), ty: ty.to_owned() };
        let inside = |inner: &[ModuleScope]| Origin {
            nn_module_stack: [&[scope("", "Net")], inner].concat(),
            ..Origin::default()
        };
        let merged = Origin::merged(
            "fuse",
            [
                &inside(&[scope("layer1", "Sequential"), scope("layer1.0", "Block")]),
                &inside(&[scope("layer10", "Block")]),
                &inside(&[]),
            ],
        );
        let paths: Vec<&str> = merged.nn_module_stack.iter().map(|module| module.path.as_str()).collect();
        assert_eq!(paths, ["", "layer1", "layer1.0", "layer10"]);
        assert_eq!(merged.modules(), "layer1.0: Block + layer10: Block");
    }
}
