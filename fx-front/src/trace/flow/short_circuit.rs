//! `&&` and `||`, whose right side runs only where it is reached.

use fx_ir::host::methods::{Gives, Receiver, method, methods_named};
use fx_ir::{Arg, HostOp, Op};
use syn::{BinOp, spanned::Spanned};

use crate::syntax::enclosed::{at_end, in_head};
use crate::trace::{Result, Tracer, Ty, Val, asked::base};

impl Tracer<'_> {
    pub(in crate::trace) fn binary(&mut self, binary: &syn::ExprBinary) -> Result<Val> {
        let mark = self.checkpoint();
        let left = self.expr(base(&binary.left))?;
        let is_lazy = matches!(binary.op, BinOp::And(_) | BinOp::Or(_));
        let decides = Val::Lit(Arg::Bool(matches!(binary.op, BinOp::Or(_))), Ty::Rust("bool".to_owned()));
        if is_lazy && matches!((&left, &decides), (Val::Lit(left, _), Val::Lit(decides, _)) if left == decides) {
            return Ok(decides);
        }
        let before = self.graph.region(self.region).nodes.len();
        let right = self.expr(base(&binary.right))?;
        if is_lazy && !self.is_total_since(before) {
            self.rollback(mark);
            return self.branch(&as_branch(binary), false);
        }
        if let Some(known) = short_circuit(&binary.op, &left, &right) {
            return Ok(known);
        }
        if let Some(value) = self.own_binary(binary, &left, &right) {
            return value;
        }
        self.arithmetic(&binary.op, left, right, binary.span())
    }

    /// Whether the nodes may as well run where the user's code does not reach them: they do nothing, and never fail.
    fn is_total_since(&self, mark: usize) -> bool {
        let nodes = &self.graph.region(self.region).nodes[mark..];
        nodes.iter().all(|&id| {
            let node = self.graph.node(id);
            match &node.op {
                Op::GetAttr(_) | Op::TupleGet(_) => true,
                // To read a cell does nothing to it.
                Op::Host(host) => {
                    let does_nothing = host.effect == fx_ir::Effect::Pure || reads_cell(&host.op, &node.args);
                    (does_nothing || asks_list(&host.op)) && !node.does_on_host(&|op| !is_total(op))
                }
                _ => false,
            }
        })
    }
}

/// `a && b` as `if a { b } else { false }`, and `a || b` as `if a { true } else { b }`.
fn as_branch(binary: &syn::ExprBinary) -> syn::ExprIf {
    let (left, right) = (in_head(&binary.left), at_end(&binary.right));
    match binary.op {
        BinOp::And(_) => syn::parse_quote_spanned!(binary.op.span()=> if #left { #right } else { false }),
        _ => syn::parse_quote_spanned!(binary.op.span()=> if #left { true } else { #right }),
    }
}

/// Whether the operation yields a value of whatever it is given.
fn is_total(op: &HostOp) -> bool {
    match op {
        HostOp::Binary(sign) => ["==", "!=", "<", "<=", ">", ">=", "&&", "||"].contains(&sign.as_str()),
        HostOp::Method(name) => {
            let mut known = methods_named(name).peekable();
            known.peek().is_some() && known.all(|method| !method.may_panic && !method.mutates)
        }
        HostOp::Slice(dots) => dots == "..",
        op => matches!(
            op,
            HostOp::Use
                | HostOp::Literal(_)
                | HostOp::Ascribe(_)
                | HostOp::Ref
                | HostOp::Copied
                | HostOp::Field(_)
                | HostOp::Deref
                | HostOp::Unit
                | HostOp::Tuple
                | HostOp::Array
                | HostOp::Some
                | HostOp::Not
                | HostOp::Cast(_)
                | HostOp::From(_)
                | HostOp::Lock
                | HostOp::Interior
                | HostOp::CellValue
                | HostOp::Cell(_)
                | HostOp::ForeignCell(_)
        ),
    }
}

/// Whether the operation asks a list how long it is, which any list answers.
fn asks_list(op: &HostOp) -> bool {
    let HostOp::Method(name) = op else { return false };
    method(name, Receiver::List).is_some_and(|method| {
        !method.mutates && !method.may_panic && matches!(method.gives, Gives::Usize | Gives::Bool)
    })
}

/// What `&&`, `||`, `&` and `|` of truth values yield where one side is known.
fn short_circuit(op: &BinOp, left: &Val, right: &Val) -> Option<Val> {
    let decides = match op {
        BinOp::And(_) | BinOp::BitAnd(_) => false,
        BinOp::Or(_) | BinOp::BitOr(_) => true,
        _ => return None,
    };
    match (left, right) {
        (Val::Lit(Arg::Bool(known), _), other) | (other, Val::Lit(Arg::Bool(known), _)) => {
            let decided = || Val::Lit(Arg::Bool(decides), Ty::Rust("bool".to_owned()));
            Some(if *known == decides { decided() } else { other.clone() })
        }
        _ => None,
    }
}

/// Whether the operation yields what a cell holds.
fn reads_cell(op: &HostOp, args: &[Arg]) -> bool {
    let is_lock = |arg: &Arg| arg.expr().is_some_and(|expr| expr.op == HostOp::Deref && expr.args.iter().any(locks));
    *op == HostOp::CellValue || (*op == HostOp::Use && args.iter().any(is_lock))
}

fn locks(arg: &Arg) -> bool {
    arg.expr().is_some_and(|expr| expr.op == HostOp::Lock)
}
