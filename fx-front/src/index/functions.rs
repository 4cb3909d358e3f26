//! Functions as values: the type of a pointer to one, and which of them the crate makes pointers to.
//!
//! A pointer in a field of the model may point to anything of its type, but it was made somewhere: where the name of a
//! function stands in an expression and is not called. Those names are known when the crate is built.

use std::collections::{BTreeMap, BTreeSet};

use fx_ir::{
    OpId,
    catalog::{Kind, Receiver, Results},
};
use syn::visit::Visit;

use crate::syntax::iterator_method::IteratorMethod;

use crate::syntax::{comma_operands, path_text};

use super::{Function, Index, Name, Resolved, Ty};

/// By the type of a pointer to them, the functions of which the crate may hold pointers.
#[derive(Debug, Default)]
pub(super) struct Pointed(BTreeMap<String, BTreeSet<Known>>);

/// A function that a path names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Known {
    /// Its name.
    pub name: String,
    /// The module or type that it is of, by full path: `crate::activations`, `::fx_runtime::Tensor`.
    pub of: String,
}

/// A type of functions, taken apart.
#[derive(Clone, Copy, Debug)]
struct Signature<'t> {
    inputs: &'t [&'t syn::Type],
    output: &'t syn::ReturnType,
}

impl Ty {
    /// Whether it is a pointer to a function.
    pub fn is_function(&self) -> bool {
        matches!(self, Ty::Rust(spelling) if spelling.starts_with("fn("))
    }
}

impl Index {
    /// The functions to which the crate may hold a pointer of that type.
    pub fn pointed(&self, ty: &Ty) -> impl Iterator<Item = &Known> {
        let spelling = if let Ty::Rust(spelling) = ty { spelling.as_str() } else { "" };
        self.pointed.get_or_init(|| self.find_pointed()).0.get(spelling).into_iter().flatten()
    }

    fn find_pointed(&self) -> Pointed {
        let mut all = Pointed::default();
        for function in self.fns.iter().filter(|function| !function.is_derived) {
            let mut names = Names { found: Vec::new() };
            names.visit_block(&function.block);
            for path in names.found {
                if let Some((known, ty)) = self.named_function(function, &path) {
                    all.0.entry(ty).or_default().insert(known);
                }
            }
        }
        all
    }

    /// The function that a path in the body of another names, and the type of a pointer to it, where both are known.
    pub fn named_function(&self, within: &Function, path: &syn::Path) -> Option<(Known, String)> {
        let text = path_text(path);
        if let Resolved::Item(of, name, Name::Fn(id)) = self.resolve(&within.module, &text) {
            return Some((Known { name, of }, self.pointer_to(id)?));
        }
        let (head, name) = text.rsplit_once("::")?;
        let owner = match head {
            "Self" => within.owner.clone()?,
            head => syn::parse_str(head).ok()?,
        };
        let owner = self.ty(&within.module, within.owner.as_ref(), &owner);
        let ty = match &owner {
            Ty::Tensor => pointer_to_method(name)?,
            owner => self.pointer_to(self.method(owner, name)?)?,
        };
        Some((Known { name: name.to_owned(), of: self.spelling(&owner)? }, ty))
    }

    /// The type of a pointer to a function of the crate.
    fn pointer_to(&self, id: usize) -> Option<String> {
        let Function { sig, module, owner, generics, .. } = &self.fns[id];
        let is_plain = sig.asyncness.is_none() && sig.unsafety.is_none() && sig.abi.is_none();
        if !is_plain || !sig.generics.params.is_empty() || !generics.params.is_empty() {
            return None;
        }
        let inputs: Option<Vec<&syn::Type>> = sig.inputs.iter().map(typed).collect();
        self.pointer(module, owner.as_ref(), Signature { inputs: &inputs?, output: &sig.output })
    }

    /// What `fn(&Tensor) -> Tensor`, written in `module`, is.
    pub(super) fn function_ty(&self, module: &str, owner: Option<&syn::Type>, ty: &syn::TypeBareFn) -> Ty {
        let is_plain = ty.lifetimes.is_none() && ty.unsafety.is_none() && ty.abi.is_none() && ty.variadic.is_none();
        let inputs: Vec<&syn::Type> = ty.inputs.iter().map(|input| &input.ty).collect();
        let pointer = self.pointer(module, owner, Signature { inputs: &inputs, output: &ty.output });
        pointer.filter(|_| is_plain).map_or(Ty::Unknown, Ty::Rust)
    }

    fn pointer(&self, module: &str, owner: Option<&syn::Type>, signature: Signature<'_>) -> Option<String> {
        let inputs = signature.inputs.iter().map(|ty| match ty {
            syn::Type::Reference(lent) if lent.mutability.is_none() && lent.lifetime.is_none() => {
                Some(format!("&{}", self.word(module, owner, &lent.elem)?))
            }
            ty => self.word(module, owner, ty),
        });
        let inputs = inputs.collect::<Option<Vec<String>>>()?.join(", ");
        let syn::ReturnType::Type(_, output) = signature.output else { return None };
        Some(format!("fn({inputs}) -> {}", self.word(module, owner, output)?))
    }

    /// A type that is no reference, of which the spelling says all: what is behind a `Box` is another.
    fn word(&self, module: &str, owner: Option<&syn::Type>, ty: &syn::Type) -> Option<String> {
        let syn::Type::Path(path) = ty else { return None };
        if path.path.segments.iter().any(|segment| !segment.arguments.is_none()) {
            return None;
        }
        match self.ty(module, owner, ty) {
            ty @ (Ty::Tensor | Ty::Leaf(_) | Ty::Struct(_)) => self.spelling(&ty),
            Ty::Rust(name) if fx_ir::scalar::is_scalar(&name) || name.contains("::") => Some(name),
            _ => None,
        }
    }

    /// How code in the module `from` names the function, if it can.
    pub fn function_from(&self, from: &str, known: &Known) -> Option<String> {
        if known.of.starts_with("::") {
            return Some(format!("{}::{}", known.of, known.name));
        }
        if self.modules.contains_key(&known.of) {
            return self.path_from(from, &known.of, &known.name);
        }
        let (module, name) = known.of.rsplit_once("::")?;
        let owner = Ty::Struct(self.struct_at(&known.of)?);
        let method = &self.fns[self.method(&owner, &known.name)?];
        let is_named = method.is_visible_from(from);
        is_named.then(|| Some(format!("{}::{}", self.path_from(from, module, name)?, known.name)))?
    }
}

fn typed(input: &syn::FnArg) -> Option<&syn::Type> {
    match input {
        syn::FnArg::Typed(typed) => Some(&typed.ty),
        syn::FnArg::Receiver(_) => None,
    }
}

/// The type of a pointer to a method of a tensor's, where it has no parameters but of plain types.
fn pointer_to_method(name: &str) -> Option<String> {
    let entry = OpId::of_method(name)?.entry().filter(|entry| entry.method == name)?;
    if entry.receiver != Receiver::Ref || entry.results != Results::Tensor {
        return None;
    }
    let params = entry.params.iter().map(|param| match param.kind {
        Kind::Tensor => Some("&::fx_runtime::Tensor"),
        Kind::Int => Some("i64"),
        Kind::Float => Some("f64"),
        Kind::Bool => Some("bool"),
        _ => None,
    });
    let inputs: Vec<&str> = [Some("&::fx_runtime::Tensor")].into_iter().chain(params).collect::<Option<_>>()?;
    Some(format!("fn({}) -> ::fx_runtime::Tensor", inputs.join(", ")))
}

/// Returns whether the method calls the function which it is given, and keeps no pointer to it.
fn is_caller(method: &syn::Ident) -> bool {
    const OTHERS: [&str; 4] = ["and_then", "map_or", "then", "apply_fn"];
    IteratorMethod::of(method).is_some_and(IteratorMethod::takes_closure) || OTHERS.iter().any(|name| method == name)
}

/// The paths that are read in an expression, rather than called.
struct Names {
    found: Vec<syn::Path>,
}

impl<'ast> Visit<'ast> for Names {
    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if !matches!(*call.func, syn::Expr::Path(_)) {
            self.visit_expr(&call.func);
        }
        call.args.iter().for_each(|arg| self.visit_expr(arg));
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.visit_expr(&call.receiver);
        let calls = is_caller(&call.method);
        let args = call.args.iter().filter(|arg| !(calls && matches!(arg, syn::Expr::Path(_))));
        args.for_each(|arg| self.visit_expr(arg));
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        if path.qself.is_none() {
            self.found.push(path.path.clone());
        }
    }

    /// `vec![relu, gelu]`.
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        comma_operands(call).iter().flatten().for_each(|expr| self.visit_expr(expr));
    }
}
