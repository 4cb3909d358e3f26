//! A call of any registered operator through the dispatcher, with checked arguments.
//!
//! Every argument is one 64-bit slot: a tensor is an owned handle, an integer itself, a list an object made for
//! the call, a missing optional is 0 and a present one a pointer to a slot of its own. The callee takes all of them
//! over and writes its results over the first slots.

use std::ffi::c_void;
use std::ptr;

use tch::{TchError, Tensor};

use super::entry::{EntryPoints, Handle, Slot, abi_version, table};
use super::signature::{Signature, Type};
use super::tensor::{lend, refused};

/// An argument or a result of an operator.
#[derive(Debug)]
pub(crate) enum StackValue<'a> {
    /// Lent by the caller.
    Tensor(&'a Tensor),
    Int(i64),
    IntList(&'a [i64]),
    /// As libtorch numbers them, see [`super::ops::MemoryFormat`].
    MemoryFormat(i32),
    /// An optional argument that is absent.
    None,
    /// An optional argument that is present.
    Some(&'a StackValue<'a>),
}

/// What an operator returned.
#[derive(Debug)]
pub(crate) enum Returned {
    Tensor(Tensor),
    Bool(bool),
}

impl StackValue<'_> {
    fn fits(&self, ty: Type) -> bool {
        match (self, ty) {
            (Self::Tensor(_), Type::Tensor)
            | (Self::Int(_), Type::Int)
            | (Self::IntList(_), Type::IntList)
            | (Self::MemoryFormat(_), Type::MemoryFormat)
            | (Self::None, Type::Optional(_)) => true,
            (Self::Some(value), Type::Optional(inner)) => value.fits(*inner),
            _ => false,
        }
    }

    /// None when libtorch lacks a function that is needed, or refuses.
    fn slot(&self, entry: &EntryPoints) -> Option<Slot> {
        match self {
            Self::Tensor(tensor) => owned_handle(entry, tensor),
            Self::Int(value) => Some(value.cast_unsigned()),
            Self::IntList(values) => int_list(entry, values),
            Self::MemoryFormat(format) => Some(Slot::from(format.cast_unsigned())),
            Self::None => Some(0),
            Self::Some(value) => value.slot(entry).map(boxed),
        }
    }
}

/// Calls an operator; the arguments are checked against its signature first.
pub(crate) fn dispatch(operator: &Signature, arguments: &[StackValue<'_>]) -> Result<Returned, TchError> {
    let name = operator.name.to_string_lossy();
    let fits = arguments.len() == operator.arguments.len()
        && arguments.iter().zip(operator.arguments).all(|(value, &ty)| value.fits(ty));
    if !fits {
        return Err(TchError::Torch(format!("`{name}` takes {:?}, not {arguments:?}", operator.arguments)));
    }
    let entry = table();
    let (Some(call), Some(version)) = (entry.dispatcher, abi_version()) else {
        return Err(TchError::Torch(format!("this libtorch has no entry point to call `{name}`")));
    };
    let mut stack = arguments.iter().map(|value| value.slot(entry)).collect::<Option<Vec<_>>>();
    let stack = stack.as_mut().ok_or_else(|| refused(&name))?;
    // Results are written from slot 0 on; there is one.
    stack.resize(stack.len().max(1), 0);
    // SAFETY: the slots hold what the operator's schema asks for (checked above against a signature that is right by
    // the contract of `Signature::new`), the callee takes them over, and there is room for the result.
    let status = unsafe { call(operator.name.as_ptr(), operator.overload.as_ptr(), stack.as_mut_ptr(), version) };
    if status != 0 {
        return Err(refused(&name));
    }
    match operator.result {
        Type::Bool => Ok(Returned::Bool(stack[0] & 1 == 1)),
        Type::Tensor if stack[0] != 0 => {
            let handle = ptr::with_exposed_provenance_mut(address(stack[0]));
            // SAFETY: by its signature the operator returned a tensor, whose handle is now ours.
            Ok(Returned::Tensor(unsafe { Tensor::from_ptr(handle) }))
        }
        _ => Err(refused(&name)),
    }
}

fn owned_handle(entry: &EntryPoints, tensor: &Tensor) -> Option<Slot> {
    let new_handle = entry.new_handle?;
    let mut handle: Handle = ptr::null_mut();
    // SAFETY: the tensor is alive; the callee writes a new handle, which the dispatcher frees.
    let status = unsafe { new_handle(lend(tensor), &raw mut handle) };
    (status == 0).then(|| slot_of(handle.cast()))
}

fn int_list(entry: &EntryPoints, values: &[i64]) -> Option<Slot> {
    let (new_list, push_back) = (entry.new_list?, entry.push_back?);
    let mut list: *mut c_void = ptr::null_mut();
    // SAFETY: the callee writes a new list, which the dispatcher frees.
    let made = unsafe { new_list(values.len(), &raw mut list) } == 0 && !list.is_null();
    // SAFETY: `list` was made above and is ours until the dispatcher takes it.
    let filled = made && values.iter().all(|&value| unsafe { push_back(list, value.cast_unsigned()) } == 0);
    filled.then(|| slot_of(list))
}

/// A present optional: libtorch frees the slot with `delete`, so it comes from `new`.
fn boxed(slot: Slot) -> Slot {
    unsafe extern "C" {
        /// C++ `operator new(size_t)`.
        #[link_name = "_Znwm"]
        fn operator_new(size: usize) -> *mut c_void;
    }
    // SAFETY: `operator new` returns room for 8 bytes, aligned for them, or throws, which aborts at this border.
    unsafe {
        let place = operator_new(size_of::<Slot>()).cast::<Slot>();
        place.write(slot);
        slot_of(place.cast())
    }
}

fn slot_of(pointer: *mut c_void) -> Slot {
    pointer.expose_provenance() as Slot
}

fn address(slot: Slot) -> usize {
    // Slots that hold pointers were pointers; on every platform with these entry points both have 64 bits.
    usize::try_from(slot).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::ops;
    use super::*;
    use tch::{Device, Kind};

    #[test]
    fn arguments_are_checked_before_the_call() {
        let x = Tensor::ones([2], (Kind::Float, Device::Cpu));
        let wrong = dispatch(&ops::CLONE, &[StackValue::Int(3), StackValue::None]).unwrap_err();
        assert!(wrong.to_string().contains("aten::clone"), "{wrong}");
        assert!(dispatch(&ops::CLONE, &[StackValue::Tensor(&x)]).is_err());
    }

    #[test]
    fn the_callee_owns_what_it_is_given() {
        let x = Tensor::ones([2, 3, 4, 5], (Kind::Float, Device::Cpu));
        for _ in 0..1000 {
            let format = StackValue::MemoryFormat(ops::MemoryFormat::ChannelsLast as i32);
            let copy = dispatch(&ops::CLONE, &[StackValue::Tensor(&x), StackValue::Some(&format)]).unwrap();
            assert!(matches!(copy, Returned::Tensor(copy) if copy == x));
        }
    }
}
