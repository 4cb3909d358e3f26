//! The types of the modules that a constructor makes, on the spot, in a variable or by a closure of its own.

use fx_ir::LayerRow;
use quote::ToTokens;

use super::read::Reader;
use crate::closure_conversion::returns_opaque;
use crate::index::{Name, Resolved, Ty};
use crate::syntax::{path_text, peeled, written_types::typed_params};

/// The parameters of a closure.
pub(super) fn own_names(closure: &syn::ExprClosure) -> Vec<String> {
    closure.inputs.iter().flat_map(crate::pattern::bound).collect()
}

impl<'a> Reader<'a> {
    /// The type of the module that an expression makes.
    pub(super) fn made_by(&self, expr: &syn::Expr) -> Option<Ty> {
        match expr {
            syn::Expr::Try(inner) => self.made_by(&inner.expr),
            syn::Expr::Paren(inner) => self.made_by(&inner.expr),
            syn::Expr::Block(block) => match block.block.stmts.last()? {
                syn::Stmt::Expr(last, None) => self.made_by(last),
                _ => None,
            },
            syn::Expr::Struct(literal) => self.named(&path_text(&literal.path)),
            syn::Expr::MethodCall(call) if call.method == "unwrap" => self.made_by(&call.receiver),
            syn::Expr::MethodCall(call) => self.returned(self.method_of_value(call)?),
            syn::Expr::Path(path) => match self.made.get(&path_text(&path.path)) {
                Some(made) => made.clone(),
                None => self.named(&path_text(&path.path)),
            },
            syn::Expr::Call(call) => {
                let syn::Expr::Path(path) = &*call.func else { return None };
                self.made_by_call(&path_text(&path.path), call)
            }
            _ => None,
        }
    }

    /// What a closure of the function yields, and the reader that reads it: within it, its name is another's.
    pub(super) fn inside(&self, name: &str) -> Option<(Reader<'a>, &syn::Expr)> {
        let closure = self.closures.get(name)?;
        let mut inside = self.within_closure(closure);
        inside.closures.remove(name);
        Some((inside, &closure.body))
    }

    /// The reader that reads the body of a closure, whose parameters are its own.
    pub(super) fn within_closure(&self, closure: &syn::ExprClosure) -> Reader<'a> {
        let mut inside = self.clone();
        let own = own_names(closure);
        inside.made.retain(|name, _| !own.contains(name));
        inside.locals.extend(own);
        inside
    }

    pub(super) fn made_by_call(&self, text: &str, call: &syn::ExprCall) -> Option<Ty> {
        if let Some((inside, body)) = self.inside(text) {
            return inside.made_by(body);
        }
        match self.index.resolve(self.module, text) {
            Resolved::Item(_, _, Name::Fn(id)) => return self.returned(id),
            Resolved::Item(..) => return None,
            Resolved::External(full) => {
                let name = full.rsplit("::").next().unwrap_or(&full);
                if let Some(layer) = LayerRow::of_constructor(name).filter(|_| full.contains("nn::")) {
                    return Some(Ty::Leaf(layer.name));
                }
                if full.contains("nn::") && LayerRow::by_length(name).next().is_some() {
                    return self.made_by_length(name, call);
                }
            }
        }
        let (head, name) = text.rsplit_once("::")?;
        let owner = self.named(head)?;
        match &owner {
            Ty::Struct(_) => self.returned(self.index.method(&owner, name)?),
            // `nn::ReLU::default()` makes a `ReLU`.
            Ty::Leaf(_) => Some(owner),
            _ => None,
        }
    }

    /// The method of the crate that is called on a struct which is no chain: `settings.make_layer(..)`.
    pub(super) fn method_of_value(&self, call: &syn::ExprMethodCall) -> Option<usize> {
        let ty = self.struct_of(&call.receiver)?;
        self.index.method(&ty, &call.method.to_string())
    }

    /// The struct that a parameter, a variable or a field of one holds.
    pub(super) fn struct_of(&self, expr: &syn::Expr) -> Option<Ty> {
        let ty = match peeled(expr) {
            syn::Expr::Path(path) if path.path.is_ident("self") => self.index.ty(self.module, None, self.owner?),
            syn::Expr::Path(path) => {
                let name = path_text(&path.path);
                match self.made.get(&name) {
                    Some(made) => made.clone()?,
                    None => self.parameter_ty(&name)?,
                }
            }
            syn::Expr::Field(field) => {
                let Ty::Struct(owner) = self.struct_of(&field.base)? else { return None };
                let field = self.index.field(owner, &field.member.to_token_stream().to_string())?;
                self.index.field_ty(owner, field)
            }
            _ => return None,
        };
        matches!(ty, Ty::Struct(_)).then_some(ty)
    }

    fn parameter_ty(&self, name: &str) -> Option<Ty> {
        let mut params = typed_params(&self.index.fns[self.id].sig);
        let param = params.find(|param| matches!(&*param.pat, syn::Pat::Ident(pat) if pat.ident == name))?;
        Some(self.index.ty(self.module, self.owner, &param.ty))
    }

    /// `nn::conv` makes a layer of as many dimensions as its kernel's size.
    fn made_by_length(&self, name: &str, call: &syn::ExprCall) -> Option<Ty> {
        let made =
            |(_, at, length): &(_, usize, usize)| call.args.get(*at).and_then(|arg| self.length(arg)) == Some(*length);
        LayerRow::by_length(name).find(made).map(|(layer, ..)| Ty::Leaf(layer.name))
    }

    /// The length of an array that is written out, or of a parameter.
    fn length(&self, array: &syn::Expr) -> Option<usize> {
        match array {
            syn::Expr::Array(sizes) => Some(sizes.elems.len()),
            syn::Expr::Path(name) => {
                let arrays =
                    self.index.fns.iter().filter(|function| function.module == self.module).flat_map(|function| {
                        function.sig.inputs.iter().filter_map(|input| match input {
                            syn::FnArg::Typed(typed) => match (&*typed.pat, &*typed.ty) {
                                (syn::Pat::Ident(pat), syn::Type::Array(array)) if name.path.is_ident(&pat.ident) => {
                                    crate::syntax::integer_literal(&array.len)
                                }
                                _ => None,
                            },
                            syn::FnArg::Receiver(_) => None,
                        })
                    });
                let mut lengths: Vec<i64> = arrays.collect();
                lengths.dedup();
                if lengths.len() == 1 { usize::try_from(lengths[0]).ok() } else { None }
            }
            _ => None,
        }
    }

    fn returned(&self, id: usize) -> Option<Ty> {
        let function = &self.index.fns[id];
        if returns_opaque(&function.sig) {
            return self.opened(id, Reader::made_by);
        }
        let syn::ReturnType::Type(_, written) = &function.sig.output else { return None };
        match self.index.ty(&function.module, function.owner.as_ref(), written) {
            Ty::Result(inner) => known(*inner),
            ty => known(ty),
        }
    }

    /// What is read of the expression that a function of the crate ends in.
    pub(super) fn opened<T>(&self, id: usize, read: impl FnOnce(&Reader<'a>, &'a syn::Expr) -> Option<T>) -> Option<T> {
        if self.within.contains(&id) {
            return None;
        }
        match self.index.fns[id].block.stmts.last()? {
            syn::Stmt::Expr(tail, None) => read(&self.of_called(id), tail),
            _ => None,
        }
    }

    fn named(&self, text: &str) -> Option<Ty> {
        let ty = syn::parse_str::<syn::Type>(text).ok()?;
        known(self.index.ty(self.module, self.owner, &ty))
    }
}

fn known(ty: Ty) -> Option<Ty> {
    matches!(ty, Ty::Leaf(_) | Ty::Struct(_)).then_some(ty)
}
