//! A `Sequential` whose layers are known is as transparent as if its layers were fields.

use fx_ir::{Arg, Code, ModuleKind, NodeId, Op, Type};
use proc_macro2::Span;

use super::{Form, Result, Tracer, Ty, Val, merge::handed_over, place, unknown};
use crate::builder::{self, Layer};

/// Where a layer stands: with so many before it, or, where it is not known how many those are, with so many behind it.
enum At {
    Front(usize),
    Back(usize),
}

impl Tracer<'_> {
    pub(super) fn sequential(&mut self, module: &Val, args: Vec<Val>, span: Span) -> Result<Val> {
        let Some(layers) = self.layers_of(module) else {
            let Ty::Leaf(kind) = module.ty() else { return unknown(span, "a chain of layers of this form") };
            return self.opaque_chain(module, kind, args, span);
        };
        let mut args = args.into_iter();
        let Some(mut xs) = args.next() else { return unknown(span, "a chain of layers without an input") };
        let train = args.next();
        let repeat = layers.iter().position(|layer| matches!(layer, Layer::Repeat(_))).unwrap_or(layers.len());
        for (position, layer) in layers.iter().enumerate() {
            let behind = layers.len() - 1 - position;
            xs = match layer {
                Layer::Module(ty) => {
                    let at = if position < repeat { At::Front(position) } else { At::Back(behind) };
                    let layer = self.layer(module, &at, ty, span)?;
                    let args = [Some(xs), train.clone()].into_iter().flatten().collect();
                    self.forward(&layer, args, span)?
                }
                Layer::Closure(closure) => {
                    let args = [Some(xs), train.clone()].into_iter().flatten();
                    self.call_closure(closure, args.take(closure.inputs.len()).collect())?
                }
                Layer::Repeat(ty) => self.repeat(module, (position, behind), ty, xs, train.clone(), span)?,
            };
        }
        Ok(xs)
    }

    /// The layers that the field's constructors put in.
    fn layers_of(&self, module: &Val) -> Option<Vec<Layer>> {
        let node = self.graph.node(self.field_behind(module.node()?));
        let Op::GetAttr(field) = &node.op else { return None };
        let Type::Module(owner) = &self.graph.node(node.input(0)?).ty else { return None };
        let owner = self.index.struct_at(owner)?;
        builder::layers(self.index, owner, field)
    }

    /// The field that holds an optional chain: the subject of the `match` or `unwrap` that yields the chain.
    pub(super) fn field_behind(&self, chain: NodeId) -> NodeId {
        let node = self.graph.node(chain);
        let subject = match &node.op {
            Op::Placeholder => {
                let owner = self.graph.scope_of(chain).and_then(|region| self.graph.owner_of(region));
                owner.filter(|&owner| matches!(self.graph.node(owner).op, Op::Match(_)))
            }
            Op::Rust(_) => Some(chain),
            _ => None,
        };
        let field = subject.and_then(|subject| self.graph.node(subject).input(0));
        let is_option = |field: &NodeId| matches!(self.graph.node(*field).ty, Type::Option(_));
        field.filter(is_option).unwrap_or(chain)
    }

    fn opaque_chain(&mut self, module: &Val, kind: &'static str, args: Vec<Val>, span: Span) -> Result<Val> {
        self.report_opaque(span, "a `Sequential` whose constructor could not be read; its layers run one by one");
        let (Some(id), Some(Val::Node(input, ..))) = (module.node(), args.first()) else {
            return unknown(span, "a layer called on a value of this form");
        };
        let label = self.label_of(module, kind);
        let op = Op::CallModule(ModuleKind(kind.to_owned()));
        Ok(self.push_labelled(
            op,
            vec![id.into(), (*input).into()],
            &place::identifier(&label),
            &label,
            Ty::Tensor,
            span,
        ))
    }

    /// The layer at a position, which the frozen model checks to be of the type that the source says.
    fn layer(&mut self, module: &Val, at: &At, ty: &Ty, span: Span) -> Result<Val> {
        let (Some(id), Some(spelling)) = (module.node(), self.index.spelling(ty)) else {
            return unknown(span, "a layer whose type cannot be named");
        };
        let (method, number, place) = match at {
            At::Front(position) => ("layer", position, position.to_string()),
            At::Back(behind) => ("layer_from_end", behind, format!("-{}", behind + 1)),
        };
        let code = Code::fallible(format!("&$0.{method}::<{spelling}>({number})"));
        let label = format!("{}.{place}", self.label_of(module, "sequential"));
        let name = place::identifier(&label);
        let value =
            self.push_labelled(Op::Rust(code), vec![id.into()], &name, &label, ty.clone(), span).with_form(Form::Ref);
        self.set_path(&value, module, &place);
        Ok(value)
    }

    /// The layers between the first `outer.0` and the last `outer.1`, all of one type.
    fn repeat(
        &mut self,
        module: &Val,
        outer: (usize, usize),
        ty: &Ty,
        xs: Val,
        train: Option<Val>,
        span: Span,
    ) -> Result<Val> {
        let (Some(id), Some(spelling)) = (module.node(), self.index.spelling(ty)) else {
            return unknown(span, "a layer whose type cannot be named");
        };
        let code = Code::fallible(match outer {
            (0, 0) => format!("$0.layers_as::<{spelling}>()"),
            (first, last) => format!("$0.layers_between::<{spelling}>({first}, {last})"),
        });
        let list = self.push(Op::Rust(code), vec![id.into()], "layers", Ty::List(Box::new(ty.clone())), span);
        let (Some(list), Some(args)) = (list.node(), handed_over(&xs)) else {
            return unknown(span, "a chain of layers called on a value of this form");
        };
        let origin = self.origin(span, "each");
        let args = std::iter::once(Arg::Node(list)).chain(args).collect();
        let header = "%0 in $0.iter().copied()".to_owned();
        let label = self.label_of(module, "each");
        let name = place::identifier(label.rsplit('.').next().unwrap_or(&label));
        let owner = self.graph.push(self.region, Op::For(header), args, &name, Type::Unknown, origin);
        let path = self.path_of(module).map(|path| format!("{path}.*"));
        let carried = [("xs".to_owned(), xs)];
        self.env.open();
        self.env.declare("xs", carried[0].1.clone());
        let branch = self.in_region(owner, &mut |tracer| {
            let bound = vec![super::pattern::Binding {
                name: "layer".to_owned(),
                ty: ty.clone(),
                part: String::new(),
                form: Form::Ref,
            }];
            tracer.declare_bound(bound, path.as_deref(), span);
            tracer.declare_carried(&carried, span);
            let (Some(layer), Some(xs)) = (tracer.env.read("layer").cloned(), tracer.env.read("xs").cloned()) else {
                return unknown(span, "a chain of layers of this form");
            };
            tracer.forward(&layer, [Some(xs), train.clone()].into_iter().flatten().collect(), span)
        });
        self.env.close();
        let branch = branch?;
        let Some(next) = handed_over(branch.value()) else { return unknown(span, "a layer that yields no tensor") };
        self.end_branch(&branch, next, span);
        Ok(self.results(owner, &carried[0].1, &[Ty::Tensor], span))
    }
}
