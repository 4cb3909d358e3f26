//! Copies: of nodes, of regions, of whole graphs. A copy has the types, origins and notes of what it is a copy of.

use std::collections::BTreeMap;

use super::{EditError, Spot};
use crate::{Arg, Graph, Node, NodeId, Op, Region, RegionId};

/// A region taken out of a graph with all that it holds, ready to be pasted.
struct Cutting {
    params: Vec<(NodeId, Node)>,
    nodes: Vec<(NodeId, Node, Vec<Cutting>)>,
}

impl Graph {
    /// A copy of the graph whose nodes have ids of their own, and the ids of the copies by those of the nodes.
    ///
    /// A `clone` is cheaper and has the same ids; of a deep copy no id can be mistaken for one of this graph.
    pub fn deep_copy(&self) -> (Graph, BTreeMap<NodeId, NodeId>) {
        let mut copy = Graph::new(self.name.clone());
        let mut map = BTreeMap::new();
        let body = copy.body();
        let Cutting { params, nodes } = self.cut(self.body());
        for (id, param) in params {
            let new = copy.add_param(body, &param.name, param.ty, param.origin);
            copy.node_mut(new).meta = param.meta;
            map.insert(id, Arg::Node(new));
        }
        for part in nodes {
            copy.paste_node(part, &mut map, Spot::End(body));
        }
        copy.names = self.names.clone();
        (copy, map.into_iter().filter_map(|(id, arg)| Some((id, arg.node()?))).collect())
    }

    /// Copies one node of `source` with its regions; what `map` knows is read from there, and it learns the copies.
    pub fn node_copy(&mut self, source: &Graph, id: NodeId, map: &mut BTreeMap<NodeId, Arg>, spot: Spot) -> NodeId {
        let cutting = source.cut_node(id);
        self.paste_node(cutting, map, spot)
    }

    /// Copies the body of `source`, which is inlining: `map` says what its parameters stand for, and a parameter that
    /// it does not know becomes a parameter of the region at `spot`. Returns what `source` yields, as seen from here.
    pub fn graph_copy(&mut self, source: &Graph, map: &mut BTreeMap<NodeId, Arg>, spot: Spot) -> Vec<Arg> {
        self.paste(source.cut(source.body()), map, spot)
    }

    /// Copies a region of this graph (unrolling a loop, say); the same as [`Graph::graph_copy`], but what `map` does
    /// not know and does not stand in the region is read where it is.
    pub fn region_copy(&mut self, region: RegionId, map: &mut BTreeMap<NodeId, Arg>, spot: Spot) -> Vec<Arg> {
        self.paste(self.cut(region), map, spot)
    }

    /// Checks that a node, and those in its regions, may read what they read.
    pub(super) fn check_all_reads(&self, id: NodeId) -> Result<(), EditError> {
        std::iter::once(id).chain(self.inner_nodes(id)).try_for_each(|id| self.check_reads(id))
    }

    fn cut(&self, region: RegionId) -> Cutting {
        let Region { params, nodes } = self.region(region);
        Cutting {
            params: params.iter().map(|&id| (id, self.node(id).clone())).collect(),
            nodes: nodes.iter().map(|&id| self.cut_node(id)).collect(),
        }
    }

    fn cut_node(&self, id: NodeId) -> (NodeId, Node, Vec<Cutting>) {
        let node = self.node(id).clone();
        let regions = node.regions.iter().map(|&region| self.cut(region)).collect();
        (id, node, regions)
    }

    fn paste(&mut self, cutting: Cutting, map: &mut BTreeMap<NodeId, Arg>, spot: Spot) -> Vec<Arg> {
        let region = match spot {
            Spot::Before(anchor) => self.scope_of(anchor).unwrap_or(self.body()),
            Spot::End(region) => region,
        };
        for (id, param) in cutting.params {
            if let std::collections::btree_map::Entry::Vacant(entry) = map.entry(id) {
                let copy = self.add_param(region, &param.name, param.ty, param.origin);
                self.node_mut(copy).meta = param.meta;
                entry.insert(Arg::Node(copy));
            }
        }
        let mut yielded = Vec::new();
        for (id, node, regions) in cutting.nodes {
            if node.op == Op::Yield {
                yielded = node.args.iter().map(|arg| mapped(arg, map)).collect();
            } else {
                self.paste_node((id, node, regions), map, spot);
            }
        }
        yielded
    }

    fn paste_node(
        &mut self,
        (old, node, regions): (NodeId, Node, Vec<Cutting>),
        map: &mut BTreeMap<NodeId, Arg>,
        spot: Spot,
    ) -> NodeId {
        let args = node.args.iter().map(|arg| mapped(arg, map)).collect();
        let kwargs = node.kwargs.iter().map(|(key, arg)| (key.clone(), mapped(arg, map))).collect();
        let name = self.fresh_name(&node.name);
        let id = self.create_node(Node { args, kwargs, regions: Vec::new(), name, ..node });
        self.place(id, spot);
        map.insert(old, Arg::Node(id));
        for cutting in regions {
            let region = self.add_region_to(id);
            for (param, _) in &cutting.params {
                map.remove(param);
            }
            self.paste_region(cutting, map, region);
        }
        id
    }

    /// Fills the empty region of a copied node, yield included.
    fn paste_region(&mut self, mut cutting: Cutting, map: &mut BTreeMap<NodeId, Arg>, region: RegionId) {
        for (id, param) in std::mem::take(&mut cutting.params) {
            let copy = self.add_param(region, &param.name, param.ty, param.origin);
            self.node_mut(copy).meta = param.meta;
            map.insert(id, Arg::Node(copy));
        }
        for part in cutting.nodes {
            self.paste_node(part, map, Spot::End(region));
        }
    }
}

fn mapped(arg: &Arg, map: &BTreeMap<NodeId, Arg>) -> Arg {
    arg.map_nodes(&mut |id| map.get(&id).cloned().unwrap_or(Arg::Node(id)))
}
