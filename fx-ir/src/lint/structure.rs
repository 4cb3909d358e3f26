//! Ids, owners and names: what the other rules rely on to walk a graph at all.

use std::collections::HashSet;

use super::fault::{Fault, Rule, fault};
use crate::{Graph, NodeId, NodeSet, RegionId};

struct Walk<'a> {
    graph: &'a Graph,
    faults: Vec<Fault>,
    nodes: NodeSet,
    regions: HashSet<RegionId>,
}

pub(super) fn check_structure(graph: &Graph) -> Vec<Fault> {
    let mut walk = Walk { graph, faults: Vec::new(), nodes: NodeSet::default(), regions: HashSet::new() };
    walk.region(graph.body(), &graph.name);
    walk.faults
}

pub(super) fn check_names(graph: &Graph) -> Vec<Fault> {
    let mut seen: HashSet<&str> = HashSet::new();
    let mut faults = Vec::new();
    for id in graph.nodes() {
        if !seen.insert(&graph.node(id).name) {
            faults.push(fault(graph, id, Rule::Name, "is the name of two nodes"));
        }
    }
    faults
}

impl Walk<'_> {
    fn region(&mut self, region: RegionId, owner: &str) {
        if region.index() >= self.graph.regions.len() {
            self.push(owner, Rule::Dead, "owns a region that does not exist");
            return;
        }
        if !self.regions.insert(region) {
            self.push(owner, Rule::Owner, "owns a region that another owns too");
            return;
        }
        let members = self.graph.region(region);
        for &id in members.params.iter().chain(&members.nodes) {
            self.node(id, region, owner);
        }
    }

    fn node(&mut self, id: NodeId, region: RegionId, owner: &str) {
        if !self.graph.is_alive(id) {
            self.push(owner, Rule::Dead, "holds a node that was erased");
            return;
        }
        let node = self.graph.node(id);
        if !self.nodes.insert(id) {
            self.push(&node.name, Rule::Owner, "stands in two places");
            return;
        }
        if self.graph.scope_of(id) != Some(region) {
            self.push(&node.name, Rule::Owner, "does not know the region it stands in");
        }
        if node.inputs().any(|input| !self.graph.is_alive(input)) {
            self.push(&node.name, Rule::Dead, "reads a node that was erased");
        }
        for &inner in &node.regions {
            self.region(inner, &node.name);
            if self.graph.owner_of(inner) != Some(id) {
                self.push(&node.name, Rule::Owner, "owns a region that does not know it");
            }
        }
    }

    fn push(&mut self, node: &str, rule: Rule, message: &str) {
        self.faults.push(Fault { node: node.to_owned(), rule, message: message.to_owned() });
    }
}
