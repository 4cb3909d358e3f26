//! The types of what branches hand over: what one of them says of a value holds for all.

use fx_ir::Arg;
use proc_macro2::Span;

use crate::trace::types::ty::{is_concrete, is_copy, is_settled_within, is_untyped, rounded};
use crate::trace::{RefKind, Result, Tracer, Ty, Val, unsupported};

impl Tracer<'_> {
    /// Refuses branches that hand over `leaves` of which one is of no type that is known.
    pub(in crate::trace) fn agreed(&self, leaves: &[Vec<Val>], types: &[Ty], span: Span) -> Result<()> {
        let borrowed = |leaf: &Val| matches!(leaf, Val::Node(_, Ty::Unknown, RefKind::Ref | RefKind::RefRef));
        if !self.types_only && leaves.iter().flatten().any(borrowed) {
            return unsupported(span, "branches that hand over a reference to a value of a type that is not known");
        }
        if leaves.iter().flatten().any(|leaf| leaf.node().is_some_and(|id| self.facts.is_result(id))) {
            return unsupported(span, "branches that hand over a `Result`");
        }
        for (position, ty) in types.iter().enumerate() {
            // `&dyn Block` of whatever type.
            let is_other = |other: &Ty| matches!(other, Ty::Struct(_) | Ty::Leaf(_)) && other != ty;
            if matches!(ty, Ty::Struct(_) | Ty::Leaf(_))
                && leaves.iter().filter_map(|leaves| leaves.get(position)).any(|leaf| is_other(&leaf.ty()))
            {
                return unsupported(span, "branches that hand over values of different types");
            }
            let is_own = |leaf: &Val| self.is_own_option(leaf) || self.may_borrow_tensor(leaf);
            let owned_option = || leaves.iter().all(|leaves| leaves.get(position).is_none_or(is_own));
            let is_option = matches!(ty, Ty::Option(inner) if is_settled_within(inner)) && owned_option();
            // Of a list that generated code has a reference to there is a copy, where another branch owns its own.
            let is_list_of = |leaf: &Val| self.is_own_list(leaf) || leaf.node().is_some_and(|id| self.is_loan(id));
            let is_place = |leaves: &Vec<Val>| leaves.get(position).is_none_or(is_list_of);
            let is_list = matches!(ty, Ty::List(inner) if is_settled_within(inner)) && leaves.iter().all(is_place);
            let is_variant =
                |leaves: &Vec<Val>| leaves.get(position).is_some_and(|leaf| self.is_variant_leaf(ty, leaf));
            let is_known = is_concrete(ty) || is_option || is_list || leaves.iter().all(is_variant);
            if !is_known {
                return unsupported(span, format!("branches that hand over a value {}", self.index.of_type(ty)));
            }
        }
        Ok(())
    }
}

/// A type for each of the leaves that branches hand over, on which they agree: that of the first, and what others say of it.
pub(in crate::trace) fn unify(mut types: Vec<Ty>, leaves: &[Vec<Val>]) -> Vec<Ty> {
    for leaves in leaves {
        types.iter_mut().zip(leaves).for_each(|(ty, leaf)| settle(ty, &leaf.ty()));
    }
    types
}

/// What a branch hands over, with each literal an `f32` that another branch says to be one.
pub(in crate::trace) fn with_floats(value: Val, types: &[Ty]) -> Val {
    let Some(leaves) = value.leaves() else { return value };
    let typed = leaves.into_iter().zip(types).map(|(leaf, ty)| match (leaf, ty) {
        (Val::Lit(Arg::Float(number), held), Ty::Rust(name)) if is_untyped(&held) && name == "f32" => {
            Val::Lit(Arg::Float(rounded(number, name)), ty.clone())
        }
        (leaf, _) => leaf,
    });
    value.rebuild(&mut typed.collect::<Vec<_>>().into_iter())
}

/// Fills in what another branch's type says of one: what is not known, and which number a literal without a suffix is.
pub(in crate::trace) fn settle(ty: &mut Ty, other: &Ty) {
    match (ty, other) {
        (ty, other) if *ty == Ty::Unknown || is_untyped(ty) && is_copy(other) => ty.clone_from(other),
        (Ty::Option(inner), Ty::Option(other)) => settle(inner, other),
        (Ty::Tuple(parts), Ty::Tuple(others)) => parts.iter_mut().zip(others).for_each(|(ty, other)| settle(ty, other)),
        _ => {}
    }
}
