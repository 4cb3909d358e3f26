//! Copies of state: code that is kept as opaque code, and what is called as a leaf, has a copy of each part of the model
//! that it mentions. Where calls write to a field in that part, no other piece of the frozen model may have a copy of
//! the field, nor the cell of it.

use std::collections::{BTreeMap, BTreeSet};

use fx_ir::{HostOp, NodeId, Op, Type};
use syn::visit::Visit;

use crate::index::{Field, Index, Ty};
use crate::trace::{Tracer, place::state_cell::Fields};

/// How the functions of a frozen type reach a part of the model with fields that calls may write to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::trace) struct StateAccess {
    /// The path of the part or of the field; `None` where it is not known.
    path: Option<String>,
    /// Of a copy of the part the parameter that the path starts from; `None` of a cell.
    copied_from: Option<NodeId>,
    /// The place of the code that has the copy, and why it is not understood.
    why: String,
}

impl StateAccess {
    pub(in crate::trace) fn is_copy(&self) -> bool {
        self.copied_from.is_some()
    }

    /// Whether what one piece writes would be missed by the other.
    fn conflicts(&self, other: &StateAccess, in_one_graph: bool) -> bool {
        let (Some(mine), Some(its)) = (&self.path, &other.path) else { return self.is_copy() || other.is_copy() };
        if !self.is_copy() && !other.is_copy() || !overlap(mine, its) {
            return false;
        }
        // A part is one copy in a function, of the elements of a list one for each loop, and the model is one for all.
        let is_one = !mine.contains('*') || self.copied_from == other.copied_from;
        let is_shared = mine.is_empty() || in_one_graph && is_one;
        !(self.is_copy() && other.is_copy() && mine == its && is_shared)
    }
}

/// Whether one path leads to, or into, what the other does.
fn overlap(one: &str, other: &str) -> bool {
    fn steps(path: &str) -> impl Iterator<Item = &str> {
        path.split('.').filter(|step| !step.is_empty())
    }
    steps(one).zip(steps(other)).all(|(a, b)| a == b || a == "*" || b == "*")
}

/// Why the functions, each with its accesses, reach a part of the model in ways that do not see each other's writes.
pub(in crate::trace) fn conflict(functions: &[Vec<StateAccess>]) -> Option<String> {
    let all: Vec<(usize, &StateAccess)> = functions
        .iter()
        .enumerate()
        .flat_map(|(at, accesses)| accesses.iter().map(move |access| (at, access)))
        .collect();
    all.iter().enumerate().find_map(|(position, (at, one))| {
        let (_, other) = all[..position].iter().find(|(of, other)| one.conflicts(other, at == of))?;
        let copied = if one.is_copy() { one } else { other };
        let part = copied.path.clone().filter(|path| !path.is_empty());
        let part = part.map_or_else(|| "the model".to_owned(), |path| format!("`{path}`"));
        Some(format!("{}; the code would have a copy of {part}, which other code writes to", copied.why))
    })
}

impl Tracer<'_> {
    /// The cells of the trace and the copies that its code would have of parts with state.
    pub(in crate::trace) fn state_accesses(&self) -> Vec<StateAccess> {
        let mut known = BTreeMap::new();
        let mut found: Vec<StateAccess> = Vec::new();
        for id in self.graph.nodes() {
            let node = self.graph.node(id);
            match &node.op {
                Op::Host(host) if matches!(host.op, HostOp::Cell(_) | HostOp::ForeignCell(_)) => {
                    found.push(StateAccess {
                        path: node.origin.labels.first().cloned(),
                        copied_from: None,
                        why: String::new(),
                    });
                }
                op if copies(op) => {
                    let parts =
                        node.inputs().filter(|&input| self.is_of_model(input) && self.has_state(input, &mut known));
                    let why = match op {
                        Op::Rust(code) => {
                            code.opaque.clone().unwrap_or_else(|| "code that is not understood".to_owned())
                        }
                        _ => "a call of a leaf".to_owned(),
                    };
                    let place = node.origin.places.first().map(|place| format!("{place}: ")).unwrap_or_default();
                    let why = format!("{place}{why}");
                    found.extend(parts.map(|part| StateAccess {
                        path: self.facts.paths.get(&part).cloned(),
                        copied_from: Some(self.root_of(part)),
                        why: why.clone(),
                    }));
                }
                _ => {}
            }
        }
        found.dedup();
        found
    }

    /// The parameter, of the function or of a loop, that the value is a part of.
    fn root_of(&self, id: NodeId) -> NodeId {
        let mut root = id;
        while let (true, Some(base)) = (self.graph.node(root).op != Op::Placeholder, self.graph.node(root).input(0)) {
            root = base;
        }
        root
    }

    /// Whether the value is the model or a part of it, to whatever depth of loops.
    fn is_of_model(&self, id: NodeId) -> bool {
        let root = self.root_of(id);
        let owner = self.graph.parent(root);
        match owner.and_then(|owner| self.graph.node(owner).input(0)) {
            Some(source) => self.is_of_model(source),
            None => self.facts.paths.get(&root).is_some_and(String::is_empty),
        }
    }

    /// Whether the value is a part of the model with fields that calls may write to.
    fn has_state(&self, id: NodeId, known: &mut BTreeMap<String, bool>) -> bool {
        let node = self.graph.node(id);
        if let (Op::GetAttr(name), Some(Type::Module(owner))) =
            (&node.op, node.input(0).map(|base| &self.graph.node(base).ty))
            && let Some(owner) = self.index.struct_at(owner)
            && let Some(field) = self.index.field(owner, name)
            && is_written_through(self.index, owner, field)
        {
            return true;
        }
        let mut names = BTreeSet::new();
        names_in(&node.ty, &mut names);
        names.into_iter().any(|name| {
            let within = || has_written_fields(self.index, &name, &self.kept);
            *known.entry(name.clone()).or_insert_with(within)
        })
    }
}

/// Whether the operation runs code of the user's with a copy of the parts of the model that it is given.
fn copies(op: &Op) -> bool {
    match op {
        Op::Rust(_) => true,
        Op::Host(host) => matches!(host.op, HostOp::CallMethod(_) | HostOp::Call(_)),
        _ => false,
    }
}

/// The types of the crate that the type mentions.
fn names_in(ty: &Type, names: &mut BTreeSet<String>) {
    match ty {
        Type::Module(name) | Type::Rust(name) => _ = names.insert(name.clone()),
        Type::Option(inner) | Type::List(inner) => names_in(inner, names),
        Type::Tuple(parts) => parts.iter().for_each(|part| names_in(part, names)),
        _ => {}
    }
}

/// Whether a value of the type consists of a struct with a field that is written to.
fn has_written_fields(index: &Index, name: &str, kept: &Fields) -> bool {
    let ty = index.struct_at(name).map_or_else(|| Ty::Rust(name.to_owned()), Ty::Struct);
    let is_written = |id: usize| {
        let fields = &index.structs[id].fields;
        fields.iter().any(|field| kept.contains(&(id, field.name.clone())) || is_written_through(index, id, field))
    };
    index.consists_of(&ty).into_iter().any(|path| match index.struct_at(&path) {
        Some(id) => is_written(id),
        None => index
            .variants(&Ty::Rust(path))
            .is_some_and(|variants| variants.iter().flat_map(|variant| &variant.fields).any(|(_, ty)| is_interior(ty))),
    })
}

/// Whether the field is written to behind a shared reference, whatever its type is called here.
fn is_written_through(index: &Index, owner: usize, field: &Field) -> bool {
    fn has_cell(ty: &Ty) -> bool {
        match ty {
            Ty::Interior(..) => true,
            Ty::Option(inner) | Ty::List(inner) | Ty::Result(inner) => has_cell(inner),
            Ty::Tuple(parts) => parts.iter().any(has_cell),
            _ => false,
        }
    }
    is_interior(&field.ty) || has_cell(&index.field_ty(owner, field))
}

/// Types of the standard library's that are written to behind a shared reference.
const INTERIOR: [&str; 9] =
    ["RefCell", "Cell", "OnceCell", "LazyCell", "UnsafeCell", "Mutex", "RwLock", "OnceLock", "LazyLock"];

/// Whether what is in the field, and is its own, is written to behind a shared reference.
fn is_interior(ty: &syn::Type) -> bool {
    struct Find(bool);
    impl Visit<'_> for Find {
        fn visit_path_segment(&mut self, segment: &syn::PathSegment) {
            let name = segment.ident.to_string();
            self.0 |= INTERIOR.contains(&name.as_str()) || name.starts_with("Atomic");
            // What several own is one value for all of them.
            if !["Rc", "Arc"].iter().any(|name| segment.ident == name) {
                syn::visit::visit_path_segment(self, segment);
            }
        }
    }
    let mut find = Find(false);
    find.visit_type(ty);
    find.0
}
