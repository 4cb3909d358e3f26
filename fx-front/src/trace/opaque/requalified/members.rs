//! What code asks of values by name: fields, methods, and the operands of macros.

use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;

use super::Requalify;
use crate::index::is_visible;
use crate::syntax::{comma_operands, format_names, macro_operands, mentions, path_text};
use crate::trace::Ty;

/// The macros of the standard library that are given expressions between commas, or `value; count`.
const OF_EXPRESSIONS: [&str; 18] = [
    "assert",
    "assert_eq",
    "assert_ne",
    "dbg",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "eprint",
    "eprintln",
    "format",
    "panic",
    "print",
    "println",
    "todo",
    "unimplemented",
    "unreachable",
    "vec",
    "write",
];

impl Requalify<'_, '_> {
    /// The type of what a member is asked of, where the tracer knows it.
    fn type_of(&self, base: &syn::Expr) -> Ty {
        let names = |name: &String| mentions(base, &syn::Ident::new(name, base.span()));
        if self.bound.iter().filter(|name| *name != "_").any(names) { Ty::Unknown } else { self.tracer.infer_ty(base) }
    }

    /// A field that is private to another module: read by its accessor, where it has one.
    pub(super) fn field(&mut self, field: &syn::ExprField) -> Option<syn::Expr> {
        let (index, home) = (self.tracer.index, self.tracer.home());
        let name = field.member.to_token_stream().to_string();
        // What the code's own module does not see is none that it means.
        let is_hidden = |id: usize| {
            let scope = index.field(id, &name).map(|field| field.scope.as_ref());
            scope.is_some_and(|scope| !is_visible(scope, home) && is_visible(scope, self.tracer.module()))
        };
        let reason = || format!("the field `{name}` is private to its module");
        match self.type_of(&field.base) {
            Ty::Struct(id) if !is_hidden(id) => {}
            Ty::Struct(id) if index.structs[id].is_module && !self.is_written => {
                let (base, accessor) = (&field.base, syn::Ident::new(&format!("fx_{name}"), field.member.span()));
                return Some(syn::parse_quote!((*#base.#accessor())));
            }
            Ty::Unknown if !(0..index.structs.len()).any(is_hidden) => {}
            Ty::Unknown | Ty::Struct(_) => self.refuse(field.member.span(), reason()),
            _ => {}
        }
        None
    }

    /// What a call of a method needs: that it is visible, and its trait.
    pub(super) fn method(&mut self, call: &syn::ExprMethodCall) {
        let (index, home) = (self.tracer.index, self.tracer.home());
        let (name, ty) = (call.method.to_string(), self.type_of(&call.receiver));
        let its = |owner: &Ty| *owner == ty || ty == Ty::Unknown || *owner == Ty::Unknown;
        let module = self.tracer.module();
        let named = index.fns.iter().enumerate().filter(|(_, one)| one.sig.ident == name && one.owner.is_some());
        let is_meant = |id: usize| match index.trait_of(id) {
            Some((Some(at), of)) => index.has_in_scope(module, (&at, &of)),
            _ => true,
        };
        let mut is_known = false;
        for (_, one) in named.filter(|(id, _)| is_meant(*id)) {
            let owner = one.owner.as_ref().map_or(Ty::Unknown, |owner| index.ty(&one.module, None, owner));
            if !its(&owner) || !one.is_visible_from(module) {
                continue;
            }
            is_known = true;
            match &one.of_trait {
                Some(of) => match self.tracer.trait_import(&one.module, of, call.method.span()) {
                    Ok(line) => self.uses.extend(line),
                    Err(fault) => self.refuse(fault.span, fault.reason),
                },
                None if one.is_visible_from(home) => {}
                None => self.refuse(call.method.span(), format!("`{name}` is private to its module")),
            }
        }
        if !is_known {
            let of_name = index.method_traits.get(&name).into_iter().flatten();
            for (at, of) in of_name.filter(|(at, of)| index.has_in_scope(module, (at, of))) {
                match index.path_from(home, at, of) {
                    Some(path) => self.uses.extend([format!("use {path} as _;")]),
                    None => self.refuse(call.method.span(), format!("`{of}` is private to its module")),
                }
            }
        }
        if fx_ir::catalog::lookup(&name).is_none() {
            self.uses.extend(self.tracer.imported_traits());
        }
    }

    pub(super) fn macro_operands(&mut self, mac: &mut syn::Macro) {
        let name = path_text(&mac.path);
        if !OF_EXPRESSIONS.contains(&name.as_str()) {
            return self.refuse(mac.span(), format!("the macro `{name}` in code of another module"));
        }
        let is_list = comma_operands(mac).is_some();
        let mut operands = comma_operands(mac).unwrap_or_else(|| macro_operands(mac));
        if operands.is_empty() && !mac.tokens.is_empty() {
            return self.refuse(mac.span(), format!("a `{name}!` of this form in code of another module"));
        }
        for operand in &mut operands {
            match operand {
                syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => {
                    let value = text.value();
                    let mut names = format_names(&value);
                    if let Some(name) = names.find(|name| !self.is_variable(name)) {
                        self.refuse(text.span(), format!("a text that mentions `{name}` of another module"));
                    }
                }
                syn::Expr::Assign(named) if matches!(*named.left, syn::Expr::Path(_)) => {
                    self.visit_expr_mut(&mut named.right);
                }
                operand => self.visit_expr_mut(operand),
            }
        }
        mac.tokens = if is_list { quote!(#(#operands),*) } else { quote!(#(#operands);*) };
    }
}
