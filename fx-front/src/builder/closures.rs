//! Closures that a constructor adds to a chain, by themselves or by a function that makes one, or puts into a field.

use fx_ir::layers;

use quote::{ToTokens, format_ident};

use super::{
    Impl, Layer,
    made::own_names,
    outside,
    read::Reader,
    syntax::{is_pointer, is_some_call, root_variable},
    type_of, values,
    variables::known_of_variables,
};
use crate::index::{Function, Index, Name, Resolved, Ty, is_within};
use crate::syntax::{mentions, path_text, targets::each_target};

/// A closure that a constructor adds, which captures nothing.
#[derive(Clone, Debug)]
pub struct OwnClosure {
    /// Its code.
    pub(crate) code: syn::ExprClosure,
    /// The function that it stands in, by its position in [`Index::fns`], which says what its names mean.
    pub(crate) function: usize,
    /// The module and the impl of that function; none where the code has no names but its own.
    scope: Option<(String, String)>,
}

impl OwnClosure {
    fn of(index: &Index, function: usize, code: syn::ExprClosure) -> OwnClosure {
        let home = &index.fns[function];
        let owner = || home.owner.as_ref().map(|owner| owner.to_token_stream().to_string()).unwrap_or_default();
        let scope = (!names_nothing(&code)).then(|| (home.module.clone(), owner()));
        OwnClosure { code, function, scope }
    }
}

/// Of the same code, which means the same.
impl PartialEq for OwnClosure {
    fn eq(&self, other: &OwnClosure) -> bool {
        self.code == other.code && self.scope == other.scope
    }
}

impl Reader<'_> {
    /// What a function of the crate makes that returns a `Func` or a `FuncT`, or ends in one: its closure, or a layer whose
    /// inside is not known.
    pub(super) fn made_closure(&self, arg: &syn::Expr) -> Option<Layer> {
        let syn::Expr::Call(call) = arg else { return None };
        let syn::Expr::Path(path) = &*call.func else { return None };
        let Resolved::Item(_, _, Name::Fn(id)) = self.index.resolve(self.module, &path_text(&path.path)) else {
            return None;
        };
        let function = &self.index.fns[id];
        let made = self.opened(id, |inside, tail| inside.closure(inside.function_layer(tail)?, String::new()));
        if made.is_none() && !returns_closure(&function.sig) {
            return None;
        }
        Some(made.filter(|layer| matches!(layer, Layer::Closure(..))).unwrap_or_else(|| {
            let (caller, span) = (&self.index.fns[self.id], syn::spanned::Spanned::span(path));
            let is_marked = |function: &Function| function.key.is_some() || function.constructor.is_some();
            let only_called = is_marked(function) && !is_marked(caller);
            let unmarked = only_called.then(|| {
                let [caller, called] = [caller, function].map(|function| &function.sig.ident);
                format!("`{caller}`, which calls `{called}`, is not `#[traceable]`")
            });
            Layer::Module(Ty::Leaf(layers::CLOSURE.name), self.index.unconverted(self.id, span).or(unmarked))
        }))
    }

    /// The closure of `nn::func(|xs| ..)` and of `nn::func_t(..)`.
    pub(super) fn function_layer<'e>(&self, arg: &'e syn::Expr) -> Option<&'e syn::Expr> {
        let syn::Expr::Call(call) = arg else { return None };
        let syn::Expr::Path(path) = &*call.func else { return None };
        match self.index.resolve(self.module, &path_text(&path.path)) {
            Resolved::External(full) if full.ends_with("nn::func") || full.ends_with("nn::func_t") => call.args.first(),
            _ => None,
        }
    }

    /// A closure, or a function of one argument, that is added at that place. One that captures something is a layer
    /// whose inside is not known.
    pub(super) fn closure(&self, arg: &syn::Expr, place: String) -> Option<Layer> {
        let closure: syn::ExprClosure = match arg {
            syn::Expr::Closure(closure) => closure.clone(),
            syn::Expr::Path(path) => syn::parse_quote_spanned!(syn::spanned::Spanned::span(path)=> |xs| #path(xs)),
            _ => return None,
        };
        let captured = crate::closure_conversion::captures::rewritten(&closure, &self.locals);
        let captures_self = mentions(&closure, &format_ident!("self"));
        let is_closed = captured.is_ok_and(|(_, names)| names.is_empty()) && !captures_self;
        Some(if is_closed {
            Layer::Closure(Box::new(OwnClosure::of(self.index, self.id, closure)), place)
        } else {
            let why = self.index.unconverted(self.id, closure.or1_token.span);
            Layer::Module(Ty::Leaf(layers::CLOSURE.name), why)
        })
    }
}

/// The closure that a private field of a struct holds, as a function, behind a pointer, in an `nn::Func` or in an option of
/// one, if every constructor puts the same one in, which needs nothing but its arguments, and nothing else writes to a field
/// of that name.
pub(crate) fn closure_of(index: &Index, owner: usize, field: &str) -> Option<OwnClosure> {
    let scope = index.field(owner, field)?.scope.as_ref()?;
    let makes = |of: Impl<'_>, path: &syn::Path| type_of(index, of, path) == Ty::Struct(owner);
    if outside::makes(index, field, &makes) {
        return None;
    }
    let mut found: Vec<OwnClosure> = Vec::new();
    for (id, function) in index.fns.iter().enumerate() {
        let mut is_written = false;
        let whole = syn::Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block: function.block.clone() });
        each_target(&whole, &|_| false, &mut |target| {
            let member = if let syn::Expr::Field(field) = target { Some(&field.member) } else { None };
            is_written |= member.is_some_and(|member| member.to_token_stream().to_string() == field);
        });
        if is_written && is_within(&function.module, scope) {
            return None;
        }
        for value in values(&function.block, field, &|path| makes(Impl::of(function), path)) {
            let (value, reader) = (value?, Reader::of(index, id, &[]));
            let firsts = known_of_variables(&function.block, |init| Some(init.clone()));
            let value = root_variable(&value).and_then(|name| firsts.get(&name)).unwrap_or(&value);
            let held = match value {
                syn::Expr::Path(path) if path.path.is_ident("None") => continue,
                syn::Expr::Call(call) if is_pointer(call) || is_some_call(call) => call.args.first()?,
                syn::Expr::Closure(_) => value,
                other => reader.function_layer(other)?,
            };
            match reader.closure(held, String::new())? {
                Layer::Closure(closure, _) => found.push(*closure),
                _ => return None,
            }
        }
    }
    let first = found.pop()?;
    found.iter().all(|other| *other == first).then_some(first)
}

/// Whether the function returns an `nn::Func` or an `nn::FuncT`.
fn returns_closure(sig: &syn::Signature) -> bool {
    let syn::ReturnType::Type(_, ty) = &sig.output else { return false };
    let syn::Type::Path(path) = &**ty else { return false };
    path.path.segments.last().is_some_and(|last| last.ident == "Func" || last.ident == "FuncT")
}

/// Whether the closure names nothing but its own variables.
fn names_nothing(closure: &syn::ExprClosure) -> bool {
    struct Find(Vec<String>, bool);
    impl<'ast> syn::visit::Visit<'ast> for Find {
        fn visit_path(&mut self, path: &'ast syn::Path) {
            self.1 &= path.get_ident().is_some_and(|name| self.0.contains(&name.to_string()));
        }
        fn visit_macro(&mut self, _: &'ast syn::Macro) {
            self.1 = false;
        }
    }
    let inner = crate::pattern::bound_in(&closure.body);
    let mut find = Find([own_names(closure), inner].concat(), true);
    syn::visit::Visit::visit_expr(&mut find, &closure.body);
    find.1
}
