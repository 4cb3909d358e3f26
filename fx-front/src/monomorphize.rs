//! Generic types with what the crate puts in for their parameters: each instance is a struct with functions of its own.
//!
//! ```text
//! struct Net<B> { block: B }                        struct Net<crate::Basic> { block: crate::Basic }
//! impl<B: Block> Net<B> { fn forward(..) {..} } =>  impl Net<crate::Basic> { fn forward(..) {..} }
//! fn small(p: &nn::Path) -> Net<Basic> {..}
//! ```
//!
//! Which instances there are, the crate's own source says: the types of fields, of variables and of signatures, aliases,
//! the arguments of constructors. What is put in is spelled by its full path, so that it means the same wherever the
//! generic type is written; a type of which no such spelling is known makes no instance. From there on an instance is a
//! struct like any other: the tracer knows of no parameters.

mod aliases;
mod arguments;
mod mentions;

use proc_macro2::TokenStream;
use quote::ToTokens;

pub(crate) use self::arguments::given;
use crate::index::{Field, Function, Index, Instance, Struct};
use crate::syntax::params::{is_bound, name_of};
use crate::syntax::substitute::{Substitution, substituted};

/// Instances whose arguments are nested deeper are not looked for: a type may hold itself with ever longer arguments.
const DEPTH: usize = 8;

/// More instances of one type are not looked for: arguments may grow in breadth too.
const LIMIT: usize = 256;

/// Adds to the index every instance that the crate names.
pub(crate) fn add(index: &mut Index) {
    aliases::expand(index);
    if !index.structs.iter().any(Struct::is_generic) {
        return;
    }
    let mut fns_seen = 0;
    let mut structs_seen = 0;
    loop {
        let (fns, structs) = (index.fns.len(), index.structs.len());
        let found = mentions::of(index, fns_seen, structs_seen);
        (fns_seen, structs_seen) = (fns, structs);
        for instance in found {
            if may_be_declared(index, &instance) {
                declare(index, &instance);
            }
        }
        if index.structs.len() == structs {
            return;
        }
    }
}

fn may_be_declared(index: &Index, instance: &Instance) -> bool {
    let others = index.instances().filter(|(_, other)| other.of == instance.of);
    instance.args.iter().all(|arg| depth(arg) <= DEPTH)
        && others.count() < LIMIT
        && index.instance(instance.of, &instance.args).is_none()
}

/// How deep a type is nested in others: 2 of `Vec<(i64, Tensor)>`.
fn depth(ty: &str) -> usize {
    let deepest = ty.chars().scan(0_usize, |depth, sign| {
        match sign {
            '<' | '(' | '[' => *depth += 1,
            '>' | ')' | ']' => *depth = depth.saturating_sub(1),
            _ => {}
        }
        Some(*depth)
    });
    deepest.max().unwrap_or(0)
}

/// The struct of an instance, and the functions of every impl that is for it.
fn declare(index: &mut Index, instance: &Instance) {
    let generic = &index.structs[instance.of];
    let Some(values) = bound(index, generic, &instance.args) else { return };
    let Some(fields) = generic.fields.iter().map(|field| field_of(field, &values)).collect::<Option<Vec<Field>>>()
    else {
        return;
    };
    let new = Struct {
        name: generic.name.clone(),
        module: generic.module.clone(),
        fields,
        is_module: generic.is_module,
        generics: syn::Generics::default(),
        instance: Some(instance.clone()),
    };
    index.structs.push(new);
    for id in 0..index.fns.len() {
        let Some(function) = function_of(index, id, instance) else { continue };
        index.fns.push(function);
        let made = index.fns.len() - 1;
        index.fns[id].instances.push(made);
    }
}

fn field_of(field: &Field, values: &Substitution) -> Option<Field> {
    let ty = syn::parse2(substituted(field.ty.to_token_stream(), values)).ok()?;
    Some(Field { name: field.name.clone(), label: field.label.clone(), ty, scope: field.scope.clone(), fx: field.fx })
}

/// The function of the instance, if the impl of the generic one is for it.
fn function_of(index: &Index, id: usize, instance: &Instance) -> Option<Function> {
    let function = &index.fns[id];
    let owner = function.owner.as_ref().filter(|_| function.generics.params.iter().any(is_bound))?;
    let values = arguments::of_impl(index, function, owner, instance)?;
    let parse = |tokens: TokenStream| substituted(tokens, &values);
    Some(Function {
        owner: Some(syn::parse2(parse(owner.to_token_stream())).ok()?),
        sig: syn::parse2(parse(function.sig.to_token_stream())).ok()?,
        block: syn::parse2(parse(function.block.to_token_stream())).ok()?,
        generics: syn::Generics::default(),
        instances: Vec::new(),
        is_derived: true,
        constructor: None,
        module: function.module.clone(),
        file: function.file.clone(),
        of_trait: function.of_trait.clone(),
        fx: function.fx,
        traceable: function.traceable.clone(),
        key: function.key.clone(),
        scope: function.scope.clone(),
    })
}

/// What stands for each parameter of the struct.
fn bound(index: &Index, generic: &Struct, args: &[String]) -> Option<Substitution> {
    let params: Vec<&syn::GenericParam> = generic.generics.params.iter().filter(|param| is_bound(param)).collect();
    if params.len() != args.len() {
        return None;
    }
    let pairs = params.into_iter().zip(args).map(|(param, arg)| Some((name_of(param), arg.parse().ok()?)));
    let mut values = pairs.collect::<Option<Substitution>>()?;
    arguments::add_associated(index, &mut values);
    Some(values)
}

impl Index {
    /// Every instance of a generic struct.
    pub(crate) fn instances(&self) -> impl Iterator<Item = (usize, &Instance)> {
        self.structs.iter().enumerate().filter_map(|(id, item)| Some((id, item.instance.as_ref()?)))
    }

    /// The instance with these arguments.
    pub(crate) fn instance(&self, of: usize, args: &[String]) -> Option<usize> {
        self.instances().find(|(_, known)| known.of == of && known.args == args).map(|(id, _)| id)
    }

    /// The instance of a generic struct that a path names: with its arguments, or, without any, the only one.
    pub(crate) fn named_instance(
        &self,
        of: usize,
        module: &str,
        owner: Option<&syn::Type>,
        written: &syn::PathArguments,
    ) -> Option<usize> {
        if let Some(args) = arguments::written(self, (module, owner), of, written) {
            return self.instance(of, &args);
        }
        let mut all = self.instances().filter(|(_, known)| known.of == of);
        let only = all.next().filter(|_| written.is_none())?;
        all.next().is_none().then_some(only.0)
    }
}

impl Struct {
    /// Whether it has type or constant parameters that nothing is put in for.
    pub fn is_generic(&self) -> bool {
        self.generics.params.iter().any(is_bound)
    }

    /// Its full path with what is put in for its parameters; no path to a generic one is whole.
    pub fn path(&self) -> String {
        let args = match &self.instance {
            Some(instance) => format!("<{}>", instance.args.join(", ")),
            None => String::new(),
        };
        format!("{}::{}{args}", self.module, self.name)
    }
}

#[cfg(test)]
mod tests;
