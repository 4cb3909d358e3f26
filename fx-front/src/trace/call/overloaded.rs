//! Functions of which a type has several by one trait, told apart by their arguments: `Angle::from(degrees)`, `a.mul(b)`.

use syn::{GenericParam, Type};

use super::operator_call::Operand;
use crate::index::{Function, Ty};
use crate::syntax::{
    mentions,
    written_types::{is_reference_type, typed_params},
};
use crate::trace::{Tracer, asked::base};

/// Whether an argument is of a parameter's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    No,
    /// One of them is not known.
    Perhaps,
    Yes,
}

impl Tracer<'_> {
    /// The function of the crate that a call of the type's function or method of that name means with these arguments, of which
    /// the receiver may be the first.
    pub(in crate::trace) fn function_of(&mut self, ty: &Ty, name: &str, args: &[&syn::Expr]) -> Option<usize> {
        let (inherent, of_traits) = self.index.methods_of(ty, name);
        let is_overloaded = inherent.is_empty() && of_traits.iter().any(|&id| self.is_of_open_trait(id));
        if !is_overloaded {
            return self.method_of(ty, name).filter(|&id| !self.converts_otherwise(id, ty));
        }
        let mark = self.checkpoint();
        let operands = args.iter().map(|arg| Some(Operand::of(arg, &self.expr(base(arg)).ok()?)));
        let operands: Vec<Option<Operand>> = operands.collect();
        self.rollback(mark);
        self.overload(ty, &of_traits, &operands)
    }

    /// Which of these functions for the type takes such values; none where several may.
    pub(super) fn overload(&self, ty: &Ty, of: &[usize], operands: &[Option<Operand>]) -> Option<usize> {
        // Only of the crate's own types all impls are known.
        let is_own = matches!(ty, Ty::Struct(_)) || self.index.is_enum(ty);
        let fits = of.iter().map(|&id| (id, self.fit(id, operands))).filter(|(_, fit)| *fit != Fit::No);
        let fitting: Vec<(usize, Fit)> = fits.collect();
        match fitting.as_slice() {
            &[(id, fit)] => (fit == Fit::Yes || is_own && of.len() == 1).then_some(id),
            several => {
                let mut usual = several.iter().filter(|(id, _)| self.takes_default(*id, operands));
                let is_sure = several.iter().all(|(_, fit)| *fit == Fit::Yes);
                let (id, _) = usual.next().filter(|_| is_sure)?;
                usual.next().is_none().then_some(*id)
            }
        }
    }

    /// Whether the function is of a trait of another crate, of which a type may have several impls.
    fn is_of_open_trait(&self, id: usize) -> bool {
        let is_forward = matches!(self.index.fns[id].sig.ident.to_string().as_str(), "forward" | "forward_t");
        let is_external = self.index.trait_of(id).is_some_and(|(home, _)| home.is_none());
        is_external && !is_forward && typed_params(&self.index.fns[id].sig).next().is_some()
    }

    /// Whether `into` and the like may be that of another impl than this one's: the crate's `From` says so as well.
    fn converts_otherwise(&self, id: usize, ty: &Ty) -> bool {
        let from = match self.index.fns[id].sig.ident.to_string().as_str() {
            "into" => "from",
            "try_into" => "try_from",
            _ => return false,
        };
        let mut named = self.index.fns.iter().filter(|one| one.sig.ident == from && one.of_trait.is_some());
        named.any(|one| typed_params(&one.sig).next().is_some_and(|param| self.param_ty(one, &param.ty) == *ty))
    }

    fn param_ty(&self, function: &Function, ty: &Type) -> Ty {
        self.index.ty(&function.module, function.owner.as_ref(), ty)
    }

    fn fit(&self, id: usize, operands: &[Option<Operand>]) -> Fit {
        let function = &self.index.fns[id];
        let own =
            usize::from(function.sig.receiver().is_some() && typed_params(&function.sig).count() < operands.len());
        let params = typed_params(&function.sig).zip(operands.iter().skip(own));
        params.map(|(param, operand)| self.fit_of(function, &param.ty, operand.as_ref())).min().unwrap_or(Fit::Perhaps)
    }

    fn fit_of(&self, function: &Function, ty: &Type, operand: Option<&Operand>) -> Fit {
        let generics = function.generics.params.iter().chain(&function.sig.generics.params);
        let mut open = generics.filter_map(|param| match param {
            GenericParam::Type(param) => Some(&param.ident),
            _ => None,
        });
        let Some(operand) = operand else { return Fit::Perhaps };
        if matches!(ty, Type::ImplTrait(_)) || open.any(|param| mentions(ty, param)) {
            return Fit::Perhaps;
        }
        let is_lent = function.owner.as_ref().map(|own| is_reference_type(ty, own));
        match (operand.is_reference, is_lent) {
            (Some(given), Some(taken)) if given != taken => Fit::No,
            _ => fit_of_types(&operand.ty, &self.param_ty(function, ty)),
        }
    }

    /// Whether the function takes the type that a literal without a suffix has where nothing else says it.
    fn takes_default(&self, id: usize, operands: &[Option<Operand>]) -> bool {
        let function = &self.index.fns[id];
        let mut params = typed_params(&function.sig);
        let (Some(param), [.., operand], None) = (params.next(), operands, params.next()) else { return false };
        let Ty::Rust(taken) = self.param_ty(function, &param.ty) else { return false };
        let Some(operand) = operand.as_ref().filter(|operand| operand.is_literal) else { return false };
        matches!(&operand.ty, Ty::Rust(open) if open == "float" && taken == "f64" || open == "integer" && taken == "i32")
    }
}

/// Whether a value of the type `given` is one of the type `taken`.
fn fit_of_types(given: &Ty, taken: &Ty) -> Fit {
    match (given, taken) {
        (Ty::Unknown, _) | (_, Ty::Unknown) => Fit::Perhaps,
        (Ty::List(given), Ty::List(taken)) | (Ty::Option(given), Ty::Option(taken)) => fit_of_types(given, taken),
        (Ty::Tuple(given), Ty::Tuple(taken)) if given.len() == taken.len() => {
            given.iter().zip(taken).map(|(given, taken)| fit_of_types(given, taken)).min().unwrap_or(Fit::Yes)
        }
        (Ty::Rust(open), Ty::Rust(known)) if open == "float" => yes_if(fx_ir::scalar::is_float(known)),
        (Ty::Rust(open), Ty::Rust(known)) if open == "integer" => yes_if(fx_ir::scalar::is_integer(known)),
        (Ty::Mode, Ty::Rust(known)) => yes_if(known == "bool"),
        (Ty::Rust(given), Ty::Rust(taken)) if given != taken && crate::index::is_text(given) => {
            if crate::index::is_text(taken) { Fit::Perhaps } else { Fit::No }
        }
        (given, taken) => yes_if(given == taken),
    }
}

fn yes_if(fits: bool) -> Fit {
    if fits { Fit::Yes } else { Fit::No }
}
