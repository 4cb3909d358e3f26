//! Variables whose names begin with a capital, as formulas have them: `let (B, T, C) = xs.size3()?;`.
//!
//! Everywhere else a capital tells a constant or a variant from a variable, so that these get a name without one.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::Parse;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};

use super::{Index, Name};
use crate::syntax::{add_words, format_names, is_item, macro_operands};

impl Index {
    /// Gives the variables of all bodies names that begin with a small letter.
    pub(crate) fn lower_variables(&mut self) {
        let named = |module: &String| (module.clone(), self.named_values(module));
        let items: BTreeMap<String, NamedValues> = self.modules.keys().map(named).collect();
        for function in &mut self.fns {
            if let Some(items) = items.get(&function.module) {
                lower(&mut function.sig, &mut function.block, items);
            }
        }
    }

    fn named_values(&self, module: &str) -> NamedValues {
        let is_import = |(_, meaning): &(&String, &Name)| matches!(meaning, Name::Use(_));
        let here = self.modules.get(module);
        let names = here.into_iter().flat_map(|here| here.names.iter()).filter(is_import);
        NamedValues {
            constants: self.constants(module),
            imports: names.map(|(name, _)| name.clone()).collect(),
            has_globs: here.is_some_and(|here| !here.globs.is_empty()),
        }
    }
}

/// Names that code in a module may read as values.
struct NamedValues {
    constants: BTreeSet<String>,
    /// What they stand for is not always known.
    imports: BTreeSet<String>,
    /// Whether there may be others, by a `*`.
    has_globs: bool,
}

fn lower(sig: &mut syn::Signature, block: &mut syn::Block, items: &NamedValues) {
    let mut bound = Bound::default();
    bound.visit_signature(sig);
    bound.visit_block(block);
    let has_globs = items.has_globs || bound.has_globs;
    let may_be_variant = |name: &String| name == "None" || has_globs || items.imports.contains(name);
    let alternatives = bound.in_alternatives.into_iter().filter(|name| !may_be_variant(name));
    let is_variable = |name: &String| !items.constants.contains(name) && !bound.items.contains(name);
    let variables: BTreeSet<String> = bound.always.into_iter().chain(alternatives).filter(is_variable).collect();
    if variables.is_empty() {
        return;
    }
    let mut taken = BTreeSet::new();
    add_words(block.to_token_stream(), &mut taken);
    add_words(sig.to_token_stream(), &mut taken);
    let mut names = BTreeMap::new();
    for variable in variables {
        let mut name = variable.to_lowercase();
        while taken.contains(&name) || syn::parse_str::<Ident>(&name).is_err() {
            name.push('_');
        }
        taken.insert(name.clone());
        names.insert(variable, name);
    }
    let mut rename = Rename { names: &names };
    rename.visit_signature_mut(sig);
    rename.visit_block_mut(block);
}

/// The variables that format strings take widths from: `{:>W$}`.
fn widths(tokens: &TokenStream, found: &mut BTreeSet<String>) {
    for token in tokens.clone() {
        match token {
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let words = text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$');
                found.extend(words.filter_map(|word| word.strip_suffix('$')).map(str::to_owned));
            }
            TokenTree::Group(group) => widths(&group.stream(), found),
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

/// The names with a capital that patterns have.
#[derive(Default)]
struct Bound {
    /// Where a pattern has to match, so that they are variables.
    always: BTreeSet<String>,
    /// Where it may not match: they may be constants and variants.
    in_alternatives: BTreeSet<String>,
    /// What the body declares itself.
    items: BTreeSet<String>,
    /// Whether it brings in others by a `*`.
    has_globs: bool,
    is_alternative: bool,
}

impl Bound {
    fn alternative(&mut self, pat: &syn::Pat) {
        let before = std::mem::replace(&mut self.is_alternative, true);
        self.visit_pat(pat);
        self.is_alternative = before;
    }
}

impl<'ast> Visit<'ast> for Bound {
    fn visit_pat_ident(&mut self, pat: &'ast syn::PatIdent) {
        let name = pat.ident.to_string();
        if is_item(&name) {
            let is_variable = pat.subpat.is_some() || pat.by_ref.is_some() || pat.mutability.is_some();
            let names = if self.is_alternative && !is_variable { &mut self.in_alternatives } else { &mut self.always };
            names.insert(name);
        }
        visit::visit_pat_ident(self, pat);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        match &local.init {
            Some(init) if init.diverge.is_some() => self.alternative(&local.pat),
            _ => self.visit_pat(&local.pat),
        }
        local.init.iter().for_each(|init| visit::visit_local_init(self, init));
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        self.alternative(&arm.pat);
        arm.guard.iter().for_each(|(_, guard)| self.visit_expr(guard));
        self.visit_expr(&arm.body);
    }

    fn visit_expr_let(&mut self, condition: &'ast syn::ExprLet) {
        self.alternative(&condition.pat);
        self.visit_expr(&condition.expr);
    }

    /// What is no code keeps its words, and so does the width that a format string takes from a variable.
    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        if macro_operands(mac).is_empty() {
            add_words(mac.tokens.clone(), &mut self.items);
        }
        widths(&mac.tokens, &mut self.items);
    }

    fn visit_item(&mut self, item: &'ast syn::Item) {
        let written = item.to_token_stream().to_string();
        self.has_globs |= matches!(item, syn::Item::Use(_)) && written.contains('*');
        add_words(item.to_token_stream(), &mut self.items);
    }
}

/// Gives variables their new names, wherever they are read or written.
struct Rename<'n> {
    names: &'n BTreeMap<String, String>,
}

impl Rename<'_> {
    fn renamed(&self, name: &Ident) -> Option<Ident> {
        self.names.get(&name.to_string()).map(|new| Ident::new(new, name.span()))
    }

    /// What a macro is given, as far as that is code.
    fn operands<S: Parse + ToTokens + Default>(&mut self, mac: &syn::Macro) -> Option<TokenStream> {
        let mut operands = mac.parse_body_with(Punctuated::<syn::Expr, S>::parse_terminated).ok()?;
        let formats = !mac.path.is_ident("vec");
        for operand in &mut operands {
            match operand {
                syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) if formats => {
                    *text = self.format_string(text);
                }
                operand => self.visit_expr_mut(operand),
            }
        }
        Some(operands.to_token_stream())
    }

    fn format_string(&self, literal: &syn::LitStr) -> syn::LitStr {
        let text = literal.value();
        let named = |name: &str| self.names.iter().find(|(from, _)| *from == name);
        let names = format_names(&text).filter_map(named).collect::<BTreeSet<_>>();
        let new = names.into_iter().fold(text.clone(), |text, (name, new)| {
            let ends = ["}", ":"].map(|end| (format!("{{{name}{end}"), format!("{{{new}{end}")));
            ends.iter().fold(text, |text, (from, to)| text.replace(from, to))
        });
        if new == text { literal.clone() } else { syn::LitStr::new(&new, literal.span()) }
    }
}

impl VisitMut for Rename<'_> {
    fn visit_pat_ident_mut(&mut self, pat: &mut syn::PatIdent) {
        if let Some(name) = self.renamed(&pat.ident) {
            pat.ident = name;
        }
        visit_mut::visit_pat_ident_mut(self, pat);
    }

    fn visit_expr_path_mut(&mut self, path: &mut syn::ExprPath) {
        if let Some(name) = path.path.get_ident().and_then(|name| self.renamed(name)) {
            path.path = name.into();
        }
        visit_mut::visit_expr_path_mut(self, path);
    }

    fn visit_field_value_mut(&mut self, field: &mut syn::FieldValue) {
        field.colon_token.get_or_insert_default();
        self.visit_expr_mut(&mut field.expr);
    }

    fn visit_field_pat_mut(&mut self, field: &mut syn::FieldPat) {
        field.colon_token.get_or_insert_default();
        self.visit_pat_mut(&mut field.pat);
    }

    fn visit_macro_mut(&mut self, mac: &mut syn::Macro) {
        let operands = self.operands::<syn::Token![,]>(mac).or_else(|| self.operands::<syn::Token![;]>(mac));
        if let Some(operands) = operands {
            mac.tokens = operands;
        }
    }

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_get_small_letters_and_constants_stay() {
        let function = |text: &str| syn::parse_str::<syn::ItemFn>(text).expect("a function");
        let check = |before: &str, after: &str| {
            let items = NamedValues {
                constants: BTreeSet::from(["N".to_owned()]),
                imports: BTreeSet::from(["Float".to_owned()]),
                has_globs: false,
            };
            let mut found = function(before);
            lower(&mut found.sig, &mut found.block, &items);
            let plain = |tokens: TokenStream| tokens.to_string().replace(' ', "");
            assert_eq!(plain(found.to_token_stream()), plain(function(after).to_token_stream()));
        };
        check("fn f(X: T) { let (B, T) = X; B * T + N }", "fn f(x: T) { let (b, t) = x; b * t + N }");
        check(
            "fn f(t: T) { let T = t; g(T, T::new(), a.T, S { T }) }",
            "fn f(t: T) { let t_ = t; g(t_, T::new(), a.T, S { T: t_ }) }",
        );
        check(
            "fn f(x: T) { match x { N => 1, Float => 2, None => 3, M => M } }",
            "fn f(x: T) { match x { N => 1, Float => 2, None => 3, m => m } }",
        );
        check(
            "fn f(x: T) { const M: i64 = 3; match x { M => 1, _ => 2 } }",
            "fn f(x: T) { const M: i64 = 3; match x { M => 1, _ => 2 } }",
        );
        check(
            "fn f() { let (B, T) = x; let W = 1; assert!(g::<T>() == B); vec![S { B }]; println!(\"{:>W$}\", B) }",
            "fn f() { let (b, t) = x; let W = 1; assert!(g::<T>() == b); vec![S { B: b }]; println!(\"{:>W$}\", b) }",
        );
        check(
            "fn f() { let Type = 1; println!(\"{Type:?} {N}\", a.Type, Type::A) }",
            "fn f() { let type_ = 1; println!(\"{type_:?} {N}\", a.Type, Type::A) }",
        );
        check(
            "fn f(x: T) { let [B, C] = x else { return B }; |K| K }",
            "fn f(x: T) { let [b, c] = x else { return b }; |k| k }",
        );
    }
}
