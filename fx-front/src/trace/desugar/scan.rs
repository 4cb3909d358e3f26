//! `scan` in front of a loop: its state is a variable that the iterations carry.

use std::collections::BTreeMap;

use proc_macro2::{Ident, Span};
use syn::{Block, Expr, ExprForLoop, ExprMethodCall, Pat, parse_quote_spanned, spanned::Spanned, visit_mut::VisitMut};

use crate::pattern;
use crate::syntax::{any, bound_names, effects::written, enclosed::at_end, iterator_method::IteratorMethod};
use crate::trace::desugar::{
    Surroundings,
    closure_form::{is_plain_closure, plain},
    element_name::element_of,
};

/// The loop over `xs.scan(start, |state, x| ..)` as one over `xs`, behind the variable that holds the state; `None` for any
/// other loop, and where the closure does more with its state than to read it and to write to it.
pub(in crate::trace) fn scanned(each: &ExprForLoop, around: &mut dyn Surroundings) -> Option<Block> {
    let (scan, number, pat) = match (scan_of(&each.expr), &*each.expr, &*each.pat) {
        (Some(scan), ..) => (scan, None, &*each.pat),
        (None, Expr::MethodCall(outer), Pat::Tuple(pair))
            if outer.method == "enumerate" && outer.args.is_empty() && pair.elems.len() == 2 =>
        {
            (scan_of(&outer.receiver)?, pair.elems.first(), pair.elems.last()?)
        }
        _ => return None,
    };
    let [start, Expr::Closure(closure)] = scan.args.iter().collect::<Vec<_>>()[..] else { return None };
    let leaves = any(&closure.body, |expr| matches!(expr, Expr::Try(_)));
    // A `move` closure writes to copies of the numbers around it.
    let writes_to_own = closure.capture.is_some() && !written(&Expr::Closure(closure.clone()), &|_| false).is_empty();
    if !is_plain_closure(closure, 2) || leaves || writes_to_own {
        return None;
    }
    let mut states = States { names: BTreeMap::new(), is_whole: true };
    let declared = states.declared(plain(&closure.inputs[0]), around)?;
    let (mut body, bound) = ((*closure.body).clone(), bound_names(&closure.body));
    let of_item = pattern::bound(&closure.inputs[1]);
    if states.names.keys().any(|name| bound.contains(name) || of_item.contains(name)) {
        return None;
    }
    states.visit_expr_mut(&mut body);
    let body = at_end(&body);
    if !states.is_whole {
        return None;
    }
    let span = scan.method.span();
    let (item, over, taken, stmts) =
        (element_of(&scan.receiver, around), &scan.receiver, &closure.inputs[1], &each.body.stmts);
    // The closure does not see the number of the loop around it.
    let counted = number.is_some().then(|| around.new_name("number", span));
    let numbered =
        number.zip(counted.as_ref()).map(|(number, counted)| quote::quote_spanned!(span=> let #number = #counted;));
    let iteration: Block = match yielded(&body) {
        Some(value) => {
            let value = at_end(&value);
            parse_quote_spanned!(span=> { let #pat = { let #taken = #item; #value }; #numbered #(#stmts)* })
        }
        None => parse_quote_spanned!(span=> {
            match { let #taken = #item; #body } { Some(#pat) => { #numbered #(#stmts)* } None => break }
        }),
    };
    let (head, over): (Pat, Expr) = match counted {
        Some(counted) => {
            (parse_quote_spanned!(span=> (#counted, #item)), parse_quote_spanned!(span=> #over.enumerate()))
        }
        None => (parse_quote_spanned!(span=> #item), (**over).clone()),
    };
    Some(parse_quote_spanned!(span=> { let #declared = #start; for #head in #over #iteration }))
}

/// The call of `scan` that the expression is: the first elements of what `scan` yields are those of its first elements.
fn scan_of(expr: &Expr) -> Option<ExprMethodCall> {
    let Expr::MethodCall(call) = expr else { return None };
    match IteratorMethod::of(&call.method)? {
        IteratorMethod::Scan => Some(call.clone()),
        IteratorMethod::Take => {
            let scan = scan_of(&call.receiver)?;
            let (over, take) = (&scan.receiver, &call.args);
            let receiver = parse_quote_spanned!(call.method.span()=> #over.take(#take));
            Some(ExprMethodCall { receiver: Box::new(receiver), ..scan })
        }
        _ => None,
    }
}

/// The body without the `Some` around what it yields, where it always yields something.
fn yielded(body: &Expr) -> Option<Expr> {
    match body {
        Expr::Paren(inner) => yielded(&inner.expr),
        Expr::Block(block) if block.label.is_none() => {
            let (syn::Stmt::Expr(last, None), before) = block.block.stmts.split_last()? else { return None };
            let value = yielded(last)?;
            Some(parse_quote_spanned!(body.span()=> { #(#before)* #value }))
        }
        Expr::Call(call) if matches!(&*call.func, Expr::Path(path) if path.path.is_ident("Some")) => {
            call.args.first().filter(|_| call.args.len() == 1).cloned()
        }
        _ => None,
    }
}

/// Puts the variables that hold a state where the closure reaches them through its `&mut`.
struct States {
    /// The variables by the names that the closure has for what refers to them.
    names: BTreeMap<String, Ident>,
    /// Whether nothing is done with the references but to read and to write what is behind them.
    is_whole: bool,
}

impl States {
    /// The pattern that declares the variables, for the closure's.
    fn declared(&mut self, pat: &Pat, around: &mut dyn Surroundings) -> Option<Pat> {
        let span: Span = pat.span();
        match pat {
            Pat::Ident(syn::PatIdent { ident, by_ref: None, subpat: None, .. }) => {
                let name = around.new_name("state", span);
                self.names.insert(ident.to_string(), name.clone());
                Some(parse_quote_spanned!(span=> mut #name))
            }
            Pat::Wild(_) => Some(pat.clone()),
            Pat::Tuple(parts) => {
                let parts = parts.elems.iter().map(|part| self.declared(part, around)).collect::<Option<Vec<Pat>>>()?;
                Some(parse_quote_spanned!(span=> (#(#parts,)*)))
            }
            _ => None,
        }
    }

    /// The variable that the path refers to.
    fn behind(&self, expr: &Expr) -> Option<Expr> {
        match expr {
            Expr::Paren(inner) => self.behind(&inner.expr),
            Expr::Path(path) => {
                let name = self.names.get(&path.path.get_ident()?.to_string())?;
                Some(parse_quote_spanned!(path.span()=> #name))
            }
            _ => None,
        }
    }
}

impl VisitMut for States {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let reached = match expr {
            Expr::Unary(syn::ExprUnary { op: syn::UnOp::Deref(_), expr: inner, .. }) => self.behind(inner),
            _ => None,
        };
        if let Some(place) = reached {
            *expr = place;
            return;
        }
        let base = match expr {
            Expr::MethodCall(call) => Some(&mut call.receiver),
            Expr::Field(field) => Some(&mut field.base),
            Expr::Index(index) => Some(&mut index.expr),
            _ => None,
        };
        if let Some(base) = base
            && let Some(place) = self.behind(base)
        {
            **base = place;
        }
        if let Expr::Call(syn::ExprCall { args, .. }) | Expr::MethodCall(ExprMethodCall { args, .. }) = expr {
            for arg in args {
                if let Some(place) = self.behind(arg) {
                    *arg = parse_quote_spanned!(place.span()=> &mut #place);
                }
            }
        }
        syn::visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_expr_method_call_mut(&mut self, call: &mut ExprMethodCall) {
        self.visit_expr_mut(&mut call.receiver);
        call.args.iter_mut().for_each(|arg| self.visit_expr_mut(arg));
    }

    /// A field is no variable, whatever its name.
    fn visit_member_mut(&mut self, _: &mut syn::Member) {}

    fn visit_ident_mut(&mut self, ident: &mut Ident) {
        self.is_whole &= !self.names.contains_key(&ident.to_string());
    }

    fn visit_macro_mut(&mut self, mac: &mut syn::Macro) {
        let named = |name: &String| {
            let name = Ident::new(name, Span::call_site());
            crate::syntax::mentions(&mac.tokens, &name)
        };
        self.is_whole &= !self.names.keys().any(named);
    }
}
