//! What a build script says of rules, in the form that `fx-passes` writes (its `build/why.rs`): a fact a line, fields between tabs.

/// The facts.
#[derive(Default)]
pub(super) struct Answer {
    /// All rules, and passes without rules.
    pub(super) known: Vec<Rule>,
    /// The names of those that are meant.
    pub(super) asked: Vec<String>,
    pub(super) models: Vec<Model>,
}

/// A rule as it was written; a pass without rules has a name and a sentence alone.
#[derive(Default)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) doc: String,
    pub(super) before: String,
    pub(super) after: String,
    pub(super) guard: String,
}

/// A model, with the rules that applied or nearly did.
pub(super) struct Model {
    pub(super) name: String,
    pub(super) rules: Vec<Of>,
}

/// What a rule did in a model.
#[derive(Default)]
pub(super) struct Of {
    pub(super) name: String,
    pub(super) applied: usize,
    /// The nearest first.
    pub(super) near: Vec<Near>,
}

/// A node at which a rule could have begun.
pub(super) struct Near {
    pub(super) node: String,
    pub(super) places: Vec<String>,
    pub(super) reason: String,
    /// How many operations of the pattern fitted.
    pub(super) matched: usize,
}

impl Answer {
    /// Reads the file; lines of a form that a later version may have are passed over.
    pub(super) fn parse(text: &str) -> Answer {
        let mut answer = Answer::default();
        for line in text.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            match fields[..] {
                ["rule", name, doc, before, after, guard] => {
                    let [name, doc, before, after, guard] = [name, doc, before, after, guard].map(str::to_owned);
                    answer.known.push(Rule { name, doc, before, after, guard });
                }
                ["pass", name, doc] => {
                    answer.known.push(Rule { name: name.to_owned(), doc: doc.to_owned(), ..Rule::default() });
                }
                ["asked", name] => answer.asked.push(name.to_owned()),
                ["model", name] => _ = answer.model(name),
                ["applied", model, rule, count] => {
                    answer.model(model).rule(rule).applied += count.parse().unwrap_or(0);
                }
                ["near", model, rule, matched, node, places, reason] => {
                    let places = places.split(',').filter(|place| !place.is_empty()).map(str::to_owned).collect();
                    let (node, reason, matched) = (node.to_owned(), reason.to_owned(), matched.parse().unwrap_or(0));
                    answer.model(model).rule(rule).near.push(Near { node, places, reason, matched });
                }
                _ => {}
            }
        }
        for rule in answer.models.iter_mut().flat_map(|model| &mut model.rules) {
            rule.near.sort_by_key(|near| std::cmp::Reverse(near.matched));
        }
        answer
    }

    fn model(&mut self, name: &str) -> &mut Model {
        let at = self.models.iter().position(|model| model.name == name).unwrap_or_else(|| {
            self.models.push(Model { name: name.to_owned(), rules: Vec::new() });
            self.models.len() - 1
        });
        &mut self.models[at]
    }
}

impl Model {
    fn rule(&mut self, name: &str) -> &mut Of {
        let at = self.rules.iter().position(|rule| rule.name == name).unwrap_or_else(|| {
            self.rules.push(Of { name: name.to_owned(), ..Of::default() });
            self.rules.len() - 1
        });
        &mut self.rules[at]
    }
}
