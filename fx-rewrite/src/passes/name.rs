//! The name of a layer's kernel: the layer's path in the model, as far as it tells the layers of one struct apart.

use fx_ir::{Graph, NodeId, Origin};

/// The name of the layer that a node comes from: its first label without what lies outside the innermost loop, and of
/// that the last two fields, or more where those are only positions. `layer1.*.downsample.conv` is `downsample_conv`,
/// `features.0.1` is `features_0_1`.
pub fn layer_name(origin: &Origin) -> String {
    let label = origin.labels.first().map_or("", String::as_str);
    let is_position = |field: &&str| field.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    let (outer, inner) = label.rsplit_once('*').unwrap_or(("", label));
    let mut fields: Vec<&str> = inner.split('.').filter(|field| !field.is_empty()).collect();
    if fields.iter().all(is_position) && !fields.is_empty() {
        // A part of an element that has no name of its own: `blocks.*.0` is `blocks_0`.
        fields.splice(0..0, outer.split(['.', '*']).rfind(|field| !field.is_empty()));
    }
    let named = fields.iter().rposition(|field| !is_position(field)).unwrap_or(0);
    let name = fields[fields.len().saturating_sub(2).min(named)..].join("_").replace('-', "");
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let name = name.replace(|c| !is_word(c), "_");
    if name.is_empty() { "kernel".to_owned() } else { name }
}

/// The name of a part of the layer that `id` comes from: `conv1_weight`.
pub(super) fn part_name(graph: &Graph, id: NodeId, part: &str) -> String {
    format!("{}_{part}", layer_name(&graph.node(id).origin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_called_by_their_fields() {
        let labels =
            ["conv1", "layer1.*.conv1", "layer1.*.downsample.conv", "features.0.-1", "a.b.c.d", "", "x.*", "x.*.0"];
        let name = |label: &str| layer_name(&Origin { labels: vec![label.to_owned()], ..Origin::default() });
        let want = ["conv1", "conv1", "downsample_conv", "features_0_1", "c_d", "kernel", "kernel", "x_0"];
        assert_eq!(labels.map(name), want);
    }
}
