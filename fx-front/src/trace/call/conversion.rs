//! `value.into()`, by what the code around it asks for.

use syn::spanned::Spanned;

use crate::index::Function;
use crate::trace::call::operator_call::Operand;
use crate::trace::{Result, Tracer, Ty, Val, types::expectation::Expectation};

impl Tracer<'_> {
    /// `value.into()`, where the code around it asks for an option of the tensor that it is, or for a struct of the crate's with
    /// a `From` for it; `None` for any other call.
    pub(in crate::trace) fn converted_value(
        &mut self,
        value: &Val,
        call: &syn::ExprMethodCall,
        expected: Option<&Expectation>,
    ) -> Result<Option<Val>> {
        if call.method != "into" || !call.args.is_empty() {
            return Ok(None);
        }
        let asks_other = expected.is_some_and(|expected| match self.expected_ty(expected) {
            Ty::Option(held) => matches!(*held, Ty::Option(_)),
            ty => ty != Ty::Unknown,
        });
        if matches!(value.ty(), Ty::Option(_)) && !asks_other && self.is_made_option(&call.receiver) {
            return Ok(Some(value.clone()));
        }
        if value.ty() == Ty::Tensor && self.expects_tensor_option(expected) {
            return Ok(Some(Val::Some(Box::new(value.clone()))));
        }
        match self.own_conversion(value, &call.receiver, expected) {
            Some(from) => self.inline(from, None, vec![value.clone()], call.span()).map(Some),
            None => Ok(None),
        }
    }

    /// `chain.collect()`, where the code around it asks for a filled list, or for a struct of the crate's with one
    /// `FromIterator`; `None` for any other.
    pub(in crate::trace) fn collected(
        &mut self,
        call: &syn::ExprMethodCall,
        expected: Option<&Expectation>,
    ) -> Result<Option<Val>> {
        if let Some(list) = self.filled(call, expected)? {
            return Ok(Some(list));
        }
        let written = call.turbofish.as_ref().and_then(|fish| match fish.args.first() {
            Some(syn::GenericArgument::Type(ty)) => self.written(ty),
            _ => None,
        });
        let Some(wanted) = written.as_ref().or(expected) else { return Ok(None) };
        let wanted = self.expected_ty(wanted);
        let Some(from) = self.own_from_iterator(&wanted) else { return Ok(None) };
        let Some(chain) = self.known_iterator(&call.receiver) else { return Ok(None) };
        self.inline(from, None, vec![chain], call.span()).map(Some)
    }

    /// The only `FromIterator` of the crate's own that makes such a struct.
    fn own_from_iterator(&self, wanted: &Ty) -> Option<usize> {
        if !matches!(wanted, Ty::Struct(_)) {
            return None;
        }
        let mut known = self.conversions("FromIterator", "from_iter", wanted);
        let (from, _) = known.next()?;
        known.next().is_none().then_some(from)
    }

    /// The `From` of the crate's own that makes such a struct of the value.
    fn own_conversion(&self, value: &Val, receiver: &syn::Expr, expected: Option<&Expectation>) -> Option<usize> {
        let wanted @ Ty::Struct(_) = self.expected_ty(expected?) else { return None };
        if value.ty() == Ty::Unknown {
            return None;
        }
        let known: Vec<usize> = self.conversions("From", "from", &wanted).map(|(id, _)| id).collect();
        self.overload(&wanted, &known, &[Some(Operand::of(receiver, value))])
    }

    /// The crate's functions of that name, of an impl of the trait for the type.
    fn conversions(
        &self,
        of_trait: &'static str,
        name: &'static str,
        wanted: &Ty,
    ) -> impl Iterator<Item = (usize, &Function)> {
        self.index.fns.iter().enumerate().filter(move |(_, function)| {
            let of = |owner: &syn::Type| self.index.ty(&function.module, None, owner);
            function.sig.ident == name
                && function.of_trait.as_deref() == Some(of_trait)
                && function.owner.as_ref().is_some_and(|owner| of(owner) == *wanted)
        })
    }
}
