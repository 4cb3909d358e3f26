//! Variables: what a value is bound to, when it is freed, moved or handed on.

use fx_ir::{Arg, Binding, CodeForm, CodeVariable, Effect, HostOp, NodeId, Op, RegionId, Type};

use super::{
    holder::is_number,
    host::{self, literal},
    names::identifier,
    parts::{Variable, pattern_of},
    value::Value,
    writer::{Owned, Phase, Writer},
};

impl Writer<'_, '_> {
    /// Binds the node's value to a variable of the user's name; an older tensor of that name that nobody reads any more
    /// is replaced, and so freed.
    pub(super) fn bind(&mut self, id: NodeId, value: Value) {
        let node = self.graph().node(id);
        let Value { text, is_ref, .. } = value;
        let value = Value { is_ref, ..Value::owned(bare(&text)) };
        if !value.is_ref
            && let Some(parts) = self.bound_parts(id)
        {
            match self.parts_outlived_by(id) {
                Some(branch) => {
                    self.line(format!("{} = {};", pattern_of(&parts, false), value.text));
                    let declared = parts.iter().flatten().map(Variable::declared);
                    self.outlived.entry(branch).or_default().extend(declared);
                }
                None => self.line(format!("let {} = {};", pattern_of(&parts, true), value.text)),
            }
            self.copy_numbers(id, &parts);
            self.weigh(id, 0);
            return;
        }
        let wanted = identifier(self.graph().base_name(id));
        let is_mut = self.is_place(id);
        if let Some(branch) = self.outlived_by(id).filter(|_| !value.is_ref) {
            let name = self.names.unused(&wanted);
            self.declare_ahead(branch, &name, &value.text, is_mut);
            self.set(id, Value::variable(name, false));
            return;
        }
        let is_owned = node.ty.is_tensor() && !value.is_ref;
        if is_owned && self.replaces(id, &wanted) {
            self.make_mutable(&wanted);
            self.line(format!("{wanted} = {};", value.text));
            self.weigh(id, 1);
            if let Some(old) = self.owned.get_mut(&wanted) {
                self.values.remove(&old.node);
                old.node = id;
            }
            self.set(id, Value::owned(wanted));
            return;
        }
        let name = self.names.fresh(&wanted);
        let mutable = if is_mut { "mut " } else { "" };
        self.line(format!("let {mutable}{name} = {};", value.text));
        if is_owned {
            self.own(&name, id, self.lines.len() - 1);
        }
        self.weigh(id, 0);
        self.set(id, Value::variable(name, value.is_ref));
    }

    /// Whether a variable of that name is declared before the branch; code with another one of the name has that to itself.
    pub(super) fn declares_outlived(&self, branch: NodeId, name: &str) -> bool {
        self.outlived.get(&branch).is_some_and(|declared| declared.iter().any(|(known, _)| known == name))
    }

    /// Gives the variable of opaque code its value; it is declared before the branch.
    pub(super) fn assign_outlived(&mut self, branch: NodeId, variable: &CodeVariable) {
        let CodeVariable { name, value, is_mutable } = variable;
        self.declare_ahead(branch, name, value, *is_mutable);
    }

    /// Gives a variable its first value; it is declared before the branch.
    pub(super) fn declare_ahead(&mut self, branch: NodeId, name: &str, value: &str, is_mut: bool) {
        self.line(format!("{name} = {value};"));
        self.outlived.entry(branch).or_default().push(Variable { name: name.to_owned(), is_mut }.declared());
    }

    /// Declares what arms of the branch give a value, and what its own value refers to.
    pub(super) fn declare_outlived(&mut self, branch: NodeId) {
        self.branches.remove(&branch);
        for (_, declaration) in self.outlived.remove(&branch).unwrap_or_default() {
            self.line(declaration);
        }
    }

    /// Keeps the names of what is declared before the block that has just ended.
    pub(super) fn take_outlived_names(&mut self) {
        self.outlived.values().flatten().for_each(|(name, _)| self.names.take(name));
    }

    /// Whether the node is the last to read the tensor in that variable, so that its own result can take its place.
    fn replaces(&self, id: NodeId, name: &str) -> bool {
        let is_old = |old: &Owned| {
            old.region == self.graph().scope_of(id)
                && old.line != usize::MAX
                && self.liveness.last_reads.get(&old.node) == Some(&id)
        };
        // What nobody reads may be nothing: `copy_` yields `()`.
        let is_read = !self.graph().users(id).is_empty();
        let may_replace = self.phase == Phase::Call && self.graph().node(id).op != Op::Yield && is_read;
        may_replace && self.owned.get(name).is_some_and(is_old)
    }

    /// Whether opaque code may write to the node's value where it is.
    pub(super) fn is_place(&self, id: NodeId) -> bool {
        let node = self.graph().node(id);
        let is_layer = matches!(&node.ty, Type::Module(name) if !name.contains("::"));
        // Code may write to a tensor of which only what follows says that it is one.
        let is_told_late = matches!(node.op, Op::Rust(_)) && self.is_handed_to_code(id);
        let plain = node.ty.is_tensor() && !is_told_late || is_number(&node.ty) || is_layer;
        let made = match &node.op {
            op if op.is_host() => matches!(op.effect(), Effect::Io | Effect::State) || self.is_handed_to_code(id),
            op => op.is_control_flow() || matches!(op, Op::TupleGet(_)),
        };
        self.phase == Phase::Call && made && !plain
    }

    /// Whether it is read by code with an effect of its own.
    fn is_handed_to_code(&self, id: NodeId) -> bool {
        self.graph().users(id).into_iter().any(|user| self.graph().node(user).op.effect() == Effect::Io)
    }

    /// The variable, declared on that line, owns the tensor that the node yields.
    pub(super) fn own(&mut self, name: &str, id: NodeId, line: usize) {
        let region = self.graph().scope_of(id);
        self.owned.insert(name.to_owned(), Owned { node: id, region, line });
    }

    /// The branch before which the value is declared, since that branch hands over a reference to it.
    pub(super) fn outlived_by(&self, id: NodeId) -> Option<NodeId> {
        self.liveness.outlived_by(self.graph(), id, &self.branches)
    }

    /// A reference to the tensor that the value is, or refers to.
    pub(super) fn borrowed_tensor(&self, id: NodeId) -> String {
        let value = self.read(id).borrowed();
        if self.graph().may_be_reference(id) { format!("::fx_runtime::frozen::lent({value})") } else { value }
    }

    fn make_mutable(&mut self, name: &str) {
        if let Some(line) = self.declared_at(name) {
            self.make_mutable_at(line, name);
        }
    }

    /// The line of the `let` of a variable that owns a tensor.
    pub(super) fn declared_at(&self, name: &str) -> Option<usize> {
        self.owned.get(name).map(|owned| owned.line).filter(|&line| line != usize::MAX)
    }

    pub(super) fn make_mutable_at(&mut self, line: usize, name: &str) {
        if let Some(line) = self.lines.get_mut(line)
            && line.starts_with(&format!("let {name} "))
        {
            *line = line.replacen("let ", "let mut ", 1);
        }
    }

    /// Frees the tensors that `id` was the last to read.
    pub(super) fn drop_after(&mut self, id: NodeId, region: RegionId, ends: bool) {
        if self.phase == Phase::Freeze {
            return;
        }
        let mut done: Vec<String> = self
            .owned
            .iter()
            .filter(|(_, owned)| owned.region == Some(region) && self.liveness.last_reads.get(&owned.node) == Some(&id))
            .map(|(name, _)| name.clone())
            .collect();
        done.sort();
        for name in done {
            self.owned.remove(&name);
            if !ends {
                self.line(format!("drop({name});"));
                self.names.release(&name);
            }
        }
    }

    /// The value, to be handed on for good: moved where this is its last reader, else another handle of it.
    pub(super) fn give(&mut self, id: NodeId, reader: NodeId) -> String {
        let value = self.read(id);
        if self.is_lent(id) {
            return value.borrowed();
        }
        if self.is_kept_list(id) {
            return format!("{}.clone()", value.text);
        }
        if self.is_kept_option(id) {
            return format!("{}.map(|one| one.shallow_clone())", value.text);
        }
        if let Some(own) = self.own_beside_others(id, reader, &value) {
            return own;
        }
        if !self.graph().node(id).ty.is_tensor() {
            let is_untold = self.graph().node(id).ty == Type::Unknown;
            let is_tensor = is_untold && self.graph().handed_type(id, reader).is_some_and(Type::is_tensor);
            return if is_tensor { format!("{}.shallow_clone()", value.text) } else { value.text };
        }
        let region = self.graph().scope_of(reader);
        let movable = self.owned.get(&value.text).is_some_and(|owned| {
            owned.node == id && owned.region == region && self.liveness.last_reads.get(&id) == Some(&reader)
        });
        if movable && self.is_read_once(id, reader) {
            self.owned.remove(&value.text);
            self.moved += 1;
            return value.text;
        }
        format!("{}.shallow_clone()", value.text)
    }

    /// A tensor, or an option of one, of what may be a reference or an option of one, where a branch or a loop hands over
    /// tensors at its place.
    fn own_beside_others(&self, id: NodeId, reader: NodeId, value: &Value) -> Option<String> {
        let graph = self.graph();
        let is_option = |ty: &Type| matches!(ty, Type::Option(held) if held.is_tensor());
        let is_opaque = matches!(&graph.node(id).op, Op::Rust(code) if code.opaque.is_some() && !code.fallible);
        let is_some = |id: NodeId| graph.node(id).op.host() == Some(&HostOp::Some);
        let is_some_of_reference = is_some(id) && graph.node(id).input(0).is_some_and(|of| graph.may_be_reference(of));
        let may_lend =
            graph.may_be_reference(id) || (is_opaque || is_some_of_reference) && is_option(&graph.node(id).ty);
        if !may_lend {
            return None;
        }
        let others =
            graph.handed_beside(id, reader).into_iter().filter(|&other| !(is_some_of_reference && is_some(other)));
        let joined = graph.handed_type(id, reader).filter(|ty| ty.is_tensor());
        let mut types = others.map(|other| &graph.node(other).ty).chain(joined);
        let known = types.find(|ty| ty.is_tensor() || is_option(ty))?;
        Some(if known.is_tensor() {
            format!("::fx_runtime::frozen::lent({}).shallow_clone()", value.borrowed())
        } else {
            format!("::fx_runtime::frozen::owned_option({})", value.borrowed())
        })
    }

    /// Whether the reader takes the value once, and nothing in the regions that it owns.
    fn is_read_once(&self, id: NodeId, reader: NodeId) -> bool {
        let graph = self.graph();
        let is_within = |user| graph.scope_of(user).is_some_and(|region| graph.is_inside(region, reader));
        let taken = graph.node(reader).inputs().filter(|&input| input == id).count();
        taken == 1 && !graph.users(id).into_iter().any(is_within)
    }

    /// Whether it is a part of the live model, which is handed on as a reference.
    pub(super) fn is_lent(&self, id: NodeId) -> bool {
        let graph = self.graph();
        let node = graph.node(id);
        if !matches!(node.ty, Type::Module(_)) || self.emitter.bindings.get(id) != Binding::Freeze {
            return false;
        }
        let yields = |owner: NodeId, at: usize| {
            let regions = &graph.node(owner).regions;
            let ends = regions.iter().filter_map(|&region| graph.yield_of(region));
            let mut given = ends.filter_map(|end| graph.node(end).args.get(at)?.node());
            given.all(|id| self.is_lent(id))
        };
        match (&node.op, node.input(0)) {
            (Op::GetAttr(_) | Op::Placeholder, _) => true,
            (Op::TupleGet(at), Some(whole)) if graph.node(whole).op.is_control_flow() => yields(whole, *at),
            (Op::Host(op), _) => host::yields_reference(&op.op),
            (Op::Rust(code), _) => code.form == CodeForm::Reference,
            (op, _) => op.is_control_flow() && yields(id, 0),
        }
    }

    /// An argument that is handed on for good.
    pub(super) fn give_arg(&mut self, arg: &Arg, reader: NodeId) -> String {
        match arg {
            Arg::Node(id) => self.give(*id, reader),
            other => literal(other, &|id| self.read(id)),
        }
    }
}

/// The expression without parentheses around the whole of it.
fn bare(text: &str) -> &str {
    let is_parenthesis = text.as_bytes().first() == Some(&b'(')
        && matches!(syn::parse_str(text), Ok(syn::Expr::Paren(inner)) if !matches!(*inner.expr, syn::Expr::Range(_)));
    if is_parenthesis { text[1..text.len() - 1].trim() } else { text }
}
