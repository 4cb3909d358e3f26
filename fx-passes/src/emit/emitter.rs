//! What is known while one item is printed.

use std::{cell::RefCell, collections::BTreeSet};

use fx_front::{
    index::Index,
    trace::{Signature, Traced},
};
use fx_ir::{Bindings, Graph, Node, NodeId, NodeSet, Op, Type};

use super::group::Groups;
use super::holder::Names as TypeNames;
use super::names::Names;
use super::plan::Plan;

/// One entry of a frozen type.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// What was traced.
    pub traced: &'a Traced,
    /// Its graph as the passes left it, which is printed.
    pub graph: &'a Graph,
    /// The same with all parts inlined, which tells what calls of parts hide.
    pub inlined: &'a Graph,
}

/// The types that a graph mentions, named for the module in which the generated code is included.
struct Named<'a> {
    index: &'a Index,
    graph: &'a Graph,
    home: &'a str,
}

impl TypeNames for Named<'_> {
    fn named(&self, path: &str) -> Option<String> {
        // No field holds what borrows from elsewhere.
        let borrows = |id: usize| self.index.structs[id].generics.lifetimes().next().is_some();
        if self.index.struct_at(path).is_some_and(borrows) {
            return None;
        }
        self.index.named_from(self.home, path)
    }

    fn declared(&self, node: &Node) -> Option<String> {
        let (Op::GetAttr(name), Type::Module(owner)) = (&node.op, &self.graph.node(node.input(0)?).ty) else {
            return None;
        };
        let owner = self.index.struct_at(owner)?;
        let field = self.index.field(owner, name)?;
        Some(self.index.spelled(self.home, &self.index.structs[owner].module, &field.ty)?.text)
    }
}

/// What is known while one item is printed.
pub(super) struct Emitter<'a> {
    pub(super) index: &'a Index,
    pub(super) traced: &'a Traced,
    pub(super) graph: &'a Graph,
    /// The graph with all parts inlined.
    pub(super) inlined: &'a Graph,
    pub(super) bindings: Bindings,
    pub(super) plan: Plan,
    pub(super) groups: Groups,
    /// The name of the frozen type: `ResNet18Frozen`.
    pub(super) frozen: String,
    /// The name of the struct that holds what a call reads, with which other types of the item begin: the frozen type, or
    /// where that has several entries `AutoencoderFrozenEncode`.
    pub(super) name: String,
    /// The field of the frozen type that the struct is; none where it is the frozen type itself.
    pub(super) field: Option<String>,
    /// The entries of the frozen type, by name.
    pub(super) entries: Vec<String>,
    /// The module in which the generated code is included.
    pub(super) home: &'a str,
    /// What a variable cannot be called there.
    pub(super) constants: BTreeSet<String>,
    /// What the printer met that it cannot print.
    pub(super) unprintable: RefCell<Vec<String>>,
}

impl<'a> Emitter<'a> {
    /// One for each of the items of a type.
    pub(super) fn all(index: &'a Index, items: &[Item<'a>]) -> Vec<Emitter<'a>> {
        let entries: Vec<String> = items.iter().map(|item| item.traced.signature.name.clone()).collect();
        let fields = fields(&entries);
        items.iter().zip(fields).map(|(&item, field)| Emitter::new(index, item, field, &entries)).collect()
    }

    fn new(
        index: &'a Index,
        Item { traced, graph, inlined }: Item<'a>,
        field: Option<String>,
        entries: &[String],
    ) -> Emitter<'a> {
        let frozen = format!("{}Frozen", fx_ir::camel(&graph.name));
        let name = field.as_ref().map_or_else(|| frozen.clone(), |field| struct_of(&frozen, field, entries));
        let home = index.fns[traced.item].module.as_str();
        let (bindings, plan) = planned(&traced.signature, graph, &name, &Named { index, graph, home });
        let groups = Groups::of(graph, &name, &plan.type_names());
        let (entries, constants) = (entries.to_vec(), index.constants(home));
        let unprintable = RefCell::default();
        Emitter {
            index,
            traced,
            graph,
            inlined,
            bindings,
            plan,
            groups,
            frozen,
            name,
            field,
            entries,
            home,
            constants,
            unprintable,
        }
    }

    /// `Err` with the first of what could not be printed.
    pub(super) fn check(&self) -> Result<(), String> {
        self.unprintable.borrow().first().map_or(Ok(()), |first| Err(first.clone()))
    }

    /// Whether it is the entry that methods which are not of one entry speak of.
    pub(super) fn is_first(&self) -> bool {
        self.entries.first() == Some(&self.traced.signature.name)
    }

    /// How a call reads the struct of the item.
    pub(super) fn holder(&self) -> String {
        match &self.field {
            Some(field) => format!("self.{field}"),
            None if self.has_forms() => "kernels".to_owned(),
            None => "self".to_owned(),
        }
    }
}

/// When each value is known, and what `freeze` keeps of it. Control flow that is known then, and that yields a value of a type
/// that no field can have, or a `match` that binds one, is left to the calls that read it.
fn planned(signature: &Signature, graph: &Graph, name: &str, names_of: &dyn TypeNames) -> (Bindings, Plan) {
    let mut deferred = NodeSet::default();
    loop {
        let bindings = Bindings::with_deferred(graph, signature.has_receiver, &deferred);
        let plan = Plan::of(graph, &bindings, name, names_of);
        let untold = |&id: &NodeId| match &graph.node(id).op {
            op if op.is_control_flow() => Some(id),
            Op::Placeholder => graph.parent(id).filter(|&owner| matches!(graph.node(owner).op, Op::Match(_))),
            _ => None,
        };
        // What is left to the calls already, and still untold, is told there to be unprintable.
        let found: Vec<NodeId> =
            plan.repeated.iter().filter_map(untold).filter(|&id| !bindings.is_deferred(id)).collect();
        if found.is_empty() {
            return (bindings, plan);
        }
        for id in found {
            deferred.insert(id);
        }
    }
}

/// The fields that hold the structs of the entries; none where there is one entry.
fn fields(entries: &[String]) -> Vec<Option<String>> {
    if let [_] = entries {
        return vec![None];
    }
    let mut names = Names::default();
    for name in ["frame", "options", "self"] {
        names.take(name);
    }
    entries.iter().map(|entry| Some(names.fresh(entry))).collect()
}

/// The struct of an entry that is this field of the frozen type. Its name is one with which that of no other begins.
fn struct_of(frozen: &str, field: &str, entries: &[String]) -> String {
    let own = fx_ir::camel(field);
    let names = entries.iter().map(|entry| fx_ir::camel(entry));
    let is_head = names.filter(|name| *name != own).any(|name| name.starts_with(&own));
    format!("{frozen}{own}{}", if is_head { "Entry" } else { "" })
}
