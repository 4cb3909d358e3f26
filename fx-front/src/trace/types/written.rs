//! Values where the user's code says their type.

use fx_ir::{Arg, HostOp, NodeId, Op, Type, scalar};
use proc_macro2::Span;

use crate::trace::flow::join_types::settle;
use crate::trace::types::operand::typed_literal;
use crate::trace::types::ty::{is_untyped, rounded};
use crate::trace::{Result, Tracer, Ty, Val, entry::signature::is_vec, unsupported};

impl Tracer<'_> {
    /// The value where the user's code says of which type it is: a number without a suffix is of that type.
    pub(in crate::trace) fn of_written_type(&mut self, value: Val, ty: &Ty) -> Val {
        if let (Val::List(items), Ty::List(element)) = (&value, ty) {
            return Val::List(items.iter().map(|item| self.of_written_type(item.clone(), element)).collect());
        }
        if let (Val::Tuple(parts), Ty::Tuple(types)) = (&value, ty)
            && parts.len() == types.len()
        {
            let typed = parts.iter().zip(types).map(|(part, ty)| self.of_written_type(part.clone(), ty));
            return Val::Tuple(typed.collect());
        }
        if let (Val::Node(id, Ty::List(held), form), Ty::List(element)) = (&value, ty)
            && settled(&self.index.ir_type(held), &self.index.ir_type(element)).is_some()
        {
            if self.is_open_repeat(*id) {
                return self.numbers_of_used_type(value, element);
            }
            self.settle_list(*id, element);
            return Val::Node(*id, ty.clone(), *form);
        }
        if let (Val::Node(id, held @ Ty::Option(_), form), Ty::Option(_)) = (&value, ty)
            && settled(&self.index.ir_type(held), &self.index.ir_type(ty)).is_some()
        {
            self.settle_number(*id, ty);
            return Val::Node(*id, ty.clone(), *form);
        }
        let Ty::Rust(name) = ty else { return value };
        let is_float = scalar::is_float(name);
        if !is_untyped(&value.ty()) || !(is_float || scalar::is_integer(name)) {
            return value;
        }
        match value {
            Val::Lit(Arg::Float(number), _) if is_float => Val::Lit(Arg::Float(rounded(number, name)), ty.clone()),
            Val::Lit(arg @ Arg::Int(_), _) if !is_float => Val::Lit(arg, ty.clone()),
            Val::Node(id, _, form) => {
                let ir = self.index.ir_type(ty);
                let node = self.edit_node(id);
                match &mut node.op {
                    Op::Host(host) if !host.fallible => {
                        let op = std::mem::replace(&mut host.op, HostOp::Ascribe(name.clone()));
                        node.args = vec![op.of(std::mem::take(&mut node.args))];
                        node.ty = ir;
                    }
                    // The number of an iteration, which is of the type that its reader says.
                    Op::Placeholder => {
                        let op = HostOp::Ascribe(name.clone());
                        return self.host_node(op, vec![id.into()], "number", ty.clone(), Span::call_site());
                    }
                    _ => self.settle_number(id, ty),
                }
                Val::Node(id, ty.clone(), form)
            }
            other => other,
        }
    }

    /// A list that is written out: one of its numbers says the type of those without a suffix.
    pub(in crate::trace) fn list_of_one_type(&mut self, items: Vec<Val>) -> Val {
        let mut types = items.iter().map(Val::ty);
        let Some(mut element) = types.next() else { return Val::List(items) };
        types.for_each(|ty| settle(&mut element, &ty));
        Val::List(items.into_iter().map(|item| self.of_written_type(item, &element)).collect())
    }

    /// A float whose type the code has not said so far, and a `None` of which it has not said of what, where its use
    /// says it.
    pub(in crate::trace) fn of_used_type(&mut self, value: Val, ty: &Ty) -> Val {
        match (value, ty) {
            (Val::Lit(Arg::None, _), Ty::Option(_)) => Val::Lit(Arg::None, ty.clone()),
            (Val::Some(held), Ty::Option(ty)) => Val::Some(Box::new(self.of_used_type(*held, ty))),
            (Val::Tuple(parts), Ty::Tuple(types)) if parts.len() == types.len() => {
                let parts = parts.into_iter().zip(types);
                Val::Tuple(parts.map(|(part, ty)| self.of_used_type(part, ty)).collect())
            }
            (value, ty) => self.float_of_used_type(value, ty),
        }
    }

    fn float_of_used_type(&mut self, value: Val, ty: &Ty) -> Val {
        match value {
            Val::Node(id, Ty::Rust(old), form)
                if old == "float" && matches!(ty, Ty::Rust(name) if scalar::is_float(name)) =>
            {
                self.settle_number(id, ty);
                Val::Node(id, ty.clone(), form)
            }
            other => other,
        }
    }

    /// The list of `vec![number; count]` where its use says of which type the numbers are, and nothing said so where it was
    /// made; any other value as it is.
    pub(in crate::trace) fn numbers_of_used_type(&mut self, list: Val, element: &Ty) -> Val {
        let (Val::Node(id, Ty::List(held), form), Ty::Rust(_)) = (&list, element) else { return list };
        let (id, form, ty) = (*id, *form, Ty::List(Box::new(element.clone())));
        if !is_untyped(held) || settled(&self.index.ir_type(held), &self.index.ir_type(element)).is_none() {
            return list;
        }
        if self.graph.node(id).ty == self.index.ir_type(&ty) {
            return Val::Node(id, ty, form);
        }
        let Some(spelled) = self.spelling(&ty).filter(|_| self.is_open_repeat(id)) else { return list };
        self.ascribe(id, &ty, spelled);
        self.env.set_number(id, &ty);
        Val::Node(id, ty, form)
    }

    /// Returns whether it is the list of `vec![number; count]` of which nothing has said so far of which type the numbers
    /// are.
    pub(in crate::trace) fn is_open_repeat(&self, id: NodeId) -> bool {
        let node = self.graph.node(id);
        let Type::List(held) = &node.ty else { return false };
        matches!(&**held, Type::Rust(name) if name == "integer") && matches!(node.op.host(), Some(HostOp::Repeat))
    }

    /// Notes the type of the floats in a list that a loop fills.
    fn settle_list(&mut self, list: NodeId, element: &Ty) {
        let ir = self.index.ir_type(&Ty::List(Box::new(element.clone())));
        let pushes =
            |id: &NodeId| matches!(self.graph.node(*id).op.host(), Some(HostOp::Mutate(name)) if name == "push");
        let turns = self.graph.node(list).regions.iter().flat_map(|&region| &self.graph.region(region).nodes);
        let pushed: Vec<NodeId> = turns.copied().filter(pushes).collect();
        for push in pushed {
            let (to, item) = (self.graph.node(push).input(0), self.graph.node(push).args.get(1).cloned());
            match (item, element) {
                (Some(Arg::Node(item)), _) => self.settle_number(item, element),
                (Some(Arg::Expr(tuple)), Ty::Tuple(types)) if tuple.op == HostOp::Tuple => {
                    for (part, ty) in tuple.args.iter().zip(types) {
                        part.node().into_iter().for_each(|part| self.settle_number(part, ty));
                    }
                }
                _ => {}
            }
            if let Some(to) = to {
                self.edit_node(to).ty = ir.clone();
            }
        }
        self.edit_node(list).ty = ir;
    }

    /// Notes the type of a number, or of an option of one, of which nothing said so far what it is, and of what it is
    /// computed from.
    fn settle_number(&mut self, id: NodeId, ty: &Ty) {
        let mut open = vec![(id, 0, ty.clone())];
        while let Some((id, at, ty)) = open.pop() {
            if !self.settle_type(id, at, &ty) {
                continue;
            }
            self.env.set_number(id, &ty);
            let node = self.graph.node(id);
            match (&node.op, &ty) {
                (Op::TupleGet(at), _) => open.extend(node.inputs().map(|whole| (whole, *at, ty.clone()))),
                (Op::Host(host), Ty::Option(inner)) => {
                    let held = node.inputs().filter(|_| host.op == HostOp::Some);
                    open.extend(held.map(|held| (held, 0, (**inner).clone())));
                }
                (Op::Host(_), _) => open.extend(node.inputs().map(|input| (input, 0, ty.clone()))),
                _ => {
                    let ends: Vec<NodeId> =
                        node.regions.iter().filter_map(|&region| self.graph.yield_of(region)).collect();
                    for end in ends {
                        match self.graph.node(end).args.get(at) {
                            Some(Arg::Node(given)) => open.push((*given, 0, ty.clone())),
                            Some(number @ Arg::Float(_)) => {
                                let typed = typed_literal(number, &ty);
                                self.edit_node(end).args[at] = typed;
                            }
                            _ => {}
                        }
                    }
                }
            }
        }
    }

    /// Notes the type of a number, or of the one that is the part `at` of what branches hand over; yields whether it was
    /// not known.
    fn settle_type(&mut self, id: NodeId, at: usize, ty: &Ty) -> bool {
        let (node, ir) = (self.graph.node(id), self.index.ir_type(ty));
        let known = match (&node.op, &node.ty) {
            (Op::If | Op::Match(_), Type::Tuple(parts)) => {
                parts.get(at).and_then(|part| settled(part, &ir)).map(|part| {
                    let mut parts = parts.clone();
                    parts[at] = part;
                    Type::Tuple(parts)
                })
            }
            (Op::If | Op::Match(_) | Op::TupleGet(_) | Op::Host(_) | Op::Placeholder, held) => settled(held, &ir),
            _ => None,
        };
        known.is_some_and(|known| {
            self.edit_node(id).ty = known;
            true
        })
    }

    /// What a list of the type holds, as it is written in the function; nothing where that is a reference.
    pub(in crate::trace) fn element_of(&self, list: &syn::Type) -> Ty {
        match self.written(list) {
            Some(expected) => self.expected_ty(&expected).element(),
            None => Ty::Unknown,
        }
    }

    /// A list that the function hands over, as its type asks for it.
    pub(in crate::trace) fn result_list(&mut self, items: &[Val], ty: Option<&syn::Type>, span: Span) -> Result<Arg> {
        let element = match ty {
            Some(syn::Type::Array(_)) => None,
            Some(ty) if is_vec(ty) => Some(self.element_of(ty)),
            _ => return unsupported(span, "the result is built in a form that is not understood"),
        };
        let mut args = Vec::new();
        for item in items {
            let operand = self.exact_operand(item, span)?;
            args.push(if item.is_tensor() { HostOp::Output.on(operand) } else { operand });
        }
        let list = match &element {
            Some(element) => self.vec_of(args, element),
            None => HostOp::Array.of(args),
        };
        let held = items.first().map_or(element.unwrap_or(Ty::Unknown), Val::ty);
        let whole = self.materialize(list, "list", Ty::List(Box::new(held)), span);
        whole.arg().map_or_else(|| unsupported(span, "a result of this form"), Ok)
    }
}

/// The type of a number without a suffix, or of an option or a tuple of such, where `said` is what the code around it decides; none
/// where the type is known already.
fn settled(held: &Type, said: &Type) -> Option<Type> {
    match (held, said) {
        (Type::Rust(held), Type::Rust(name)) => {
            let fits = held == "float" && scalar::is_float(name) || held == "integer" && scalar::is_integer(name);
            fits.then(|| said.clone())
        }
        (Type::Tuple(held), Type::Tuple(said)) if held.len() == said.len() => {
            let parts = held
                .iter()
                .zip(said)
                .map(|(held, said)| settled(held, said).or_else(|| (held == said).then(|| held.clone())));
            parts.collect::<Option<_>>().filter(|parts| parts != held).map(Type::Tuple)
        }
        (Type::Option(held), Type::Option(said)) => settled(held, said).map(|held| Type::Option(Box::new(held))),
        _ => None,
    }
}
