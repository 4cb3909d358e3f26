//! What an expression of the user's stands for while it is traced.

use std::rc::Rc;

use fx_ir::{Arg, NodeId};

use crate::index::Ty;
use crate::trace::{
    Frame,
    env::Env,
    flow::iterator_value::IteratorValue,
    place::{Place, local_place::LocalPlace},
};

/// A traced value: a node, a literal, or a structure of such whose parts are known one by one.
#[derive(Clone, Debug)]
pub(in crate::trace) enum Val {
    /// The value of a node.
    Node(NodeId, Ty, RefKind),
    /// A literal or a path that needs no value.
    Lit(Arg, Ty),
    /// A tuple whose parts are known.
    Tuple(Vec<Val>),
    /// A list literal.
    List(Vec<Val>),
    /// `Some(value)`, written so.
    Some(Box<Val>),
    /// A closure that has not been called yet.
    Closure(Rc<syn::ExprClosure>, Rc<ClosureEnv>),
    /// One of several values that no variable of generated code holds, as a condition decides.
    Chosen(Rc<Chosen>),
    /// An iterator that a variable holds, and how many elements were taken from it.
    Iter(Rc<IteratorValue>, Box<Val>),
    /// A struct of the crate whose fields may be written to one by one.
    Fields(Rc<Shape>, Vec<Val>),
    /// What a `&mut` borrows, and from where.
    MutRef(Rc<LocalPlace>, Box<Val>),
    /// A `&mut` to a part of the state.
    Place(Rc<Place>),
    /// `()`.
    Unit,
    /// No value: the code before it returns or panics.
    Never,
}

/// What branches choose.
#[derive(Debug)]
pub(in crate::trace) struct Chosen {
    /// The `if` or the `match`.
    pub(in crate::trace) of: NodeId,
    /// What each arm chooses, by nodes of its own region too; nothing where the arm does not come to its end.
    pub(in crate::trace) arms: Vec<Option<Val>>,
}

/// The struct that a value with fields is.
#[derive(Debug)]
pub(in crate::trace) struct Shape {
    /// Its position in the index.
    pub(in crate::trace) owner: usize,
    /// What its fields are called, in the order of their values.
    pub(in crate::trace) names: Vec<String>,
}

/// Where a closure was written: the variables that it sees, and the functions around it.
#[derive(Clone, Debug)]
pub(in crate::trace) struct ClosureEnv {
    pub(in crate::trace) env: Env,
    pub(in crate::trace) frames: Vec<Frame>,
    /// Whether it was handed on, to a function or by one, so that it is called where it sees other variables.
    pub(in crate::trace) escaped: bool,
}

/// Whether the user's variable owns its value, or is it a reference. Only code that is kept as opaque code has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trace) enum RefKind {
    /// `T`.
    Value,
    /// `&T`.
    Ref,
    /// A reference to a reference, of any depth.
    RefRef,
}

impl RefKind {
    /// How a variable holds a value that comes from several places; where they do not agree, nobody knows.
    pub(in crate::trace) fn common(forms: impl IntoIterator<Item = RefKind>) -> RefKind {
        let mut forms = forms.into_iter();
        let first = forms.next().unwrap_or(RefKind::Value);
        if forms.all(|form| form == first) { first } else { RefKind::RefRef }
    }

    /// How a reference to the value is held.
    pub(in crate::trace) fn borrowed(self) -> RefKind {
        if self == RefKind::Value { RefKind::Ref } else { RefKind::RefRef }
    }

    /// How what is behind the reference is held.
    pub(in crate::trace) fn behind(self) -> RefKind {
        if self == RefKind::RefRef { RefKind::Ref } else { RefKind::Value }
    }
}

/// How the variables of a pattern hold their parts: all alike, or each element of a tuple in its own way.
#[derive(Clone, Debug)]
pub(in crate::trace) enum RefKinds {
    /// Every variable.
    All(RefKind),
    /// The variables of each element.
    Each(Vec<RefKinds>),
}

impl RefKinds {
    /// How the parts of the value are bound.
    pub(in crate::trace) fn of(value: &Val) -> RefKinds {
        match value {
            Val::Node(_, _, form) => RefKinds::All(*form),
            Val::Tuple(parts) => RefKinds::Each(parts.iter().map(RefKinds::of).collect()),
            _ => RefKinds::All(RefKind::Value),
        }
    }

    pub(in crate::trace) fn at(&self, position: usize) -> RefKinds {
        match self {
            RefKinds::All(form) => RefKinds::All(*form),
            RefKinds::Each(parts) => parts.get(position).cloned().unwrap_or(RefKinds::All(RefKind::Value)),
        }
    }

    /// How the parts are bound behind a reference.
    pub(in crate::trace) fn borrowed(&self) -> RefKinds {
        match self {
            RefKinds::All(form) => RefKinds::All(form.borrowed()),
            RefKinds::Each(parts) => RefKinds::Each(parts.iter().map(RefKinds::borrowed).collect()),
        }
    }

    /// Whether one of the parts is a reference.
    pub(in crate::trace) fn has_reference(&self) -> bool {
        match self {
            RefKinds::All(form) => *form != RefKind::Value,
            RefKinds::Each(parts) => parts.iter().any(RefKinds::has_reference),
        }
    }

    pub(in crate::trace) fn one(&self) -> RefKind {
        match self {
            RefKinds::All(form) => *form,
            RefKinds::Each(_) => RefKind::Value,
        }
    }
}

impl Val {
    /// What is known of its type.
    pub(in crate::trace) fn ty(&self) -> Ty {
        match self {
            Val::Lit(_, Ty::Mode) => Ty::Rust("bool".to_owned()),
            Val::Node(_, ty, _) | Val::Lit(_, ty) => ty.clone(),
            Val::Tuple(parts) => Ty::Tuple(parts.iter().map(Val::ty).collect()),
            Val::List(items) => Ty::List(Box::new(items.first().map_or(Ty::Unknown, Val::ty))),
            Val::Some(inner) => Ty::Option(Box::new(inner.ty())),
            Val::Fields(shape, _) => Ty::Struct(shape.owner),
            Val::Place(place) => place.ty.clone(),
            Val::Closure(..) | Val::Chosen(_) | Val::Iter(..) | Val::MutRef(..) | Val::Never => Ty::Unknown,
            Val::Unit => Ty::Tuple(Vec::new()),
        }
    }

    /// The node, if it is one.
    pub(in crate::trace) fn node(&self) -> Option<NodeId> {
        match self {
            Val::Node(id, ..) => Some(*id),
            _ => None,
        }
    }

    /// The type of a list that is written out, as far as its elements are values and no references; `None` of anything else.
    pub(in crate::trace) fn listed_type(&self) -> Option<Ty> {
        let Val::List(items) = self else { return None };
        let owns = items.iter().all(|item| item.ref_kind() == Some(RefKind::Value));
        Some(if owns { self.ty() } else { Ty::List(Box::new(Ty::Unknown)) })
    }

    /// Whether it is a tensor, as far as is known.
    pub(in crate::trace) fn is_tensor(&self) -> bool {
        self.ty() == Ty::Tensor
    }

    /// The argument that stands for it in a graph; `None` for what no argument can say.
    pub(in crate::trace) fn arg(&self) -> Option<Arg> {
        match self {
            Val::Node(id, ..) => Some(Arg::Node(*id)),
            Val::Lit(arg, _) => Some(arg.clone()),
            Val::List(items) => items.iter().map(Val::arg).collect::<Option<Vec<Arg>>>().map(Arg::List),
            Val::Some(inner) => inner.arg(),
            Val::Tuple(_)
            | Val::Closure(..)
            | Val::Chosen(_)
            | Val::Iter(..)
            | Val::Fields(..)
            | Val::MutRef(..)
            | Val::Place(_)
            | Val::Unit
            | Val::Never => None,
        }
    }

    /// The value as another function sees it, which has variables of its own.
    pub(in crate::trace) fn handed_on(self) -> Val {
        match self {
            Val::Closure(closure, home) if !home.escaped => {
                Val::Closure(closure, Rc::new(ClosureEnv { escaped: true, ..(*home).clone() }))
            }
            Val::Tuple(parts) => Val::Tuple(parts.into_iter().map(Val::handed_on).collect()),
            Val::List(items) => Val::List(items.into_iter().map(Val::handed_on).collect()),
            Val::Some(inner) => Val::Some(Box::new(inner.handed_on())),
            other => other,
        }
    }

    /// The value itself, where it is borrowed.
    pub(in crate::trace) fn behind(self) -> Val {
        match self {
            Val::MutRef(_, inner) => inner.behind(),
            other => other,
        }
    }

    /// The values that it is made of, as far as they are known one by one.
    pub(in crate::trace) fn parts(&self) -> &[Val] {
        match self {
            Val::Tuple(parts) | Val::List(parts) | Val::Fields(_, parts) => parts,
            Val::Some(inner) | Val::MutRef(_, inner) | Val::Iter(_, inner) => std::slice::from_ref(inner),
            _ => &[],
        }
    }

    /// The same for who changes them.
    pub(in crate::trace) fn parts_mut(&mut self) -> &mut [Val] {
        match self {
            Val::Tuple(parts) | Val::List(parts) | Val::Fields(_, parts) => parts,
            Val::Some(inner) | Val::MutRef(_, inner) | Val::Iter(_, inner) => std::slice::from_mut(inner),
            _ => &mut [],
        }
    }

    /// The same value, known to be held by reference or owned.
    pub(in crate::trace) fn with_ref_kind(self, form: RefKind) -> Val {
        match self {
            Val::Node(id, ty, _) => Val::Node(id, ty, form),
            other => other,
        }
    }

    /// A reference to the value.
    pub(in crate::trace) fn borrowed(self) -> Val {
        match self {
            Val::Node(id, ty, form) => Val::Node(id, ty, form.borrowed()),
            other => other,
        }
    }

    /// How the user's variable holds it, as far as it is one value; nothing is said of what fits either way.
    pub(in crate::trace) fn ref_kind(&self) -> Option<RefKind> {
        match self {
            Val::Node(_, _, form) => Some(*form),
            Val::Lit(Arg::None, _) => None,
            _ => Some(RefKind::Value),
        }
    }

    /// The same value with its leaves held like this, one by one.
    pub(in crate::trace) fn with_ref_kinds(self, forms: impl IntoIterator<Item = RefKind>) -> Val {
        match self.leaves() {
            Some(leaves) => {
                let held = leaves.into_iter().zip(forms).map(|(leaf, form)| leaf.with_ref_kind(form));
                self.rebuild(&mut held.collect::<Vec<Val>>().into_iter())
            }
            None => self,
        }
    }

    /// The same value, known to be of that type.
    pub(in crate::trace) fn with_ty(self, ty: Ty) -> Val {
        match self {
            Val::Node(id, _, form) => Val::Node(id, ty, form),
            other => other,
        }
    }

    /// Whether both stand for the same value.
    pub(in crate::trace) fn same(&self, other: &Val) -> bool {
        match (self, other) {
            (Val::Node(a, ..), Val::Node(b, ..)) => a == b,
            (Val::Lit(a, _), Val::Lit(b, _)) => a == b,
            (Val::Tuple(a), Val::Tuple(b)) | (Val::List(a), Val::List(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b))
            }
            (Val::Some(a), Val::Some(b)) | (Val::MutRef(_, a), Val::MutRef(_, b)) => a.same(b),
            (Val::Iter(a, at), Val::Iter(b, other)) => Rc::ptr_eq(a, b) && at.same(other),
            (Val::Fields(a, parts), Val::Fields(b, others)) => {
                a.owner == b.owner && parts.iter().zip(others).all(|(a, b)| a.same(b))
            }
            (Val::Closure(_, a), Val::Closure(_, b)) => Rc::ptr_eq(a, b),
            (Val::Chosen(a), Val::Chosen(b)) => Rc::ptr_eq(a, b),
            (Val::Place(a), Val::Place(b)) => a.same(b),
            (Val::Unit, Val::Unit) | (Val::Never, Val::Never) => true,
            _ => false,
        }
    }

    /// The parts that a region has to hand over for this value, one by one; `None` when it cannot.
    pub(in crate::trace) fn leaves(&self) -> Option<Vec<Val>> {
        match self {
            Val::Tuple(parts) | Val::Fields(_, parts) => {
                let leaves: Option<Vec<Vec<Val>>> = parts.iter().map(Val::leaves).collect();
                Some(leaves?.concat())
            }
            Val::Iter(_, inner) | Val::MutRef(_, inner) => inner.leaves(),
            Val::Unit => Some(Vec::new()),
            Val::Closure(..) | Val::Chosen(_) | Val::Place(_) | Val::Never => None,
            Val::List(_) if self.arg().is_none() => None,
            other => Some(vec![other.clone()]),
        }
    }

    /// The value of the same structure whose leaves are `leaves`, in order.
    pub(in crate::trace) fn rebuild(&self, leaves: &mut impl Iterator<Item = Val>) -> Val {
        match self {
            Val::Tuple(parts) => Val::Tuple(parts.iter().map(|part| part.rebuild(leaves)).collect()),
            Val::Fields(shape, parts) => {
                Val::Fields(Rc::clone(shape), parts.iter().map(|part| part.rebuild(leaves)).collect())
            }
            Val::Iter(chain, at) => Val::Iter(Rc::clone(chain), Box::new(at.rebuild(leaves))),
            Val::MutRef(place, inner) => Val::MutRef(Rc::clone(place), Box::new(inner.rebuild(leaves))),
            Val::Unit => Val::Unit,
            _ => leaves.next().unwrap_or(Val::Never),
        }
    }
}
