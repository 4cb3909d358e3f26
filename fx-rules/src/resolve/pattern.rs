//! Patterns: from an expression to a term.

use fx_front::diag::Code;
use fx_ir::{Operator, catalog, ops};
use proc_macro2::Ident;
use syn::{Expr, ExprRange, RangeLimits, UnOp};

use super::Resolver;
use super::literal::{last_two, literal};
use super::schema::Schema;
use crate::canonical;
use crate::parse::operator_of;
use crate::term::{Kind, Literal, Pat, Yields, kind_name};

impl Resolver<'_> {
    /// The outputs of a pattern: one, or those of a tuple; `let`s before them.
    pub(crate) fn outputs(&mut self, expr: &Expr) -> Option<Vec<Pat>> {
        match expr {
            Expr::Tuple(tuple) => tuple.elems.iter().map(|output| self.pat(output)).collect(),
            Expr::Paren(inner) => self.outputs(&inner.expr),
            Expr::Block(block) => {
                let (end, lets) = self.statements(&block.block)?;
                for (name, value) in lets {
                    let pat = self.pat(value)?;
                    let slot = self.name_part(name)?;
                    self.parts.push((slot, pat));
                }
                self.outputs(end)
            }
            one => Some(vec![self.pat(one)?]),
        }
    }

    /// A part of a pattern.
    pub(crate) fn pat(&mut self, expr: &Expr) -> Option<Pat> {
        match expr {
            Expr::Paren(inner) => self.pat(&inner.expr),
            Expr::Group(inner) => self.pat(&inner.expr),
            Expr::Reference(inner) => self.pat(&inner.expr),
            Expr::Infer(_) => Some(Pat::Any),
            Expr::Lit(_) | Expr::Unary(_) => self.pat_literal(expr),
            Expr::Path(path) => self.pat_path(path),
            Expr::Array(array) => self.pat_list(array),
            Expr::Try(inner) => self.optional(&inner.expr),
            Expr::Binary(binary) => self.pat_binary(binary),
            Expr::MethodCall(call) => {
                let name = call.method.to_string();
                match (Operator::named(&name), call.args.len()) {
                    (Some(operator), 1) => self.pat_operator(operator, &call.receiver, &call.args[0]),
                    _ => self.pat_call(&call.method, &name, Some(&call.receiver), call.args.iter()),
                }
            }
            Expr::Call(call) => self.pat_function(call),
            Expr::Field(_) => self.pat_field(expr),
            other => {
                self.syntax(other, "a pattern is made of captures, literals, ops and layers");
                None
            }
        }
    }

    fn pat_literal(&mut self, expr: &Expr) -> Option<Pat> {
        if let Expr::Unary(unary) = expr
            && matches!(unary.op, UnOp::Neg(_))
            && literal(expr).is_none()
        {
            let inner = self.pat(&unary.expr)?;
            self.want_tensor(&unary.expr, &inner);
            return Some(Pat::Call(ops::NEG, vec![(0, "self", inner)]));
        }
        let found = literal(expr).map(Pat::Literal);
        if found.is_none() {
            self.syntax(expr, "a literal is a number, a truth value or a string");
        }
        found
    }

    fn pat_path(&mut self, path: &syn::ExprPath) -> Option<Pat> {
        let Some(name) = path.path.get_ident() else { return Some(Pat::Literal(Literal::Path(last_two(&path.path)))) };
        if name == "None" {
            return Some(Pat::Literal(Literal::Absent));
        }
        if let Some((_, part)) = self.parts.iter().find(|(slot, _)| self.captures[*slot].name == *name) {
            let slot = self.slot_of(name)?;
            return Some(Pat::Named(slot, Box::new(part.clone())));
        }
        let slot = self.slot(name)?;
        self.captures[slot].bound += 1;
        let gathers = self.is_repeated && matches!(self.captures[slot].kind, Kind::Ints | Kind::Tensors);
        Some(if gathers { Pat::Collect(slot) } else { Pat::Capture(slot) })
    }

    /// `bias?` is a capture that may be absent; `x.relu()?` is `x.relu()` or `x`.
    fn optional(&mut self, expr: &Expr) -> Option<Pat> {
        match self.pat(expr)? {
            Pat::Capture(slot) => Some(Pat::Optional(slot)),
            Pat::Call(op, params) => {
                let first = params.iter().find(|(position, ..)| *position == 0).map(|(.., pat)| pat.clone());
                first.map(|first| Pat::Either(vec![Pat::Call(op, params), first]))
            }
            Pat::Operator(operator, parts) => {
                let first = parts[0].clone();
                Some(Pat::Either(vec![Pat::Operator(operator, parts), first]))
            }
            Pat::Module(slot, parts) => {
                let first = parts.first().cloned();
                first.map(|first| Pat::Either(vec![Pat::Module(slot, parts), first]))
            }
            _ => {
                self.syntax(expr, "`?` stands behind a capture, an op or a layer");
                None
            }
        }
    }

    fn pat_binary(&mut self, binary: &syn::ExprBinary) -> Option<Pat> {
        if matches!(binary.op, syn::BinOp::BitOr(_)) {
            let before: Vec<usize> = self.captures.iter().map(|capture| capture.bound).collect();
            let left = self.pat(&binary.left)?;
            let bound_left = self.newly_bound(&before);
            for (capture, count) in self.captures.iter_mut().zip(&before) {
                capture.bound = *count;
            }
            let right = self.pat(&binary.right)?;
            let bound_right = self.newly_bound(&before);
            if let Some(&slot) = bound_left
                .iter()
                .chain(&bound_right)
                .find(|slot| !bound_left.contains(slot) || !bound_right.contains(slot))
            {
                let name = &self.captures[slot].name;
                let message = format!("only one of the alternatives binds `{name}`");
                self.faults.push(Code::UnevenAlternatives, binary, &message, "bind the same captures in each of them");
                return None;
            }
            let mut parts = match left {
                Pat::Either(parts) => parts,
                one => vec![one],
            };
            parts.push(right);
            return Some(Pat::Either(parts));
        }
        let Some(operator) = operator_of(&binary.op) else {
            self.syntax(binary, "the operators of patterns are `+ - * /`, and `|` between alternatives");
            return None;
        };
        self.pat_operator(operator, &binary.left, &binary.right)
    }

    fn newly_bound(&self, before: &[usize]) -> Vec<usize> {
        let now = self.captures.iter().enumerate();
        now.filter(|(slot, capture)| capture.bound > before.get(*slot).copied().unwrap_or(0))
            .map(|(slot, _)| slot)
            .collect()
    }

    fn pat_operator(&mut self, operator: Operator, left: &Expr, right: &Expr) -> Option<Pat> {
        let (a, b) = (self.pat(left), self.pat(right));
        let (a, b) = (a?, b?);
        for (expr, pat) in [(left, &a), (right, &b)] {
            let yields = self.pat_yields(pat);
            if !matches!(yields, Yields::Tensor | Yields::Number | Yields::Unknown) {
                let message = format!("an operand is a tensor or a number, not {}", yields.name());
                self.faults.push(Code::RuleType, expr, &message, "");
                return None;
            }
        }
        if matches!((&a, &b), (Pat::Literal(_), Pat::Literal(_))) {
            self.syntax(left, "one of the operands has to be a tensor");
            return None;
        }
        let numbers = [&a, &b].map(|pat| self.pat_yields(pat) == Yields::Number);
        for (expr, pat, other_is_number) in [(left, &a, numbers[1]), (right, &b, numbers[0])] {
            if other_is_number {
                self.want_tensor(expr, pat);
            }
        }
        Some(canonical::operator(operator, [a, b], numbers))
    }

    fn pat_function(&mut self, call: &syn::ExprCall) -> Option<Pat> {
        let Expr::Path(path) = &*call.func else {
            self.syntax(&call.func, "only ops and layers can be called");
            return None;
        };
        let Some(name) = path.path.get_ident() else {
            self.syntax(&call.func, "ops are called by their bare name: `conv2d(x, w, ..)`");
            return None;
        };
        if let Some(slot) = self.slot_of(name) {
            return self.pat_module(slot, name, call);
        }
        let text = name.to_string();
        match (Operator::named(&text), call.args.len()) {
            (Some(operator), 2) => self.pat_operator(operator, &call.args[0], &call.args[1]),
            _ => self.pat_call(name, &text, None, call.args.iter()),
        }
    }

    fn pat_module(&mut self, slot: usize, name: &Ident, call: &syn::ExprCall) -> Option<Pat> {
        self.check_is_layer(slot, name)?;
        self.captures[slot].bound += 1;
        let args = call.args.iter().map(|arg| self.pat(arg)).collect::<Option<Vec<Pat>>>()?;
        let [input] = &args[..] else {
            let message = format!("a layer is called on one tensor, not on {}", args.len());
            self.faults.push(
                Code::RuleArity,
                &call.args,
                &message,
                "the flag `train` is left out: rules see inference",
            );
            return None;
        };
        self.want_tensor(&call.args[0], input);
        Some(Pat::Module(slot, args))
    }

    fn pat_call<'e>(
        &mut self,
        at: &Ident,
        name: &str,
        receiver: Option<&'e Expr>,
        args: impl IntoIterator<Item = &'e Expr>,
    ) -> Option<Pat> {
        let schema = Schema::of(at, name, self.faults)?;
        let given = schema.assign(at, receiver, args, self.faults)?;
        let mut params = Vec::new();
        for (position, expr) in given {
            let (pat, info) = (self.pat(expr)?, &schema.params[position]);
            if info.kind == catalog::Kind::Tensor {
                self.want_tensor(expr, &pat);
            } else {
                let yields = self.pat_yields(&pat);
                if !yields.fits(info.kind) {
                    let message = format!("`{}` takes {}, not {}", info.name, kind_name(info.kind), yields.name());
                    self.faults.push(Code::RuleType, expr, &message, "");
                    return None;
                }
            }
            params.push((position, info.name, pat));
        }
        params.sort_by_key(|(position, ..)| *position);
        Some(Pat::Call(schema.op, params))
    }

    /// The part stands for a tensor; an untyped capture is one from now on.
    fn want_tensor(&mut self, expr: &Expr, pat: &Pat) {
        if let Pat::Capture(slot) = pat
            && self.captures[*slot].kind == Kind::Value
        {
            self.captures[*slot].kind = Kind::Tensor;
        }
        let yields = self.pat_yields(pat);
        if !matches!(yields, Yields::Tensor | Yields::Unknown) {
            let message = format!("a tensor is asked for here, not {}", yields.name());
            self.faults.push(Code::RuleType, expr, &message, "");
        }
    }

    /// A list in a pattern: fixed parts, and at most one part of any length.
    fn pat_list(&mut self, array: &syn::ExprArray) -> Option<Pat> {
        let parts = array.elems.iter().map(|item| self.pat_item(item)).collect::<Option<Vec<Pat>>>()?;
        let is_open = |part: &&Pat| matches!(part, Pat::Rest(_) | Pat::Repeat(_));
        if parts.iter().filter(is_open).count() > 1 {
            self.syntax(array, "a list has one part of any length at most");
            return None;
        }
        Some(Pat::List(parts))
    }

    fn pat_item(&mut self, item: &Expr) -> Option<Pat> {
        match item {
            Expr::Range(ExprRange { start: None, end, limits: RangeLimits::HalfOpen(_), .. }) => match end {
                Some(end) => self.rest(end).map(|slot| {
                    self.captures[slot].bound += 1;
                    Pat::Rest(Some(slot))
                }),
                None => Some(Pat::Rest(None)),
            },
            Expr::Range(ExprRange { start: Some(part), end: None, .. }) => {
                let around = std::mem::replace(&mut self.is_repeated, true);
                let part = self.pat(part);
                self.is_repeated = around;
                Some(Pat::Repeat(Box::new(part?)))
            }
            item => self.pat(item),
        }
    }
}
