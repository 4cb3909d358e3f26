//! What is known of the value of a node: who owns it, and of which exact type it is.

use fx_ir::{Arg, Effect, Graph, Host, HostOp, NodeId, Op, Type};

use crate::index::Ty;
use crate::syntax::written_types::type_args;
use crate::trace::{RefKind, Tracer, Val, entry::signature::holds_reference, types::ty::never};

impl Tracer<'_> {
    /// The type of the parameter of the entry that the node stands for, as it is written.
    pub(in crate::trace) fn entry_type(&self, id: NodeId) -> Option<syn::Type> {
        let node = self.graph.node(id);
        if node.op != Op::Placeholder || self.graph.scope_of(id) != Some(self.graph.body()) {
            return None;
        }
        let sig = &self.index.fns[self.frames.first()?.function].sig;
        sig.inputs.iter().find_map(|input| match input {
            syn::FnArg::Typed(typed) => {
                let is_it = matches!(&*typed.pat, syn::Pat::Ident(ident) if ident.ident == node.name);
                is_it.then(|| (*typed.ty).clone())
            }
            syn::FnArg::Receiver(_) => None,
        })
    }

    /// Whether it is a parameter of the entry whose type has a reference inside.
    pub(in crate::trace) fn holds_references(&self, id: NodeId) -> bool {
        self.entry_type(id).is_some_and(|ty| holds_reference(&ty))
    }

    /// Whether it is a parameter of the entry that is an option of a shared reference: each use of it is a copy of the very type.
    pub(in crate::trace) fn is_option_of_reference(&self, id: NodeId) -> bool {
        self.entry_type(id).is_some_and(|ty| is_option_of_reference(&ty))
    }

    /// Whether it is a variable of the generated code's that code may write to, and that no other value stands for.
    pub(in crate::trace) fn is_spilled(&self, value: &Val) -> bool {
        let Val::Node(id, _, RefKind::Value) = value else { return false };
        if self.holds_handles(*id) || self.is_loan(*id) {
            return false;
        }
        match &self.graph.node(*id).op {
            // A part hands over a value of its own.
            Op::Host(Host { op: HostOp::CallPart(_), .. }) => true,
            op if op.is_host() => matches!(op.effect(), Effect::Io | Effect::State),
            Op::If | Op::Match(_) | Op::For(_) | Op::While => true,
            Op::Placeholder => self.graph.scope_of(*id) != Some(self.graph.body()),
            Op::TupleGet(_) => {
                let whole = self.graph.node(*id).input(0).map(|whole| Val::Node(whole, Ty::Unknown, RefKind::Value));
                whole.is_some_and(|whole| self.is_spilled(&whole))
            }
            _ => false,
        }
    }

    /// Returns whether generated code has a reference to the list or struct where the user's code may own it: what an option
    /// holds, what a pattern binds, and what branches hand over of such.
    pub(in crate::trace) fn is_loan(&self, id: NodeId) -> bool {
        let node = self.graph.node(id);
        let is_moved = match &node.ty {
            Type::List(_) => true,
            Type::Module(name) => self.index.struct_at(name).is_some_and(|owner| !self.index.structs[owner].is_module),
            _ => false,
        };
        if !is_moved {
            return false;
        }
        let lent_by = |owner: NodeId, at: usize| {
            let ends = self.graph.node(owner).regions.iter().filter_map(|&region| self.graph.yield_of(region));
            let mut given = ends.filter_map(|end| self.graph.node(end).args.get(at).and_then(Arg::node));
            given.any(|one| self.is_loan(one))
        };
        match (&node.op, node.input(0)) {
            (Op::Host(host), _) => matches!(host.op, HostOp::UnwrapRef(_) | HostOp::UnwrapLoan(_)),
            (Op::Placeholder, _) => is_bound_by_pattern(&self.graph, id),
            (Op::If | Op::Match(_), _) => lent_by(id, 0),
            (Op::TupleGet(at), Some(whole)) if matches!(self.graph.node(whole).op, Op::If | Op::Match(_)) => {
                lent_by(whole, *at)
            }
            _ => false,
        }
    }

    /// Whether it is a list of handles where the user's list holds references, here or in branches.
    pub(in crate::trace) fn holds_handles(&self, id: NodeId) -> bool {
        self.is_or_yields(id, &|id| self.facts.handles_of(id).is_some())
    }

    /// Whether it is an option of a tuple, of whose tensors it has handles where the user's has references.
    pub(in crate::trace) fn has_handles_for_parts(&self, id: NodeId) -> bool {
        self.is_or_yields(id, &|id| self.facts.part_kinds(id).is_some())
    }

    /// Whether the value is such a one, or branches hand over such a one.
    fn is_or_yields(&self, id: NodeId, is_one: &dyn Fn(NodeId) -> bool) -> bool {
        let in_branches = |owner: NodeId, at: usize| {
            let ends = self.graph.node(owner).regions.iter().filter_map(|&region| self.graph.yield_of(region));
            let mut given = ends.filter_map(|end| self.graph.node(end).args.get(at).and_then(Arg::node));
            given.any(|one| self.is_or_yields(one, is_one))
        };
        let node = self.graph.node(id);
        match (&node.op, node.input(0)) {
            (op, _) if op.is_control_flow() => in_branches(id, 0),
            (Op::TupleGet(at), Some(whole)) if self.graph.node(whole).op.is_control_flow() => in_branches(whole, *at),
            // A part of such a list.
            (Op::Host(Host { op: HostOp::Slice(_), .. }), Some(whole)) => self.is_or_yields(whole, is_one),
            _ => is_one(id),
        }
    }

    /// Whether what the user's list of tensors holds are references.
    pub(in crate::trace) fn lists_references(&self, id: NodeId) -> bool {
        self.holds_handles(id)
            || self.entry_type(id).is_some_and(|ty| match ty {
                syn::Type::Reference(list) => holds_reference(&list.elem),
                list => holds_reference(&list),
            })
    }

    /// Whether it is a list that is written out, or in a variable of the generated code's.
    pub(in crate::trace) fn is_own_list(&self, value: &Val) -> bool {
        matches!(value, Val::List(_)) || self.is_spilled(value)
    }

    /// Whether it is a `Vec` for sure: what a tensor says of itself, what is written so, and what branches hand over of
    /// such.
    pub(in crate::trace) fn is_vec(&self, id: NodeId) -> bool {
        let node = self.graph.node(id);
        let yields_vecs = |owner: NodeId, at: usize| {
            let regions = &self.graph.node(owner).regions;
            let mut ends = regions.iter().filter_map(|&region| self.graph.yield_of(region)).peekable();
            let is_vec = |end: NodeId| {
                let args = &self.graph.node(end).args;
                let diverges = |arg: &Arg| arg.node().is_some_and(|id| self.is_never(id));
                let is_one = |id: NodeId| self.is_vec(id) || self.is_vec_field(id);
                args.first().is_some_and(diverges) || args.get(at).and_then(Arg::node).is_some_and(is_one)
            };
            ends.peek().is_some() && ends.all(is_vec)
        };
        match (&node.op, node.input(0)) {
            (Op::Host(host), _) => yields_vec(&host.op),
            (Op::If | Op::Match(_), _) => yields_vecs(id, 0),
            (Op::TupleGet(at), Some(whole)) if matches!(self.graph.node(whole).op, Op::If | Op::Match(_)) => {
                yields_vecs(whole, *at)
            }
            _ => false,
        }
    }

    /// Whether code behind the node never runs.
    pub(in crate::trace) fn is_never(&self, id: NodeId) -> bool {
        self.graph.node(id).ty == self.index.ir_type(&never())
    }

    /// Whether what is being traced may write to the model, or another entry of its type may.
    pub(in crate::trace) fn is_stateful(&self) -> bool {
        let writes = self.frames.first().is_some_and(|frame| self.index.fns[frame.function].writes_self());
        writes || !self.kept.is_empty()
    }

    /// Whether a variable in scope is a place that a caller borrows.
    pub(in crate::trace) fn has_places(&self) -> bool {
        self.env.any(|value| matches!(value, Val::Place(_)))
    }

    /// Whether it is, or holds, a part of the model that has a forward of its own.
    pub(in crate::trace) fn is_module(&self, ty: &Ty) -> bool {
        self.index.is_module(ty)
    }

    pub(in crate::trace) fn is_kept(&self, owner: usize, name: &str) -> bool {
        let key = (owner, name.to_owned());
        self.kept.contains(&key) || self.found.contains(&key)
    }

    /// Whether a method by `&mut self` can be traced on the receiver.
    pub(in crate::trace) fn may_write_to(&self, receiver: Option<&Val>) -> bool {
        let part = receiver.filter(|value| matches!(value.ty(), Ty::Struct(_)));
        self.is_stateful() && part.is_some_and(|value| self.path_of(value).is_some())
    }

    /// Whether the value in generated code is of the very type that it is of in the user's.
    pub(in crate::trace) fn is_exact(&self, value: &Val) -> bool {
        let Val::Node(id, ty, form) = value else { return false };
        if *form == RefKind::RefRef || (*form == RefKind::Ref && matches!(ty, Ty::Option(_))) {
            return false;
        }
        if self.holds_handles(*id) || self.has_handles_for_parts(*id) {
            return false;
        }
        let made_here = match &self.graph.node(*id).op {
            Op::Host(_) | Op::Rust(_) | Op::GetAttr(_) => true,
            Op::Call(_) => matches!(ty, Ty::List(_)),
            Op::Placeholder => self.graph.scope_of(*id) == Some(self.graph.body()) || self.graph.carried(*id).is_some(),
            Op::TupleGet(_) if self.is_part_of_input(*id) => true,
            _ => self.is_spilled(value),
        };
        made_here && !matches!(ty, Ty::Tuple(_))
    }

    /// Whether it is a part of a tuple that the function is given.
    fn is_part_of_input(&self, id: NodeId) -> bool {
        let whole = self.graph.node(id).input(0);
        whole.is_some_and(|whole| {
            self.graph.node(whole).op == Op::Placeholder && self.graph.scope_of(whole) == Some(self.graph.body())
        })
    }

    /// The node of a value; of what code yields beside the variables that it writes to, that of both.
    pub(in crate::trace) fn whole_of(&self, value: &Val) -> Option<NodeId> {
        let id = value.node()?;
        let node = self.graph.node(id);
        Some(if matches!(node.op, Op::TupleGet(0)) { node.input(0) } else { Some(id) }.unwrap_or(id))
    }

    /// Whether it is a value of an enum of the crate that the forward has made, here or in branches.
    pub(in crate::trace) fn is_own_variant(&self, id: NodeId) -> bool {
        let given = |owner: NodeId, at: usize| {
            let ends = self.graph.node(owner).regions.iter().filter_map(|&region| self.graph.yield_of(region));
            // What does not come to its end hands nothing over.
            let is_left = |end: &NodeId| self.graph.node(*end).input(0).is_some_and(|last| self.is_never(last));
            let mut given = ends.filter(|end| !is_left(end)).map(|end| self.graph.node(end).args.get(at));
            given.all(|one| match one {
                Some(Arg::Node(id)) => self.is_own_variant(*id),
                // A variant that holds nothing, and an option that does.
                Some(Arg::Path(_) | Arg::None) => true,
                _ => false,
            })
        };
        let node = self.graph.node(id);
        match (&node.op, node.input(0)) {
            (Op::If | Op::Match(_), _) => given(id, 0),
            (Op::TupleGet(at), Some(whole)) if matches!(self.graph.node(whole).op, Op::If | Op::Match(_)) => {
                given(whole, *at)
            }
            _ => self.facts.variants.contains_key(&id) || self.is_own_variant_option(id),
        }
    }

    /// Whether it is an option of such a value, made here, or what a loop carries that begins as such a value.
    fn is_own_variant_option(&self, id: NodeId) -> bool {
        let node = self.graph.node(id);
        match (node.op.host(), node.args.first()) {
            (Some(HostOp::Some), Some(Arg::Node(inner))) => self.is_own_variant(*inner),
            (Some(HostOp::Some), Some(Arg::Path(_))) | (Some(HostOp::NoneOf(_)), _) => true,
            _ => match self.graph.carried(id).as_deref() {
                Some([Arg::Node(first), ..]) => self.is_own_variant(*first),
                Some([Arg::Path(_) | Arg::None, ..]) => true,
                _ => false,
            },
        }
    }

    /// Whether branches may hand over this leaf, of an enum of the crate.
    pub(in crate::trace) fn is_variant_leaf(&self, ty: &Ty, leaf: &Val) -> bool {
        if matches!(ty, Ty::Option(held) if self.index.is_enum(held)) {
            let is_none = matches!(leaf, Val::Lit(Arg::None, _));
            return is_none || leaf.node().is_some_and(|id| self.is_own_variant(id));
        }
        match leaf {
            Val::Node(id, ..) => self.index.is_enum(ty) && self.is_own_variant(*id),
            Val::Lit(Arg::Path(_), of) => of == ty && self.index.is_enum(ty),
            _ => false,
        }
    }
}

/// Whether the operation makes a `Vec` for sure.
fn yields_vec(op: &HostOp) -> bool {
    match op {
        HostOp::Vec | HostOp::EmptyVec(_) | HostOp::Filled(_) | HostOp::ToVec => true,
        HostOp::Method(name) => matches!(name.as_str(), "size" | "stride" | "to_vec"),
        HostOp::TryFrom(of) => of.starts_with("::std::vec::Vec"),
        _ => false,
    }
}

/// Returns whether a pattern of a `match` binds it.
fn is_bound_by_pattern(graph: &Graph, id: NodeId) -> bool {
    let owner = graph.parent(id);
    owner.is_some_and(|owner| matches!(graph.node(owner).op, Op::Match(_)))
}

/// Whether the type is that of an option of a shared reference.
pub(in crate::trace) fn is_option_of_reference(ty: &syn::Type) -> bool {
    let syn::Type::Path(path) = ty else { return false };
    let is_option = path.path.segments.last().is_some_and(|last| last.ident == "Option");
    let is_shared = |ty: &syn::Type| matches!(ty, syn::Type::Reference(reference) if reference.mutability.is_none());
    is_option && type_args(&path.path).next().is_some_and(is_shared)
}
