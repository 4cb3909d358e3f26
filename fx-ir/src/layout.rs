//! Where the boxes of a drawing lie: in layers, each node below what it reads, with few crossings.
//!
//! An edge that skips layers passes through points in them, which take part in the order like boxes do. The order within a
//! layer follows the mean of the neighbours' places (Sugiyama et al., "Methods for visual understanding of hierarchical
//! system structures", 1981); places are the mean of the neighbours' as well, as far as the boxes leave room.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::{Graph, NodeId};

/// The space between neighbours of a layer.
const GAP: f64 = 24.0;

/// How often the layers are gone through, down and up.
const SWEEPS: usize = 8;

/// The places of a graph's nodes.
#[derive(Debug)]
pub(crate) struct Layout {
    /// By node its layer and the middle of its box.
    pub(crate) boxes: BTreeMap<NodeId, (usize, f64)>,
    /// The edges, each by its ends and what lies between: layers and places.
    pub(crate) edges: Vec<Edge>,
    /// The number of layers.
    pub(crate) layers: usize,
    /// The width of the whole.
    pub(crate) width: f64,
}

/// An edge from what is read, or what owns the region, to a node.
#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) points: Vec<(usize, f64)>,
    /// Whether it leads from a node into its region.
    pub(crate) is_owner: bool,
}

/// A box, or a point on an edge that skips its layer.
struct Item {
    layer: usize,
    width: f64,
    at: f64,
    above: Vec<usize>,
    below: Vec<usize>,
}

impl Layout {
    /// The layout of a graph whose boxes have these widths.
    pub(crate) fn of(graph: &Graph, width: impl Fn(NodeId) -> f64) -> Layout {
        let layers = layers(graph);
        let mut items = Vec::new();
        let mut boxes = BTreeMap::new();
        for (&id, &layer) in &layers {
            boxes.insert(id, items.len());
            items.push(Item { layer, width: width(id), at: 0.0, above: Vec::new(), below: Vec::new() });
        }
        let mut points = BTreeMap::new();
        let mut edges = Vec::new();
        for (from, to, is_owner) in arrows(graph) {
            let path = path((boxes[&from], boxes[&to]), &mut items, &mut points);
            edges.push((path, is_owner));
        }
        let mut order = vec![Vec::new(); items.iter().map(|item| item.layer + 1).max().unwrap_or(0)];
        for (number, item) in items.iter().enumerate() {
            order[item.layer].push(number);
        }
        for sweep in 0..SWEEPS {
            let is_down = sweep % 2 == 0;
            let rows: Vec<usize> = if is_down { (0..order.len()).collect() } else { (0..order.len()).rev().collect() };
            for row in rows {
                settle(&mut order[row], &mut items, is_down, sweep + 2 < SWEEPS);
            }
        }
        let left = items.iter().map(|item| item.at - item.width / 2.0).fold(f64::INFINITY, f64::min);
        let right = items.iter().map(|item| item.at + item.width / 2.0).fold(f64::NEG_INFINITY, f64::max);
        let place = |number: usize| (items[number].layer, items[number].at - left);
        Layout {
            boxes: boxes.into_iter().map(|(id, number)| (id, place(number))).collect(),
            edges: edges
                .into_iter()
                .map(|(path, is_owner)| Edge { points: path.into_iter().map(place).collect(), is_owner })
                .collect(),
            layers: order.len(),
            width: (right - left).max(0.0),
        }
    }
}

/// What is read, and by whom; and what owns regions, and the nodes in them that read nothing of their region.
fn arrows(graph: &Graph) -> Vec<(NodeId, NodeId, bool)> {
    let mut out = Vec::new();
    for id in graph.nodes() {
        let mut inputs: Vec<NodeId> = graph.node(id).inputs().collect();
        inputs.sort_unstable();
        inputs.dedup();
        let scope = graph.scope_of(id);
        let owner = scope.and_then(|region| graph.owner_of(region));
        let is_first = !inputs.iter().any(|&input| graph.scope_of(input) == scope);
        out.extend(owner.filter(|_| is_first).map(|owner| (owner, id, true)));
        out.extend(inputs.into_iter().map(|input| (input, id, false)));
    }
    out
}

/// By node the number of its layer: below all that it reads, and what is within regions below their owner. Attributes lie
/// right above those who read them.
fn layers(graph: &Graph) -> BTreeMap<NodeId, usize> {
    let mut layers: BTreeMap<NodeId, usize> = BTreeMap::new();
    // The last layer of a node with what is in its regions.
    let mut ready: BTreeMap<NodeId, usize> = BTreeMap::new();
    for id in graph.nodes() {
        let owners: Vec<NodeId> = std::iter::successors(Some(id), |&id| graph.parent(id)).collect();
        // Control flow lies below what its regions read as well.
        let readers = std::iter::once(id).chain(graph.inner_nodes(id));
        let inputs = readers.flat_map(|reader| graph.node(reader).inputs().collect::<Vec<_>>());
        let of_inputs = inputs.filter_map(|input| ready.get(&input)).map(|layer| layer + 1);
        let of_owner = owners.get(1).and_then(|owner| layers.get(owner)).map(|layer| layer + 1);
        let layer = of_inputs.chain(of_owner).max().unwrap_or(0);
        layers.insert(id, layer);
        for owner in owners {
            let last = ready.entry(owner).or_default();
            *last = (*last).max(layer);
        }
    }
    for id in graph.nodes() {
        let is_free = graph.node(id).args.is_empty() && graph.region_of(id) == Some(graph.body());
        let first = graph.users(id).iter().filter_map(|user| layers.get(user)).min().copied();
        if let Some(first) = first.filter(|&first| is_free && first > 0) {
            layers.insert(id, first - 1);
        }
    }
    layers
}

/// The items from one box to another. Points are shared by the edges of one box, and an edge begins at the last that it
/// shares with one before it.
fn path((from, to): (usize, usize), items: &mut Vec<Item>, points: &mut BTreeMap<(usize, usize), usize>) -> Vec<usize> {
    let mut path = vec![from];
    for layer in items[from].layer + 1..items[to].layer {
        match points.entry((from, layer)) {
            Entry::Occupied(known) => path = vec![*known.get()],
            Entry::Vacant(free) => {
                path.push(*free.insert(items.len()));
                items.push(Item { layer, width: 8.0, at: 0.0, above: Vec::new(), below: Vec::new() });
            }
        }
    }
    path.push(to);
    for pair in path.windows(2) {
        if !items[pair[0]].below.contains(&pair[1]) {
            items[pair[0]].below.push(pair[1]);
            items[pair[1]].above.push(pair[0]);
        }
    }
    path
}

/// Brings the items of a layer near their neighbours above, or below, and into their order if it may change.
fn settle(row: &mut [usize], items: &mut [Item], is_down: bool, may_reorder: bool) {
    let wish = |number: usize| -> f64 {
        let item = &items[number];
        let neighbours = if is_down { &item.above } else { &item.below };
        let count = u32::try_from(neighbours.len()).unwrap_or(u32::MAX);
        let sum: f64 = neighbours.iter().map(|&other| items[other].at).sum();
        if neighbours.is_empty() { item.at } else { sum / f64::from(count) }
    };
    let mut wished: Vec<(f64, usize)> = row.iter().map(|&number| (wish(number), number)).collect();
    if may_reorder {
        wished.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let apart = |a: usize, b: usize| f64::midpoint(items[a].width, items[b].width) + GAP;
    // The mean of two arrangements that keep their distances keeps them too.
    let (mut right, mut left) = (wished.clone(), wished.clone());
    for at in 1..right.len() {
        right[at].0 = right[at].0.max(right[at - 1].0 + apart(right[at - 1].1, right[at].1));
    }
    for at in (1..left.len()).rev() {
        left[at - 1].0 = left[at - 1].0.min(left[at].0 - apart(left[at - 1].1, left[at].1));
    }
    for (slot, (&(a, number), &(b, _))) in row.iter_mut().zip(right.iter().zip(&left)) {
        *slot = number;
        items[number].at = f64::midpoint(a, b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: &str = r#"graph f(x: tensor, flag: rust<bool>) {
        %a = call_module[Conv2D]("a", x) ; %b = call_module[BatchNorm]("b", %a) ; %c = relu(%b)
        %d = if(flag) { %e = neg(%c) ; %g = tanh(%e) ; yield %g } else { yield %c }
        %w = get_attr[weight]() ; %h = add(%d, x) ; %k = mul(%h, %w) ; %l = add(%k, %c) ; yield %l
    }"#;

    #[test]
    fn a_node_lies_below_what_it_reads() -> Result<(), crate::ParseError> {
        let graph: Graph = NETWORK.parse()?;
        let layout = Layout::of(&graph, |_| 80.0);
        for id in graph.nodes() {
            for input in graph.node(id).inputs() {
                assert!(layout.boxes[&input].0 < layout.boxes[&id].0, "{input:?} {id:?}");
            }
        }
        let attribute = graph.find_nodes("get_attr", None)[0];
        assert_eq!(layout.boxes[&attribute].0 + 1, layout.boxes[&graph.users(attribute)[0]].0);
        Ok(())
    }

    #[test]
    fn boxes_do_not_overlap() -> Result<(), crate::ParseError> {
        let graph: Graph = NETWORK.parse()?;
        let layout = Layout::of(&graph, |_| 80.0);
        let mut places: Vec<(usize, f64)> = layout.boxes.values().copied().collect();
        places.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        for pair in places.windows(2) {
            assert!(pair[0].0 != pair[1].0 || pair[1].1 - pair[0].1 >= 80.0, "{pair:?}");
        }
        assert!(layout.boxes.values().all(|&(layer, at)| layer < layout.layers && (0.0..=layout.width).contains(&at)));
        Ok(())
    }

    /// Of an input that all read there is one line, not one for each reader.
    #[test]
    fn lines_are_shared() -> Result<(), crate::ParseError> {
        let chain: Vec<String> = (0..300).map(|at| format!("%n{} = add(%n{at}, x)", at + 1)).collect();
        let chain = chain.join(" ; ");
        let graph: Graph = format!("graph f(x: tensor) {{ %n0 = relu(x) ; {chain} ; yield %n300 }}").parse()?;
        let layout = Layout::of(&graph, |_| 80.0);
        assert_eq!(layout.edges.len(), 602);
        let points: usize = layout.edges.iter().map(|edge| edge.points.len()).sum();
        assert!(points < 4 * 602, "{points}");
        Ok(())
    }

    #[test]
    fn an_edge_goes_from_layer_to_layer() -> Result<(), crate::ParseError> {
        let graph: Graph = NETWORK.parse()?;
        let layout = Layout::of(&graph, |_| 80.0);
        for edge in &layout.edges {
            assert!(edge.points.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0), "{edge:?}");
        }
        assert!(layout.edges.iter().any(|edge| edge.points.len() > 3 && !edge.is_owner));
        Ok(())
    }
}
