//! A recipe: where a crate is from, what makes it compile with today's tch, and its models. One TOML file a crate.
//!
//! ```toml
//! [source]                                  # or `package = "vit_tch"` and `version = "0.1.0"`, from crates.io
//! git = "https://github.com/owner/name"
//! commit = "5ee6eab67c06535498fd4effb7befe4d97913f47"
//!
//! [prepare]                                 # in this order; all of it may be left out
//! keep = ["src/**"]
//! remove = ["src/data.rs"]
//! move = { "src/main.rs" = "src/lib.rs" }
//! edit = [{ files = "src/*.rs", find = '(?m)^mod data;\n', replace = "" }]
//! files = { "Cargo.toml" = "[package] .." }
//!
//! [build]                                   # as `[crate.NAME]` of corpus.toml
//! features = ["tch"]
//!
//! [[model]]                                 # as in corpus.toml, without the crate
//! type = "name::Net"
//! new = "name::Net::new(p)"
//! inputs = ["1x3x32x32"]
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use regex::Regex;
use serde::Deserialize;

use super::list::{Model, Settings};
use crate::failure::{Failure, Result};

/// What a recipe's file says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Recipe {
    pub(super) source: Source,
    #[serde(default)]
    pub(super) prepare: Preparation,
    #[serde(default)]
    pub(super) build: Settings,
    #[serde(default, rename = "model")]
    pub(super) models: Vec<Model>,
}

/// Where a crate is from.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Origin")]
pub(super) enum Source {
    /// A repository and one commit of it.
    Git { url: String, commit: String },
    /// A package of crates.io.
    Registry { package: String, version: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Origin {
    git: Option<String>,
    commit: Option<String>,
    package: Option<String>,
    version: Option<String>,
}

impl TryFrom<Origin> for Source {
    type Error = String;

    fn try_from(origin: Origin) -> std::result::Result<Self, String> {
        match origin {
            Origin { git: Some(url), commit: Some(commit), package: None, version: None } => {
                if commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    return Ok(Self::Git { url, commit });
                }
                Err(format!("`{commit}` is no commit: all 40 digits are needed, since a name may move"))
            }
            Origin { git: None, commit: None, package: Some(package), version: Some(version) } => {
                Ok(Self::Registry { package, version })
            }
            _ => Err("a source is either `git` and `commit` or `package` and `version`".to_owned()),
        }
    }
}

/// What is done to a crate's files, in the order of the fields.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Preparation {
    /// The files that are taken; all of them where none are named.
    #[serde(default)]
    pub(super) keep: Vec<Glob>,
    /// Those of them that are not.
    #[serde(default)]
    pub(super) remove: Vec<Glob>,
    /// Old paths and new ones.
    #[serde(default, rename = "move")]
    pub(super) moves: BTreeMap<String, Inside>,
    #[serde(default, rename = "edit")]
    pub(super) edits: Vec<Edit>,
    /// Files of ours, by their paths.
    #[serde(default)]
    pub(super) files: BTreeMap<Inside, String>,
}

/// Replaces what a pattern matches, wherever it does.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    pub(super) files: Glob,
    pub(super) find: Pattern,
    /// As `Regex::replace_all` takes it: `$1` or `${name}` are groups.
    pub(super) replace: String,
}

/// A path below the crate's folder.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(try_from = "String")]
pub(super) struct Inside(pub(super) String);

impl TryFrom<String> for Inside {
    type Error = String;

    fn try_from(path: String) -> std::result::Result<Self, String> {
        let is_inside = path.split(['/', '\\']).all(|part| !matches!(part, "" | "." | ".."));
        if is_inside { Ok(Self(path)) } else { Err(format!("`{path}` is no path below the crate's folder")) }
    }
}

/// Paths by a pattern: `*` is part of one name, `**` goes through folders.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Glob {
    pub(super) text: String,
    regex: Regex,
}

impl Glob {
    pub(super) fn matches(&self, path: &str) -> bool {
        self.regex.is_match(path)
    }
}

impl TryFrom<String> for Glob {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Self, String> {
        let escaped = regex::escape(&text).replace(r"\*\*/", "(.*/)?").replace(r"\*\*", ".*").replace(r"\*", "[^/]*");
        let regex = Regex::new(&format!("^{escaped}$")).map_err(|error| format!("`{text}` names no files: {error}"))?;
        Ok(Self { text, regex })
    }
}

/// A regular expression, as the crate `regex` has them.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Pattern(pub(super) Regex);

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Self, String> {
        Regex::new(&text).map(Self).map_err(|error| format!("`{text}` is no regular expression: {error}"))
    }
}

/// Reads a recipe.
pub(super) fn read(path: &Path) -> Result<Recipe> {
    let text = fs::read_to_string(path).map_err(|error| Failure::file("read", path, &error))?;
    toml::from_str(&text).map_err(|error| {
        Failure::new(format!("`{}` is no recipe of a crate", path.display()))
            .looked(error.to_string())
            .help("`xtask/src/corpus/recipe.rs` shows what one has")
    })
}

#[cfg(test)]
mod tests {
    use super::{Glob, Recipe};

    #[test]
    fn globs() {
        let matches = |glob: &str, path: &str| Glob::try_from(glob.to_owned()).expect("a glob").matches(path);
        assert!(matches("src/*.rs", "src/lib.rs") && !matches("src/*.rs", "src/a/b.rs"));
        assert!(matches("src/**", "src/a/b.rs") && !matches("src/**", "srcs/a.rs"));
        assert!(matches("**/*.rs", "a.rs") && matches("**/*.rs", "a/b/c.rs") && !matches("**/*.rs", "a.rsx"));
        assert!(!matches("a.rs", "a-rs"));
    }

    #[test]
    fn recipes_that_are_wrong() {
        let commit = "5ee6eab67c06535498fd4effb7befe4d97913f47";
        let git = format!("[source]\ngit = \"u\"\ncommit = \"{commit}\"\n");
        let rows = [
            ("[source]\ngit = \"u\"\n".to_owned(), "either `git` and `commit`"),
            ("[source]\ngit = \"u\"\ncommit = \"main\"\n".to_owned(), "`main` is no commit"),
            (format!("{git}[prepare]\nfiles = {{ \"../a\" = \"\" }}\n"), "`../a` is no path below"),
            (format!("{git}[prepare]\nmove = {{ a = \"/b\" }}\n"), "`/b` is no path below"),
            (
                format!("{git}[[prepare.edit]]\nfiles = \"a\"\nfind = \"(\"\nreplace = \"\"\n"),
                "`(` is no regular expression",
            ),
            (format!("{git}[prepare]\nkept = []\n"), "unknown field `kept`"),
            (format!("{git}[[model]]\ntype = \"a\"\nnew = \"b\"\ninputs = []\nuse_ = 1\n"), "unknown field `use_`"),
        ];
        for (text, expected) in rows {
            let error = toml::from_str::<Recipe>(&text).expect_err(&text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let found = toml::from_str::<Recipe>("[source]\npackage = \"a\"\nversion = \"1.0.0\"\n");
        assert!(found.is_ok(), "{found:?}");
    }
}
