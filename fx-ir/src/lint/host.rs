//! Host operations: how many operands they have, of which kinds, and what is written to.
//!
//! Only what is certain is refused: an operand of an unknown type fits everywhere.

use super::fault::{Fault, Rule, fault};
use super::operands;
use crate::host::methods::{self, Receiver};
use crate::host::{Expr, Yields};
use crate::{Arg, Graph, HostOp, NodeId, Op, Type};

/// Checks the operation of a node and those within its arguments.
pub(super) fn check_host(graph: &Graph, id: NodeId, faults: &mut Vec<Fault>) {
    let node = graph.node(id);
    let mut check = Check { graph, id, faults };
    match &node.op {
        Op::Host(host) => drop(check.apply(&host.op, &node.args)),
        Op::Rust(_) => node.args.iter().for_each(|arg| drop(check.ty(arg))),
        _ => {}
    }
}

struct Check<'a> {
    graph: &'a Graph,
    id: NodeId,
    faults: &'a mut Vec<Fault>,
}

impl Check<'_> {
    fn push(&mut self, rule: Rule, op: &HostOp, message: impl std::fmt::Display) {
        self.faults.push(fault(self.graph, self.id, rule, format!("has `{}`, {message}", op.label())));
    }

    /// The type of an argument, whose operations are checked.
    fn ty(&mut self, arg: &Arg) -> Type {
        match arg {
            Arg::Node(id) => self.graph.node(*id).ty.clone(),
            Arg::Int(_) => Type::rust("integer"),
            Arg::Float(_) => Type::rust("float"),
            Arg::Bool(_) => Type::rust("bool"),
            Arg::Str(_) => Type::rust("&'static str"),
            Arg::None => Type::Option(Box::default()),
            Arg::Path(_) => Type::Unknown,
            Arg::List(items) => {
                for item in items {
                    self.ty(item);
                }
                Type::List(Box::default())
            }
            Arg::Expr(expr) => {
                let ty = self.apply(&expr.op, &expr.args);
                if expr.op.yields() == Yields::Unit {
                    self.push(Rule::Ownership, &expr.op, "which yields nothing, within an argument");
                }
                ty
            }
        }
    }

    /// Checks an operation on these arguments; tells the type of what it yields.
    fn apply(&mut self, op: &HostOp, args: &[Arg]) -> Type {
        let types: Vec<Type> = args.iter().map(|arg| self.ty(arg)).collect();
        let arity = op.arity();
        if !arity.contains(&args.len()) {
            let (count, least) = (args.len(), arity.start());
            let more = if arity.start() < arity.end() { " or more" } else { "" };
            self.push(Rule::Arity, op, format!("which has {count} arguments instead of {least}{more}"));
            return Type::Unknown;
        }
        if let Some(wrong) = operands::misfit(op, &types) {
            self.push(Rule::Operands, op, wrong);
        }
        self.method(op, &types);
        self.target(op, args);
        self.moves(op, args);
        operands::result(op, &types)
    }

    /// A method of the table has as many arguments as its row says, and changes its receiver only if that is said.
    fn method(&mut self, op: &HostOp, types: &[Type]) {
        let (HostOp::Method(name) | HostOp::Mutate(name)) = op else { return };
        let row = types.first().and_then(Receiver::of_type).and_then(|receiver| methods::method(name, receiver));
        let Some(row) = row else { return };
        let count = types.len() - 1;
        if count != row.arity {
            let wanted = row.arity;
            self.push(Rule::Arity, op, format!("which has {count} arguments instead of {wanted} beside {}", types[0]));
        }
        if row.mutates && matches!(op, HostOp::Method(_)) {
            self.push(Rule::Ownership, op, "which changes what it is called on: that is `host.mutate`");
        }
    }

    /// What is written to is a variable or a place, and not behind a shared reference.
    fn target(&mut self, op: &HostOp, args: &[Arg]) {
        let writes = matches!(
            op,
            HostOp::Assign | HostOp::AssignOp(_) | HostOp::Mutate(_) | HostOp::ResizeWith | HostOp::Exchange(_)
        );
        let borrows = matches!(op, HostOp::Ref | HostOp::RefMut);
        let Some(arg) = args.first().filter(|_| writes || borrows) else { return };
        if borrows {
            let yields = arg.node().and_then(|id| self.graph.node(id).op.host()).map(HostOp::yields);
            if yields == Some(Yields::Unit) {
                self.push(Rule::Ownership, op, "which borrows what yields nothing");
            }
            return;
        }
        let assigns = matches!(op, HostOp::Assign | HostOp::AssignOp(_));
        if let Some(wrong) = unwritable(arg, assigns) {
            self.push(Rule::Ownership, op, format!("which writes to {wrong}"));
        }
    }

    /// A tensor is not moved out of a list, an option or what a reference refers to.
    fn moves(&mut self, op: &HostOp, args: &[Arg]) {
        let owned = match op {
            HostOp::Tuple
            | HostOp::Array
            | HostOp::Vec
            | HostOp::Some
            | HostOp::Struct(_)
            | HostOp::StructDefault(_)
            | HostOp::Construct(_)
            | HostOp::LstmState
            | HostOp::GruState
            | HostOp::Return => args,
            HostOp::Assign | HostOp::CellSet | HostOp::Exchange(_) => args.get(1..).unwrap_or_default(),
            HostOp::Repeat | HostOp::Filled(_) => args.get(..1).unwrap_or_default(),
            _ => return,
        };
        for expr in owned.iter().filter_map(Arg::expr) {
            if is_behind(expr) && operands::place_type(self.graph, expr).is_tensor() {
                let from = expr.op.label();
                self.push(Rule::Ownership, op, format!("which moves a tensor out of `{from}`: that takes a handle"));
            }
        }
    }
}

/// What is wrong with an argument as what is written to; `assigns` where it is given another value as a whole.
fn unwritable(arg: &Arg, assigns: bool) -> Option<String> {
    let expr = match arg {
        Arg::Node(_) | Arg::Path(_) => return None,
        Arg::Expr(expr) => expr,
        _ => return Some("a literal".to_owned()),
    };
    let label = expr.op.label();
    match expr.op.yields() {
        _ if expr.op == HostOp::Use => expr.args.first().and_then(|arg| unwritable(arg, assigns)),
        Yields::Place => match expr.args.first() {
            Some(Arg::Expr(base)) if is_shared(&base.op) => {
                Some(format!("what lies behind the shared reference `{}`", base.op.label()))
            }
            Some(base @ Arg::Expr(within)) if within.op.yields() == Yields::Place => unwritable(base, false),
            _ => None,
        },
        Yields::Reference if expr.op == HostOp::RefMut && !assigns => None,
        Yields::Reference => Some(format!("the reference `{label}`")),
        Yields::Value if assigns || is_fresh(&expr.op) => Some(format!("`{label}`, which is no place")),
        Yields::Value => None,
        Yields::Unit | Yields::Never => Some(format!("`{label}`, which yields nothing")),
    }
}

fn is_shared(op: &HostOp) -> bool {
    op.yields() == Yields::Reference && *op != HostOp::RefMut
}

/// Whether the operation makes a value that nobody else has: what is written to it is lost.
pub(super) fn is_fresh(op: &HostOp) -> bool {
    matches!(
        op,
        HostOp::Literal(_)
            | HostOp::Handle
            | HostOp::Clone
            | HostOp::ToVec
            | HostOp::Unit
            | HostOp::Tuple
            | HostOp::Array
            | HostOp::Vec
            | HostOp::EmptyVec(_)
            | HostOp::Repeat
            | HostOp::Filled(_)
            | HostOp::Some
            | HostOp::NoneOf(_)
            | HostOp::Range(_)
            | HostOp::Neg
            | HostOp::Not
            | HostOp::Binary(_)
            | HostOp::Cast(_)
            | HostOp::Convert(_)
            | HostOp::ConvertOr(_)
            | HostOp::Number(_)
            | HostOp::CopyList
            | HostOp::Collect(_)
            | HostOp::Count(_)
            | HostOp::MapList
            | HostOp::Sum(_)
            | HostOp::Product(_)
            | HostOp::TensorOf
            | HostOp::Index
    )
}

/// Whether a place is an element, or lies behind a reference or an option: nothing is moved out of such.
fn is_behind(expr: &Expr) -> bool {
    match expr.op {
        HostOp::Item
        | HostOp::Deref
        | HostOp::Lock
        | HostOp::UnwrapMut(_)
        | HostOp::UnwrapBorrow
        | HostOp::Interior
        | HostOp::EndMut(_) => true,
        HostOp::Field(_) => expr.args.first().and_then(Arg::expr).is_some_and(is_behind),
        _ => false,
    }
}
