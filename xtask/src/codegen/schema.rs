//! PyTorch's operator list: `native_functions.yaml` and the schema language in it.
//!
//! The file is YAML of a very regular kind, one operator an entry and one field a line, and is read as such. Operators
//! that an `autogen:` field promises are derived from their entry by PyTorch's own rule: `x.out` takes the results as
//! arguments `out`, and `x` from `x_` leaves its receiver alone.

/// One operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Schema {
    /// The name without namespace and overload: `add_`.
    pub(super) name: String,
    /// The overload, or nothing: `Scalar`.
    pub(super) overload: String,
    /// In the order of the C++ function: tensors for the results (`*, Tensor(a!) out`) come first.
    pub(super) args: Vec<Arg>,
    /// The result's types: `Tensor(a!)`.
    pub(super) results: Vec<String>,
    pub(super) tags: Vec<String>,
}

/// One argument of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arg {
    pub(super) name: String,
    /// The type without its alias annotation: `Tensor`, `SymInt[2]`, `ScalarType?`.
    pub(super) ty: String,
    /// The alias annotation: `a`, `a!`, or nothing.
    pub(super) alias: String,
    pub(super) default: Option<String>,
}

impl Schema {
    /// `aten::add.Scalar`
    pub(super) fn full_name(&self) -> String {
        let dot = if self.overload.is_empty() { "" } else { "." };
        format!("aten::{}{dot}{}", self.name, self.overload)
    }

    pub(super) fn has_tag(&self, tag: &str) -> bool {
        self.tags.iter().any(|have| have == tag)
    }
}

/// All operators of the list, with the promised ones.
pub(super) fn parse_list(text: &str) -> Vec<Schema> {
    let mut schemas = Vec::new();
    for entry in text.split("\n- func: ").skip(1) {
        let mut lines = entry.lines();
        let Some(mut schema) = lines.next().and_then(parse_schema) else {
            continue;
        };
        let fields: Vec<&str> = lines.map(str::trim).collect();
        let field = |name: &str| fields.iter().find_map(|line| line.strip_prefix(name)).map(list).unwrap_or_default();
        schema.tags = field("tags:");
        schemas.extend(field("autogen:").iter().map(|name| derived(&schema, name)));
        schemas.push(schema);
    }
    schemas
}

/// The words of a field's value, with or without brackets, a comment cut off.
fn list(value: &str) -> Vec<String> {
    let value = value.split('#').next().unwrap_or_default();
    let words = value.split(',').map(|word| word.trim_matches([' ', '[', ']']));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// One schema: `add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`.
fn parse_schema(text: &str) -> Option<Schema> {
    let (name, rest) = text.trim().split_once('(')?;
    let (args, results) = rest.rsplit_once(" -> ")?;
    let args = args.strip_suffix(')')?;
    let (name, overload) = name.split_once('.').unwrap_or((name, ""));
    let results = results.strip_prefix('(').and_then(|list| list.strip_suffix(')')).unwrap_or(results);
    let args = split(args);
    let (given, keyword) = args.split_at(args.iter().position(|arg| *arg == "*").unwrap_or(args.len()));
    let keyword = keyword.iter().skip(1).filter_map(|arg| parse_arg(arg));
    let (outs, keyword): (Vec<_>, Vec<_>) = keyword.partition(|arg| arg.alias.contains('!'));
    let given = given.iter().filter_map(|arg| parse_arg(arg));
    Some(Schema {
        name: name.to_owned(),
        overload: overload.to_owned(),
        args: outs.into_iter().chain(given).chain(keyword).collect(),
        results: split(results).into_iter().filter_map(|result| Some(result.split(' ').next()?.to_owned())).collect(),
        tags: Vec::new(),
    })
}

/// Splits at commas that no bracket or quote encloses.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (place, letter) in text.char_indices() {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..place].trim());
                start = place + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// One argument: `Tensor(a!) self`, `int[2] stride=1`.
fn parse_arg(text: &str) -> Option<Arg> {
    let (declared, default) = match text.split_once('=') {
        Some((declared, default)) => (declared, Some(default.to_owned())),
        None => (text, None),
    };
    let (ty, name) = declared.rsplit_once(' ')?;
    let (ty, alias) = match ty.split_once('(') {
        Some((head, rest)) => {
            let (alias, tail) = rest.split_once(')')?;
            (format!("{head}{tail}"), alias.to_owned())
        }
        None => (ty.to_owned(), String::new()),
    };
    Some(Arg { name: name.to_owned(), ty, alias, default })
}

/// The operator `name` that `base` promises.
fn derived(base: &Schema, name: &str) -> Schema {
    let (name, overload) = name.split_once('.').unwrap_or((name, ""));
    let mut schema = Schema { name: name.to_owned(), overload: overload.to_owned(), ..base.clone() };
    let written: Vec<&Arg> = base.args.iter().filter(|arg| arg.alias.contains('!')).collect();
    for arg in &mut schema.args {
        arg.alias.clear();
    }
    if overload == "out" || overload.ends_with("_out") {
        schema.args.splice(0..0, outs(&base.results));
        // Lists of results are written in place, and nothing is returned.
        let has_list = base.results.iter().any(|ty| ty.contains('['));
        schema.results = vec!["Tensor(a!)".to_owned(); if has_list { 0 } else { base.results.len() }];
    } else {
        // What the base wrote to is returned, unless it was a result already.
        let is_result = |arg: &Arg| base.results.iter().any(|ty| ty.contains(&format!("({})", arg.alias)));
        schema.results.iter_mut().for_each(|ty| *ty = plain(ty));
        schema.results.extend(written.iter().filter(|arg| !is_result(arg)).map(|arg| arg.ty.clone()));
    }
    schema
}

/// Arguments that take the place of results.
fn outs(results: &[String]) -> Vec<Arg> {
    let name = |index: usize| {
        if results.len() == 1 { "out".to_owned() } else { format!("out{index}") }
    };
    let out =
        |(index, ty): (usize, &String)| Arg { name: name(index), ty: plain(ty), alias: "a!".to_owned(), default: None };
    results.iter().enumerate().map(out).collect()
}

/// A type without its alias annotation.
fn plain(ty: &str) -> String {
    match (ty.split_once('('), ty.split_once(')')) {
        (Some((head, _)), Some((_, tail))) => format!("{head}{tail}"),
        _ => ty.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_list;

    const LIST: &str = "
- func: add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
  variants: method
  tags: [core, pointwise] # both

- func: split.sizes(Tensor(a -> *) self, SymInt[] sizes, int[2] pad=[0, 1]) -> Tensor(a)[]

- func: native_dropout(Tensor input, float p) -> (Tensor out, Tensor mask)
  autogen: native_dropout.out

- func: add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
";

    #[test]
    fn reads_names_types_and_tags() {
        let schemas = parse_list(LIST);
        assert_eq!(schemas[0].full_name(), "aten::add_.Tensor");
        assert_eq!(schemas[0].args[0].alias, "a!");
        assert_eq!(schemas[0].args[2].default.as_deref(), Some("1"));
        assert_eq!(schemas[0].tags, ["core", "pointwise"]);
        assert_eq!(schemas[1].args[0].alias, "a -> *");
        assert_eq!(schemas[1].args[2].default.as_deref(), Some("[0, 1]"));
        assert_eq!(schemas[1].results, ["Tensor(a)[]"]);
    }

    #[test]
    fn results_come_first_among_arguments() {
        let schemas = parse_list(LIST);
        let names: Vec<_> = schemas[4].args.iter().map(|arg| arg.name.as_str()).collect();
        assert_eq!(names, ["out", "self", "other", "alpha"]);
    }

    #[test]
    fn derives_the_promised() {
        let schemas = parse_list(LIST);
        assert_eq!(schemas[2].full_name(), "aten::native_dropout.out");
        let names: Vec<_> = schemas[2].args.iter().map(|arg| arg.name.as_str()).collect();
        assert_eq!(names, ["out0", "out1", "input", "p"]);
    }
}
