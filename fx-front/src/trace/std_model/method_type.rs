//! What methods of numbers, options and lists of numbers yield: the table of `fx_ir::host::methods`, asked with the
//! tracer's types. A method with a row there is understood here.

use fx_ir::{
    Type,
    host::methods::{Gives, Receiver, method},
};

use crate::{
    index::{Index, Ty},
    trace::types::ty::{is_copy, is_untyped},
};

/// The type of what the method yields; `None` where it is not known, or changes what it is called on.
pub(in crate::trace) fn method_type(index: &Index, name: &str, receiver: &Ty, args: &[Ty]) -> Option<Ty> {
    let ir = index.ir_type(receiver);
    let known = method(name, Receiver::of_type(&ir)?).filter(|row| !row.mutates && row.arity == args.len())?;
    let args: Vec<Type> = args.iter().map(|ty| index.ir_type(ty)).collect();
    of_ir(&known.type_of(&ir, &args)).filter(is_plain)
}

/// Whether it is a `String` or a `&str`.
pub(in crate::trace) fn is_text(ty: &Ty) -> bool {
    matches!(ty, Ty::Rust(name) if ["String", "&str", "str"].contains(&name.as_str()))
}

/// Whether the method yields a value of the type that it is called on, whatever it takes, and does nothing else.
pub(in crate::trace) fn keeps_type(index: &Index, name: &str, receiver: &Ty) -> bool {
    let row = Receiver::of_type(&index.ir_type(receiver)).and_then(|receiver| method(name, receiver));
    row.is_some_and(|row| !row.mutates && row.gives == Gives::Receiver)
}

/// Whether the value is a number, or an option or a list of such, whose type is known: to hand it on is to copy it.
pub(in crate::trace) fn is_plain(ty: &Ty) -> bool {
    match ty {
        Ty::Option(inner) | Ty::List(inner) => is_plain(inner),
        Ty::Tuple(parts) => parts.iter().all(is_plain),
        ty => is_copy(ty) && !is_untyped(ty),
    }
}

/// The tracer's type for one of the graph; `None` for what may be of several.
fn of_ir(ty: &Type) -> Option<Ty> {
    Some(match ty {
        Type::Rust(name) => Ty::Rust(name.clone()),
        Type::Option(inner) => Ty::Option(Box::new(of_ir(inner)?)),
        Type::List(inner) => Ty::List(Box::new(of_ir(inner)?)),
        Type::Tuple(parts) => Ty::Tuple(parts.iter().map(of_ir).collect::<Option<_>>()?),
        Type::Unknown | Type::Tensor(_) | Type::Module(_) => return None,
    })
}
