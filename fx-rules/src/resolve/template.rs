//! Replacements: from an expression to a template.

use fx_front::diag::Code;
use fx_ir::{Arg, Operator};
use proc_macro2::Ident;
use syn::{Expr, ExprRange, UnOp};

use super::Resolver;
use super::literal::{last_two, literal};
use super::schema::Schema;
use crate::parse::operator_of;
use crate::term::{Literal, Pat, Tmpl, Yields, kind_name};

impl Resolver<'_> {
    /// The replacement of a pattern with these outputs.
    pub(crate) fn replacement(&mut self, expr: &Expr, before: &[Pat]) -> Option<Vec<Tmpl>> {
        let end = match expr {
            Expr::Block(block) => self.replacement_block(&block.block)?,
            one => one,
        };
        let outputs: Vec<&Expr> = match end {
            Expr::Tuple(tuple) => tuple.elems.iter().collect(),
            one => vec![one],
        };
        if outputs.len() != before.len() {
            let message =
                format!("the pattern has {} and the replacement {}", count(before.len()), count(outputs.len()));
            let help = "several outputs are a tuple on both sides: `(a, b) => (c, d)`";
            self.faults.push(Code::OutputCount, end, &message, help);
            return None;
        }
        let mut values = Vec::new();
        for (output, pat) in outputs.into_iter().zip(before) {
            let value = self.template(output)?;
            let (is, was) = (self.yields(&value), self.pat_yields(pat));
            let fits = is == was || is == Yields::Unknown || was == Yields::Unknown;
            if !fits {
                let message = format!("the pattern yields {} and the replacement {}", was.name(), is.name());
                self.faults.push(Code::RuleType, output, &message, "");
                return None;
            }
            values.push(value);
        }
        Some(values)
    }

    /// `let a = ..; let (b, c) = ..;` and the last expression.
    fn replacement_block<'e>(&mut self, block: &'e syn::Block) -> Option<&'e Expr> {
        for (at, statement) in block.stmts.iter().enumerate() {
            match statement {
                syn::Stmt::Local(syn::Local { pat, init: Some(init), .. }) => {
                    let names = let_names(pat);
                    let Some(names) = names else {
                        self.syntax(pat, "`let` binds a name or a tuple of names");
                        return None;
                    };
                    self.bind_let(&names, &init.expr)?;
                }
                syn::Stmt::Expr(end, None) if at + 1 == block.stmts.len() => return Some(end),
                other => {
                    self.syntax(other, "a block is made of `let name = ..;` and a last expression");
                    return None;
                }
            }
        }
        self.syntax(block, "the block does not end in a value");
        None
    }

    fn bind_let(&mut self, names: &[Ident], expr: &Expr) -> Option<()> {
        let mut value = self.template(expr)?;
        if let Tmpl::Rust { tensors, .. } = &mut value
            && names.len() > 1
        {
            *tensors = names.len();
        }
        let yields = self.yields(&value);
        let parts = match yields {
            Yields::Tuple(parts) => parts,
            _ => 1,
        };
        if parts != names.len() {
            let message = format!("the value has {} and the `let` {}", self::parts(parts), self::parts(names.len()));
            self.faults.push(Code::OutputCount, expr, &message, "");
            return None;
        }
        self.lets.push((names.iter().map(ToString::to_string).collect(), value));
        let at = self.lets.len() - 1;
        for (part, name) in names.iter().enumerate() {
            if self.slot_of(name).is_some() {
                self.faults.push(
                    Code::CaptureTwice,
                    name,
                    &format!("`{name}` is captured already"),
                    "give it another name",
                );
                return None;
            }
            let tmpl = if names.len() == 1 { Tmpl::Let(at) } else { Tmpl::Part(at, part) };
            self.let_names.push((name.to_string(), tmpl));
        }
        Some(())
    }

    /// A part of a replacement.
    pub(crate) fn template(&mut self, expr: &Expr) -> Option<Tmpl> {
        if let Some(literal) = literal(expr) {
            return Some(Tmpl::Literal(literal));
        }
        match expr {
            Expr::Paren(inner) => self.template(&inner.expr),
            Expr::Group(inner) => self.template(&inner.expr),
            Expr::Reference(inner) => self.template(&inner.expr),
            Expr::Try(inner) => self.template(&inner.expr),
            Expr::Path(path) => self.tmpl_path(path),
            Expr::Array(array) => self.tmpl_list(array),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
                self.template(&unary.expr).map(|inner| Tmpl::Neg(Box::new(inner)))
            }
            Expr::Binary(binary) => {
                let Some(operator) = operator_of(&binary.op) else {
                    self.syntax(binary, "the operators of replacements are `+ - * /`");
                    return None;
                };
                self.tmpl_operator(operator, &binary.left, &binary.right)
            }
            Expr::MethodCall(call) => {
                let name = call.method.to_string();
                match (Operator::named(&name), call.args.len()) {
                    (Some(operator), 1) => self.tmpl_operator(operator, &call.receiver, &call.args[0]),
                    _ => self.tmpl_call(&call.method, &name, Some(&call.receiver), call.args.iter()),
                }
            }
            Expr::Call(call) => self.tmpl_function(call),
            Expr::Field(_) => {
                let (slot, names) = self.field_path(expr)?;
                let path = self.field_types(slot, &names)?;
                self.captures[slot].used += 1;
                Some(Tmpl::Field(slot, path))
            }
            Expr::Block(_) => {
                let used = self.mentioned(expr);
                self.computed.push((expr.clone(), used));
                Some(Tmpl::Computed(self.computed.len() - 1))
            }
            Expr::Macro(call) if call.mac.path.is_ident("rust") => Some(self.tmpl_rust(&call.mac.tokens)),
            other => {
                self.syntax(
                    other,
                    "a replacement is made of captures, literals, ops and layers; other Rust goes into `rust!(..)`",
                );
                None
            }
        }
    }

    fn tmpl_path(&mut self, path: &syn::ExprPath) -> Option<Tmpl> {
        let Some(name) = path.path.get_ident() else {
            let path = last_two(&path.path);
            let is_kind = path.starts_with("Kind::") || path.starts_with("Device::");
            let path = if is_kind { format!("::fx_runtime::{path}") } else { path };
            return Some(Tmpl::Literal(Literal::Path(path)));
        };
        if name == "None" {
            return Some(Tmpl::Literal(Literal::Absent));
        }
        if let Some((_, value)) = self.let_names.iter().rev().find(|(known, _)| name == known) {
            return Some(value.clone());
        }
        let slot = self.slot(name)?;
        self.captures[slot].used += 1;
        Some(Tmpl::Capture(slot))
    }

    fn tmpl_operator(&mut self, operator: Operator, left: &Expr, right: &Expr) -> Option<Tmpl> {
        let (a, b) = (self.template(left), self.template(right));
        let (a, b) = (a?, b?);
        for (expr, tmpl) in [(left, &a), (right, &b)] {
            let yields = self.yields(tmpl);
            if !matches!(yields, Yields::Tensor | Yields::Number | Yields::Unknown) {
                let message = format!("an operand is a tensor or a number, not {}", yields.name());
                self.faults.push(Code::RuleType, expr, &message, optional_help(yields));
                return None;
            }
        }
        Some(Tmpl::Operator(operator, Box::new([a, b])))
    }

    fn tmpl_function(&mut self, call: &syn::ExprCall) -> Option<Tmpl> {
        let Expr::Path(path) = &*call.func else {
            self.syntax(&call.func, "only ops and layers can be called");
            return None;
        };
        let Some(name) = path.path.get_ident() else {
            self.syntax(&call.func, "ops are called by their bare name; other Rust goes into `rust!(..)`");
            return None;
        };
        if let Some(slot) = self.slot_of(name) {
            self.check_is_layer(slot, name)?;
            self.captures[slot].used += 1;
            let args = call.args.iter().map(|arg| self.template(arg)).collect::<Option<Vec<Tmpl>>>()?;
            if args.len() != 1 {
                let message = format!("a layer is called on one tensor, not on {}", args.len());
                self.faults.push(
                    Code::RuleArity,
                    &call.args,
                    &message,
                    "the flag `train` is left out: rules see inference",
                );
                return None;
            }
            return Some(Tmpl::Module(slot, args));
        }
        let text = name.to_string();
        if text == "or" && call.args.len() == 2 {
            let parts = [self.template(&call.args[0])?, self.template(&call.args[1])?];
            return Some(Tmpl::Or(Box::new(parts)));
        }
        match (Operator::named(&text), call.args.len()) {
            (Some(operator), 2) => self.tmpl_operator(operator, &call.args[0], &call.args[1]),
            _ => self.tmpl_call(name, &text, None, call.args.iter()),
        }
    }

    fn tmpl_call<'e>(
        &mut self,
        at: &Ident,
        name: &str,
        receiver: Option<&'e Expr>,
        args: impl IntoIterator<Item = &'e Expr>,
    ) -> Option<Tmpl> {
        let schema = Schema::of(at, name, self.faults)?;
        let given = schema.assign(at, receiver, args, self.faults)?;
        let mut values: Vec<Option<Tmpl>> =
            schema.params.iter().map(|param| param.default.as_ref().map(default)).collect();
        for (position, expr) in given {
            let (value, info) = (self.template(expr)?, &schema.params[position]);
            let yields = self.yields(&value);
            if !yields.fits(info.kind) {
                let message = format!("`{}` takes {}, not {}", info.name, kind_name(info.kind), yields.name());
                self.faults.push(Code::RuleType, expr, &message, optional_help(yields));
                return None;
            }
            values[position] = Some(value);
        }
        Some(Tmpl::Call(schema.op, values.into_iter().flatten().collect()))
    }

    /// A list in a replacement, in which `..rest` stands for the items of `rest`.
    fn tmpl_list(&mut self, array: &syn::ExprArray) -> Option<Tmpl> {
        let mut parts = Vec::new();
        for item in &array.elems {
            parts.push(match item {
                Expr::Range(ExprRange { start: None, end: Some(end), .. }) => {
                    let slot = self.rest(end)?;
                    self.captures[slot].used += 1;
                    Tmpl::Splice(slot)
                }
                item => self.template(item)?,
            });
        }
        Some(Tmpl::List(parts))
    }
}

fn let_names(pat: &syn::Pat) -> Option<Vec<Ident>> {
    match pat {
        syn::Pat::Ident(name) => Some(vec![name.ident.clone()]),
        syn::Pat::Tuple(tuple) => {
            let name = |pat: &syn::Pat| match pat {
                syn::Pat::Ident(name) => Some(name.ident.clone()),
                _ => None,
            };
            tuple.elems.iter().map(name).collect()
        }
        _ => None,
    }
}

fn optional_help(yields: Yields) -> &'static str {
    match yields {
        Yields::OptTensor => "`or(conv.bs, other)` is the tensor, or another one where there is none",
        Yields::Layer => "call the layer, or read one of its fields",
        _ => "",
    }
}

fn count(outputs: usize) -> String {
    if outputs == 1 { "1 output".to_owned() } else { format!("{outputs} outputs") }
}

fn parts(parts: usize) -> String {
    if parts == 1 { "1 part".to_owned() } else { format!("{parts} parts") }
}

fn default(arg: &Arg) -> Tmpl {
    Tmpl::Literal(match arg {
        Arg::Int(number) => Literal::Int(*number),
        Arg::Float(number) => Literal::Float(*number),
        Arg::Bool(value) => Literal::Bool(*value),
        Arg::Str(text) => Literal::Str(text.clone()),
        Arg::Path(path) => Literal::Path(path.clone()),
        Arg::List(items) => return Tmpl::List(items.iter().map(default).collect()),
        Arg::None | Arg::Node(_) | Arg::Expr(_) => Literal::Absent,
    })
}
