//! A value as the user's variable holds it, of the very type: what carried code and the user's own structs are given.

use fx_ir::{Arg, Code, Effect, NodeId, Op};
use proc_macro2::Span;

use super::{
    Form, Result, Tracer, Ty, Val,
    expr::{is_copy, never},
    scalars::NUMBER,
    unknown,
};
use crate::index::is_within;

impl Tracer<'_> {
    /// A value as the user's variable holds it; a fault where that is not known.
    pub(super) fn spell_exactly(&mut self, value: &Val, args: &mut Vec<Arg>, span: Span) -> Result<String> {
        match value {
            Val::Node(_, _, Form::Deep) => unknown(span, "code that mentions a reference to a reference"),
            Val::Node(_, ty, _) if *ty == Ty::Tensor || is_copy(ty) => self.spell_owned(value, args, span),
            Val::Lit(arg, ty) if *arg != Arg::None && *ty != Ty::Unknown => self.spell_owned(value, args, span),
            Val::Node(_, Ty::Rust(name), _) if name == NUMBER => {
                Ok(format!("::fx_runtime::tch::Scalar::from({})", self.spell(value, args, span)?))
            }
            Val::Lit(Arg::Path(_), _) => self.spell_owned(value, args, span),
            Val::Tuple(parts) => {
                let parts: Result<Vec<String>> =
                    parts.iter().map(|part| self.spell_exactly(part, args, span)).collect();
                Ok(format!("({},)", parts?.join(", ")))
            }
            Val::Some(inner) => Ok(format!("Some({})", self.spell_exactly(inner, args, span)?)),
            Val::Fields(..) => self.spell_fields(value, args, span),
            Val::Node(id, Ty::List(element), _) if is_copy(element) && self.is_vec(*id) => {
                args.push(Arg::Node(*id));
                Ok(format!("${}.to_vec()", args.len() - 1))
            }
            Val::Node(id, ty, form) if self.is_made_field(*id) || (*form == Form::Owned && self.is_own(value)) => {
                let Some(copy) = self.copy_of(ty, &format!("${}", args.len())) else {
                    return unknown(span, "code that mentions a value whose type is not known for sure");
                };
                args.push(Arg::Node(*id));
                Ok(copy)
            }
            _ => unknown(span, "code that mentions a value whose type is not known for sure"),
        }
    }

    /// Is it a field of a struct of the crate that the forward has made, of values of its own in `Vec`s and options?
    pub(super) fn is_made_field(&self, id: NodeId) -> bool {
        let node = self.graph.node(id);
        let Op::GetAttr(name) = &node.op else { return false };
        let Some(base) = node.input(0).filter(|base| !self.paths.contains_key(base)) else { return false };
        let fx_ir::Type::Module(owner) = &self.graph.node(base).ty else { return false };
        let owner = self.index.struct_at(owner);
        let Some((owner, field)) = owner.and_then(|owner| Some((owner, self.index.field(owner, name)?))) else {
            return false;
        };
        self.is_copied(&self.index.structs[owner].module, &field.ty)
    }

    /// Is it a value of the very type: a variable of the generated code's, a struct that the forward has made, or what the
    /// entry is given by value?
    fn is_own(&self, value: &Val) -> bool {
        let Val::Node(id, ..) = value else { return false };
        self.is_own_place(value) || self.made.contains_key(id) || self.is_given(*id)
    }

    /// Is it what the entry is given by value?
    pub(super) fn is_given(&self, id: NodeId) -> bool {
        self.entry_type(id).is_some_and(|ty| self.is_copied(self.home(), &ty))
    }

    /// Is what the type says a value that the user's own `clone` makes another of: structs of the crate, in tuples, lists
    /// and options?
    pub(super) fn has_clone(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Struct(id) => !self.index.structs[*id].is_module,
            Ty::Option(inner) | Ty::List(inner) => self.has_clone(inner),
            Ty::Tuple(parts) => parts.iter().any(|part| self.has_clone(part)),
            _ => false,
        }
    }

    /// What the user's own `clone` makes of the value.
    pub(super) fn cloned(&mut self, value: &Val, ty: Ty, span: Span) -> Val {
        let code = Code { effect: Effect::Io, ..Code::pure("$0.clone()") };
        self.push(Op::Rust(code), value.arg().into_iter().collect(), "cloned", ty, span).with_form(Form::Owned)
    }

    /// A second value like the one that is there, made of second handles on its tensors.
    pub(super) fn copy_of(&self, ty: &Ty, place: &str) -> Option<String> {
        Some(match ty {
            Ty::Tensor => format!("{place}.shallow_clone()"),
            ty if is_copy(ty) => format!("{place}.clone()"),
            Ty::List(element) if is_copy(element) => format!("{place}.to_vec()"),
            Ty::List(element) => {
                format!("{place}.iter().map(|one| {}).collect::<Vec<_>>()", self.copy_of(element, "one")?)
            }
            Ty::Option(inner) => format!("{place}.as_ref().map(|one| {})", self.copy_of(inner, "one")?),
            Ty::Tuple(parts) => {
                let parts = parts.iter().enumerate().map(|(at, part)| self.copy_of(part, &format!("{place}.{at}")));
                format!("({},)", parts.collect::<Option<Vec<String>>>()?.join(", "))
            }
            Ty::Struct(id) => self.copy_of_struct(*id, place)?,
            _ => return None,
        })
    }

    /// A struct of the crate whose fields generated code can read, and all of which can be copied.
    fn copy_of_struct(&self, id: usize, place: &str) -> Option<String> {
        let (item, home) = (&self.index.structs[id], self.home());
        let path = self.index.path_from(home, &item.module, &item.name).filter(|_| item.instance.is_none())?;
        let copies = item.fields.iter().map(|field| {
            let is_read = field.scope.as_ref().is_none_or(|scope| is_within(home, scope));
            let ty = (is_read && self.is_copied(&item.module, &field.ty)).then(|| self.index.field_ty(id, field))?;
            Some(format!("{}: {}", field.name, self.copy_of(&ty, &format!("{place}.{}", field.name))?))
        });
        Some(format!("{path} {{ {} }}", copies.collect::<Option<Vec<String>>>()?.join(", ")))
    }

    /// Is a copy of a value of the type, as far as its parts have one, of that very type?
    fn is_copied(&self, module: &str, ty: &syn::Type) -> bool {
        all_leaves(ty, &|leaf| {
            let is_struct = |ty| matches!(ty, Ty::Struct(id) if !self.index.structs[id].is_module);
            is_plain_leaf(leaf) || is_struct(self.index.ty(module, None, leaf))
        })
    }

    /// Does code behind the node never run?
    fn is_never(&self, id: NodeId) -> bool {
        self.graph.node(id).ty == self.index.ir_type(&never())
    }

    /// Is it a `Vec` for sure: what a tensor says of itself, what is written so, and what branches hand over of such?
    pub(super) fn is_vec(&self, id: NodeId) -> bool {
        let node = self.graph.node(id);
        let handed_over = |owner: NodeId, at: usize| {
            let regions = &self.graph.node(owner).regions;
            let mut ends = regions.iter().filter_map(|&region| self.graph.yield_of(region)).peekable();
            let is_vec = |end: NodeId| {
                let args = &self.graph.node(end).args;
                let diverges = |arg: &Arg| arg.node().is_some_and(|id| self.is_never(id));
                args.first().is_some_and(diverges)
                    || args.get(at).and_then(Arg::node).is_some_and(|one| self.is_vec(one))
            };
            ends.peek().is_some() && ends.all(is_vec)
        };
        match (&node.op, node.input(0)) {
            (Op::Rust(code), _) => {
                code.template.starts_with("vec![")
                    || code.template.starts_with("::std::iter::repeat_with(")
                    || [".size()", ".stride()", ".to_vec()"].iter().any(|end| code.template.ends_with(end))
            }
            (Op::If | Op::Match(_), _) => handed_over(id, 0),
            (Op::TupleGet(at), Some(whole)) if matches!(self.graph.node(whole).op, Op::If | Op::Match(_)) => {
                handed_over(whole, *at)
            }
            _ => false,
        }
    }
}

/// A tensor or a number.
fn is_plain_leaf(leaf: &syn::Type) -> bool {
    let syn::Type::Path(path) = leaf else { return false };
    let name = path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
    name == "Tensor" || fx_ir::scalar::is_scalar(&name)
}

/// Does `test` hold for every type without arguments that tuples, `Vec` and `Option` make up this one of?
fn all_leaves(ty: &syn::Type, test: &dyn Fn(&syn::Type) -> bool) -> bool {
    match ty {
        syn::Type::Tuple(parts) => parts.elems.iter().all(|part| all_leaves(part, test)),
        syn::Type::Path(path) => match path.path.segments.last().map(|last| (last, &last.arguments)) {
            Some((last, syn::PathArguments::AngleBracketed(list))) => {
                let is_known = last.ident == "Vec" || last.ident == "Option";
                let holds = |arg: &_| matches!(arg, syn::GenericArgument::Type(ty) if all_leaves(ty, test));
                is_known && list.args.iter().all(holds)
            }
            Some((_, syn::PathArguments::None)) => test(ty),
            _ => false,
        },
        _ => false,
    }
}
