//! Where generated code says that a node comes from.

use fx_ir::Node;

/// Which lines and layers a field comes from.
pub(super) fn origin_doc(node: &Node) -> String {
    let labels = label(node);
    match node.origin.lines() {
        Some(lines) if !labels.is_empty() => format!("/// `{labels}` ({lines})\n"),
        _ => String::new(),
    }
}

/// What the user would call a node: `conv1, bn1, relu`, and `layer1.*.{conv1, bn1}, relu` for parts of one module.
pub(super) fn label(node: &Node) -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for label in &node.origin.labels {
        let (parent, last) = label.rsplit_once('.').unwrap_or(("", label));
        match groups.last_mut() {
            Some((known, parts)) if *known == parent && !parent.is_empty() => parts.push(last),
            _ => groups.push((parent, vec![last])),
        }
    }
    let group = |(parent, parts): &(&str, Vec<&str>)| match (*parent, parts.as_slice()) {
        ("", parts) => parts.join(", "),
        (parent, [one]) => format!("{parent}.{one}"),
        (parent, many) => format!("{parent}.{{{}}}", many.join(", ")),
    };
    groups.iter().map(group).collect::<Vec<String>>().join(", ")
}
