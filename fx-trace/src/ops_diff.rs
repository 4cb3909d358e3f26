//! Which operators came, went, and run more or less often: the five lists of HTA's `ops_diff`.

use serde::Serialize;

/// Names by how their counts changed, each list in the order of the table that it comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OpsDiff {
    /// Only the test trace has them.
    pub added: Vec<String>,
    /// Only the control trace has them.
    pub deleted: Vec<String>,
    /// Both have them, the test trace more often.
    pub increased: Vec<String>,
    /// Both have them, the test trace less often.
    pub decreased: Vec<String>,
    /// Both have them equally often.
    pub unchanged: Vec<String>,
}

impl OpsDiff {
    /// Sorts names, each with its count in the control and in the test trace.
    pub fn of<'a>(rows: impl IntoIterator<Item = (&'a str, f64, f64)>) -> Self {
        let mut lists = Self::default();
        for (name, control, test) in rows {
            let list = if control <= 0.0 && test <= 0.0 {
                continue;
            } else if control <= 0.0 {
                &mut lists.added
            } else if test <= 0.0 {
                &mut lists.deleted
            } else if test > control {
                &mut lists.increased
            } else if test < control {
                &mut lists.decreased
            } else {
                &mut lists.unchanged
            };
            list.push(name.to_owned());
        }
        lists
    }

    /// The lists with their names.
    pub fn lists(&self) -> [(&'static str, &[String]); 5] {
        [
            ("added", &self.added),
            ("deleted", &self.deleted),
            ("increased", &self.increased),
            ("decreased", &self.decreased),
            ("unchanged", &self.unchanged),
        ]
    }

    /// Whether an operator came, went, or changed its count.
    pub fn is_change(&self) -> bool {
        self.lists().iter().any(|(name, list)| *name != "unchanged" && !list.is_empty())
    }
}
