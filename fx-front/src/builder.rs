//! What a `Sequential` holds, read from the constructor that builds it.
//!
//! A `Sequential` says at run time only that it holds modules. Which ones, its builder says in the source:
//! `nn::seq().add(nn::batch_norm2d(..)).add(nn::conv2d(..))`. What is read here is checked again when a model is
//! frozen, so a builder that is misread is an error with both types named, never a wrong result.

mod branches;
mod choices;
mod closures;
mod elements;
mod extended;
mod made;
mod outside;
mod read;
mod syntax;
mod unread;
mod variables;
mod written;

use quote::ToTokens;

pub(crate) use self::closures::{OwnClosure, closure_of};
pub(crate) use self::unread::Unread;
use crate::index::{Function, Index, Ty};
use crate::syntax::{macro_operands, path_text};

/// One step of a chain of layers.
#[derive(Clone, Debug, PartialEq)]
pub enum Layer {
    /// A module of this type; of a closure that captures variables, why no layer was made of it, where that was tried.
    Module(Ty, Option<String>),
    /// A closure that needs nothing but its input, and the place in the source at which it is added.
    Closure(Box<OwnClosure>, String),
    /// One layer that is a chain itself, of this type and of these layers.
    Chain(&'static str, Vec<Layer>),
    /// These layers, any number of times.
    Repeat(Vec<Layer>),
    /// These layers, or none.
    Optional(Vec<Layer>),
    /// The first or the second.
    Either(Vec<Layer>, Vec<Layer>),
}

impl Layer {
    /// Whether it is one layer, however the chain was built.
    pub fn is_one(&self) -> bool {
        matches!(self, Layer::Module(..) | Layer::Closure(..) | Layer::Chain(..))
    }
}

/// Where a chain of layers is kept.
#[derive(Clone, Debug)]
pub(crate) enum Kept {
    /// In the field of a struct, or of a variant of an enum, whose constructors make values of these types.
    Alone(String),
    /// In a list that is such a field.
    InList(String),
}

/// The layers of the field `field` of a struct, if every constructor can be read.
///
/// # Errors
/// What of a constructor could not be read.
pub(crate) fn layers(index: &Index, owner: usize, field: &str) -> Result<Vec<Layer>, Unread> {
    kept(index, &Made::Struct(owner), &Kept::Alone(field.to_owned()))
}

/// What has the field: a struct, or a variant of an enum.
#[derive(Clone, Debug)]
pub(crate) enum Made {
    Struct(usize),
    Variant(Ty, String),
}

/// The layers of a chain of that place, if every constructor can be read.
///
/// # Errors
/// What of a constructor could not be read.
pub(crate) fn kept(index: &Index, made: &Made, place: &Kept) -> Result<Vec<Layer>, Unread> {
    let (Kept::Alone(field) | Kept::InList(field)) = place;
    if let Made::Struct(owner) = made
        && let Some(unread) = written::written(index, *owner, field)
    {
        return Err(unread);
    }
    let makes = |of: Impl<'_>, path: &syn::Path| match made {
        Made::Struct(owner) => type_of(index, of, path) == Ty::Struct(*owner),
        Made::Variant(ty, variant) => {
            let mut owner = path.clone();
            let last = owner.segments.pop().map(|last| last.into_value().ident);
            owner.segments.pop_punct();
            last.is_some_and(|last| last == variant) && type_of(index, of, &owner) == *ty
        }
    };
    if outside::makes(index, field, &makes) {
        return Err(Unread::NoConstructor);
    }
    let mut found: Vec<Vec<Layer>> = Vec::new();
    for (id, function) in index.fns.iter().enumerate() {
        let is_made = |path: &syn::Path| makes(Impl::of(function), path);
        let block = &*extended::in_one(&function.block, field, &is_made);
        let values = values(block, field, &is_made);
        if values.is_empty() {
            continue;
        }
        let reader = read::Reader::of(index, id, &[]);
        for value in values {
            let Some(value) = value else { return Err(Unread::NoConstructor) };
            let read = match place {
                Kept::Alone(_) => reader.chain(&value, &reader.lets(block), 16).map(|chain| vec![chain]),
                Kept::InList(_) => reader.elements(&value, block, 16),
            };
            found.extend(read.ok_or_else(|| reader.notes.reason(&value, &index.fns[id]))?);
        }
    }
    let layers = elements::any_of(found).ok_or(Unread::NoConstructor)?;
    if closures_are_told_apart(&layers) { Ok(layers) } else { Err(Unread::Closures) }
}

/// Where a path is written: the module, and the type that the impl around it is for.
#[derive(Clone, Copy)]
struct Impl<'i> {
    module: &'i str,
    owner: Option<&'i syn::Type>,
}

impl<'i> Impl<'i> {
    fn of(function: &'i Function) -> Impl<'i> {
        Impl { module: &function.module, owner: function.owner.as_ref() }
    }
}

/// The type that a path names there.
fn type_of(index: &Index, of: Impl<'_>, path: &syn::Path) -> Ty {
    let ty = syn::parse_str::<syn::Type>(&path_text(path)).ok();
    ty.map_or(Ty::Unknown, |ty| index.ty(of.module, of.owner, &ty))
}

/// Whether the form of a live chain says which closure is which, of those whose place it does not know.
fn closures_are_told_apart(layers: &[Layer]) -> bool {
    fn of_no_place<'l>(layers: &'l [Layer], found: &mut Vec<&'l OwnClosure>) {
        for layer in layers {
            match layer {
                Layer::Closure(closure, place) if place.is_empty() && !found.contains(&&**closure) => {
                    found.push(closure);
                }
                Layer::Repeat(inner) | Layer::Optional(inner) => of_no_place(inner, found),
                Layer::Either(a, b) => [a, b].into_iter().for_each(|inner| of_no_place(inner, found)),
                Layer::Closure(..) | Layer::Module(..) | Layer::Chain(..) => {}
            }
        }
    }
    let mut found = Vec::new();
    of_no_place(layers, &mut found);
    let inner = layers.iter().all(|layer| match layer {
        Layer::Chain(_, inner) => closures_are_told_apart(inner),
        _ => true,
    });
    inner && (found.len() < 2 || layers.iter().all(Layer::is_one))
}

/// What the function puts into the field where it makes a struct that `makes` accepts; none where it does not say so.
fn values(block: &syn::Block, field: &str, makes: &dyn Fn(&syn::Path) -> bool) -> Vec<Option<syn::Expr>> {
    let block = syn::ExprBlock { attrs: Vec::new(), label: None, block: block.clone() };
    values_of(&syn::Expr::Block(block), field, makes)
}

/// The same of an expression.
fn values_of(expr: &syn::Expr, field: &str, makes: &dyn Fn(&syn::Path) -> bool) -> Vec<Option<syn::Expr>> {
    struct Find<'m> {
        field: &'m str,
        makes: &'m dyn Fn(&syn::Path) -> bool,
        found: Vec<Option<syn::Expr>>,
    }
    impl<'ast> syn::visit::Visit<'ast> for Find<'_> {
        fn visit_expr_struct(&mut self, literal: &'ast syn::ExprStruct) {
            if (self.makes)(&literal.path) {
                let mut fields = literal.fields.iter();
                let value = fields.find(|value| value.member.to_token_stream().to_string() == self.field);
                self.found.push(value.map(|value| value.expr.clone()));
            }
            syn::visit::visit_expr_struct(self, literal);
        }
        fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
            if let (Ok(at), syn::Expr::Path(path)) = (self.field.parse::<usize>(), &*call.func)
                && (self.makes)(&path.path)
            {
                self.found.push(call.args.get(at).cloned());
            }
            syn::visit::visit_expr_call(self, call);
        }
        /// What a macro is given is code as well, as far as it can be read.
        fn visit_macro(&mut self, mac: &'ast syn::Macro) {
            let operands = macro_operands(mac);
            if operands.is_empty() && outside::mentions(&mac.tokens, self.makes) {
                self.found.push(None);
            }
            for operand in operands {
                self.found.extend(values_of(&operand, self.field, self.makes));
            }
        }
    }
    let mut find = Find { field, makes, found: Vec::new() };
    syn::visit::Visit::visit_expr(&mut find, expr);
    find.found
}
