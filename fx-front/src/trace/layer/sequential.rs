//! A `Sequential` whose layers are known is as transparent as if its layers were fields.

use fx_ir::{Arg, ForLoop, Host, HostOp, ModuleKind, NodeId, Op, Pattern, Type, host::Adaptor};
use proc_macro2::Span;

use crate::builder::{self, Kept, Layer, Made, OwnClosure, Unread};
use crate::trace::types::label::{element_path, identifier};
use crate::trace::{
    RefKind, Result, Tracer, Ty, Unsupported, Val, call::method::count, flow::join::yielded_args, unsupported,
};

/// Where a layer stands: with so many before it, or, where it is not known how many those are, with so many behind it.
enum At {
    Front(usize),
    Back(usize),
    /// With so many before it, in a chain of so many.
    Of(usize, usize),
}

/// What a chain calls: a layer, or a closure that its constructor adds.
pub(in crate::trace) enum Callee<'c> {
    /// Of a closure that captures variables also why no layer was made of it, where that was tried.
    Layer(&'c Val, Option<&'c str>),
    Closure(&'c OwnClosure),
}

/// Calls one of the layers.
pub(in crate::trace) type CallLayer<'r, 'a> = &'r dyn Fn(&mut Tracer<'a>, Callee<'_>, Vec<Val>) -> Result<Val>;

/// A chain that is run.
#[derive(Clone, Copy)]
pub(in crate::trace) struct Run<'r, 'a> {
    /// The chain.
    pub(in crate::trace) module: &'r Val,
    /// The mode, where one was given.
    pub(in crate::trace) train: Option<&'r Val>,
    /// Where it is called.
    pub(in crate::trace) span: Span,
    /// How its layers are called.
    pub(in crate::trace) call: CallLayer<'r, 'a>,
}

impl<'r, 'a: 'r> Run<'r, 'a> {
    /// The value that goes through the chain, and the mode.
    fn args(&self, xs: Val) -> Vec<Val> {
        [Some(xs), self.train.cloned()].into_iter().flatten().collect()
    }
}

impl<'a> Tracer<'a> {
    pub(in crate::trace) fn sequential(
        &mut self,
        module: &Val,
        args: &[Val],
        span: Span,
        call: CallLayer<'_, 'a>,
    ) -> Result<Val> {
        let layers = match self.layers_of(module) {
            Ok(layers) => layers,
            Err(why) => {
                let reason = format!("a `Sequential` whose layers are not known, so that they run one by one: {why}");
                return self.opaque_chain(module, args, Unsupported { span, reason }, span);
            }
        };
        let Some(xs) = args.first().cloned() else { return unsupported(span, "a chain of layers without an input") };
        let mark = self.checkpoint();
        let run = Run { module, train: args.get(1), span, call };
        self.chain(&run, &layers, xs).or_else(|fault| {
            self.rollback(mark);
            self.opaque_chain(module, args, fault, span)
        })
    }

    /// These layers of a chain, one after the other, which stand in the chain.
    fn chain(&mut self, run: &Run<'_, 'a>, layers: &[Layer], xs: Val) -> Result<Val> {
        let within = self.modules_within(Some(run.module));
        let outer = self.stand_in(within);
        let value = self.chained(run, layers, xs);
        self.stand_in(outer);
        value
    }

    fn chained(&mut self, run: &Run<'_, 'a>, layers: &[Layer], xs: Val) -> Result<Val> {
        let (module, span) = (run.module, run.span);
        let is_row = |layer: &Layer| matches!(layer, Layer::Repeat(inner) if matches!(inner[..], [Layer::Module(..)]));
        let mut others = layers.iter().filter(|layer| !layer.is_one());
        if others.next().is_some_and(|layer| !is_row(layer)) || others.next().is_some() {
            return self.formed(run, layers, xs);
        }
        let repeat = layers.iter().position(is_row).unwrap_or(layers.len());
        let mut xs = xs;
        for (position, layer) in layers.iter().enumerate() {
            let behind = layers.len() - 1 - position;
            xs = match layer {
                Layer::Repeat(inner) => {
                    let Some(Layer::Module(ty, why)) = inner.first() else {
                        return unsupported(span, "a chain of this form");
                    };
                    self.repeat(run, (position, behind), (ty, why.as_deref()), xs)?
                }
                layer => {
                    let at = match position {
                        _ if repeat == layers.len() => At::Of(position, layers.len()),
                        _ if position < repeat => At::Front(position),
                        _ => At::Back(behind),
                    };
                    self.one(run, layer, xs, &mut |tracer, ty| tracer.layer(module, &at, ty, span))?
                }
            };
        }
        Ok(xs)
    }

    /// One layer, which `find` finds.
    pub(in crate::trace) fn one(
        &mut self,
        run: &Run<'_, 'a>,
        layer: &Layer,
        xs: Val,
        find: &mut dyn FnMut(&mut Self, &Ty) -> Result<Val>,
    ) -> Result<Val> {
        match layer {
            Layer::Module(ty, why) => {
                let layer = find(self, ty)?;
                (run.call)(self, Callee::Layer(&layer, why.as_deref()), run.args(xs))
            }
            Layer::Closure(closure, _) => {
                let args = run.args(xs).into_iter().take(closure.code.inputs.len()).collect();
                (run.call)(self, Callee::Closure(closure), args)
            }
            Layer::Chain(kind, layers) => {
                let inner = find(self, &Ty::Leaf(kind))?;
                self.chain(&Run { module: &inner, ..*run }, layers, xs)
            }
            _ => unsupported(run.span, "a chain of layers of this form"),
        }
    }

    /// The layers that the constructors put in of what holds the chain.
    fn layers_of(&self, module: &Val) -> std::result::Result<Vec<Layer>, Unread> {
        let id = self.field_behind(module.node().ok_or(Unread::NoConstructor)?);
        if let Some((owner, field)) = self.field_at(id) {
            return builder::layers(self.index, owner, &field);
        }
        if let Some((owner, field)) = self.list_of(id) {
            return builder::kept(self.index, &Made::Struct(owner), &Kept::InList(field));
        }
        let (made, field) = self.variant_of(id).ok_or(Unread::NoConstructor)?;
        builder::kept(self.index, &made, &Kept::Alone(field))
    }

    /// The field that the node reads, and the struct that has it.
    pub(in crate::trace) fn field_at(&self, id: NodeId) -> Option<(usize, String)> {
        let node = self.graph.node(id);
        let Op::GetAttr(field) = &node.op else { return None };
        let Type::Module(owner) = &self.graph.node(node.input(0)?).ty else { return None };
        Some((self.index.struct_at(owner)?, field.clone()))
    }

    /// The field that is the list, or the list of lists, in which the value of the node is an element.
    fn list_of(&self, id: NodeId) -> Option<(usize, String)> {
        let is_position = |key: &str| key == "*" || !key.is_empty() && key.bytes().all(|digit| digit.is_ascii_digit());
        let mut path = self.facts.paths.get(&id)?.as_str();
        // The field of a tuple struct is a position too: the list that is nearest to the element is meant.
        while let Some((list, _)) = path.rsplit_once('.').filter(|(_, key)| is_position(key)) {
            let is_list = |id: &NodeId| self.facts.paths.get(id).is_some_and(|path| path == list);
            let mut nodes = self.graph.nodes().into_iter().filter(is_list);
            if let Some(field) = nodes.find_map(|id| self.field_at(id)) {
                return Some(field);
            }
            path = list;
        }
        None
    }

    /// The variant of an enum and the field of it that an arm of a `match` binds.
    fn variant_of(&self, id: NodeId) -> Option<(Made, String)> {
        let region = self.graph.scope_of(id)?;
        let node = self.graph.node(self.graph.owner_of(region)?);
        let Op::Match(patterns) = &node.op else { return None };
        let number = self.graph.region(region).params.iter().position(|&param| param == id)?;
        let arm = node.regions.iter().position(|&one| one == region)?;
        let Type::Rust(of) = &self.graph.node(node.input(0)?).ty else { return None };
        let binds = |pattern: &Pattern| *pattern == Pattern::Bind(number);
        let (path, field) = match patterns.get(arm)? {
            Pattern::TupleStruct(path, parts) if parts.rest.is_none() => {
                (path, parts.items.iter().position(binds)?.to_string())
            }
            Pattern::Struct(pattern) => {
                (&pattern.path, pattern.fields.iter().find(|(_, pattern)| binds(pattern))?.0.clone())
            }
            _ => return None,
        };
        Some((Made::Variant(Ty::Rust(of.clone()), path.rsplit("::").next()?.to_owned()), field))
    }

    /// The field that holds an optional chain: the subject of the `match` or `unwrap` that yields the chain.
    pub(in crate::trace) fn field_behind(&self, chain: NodeId) -> NodeId {
        let node = self.graph.node(chain);
        let subject = match &node.op {
            Op::Placeholder => {
                let owner = self.graph.parent(chain);
                owner.filter(|&owner| matches!(self.graph.node(owner).op, Op::Match(_)))
            }
            Op::Host(_) | Op::Rust(_) => Some(chain),
            _ => None,
        };
        let field = subject.and_then(|subject| self.graph.node(subject).input(0));
        let is_option = |field: &NodeId| matches!(self.graph.node(*field).ty, Type::Option(_));
        field.filter(is_option).unwrap_or(chain)
    }

    /// The chain as one layer, because of `fault`; the fault itself where that cannot be done.
    fn opaque_chain(&mut self, module: &Val, args: &[Val], fault: Unsupported, span: Span) -> Result<Val> {
        let Ty::Leaf(kind) = module.ty() else { return Err(fault) };
        let Ok(mode) = self.mode_of(kind, args.get(1), span) else { return Err(fault) };
        let (Some(id), Some(Val::Node(input, ..))) = (module.node(), args.first()) else { return Err(fault) };
        let operations = self.operations_of_chain(self.layers_of(module).ok());
        self.report_opaque(fault.span, &fault.reason, operations);
        let label = self.label_of(module, kind);
        let op = Op::CallModule(ModuleKind(kind.to_owned()));
        Ok(self.layer_call(op, [id, *input], (&identifier(&label), &label), mode, span))
    }

    /// The layer at a position, which the frozen model checks to be of the type that the source says.
    fn layer(&mut self, module: &Val, at: &At, ty: &Ty, span: Span) -> Result<Val> {
        let (Some(id), Some(spelling)) = (module.node(), self.spelling(ty)) else {
            return unsupported(span, "a layer whose type cannot be named");
        };
        let (op, number, place) = match at {
            At::Front(position) | At::Of(position, _) => (HostOp::Layer(spelling), position, position.to_string()),
            At::Back(behind) => (HostOp::LayerFromEnd(spelling), behind, format!("-{}", behind + 1)),
        };
        let mut args = vec![id.into(), count(*number)];
        if let At::Of(_, layers) = at {
            args.push(count(*layers));
        }
        let label = format!("{}.{place}", self.label_of(module, "sequential"));
        let name = identifier(&label);
        let value = self
            .push_labelled(Op::Host(Host::pure(op)), args, &name, &label, ty.clone(), span)
            .with_ref_kind(RefKind::Ref);
        self.set_path(&value, module, &place);
        Ok(value)
    }

    /// The layers between the first `outer.0` and the last `outer.1`, all of one type.
    fn repeat(
        &mut self,
        run: &Run<'_, 'a>,
        outer: (usize, usize),
        (ty, why): (&Ty, Option<&str>),
        xs: Val,
    ) -> Result<Val> {
        let (module, span) = (run.module, run.span);
        let (Some(id), Some(spelling)) = (module.node(), self.spelling(ty)) else {
            return unsupported(span, "a layer whose type cannot be named");
        };
        let (op, args) = match outer {
            (0, 0) => (HostOp::Layers(spelling), vec![id.into()]),
            (first, last) => (HostOp::LayersBetween(spelling), vec![id.into(), count(first), count(last)]),
        };
        let list = self.host_node(op, args, "layers", Ty::List(Box::new(ty.clone())), span);
        let (Some(list), Some(args)) = (list.node(), yielded_args(&xs)) else {
            return unsupported(span, "a chain of layers called on a value of this form");
        };
        let origin = self.origin(span, "each");
        let args = std::iter::once(Arg::Node(list)).chain(args).collect();
        let header = ForLoop::new(Pattern::Bind(0), [Adaptor::Iter, Adaptor::Copied]);
        let label = self.label_of(module, "each");
        let name = identifier(label.rsplit('.').next().unwrap_or(&label));
        let owner = self.graph.push(self.region, Op::For(header), args, &name, Type::Unknown, origin);
        let path = self.path_of(module).map(|path| element_path(&path, "*"));
        let carried = [("xs".to_owned(), xs)];
        self.env.open();
        self.env.declare("xs", carried[0].1.clone());
        let branch = self.in_region(owner, &mut |tracer| {
            let bound = vec![crate::trace::flow::pattern::Binding {
                name: "layer".to_owned(),
                ty: ty.clone(),
                part: String::new(),
                form: RefKind::Ref,
            }];
            tracer.declare_bound(bound, path.as_deref(), span);
            tracer.declare_carried(&carried, span);
            let (Some(layer), Some(xs)) = (tracer.env.read("layer").cloned(), tracer.env.read("xs").cloned()) else {
                return unsupported(span, "a chain of layers of this form");
            };
            (run.call)(tracer, Callee::Layer(&layer, why), run.args(xs))
        });
        self.env.close();
        let branch = branch?;
        let Some(next) = yielded_args(branch.value()) else {
            return unsupported(span, "a layer that yields no tensor");
        };
        self.end_branch(&branch, next, span);
        Ok(self.joined_results(owner, &carried[0].1, &[Ty::Tensor], span))
    }
}
