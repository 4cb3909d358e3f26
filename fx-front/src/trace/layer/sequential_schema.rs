//! A `Sequential` whose constructor adds layers in loops or under conditions: what it holds is found out at freeze time.
//!
//! The form of the chain goes into the generated code, where the live chain is matched against it. The iterations of the
//! constructor's loops are iterations of a loop over what was found, its conditions are decided by it.

use fx_ir::{Arg, ForLoop, Host, HostOp, Op, Pattern, Type, host::Adaptor};

use crate::builder::Layer;
use crate::trace::types::label::identifier;
use crate::trace::{
    RefKind, Result, Tracer, Ty, Val,
    call::method::count,
    flow::{join::yielded_args, pattern::Binding},
    layer::sequential::Run,
    unsupported,
};

const MATCH: &str = "::fx_runtime::frozen::chain::ChainMatch";

impl<'a> Tracer<'a> {
    /// A chain of this form.
    pub(in crate::trace) fn formed(&mut self, run: &Run<'_, 'a>, layers: &[Layer], xs: Val) -> Result<Val> {
        let (Some(id), Some(form)) = (run.module.node(), self.form(layers)) else {
            return unsupported(run.span, "a layer whose type cannot be named");
        };
        let chain_match = self.host_node(HostOp::MatchChain, vec![id.into(), form], "form", chain_match(), run.span);
        self.parts(run, &chain_match, layers, xs)
    }

    /// The form as the runtime reads it.
    fn form(&self, layers: &[Layer]) -> Option<Arg> {
        let part = |layer: &Layer| {
            let is = |ty: &Ty| Some(HostOp::PartLayer(self.spelling(ty)?).of([]));
            match layer {
                Layer::Module(ty, _) => is(ty),
                Layer::Chain(kind, _) => is(&Ty::Leaf(kind)),
                Layer::Closure(_, place) => Some(HostOp::PartClosure(place.clone()).of([])),
                Layer::Repeat(inner) => Some(HostOp::PartRepeat.on(self.form(inner)?)),
                Layer::Optional(inner) => Some(HostOp::PartOptional.on(self.form(inner)?)),
                Layer::Either(a, b) => Some(HostOp::PartEither.of([self.form(a)?, self.form(b)?])),
            }
        };
        layers.iter().map(part).collect::<Option<Vec<Arg>>>().map(|parts| HostOp::Array.of(parts))
    }

    /// The layers of one stretch of the chain.
    fn parts(&mut self, run: &Run<'_, 'a>, stretch: &Val, layers: &[Layer], xs: Val) -> Result<Val> {
        let mut xs = xs;
        for (part, layer) in layers.iter().enumerate() {
            xs = match layer {
                Layer::Repeat(inner) => self.iterations_of(run, stretch, part, inner, xs)?,
                Layer::Optional(inner) => self.branches_of(run, stretch, part, (inner, &[]), &xs)?,
                Layer::Either(a, b) => self.branches_of(run, stretch, part, (a, b), &xs)?,
                one => self.one(run, one, xs, &mut |tracer, ty| tracer.layer_of(run, stretch, part, ty))?,
            };
        }
        Ok(xs)
    }

    fn layer_of(&mut self, run: &Run<'_, 'a>, stretch: &Val, part: usize, ty: &Ty) -> Result<Val> {
        let (Some(module), Some(chain_match), Some(spelling)) = (run.module.node(), stretch.node(), self.spelling(ty))
        else {
            return unsupported(run.span, "a layer whose type cannot be named");
        };
        let op = Op::Host(Host::pure(HostOp::MatchedLayer(spelling)));
        let label = format!("{}.*", self.label_of(run.module, "sequential"));
        let name = identifier(&label);
        let args = vec![module.into(), chain_match.into(), count(part)];
        let value = self.push_labelled(op, args, &name, &label, ty.clone(), run.span).with_ref_kind(RefKind::Ref);
        self.set_path(&value, run.module, "*");
        Ok(value)
    }

    fn iterations_of(
        &mut self,
        run: &Run<'_, 'a>,
        stretch: &Val,
        part: usize,
        inner: &[Layer],
        xs: Val,
    ) -> Result<Val> {
        let span = run.span;
        let ty = Ty::List(Box::new(chain_match()));
        let args = stretch.arg().into_iter().chain([count(part)]).collect();
        let list = self.host_node(HostOp::RuntimeMethod("iterations".to_owned()), args, "iterations", ty, span);
        let (Some(list), Some(first)) = (list.node(), yielded_args(&xs)) else {
            return unsupported(span, "a chain of layers called on a value of this form");
        };
        let args: Vec<Arg> = std::iter::once(Arg::Node(list)).chain(first).collect();
        let name = identifier(&self.label_of(run.module, "each"));
        let origin = self.origin(span, "each");
        let header = Op::For(ForLoop::new(Pattern::Bind(0), [Adaptor::Iter]));
        let owner = self.graph.push(self.region, header, args, &name, Type::Unknown, origin);
        let carried = [("xs".to_owned(), xs)];
        self.env.open();
        self.env.declare("xs", carried[0].1.clone());
        let branch = self.in_region(owner, &mut |tracer| {
            let (name, part) = ("iteration".to_owned(), String::new());
            tracer.declare_bound(vec![Binding { name, ty: chain_match(), part, form: RefKind::Ref }], None, span);
            tracer.declare_carried(&carried, span);
            let (Some(chain_match), Some(xs)) = (tracer.env.read("iteration").cloned(), tracer.env.read("xs").cloned())
            else {
                return unsupported(span, "a chain of layers of this form");
            };
            tracer.parts(run, &chain_match, inner, xs)
        });
        self.env.close();
        let branch = branch?;
        let Some(next) = yielded_args(branch.value()) else {
            return unsupported(span, "a layer that yields no tensor");
        };
        self.end_branch(&branch, next, span);
        Ok(self.joined_results(owner, &carried[0].1, &[Ty::Tensor], span))
    }

    fn branches_of(
        &mut self,
        run: &Run<'_, 'a>,
        stretch: &Val,
        part: usize,
        (a, b): (&[Layer], &[Layer]),
        xs: &Val,
    ) -> Result<Val> {
        let span = run.span;
        let args: Vec<Arg> = stretch.arg().into_iter().chain([count(part)]).collect();
        let flag = Ty::Rust("bool".to_owned());
        let is_first = HostOp::RuntimeMethod("is_first".to_owned());
        let first = self.host_node(is_first, args.clone(), "is_first", flag, span);
        let owner = self.owner(Op::If, first.arg().into_iter().collect(), "branch", span);
        let mut branches = Vec::new();
        for layers in [a, b] {
            branches.push(self.in_region(owner, &mut |tracer| {
                if layers.is_empty() {
                    return Ok(xs.clone());
                }
                let branch = HostOp::RuntimeMethod("branch".to_owned());
                let inner = tracer.host_node(branch, args.clone(), "inner", chain_match(), span);
                tracer.parts(run, &inner, layers, xs.clone())
            })?);
        }
        self.join_branches(owner, &branches, span)
    }
}

fn chain_match() -> Ty {
    Ty::Rust(MATCH.to_owned())
}
